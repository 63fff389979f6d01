"""An independent optimum at scale 1: loss and gaps written out in plain numpy, SLSQP from several starts.

No loss, gap or solver here is taken from fairfront. The gaps of a notion are bounded through the range of its groups' means: a free
centre per comparison, and every mean within half a cap of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linprog, minimize
from scipy.special import expit, log_softmax

from ..optimum import Counted, slsqp
from .problems import Draw

WIDTH = 0.5  # of the smoothed hinge's band


def margin_loss(loss: str, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a loss of the margin and its slope."""
    if loss == "logistic":
        return np.logaddexp(0.0, -u), -expit(-u)
    short = np.maximum(1.0 - u, 0.0)
    if loss == "squared_hinge":
        return short**2, -2.0 * short
    inside = np.minimum(short, WIDTH)
    return inside * (short - inside / 2.0) / WIDTH, -inside / WIDTH


def sample_loss(loss: str, S: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the loss of scores (K, n) on labels (codes; +-1 or values for squares) and its slope (K, n)."""
    if loss == "squared":
        return 0.5 * (S[0] - y) ** 2, S - y
    if loss == "softmax":
        log_p, hot = log_softmax(S, axis=0), np.arange(len(S))[:, None] == y
        return -log_p[y, np.arange(len(y))], np.exp(log_p) - hot
    value, slope = margin_loss(loss, S[0] * y)
    return value, (slope * y)[None]


@dataclass(frozen=True)
class Comparison:
    """Means of one quantity over each group: the labels that losses are taken on, and row weights (groups, n)."""

    labels: np.ndarray | None  # None: the mean score
    shares: np.ndarray


class Capped:
    """min loss subject to a cap on the worst gap, at scale 1 and in coordinates with a unit Hessian of squares."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.K = draw.classes if draw.kind == "multiclass" else 1
        n, d = draw.X.shape
        self.X = np.column_stack([draw.X, np.full(n, float(draw.intercept))])
        weight = np.ones(n) if draw.weight is None else draw.weight
        self.share = weight / weight.sum()
        self.y = 2.0 * draw.y - 1.0 if draw.kind == "binary" else draw.y
        self.comparisons = self._comparisons(weight)
        self.one_sided = draw.notion == "group_loss"
        self.basis = self._basis(d)
        self.size = self.K * self.basis.shape[1]
        self.null = max(self.best_constant(), 1e-12)

    def _basis(self, d: int) -> np.ndarray:
        """Return B with theta = v B^T: whitened columns, directions without any effect left out."""
        penalty = np.sqrt(self.draw.ridge) * np.eye(d, d + 1)
        _, s, Vt = np.linalg.svd(np.vstack([np.sqrt(self.share)[:, None] * self.X, penalty]), full_matrices=False)
        kept = s > 1e-13 * s[0]
        return np.asarray((Vt[kept] / s[kept, None]).T)

    def _comparisons(self, weight: np.ndarray) -> list[Comparison]:
        at, codes = self.draw, self.draw.y
        everyone = np.ones(len(codes), dtype=bool)
        good = at.favourable
        if at.kind == "regression":
            rows: list[tuple[Any, np.ndarray]] = [(None if at.notion == "demographic_parity" else self.y, everyone)]
        elif at.notion in ("disparate_mistreatment", "group_loss"):
            rows = [(self.y, everyone)]
        elif at.notion == "demographic_parity":
            asked = (good,) if at.kind == "binary" else range(3)
            rows = [(np.full_like(self.y, 2 * c - 1 if at.kind == "binary" else c), everyone) for c in asked]
        else:
            own, other = [(self.y, codes == good)], [(self.y, codes != good)]
            if at.kind == "multiclass":
                own = [(self.y, codes == c) for c in range(3)]
            rows = {"equal_opportunity": own, "predictive_equality": other}.get(at.notion, own + other)
            if at.kind == "multiclass" and at.notion == "equalized_odds":
                rows = own
        groups = [at.group == g for g in range(int(at.group.max()) + 1)]
        groups = [group for group in groups if all((group & mask).any() for _, mask in rows)]  # others have no mean
        found = []
        for labels, mask in rows:
            inside = np.stack([group & mask for group in groups]) * weight
            found.append(Comparison(labels, inside / inside.sum(axis=1, keepdims=True)))
        return found

    def theta(self, v: np.ndarray) -> np.ndarray:
        """Return coefficients with intercepts (K, d + 1)."""
        return np.asarray(v.reshape(self.K, -1) @ self.basis.T)

    def place(self, theta: np.ndarray) -> np.ndarray:
        """Return the coordinates of coefficients with intercepts."""
        return np.asarray(np.linalg.lstsq(self.basis, theta.T, rcond=None)[0].T.reshape(-1))

    def loss(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the loss with its ridge, and its gradient (K, d + 1)."""
        value, slope = sample_loss(self.draw.loss, theta @ self.X.T, self.y)
        w = theta.copy()
        w[:, -1] = 0.0
        ridge = self.draw.ridge
        return float(self.share @ value + 0.5 * ridge * (w**2).sum()), (slope * self.share) @ self.X + ridge * w

    def means(self, theta: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Return, for each comparison, every group's mean and its gradient (groups, K, d + 1)."""
        S = theta @ self.X.T
        values, slopes = [], []
        for each in self.comparisons:
            if each.labels is None:
                value, slope = S[0], np.ones_like(S)
            else:
                value, slope = sample_loss(self.draw.loss, S, each.labels)
            values.append(each.shares @ value)
            slopes.append((each.shares[:, None, :] * slope) @ self.X)
        return values, slopes

    def gap(self, theta: np.ndarray) -> float:
        """Return the worst gap: the largest range of groups' means, or the largest mean."""
        values, _ = self.means(theta)
        return float(max(np.max(v) if self.one_sided else np.ptp(v) for v in values))

    def best_constant(self) -> float:
        """Return the loss at coefficients of 0, for squares at the best intercept: the size of losses."""
        theta = np.zeros((self.K, self.X.shape[1]))
        if self.draw.loss == "squared" and self.draw.intercept:
            theta[0, -1] = float(self.share @ self.y)
        return self.loss(theta)[0]

    def least(self, start: np.ndarray) -> np.ndarray:
        """Return the coordinates with the least loss, without any cap."""

        def both(v: np.ndarray) -> tuple[float, np.ndarray]:
            value, slope = self.loss(self.theta(v))
            return value / self.null, (slope @ self.basis).reshape(-1) / self.null

        return np.asarray(minimize(both, start, jac=True, method="BFGS", options={"gtol": 1e-10, "maxiter": 400}).x)

    def capped(self, start: np.ndarray, cap: float) -> tuple[float, float]:
        """Return the loss where SLSQP ended and the gap there."""
        centres = 0 if self.one_sided else len(self.comparisons)

        def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
            value, slope = self.loss(self.theta(x[: self.size]))
            return value / self.null, np.concatenate([(slope @ self.basis).reshape(-1) / self.null, np.zeros(centres)])

        def slack(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            values, rows = [], []
            for k, (mean, slope) in enumerate(zip(*self.means(self.theta(x[: self.size])), strict=True)):
                centre = np.zeros((len(slope), centres))
                centre[:, k : k + 1] = -1.0 if centres else 0.0
                both = np.hstack([(slope @ self.basis).reshape(len(slope), -1), centre])
                apart = mean - x[self.size + k] if centres else mean
                values += [cap / 2 - apart, cap / 2 + apart] if centres else [cap - apart]
                rows += [-both, both] if centres else [-both]
            return np.concatenate(values), np.vstack(rows)

        middle = [0.5 * (v.min() + v.max()) for v in self.means(self.theta(start))[0]][:centres]
        found = slsqp(Counted(objective), Counted(slack), np.concatenate([start, middle]), max_iter=300)
        theta = self.theta(found.x[: self.size])
        return self.loss(theta)[0], self.gap(theta)

    def separable(self) -> str:
        """Tell whether the labels can be separated without a mistake: "no", "partly" (some rows on the plane), "yes"."""
        if self.draw.loss not in ("logistic", "softmax"):
            return "no"
        if self.K == 1:
            rows = self.y[:, None] * self.X
        else:
            hot, others = np.eye(self.K)[self.y], [np.delete(np.arange(self.K), c) for c in self.y]
            rows = np.vstack([
                np.kron(hot[i] - np.eye(self.K)[c], self.X[i]) for i in range(len(self.y)) for c in others[i]
            ])  # fmt: skip
        p = rows.shape[1]
        bounds = [(None, None)] * p + [(0.0, 1.0)] * len(rows)
        A = np.hstack([-rows, np.eye(len(rows))])
        found = linprog(np.r_[np.zeros(p), -np.ones(len(rows))], A_ub=A, b_ub=np.zeros(len(rows)), bounds=bounds)
        margins = found.x[p:] if found.status == 0 else np.zeros(1)
        return "yes" if margins.min() > 0.5 else "partly" if margins.max() > 0.5 else "no"
