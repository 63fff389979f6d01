"""Narrow columns of Dask collections brought here: labels, decisions, scores and groups, as in memory.

Texts travel as small codes and are shared here, 8 bytes per row and column. What would not fit is refused first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..problems.dask.passes import reduced
from ..problems.memory import GIGABYTE, memory
from ..validation import as_columns, factorize, is_dask

PER_VALUE, PER_ROW = 8, 120
"""Bytes of memory for each value that is brought here, and for each row that is audited."""
SHARE = 0.5
"""Share of the memory that an audit of Dask collections may take."""

Packed = tuple[NDArray[Any], list[Any] | None]
"""Numbers, or codes (the last for missing) with the values that they stand for."""


def gathered(**given: Any) -> dict[str, Any]:
    """Return what was given with Dask collections as columns in memory, or say that they do not fit."""
    if not any(map(is_dask, given.values())):
        return given
    _check_room(given)
    return {what: _brought(what, value) if is_dask(value) else value for what, value in given.items()}


def _check_room(given: Mapping[str, Any]) -> None:
    columns = sum(_width(value) for value in given.values() if value is not None)
    n = _rows(next(value for value in given.values() if is_dask(value)))
    need, room = n * (PER_ROW + PER_VALUE * columns), SHARE * memory()
    if need > room:
        raise InputError(
            f"an audit of {n} rows needs about {need / GIGABYTE:.1f} GB ({PER_ROW} bytes per row and {PER_VALUE} per "
            f"value), expected at most {room / GIGABYTE:.1f} GB, half of the memory; audit a random sample of rows."
        )


def _width(value: Any) -> int:
    if isinstance(value, Mapping):
        return len(value)
    return int(value.shape[1]) if getattr(value, "ndim", 1) == 2 else 1


def _rows(collection: Any) -> int:
    values = (
        next(each for each in collection.values() if is_dask(each)) if isinstance(collection, Mapping) else collection
    )
    return int(reduced(lambda block: block.shape[0], values, combine=sum))


def _brought(what: str, collection: Any) -> Any:
    """Return a mapping of columns for groups and controls, and one array for all else."""
    if isinstance(collection, Mapping):
        return {name: _brought("", each) if is_dask(each) else each for name, each in collection.items()}
    packed = reduced(partial(_pack, what=what), collection, combine=_listed)
    columns = {name: _unpacked([part[name] for part in packed]) for name in packed[0]}
    if what in ("sensitive_features", "control_features"):
        return columns
    return next(iter(columns.values())) if len(columns) == 1 else np.column_stack(list(columns.values()))


def _pack(block: Any, what: str) -> list[dict[str, Packed]]:
    return [{name: _packed(values) for name, values in as_columns(block, what).items()}]


def _packed(values: NDArray[Any]) -> Packed:
    if values.dtype.kind in "biuf":
        return values, None
    codes, found = factorize(values)
    return np.where(codes < 0, len(found), codes).astype(np.min_scalar_type(len(found))), found


def _listed(parts: Sequence[list[Any]]) -> list[Any]:
    return list(chain.from_iterable(parts))


def _unpacked(parts: list[Packed]) -> NDArray[Any]:
    if all(found is None for _, found in parts):
        return np.concatenate([values for values, _ in parts])
    shared: dict[Any, Any] = {}
    rows = []
    for codes, found in parts:
        if found is None:
            rows.append(codes.astype(object))
            continue
        known = [shared.setdefault((type(value), value), value) for value in found]
        rows.append(np.array([*known, None], dtype=object)[codes])
    return np.concatenate(rows)
