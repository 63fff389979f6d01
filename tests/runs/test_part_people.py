"""Intervals of a card's parts where people have several rows: those of the people, not of their rows."""

from __future__ import annotations

import numpy as np
import pytest

from fairfront.measures.lines import ALL
from fairfront.measures.proportions import wilson
from fairfront.objectives import Attribute, Task
from fairfront.runs.part_people import People
from fairfront.runs.pipeline import trace_table
from fairfront.runs.validation_part import of_evaluation
from tests.support.extras import optional

pd = optional("pandas")

TASK = Task("binary", ("no", "yes"), 1)


def test_equal_rows_of_a_person_count_once() -> None:
    rng = np.random.default_rng(0)
    n, m = 400, 3
    group, y = rng.integers(2, size=n), rng.integers(2, size=n)
    decided = rng.random((5, n)) < 0.5 + 0.2 * group
    rows = np.repeat(np.arange(n), m)
    attribute = Attribute("sex", ("a", "b"), group[rows].astype(np.intp))
    found = People.of(decided[:, rows], y[rows], TASK, [attribute], None, rows + 7, plain=0)
    for known in (*found.groups["sex"].values(), found.everyone):
        assert {rate: effect for rate, effect in known.items() if effect != pytest.approx(m, abs=0.05)} == {}
    np.testing.assert_allclose(found.changes["error"][1:], m, atol=0.05)
    one = {
        "figures": {"error": {"value": [0.5, 0.4, 0.6], "difference": [0.1, -0.1, 0.3]}},
        "groups": {"sex": [{"group": "a", "status": "compared", "tpr": [0.5, 0.4, 0.6], "fpr": "nobody"}]},
        "worst": [{"attribute": "sex", "figure": "tpr_gap", "value": 0.1, "lower": 0.0, "upper": 0.2}],
    }
    found.widen(one, 1)
    half = 0.1 * np.sqrt(found.everyone["error"])
    assert one["figures"]["error"]["value"] == pytest.approx([0.5, 0.5 - half, 0.5 + half], abs=1e-6)
    assert one["groups"]["sex"][0]["tpr"][2] == pytest.approx(0.5 + 0.1 * np.sqrt(3), abs=0.01)
    assert one["groups"]["sex"][0]["fpr"] == "nobody"
    assert one["worst"][0]["lower"] == 0.0
    assert one["worst"][0]["upper"] == pytest.approx(0.1 + 0.1 * np.sqrt(3), abs=0.01)
    alone = People.of(decided, y, TASK, [Attribute("sex", ("a", "b"), group.astype(np.intp))], None, np.arange(n), 0)
    assert set(alone.everyone.values()) == {1.0}


def test_parts_of_a_run_count_people() -> None:
    rng = np.random.default_rng(1)
    n = 900
    frame = pd.DataFrame({"x": rng.normal(size=n), "z": rng.normal(size=n), "sex": rng.choice(["f", "m"], n)})
    frame["good"] = np.where(frame.x + 0.5 * (frame.sex == "m") + rng.normal(size=n) > 0, "yes", "no")
    frame["who"] = [f"p{i}" for i in range(n)]
    long = frame.loc[np.repeat(np.arange(n), 4)].reset_index(drop=True)
    known = {"target": "good", "favourable": "yes", "groups": "sex", "n_points": 3}
    run = trace_table(long, person="who", progress=False, **known)
    card = of_evaluation(run.frontier, 0)
    for id, one in run.tested.items():
        for lines in (one["groups"]["sex"], card["groups"]["sex"] if id == "0" else []):
            for line in (line for line in lines if isinstance(line.get("tpr"), list)):
                rate, low, high = line["tpr"][:3]
                people = line["rows"] * line["base_rate"] / 4  # four rows each
                ends = wilson(rate * people, people)
                assert high - low == pytest.approx(ends[1] - ends[0], rel=0.12)
            assert not lines or lines[-1]["status"] == ALL


@pytest.mark.parametrize("asked", [{"loss": "softmax"}, {"units": "rates"}])
def test_several_classes_of_people_with_several_rows(asked: dict[str, str]) -> None:
    rng = np.random.default_rng(2)
    n, m = 500, 3
    x, sex = rng.normal(size=n), rng.choice(["a", "b"], n)
    label = np.array(["low", "mid", "high"])[np.digitize(x + (sex == "a") + rng.normal(size=n), [-0.5, 0.8])]
    rows = np.repeat(np.arange(n), m)
    table = pd.DataFrame({"x": x[rows] + rng.normal(size=n * m), "sex": sex[rows], "y": label[rows], "who": rows + 1})
    known = {"target": "y", "favourable": "high", "groups": "sex", "notion": "equalized_odds", "person": "who"}
    run = trace_table(table, **known, n_points=4, progress=False, **asked)  # type: ignore[arg-type]
    effects = run.frontier.evaluations["validation"].design["sex"]
    assert effects["recall"].shape == (2, 3)
    assert effects["recall"].max() > 1.5
    assert (run.frontier.evaluations["validation"].sizes["sex"]["recall"] > 0.0).all()
