"""Example 1 from many starts: which share of runs reaches the desired point, per algorithm, reading and step size."""

from __future__ import annotations

from typing import Any

import numpy as np

import fairfront as ff
from fairfront.solvers import Target, descend

from .bumps import NU, D, Example, desired, example, to_front
from .comparators import epo

PREFERENCES = ((1.0, 4.0), (1.0, 2.0), (1.0, 1.0), (2.0, 1.0), (4.0, 1.0))
REACHED = 1e-2
"""Distance in the objective plane at which a point counts as reached."""


def never(solver: ff.PaperPBPDO, *names: str) -> ff.PaperPBPDO:
    """Switch cases of Algorithm 2 off: no length is below -1, whereas one that rounds to 0 is not above 0."""
    for name in names:
        object.__setattr__(solver, name, -1.0)
    return solver


def drawn(count: int, seed: int = 0) -> np.ndarray:
    """Return starts (count, d): directions even on the sphere, lengths even from 0 to 2 |nu|."""
    rng = np.random.default_rng(seed)
    across = rng.normal(size=(count, D))
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    return across * rng.uniform(0.0, 2.0 * np.linalg.norm(NU), size=(count, 1))


SOLVERS: dict[str, Any] = {
    "PB-PDO as printed, raw": lambda T, eta: ff.PaperPBPDO(T=T, eta=eta),
    "PB-PDO as printed, normalised": lambda T, eta: ff.PaperPBPDO(T=T, eta=eta, gradients="normalised"),
    "PB-PDO (fairfront)": lambda T, eta: ff.PBPDO(),
    "PDO as printed, raw": lambda T, eta: ff.PaperPDO(T=T, eta=eta),
    "PDO as printed, normalised": lambda T, eta: ff.PaperPDO(T=T, eta=eta, gradients="normalised"),
    "PDO (fairfront)": lambda T, eta: ff.PDO(),
}
EPO = "EPO"


def sweep(algorithm: str, eta: float, starts: int, steps: int) -> dict[str, Any]:
    """Run an algorithm from every start, for every preference where it takes one."""
    aimed = not algorithm.startswith("PDO")
    W, pi = drawn(starts), np.array(PREFERENCES if aimed else [[1.0, 1.0]])
    many, aims = np.repeat(W, len(pi), axis=0), np.tile(pi, (starts, 1))
    if algorithm == EPO:
        found = [epo(example, row, w, eta=eta, steps=steps) for w, row in zip(many, aims, strict=True)]
        h, taken = np.array([f.h for f in found]), np.array([f.evaluations for f in found])
    else:
        h, taken = ended(SOLVERS[algorithm](steps, eta), many, aims if aimed else None)
    return {"algorithm": algorithm, "eta": eta, **facts(h, aims if aimed else None), "steps": float(np.median(taken))}


def ended(solver: Any, W: np.ndarray, pi: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the objectives at the ends of runs from (R, d), and the steps they took."""
    outcome = descend(Example(), solver, W[:, None], None if pi is None else Target.from_preferences(pi))
    return np.asarray(outcome.objectives), np.asarray(outcome.n_iter)


def facts(h: np.ndarray, pi: np.ndarray | None) -> dict[str, Any]:
    """Return shares of runs at the front and at the aim, over all and per preference, and distances."""
    off = to_front(h)[0]
    found: dict[str, Any] = {"runs": len(h), "front": float((off <= REACHED).mean()), "off": float(np.median(off))}
    if pi is None:
        return found
    points = {row: example(desired(np.array(row)))[0] for row in PREFERENCES}
    away = np.linalg.norm(h - np.array([points[tuple(row)] for row in pi]), axis=1)
    per = [float((away[(pi == row).all(axis=1)] <= REACHED).mean()) for row in PREFERENCES]
    return found | {"aim": float((away <= REACHED).mean()), "each": per, "away": float(np.median(away)),
                    "worst": float(away.max())}  # fmt: skip
