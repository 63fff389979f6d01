"""Digests of values of any kind: equal for equal values in every process, and nothing can be read back from them."""

from __future__ import annotations

import functools
import hashlib
import re
import types
from collections.abc import Mapping
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
DEEPEST = 40
"""Objects inside each other beyond this are known by what they show."""


def digest(value: Any) -> str:
    """Return the digest of arrays, frames, sparse matrices, functions, and of whatever else says what it is."""
    found = hashlib.sha256()
    _take_in(found, value, ())
    return found.hexdigest()[:32]


def code_of(functions: Any) -> Any:
    """Return what functions do, without the values around them, which may change while they are called."""
    if isinstance(functions, (list, tuple, np.ndarray)):
        return [code_of(each) for each in functions]
    inner = getattr(functions, "__func__", functions)
    if isinstance(inner, functools.partial):
        return code_of(inner.func)
    if isinstance(inner, types.FunctionType):
        return (inner.__module__, inner.__qualname__, inner.__code__)
    return type(inner) if ADDRESS.search(repr(inner)) else inner


def _take_in(found: Any, value: Any, around: tuple[int, ...]) -> None:
    """Add a value and what is inside it, each with its type, so that no two values look alike.

    ``around`` are the values that this one is inside of: one of them is not entered again.
    """
    value = _opened(value.item() if isinstance(value, np.generic) else value)
    found.update(f"{type(value).__name__}(".encode())
    within = (*around, id(value))
    if id(value) in around:
        pass
    elif isinstance(value, np.ndarray) and value.dtype.kind != "O":
        _take_in(found, (value.dtype.str, value.shape), within)
        found.update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, np.ndarray):
        _take_in(found, (value.shape, value.ravel().tolist()), within)
    elif isinstance(value, Mapping):
        for key, each in value.items():
            _take_in(found, (key, each), within)
    elif isinstance(value, (set, frozenset)):
        found.update("".join(sorted(digest(each) for each in value)).encode())
    elif isinstance(value, (list, tuple)):
        for each in value:
            _take_in(found, each, within)
    else:
        _take_in_object(found, value, within)
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


def _take_in_object(found: Any, value: Any, within: tuple[int, ...]) -> None:
    """Add functions by their code and the values around them, and objects that do not show what they are by theirs."""
    if isinstance(value, types.CodeType):
        _take_in(found, (value.co_code, value.co_consts, value.co_names), within)
    elif isinstance(value, types.FunctionType):
        closure = [_content(cell) for cell in value.__closure__ or ()]
        named = (value.__module__, value.__qualname__, value.__code__)
        _take_in(found, (*named, closure, value.__defaults__, value.__kwdefaults__), within)
    elif isinstance(value, types.MethodType):
        _take_in(found, (value.__func__, value.__self__), within)
    elif isinstance(value, functools.partial):
        _take_in(found, (value.func, value.args, value.keywords), within)
    elif isinstance(value, type):
        _take_in(found, (value.__module__, value.__qualname__), within)
    elif hasattr(value, "__dict__") and len(within) < DEEPEST and ADDRESS.search(shown := repr(value)):
        _take_in(found, (type(value), ADDRESS.sub("", shown), vars(value)), within)
    else:
        found.update(ADDRESS.sub("", repr(value)).encode())


def _content(cell: Any) -> Any:
    """Return what a closure's cell holds; a function that is not defined yet is an empty one."""
    try:
        return cell.cell_contents
    except ValueError:
        return None
