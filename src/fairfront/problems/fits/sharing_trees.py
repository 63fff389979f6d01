"""Shared trees: the first trees of a boosted learner are grown once, and each weighted fit grows only the rest.

For scikit-learn's histogram boosting, where the benchmarks could not tell the outcome from full fits. For LightGBM and
XGBoost, whose fits are cheap already, gaps came out larger.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from ...exceptions import InputError
from ...objectives import Array
from ...validation import check_number, refuse
from .crossfit import Ints
from .learners import fit_learner

MANY = 10_000
"""Rows above which scikit-learn's ``early_stopping="auto"`` stops early."""


@dataclass(frozen=True, eq=False)
class Beginning:
    """The fitted shared trees, and a digest of the rows and labels that they saw."""

    model: Any
    rows: str


@dataclass(frozen=True)
class SharedTrees:
    """An estimator of which ``first`` trees are grown once with plain weights, and ``rest`` in every weighted fit."""

    estimator: Any
    first: int
    rest: int

    def begin(
        self, index: Ints, X: Any, y: NDArray[Any], weight: Array, seed: int, fit_params: Mapping[str, Any]
    ) -> Beginning:
        """Grow the shared trees on the rows of this index."""
        shared = copy.deepcopy(self.estimator).set_params(max_iter=self.first)
        return Beginning(fit_learner(shared, X, y, weight, seed, fit_params), self._rows_digest(index, y))

    def grow(
        self, begun: Beginning, index: Ints, X: Any, y: NDArray[Any], weight: Array, fit_params: Mapping[str, Any]
    ) -> Any | None:
        """Return the fitted beginning with the rest grown on these weights; None where that would be another model.

        It would be where a class has no row left, and, with early stopping, where rows are doubled, dropped or have
        other labels than at the beginning: then the rows kept for early stopping are drawn anew, and the shared trees
        were trained on most of them. Bins are those of the beginning.
        """
        known = getattr(begun.model, "classes_", None)
        if known is not None and len(np.unique(y)) != len(known):
            return None
        if self._stops_early(begun.model, len(y)) and begun.rows != self._rows_digest(index, y):
            return None
        model = copy.deepcopy(begun.model).set_params(warm_start=True, max_iter=begun.model.n_iter_ + self.rest)
        model.fit(X, y, sample_weight=weight, **fit_params)
        return model.set_params(warm_start=False, max_iter=self.first + self.rest)

    def _stops_early(self, begun: Any, n: int) -> bool:
        asked = self.estimator.early_stopping
        return bool(begun.do_early_stopping_) or asked is True or (asked == "auto" and n > MANY)

    def _rows_digest(self, index: Ints, y: NDArray[Any]) -> str:
        """Return a digest of what rows kept for early stopping are drawn by: for classes that is their labels too."""
        found = hashlib.sha256(np.ascontiguousarray(index, dtype=np.int64).tobytes())
        if is_classifier(self.estimator):
            found.update(np.unique(y, return_inverse=True)[1].astype(np.int64).tobytes())
        return found.hexdigest()


def shared_trees(estimator: Any, share: Any) -> SharedTrees | None:
    """Return how fits of an estimator share their first trees, None for a share of 0; others are refused."""
    expected = "a share from 0 (none) to below 1, such as 0.5"
    if not 0.0 <= check_number(share, "shared_trees", expected) < 1.0:
        raise refuse("shared_trees", share, expected)
    if share == 0:
        return None
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

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
