"""Checks at the public edge: each input is looked at once, here, and refused with one sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.multiclass import type_of_target

from .exceptions import InputError

Array = NDArray[np.float64]

DENSE = 65_536
SMALLEST, LARGEST = 1e-100, 1e100
"""Sizes of numbers whose squares and sums are numbers too: weights, targets and columns are within them."""


def as_columns(
    data: Any, what: str, *, n: int | None = None, names: Sequence[str] | None = None
) -> dict[str, NDArray[Any]]:
    """Turn a frame, series, mapping, array or list into named one-dimensional columns."""
    if data is None:
        raise InputError(f"{what} is None, expected one value per row; {pass_hint(what)}")
    if isinstance(data, Mapping):
        columns = {str(k): _one_dimensional(v, f"{what}[{k!r}]") for k, v in data.items()}
    else:
        columns = _from_native(data, what, names)
    if not columns:
        raise InputError(f"{what} has no columns, expected at least one.")
    rows, like = (n, "X") if n is not None else (len(next(iter(columns.values()))), "the first column")
    for name, values in columns.items():
        if len(values) != rows:
            found = f"{what} column {name!r} has {len(values)} rows"
            raise InputError(f"{found}, expected {rows}, as many as {like}.")
    return columns


def pass_hint(what: str) -> str:
    """Say how sensitive features reach fit, also through a Pipeline."""
    return (
        f"pass them by keyword, fit(X, y, {what}=groups); through a Pipeline or a search, switch routing on with "
        "sklearn.set_config(enable_metadata_routing=True) and pass the same keyword to its fit."
    )


def _from_native(data: Any, what: str, names: Sequence[str] | None) -> dict[str, NDArray[Any]]:
    native = nw.from_native(data, pass_through=True, eager_only=True, allow_series=True)
    if isinstance(native, nw.DataFrame):
        return {str(c.name): _one_dimensional(c.to_numpy(), what) for c in native.iter_columns()}
    if isinstance(native, nw.Series):
        return {str(native.name or "group"): _one_dimensional(native.to_numpy(), what)}
    try:
        array = np.asarray(data) if hasattr(data, "__array__") else np.asarray(data, dtype=object)
    except ValueError as error:
        raise InputError(f"{what} cannot be read as an array ({error}), expected one value per row.") from error
    if array.ndim == 1:
        return {names[0] if names else "group": _tidy(array)}
    if array.ndim != 2:
        raise InputError(f"{what} has shape {array.shape}, expected (n,) or (n, columns).")
    labels = list(names) if names else [f"group{j}" for j in range(array.shape[1])]
    if array.shape[1] == 1 and not names:
        labels = ["group"]
    if len(labels) != array.shape[1]:
        raise InputError(f"{what} has {array.shape[1]} columns, expected {len(labels)}, one per name.")
    return {str(label): _tidy(array[:, j]) for j, label in enumerate(labels)}


def _one_dimensional(values: Any, what: str) -> NDArray[Any]:
    array = np.asarray(values) if hasattr(values, "__array__") else np.asarray(values, dtype=object)
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
    return np.fromiter(map(place.__getitem__, items), dtype=np.intp, count=len(items)), distinct


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


def check_matrix(X: Any) -> Any:
    """Return X as a two-dimensional float array or CSR matrix, finite and not empty."""
    if sparse.issparse(X):
        matrix = sparse.csr_array(X)
        _check_shape(matrix.shape)
        if not np.isfinite(matrix.data).all():
            raise InputError("X contains NaN or infinity, expected finite numbers; impute or drop them first.")
        return matrix
    native = nw.from_native(X, pass_through=True, eager_only=True)
    try:
        array = native.to_numpy() if isinstance(native, nw.DataFrame) else np.asarray(X)
    except ValueError as error:
        raise InputError(f"X cannot be read as an array ({error}), expected (n, d).") from error
    if array.ndim != 2:
        raise InputError(f"X has shape {array.shape}, expected (n, d): one row per sample, one column per feature.")
    _check_shape(array.shape)
    if array.dtype not in (np.float32, np.float64):
        array = as_numbers(array, "X", "encode categories first")
    with np.errstate(over="ignore", invalid="ignore"):
        total = array.sum()
    if not np.isfinite(total) and not np.isfinite(array).all():
        bad = int(np.flatnonzero(~np.isfinite(array).all(axis=0))[0])
        raise InputError(
            f"X contains NaN or infinity (first in column {bad}), expected finite numbers; impute or drop them first."
        )
    return array


def as_numbers(values: Any, what: str, remedy: str = "expected real numbers") -> Array:
    """Return values as floats, or say that they are not numbers."""
    try:
        array = np.asarray(values)
        if array.dtype.kind == "c":
            raise TypeError("found complex numbers")
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} has entries that are not numbers ({error}); {remedy}.") from error


def _check_shape(shape: tuple[int, ...]) -> None:
    if shape[0] == 0:
        raise InputError("X has 0 rows, expected at least one sample.")
    if shape[1] == 0:
        raise InputError("X has 0 columns, expected at least one feature.")


def check_labels(y: Any, n: int) -> NDArray[Any]:
    """Return y as a one-dimensional array of n labels without missing values."""
    array = _one_dimensional(_series_values(y), "y")
    if len(array) != n:
        raise InputError(f"y has {len(array)} rows, expected {n}, as many as X.")
    if array.dtype.kind == "f":
        if not np.isfinite(array).all():
            raise InputError("y contains NaN or infinity, expected a label or a finite value in every row.")
    elif array.dtype == object and any(is_missing(v) for v in _distinct(array)):
        raise InputError("y has missing labels, expected a label in every row; drop those rows.")
    return array


def _distinct(array: NDArray[Any]) -> Iterable[Any]:
    """Return the values of an array, each at least once, in a hundredth of the time that a look at every row takes."""
    try:
        return set(array.tolist())
    except TypeError:  # values that have no hash
        return array


def _series_values(y: Any) -> Any:
    native = nw.from_native(y, pass_through=True, eager_only=True, allow_series=True)
    if isinstance(native, nw.Series):
        return native.to_numpy()
    return native.to_numpy() if isinstance(native, nw.DataFrame) else y


def find_classes(y: NDArray[Any]) -> tuple[list[Any], NDArray[np.intp]]:
    """Return the sorted classes of labels and the class index of every row."""
    kind = type_of_target(y.astype(str) if y.dtype == object else y)
    if kind == "continuous":
        raise InputError(
            "y has values that are not classes (found fractions), expected labels; use regression (loss='squared')."
        )
    codes, classes = factorize(y)
    if len(classes) < 2:
        only = classes[0] if classes else None
        raise InputError(f"y has one class only ({only!r}), expected 2 or more.")
    return classes, codes


def check_weights(sample_weight: Any, n: int) -> Array | None:
    """Return weights as floats, None when all are 1."""
    if sample_weight is None:
        return None
    weight = as_weights(sample_weight, n)
    if not weight.any():
        raise InputError("sample_weight is zero in every row, expected a positive total.")
    return None if (weight == 1.0).all() else weight


def as_weights(sample_weight: Any, n: int) -> Array:
    """Return weights of some rows as finite floats of at least 0."""
    weight = as_numbers(_series_values(sample_weight), "sample_weight")
    if weight.ndim == 0:
        weight = np.full(n, float(weight))
    if weight.shape != (n,):
        raise InputError(f"sample_weight has shape {weight.shape}, expected ({n},), as many as X has rows.")
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise InputError("sample_weight has negative, missing or infinite entries, expected numbers of at least 0.")
    low, high = weight.min(initial=np.inf, where=weight > 0.0), weight.max(initial=0.0)
    if high > LARGEST or low < SMALLEST:
        raise InputError(
            f"sample_weight has positive entries from {low:g} to {high:g}, expected 0 or numbers between {SMALLEST:g} "
            f"and {LARGEST:g}, whose sums and products are numbers too; divide them all by their mean."
        )
    return weight


def weighted_rows(weight: Array | None) -> NDArray[np.intp] | None:
    """Return the rows whose weight is above 0, None where all are: the others count as if they were not there."""
    return None if weight is None or weight.all() else np.flatnonzero(weight)


def check_preferences(preferences: Any, names: Sequence[str]) -> Array:
    """Return preferences as an (n_runs, m) array of positive numbers."""
    array = np.atleast_2d(as_numbers(preferences, "preferences"))
    expected = f"expected (n_runs, {len(names)}): one column per objective ({', '.join(names)})."
    if array.ndim != 2 or array.shape[1] != len(names):
        raise InputError(f"preferences has shape {np.shape(preferences)}, {expected}")
    if not np.isfinite(array).all() or (array <= 0).any():
        raise InputError(
            f"preferences must be positive and finite, found {array.min():g} to {array.max():g}; {expected}"
        )
    return array


def check_count(value: Any, what: str, *, least: int = 1) -> int:
    """Return a whole number of at least ``least``."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < least:
        raise InputError(f"{what} is {value!r}, expected a whole number of at least {least}.")
    return int(value)


def check_positive(value: float, what: str, *, zero: bool = False) -> float:
    """Return a finite number above 0 (or at least 0)."""
    number = float(as_numbers(value, what))
    if not np.isfinite(number) or number < 0 or (number == 0 and not zero):
        raise InputError(f"{what} is {value!r}, expected a finite number {'of at least 0' if zero else 'above 0'}.")
    return number


def take_rows(X: Any, rows: NDArray[np.intp]) -> Any:
    """Return some rows of whatever an estimator takes: an array, a sparse matrix, a data frame or a list."""
    native = nw.from_native(X, pass_through=True, eager_only=True)
    if isinstance(native, nw.DataFrame):
        return native[rows].to_native()
    return X[rows] if hasattr(X, "shape") else [X[i] for i in rows]
