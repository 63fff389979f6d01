"""Rates of decisions that a test makes up, counted as evaluations count them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from fairfront.measures import ClassRates, GroupRates
from fairfront.measures.counts import count
from fairfront.measures.rates import rates_of


def group_rates(
    decided: ArrayLike, favourable: ArrayLike, codes: ArrayLike, levels: Sequence[str], weight: Any = None
) -> GroupRates:
    """Return the rates of N models from favourable decisions (N, n) or (n,) and labels (n,)."""
    found = class_rates(np.asarray(decided, dtype=bool), np.asarray(favourable), 2, 1, codes, levels, weight)
    return cast(GroupRates, found)


def class_rates(
    decided: ArrayLike,
    labels: ArrayLike,
    n_classes: int,
    favourable: int,
    codes: ArrayLike,
    levels: Sequence[str],
    weight: Any = None,
) -> ClassRates:
    """Return the rates of N models from class indices, (N, n) or (n,) and (n,)."""
    truth = np.asarray(labels).astype(np.intp)
    row_weight = None if weight is None else np.asarray(weight, dtype=np.float64)
    counts = count(np.atleast_2d(decided), truth, n_classes, np.asarray(codes), len(levels), row_weight)
    return cast(ClassRates, rates_of(counts, levels, favourable))
