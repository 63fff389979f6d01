"""What a notion is about, and what a loss becomes, is said in one place that every output reads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar
from unittest.mock import patch

import numpy as np
import pytest

import fairfront as ff
from fairfront.explorer.payload import facts_of
from fairfront.frontier import LinearModels
from fairfront.objectives import LOSSES, NOTIONS, Task, rates_of
from fairfront.objectives.losses import Logistic
from fairfront.objectives.notions import DemographicParity, EqualOpportunity
from fairfront.runs.options import main_gaps

RNG = np.random.default_rng(1)
X = RNG.normal(size=(300, 2))
A = RNG.choice(["a", "b"], 300)
Y = (X[:, 0] + 0.5 * (A == "a") + RNG.normal(size=300) > 0).astype(int)


@dataclass(frozen=True)
class Own(EqualOpportunity):
    """A notion that a user registered; it says itself which rates it is about."""

    name: ClassVar[str] = "own"


@dataclass(frozen=True)
class Steeper(Logistic):
    """A loss that scikit-learn does not know."""

    name: ClassVar[str] = "steeper"


@pytest.fixture
def registered() -> Iterator[None]:
    with patch.dict(NOTIONS), patch.dict(LOSSES):
        NOTIONS.add("own", Own)
        LOSSES.add("steeper", Steeper)
        yield


@pytest.mark.usefixtures("registered")
def test_a_registered_notion_has_one_headline_everywhere() -> None:
    front = ff.trace(X, Y, sensitive_features=A, notion="own", n_points=3, progress=False)
    front = front.evaluate(X, Y, sensitive_features=A)
    assert main_gaps(front) == ("tpr_gap",)
    assert facts_of(front)["rates"] == ("tpr",)
    assert facts_of(front)["notions"][0]["leaves_out"].startswith("It does not compare people whose label is another")
    own = ff.Frontier.from_models({"m": front.select(id=0)}, X, Y, sensitive_features=A, notion="own")
    np.testing.assert_array_equal(own.gaps[:, 0], own.column("tpr_gap"))


@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression"])
def test_the_page_and_the_commands_headline_the_same_gap(kind: str) -> None:
    y = {"binary": Y, "multiclass": Y + (X[:, 1] > 0.5), "regression": np.exp(X[:, 0] + 0.1 * Y)}[kind]
    loss = "squared" if kind == "regression" else "logistic"
    for name in [name for name in NOTIONS if kind in NOTIONS[name].kinds]:
        front = ff.trace(X, y, sensitive_features=A, notion=name, loss=loss, n_points=2, progress=False)
        front = front.evaluate(X, y, sensitive_features=A)
        assert main_gaps(front) == tuple(f"{rate}_gap" for rate in facts_of(front)["rates"])
        assert facts_of(front)["notions"][0]["leaves_out"].startswith("It does not")


def test_a_notion_that_nobody_registered_is_about_errors() -> None:
    class Strange(DemographicParity):
        name: ClassVar[str] = "strange"

    front = ff.trace(X, Y, sensitive_features=A, notion=Strange(), n_points=2, progress=False)
    front = front.evaluate(X, Y, sensitive_features=A)
    assert main_gaps(front) == ("error_gap",)
    assert facts_of(front)["rates"] == ("error",)
    assert rates_of(("strange",), Task("regression")) == ("mse",)


@pytest.mark.usefixtures("registered")
def test_a_loss_without_a_stock_model_is_refused_in_a_sentence() -> None:
    front = ff.trace(X, Y, sensitive_features=A, loss="steeper", n_points=3, progress=False)
    with pytest.raises(ff.InputError, match=r"no linear model with the loss 'steeper', expected one of logistic"):
        front.select(id=0)
    assert isinstance(front.models, LinearModels)
    shell = ff.FrontierClassifier(loss="steeper", n_points=3).fit(X, Y, sensitive_features=A)
    assert shell.predict(X).shape == (300,)


@pytest.mark.parametrize("loss", [name for name in LOSSES if LOSSES[name].kinds[0] == "binary"])
def test_every_loss_of_two_classes_has_a_stock_model(loss: str) -> None:
    front = ff.trace(X, Y, sensitive_features=A, loss=loss, n_points=2, progress=False)
    decided = front.models.scores(X)[0, 0] > 0
    np.testing.assert_array_equal(front.select(id=int(front.ids[0])).predict(X), decided.astype(int))
