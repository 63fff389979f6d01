"""One setting of experiment 4: all frontiers of one data set and loss."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import fairfront as ff
from fairfront.pareto import nondominated

from .data import Part, Parts, Spec, parts
from .methods import Budget, Candidates, candidates, problem
from .rates import deo, error, rates

STEPS = (0.1, 0.5)
PRINTED = ("PB-PDO as printed, raw gradients", "PB-PDO as printed, normalised gradients")
DRAWN = 120


def frontier(spec: dict[str, str], loss: str, grid: int, steps: int, points: int) -> dict[str, Any]:
    """Return every method's points in the three planes; fit and validation rows together are the training rows."""
    made = _joined(parts(Spec(**spec), 0))
    linear = ff.linear_problem(**problem(made, loss))
    exact, exact_seconds = _timed(lambda: _newton(made, loss, points))
    pi = preferences(linear, exact.W[0])
    found: dict[str, tuple[np.ndarray, float, float | None]] = {"Newton (fairfront)": (exact.W, exact_seconds, None)}
    W, seconds = _timed(lambda: default_runs(made, loss, pi))
    found["PB-PDO (fairfront)"] = (W, seconds, None)
    for name, gradients in zip(PRINTED, ("raw", "normalised"), strict=True):
        begun = time.process_time()
        W, eta = printed_runs(linear, gradients, pi, steps)
        found[name] = (W, time.process_time() - begun, eta)
    search, seconds = _timed(lambda: candidates("Minimax reduction: GridSearch", made, loss, 0, Budget(grid=grid)))
    found["Minimax reduction: GridSearch"] = (search.W, seconds, None)
    curve = _curve(linear, exact.W)
    fronts = {
        name: {"seconds": s, "eta": eta, "models": len(W), **_planes(linear, W, made, curve)}
        for name, (W, s, eta) in found.items()
    }
    return {"spec": spec, "levels": list(made.levels), "fronts": fronts, "preferences": pi[:, 1]}


def _timed(job: Callable[[], Any]) -> tuple[Any, float]:
    begun = time.process_time()
    return job(), time.process_time() - begun


def _joined(made: Parts) -> Parts:
    both = (made.fit, made.validation)
    fit = Part(*(np.concatenate([getattr(p, f) for p in both]) for f in ("X", "y", "codes")))
    return Parts(fit, made.validation, made.test, made.levels)


def _newton(made: Parts, loss: str, points: int) -> Candidates:
    front = ff.trace(**problem(made, loss), n_points=points, progress=False)
    return Candidates(np.column_stack([front.models.coef[:, 0], front.models.intercept[:, 0]]))


def preferences(linear: Any, plain: np.ndarray, count: int = 10) -> np.ndarray:
    """Return pi = (1, r) with r from just above loss / gap objective of plain training to 1000 times that."""
    h = linear.algebra.objectives(linear.values(plain[None, None]))[0]
    return np.column_stack([np.ones(count), h[0] / h[1] * np.geomspace(1.1, 1000.0, count)])


def default_runs(made: Parts, loss: str, pi: np.ndarray) -> np.ndarray:
    """Return the points of fairfront's PB-PDO: ends and points on the way that nothing dominates."""
    front = ff.trace(**problem(made, loss), solver="pb_pdo", preferences=pi, progress=False)
    return np.column_stack([front.models.coef[:, 0], front.models.intercept[:, 0]])


def printed_runs(linear: Any, gradients: Any, pi: np.ndarray, steps: int) -> tuple[np.ndarray, float]:
    """Return all iterates of Algorithm 2 at the better of two step sizes, and that step size."""
    best: tuple[float, np.ndarray, float] | None = None
    for eta in STEPS:
        seen: list[np.ndarray] = []
        solver = ff.PaperPBPDO(gradients=gradients, eta=eta, T=steps, epsilon_1=1e-2, epsilon_2=1e-2)
        ended = ff.solve(
            linear,
            solver,
            preferences=pi,
            random_state=0,
            on_iterate=lambda t, ids, point, seen=seen: seen.append(point.W[:, 0]),
        )
        score = float(np.median((ended.objectives * pi).max(axis=1)))
        if best is None or score < best[0]:
            best = (score, np.concatenate(seen), eta)
    assert best is not None
    return best[1], best[2]


def _curve(linear: Any, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return Newton's gaps in rising order and the losses there."""
    L = linear.values(W[:, None])
    gap, loss = linear.algebra.worst(L)[:, 0], linear.algebra.loss(L)
    order = np.argsort(gap)
    return gap[order], loss[order]


def _planes(linear: Any, W: np.ndarray, made: Parts, curve: tuple[np.ndarray, np.ndarray]) -> dict[str, Any]:
    """Return a method's points in the planes, and the median loss excess of those that can be compared."""
    h = np.concatenate([linear.algebra.objectives(linear.values(W[i : i + 200, None])) for i in range(0, len(W), 200)])
    usable = np.isfinite(h).all(axis=1)
    W, h = W[usable], h[usable]
    kept = nondominated(h)
    gap = np.sqrt(2.0 * h[kept, 1])
    inside = gap <= curve[0].max()
    span = curve[1].max() - curve[1].min()
    excess = (h[kept, 0] - np.interp(gap, *curve))[inside] / span
    train = rates(W[kept], made.fit, 2)
    front = nondominated(np.column_stack([error(train), np.abs(deo(train))]))
    test = rates(W[kept][front], made.test, 2)
    return {
        "loss": thinned(h[kept]).tolist(),
        "train": np.column_stack([error(train), np.abs(deo(train))])[front].tolist(),
        "test": np.column_stack([error(test), np.abs(deo(test))]).tolist(),
        "kept": int(kept.sum()),
        "excess": float(np.median(excess)) if len(excess) else None,
    }


def thinned(points: np.ndarray, most: int = DRAWN) -> np.ndarray:
    """Return at most that many points, evenly along the first axis, ends included."""
    ordered = points[np.argsort(points[:, 0])]
    return ordered[np.unique(np.linspace(0, len(ordered) - 1, min(most, len(ordered))).round().astype(int))]
