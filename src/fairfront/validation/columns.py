"""Columns of groups and labels, from whatever a person has them in, and their distinct values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, spelled
from .arrays import as_array, as_native, is_missing
from .options import as_plain, counted

DENSE = 65_536


def as_columns(
    data: Any, what: str, *, n: int | None = None, names: Sequence[str] | None = None
) -> dict[str, NDArray[Any]]:
    """Turn a frame, series, mapping, array or list into named one-dimensional columns."""
    if data is None:
        raise InputError(f"{what} is None, expected one value per row; {pass_hint(what)}")
    if isinstance(data, Mapping):
        columns = {str(k): one_dimensional(v, f"{what}[{k!r}]") for k, v in data.items()}
    else:
        columns = _from_native(data, what, names)
    if not columns:
        raise InputError(f"{what} has no columns, expected at least one.")
    rows, like = (n, spelled("X")) if n is not None else (len(next(iter(columns.values()))), "the first column")
    for name, values in columns.items():
        if len(values) != rows:
            found = f"{what} column {name!r} has {counted(len(values), 'row')}"
            raise InputError(f"{found}, expected {rows}, as many as {like}.")
    return columns


def pass_hint(what: str) -> str:
    """Say how sensitive features reach fit, also through a Pipeline."""
    return (
        f"pass them by keyword, fit(X, y, {what}=groups); through a Pipeline or a search, switch routing on with "
        "sklearn.set_config(enable_metadata_routing=True) and pass the same keyword to its fit."
    )


def _from_native(data: Any, what: str, names: Sequence[str] | None) -> dict[str, NDArray[Any]]:
    native = as_native(data, what, series=True)
    if isinstance(native, nw.DataFrame):
        return {str(c.name): one_dimensional(c.to_numpy(), what) for c in native.iter_columns()}
    if isinstance(native, nw.Series):
        return {str(native.name or "group"): one_dimensional(native.to_numpy(), what)}
    array = _read(data, what)
    if array.ndim == 1:
        return {names[0] if names else "group": _tidy(array)}
    if array.ndim != 2:
        raise InputError(f"{what} has shape {array.shape}, expected (n,) or (n, columns).")
    labels = list(names) if names is not None else [f"group{j}" for j in range(array.shape[1])]
    if array.shape[1] == 1 and not names:
        labels = ["group"]
    if len(labels) != array.shape[1]:
        raise InputError(f"{what} has {counted(array.shape[1], 'column')}, expected {len(labels)}, one per name.")
    return {str(label): _tidy(array[:, j]) for j, label in enumerate(labels)}


def _read(values: Any, what: str) -> NDArray[Any]:
    try:
        return as_array(values, what)
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        found = "its parts have different shapes"
        raise InputError(f"{what} cannot be read as an array ({found}), expected one value per row.") from error


def one_dimensional(values: Any, what: str) -> NDArray[Any]:
    """Return one value per row."""
    array = _read(values, what)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InputError(f"{what} has shape {array.shape}, expected one value per row.")
    return _tidy(array)


def _tidy(array: NDArray[Any]) -> NDArray[Any]:
    """Let lists of numbers be numbers again after their way through object arrays."""
    if array.dtype == object and len(array) and all(isinstance(v, (int, float, np.number)) for v in array):
        return array.astype(np.float64) if any(isinstance(v, float) for v in array) else np.array(array.tolist())
    return array


def factorize(values: NDArray[Any]) -> tuple[NDArray[np.intp], list[Any]]:
    """Return codes (-1 for missing: None, NaN, NA) and the sorted distinct values."""
    if values.dtype.kind in "iu" and values.size and int(values.max()) - int(values.min()) < DENSE:
        low = int(values.min())
        shifted = values.astype(np.intp) - low
        seen = np.bincount(shifted) > 0  # counting beats sorting where the numbers lie close together
        return (np.cumsum(seen) - 1)[shifted], (np.flatnonzero(seen) + low).tolist()
    if values.dtype.kind in "biu":
        found, codes = np.unique(values, return_inverse=True)
        return codes.astype(np.intp), found.tolist()
    if values.dtype.kind == "f":
        known = ~np.isnan(values)
        found, inverse = np.unique(values[known], return_inverse=True)
        codes = np.full(len(values), -1, dtype=np.intp)
        codes[known] = inverse
        return codes, [int(v) if float(v).is_integer() else v for v in found.tolist()]
    items = values.tolist()
    try:
        place: dict[Any, int] = dict.fromkeys(items, -1)
    except TypeError as error:
        raise InputError(f"found a row with no single value ({error}), expected one label per row.") from error
    distinct = [v for v in place if not is_missing(v)]
    distinct.sort(key=lambda v: (str(type(v)), v) if isinstance(v, (str, int, float)) else ("", str(v)))
    place.update((v, i) for i, v in enumerate(distinct))
    return np.fromiter(map(place.__getitem__, items), dtype=np.intp, count=len(items)), as_plain(distinct)
