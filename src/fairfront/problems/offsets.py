"""Offsets: a column of X that is added to every score as it is, with a coefficient of 1 that is not trained.

Models keep it among their columns, with that coefficient, so that whoever predicts gives it with the others.
"""

from __future__ import annotations

from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from scipy import sparse

from ..exceptions import InputError
from ..objectives import Array
from ..validation import counted, is_dask, refuse
from ..validation.inputs import as_array, as_numbers, check_matrix, shape_of
from .pieces import feature_names

NAME = "offset"
EXPECTED = "the name or the place of a column of X, or an array of shape (n,)"


def with_offset(X: Any, offset: Any) -> tuple[Any, int | None]:
    """Return X with the offset among its columns, as the last where it is an array, and its place.

    Parameters
    ----------
    X : array, data frame or sparse matrix of shape (n, d)
    offset : the name or the place of a column of X, an array of shape (n,), or None
    """
    if offset is None:
        return X, None
    if is_dask(X) or is_dask(offset):
        raise InputError("offset needs rows in memory, found Dask collections; compute() them, or give exposure.")
    names, width = feature_names(X), (*shape_of(X, "X"), 0)[1]
    if isinstance(offset, str):
        if names is None or offset not in names:
            known = "columns without names" if names is None else f"the columns {', '.join(names[:8])}"
            raise InputError(f"offset is {offset!r}, expected {EXPECTED}; found {known}.")
        return X, names.index(offset)
    if isinstance(offset, (int, np.integer)) and not isinstance(offset, bool):
        if not 0 <= offset < width:
            raise InputError(f"offset is {offset}, expected a place from 0 to {width - 1}: X has {width} columns.")
        return X, int(offset)
    return _appended(X, offset), width


def _appended(X: Any, offset: Any) -> Any:
    n = shape_of(X, "X")[0]
    if not hasattr(offset, "__len__") or isinstance(offset, (bytes, dict)):
        raise refuse("offset", offset, EXPECTED)
    values = as_numbers(as_array(offset, "offset", "(n,)", like=None), "offset")
    if values.shape != (n,) or not np.isfinite(values).all():
        found = counted(len(values), "number") if values.ndim == 1 else f"shape {values.shape}"
        raise InputError(f"offset has {found}, some may not be finite; expected {n} finite numbers, one per row of X.")
    if sparse.issparse(X):
        return sparse.hstack([check_matrix(X), values[:, None]], format="csr")
    native = nw.from_native(X, pass_through=True, eager_only=True)
    if isinstance(native, nw.DataFrame):
        if NAME in native.columns:
            raise InputError(
                f"X has a column {NAME!r} already, expected none beside an array; name the column instead."
            )
        added = nw.new_series(NAME, values, backend=native.implementation)
        return native.with_columns(added).to_native()
    return np.column_stack([check_matrix(X), values])


def without_offset(matrix: Any, place: int | None) -> tuple[Any, Array | None]:
    """Return a checked matrix without the column of the offset, and that column, (n,)."""
    if place is None:
        return matrix, None
    if place >= matrix.shape[1]:
        raise InputError(
            f"X has {counted(matrix.shape[1], 'column')}, expected one at {place}: the offset of training."
        )
    rest = [j for j in range(matrix.shape[1]) if j != place]
    if not rest:
        raise InputError("X has no column besides the offset, expected at least one feature.")
    column = matrix[:, [place]]
    values = column.toarray() if sparse.issparse(column) else column
    return matrix[:, rest], np.asarray(values[:, 0], dtype=np.float64)
