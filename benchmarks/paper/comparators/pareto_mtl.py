"""Pareto MTL (Lin et al. 2019): one run per sector of the objective space, by gradients of smallest norm.

Directions u_1 ... u_K cut the space into sectors {h : u_j.h <= u_k.h for all j}. A run first steps into its sector,
then goes down all objectives and all active sector limits (u_j - u_k).h <= 0 at once.
"""

from __future__ import annotations

import numpy as np

from fairfront.solvers.simplex import min_norm

from .base import Array, Counted, Found, Function


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
