"""Linear FERM (Donini et al. 2018): equal mean scores of two groups among positives, by removing one feature.

With u the difference of the two groups' mean features among label +1, w.u = 0 is met exactly by x_j - x_i u_j / u_i
for all j but i = argmax |u_i|; any linear learner may then be fitted. The penalty is on the remaining weights, as in
the authors' code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .base import Array


def ferm(X: Array, positive: Any, group: Any, learner: Callable[[], Any]) -> Array:
    """Fit ``learner()`` on the features that cannot tell the two groups' means apart; return weights (d + 1,)."""
    positive, group = np.asarray(positive, dtype=bool), np.asarray(group)
    names = np.unique(group)
    if len(names) != 2:
        raise ValueError(f"linear FERM compares two groups, found {len(names)}; merge groups.")
    first, second = (X[(group == name) & positive].mean(axis=0) for name in names)
    u = first - second
    i = int(np.argmax(np.abs(u)))
    if u[i] == 0.0:
        fitted = learner().fit(X, positive.astype(int))
        return np.append(fitted.coef_[0], fitted.intercept_[0])
    others = np.delete(np.arange(X.shape[1]), i)
    ratio = u[others] / u[i]
    fitted = learner().fit(X[:, others] - X[:, [i]] * ratio, positive.astype(int))
    coef = np.zeros(X.shape[1])
    coef[others] = fitted.coef_[0]
    coef[i] = -float(ratio @ fitted.coef_[0])
    return np.append(coef, fitted.intercept_[0])
