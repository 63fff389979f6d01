"""Options that would have no effect are refused, by every function and estimator alike."""

from __future__ import annotations

from inspect import signature
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

import fairfront as ff
from fairfront.runs.settings import Settings
from fairfront.solvers.search import LINEAR

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 2))
Y = (X[:, 0] > 0).astype(int)
A = np.tile(["a", "b"], 40)
OTHER = {
    "surrogate": "rate",
    "preferences": 3,
    "preference": [1.0, 2.0],
    "n_points": 5,
    "ridge": 0.5,
    "fit_intercept": False,
}
SHELLS = (ff.FrontierClassifier, ff.FrontierRegressor, ff.ParetoFairClassifier, ff.ParetoFairRegressor)


def cases(names: tuple[str, ...]) -> list[Any]:
    return [
        pytest.param(owner, name, id=f"{owner.__name__}-{name}")
        for owner in (ff.trace, *SHELLS)
        for name in names
        if name in signature(owner).parameters
    ]


def call(owner: Any, **options: Any) -> Any:
    if owner is ff.trace:
        return ff.trace(X, Y, sensitive_features=A, progress=False, **options)
    return owner(**options).fit(X, Y, sensitive_features=A)


@pytest.mark.parametrize("owner", [ff.trace, *SHELLS])
def test_weighted_fits_need_an_estimator(owner: Any) -> None:
    with pytest.raises(ff.InputError, match=r"^a Weighting searches the weights of an estimator, found none"):
        call(owner, solver=ff.Weighting())


@pytest.mark.parametrize(("owner", "name"), cases(LINEAR))
def test_options_of_linear_models_are_not_for_estimators(owner: Any, name: str) -> None:
    learner = Ridge() if owner in (ff.FrontierRegressor, ff.ParetoFairRegressor) else LogisticRegression()
    with pytest.raises(ff.InputError, match=f"^{name} is for linear models, found an estimator"):
        call(owner, estimator=learner, **{name: OTHER[name]})


@pytest.mark.parametrize(
    "given",
    [{"max_fits": 5}, *({"model": "boosting", name: OTHER[name]} for name in ("n_points", "ridge", "surrogate"))],
)
def test_a_table_refuses_options_of_the_other_model(given: dict[str, Any]) -> None:
    with pytest.raises(ff.InputError, match="is for the model"):
        Settings(target="y", groups=("g",), favourable="1", **given)
