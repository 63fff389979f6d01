"""Two outer gradients of Psi(w) = sum_i alpha*_i(w) h_i(w): Algorithm 1 holds alpha*, section 4 differentiates it too."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

import fairfront as ff
from fairfront.solvers.simplex import min_norm

from ..report import Table, thousands
from .bumps import Example, S
from .data import Spec, joined, parts
from .experiment import Task
from .ladder import smoothness
from .methods import problem
from .starts import drawn

KINDS = {"partial": "partial, alpha* held (Algorithm 1)", "total": "total (section 4)"}
CASES = {"example": "Example 1 in R^20", "compas": "COMPAS by sex, logistic, z^2 / 2"}
STEPS = (1.0, 0.1)
"""Step sizes in units of 1 / L."""
SHIFT, RISE = 1e-5, 1e-9
"""Half the distance of central differences, and how much larger an objective has to be to have risen: more than differences round."""


def outer_gradient(case: str, kind: str, share: float, starts: int, steps: int) -> dict[str, Any]:
    """Descend along one of both gradients, raw, with exact inner weights; return rises, ends, and passes per step."""
    if case == "example":
        work, W, eta = Example(), drawn(starts), share * S**2 / 2.0
    else:
        made = joined(parts(Spec("compas", "sex"), 0))
        work = ff.linear_problem(**problem(made, "logistic"))
        W = np.random.default_rng(0).normal(scale=1.0 / np.sqrt(work.d), size=(starts, work.d))
        eta = share / smoothness(made.train.X, "logistic")
    h, J = _objectives(work, W)
    rises = []
    for _ in range(steps):
        W = W - eta * (_total(work, W) if kind == "total" else np.einsum("ri,rid->rd", min_norm(J), J))
        before, (h, J) = h, _objectives(work, W)
        rises.append((h > before + RISE).any(axis=1))
    left = np.linalg.norm(np.einsum("ri,rid->rd", min_norm(J), J), axis=1)
    return {"rises": float(np.mean(rises)), "ends": h.mean(axis=0), "spread": h.std(axis=0, ddof=1), "starts": starts,
            "steps": steps, "left": float(np.median(left)), "passes": 1 + 2 * W.shape[1] * (kind == "total")}  # fmt: skip


def _objectives(work: Any, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return objectives (R, m) and their gradients (R, m, d) at weights (R, d)."""
    point = work.cells(W[:, None])
    return work.algebra.objectives(point.L), np.einsum("rmk,rkd->rmd", work.algebra.jacobian(point.L), point.D)


def _total(work: Any, W: np.ndarray) -> np.ndarray:
    """Return the gradient of Psi, alpha* moving with w, by central differences."""
    shifts = SHIFT * np.eye(W.shape[1])
    h, J = _objectives(work, (W[:, None] + np.concatenate([shifts, -shifts])).reshape(-1, W.shape[1]))
    psi = (min_norm(J) * h).sum(axis=1).reshape(len(W), 2, -1)
    return np.asarray((psi[:, 0] - psi[:, 1]) / (2.0 * SHIFT))


def section(results: dict[str, Any]) -> str:
    """Write the section of the page."""
    rows = []
    for case, title in CASES.items():
        for kind, words in KINDS.items():
            for share in STEPS:
                found = results[key(case, kind, share)]
                ends = ", ".join(f"{h:.3g} ± {s:.2g}" for h, s in zip(found["ends"], found["spread"], strict=True))
                rows.append([title, words, f"{share:g} / L", f"{found['rises']:.0%}", ends, f"{found['left']:.1e}",
                             found["passes"]])  # fmt: skip
    head = ["objectives", "outer gradient", "step", "steps that raise an objective", "objectives at the end, mean ± sd over starts",
            "median length of the smallest vector in the hull at the end", "evaluations per step"]  # fmt: skip
    one = results[key("example", "total", STEPS[0])]
    return TEXT.format(starts=one["starts"], steps=thousands(one["steps"]), table=Table(head, rows))


def key(case: str, kind: str, share: float) -> str:
    """Name a task."""
    return f"{case}, {kind}, {share:g}"


def tasks(quick: bool) -> dict[str, Task]:
    """Return one task per problem, gradient and step size."""
    size = {"starts": 3, "steps": 20} if quick else {"starts": 20, "steps": 1000}
    return {
        key(*each): Task(outer_gradient, dict(zip(("case", "kind", "share"), each, strict=True)) | size)
        for each in product(CASES, KINDS, STEPS)
    }


TEXT = """## The total derivative

Section 4 takes the outer gradient as the total derivative of sum_i alpha*_i(w) h_i(w), alpha* moving with w; Algorithm 1 takes
the partial one, with alpha* held. Both from {starts} random starts, {steps} steps, raw gradients, inner weights exact, the
total one by central differences (L of Example 1 is 2 / s^2, the curvature at the minima):

{table}

The partial one is the smallest vector in the hull of the gradients, along which no objective rises for short steps (Lemma 1).
The total one is the gradient of one function and has no such property: it raises an objective in some of its steps, at either step
size, where the partial one does in none. On Example 1 it goes to one and the same balanced point of the front from every start; on COMPAS both end where the gap
vanishes, and the total one at a larger loss. It needs second derivatives of every objective, or two evaluations per weight as here.
Package and pages use the partial one, as the algorithm is printed."""
