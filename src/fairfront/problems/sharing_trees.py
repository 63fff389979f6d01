"""Shared trees: the first trees of a boosted learner are grown once, and each weighted fit grows only the rest.

For scikit-learn's histogram boosting, where the benchmarks could not tell the outcome from full fits. For LightGBM and
XGBoost, whose fits are cheap already, gaps came out larger.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from ..exceptions import InputError
from ..objectives import Array


@dataclass(frozen=True)
class SharedTrees:
    """An estimator of which ``first`` trees are grown once with plain weights, and ``rest`` in every weighted fit."""

    estimator: Any
    first: int
    rest: int

    @property
    def beginning(self) -> Any:
        """Return the estimator that has only the shared trees, not fitted."""
        return copy.deepcopy(self.estimator).set_params(max_iter=self.first)

    def grow(self, begun: Any, X: Any, y: NDArray[Any], weight: Array, fit_params: Mapping[str, Any]) -> Any | None:
        """Return the fitted beginning with the rest grown on these weights; None where a class has no row left.

        Bins, and the rows kept for early stopping, are those of the beginning.
        """
        known = getattr(begun, "classes_", None)
        if known is not None and len(np.unique(y)) != len(known):
            return None
        model = copy.deepcopy(begun).set_params(warm_start=True, max_iter=begun.n_iter_ + self.rest)
        model.fit(X, y, sample_weight=weight, **fit_params)
        return model.set_params(warm_start=False, max_iter=self.first + self.rest)


def shared_trees(estimator: Any, share: Any) -> SharedTrees | None:
    """Return how fits of an estimator share their first trees, None for a share of 0; others are refused."""
    if isinstance(share, bool) or not isinstance(share, (int, float, np.number)) or not 0.0 <= share < 1.0:
        raise InputError(f"shared_trees is {share!r}, expected a share from 0 (none) to below 1, such as 0.5.")
    if share == 0:
        return None
    if not isinstance(estimator, (HistGradientBoostingClassifier, HistGradientBoostingRegressor)):
        raise InputError(
            f"shared_trees is for scikit-learn's HistGradientBoosting, found {type(estimator).__name__}; leave it out, "
            "or give the learner itself instead of a Pipeline."
        )
    first = round(float(share) * estimator.max_iter)
    if not 0 < first < estimator.max_iter:
        raise InputError(
            f"shared_trees is {share:g} of {estimator.max_iter} trees, expected some to be shared and some not."
        )
    return SharedTrees(estimator, first, estimator.max_iter - first)
