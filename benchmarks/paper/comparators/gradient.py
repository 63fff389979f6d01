"""Methods that combine gradients at every step: EPO and Pareto MTL.

Exact Pareto optimal search, EPO (Mahapatra and Rajan 2020), its linear program solved by SciPy's HiGHS, or for two
objectives, where the simplex is an interval, directly.

With rl = pi h / sum(pi h), mu = KL(rl || uniform) and a_i = pi_i (log(m rl_i) - mu), a step is -eta J^T beta. Off the
preference line beta on the simplex maximises beta.C a (C = J J^T): the way that lowers mu most, objectives that mu
wants smaller may not rise, others may. On the line beta maximises the common descent without leaving it.

Pareto MTL (Lin et al. 2019): one run per sector of the objective space, by gradients of smallest norm.

Directions u_1 ... u_K cut the space into sectors {h : u_j.h <= u_k.h for all j}. A run first steps into its sector,
then goes down all objectives and all active sector limits (u_j - u_k).h <= 0 at once.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from fairfront.solvers.simplex import min_norm

from .base import Array, Counted, Found, Function


def epo(
    f: Function, pi: Array, start: Array, eta: float = 0.1, steps: int = 500, line: float = 1e-4, still: float = 1e-9
) -> Found:
    """Take constant steps until the direction vanishes or the steps are used up."""
    counted, w = Counted(f), np.array(start, dtype=np.float64)
    for _ in range(steps):
        h, J = counted(w)
        beta = balance(h, J @ J.T, pi, line)
        direction = beta @ J
        if np.linalg.norm(direction) <= still:
            break
        w = w - eta * direction
    return counted.found(w)


def balance(h: Array, C: Array, pi: Array, line: float = 1e-4) -> Array:
    """Return the weights beta of one step."""
    m = len(h)
    share = np.maximum(pi * h, 1e-300)
    share = share / share.sum()
    logs = np.log(m * share)
    mu = float(share @ logs)
    pull = C @ (pi * (logs - mu))
    if mu > line:
        return _program(pull, C, _may_fall(pull, share))
    keep_line = min(float(pull.max()), 0.0)
    return _program(C.sum(axis=0), np.vstack([C, pull]), np.append(np.zeros(m), keep_line))


def _may_fall(pull: Array, share: Array) -> Array:
    """Return lower ends of C beta: free where mu wants a fall, but the most excessive objective may not rise."""
    if not (pull > 0).any():
        return np.zeros(len(pull))
    ends = np.where(pull > 0, -np.inf, pull)
    ends[share == share.max()] = 0.0
    return ends


def _program(gain: Array, rows: Array, ends: Array) -> Array:
    """Maximise gain.beta over the simplex with rows beta >= ends; the simplex alone if that is empty."""
    held = np.isfinite(ends)
    if len(gain) == 2:
        return on_interval(gain, rows[held], ends[held])
    total, scale = np.ones((1, len(gain))), max(float(np.abs(rows).max()), 1e-300)
    limits = {"A_ub": -rows[held] / scale, "b_ub": -ends[held] / scale} if held.any() else {}
    found = linprog(-gain / scale, A_eq=total, b_eq=[1.0], bounds=(0.0, 1.0), method="highs", **limits)
    if found.x is None:
        found = linprog(-gain / scale, A_eq=total, b_eq=[1.0], bounds=(0.0, 1.0), method="highs")
    return np.asarray(found.x)


def on_interval(gain: Array, rows: Array, ends: Array) -> Array:
    """Solve the same for weights (b, 1 - b): rows turn into lower and upper ends of b."""
    slope, level = rows[:, 0] - rows[:, 1], ends - rows[:, 1]
    scale = max(float(np.abs(rows).max(initial=0.0)), 1e-300)
    flat = np.abs(slope) <= 1e-12 * scale
    with np.errstate(divide="ignore", invalid="ignore"):
        at = level / slope
    low = float(np.max(at[(slope > 0) & ~flat], initial=0.0))
    high = float(np.min(at[(slope < 0) & ~flat], initial=1.0))
    if low > high + 1e-7 or (level[flat] > 1e-7 * scale).any():
        low, high = 0.0, 1.0
    b = min(max(high if gain[0] >= gain[1] else low, 0.0), 1.0)
    return np.array([b, 1.0 - b])


def sectors(count: int) -> Array:
    """Return ``count`` evenly turned unit directions of two objectives, (count, 2)."""
    angle = (np.arange(count) + 0.5) * np.pi / (2 * count)
    return np.column_stack([np.cos(angle), np.sin(angle)])


def pareto_mtl(
    f: Function,
    directions: Array,
    sector: int,
    start: Array,
    eta: float = 0.1,
    steps: int = 500,
    scale: Array | None = None,
) -> Found:
    """Run one sector; ``scale`` (m,) measures the objectives for the sectors only."""
    counted, w = Counted(f), np.array(start, dtype=np.float64)
    limits = np.delete(directions - directions[sector], sector, axis=0) / (1.0 if scale is None else scale)
    inside = False
    for _ in range(steps):
        h, J = counted(w)
        active = limits @ h >= 0.0
        inside = inside or not active.any()
        rows = limits[active] @ J if not inside else np.vstack([J, limits[active] @ J])
        direction = min_norm(rows[None])[0] @ rows
        if np.linalg.norm(direction) <= 1e-9:
            break
        w = w - eta * direction
    return counted.found(w)
