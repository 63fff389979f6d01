"""Arrays, frames and columns of any library as numpy's, with what numpy would pass over in silence refused.

A mask would be dropped, an imaginary part lost, a date taken as the number of its days.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray
from scipy import sparse

from ..exceptions import InputError, spelled
from .parameters import as_plain, counted

Array = NDArray[np.float64]
REMEDIES = {
    "c": ("complex numbers", "expected real ones; take .real or abs() of them"),
    "M": ("dates", "expected no dates; turn them into numbers such as days since a date, or into bands"),
    "m": ("spans of time", "expected no spans; turn them into numbers such as days"),
    "S": ("bytes", "expected text or numbers; decode them first"),
}
"""What arrays of a kind hold, and what to do about it."""
CONVERTIBLE = (str, bytes, complex, date, timedelta, np.datetime64, np.timedelta64)
"""Values of mixed arrays that numpy would turn into numbers, or cut to fit."""
DENSE = 65_536


def as_native(data: Any, what: str, *, series: bool = False) -> Any:
    """Return what is no data frame (or series) as it is."""
    try:
        return nw.from_native(data, pass_through=True, eager_only=True, allow_series=series or None)
    except DuplicateError as error:
        names = [str(name) for name in getattr(data, "columns", ())]
        twice = next((name for name in names if names.count(name) > 1), "of one name")
        raise InputError(f"{what} has two columns {twice!r}, expected different names; rename one of them.") from error


def shape_of(values: Any, what: str) -> tuple[int, ...]:
    return tuple(values.shape) if hasattr(values, "shape") else _read(values, what).shape


def as_array(values: Any, what: str) -> NDArray[Any]:
    """Return what is no array as an array of objects."""
    refuse_masked(values, what)
    if sparse.issparse(values):
        raise InputError(f"{what} is a sparse matrix, expected an array; turn it into one with toarray().")
    array = np.asarray(values) if hasattr(values, "__array__") else np.asarray(values, dtype=object)
    refuse_kind(array.dtype, what)
    return array


def refuse_masked(values: Any, what: str) -> None:
    """Refuse an array with masked entries, which numpy and scikit-learn would read as if there were no mask."""
    masked = int(np.ma.getmaskarray(values).sum()) if isinstance(values, np.ma.MaskedArray) else 0
    if masked:
        raise InputError(
            f"{what} is a masked array with {masked} masked entries, expected none; fill them (values.filled(...)) or "
            "drop those rows."
        )


def refuse_kind(dtype: np.dtype[Any], what: str, but: str = "") -> None:
    if dtype.kind in REMEDIES and dtype.kind not in but:
        found, remedy = REMEDIES[dtype.kind]
        raise InputError(f"{what} has {found}, {remedy}.")


def as_numbers(values: Any, what: str, remedy: str = "expected real numbers") -> Array:
    array = as_array(values, what) if hasattr(values, "__array__") else _read(values, what)
    refuse_kind(array.dtype, what)
    mixed = array.flat if array.dtype.kind in "OU" else ()
    strange = next((value for value in mixed if isinstance(value, CONVERTIBLE)), None)
    try:
        if strange is not None:
            raise TypeError(f"found {strange!r}")
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} has entries that are not numbers ({error}); {remedy}.") from error


def _read(values: Any, what: str) -> NDArray[Any]:
    try:
        return np.asarray(values)
    except ValueError as error:
        raise InputError(f"{what} has entries of different shapes, expected numbers.") from error


def is_missing(value: Any) -> bool:
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA compares to NA, which has no truth value
        return True


def is_dask(value: Any) -> bool:
    """Look into mappings and lists too, without importing Dask."""
    if isinstance(value, Mapping):
        return any(is_dask(each) for each in value.values())
    if isinstance(value, (list, tuple)):
        return bool(value) and is_dask(value[0])
    return any(kind.__module__.partition(".")[0] in ("dask", "dask_expr") for kind in type(value).__mro__)


def take_rows(X: Any, rows: NDArray[np.intp]) -> Any:
    native = as_native(X, "X")
    if isinstance(native, nw.DataFrame):
        return native[rows].to_native()
    return X[rows] if hasattr(X, "shape") else [X[i] for i in rows]


def as_columns(
    data: Any, what: str, *, n: int | None = None, names: Sequence[str] | None = None
) -> dict[str, NDArray[Any]]:
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
    array = _as_column(data, what)
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


def _as_column(values: Any, what: str) -> NDArray[Any]:
    try:
        return as_array(values, what)
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        found = "its parts have different shapes"
        raise InputError(f"{what} cannot be read as an array ({found}), expected one value per row.") from error


def one_dimensional(values: Any, what: str) -> NDArray[Any]:
    array = _as_column(values, what)
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
