"""Fingerprints: by which a checkpoint knows its run; digests only, from which nothing can be read back."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from ..objectives import Array
from ..problems import EstimatorProblem, Setup
from ..storage.checkpoints import Fingerprint

ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def problem_fingerprint(problem: Any, start: Array | None, **settings: Any) -> Fingerprint:
    """Return the fingerprint of a run of a solver on a problem of any kind."""
    algebra = problem.algebra
    known = {**settings, "fairfront": _version(), "start": start, "gap": algebra.gap}
    numbers = np.concatenate([algebra.p, algebra.B.reshape(-1), algebra.b])
    derived = {"objectives": (algebra.names, _rounded(numbers))}
    return Fingerprint(_digests(known), _cells_digest(problem, start), _digests(derived))


def setup_fingerprint(setup: Setup, **settings: Any) -> Fingerprint:
    """Return the fingerprint of a run on a linear problem, wherever its rows are."""
    known = {**settings, **_layout_of(setup), "fit_intercept": setup.problem.fit_intercept}
    derived = {"groups": setup.problem.algebra.names, "ridge": setup.ridge, "favourable": setup.task}
    return Fingerprint(_digests(known), _cells_digest(setup.problem), _digests(derived))


def estimator_fingerprint(problem: EstimatorProblem, **settings: Any) -> Fingerprint:
    """Return the fingerprint of a search in the weights of an estimator's fits."""
    learner, cells = problem.estimator, problem.laid.problem.layout.cells
    parameters = sorted(learner.get_params(deep=True).items(), key=lambda item: item[0])
    known = {
        **settings,
        **_layout_of(problem.driving),
        "estimator": (type(learner).__module__, type(learner).__qualname__, parameters),
        "random_state": problem.seed,
        "fit_params": dict(problem.fit_params),
        "shared_trees": None if problem.shared is None else problem.shared.first,
    }
    rows = (problem.X, problem.codes, cells.order, cells.offsets, cells.row_weight, cells.shares)
    derived = {"groups": problem.driven.names, "favourable": problem.laid.task, "cv": problem.folds.pairs}
    return Fingerprint(_digests(known), digest(rows), _digests(derived))


def _layout_of(setup: Setup) -> dict[str, Any]:
    algebra = setup.problem.algebra
    return {
        "fairfront": _version(),
        "notion": setup.notions,
        "surrogate": setup.surrogate,
        "loss": setup.problem.loss,
        "gap": algebra.gap,
    }


def _digests(values: Mapping[str, Any]) -> dict[str, str]:
    return {name: digest(value) for name, value in values.items()}


def _cells_digest(problem: Any, start: Array | None = None) -> str:
    """Return a digest that every row has a part in: cells at two opposite models, in one pass.

    Functions, which may be defined near the start only, are evaluated there.
    """
    if not hasattr(problem, "values") and start is not None:
        return digest(_rounded(problem.cells(start.reshape(-1, problem.K, problem.d)).L))
    W = np.random.default_rng(0).normal(scale=1.0 / np.sqrt(problem.d), size=(1, problem.K, problem.d))
    both = np.concatenate([W, -W])
    values: Array = problem.values(both) if hasattr(problem, "values") else problem.cells(both).L
    layout = getattr(problem, "layout", None)
    return digest((_rounded(values), None if layout is None else _rounded(layout.cells.weight)))


def _rounded(values: Array) -> list[str]:
    """Return numbers to nine digits: the last ones depend on the order of sums, and so on machines and threads."""
    return [f"{value:.8e}" for value in np.asarray(values).reshape(-1)]


def digest(value: Any) -> str:
    """Return the digest of arrays, frames, sparse matrices, and of whatever else says what it is when it is shown."""
    found = hashlib.sha256()
    _take_in(found, value)
    return found.hexdigest()[:32]


def _take_in(found: Any, value: Any) -> None:
    """Add a value and what is inside it, each with its type, so that no two values look alike."""
    value = value.item() if isinstance(value, np.generic) else value
    native = nw.from_native(value, pass_through=True, eager_only=True)
    if isinstance(native, nw.DataFrame):
        value = {str(column.name): column.to_numpy() for column in native.iter_columns()}
    elif hasattr(value, "tocsr"):
        rows = value.tocsr()
        value = (rows.shape, rows.data, rows.indices, rows.indptr)
    found.update(f"{type(value).__name__}(".encode())
    if isinstance(value, np.ndarray) and value.dtype.kind != "O":
        _take_in(found, (value.dtype.str, value.shape))
        found.update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, Mapping):
        for key, each in value.items():
            _take_in(found, (key, each))
    elif isinstance(value, np.ndarray):
        found.update(repr(value.shape).encode() + ADDRESS.sub("", repr(value.ravel().tolist())).encode())
    elif isinstance(value, (list, tuple)):
        for each in value:
            _take_in(found, each)
    else:
        found.update(ADDRESS.sub("", repr(value)).encode())
    found.update(b")")


def _version() -> str:
    from .. import __version__

    return __version__
