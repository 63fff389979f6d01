"""One split of Experiment 4: every method's models, which of them nothing dominates, and who dominates whom."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import fairfront as ff
from fairfront.pareto import nondominated

from .. import judge
from ..cases import Rows, Split
from ..judge import Figures
from ..peers.base import frontier_weights
from .choices import GRID, READINGS
from .data import Spec, joined, parts
from .extraction import ON_FRONT, curve, excess, on_line, preferences, random_starts, thinned
from .ladder import climb, smoothness
from .methods import Budget, candidates, problem

STEPS = {"raw": 2.0, "normalised": 0.1}
"""Step sizes of both readings in units of 1 / L: those that left the smallest holes in Figure 6."""
EVERY = 5
"""Of the models on the way of printed runs, every fifth is judged in error and DEO; in losses all are."""
NEWTON, PBPDO = "Newton (fairfront)", "PB-PDO (fairfront)"
PRINTED = {f"PB-PDO as printed, {words}": reading for reading, words in READINGS.items()}
METHODS = (NEWTON, PBPDO, *PRINTED, GRID)
ROUTES = {"all": "all models", "mapped": "the paper's mapping"}
DRAWN = 150
WIDE = 0.1
"""Smallest gap that a box of hypervolumes ends at: a plain model with a small training gap leaves nothing to compare."""


@dataclass(frozen=True)
class Models:
    """A method's models: weights (N, d + 1) and objectives (N, 2); ``ends`` of printed runs; seconds of one core."""

    W: np.ndarray
    h: np.ndarray
    seconds: float
    every: int = 1
    ends: np.ndarray | None = None

    @property
    def judged(self) -> Models:
        """Return those that are judged in error and DEO."""
        return Models(self.W[:: self.every], self.h[:: self.every], self.seconds)


def frontier(
    spec: dict[str, str], seed: int, loss: str, grid: int, steps: int, points: int, drawn: bool
) -> dict[str, Any]:
    """Return counts, shares and hypervolumes of every method on one split, and points to draw."""
    made = joined(parts(Spec(**spec), seed))
    linear = ff.linear_problem(**problem(made, loss))
    found, pi = _models(linear, made, loss, grid, steps, points)
    front, plain = curve(linear, found[NEWTON].W), error_deo(found[NEWTON].W[:1], made.train)[0]
    in_loss = {name: models.h[nondominated(models.h)] for name, models in found.items()}
    planes = {name: _planes(models.judged, made) for name, models in found.items()}
    return {
        "spec": spec,
        "loss": loss,
        "share": len(made.test.y) / len(made.train.y),
        "methods": {
            name: {
                "seconds": models.seconds,
                "models": len(models.h),
                "kept": len(in_loss[name]),
                "excess": _median(excess(linear, in_loss[name], front)),
                **({} if models.ends is None else _aiming(linear, models.ends, pi, front)),
                "loss": _against(in_loss[name], in_loss[GRID]),
                **{
                    route: {
                        rows: _against(planes[name][route][rows], planes[GRID][route][rows]) for rows in ("train", "test")
                    }
                    for route in ROUTES
                },
                "box": {rows: _box(planes[name]["all"], plain, made, rows) for rows in ("train", "test")},
            }
            for name, models in found.items()
        },
        "drawn": {
            name: {"loss": thinned(in_loss[name], DRAWN)}
            | {rows: thinned(planes[name]["all"][rows], DRAWN) for rows in ("train", "test")}
            for name in (found if drawn else ())
        },
    }  # fmt: skip


def _models(linear: Any, made: Split, loss: str, grid: int, steps: int, points: int) -> tuple[dict[str, Models], Any]:
    """Run all methods; models whose objectives left the range of floats are left out."""

    def of(job: Callable[[], np.ndarray]) -> Models:
        begun = time.process_time()
        W = job()
        seconds = time.process_time() - begun
        return _usable(W, objectives(linear, W), seconds)

    def traced(**options: Any) -> np.ndarray:
        return frontier_weights(ff.trace(**problem(made, loss), held_out=False, progress=False, **options))

    found = {NEWTON: of(lambda: traced(n_points=points))}
    pi = preferences(linear, found[NEWTON].W[0])
    found[PBPDO] = of(lambda: traced(solver="pb_pdo", preferences=pi))
    found |= {name: _way(linear, made, loss, reading, pi, steps) for name, reading in PRINTED.items()}
    found[GRID] = of(lambda: candidates(GRID, made, loss, 0, Budget(grid=grid)).weights)
    return found, pi


def _way(linear: Any, made: Split, loss: str, reading: Any, pi: np.ndarray, steps: int) -> Models:
    """Return every iterate of all printed runs, with the objectives that the runs themselves computed."""
    W: list[np.ndarray] = []
    h: list[np.ndarray] = []

    def keep(t: int, ids: np.ndarray, point: Any) -> None:
        W.append(point.W[:, 0])
        h.append(linear.algebra.objectives(point.L))

    solver = ff.PaperPBPDO(gradients=reading, T=steps, epsilon_1=1e-2, epsilon_2=1e-2)
    etas = [STEPS[reading] / smoothness(made.train.X, loss)]
    begun = time.process_time()
    ends = climb(linear, solver, etas, random_starts(linear.d, len(pi)), pi, keep).objectives
    seconds = time.process_time() - begun
    return _usable(np.concatenate(W), np.concatenate(h), seconds, every=EVERY, ends=ends)


def _usable(W: np.ndarray, h: np.ndarray, seconds: float, **known: Any) -> Models:
    usable = np.isfinite(h).all(axis=1)
    return Models(W[usable], h[usable], seconds, **known)


def objectives(linear: Any, W: np.ndarray, chunk: int = 200) -> np.ndarray:
    """Return loss and gap objective of models, (N, 2)."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = [linear.algebra.objectives(linear.values(W[i : i + chunk, None])) for i in range(0, len(W), chunk)]
    return np.concatenate(found)


def error_deo(W: np.ndarray, rows: Rows, chunk: int = 200) -> np.ndarray:
    """Return error and |DEO| of linear models on rows of two groups, (N, 2), by counts of approvals per cell."""
    cell = 2 * rows.groups + rows.good
    member = (cell[:, None] == np.arange(4)).astype(np.float32)
    size, found = member.sum(axis=0, dtype=np.float64), []
    for i in range(0, len(W), chunk):
        approved = (W[i : i + chunk, :-1] @ rows.X.T > -W[i : i + chunk, -1:]).astype(np.float32)
        found.append((approved @ member).astype(np.float64))
    yes = np.concatenate(found)
    wrong = yes[:, 0] + yes[:, 2] + (size[1] - yes[:, 1]) + (size[3] - yes[:, 3])
    return np.column_stack([wrong / len(cell), np.abs(yes[:, 1] / size[1] - yes[:, 3] / size[3])])


def _planes(models: Models, made: Split) -> dict[str, dict[str, np.ndarray]]:
    """Return the points that nothing dominates on training rows, on both rows.

    ``all``: among all models in error and |DEO|. ``mapped``: first among all in losses, and among those in error and
    |DEO|, as the paper maps its points.
    """
    train, test = error_deo(models.W, made.train), error_deo(models.W, made.test)
    first = np.flatnonzero(nondominated(models.h))
    picked = {"all": np.flatnonzero(nondominated(train)), "mapped": first[nondominated(train[first])]}
    return {route: {"train": train[kept], "test": test[kept]} for route, kept in picked.items()}


def dominated(points: np.ndarray, by: np.ndarray, slack: float = 1e-9) -> float:
    """Return the share of points (N, 2) that some other point is at least as good as in both and better in one."""
    if not len(points):
        return float("nan")
    found = [
        bool(((by <= point + slack).all(axis=1) & (by < point - slack).any(axis=1)).any()) for point in points
    ]  # fmt: skip
    return float(np.mean(found))


def _against(mine: np.ndarray, grid: np.ndarray) -> dict[str, Any]:
    """Return the number of points, the share of the grid's that they dominate, and the share that the grid's dominate."""
    return {"points": len(mine), "wins": dominated(grid, mine), "loses": dominated(mine, grid)}


def _box(points: dict[str, np.ndarray], plain: np.ndarray, made: Split, rows: str) -> float | None:
    """Return the hypervolume of a method's points as a share of a box: majority's error, plain model's gap or `WIDE`."""
    found = points[rows]
    figures = Figures(found[:, 0], found[:, 1], np.zeros(len(found)))
    majority = float(min(made.train.good.mean(), 1.0 - made.train.good.mean()))
    corner = (float(plain[0]), max(float(plain[1]), WIDE))
    share = judge.box_share(figures, np.ones(len(found), dtype=bool), majority, corner)
    return share if np.isfinite(share) else None


def _aiming(linear: Any, ends: np.ndarray, pi: np.ndarray, front: Any) -> dict[str, int]:
    """Return how many runs end on their line, on the front, and on both."""
    on, near = on_line(ends, pi), excess(linear, ends, front) < ON_FRONT
    return {"runs": len(ends), "on_line": int(on.sum()), "on_front": int(near.sum()), "both": int((on & near).sum())}


def _median(values: np.ndarray) -> float | None:
    return float(np.nanmedian(values)) if np.isfinite(values).any() else None
