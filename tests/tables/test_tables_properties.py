"""Tables of any shape go through trace, select and predict, and the saved model is the one in memory."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fairfront as ff
from tests.support.extras import optional

pd = optional("pandas")

TASKS = {
    "two classes": {"favourable": "yes", "loss": "logistic"},
    "margins": {"favourable": "yes", "loss": "squared_hinge"},
    "three classes": {"favourable": "yes", "loss": "logistic"},
    "values": {"loss": "squared"},
}


@st.composite
def tables(draw, task: str) -> pd.DataFrame:
    """Draw a table with numbers, categories, missing values and rare levels in any mixture."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    n = draw(st.integers(400, 700))
    frame = pd.DataFrame({"signal": rng.normal(size=n)})
    for i in range(draw(st.integers(0, 2))):
        values = rng.normal(size=n) * 10.0 ** draw(st.integers(-6, 9))
        frame[f"number {i}"] = np.where(rng.random(n) < draw(st.sampled_from([0, 0.02, 0.4])), np.nan, values)
    for i in range(draw(st.integers(0, 2))):
        levels = draw(st.lists(st.text("aZ é;|,'\"=<", min_size=1, max_size=4), min_size=2, max_size=5, unique=True))
        levels = [f"{level}{k}" for k, level in enumerate(levels)]
        weights = rng.dirichlet(np.ones(len(levels)))
        frame[f"category|{i}"] = rng.choice(np.array(levels, dtype=object), n, p=weights)
        frame.loc[rng.random(n) < draw(st.sampled_from([0, 0.1])), f"category|{i}"] = None
    frame["group"] = rng.choice(np.array(["a", "b"], dtype=object), n, p=[0.4, 0.6])
    score = frame["signal"] + 0.7 * (frame["group"] == "a") + rng.normal(size=n)
    if task == "values":
        frame["y"] = score
    elif task == "three classes":
        frame["y"] = np.array(["no", "perhaps", "yes"], dtype=object)[np.digitize(score, [-0.5, 0.9])]
    else:
        frame["y"] = np.where(score > 0, "yes", "no").astype(object)
    return frame


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
@pytest.mark.filterwarnings("ignore::fairfront.exceptions.GroupWarning")
def test_any_table_becomes_a_model_that_survives_its_files(task: str, data: st.DataObject) -> None:
    frame = data.draw(tables(task))
    run = ff.trace_table(frame, target="y", groups="group", n_points=3, progress=False, seed=1, **TASKS[task])
    id = data.draw(st.sampled_from(run.frontier.ids.tolist()))
    model = run.select(id=id)
    assert "nan" not in model.card.lower().replace("(", " ").replace("|", " ").split()
    held = frame.drop(columns=["y", "group"])
    before = model.predict(frame)
    with tempfile.TemporaryDirectory() as folder:
        run.save(Path(folder) / "run")
        model.save(Path(folder) / "model")
        again, other = ff.load(Path(folder) / "model"), ff.load(Path(folder) / "run").select(id=id)
    np.testing.assert_array_equal(before, again.predict(frame))
    np.testing.assert_array_equal(before, other.predict(frame))
    np.testing.assert_array_equal(before, model.predict(held))  # neither group nor target is read
    order = np.random.default_rng(0).permutation(len(frame))
    _same(before[order], model.predict(held.iloc[order]))
    _survives_strange_cells(model, held)


def _same(one: np.ndarray, two: np.ndarray) -> None:
    """Compare predictions; products of matrices may differ in the last digits when rows move."""
    if one.dtype.kind == "f":
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-12)
    else:
        np.testing.assert_array_equal(one, two)


def _survives_strange_cells(model: ff.runs.TableModel, frame: pd.DataFrame) -> None:
    """Predict rows with levels that were never seen and with nothing known."""
    strange = frame.head(7).copy()
    for name in strange:
        strange[name] = np.nan if strange[name].dtype.kind == "f" else "never seen before"
    assert len(model.predict(strange)) == 7
    for name in strange:
        strange[name] = pd.Series([None] * 7, strange.index, object) if strange[name].dtype == object else np.nan
    assert len(model.predict(strange)) == 7
