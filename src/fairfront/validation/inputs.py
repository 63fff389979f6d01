"""Checks of data: arrays, frames and columns of any library as numpy's; rows, labels, groups and weights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray
from scipy import sparse

from ..exceptions import InputError, spelled
from . import as_plain, check_positive, counted, is_missing, pass_hint, refuse, refuse_kind, refuse_masked, shown

Array = NDArray[np.float64]
CONVERTIBLE = (str, bytes, complex, date, timedelta, np.datetime64, np.timedelta64)
"""Values of mixed arrays that numpy would turn into numbers, or cut to fit."""
DENSE = 65_536
SMALLEST, LARGEST = 1e-50, 1e50
"""Sizes of numbers whose fourth powers and sums are numbers too: weights, targets and columns are within them."""


def as_native(data: Any, what: str, *, series: bool = False) -> Any:
    """Return what is no data frame (or series) as it is."""
    try:
        return nw.from_native(data, pass_through=True, eager_only=True, allow_series=series or None)
    except DuplicateError as error:
        names = [str(name) for name in getattr(data, "columns", ())]
        twice = next((name for name in names if names.count(name) > 1), "of one name")
        raise InputError(f"{what} has two columns {twice!r}, expected different names; rename one of them.") from error


def _values(data: Any, what: str) -> Any:
    native = as_native(data, what, series=True)
    return native.to_numpy() if isinstance(native, (nw.Series, nw.DataFrame)) else data


def shape_of(values: Any, what: str) -> tuple[int, ...]:
    return tuple(values.shape) if hasattr(values, "shape") else as_array(values, what, "numbers", like=None).shape


def as_array(values: Any, what: str, expected: str = "one value per row", like: Any = object) -> NDArray[Any]:
    """Return what is no array as an array of the type ``like``; None: of that which numpy takes for it."""
    refuse_masked(values, what)
    if sparse.issparse(values):
        raise InputError(f"{what} is a sparse matrix, expected an array; turn it into one with toarray().")
    try:
        array = np.asarray(values, dtype=None if hasattr(values, "__array__") else like)
    except ValueError as error:
        why = "its parts have different shapes"
        raise InputError(f"{what} cannot be read as an array ({why}), expected {expected}.") from error
    refuse_kind(array.dtype, what)
    return array


def as_numbers(values: Any, what: str, remedy: str = "expected real numbers") -> Array:
    array = as_array(values, what, "numbers", like=None)
    mixed = array.flat if array.dtype.kind in "OU" else ()
    strange = next((value for value in mixed if isinstance(value, CONVERTIBLE)), None)
    try:
        if strange is not None:
            raise TypeError(f"found {strange!r}")
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} has entries that are not numbers ({error}); {remedy}.") from error


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
    native = data if isinstance(data, Mapping) else as_native(data, what, series=True)
    if isinstance(native, Mapping):
        columns = {str(name): one_dimensional(each, f"{what}[{name!r}]") for name, each in native.items()}
    elif isinstance(native, nw.DataFrame):
        columns = {str(each.name): one_dimensional(each.to_numpy(), what) for each in native.iter_columns()}
    elif isinstance(native, nw.Series):
        columns = {str(native.name or "group"): one_dimensional(native.to_numpy(), what)}
    else:
        columns = _columns_of(as_array(data, what), what, names)
    if not columns:
        raise InputError(f"{what} has no columns, expected at least one.")
    rows, like = (n, spelled("X")) if n is not None else (len(next(iter(columns.values()))), "the first column")
    for name, values in columns.items():
        if len(values) != rows:
            found = f"{what} column {name!r} has {counted(len(values), 'row')}"
            raise InputError(f"{found}, expected {rows}, as many as {like}.")
    return columns


def _columns_of(array: NDArray[Any], what: str, names: Sequence[str] | None) -> dict[str, NDArray[Any]]:
    if array.ndim not in (1, 2):
        raise InputError(f"{what} has shape {array.shape}, expected (n,) or (n, columns).")
    table = array if array.ndim == 2 else array[:, None]
    width = table.shape[1]
    plain = ["group"] if width == 1 else [f"group{j}" for j in range(width)]
    labels = plain if names is None else names
    if array.ndim == 2 and len(labels) != width:
        raise InputError(f"{what} has {counted(width, 'column')}, expected {len(labels)}, one per name.")
    return {str(label): _tidy(column) for label, column in zip(labels, table.T, strict=False)}


def one_dimensional(values: Any, what: str) -> NDArray[Any]:
    array = as_array(values, what)
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
    kind = values.dtype.kind
    if kind in "iu" and values.size and int(values.max()) - int(values.min()) < DENSE:
        low = int(values.min())
        shifted = values.astype(np.intp) - low
        seen = np.bincount(shifted) > 0  # counting beats sorting where the numbers lie close together
        return (np.cumsum(seen) - 1)[shifted], (np.flatnonzero(seen) + low).tolist()
    if kind in "biuf":
        found, codes = np.unique(values, return_inverse=True)
        known = found[~np.isnan(found)].tolist()  # NaN is last, and once
        whole = [int(v) if float(v).is_integer() else v for v in known]
        return np.where(codes < len(known), codes, -1).astype(np.intp), whole if kind == "f" else known
    items = values.tolist()
    try:
        place: dict[Any, int] = dict.fromkeys(items, -1)
    except TypeError as error:
        raise InputError(f"found a row with no single value ({error}), expected one label per row.") from error
    distinct = [v for v in place if not is_missing(v)]
    distinct.sort(key=lambda v: (str(type(v)), v) if isinstance(v, (str, int, float)) else ("", str(v)))
    place.update((v, i) for i, v in enumerate(distinct))
    return np.fromiter(map(place.__getitem__, items), dtype=np.intp, count=len(items)), as_plain(distinct)


def check_matrix(X: Any) -> Any:
    """Return a finite, not empty (n, d) array or CSR matrix."""
    if sparse.issparse(X):
        check_sparse(X)
        matrix = sparse.csr_array(X)
        numbers = matrix.data
    else:
        matrix = as_array(_values(X, "X"), "X", "(n, d)", like=None)
        _check_shape(matrix.shape)
        if matrix.dtype not in (np.float32, np.float64):
            matrix = as_numbers(matrix, "X", "encode categories first, or use fairfront.trace_table, which does")
        numbers = matrix
    with np.errstate(over="ignore", invalid="ignore"):
        total = numbers.sum()
    if not np.isfinite(total) and not np.isfinite(numbers).all():
        first = "" if numbers.ndim == 1 else f" (first in column {np.isfinite(numbers).all(axis=0).argmin()})"
        raise InputError(f"X contains NaN or infinity{first}, expected finite numbers; impute or drop them first.")
    return matrix


def refuse_misread(X: Any) -> None:
    """Refuse masks, dates, columns of one name and bad indices: learners would misread these, and judge all else."""
    refuse_masked(X, "X")
    if sparse.issparse(X):
        check_sparse(X)
        return
    native = as_native(X, "X")
    dated = isinstance(native, nw.DataFrame) and any(kind.is_temporal() for kind in native.schema.values())
    dtype: Any = np.dtype("M8[D]") if dated else getattr(X, "dtype", None)
    if getattr(dtype, "kind", "") in ("M", "m"):
        refuse_kind(dtype, "X")


def check_rows(X: Any) -> int:
    """Return the number of rows of what a learner takes; its columns are the learner's own affair."""
    refuse_misread(X)
    if not (isinstance(X, (list, tuple)) or getattr(X, "shape", hasattr(X, "__array__") and hasattr(X, "__len__"))):
        raise refuse("X", X, "an array, a data frame or a list of rows")
    found = X.shape[0] if hasattr(X, "shape") else len(X)
    if found == 0:
        raise InputError("X has 0 rows, expected at least one sample.")
    return int(found)


def check_sparse(X: Any) -> None:
    """Refuse a sparse matrix with indices outside its shape, which products and learners would read or write at."""
    _check_shape(X.shape)
    refuse_kind(X.dtype, "X")
    try:
        if X.format in ("csr", "csc", "bsr"):
            X.check_format(full_check=True)
        elif X.format == "coo" and any(((c < 0) | (c >= n)).any() for c, n in zip(X.coords, X.shape, strict=True)):
            raise ValueError("indices out of range")
    except ValueError as error:
        raise InputError(f"X is a damaged sparse matrix ({error}), expected indices inside its shape.") from error


def _check_shape(shape: tuple[int, ...]) -> None:
    if len(shape) != 2:
        raise InputError(f"X has shape {shape}, expected (n, d): one row per sample, one column per feature.")
    if shape[0] == 0:
        raise InputError("X has 0 rows, expected at least one sample.")
    if shape[1] == 0:
        raise InputError("X has 0 columns, expected at least one feature.")


def check_labels(y: Any, n: int, what: str = "y", like: str = "X") -> NDArray[Any]:
    array = one_dimensional(_values(y, what), what)
    if len(array) != n:
        raise InputError(f"{what} has {counted(len(array), 'row')}, expected {n}, as many as {like}.")
    if array.dtype.kind == "f":
        if not np.isfinite(array).all():
            raise InputError(f"{what} contains NaN or infinity, expected a label or a finite value in every row.")
    elif array.dtype == object:
        distinct: Iterable[Any] = array
        with suppress(TypeError):  # without a hash, values are looked at row by row, which takes far longer
            distinct = set(array.tolist())
        for value in distinct:
            if is_missing(value):
                raise InputError(f"{what} has missing labels, expected a label in every row; drop those rows.")
            if not isinstance(value, (str, Real, Decimal, np.bool_)):
                raise InputError(
                    f"{what} has {shown(value)}, a {type(value).__name__}, expected labels that are text or numbers."
                )
    return array


def find_classes(y: NDArray[Any]) -> tuple[list[Any], NDArray[np.intp]]:
    from sklearn.utils.multiclass import type_of_target  # a large package, which storage and data sets do without

    kind = type_of_target(y.astype(str) if y.dtype == object else y)
    if kind == "continuous":
        raise InputError(
            "y has values that are not classes (found fractions), expected labels; use regression (loss='squared')."
        )
    codes, classes = factorize(y)
    if len(classes) < 2:
        raise InputError(f"y has one class only ({next(iter(classes), None)!r}), expected 2 or more.")
    return classes, codes


def check_weights(sample_weight: Any, n: int) -> Array | None:
    """Return None when all weights are 1."""
    if sample_weight is None:
        return None
    weight = as_weights(sample_weight, n)
    if not weight.any():
        raise InputError(f"{spelled('sample_weight')} is zero in every row, expected a positive total.")
    return None if (weight == 1.0).all() else weight


def as_weights(sample_weight: Any, n: int) -> Array:
    what = spelled("sample_weight")
    if isinstance(sample_weight, Real):
        sample_weight = np.full(n, check_positive(sample_weight, what, zero=True))
    weight = as_numbers(_values(sample_weight, what), what)
    if weight.shape != (n,):
        raise InputError(f"{what} has shape {weight.shape}, expected ({n},), as many as {spelled('X', 'X has rows')}.")
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise InputError(f"{what} has negative, missing or infinite entries, expected numbers of at least 0.")
    low, high = weight.min(initial=np.inf, where=weight > 0.0), weight.max(initial=0.0)
    if high > LARGEST or low < SMALLEST:
        raise InputError(
            f"{what} has positive entries from {low:g} to {high:g}, expected 0 or numbers between {SMALLEST:g} "
            f"and {LARGEST:g}, whose sums and products are numbers too; divide them all by their mean."
        )
    return weight


def weighted_rows(weight: Array | None) -> NDArray[np.intp] | None:
    """Return None where all weights are above 0; rows of weight 0 count as if they were not there."""
    return None if weight is None or weight.all() else np.flatnonzero(weight)


MOST_UNEQUAL = 100.0
"""Powers of ten between the numbers of a preference, whose quotients and products have to be finite."""


def check_preferences(preferences: Any, names: Sequence[str]) -> Array:
    array = np.atleast_2d(as_numbers(preferences, "preferences"))
    expected = f"expected (n_runs, {len(names)}): one column per objective ({', '.join(names)})."
    if array.ndim != 2 or array.shape[1] != len(names):
        raise InputError(f"preferences has shape {np.shape(preferences)}, {expected}")
    if not np.isfinite(array).all() or (array <= 0).any():
        raise InputError(
            f"preferences must be positive and finite, found {array.min():g} to {array.max():g}; {expected}"
        )
    ratio = float((np.log10(array).max(axis=1) - np.log10(array).min(axis=1)).max())
    if ratio > MOST_UNEQUAL:
        raise InputError(
            f"preferences has numbers that are 1e{ratio:.0f} times as large as others, expected at most "
            f"1e{MOST_UNEQUAL:.0f} times; cap the gap instead."
        )
    return array
