"""Fingerprints: by which a checkpoint knows its run; digests only, from which nothing can be read back."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..objectives import Array, Objectives
from ..problems import EstimatorProblem, LinearProblem
from ..storage.checkpoints import Fingerprint
from ..validation import as_numbers
from .digests import code_of, digest

PREFERRED = "preference"
NEAR = 1e-3
"""How far from the start functions are evaluated a second time, relative to it."""


def problem_fingerprint(problem: Any, start: Array | None, **settings: Any) -> Fingerprint:
    """Return the fingerprint of a run of a solver on a problem of any kind."""
    algebra = problem.algebra
    known = {**_plain(settings), "fairfront": _version(), "start": start, "gap": algebra.gap}
    if hasattr(problem, "functions"):
        known["functions"] = (code_of(problem.functions), code_of(problem.jac))
    numbers = np.concatenate([algebra.p, algebra.B.reshape(-1), algebra.b])
    derived = {"objectives": (algebra.names, _rounded(numbers))}
    return Fingerprint(_digests(known), _cells_digest(problem, start), _digests(derived))


def linear_fingerprint(problem: LinearProblem, **settings: Any) -> Fingerprint:
    """Return the fingerprint of a run on a linear problem, wherever its rows are."""
    known = {**_plain(settings), **_question_of(problem.objectives), "fit_intercept": problem.fit_intercept}
    ridge = _rounded(np.array(problem.objectives.question.ridge))
    derived = {"groups": problem.algebra.names, "ridge": ridge, "favourable": problem.task}
    return Fingerprint(_digests(known), _cells_digest(problem), _digests(derived))


def estimator_fingerprint(problem: EstimatorProblem, **settings: Any) -> Fingerprint:
    """Return the fingerprint of a search in the weights of an estimator's fits."""
    learner, cells = problem.estimator, problem.objectives.layout.cells
    parameters = sorted(learner.get_params(deep=True).items(), key=lambda item: item[0])
    known = {
        **settings,
        **_question_of(problem.criterion),
        "kind of fits": type(problem),
        "estimator": (type(learner), parameters),
        "version of the estimator": _packages(learner, *(value for _, value in parameters)),
        "random_state": problem.seed,
        "fit_params": dict(problem.fit_params),
        "shared_trees": None if problem.shared is None else problem.shared.first,
    }
    rows = (problem.X, problem.codes, cells.order, cells.offsets, cells.row_weight, cells.shares)
    derived = {
        "groups": problem.criterion.algebra.names,
        "favourable": problem.objectives.task,
        "cv": problem.folds.pairs,
    }
    return Fingerprint(_digests(known), digest(rows), _digests(derived))


def _question_of(objectives: Objectives) -> dict[str, Any]:
    question = objectives.question
    return {
        "fairfront": _version(),
        "notion": question.notions,
        "surrogate": question.surrogate,
        "loss": question.loss,
        "gap": objectives.algebra.gap,
        "groups": (question.groups.cross, question.groups.min_size),
    }


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings in which lists and arrays of the same numbers are the same."""
    return {name: _floats(value) if name.startswith(PREFERRED) else value for name, value in settings.items()}


def _floats(value: Any) -> Any:
    counted = value is None or isinstance(value, (int, np.integer))
    return value if counted else np.atleast_2d(as_numbers(value, PREFERRED))


def _packages(*learners: Any) -> dict[str, str]:
    """Return the versions of the packages that an estimator and those inside it come from."""
    tops = {type(each).__module__.partition(".")[0] for each in learners if hasattr(each, "get_params")}
    return {top: str(getattr(sys.modules.get(top), "__version__", None)) for top in sorted(tops)}


def _digests(values: Mapping[str, Any]) -> dict[str, str]:
    return {name: digest(value) for name, value in values.items()}


def _cells_digest(problem: Any, start: Array | None = None) -> str:
    """Return a digest that every row has a part in: cells at two opposite models, in one pass.

    Functions, which may be defined near the start only, are evaluated there.
    """
    if not hasattr(problem, "values") and start is not None:
        first = start.reshape(-1, problem.K, problem.d)
        return digest((_rounded(problem.cells(first).L), _nearby(problem, first)))
    W = np.random.default_rng(0).normal(scale=1.0 / np.sqrt(problem.d), size=(1, problem.K, problem.d))
    both = np.concatenate([W, -W])
    values: Array = problem.values(both) if hasattr(problem, "values") else problem.cells(both).L
    layout = getattr(problem, "layout", None)
    return digest((_rounded(values), None if layout is None else _rounded(layout.cells.weight)))


def _nearby(problem: Any, start: Array) -> list[str] | None:
    """Return values near the start, where other functions of the same value there differ; None outside their domain."""
    step = np.random.default_rng(0).normal(scale=NEAR, size=start.shape) * np.maximum(np.abs(start), 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return _rounded(problem.cells(start + step).L)
        except Exception:  # any function, any error: the start alone has to do
            return None


def _rounded(values: Array) -> list[str]:
    """Return numbers to nine digits: the last ones depend on the order of sums, and so on machines and threads."""
    return [f"{value:.8e}" for value in np.asarray(values).reshape(-1)]


def _version() -> str:
    from .. import __version__

    return __version__
