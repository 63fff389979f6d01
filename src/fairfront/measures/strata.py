"""Like with like: tables within each level of control features, and gaps pooled over the levels.

A gap between all rows of two groups can come from different shares of levels (departments, products). Mantel and
Haenszel's pooled gap compares within levels only, weighting each by n1 n0 / (n1 + n0).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, spelled
from ..objectives import Array
from ..validation import as_columns, factorize
from .counts import ratio
from .group_table import GroupTable
from .intervals import Interval, normal_quantile
from .lines import Share

POOLED = ("selection", "tpr", "fpr", "error")


def levels_of(control_features: Any, n: int) -> dict[str, NDArray[np.intp]]:
    """Return the rows of each level; several columns are crossed, and missing values are a level of their own."""
    what = spelled("control_features")
    columns = as_columns(control_features, what, n=n)
    codes, names = np.zeros(n, dtype=np.intp), [""]
    for values in columns.values():
        found, levels = factorize(values)
        labels = [*map(str, levels), "(missing)"]
        crossed = codes * len(labels) + np.where(found < 0, len(levels), found)
        present, codes = np.unique(crossed, return_inverse=True)
        if len(present) > max(50, 0.05 * n):
            raise InputError(f"{what} has {len(present)} levels in {n} rows, expected fewer; use bands.")
        pairs = [(names[k // len(labels)], labels[k % len(labels)]) for k in present]
        names = [f"{name} & {label}" if name else label for name, label in pairs]
    order = np.argsort(codes, kind="stable")
    return dict(zip(names, np.split(order, np.cumsum(np.bincount(codes))[:-1]), strict=True))


def pooled_columns(tables: Mapping[str, GroupTable], confidence: float) -> dict[str, list[Any]]:
    """Return, for every group but the reference, gaps and the ratio to the reference group pooled over the levels."""
    lines = next(iter(tables.values())).lines
    columns: dict[str, list[Any]] = {"group": list(lines.names[: lines.reference])}
    for name in POOLED:
        strata = [table.shares[name] for table in tables.values() if name in table.shares]
        if strata:
            columns |= _named(f"{name}_gap", *mantel_haenszel_gap(*_counts(strata, lines.reference), confidence))
        if strata and name == "selection":
            found = mantel_haenszel_ratio(*_counts(strata, lines.reference), confidence)
            columns |= _named("selection_over_reference", *found)
    return columns


def _named(name: str, value: Array, interval: Interval) -> dict[str, list[Any]]:
    def worded(values: Array) -> list[Any]:
        return ["not defined: no level has both groups" if v != v else float(v) for v in values]

    return {name: worded(value), f"{name}_lower": worded(interval[0]), f"{name}_upper": worded(interval[1])}


def _counts(strata: list[Share], r: int) -> tuple[Array, Array, Array, Array]:
    """Return successes and sizes (levels, groups) of the groups and (levels, 1) of the reference."""
    value, size = (np.stack([getattr(share, part) for share in strata]) for part in ("value", "size"))
    chosen = np.nan_to_num(value) * size
    return chosen[:, :r], size[:, :r], chosen[:, [r]], size[:, [r]]


def mantel_haenszel_gap(s1: Array, n1: Array, s0: Array, n0: Array, confidence: float = 0.95) -> tuple[Array, Interval]:
    """Return the pooled difference of rates over strata (axis 0) with Sato's interval.

    Biometrics 45 (1989) 1323-1324: consistent for few large strata and for many small ones.
    """
    total = np.where(n1 + n0 > 0, n1 + n0, 1.0)
    weight = (n1 * n0 / total).sum(axis=0)
    gap = ratio(((s1 * n0 - s0 * n1) / total).sum(axis=0), weight)
    P = ((n1**2 * s0 - n0**2 * s1 + n1 * n0 * (n0 - n1) / 2.0) / total**2).sum(axis=0)
    Q = ((s1 * (n0 - s0) + s0 * (n1 - s1)) / (2.0 * total)).sum(axis=0)
    half = normal_quantile(confidence) * np.sqrt(np.maximum(ratio(gap * P + Q, weight**2), 0.0))
    return gap, (gap - half, gap + half)


def mantel_haenszel_ratio(
    s1: Array, n1: Array, s0: Array, n0: Array, confidence: float = 0.95
) -> tuple[Array, Interval]:
    """Return the pooled ratio of rates over strata (axis 0) with Greenland and Robins' interval.

    Biometrics 41 (1985) 55-68, the variance of the log of the ratio.
    """
    total = np.where(n1 + n0 > 0, n1 + n0, 1.0)
    R, S = (s1 * n0 / total).sum(axis=0), (s0 * n1 / total).sum(axis=0)
    spread = ((n1 * n0 * (s1 + s0) - s1 * s0 * total) / total**2).sum(axis=0)
    half = normal_quantile(confidence) * np.sqrt(ratio(spread, R * S))
    pooled = ratio(R, S)
    return pooled, (pooled * np.exp(-half), pooled * np.exp(half))
