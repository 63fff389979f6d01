"""From columns to a matrix of numbers: indicators or integer codes, scaled on the rows asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..exceptions import InputError
from ..validation import check_choice, check_mapping, check_names, refuse, shape_of

Encoding = Literal["one_hot", "integer"]
Block = tuple[list[NDArray[np.float64]], list[str]]

ENCODINGS = ("one_hot", "integer")
MISSING = "missing"


def encode(
    columns: Mapping[str, NDArray[Any]],
    names: Sequence[str],
    encoding: Encoding = "one_hot",
    fit_on: ArrayLike | None = None,
) -> tuple[NDArray[np.float64], list[str]]:
    """Encode the named columns as one matrix.

    Parameters
    ----------
    columns : mapping of str to ndarray of shape (n,)
        Data by column; must hold all ``names``.
    names : sequence of str
        Columns to encode, in this order.
    encoding : {"one_hot", "integer"}, default "one_hot"
        ``"one_hot"``: numbers are standardised, and each category of the data gets an indicator, in sorted
        order. ``"integer"``: categories become 0, 1, 2, ... in sorted order, then every column is
        standardised. Integer codes put an arbitrary order on categories; they are there for comparison with
        published results that use them.
    fit_on : array of row indices or boolean mask, optional
        Rows on which means, standard deviations (divided by n) and medians are computed; default: all rows.

    Returns
    -------
    X : ndarray of shape (n, d), float64
    feature_names : list of str

    Notes
    -----
    A missing number becomes the median of the ``fit_on`` rows and adds an indicator ``"name=missing"``. A
    missing category is a category of its own, ``"missing"``. A column that is constant on the ``fit_on`` rows
    is centred and not scaled.
    """
    check_choice(encoding, "encoding", ENCODINGS)
    if not check_mapping(columns, "columns", "{'age': ages}"):
        raise refuse("columns", columns, "at least one column")
    for name in check_names(names, "names"):
        check_choice(name, "names", columns)
    n = len(np.atleast_1d(next(iter(columns.values()))))
    rows = _fit_rows(fit_on, n)
    arrays: list[NDArray[np.float64]] = []
    feature_names: list[str] = []
    for name in names:
        block, labels = _block(name, columns[name], encoding, rows)
        arrays += block
        feature_names += labels
    X = np.column_stack(arrays) if arrays else np.empty((n, 0))
    return X, feature_names


def row_index(rows: ArrayLike, n: int) -> NDArray[np.intp]:
    """Return row numbers from indices or a boolean mask, checked against ``n`` rows."""
    array = np.asarray(rows) if shape_of(rows, "rows") else np.empty(())
    mask = array.dtype.kind == "b"
    whole = array.dtype.kind in "iu" or not array.size
    fits = array.shape == (n,) if mask else array.ndim == 1 and whole and np.isin(array, np.arange(-n, n)).all()
    if not fits:
        raise InputError(
            f"rows have shape {array.shape} and type {array.dtype}, expected a boolean mask of shape ({n},) "
            f"or row numbers from 0 to {n - 1}: give one of the two."
        )
    index: NDArray[np.intp] = np.flatnonzero(array) if mask else array.astype(np.intp) % max(n, 1)
    return index


def _fit_rows(fit_on: ArrayLike | None, n: int) -> NDArray[np.intp]:
    rows = np.arange(n) if fit_on is None else row_index(fit_on, n)
    if rows.size == 0:
        raise InputError("fit_on selects 0 rows, expected at least 1: give the training rows, or None for all.")
    return rows


def _block(name: str, values: NDArray[Any], encoding: Encoding, rows: NDArray[np.intp]) -> Block:
    if values.dtype.kind in "biuf":
        return _numbers(name, values.astype(np.float64), encoding, rows)
    levels, codes = np.unique(_as_text(values), return_inverse=True)
    if encoding == "integer":
        return [_standardise(codes.astype(np.float64), rows)], [name]
    indicators = [(codes == k).astype(np.float64) for k in range(len(levels))]
    return indicators, [f"{name}={level}" for level in levels]


def _numbers(name: str, values: NDArray[np.float64], encoding: Encoding, rows: NDArray[np.intp]) -> Block:
    absent = np.isnan(values)
    if not absent.any():
        return [_standardise(values, rows)], [name]
    seen = values[rows][~absent[rows]]
    filled = np.where(absent, np.median(seen) if seen.size else 0.0, values)
    indicator = absent.astype(np.float64)
    if encoding == "integer":
        indicator = _standardise(indicator, rows)
    return [_standardise(filled, rows), indicator], [name, f"{name}={MISSING}"]


def _standardise(values: NDArray[np.float64], rows: NDArray[np.intp]) -> NDArray[np.float64]:
    spread = float(values[rows].std())
    centred: NDArray[np.float64] = values - values[rows].mean()
    return centred / spread if spread > 0 else centred


def _as_text(values: NDArray[Any]) -> NDArray[np.str_]:
    if values.dtype.kind == "U":
        return values
    return np.array([MISSING if value is None or value != value else str(value) for value in values])
