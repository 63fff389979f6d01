"""Figure 6: ten runs of PB-PDO on Adult with logistic regression; what the runs pass, and where they end."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

import fairfront as ff
from fairfront.pareto import nondominated

from .. import judge
from ..peers.base import frontier_weights
from ..report import Table, thousands
from .data import Spec, joined, parts
from .experiment import Claim, Experiment, Task
from .figures import draw_extraction, picture
from .ladder import climb, smoothness
from .methods import problem

SETTINGS = {"raw": (0.25, 1.0, 2.0), "normalised": (0.005, 0.025, 0.1)}
"""Step sizes of both readings in units of 1 / L; in the normalised reading they are lengths, which never shrink."""
ON_LINE, ON_FRONT = 0.05, 0.01
"""A run ends on its line if all pi_i h_i agree to this share, and on the front if its loss excess is below that."""
DRAWN = 400
PRINTED_COUNT = 15_000


def preferences(linear: Any, plain: np.ndarray, count: int = 10) -> np.ndarray:
    """Return pi = (1, r) with r from just above loss / gap objective of plain training to 1000 times that."""
    h = linear.algebra.objectives(linear.values(plain[None, None]))[0]
    return np.column_stack([np.ones(count), h[0] / h[1] * np.geomspace(1.1, 1000.0, count)])


def random_starts(d: int, count: int, seed: int = 0) -> np.ndarray:
    """Return one start (1, d) for all runs, repeated: the default of the printed algorithms."""
    start = np.random.default_rng(seed).normal(scale=ff.PaperPBPDO.start_scale / np.sqrt(d), size=(1, 1, d))
    return np.tile(start, (count, 1, 1))


def curve(linear: Any, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the gaps of a traced front in rising order and the losses there."""
    L = linear.values(W[:, None])
    gap, loss = linear.algebra.worst(L)[:, 0], linear.algebra.loss(L)
    order = np.argsort(gap)
    return gap[order], loss[order]


def excess(linear: Any, h: np.ndarray, front: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Return (loss - the front's loss at the same gap) / (loss range of the front), NaN beyond the front's gaps."""
    gap = linear.algebra.gap.inverse(h[:, 1])
    found = (h[:, 0] - np.interp(gap, *front)) / np.ptp(front[1])
    return np.where(gap <= front[0].max(), found, np.nan)


def on_line(h: np.ndarray, pi: np.ndarray) -> np.ndarray:
    """Mark the ends whose pi_i h_i agree to `ON_LINE`."""
    level = h * pi
    return np.asarray(level.max(axis=1) <= (1.0 + ON_LINE) * level.min(axis=1))


def extraction(spec: dict[str, str], loss: str, gap: str, gradients: Any, steps: int) -> dict[str, Any]:
    """Run ten preferences at every step size; count the non-dominated points of each, and look at the ends."""
    made = joined(parts(Spec(**spec), 0))
    linear = ff.linear_problem(**problem(made, loss, gap=gap))
    traced = frontier_weights(ff.trace(**problem(made, loss, gap=gap), n_points=50, progress=False))
    front, shares = curve(linear, traced), SETTINGS[gradients]
    pi, seen = preferences(linear, traced[0]), []
    solver = ff.PaperPBPDO(gradients=gradients, T=steps, epsilon_1=1e-2, epsilon_2=1e-2)
    etas = np.array(shares) / smoothness(made.train.X, loss)
    ended = climb(
        linear, solver, etas, random_starts(linear.d, len(pi)), pi,
        lambda t, ids, point: seen.append((ids, linear.algebra.objectives(point.L))),
    )  # fmt: skip
    runs, h = (np.concatenate(each) for each in zip(*seen, strict=True))
    return {
        "front": np.column_stack(front),
        "steps": {
            f"{share:g}": _of_one_step(linear, h[runs // len(pi) == i], ended.objectives[i * len(pi) :][: len(pi)], pi, front)
            | {"eta": etas[i]}
            for i, share in enumerate(shares)
        },
    }  # fmt: skip


def _of_one_step(linear: Any, h: np.ndarray, ends: np.ndarray, pi: np.ndarray, front: Any) -> dict[str, Any]:
    usable = h[np.isfinite(h).all(axis=1)]
    kept = usable[nondominated(usable)]
    off, end_off = excess(linear, kept, front), excess(linear, ends, front)
    gaps = linear.algebra.gap.inverse(kept[:, 1])
    near, line = end_off < ON_FRONT, on_line(ends, pi)
    return {
        "seen": len(h),
        "kept": len(kept),
        "excess": float(np.nanmedian(off)) if np.isfinite(off).any() else None,
        "hole": judge.largest_hole(gaps, float(front[0].max())),
        "on_line": int(line.sum()),
        "on_front": int(near.sum()),
        "both": int((line & near).sum()),
        "ends": ends,
        "points": thinned(kept, DRAWN),
    }


def thinned(points: np.ndarray, most: int) -> np.ndarray:
    """Return at most that many points, evenly along the first axis, ends included."""
    ordered = points[np.argsort(points[:, 0])]
    return ordered[np.unique(np.linspace(0, len(ordered) - 1, min(most, len(ordered))).round().astype(int))]


def tasks(quick: bool) -> dict[str, Task]:
    """Return one task per gap and reading."""
    arguments = {"spec": asdict(Spec("adult", "sex")), "loss": "logistic", "steps": 40 if quick else 5000}
    return {
        f"{gap} {gradients}": Task(extraction, {**arguments, "gap": gap, "gradients": gradients})
        for gap in ("squared", "absolute")
        for gradients in SETTINGS
    }
