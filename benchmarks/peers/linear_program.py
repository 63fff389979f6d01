"""Post-processing by a linear program, as error-parity does it, written with SciPy (its own pins are too old).

Each group draws among the corners of its ROC curve's convex hull; the program finds the draws with the least error at
a cap on the difference of true positive rates.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog
from scipy.spatial import ConvexHull
from sklearn.metrics import roc_curve

from .base import Candidates, Fitting, Peer, plain_model


def fit(fitting: Fitting) -> Candidates:
    held = fitting.validation
    model = plain_model(fitting.train)
    scores = model.decision_function(held.X)
    hulls = [hull(scores[held.groups == g], held.y[held.groups == g]) for g in range(fitting.n_groups)]
    start = mixtures(hulls, held.y, held.groups, 1.0)
    widest = np.ptp([h[:, 0] @ m for h, m in zip(hulls, start, strict=True)])
    caps = np.linspace(widest, 0.0, fitting.n_points)
    settings = [mixtures(hulls, held.y, held.groups, cap) for cap in caps]

    def approve(X: np.ndarray, groups: np.ndarray) -> np.ndarray:
        found, s = np.zeros((len(settings), len(X))), model.decision_function(X)
        for g, corners in enumerate(hulls):
            rows = groups == g
            above = s[rows][None] >= corners[:, 2][:, None]
            found[:, rows] = np.stack([setting[g] for setting in settings]) @ above
        return np.clip(found, 0.0, 1.0)

    return Candidates(approve, solved=1)


def hull(scores: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the corners (tpr, fpr, threshold) of the upper convex hull of a group's ROC curve."""
    fpr, tpr, cut = roc_curve(y, scores)
    corners = ConvexHull(np.column_stack([np.append(fpr, 1.0), np.append(tpr, 0.0)])).vertices
    kept = np.sort(corners[corners < len(fpr)])
    return np.column_stack([tpr, fpr, cut])[kept]


def mixtures(hulls: list[np.ndarray], y: np.ndarray, groups: np.ndarray, cap: float) -> list[np.ndarray]:
    """Return per group the shares of its corners with the least error, all true positive rates within the cap."""
    n = len(y)
    sizes = [(((groups == g) & (y == 1)).sum() / n, ((groups == g) & (y == 0)).sum() / n) for g in range(len(hulls))]
    places = np.cumsum([0, *[len(h) for h in hulls]])
    cost = np.concatenate([p * (1 - h[:, 0]) + q * h[:, 1] for h, (p, q) in zip(hulls, sizes, strict=True)])
    k = places[-1]
    sums, upper = np.zeros((len(hulls), k + 1)), []
    for g, h in enumerate(hulls):
        at = slice(places[g], places[g + 1])
        sums[g, at] = 1.0
        row = np.zeros(k + 1)
        row[at] = h[:, 0]
        upper += [(row, 1.0), (-row, -1.0)]  # t <= tpr <= t + cap, with t free
    A = np.stack([row - sign * np.eye(k + 1)[k] for row, sign in upper])
    b = np.array([cap if sign > 0 else 0.0 for _, sign in upper])
    found = linprog(np.append(cost, 0.0), A_ub=A, b_ub=b, A_eq=sums, b_eq=np.ones(len(hulls)), bounds=(0.0, 1.0))
    return [found.x[places[g] : places[g + 1]] for g in range(len(hulls))]


PEERS = {
    "linear_program": Peer(
        "linear program (error-parity)",
        fit,
        needs_group_at_prediction=True,
        note="random decisions, judged by expectation",
    )
}
