"""Checks of data: rows, columns, labels, groups and weights, looked at once and refused with one sentence."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from contextlib import suppress
from decimal import Decimal
from numbers import Real
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..exceptions import InputError, spelled
from .arrays import (
    Array,
    as_array,
    as_native,
    as_numbers,
    factorize,
    is_missing,
    one_dimensional,
    refuse_kind,
    refuse_masked,
)
from .parameters import check_positive, counted, refuse, shown

SMALLEST, LARGEST = 1e-50, 1e50
"""Sizes of numbers whose fourth powers and sums are numbers too: weights, targets and columns are within them."""


def check_matrix(X: Any) -> Any:
    """Return a finite, not empty (n, d) array or CSR matrix."""
    if sparse.issparse(X):
        check_sparse(X)
        matrix = sparse.csr_array(X)
        if not np.isfinite(matrix.data).all():
            raise InputError("X contains NaN or infinity, expected finite numbers; impute or drop them first.")
        return matrix
    native = as_native(X, "X")
    try:
        array = native.to_numpy() if isinstance(native, nw.DataFrame) else X
        array = as_array(array, "X") if hasattr(array, "__array__") else np.asarray(array)
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError("X cannot be read as an array (rows have different lengths), expected (n, d).") from error
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


def refuse_misread(X: Any, what: str) -> None:
    """Refuse what learners and scikit-learn's checks would misread: masks, dates, two columns of one name, bad indices.

    All else they judge themselves.
    """
    refuse_masked(X, what)
    if sparse.issparse(X):
        check_sparse(X)
        return
    native = as_native(X, what)
    kinds = native.schema.values() if isinstance(native, nw.DataFrame) else ()
    if getattr(getattr(X, "dtype", None), "kind", "") in ("M", "m"):
        refuse_kind(X.dtype, what)
    if any(kind.is_temporal() for kind in kinds):
        refuse_kind(np.dtype("M8[D]"), what)


def check_rows(X: Any) -> int:
    """Return the number of rows of what a learner takes; its columns are the learner's own affair."""
    refuse_misread(X, "X")
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
    array = one_dimensional(_series_values(y, what), what)
    if len(array) != n:
        raise InputError(f"{what} has {counted(len(array), 'row')}, expected {n}, as many as {like}.")
    if array.dtype.kind == "f":
        if not np.isfinite(array).all():
            raise InputError(f"{what} contains NaN or infinity, expected a label or a finite value in every row.")
    elif array.dtype == object:
        distinct: Iterable[Any] = array
        with suppress(
            TypeError
        ):  # values that have no hash are looked at row by row, which takes a hundred times longer
            distinct = set(array.tolist())
        for value in distinct:
            if is_missing(value):
                raise InputError(f"{what} has missing labels, expected a label in every row; drop those rows.")
            if not isinstance(value, (str, Real, Decimal, np.bool_)):
                raise InputError(
                    f"{what} has {shown(value)}, a {type(value).__name__}, expected labels that are text or numbers."
                )
    return array


def _series_values(y: Any, what: str) -> Any:
    native = as_native(y, what, series=True)
    return native.to_numpy() if isinstance(native, (nw.Series, nw.DataFrame)) else y


def find_classes(y: NDArray[Any]) -> tuple[list[Any], NDArray[np.intp]]:
    from sklearn.utils.multiclass import type_of_target  # a large package, which storage and data sets do without

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


def check_favourable(favourable: Any, classes: Sequence[Any]) -> int:
    """Return the place of the favourable label among the classes, by default that of the second."""
    if favourable is None:
        return 1
    known = isinstance(favourable, Hashable) and not getattr(favourable, "ndim", 0) and favourable in classes
    if not known:
        labels = ", ".join(map(repr, classes[:20])) + (", ..." if len(classes) > 20 else "")
        raise refuse("favourable", favourable, f"one of the labels {labels}")
    return list(classes).index(favourable)


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
    weight = as_numbers(_series_values(sample_weight, what), what)
    if weight.shape != (n,):
        like = spelled("X", "X has rows")
        raise InputError(f"{what} has shape {weight.shape}, expected ({n},), as many as {like}.")
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


def check_preferences(preferences: Any, names: Sequence[str]) -> Array:
    array = np.atleast_2d(as_numbers(preferences, "preferences"))
    expected = f"expected (n_runs, {len(names)}): one column per objective ({', '.join(names)})."
    if array.ndim != 2 or array.shape[1] != len(names):
        raise InputError(f"preferences has shape {np.shape(preferences)}, {expected}")
    if not np.isfinite(array).all() or (array <= 0).any():
        raise InputError(
            f"preferences must be positive and finite, found {array.min():g} to {array.max():g}; {expected}"
        )
    return array
