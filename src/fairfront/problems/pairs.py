"""Pairs of people, or of a person and a counterfactual one, whose scores should be alike: how their features differ.

With differences u of features the mean squared difference of scores is w.M w with M = mean of u u^T, a convex
quadratic of the weights: points that bound it are certified like those that bound losses.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..exceptions import InputError
from ..objectives import Array
from ..validation import counted, is_dask
from ..validation.inputs import check_matrix, shape_of
from .design import Frame
from .point import DENSE_LIMIT

EXPECTED = "row numbers of shape (m, 2), or a second matrix X' with one row for each of X"


def pair_sides(pairs: Any, X: Any, weight: Array | None = None) -> tuple[Any, Any, Array, NDArray[np.intp]]:
    """Return features of both sides, (m, d) each, the weight of every pair, and the rows that it is of, (m, 2).

    Of row numbers every pair weighs 1, of X' as much as its row, which is both of its rows.

    Parameters
    ----------
    pairs : integer array of shape (m, 2) of row numbers, or an array, frame or sparse matrix like X
    X : checked matrix of shape (n, d)
    weight : array of shape (n,), optional
    """
    if any(map(is_dask, (pairs, X))):
        raise InputError("pairs needs rows in memory, found Dask collections; compute() them, or leave pairs out.")
    numbers = None if sparse.issparse(pairs) or hasattr(pairs, "columns") else np.asarray(pairs)
    if numbers is not None and numbers.dtype.kind in "iu" and numbers.ndim == 2 and numbers.shape[1] == 2:
        if not len(numbers) or numbers.min() < 0 or numbers.max() >= X.shape[0]:
            found = "none" if not len(numbers) else f"{numbers.min()} to {numbers.max()}"
            raise InputError(f"pairs has row numbers {found}, expected 0 to {X.shape[0] - 1}: {EXPECTED}.")
        return X[numbers[:, 0]], X[numbers[:, 1]], np.ones(len(numbers)), numbers.astype(np.intp)
    if numbers is not None and (numbers.ndim != 2 or numbers.dtype.kind not in "biuf"):
        raise InputError(f"pairs has shape {numbers.shape} of {numbers.dtype}, expected {EXPECTED}.")
    if tuple(shape_of(pairs, "pairs")) != tuple(X.shape):
        raise InputError(f"pairs has shape {shape_of(pairs, 'pairs')}, expected {EXPECTED}; X has shape {X.shape}.")
    weight = np.ones(X.shape[0]) if weight is None else weight
    return X, check_matrix(pairs), weight, np.repeat(np.arange(X.shape[0])[:, None], 2, axis=1)


def pair_matrix(pairs: Any, X: Any, weight: Array | None, frame: Frame, offset: int | None) -> Array:
    """Return M (d, d) of framed columns, the intercept included, whose row is 0; X is checked, with every column."""
    if X.shape[1] > DENSE_LIMIT:
        raise InputError(
            f"pairs is for {DENSE_LIMIT} features at most, found {counted(X.shape[1], 'column')}; leave it out."
        )
    if offset is not None:
        raise InputError("pairs and offset were given, expected one of them: an offset has a difference of its own.")
    one, other, share, _ = pair_sides(pairs, X, weight)
    apart = one - other
    columns = X.shape[1]
    apart = apart.multiply(frame.factor[:columns]).tocsr() if sparse.issparse(apart) else apart * frame.factor[:columns]
    weighted = apart.multiply(share[:, None]).tocsr() if sparse.issparse(apart) else apart * share[:, None]
    product = weighted.T @ apart
    found = np.zeros((len(frame.factor), len(frame.factor)))
    dense = product.toarray() if sparse.issparse(product) else np.asarray(product)
    found[:columns, :columns] = 0.5 * (dense + dense.T) / share.sum()
    if not found.any():
        raise InputError("pairs has no two different rows, expected features that differ; give other pairs.")
    return found
