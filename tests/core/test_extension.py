"""A notion, loss, gap, solver, data set or peer of one's own is one class and one line, and goes all the way."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar
from unittest.mock import patch

import numpy as np
import pytest
from sklearn.linear_model import SGDClassifier

import fairfront as ff
from fairfront import datasets
from fairfront.datasets.base import register
from fairfront.explorer.payload import facts_of
from fairfront.objectives import GAPS, LOSSES, NOTIONS, Comparison, Gap, Notion, Quantity, Task
from fairfront.objectives.losses import Loss, MarginLoss
from fairfront.runs.options import main_gaps
from fairfront.solvers import PBPDO, SOLVERS, Newton, Solver
from fairfront.solvers.base import Solved

RNG = np.random.default_rng(5)
N = 600
A = RNG.choice(["a", "b"], N)
X = np.column_stack([RNG.normal(size=N) + 0.8 * (A == "a"), RNG.normal(size=(N, 2))])
Y = np.where(X[:, 0] + X[:, 1] + RNG.normal(size=N) > 0.4, "yes", "no")
AMOUNT = X[:, 0] + 0.5 * X[:, 1] + RNG.normal(size=N)


@dataclass(frozen=True)
class EqualRefusal(Notion):
    """The share of refusals among people with the favourable label; of its words only the necessary ones are said."""

    name: ClassVar[str] = "equal_refusal"
    rates: ClassVar[tuple[str, ...]] = ("tpr",)

    def comparisons(self, task: Task, surrogate: Any) -> tuple[Comparison, ...]:
        """Compare the favourable label's rows."""
        quantity = Quantity("loss") if surrogate == "loss" else Quantity("rate", task.favourable)
        return (Comparison(quantity, (task.favourable,)),)


@dataclass(frozen=True)
class ModifiedHuber(MarginLoss):
    """max(0, 1 - u)^2, and -4 u below -1; scikit-learn's SGDClassifier has it too."""

    name: ClassVar[str] = "modified_huber"

    def margin(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return value and slope."""
        short = np.maximum(0.0, 1.0 - u)
        return np.where(u < -1.0, -4.0 * u, short**2), np.where(u < -1.0, -4.0, -2.0 * short)

    def margin_curvature(self, u: np.ndarray) -> np.ndarray:
        """Return 2 in the middle."""
        return np.where((u < 1.0) & (u > -1.0), 2.0, 0.0)

    @staticmethod
    def stock(task: Task, strength: float, fit_intercept: bool) -> Any:
        """Return scikit-learn's model with the same loss."""
        return SGDClassifier(loss="modified_huber", alpha=strength, fit_intercept=fit_intercept)


@dataclass(frozen=True)
class Bare(ModifiedHuber):
    """A loss of two classes that scikit-learn does not have: what it is made of is another loss."""

    name: ClassVar[str] = "bare"


@dataclass(frozen=True)
class LogCosh(Loss):
    """log cosh of the residual, for amounts."""

    name: ClassVar[str] = "log_cosh"
    kinds: ClassVar[tuple[Any, ...]] = ("regression",)

    def value_slope(self, score: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return log cosh r and tanh r."""
        residual = score - target
        return np.logaddexp(residual, -residual)[..., 0, :] - np.log(2.0), np.tanh(residual)

    def curvature(self, score: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return 1 - tanh^2 r."""
        return (1.0 - np.tanh(score - target) ** 2)[..., None, :]


@dataclass(frozen=True)
class PowerGap(Gap):
    """|z|^1.5."""

    name: ClassVar[str] = "power"

    def value(self, z: np.ndarray) -> np.ndarray:
        """Return |z|^1.5."""
        return np.abs(z) ** 1.5

    def slope(self, z: np.ndarray) -> np.ndarray:
        """Return 1.5 sign(z) sqrt(|z|)."""
        return 1.5 * np.sign(z) * np.sqrt(np.abs(z))

    def inverse(self, value: np.ndarray) -> np.ndarray:
        """Return value^(2/3)."""
        return value ** (2.0 / 3.0)


@dataclass(frozen=True)
class Ends(Solver):
    """Plain training and the smallest gap, and nothing between."""

    name: ClassVar[str] = "ends"

    def trace(self, problem: Any, request: Any, on_point: Any) -> list[Solved]:
        """Return two of Newton's points, as a solver that knows no certificate would."""
        found = Newton().trace(problem, request, on_point)
        return [Solved(point.W, point.status, point.pi) for point in (found[0], found[-1])]


ORIGIN = datasets.Origin("letters", "", N, "of this test", "answer", ("group",))


def load_letters() -> datasets.Dataset:
    """Load the rows of this test as a data set."""
    columns = {"one": X[:, 0], "two": X[:, 1], "answer": Y, "group": A}
    return datasets.Dataset.of(
        ORIGIN, columns, favourable="yes", features=("one", "two"), task="binary", card="Drawn for a test."
    )


def csv_of(file: Path, columns: dict[str, Any]) -> Path:
    """Write columns to a file."""
    rows = zip(*(values.tolist() for values in columns.values()), strict=True)
    file.write_text("\n".join(",".join(map(str, row)) for row in [columns, *rows]))
    return file


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    with ExitStack() as kept:
        for registry in (NOTIONS, LOSSES, GAPS, SOLVERS, datasets.DATASETS, datasets.ORIGINS):
            kept.enter_context(patch.dict(registry))
        NOTIONS.add("equal_refusal", EqualRefusal)
        for loss in (ModifiedHuber, Bare, LogCosh):
            LOSSES.add(loss.name, loss)
        GAPS.add("power", PowerGap)
        SOLVERS.add("ends", Ends)
        register(ORIGIN)(load_letters)
        yield


OWN: dict[str, dict[str, Any]] = {
    "notion": {"notion": "equal_refusal"},
    "notion by rate": {"notion": "equal_refusal", "surrogate": "rate"},
    "loss": {"loss": "modified_huber"},
    "gap": {"gap": "power", "solver": PBPDO(), "preferences": 3},
    "solver": {"solver": "ends"},
    "all at once": {"notion": "equal_refusal", "loss": "modified_huber", "gap": "power", "solver": "ends"},
}


@pytest.mark.parametrize("own", OWN)
def test_one_of_ones_own_goes_all_the_way(own: str, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"n_points": 4, **OWN[own]}
    if "preferences" in asked:
        del asked["n_points"]
    front = ff.trace(X, Y, sensitive_features=A, favourable="yes", progress=False, **asked)
    front = front.evaluate(X, Y, sensitive_features=A, approval_rate=0.4)
    assert front.facts.notions[0] in repr(front)
    assert main_gaps(front) == ("tpr_gap",)
    assert facts_of(front)["rates"] == ("tpr",)
    model = front.select(at_most={"tpr_gap": 1.0})
    assert set(model.predict(X)) == {"no", "yes"}
    if own == "loss":
        assert isinstance(front.evaluate(X, Y, sensitive_features=A, cutoff=0.0).select(id=0).estimator, SGDClassifier)
    front.save(tmp_path / "front")
    again = ff.load(tmp_path / "front")
    assert again.facts == front.facts
    np.testing.assert_array_equal(again.models.scores(X), front.models.scores(X))
    np.testing.assert_array_equal(again.objectives, front.objectives)
    front.to_html(tmp_path / "page.html")
    notion = front.facts.notions[0]
    given = ff.Frontier.from_models({"m": model}, X, Y, sensitive_features=A, favourable="yes", notion=notion)
    np.testing.assert_array_equal(given.gaps[:, 0], given.column("tpr_gap"))
    cut = again.postprocess(X, Y, sensitive_features=A, allow_group_at_prediction=True, n_points=3)
    assert len(cut) > 0


@pytest.mark.parametrize("asked", [{"notion": "equal_refusal"}, {"loss": "modified_huber"}, {"loss": "bare"}])
def test_one_of_ones_own_makes_a_run_and_a_card(asked: dict[str, str], tmp_path: Path) -> None:
    data = datasets.load("letters")
    file = csv_of(tmp_path / "letters.csv", data.columns)
    known: dict[str, Any] = {"target": data.target, "favourable": data.favourable, "n_points": 4}
    run = ff.trace_table(file, groups="group", progress=False, **known, **asked)
    run.save(tmp_path / "run")
    run = ff.load(tmp_path / "run")
    assert "tpr_gap" in run.options()[0].figures
    model = run.select(id=run.options()[0].id, reason="it is a test", by="the tests")
    assert asked.get("loss", "Equal refusal is compared.") in model.card.replace("\\", "")
    model.save(tmp_path / "model")
    again = ff.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(file), model.predict(file))
    run.to_html(tmp_path / "page.html")


def test_a_loss_of_amounts_is_a_regression(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"loss": "log_cosh", "notion": "demographic_parity"}
    front = ff.trace(X, AMOUNT, sensitive_features=A, n_points=3, progress=False, **asked)
    front = front.evaluate(X, AMOUNT, sensitive_features=A)
    assert front.facts.task.kind == "regression"
    assert front.gaps[-1, 0] < 0.1 * front.gaps[0, 0]
    front.save(tmp_path / "front")
    assert ff.load(tmp_path / "front").facts == front.facts
    front.to_html(tmp_path / "page.html")
    file = csv_of(tmp_path / "amounts.csv", {"one": X[:, 0], "amount": AMOUNT, "group": A})
    asked |= {"target": "amount", "groups": "group", "n_points": 3}
    run = ff.trace_table(file, progress=False, **asked)
    assert "log_cosh" in run.select(id=int(run.frontier.ids[0])).card.replace("\\", "")


@pytest.mark.parametrize("loss", ["bare", "log_cosh"])
def test_a_loss_without_a_stock_model_is_refused_in_a_sentence(loss: str) -> None:
    y = AMOUNT if loss == "log_cosh" else Y
    front = ff.trace(X, y, sensitive_features=A, loss=loss, notion="disparate_mistreatment", n_points=2, progress=False)
    with pytest.raises(ff.InputError, match=f"no linear model with the loss '{loss}', expected one of"):
        front.select(id=0)
