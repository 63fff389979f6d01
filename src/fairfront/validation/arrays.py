"""Arrays and frames of any library as numpy's, with what numpy would pass over in silence refused.

A mask would be dropped, an imaginary part lost, a date taken as the number of its days.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray
from scipy import sparse

from ..exceptions import InputError

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


def as_native(data: Any, what: str, *, series: bool = False) -> Any:
    """Return a data frame (or series) of any library in one guise, and all else as it is."""
    try:
        return nw.from_native(data, pass_through=True, eager_only=True, allow_series=series or None)
    except DuplicateError as error:
        names = [str(name) for name in getattr(data, "columns", ())]
        twice = next((name for name in names if names.count(name) > 1), "of one name")
        raise InputError(f"{what} has two columns {twice!r}, expected different names; rename one of them.") from error


def shape_of(values: Any, what: str) -> tuple[int, ...]:
    """Return the shape of what is or could be an array."""
    return tuple(values.shape) if hasattr(values, "shape") else _read(values, what).shape


def as_array(values: Any, what: str) -> NDArray[Any]:
    """Return an array as numpy's own, and anything else as an array of objects."""
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
    """Refuse arrays of a kind that is neither numbers nor text."""
    if dtype.kind in REMEDIES and dtype.kind not in but:
        found, remedy = REMEDIES[dtype.kind]
        raise InputError(f"{what} has {found}, {remedy}.")


def as_numbers(values: Any, what: str, remedy: str = "expected real numbers") -> Array:
    """Return values as floats, or say that they are not numbers."""
    array = as_array(values, what) if hasattr(values, "__array__") else _read(values, what)
    refuse_kind(array.dtype, what)
    strange = next((value for value in array.flat if isinstance(value, CONVERTIBLE)), None) if _mixed(array) else None
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


def _mixed(array: NDArray[Any]) -> bool:
    """Tell whether an array may hold values that numpy would turn into numbers although they are not."""
    return array.dtype.kind in "OU"


def is_missing(value: Any) -> bool:
    """Tell whether a value stands for a missing one."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA compares to NA, which has no truth value
        return True


def is_dask(value: Any) -> bool:
    """Tell whether a value is a Dask collection, or a mapping or list of them, without importing Dask."""
    if isinstance(value, Mapping):
        return any(is_dask(each) for each in value.values())
    if isinstance(value, (list, tuple)):
        return bool(value) and is_dask(value[0])
    return any(kind.__module__.partition(".")[0] in ("dask", "dask_expr") for kind in type(value).__mro__)


def take_rows(X: Any, rows: NDArray[np.intp]) -> Any:
    """Return some rows of whatever an estimator takes: an array, a sparse matrix, a data frame or a list."""
    native = as_native(X, "X")
    if isinstance(native, nw.DataFrame):
        return native[rows].to_native()
    return X[rows] if hasattr(X, "shape") else [X[i] for i in rows]
