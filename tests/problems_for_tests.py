"""Small problems for the solvers' tests, each written out a second time in plain numpy, and SciPy's answers to them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from scipy.optimize import minimize as scipy_minimize

import fairfront as ff
from fairfront.problems import Setup

PHI = {
    "squared": (lambda z: 0.5 * z**2, lambda z: z),
    "absolute": (np.abs, np.sign),
    "exponential": (lambda z: np.cosh(z) - 1.0, np.sinh),
}


@dataclass(frozen=True)
class Plain:
    """Logistic regression on groups, in plain numpy: the loss, signed gaps (or group losses) and their gradients."""

    X: np.ndarray
    sign: np.ndarray
    group: np.ndarray
    ridge: float
    notion: str = "equal_opportunity"
    surrogate: str = "loss"

    @property
    def d(self) -> int:
        return self.X.shape[1] + 1

    @cached_property
    def design(self) -> np.ndarray:
        return np.column_stack([self.X, np.ones(len(self.X))])

    def losses(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        u = self.sign * (self.design @ w)
        return np.logaddexp(0.0, -u), (-self.sign / (1.0 + np.exp(u)))[:, None] * self.design

    def rates(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        share = 1.0 / (1.0 + np.exp(-self.design @ w))
        return share, (share * (1.0 - share))[:, None] * self.design

    def loss(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        values, slopes = self.losses(w)
        kept = np.append(w[:-1], 0.0)
        return values.mean() + 0.5 * self.ridge * kept @ kept, slopes.mean(axis=0) + self.ridge * kept

    def gaps(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, slopes = self.rates(w) if self.surrogate == "rate" else self.losses(w)
        masks = [self.group == g for g in np.unique(self.group)]
        if self.notion == "group_loss":
            return np.array([values[m].mean() for m in masks]), np.array([slopes[m].mean(axis=0) for m in masks])
        masks = [m & (self.sign > 0) for m in masks]
        z = [values[a].mean() - values[b].mean() for a, b in combinations(masks, 2)]
        return np.array(z), np.array(
            [slopes[a].mean(axis=0) - slopes[b].mean(axis=0) for a, b in combinations(masks, 2)]
        )

    def objectives(self, w: np.ndarray, gap: str = "squared") -> tuple[np.ndarray, np.ndarray]:
        loss, g = self.loss(w)
        z, J = self.gaps(w)
        value, slope = PHI[gap]
        return np.append(loss, value(z)), np.vstack([g, slope(z)[:, None] * J])

    def best(self, caps: np.ndarray, *starts: np.ndarray) -> np.ndarray:
        """Return SLSQP's minimiser of the loss subject to |z| <= caps (z <= caps for group losses)."""

        def room(w: np.ndarray) -> np.ndarray:
            z = self.gaps(w)[0]
            return caps - z if self.notion == "group_loss" else np.concatenate([caps - z, caps + z])

        def room_slope(w: np.ndarray) -> np.ndarray:
            J = self.gaps(w)[1]
            return -J if self.notion == "group_loss" else np.vstack([-J, J])

        return _least(self.loss, room, room_slope, starts or (self.plain_fit,))

    def chebyshev(self, pi: np.ndarray, *starts: np.ndarray) -> np.ndarray:
        """Return SLSQP's minimiser of max_i pi_i h_i, with t = that maximum as one more unknown."""
        lifted = [np.append(w, (pi * self.objectives(w)[0]).max()) for w in starts or (self.plain_fit,)]
        found = _least(
            lambda v: (v[-1], np.eye(len(v))[-1]),
            lambda v: v[-1] - pi * self.objectives(v[:-1])[0],
            lambda v: np.column_stack([-pi[:, None] * self.objectives(v[:-1])[1], np.ones(len(pi))]),
            lifted,
        )
        return found[:-1]

    @cached_property
    def plain_fit(self) -> np.ndarray:
        return scipy_minimize(self.loss, np.zeros(self.d), jac=True, options={"gtol": 1e-10}).x

    @cached_property
    def span(self) -> float:
        """Return the loss range of the front: least loss with all gaps zero, minus least loss."""
        return self.loss(self.best(np.zeros(len(self.gaps(self.plain_fit)[0]))))[0] - self.loss(self.plain_fit)[0]


def _least(function: Any, room: Any, room_slope: Any, starts: Any) -> np.ndarray:
    limits = {"type": "ineq", "fun": room, "jac": room_slope}
    options = {"maxiter": 500, "ftol": 1e-14}
    found = [
        scipy_minimize(function, x, jac=True, method="SLSQP", constraints=limits, options=options).x
        for x in starts
    ]
    feasible = [x for x in found if room(x).min() >= -1e-8]
    assert feasible, "SLSQP found no point within the caps"
    return min(feasible, key=lambda x: function(x)[0])


def cohort(seed: int, groups: int = 2, n: int = 240, d: int = 4, ridge: float = 1e-2, **kind: str) -> Plain:
    """Draw features, labels and groups; the groups' labels depend on the features in different ways."""
    rng = np.random.default_rng(seed)
    group = rng.permutation(np.arange(n) % groups)
    X = rng.normal(size=(n, d)) + 0.3 * rng.normal(size=(groups, d))[group]
    slopes = rng.normal(size=d) + 0.8 * rng.normal(size=(groups, d))
    score = (X * slopes[group]).sum(axis=1) + 0.7 * rng.normal(size=groups)[group]
    return Plain(X, np.where(score + rng.logistic(size=n) > 0, 1.0, -1.0), group, ridge, **kind)


def laid_out(plain: Plain, gap: str = "squared") -> Setup:
    """Return fairfront's layout of the same problem."""
    return ff.linear_problem(
        plain.X,
        plain.sign,
        sensitive_features=plain.group.astype(str),
        notion=plain.notion,
        surrogate=plain.surrogate,
        gap=gap,
        ridge=plain.ridge,
        groups=ff.Groups(reference=str(plain.group.max())),
    )
