"""Fingerprints: by which a checkpoint knows its run; digests only, from which nothing can be read back."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import re
import sys
import types
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from .. import __version__
from ..objectives import Array, Objectives
from ..problems import EstimatorProblem, LinearProblem
from ..storage.checkpoints import Fingerprint
from ..validation.inputs import as_numbers

NEAR = 1e-3  # how far from the start functions are evaluated a second time, relative to it
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
DEEPEST = 40  # objects inside each other beyond this are known by what they show


def problem_fingerprint(problem: Any, start: Array | None = None, **settings: Any) -> Fingerprint:
    """Of linear models, functions, or any other problem with an algebra and cells."""
    algebra = problem.algebra
    known: dict[str, Any] = {**_plain(settings), "start": start, "fairfront": __version__, "gap": algebra.gap}
    if isinstance(problem, LinearProblem):
        known |= {**_question_of(problem.objectives), "fit_intercept": problem.fit_intercept}
        ridge = _rounded(np.array(problem.objectives.question.ridge))
        derived = {"groups": algebra.names, "ridge": ridge, "favourable": problem.task}
    else:
        if hasattr(problem, "functions"):
            known["functions"] = (_code_of(problem.functions), _code_of(problem.jac))
        known_B = algebra.B if algebra.psi is None else np.asarray(algebra.means)
        numbers = np.concatenate([algebra.p, known_B.reshape(-1), algebra.b])
        derived = {"objectives": (algebra.names, _rounded(numbers))}
    return Fingerprint(_digests(known), _cells_digest(problem, start), _digests(derived))


def estimator_fingerprint(problem: EstimatorProblem, **settings: Any) -> Fingerprint:
    learner, cells = problem.estimator, problem.objectives.layout.cells
    parameters = sorted(learner.get_params(deep=True).items(), key=lambda item: item[0])
    learners = [learner, *(value for _, value in parameters if hasattr(value, "get_params"))]
    packages = sorted({type(each).__module__.partition(".")[0] for each in learners})
    versions = {name: str(getattr(sys.modules.get(name), "__version__", None)) for name in packages}
    known = {
        **settings,
        **_question_of(problem.criterion),
        "kind of fits": type(problem),
        "estimator": (type(learner), parameters),
        "version of the estimator": versions,
        "random_state": problem.seed,
        "fit_params": dict(problem.fit_params),
        "shared_trees": None if problem.shared is None else problem.shared.first,
    }
    rows = (problem.X, problem.codes, cells.order, cells.offsets, cells.row_weight, cells.shares)
    derived = {"groups": problem.criterion.algebra.names, "favourable": problem.objectives.task}
    return Fingerprint(_digests(known), digest(rows), _digests({**derived, "cv": problem.folds.pairs}))


def _question_of(objectives: Objectives) -> dict[str, Any]:
    question = objectives.question
    return {
        "fairfront": __version__,
        "notion": question.notions,
        "surrogate": question.surrogate,
        "loss": question.loss,
        "gap": objectives.algebra.gap,
        "groups": (question.groups.cross, question.groups.min_size),
        **({"signs": question.signs} if question.signs else {}),
    }


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings in which lists and arrays of the same preferences are the same."""
    found = dict(settings)
    for name in ("preference", "preferences"):
        value = found.get(name)
        if value is not None and not isinstance(value, (int, np.integer)):
            found[name] = np.atleast_2d(as_numbers(value, "preference"))
    return found


def _cells_digest(problem: Any, start: Array | None = None) -> str:
    """Return a digest that every row has a part in: cells at two opposite models, in one pass.

    Functions, which may be defined near the start only, are evaluated there, and where they are defined a step away:
    others of the same value at the start differ there.
    """
    rng = np.random.default_rng(0)
    if not hasattr(problem, "values") and start is not None:
        first = start.reshape(-1, problem.K, problem.d)
        here, nearby = _rounded(problem.cells(first).L), None
        step = rng.normal(scale=NEAR, size=first.shape) * np.maximum(np.abs(first), 1.0)
        with warnings.catch_warnings(), contextlib.suppress(Exception):  # any error: the start alone has to do
            warnings.simplefilter("ignore")
            nearby = _rounded(problem.cells(first + step).L)
        return digest((here, nearby))
    W = rng.normal(scale=1.0 / np.sqrt(problem.d), size=(1, problem.K, problem.d))
    both = np.concatenate([W, -W])
    values: Array = problem.values(both) if hasattr(problem, "values") else problem.cells(both).L
    layout = getattr(problem, "layout", None)
    return digest((_rounded(values), None if layout is None else _rounded(layout.cells.weight)))


def _rounded(values: Array) -> list[str]:
    """Return numbers to nine digits: the last ones depend on the order of sums, and so on machines and threads."""
    return [f"{value:.8e}" for value in np.asarray(values).reshape(-1)]


def _digests(values: Mapping[str, Any]) -> dict[str, str]:
    return {name: digest(value) for name, value in values.items()}


def digest(value: Any) -> str:
    """Return the digest of any value: equal for equal values in every process."""
    found = hashlib.sha256()
    _take_in(found, value, ())
    return found.hexdigest()[:32]


def _code_of(functions: Any) -> Any:
    """Return what functions do, without the values around them, which may change while they are called."""
    if isinstance(functions, (list, tuple, np.ndarray)):
        return [_code_of(each) for each in functions]
    inner = getattr(functions, "__func__", functions)
    if isinstance(inner, functools.partial):
        return _code_of(inner.func)
    if isinstance(inner, types.FunctionType):
        return (inner.__module__, inner.__qualname__, inner.__code__)
    return type(inner) if ADDRESS.search(repr(inner)) else inner


def _take_in(found: Any, value: Any, around: tuple[int, ...]) -> None:
    """Add a value and what is inside it, each with its type, so that no two values look alike.

    ``around`` are the values that this one is inside of: one of them is not entered again.
    """
    value = _opened(value.item() if isinstance(value, np.generic) else value)
    shown, inside = (b"", ()) if id(value) in around else _parts_of(value, len(around))
    found.update(f"{type(value).__name__}(".encode() + shown)
    for each in inside:
        _take_in(found, each, (*around, id(value)))
    found.update(b")")


def _opened(value: Any) -> Any:
    """Return frames, sparse matrices and sources of random numbers as the arrays that they consist of."""
    native = nw.from_native(value, pass_through=True, eager_only=True)
    if isinstance(native, nw.DataFrame):
        return {str(column.name): column.to_numpy() for column in native.iter_columns()}
    if hasattr(value, "tocsr"):
        rows = value.tocsr()
        return (rows.shape, rows.data, rows.indices, rows.indptr)
    if isinstance(value, np.random.Generator):
        return value.bit_generator.state
    return value.get_state(legacy=False) if isinstance(value, np.random.RandomState) else value


def _parts_of(value: Any, depth: int) -> tuple[bytes, Iterable[Any]]:
    """Return what a value shows, and what is inside it: of functions their code and the values around them."""
    if isinstance(value, np.ndarray):
        known = (value.dtype.str, value.shape)
        objects = value.dtype.kind == "O"
        return (b"", (*known, value.ravel().tolist())) if objects else (np.ascontiguousarray(value).tobytes(), known)
    if isinstance(value, (set, frozenset)):
        return b"", sorted(digest(each) for each in value)
    if isinstance(value, Mapping):
        return b"", value.items()
    if isinstance(value, (list, tuple)):
        return b"", value
    if isinstance(value, types.CodeType):
        return b"", (value.co_code, value.co_consts, value.co_names)
    if isinstance(value, types.FunctionType):
        closure = [_content(cell) for cell in value.__closure__ or ()]
        named = (value.__module__, value.__qualname__, value.__code__)
        return b"", (*named, closure, value.__defaults__, value.__kwdefaults__)
    if isinstance(value, types.MethodType):
        return b"", (value.__func__, value.__self__)
    if isinstance(value, functools.partial):
        return b"", (value.func, value.args, value.keywords)
    if isinstance(value, type):
        return b"", (value.__module__, value.__qualname__)
    shown = repr(value)
    plain = ADDRESS.sub("", shown)
    if hasattr(value, "__dict__") and depth < DEEPEST and plain != shown:  # it does not show what it is
        return b"", (type(value), plain, vars(value))
    return plain.encode(), ()


def _content(cell: Any) -> Any:
    """Return what a closure's cell holds; a function that is not defined yet is an empty one."""
    try:
        return cell.cell_contents
    except ValueError:
        return None
