"""Minimise a vector of differentiable functions, with SciPy's words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..exceptions import InputError
from ..objectives import Array
from ..problems import FunctionProblem
from ..storage.checkpoints import Fingerprint
from ..validation import as_numbers, check_seed
from . import PBPDO, PaperPBPDO, Solver, Status, run
from .aiming import single_target
from .choosing import as_solver
from .fingerprints import problem_fingerprint
from .journal import open_journal


@dataclass(frozen=True)
class MinimizeResult:
    """What `minimize` found, with SciPy's words.

    x (d,) the point, fun (m,) its objectives, status and message why it stopped, success whether it is solved,
    nit accepted steps, nfev evaluations, history (T, m) the objectives of every accepted step.
    """

    x: Array
    fun: Array
    status: Status
    message: str
    success: bool
    nit: int
    nfev: int
    history: Array


def minimize(
    functions: Any,
    x0: Any,
    preference: Any = None,
    solver: str | Solver | None = None,
    jac: Any = None,
    random_state: int | None = None,
    checkpoint: Any = None,
    resume: bool = False,
) -> MinimizeResult:
    """Minimise a vector of differentiable functions, to an efficient point or to a preferred one.

    Parameters
    ----------
    functions : callable or sequence of callables
        One callable returning m values, or m callables returning one each.
    x0 : array of shape (d,)
    preference : array of shape (m,), optional
        Positive numbers pi; the aim is pi_1 h_1 = ... = pi_m h_m on the frontier (needs positive objectives).
    solver : optional
        ``"pb_pdo"`` with a preference and ``"pdo"`` without one, by default.
    jac : None, True or callable
        As in SciPy: True when functions return (value, gradient), a callable for the Jacobian, None for finite
        differences.
    checkpoint : path, optional
        File that takes note of the state after every 25 steps; with ``resume=True`` the run goes on from it.
    """
    x = np.atleast_1d(as_numbers(x0, "x0"))
    if x.ndim > 1 or not x.size or not np.isfinite(x).all():
        raise InputError(f"x0 has shape {x.shape} or is not finite, expected (d,): at least one finite number.")
    problem = FunctionProblem(functions, x, jac)
    name = solver if solver is not None else ("pdo" if preference is None else "pb_pdo")
    chosen = as_solver(name)
    check_seed(random_state)
    if preference is None and isinstance(chosen, (PBPDO, PaperPBPDO)):
        raise InputError(f"solver {chosen.name!r} needs a preference, found None; give one, or use solver='pdo'.")
    if preference is not None and as_numbers(preference, "preference").ndim != 1:
        raise InputError(
            f"preference has shape {np.shape(preference)}, expected ({problem.algebra.m},): one number per objective."
        )
    target = single_target(problem.algebra, chosen, preference, None)
    start = x.reshape(1, 1, -1)

    def owner() -> Fingerprint:
        return problem_fingerprint(problem, start, solver=chosen, preference=preference, random_state=random_state)

    with open_journal(checkpoint, resume, owner) as journal:
        outcome = run(problem, chosen, start, target, None, journal.seed(random_state), journal)
    status = outcome.status[0]
    return MinimizeResult(
        x=outcome.W[0].reshape(-1),
        fun=outcome.objectives[0],
        status=status,
        message=str(status),
        success=status.solved,
        nit=len(outcome.history[0]) - 1,
        nfev=outcome.passes,
        history=outcome.history[0],
    )
