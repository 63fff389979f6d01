"""Strata: levels of control features inside which groups are compared, such as departments or products.

A gap between all rows of two groups can come from different shares of strata. Inside a stratum it cannot; gaps of all
strata are compared each on its own, or pooled with the weights of Mantel and Haenszel, n1 n0 / (n1 + n0).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, spelled
from ..validation import is_dask
from ..validation.inputs import as_columns, factorize

Pooling = Literal["pooled", "each"]
NO_LEVEL = "(missing)"
MOST, MOST_SHARE = 50, 0.05
"""Levels, and levels per row, above both of which control features hold numbers or identifiers."""


@dataclass(frozen=True, eq=False)
class Strata:
    """The stratum of every row: ``codes`` (n,) index ``levels``; ``name`` is that of the columns."""

    name: str
    levels: tuple[str, ...]
    codes: NDArray[np.intp]

    @classmethod
    def of(cls, control_features: Any, n: int) -> Strata:
        """Read columns of n rows; several are crossed, and missing values are a level of their own."""
        what = spelled("control_features")
        columns = as_columns(control_features, what, n=n)
        codes, names = np.zeros(n, dtype=np.intp), [""]
        for values in columns.values():
            found, levels = factorize(values)
            labels = [*map(str, levels), NO_LEVEL]
            crossed = codes * len(labels) + np.where(found < 0, len(levels), found)
            present, codes = np.unique(crossed, return_inverse=True)
            if len(present) > max(MOST, MOST_SHARE * n):
                raise InputError(f"{what} has {len(present)} levels in {n} rows, expected fewer; cut numbers first.")
            pairs = [(names[k // len(labels)], labels[k % len(labels)]) for k in present]
            names = [f"{name} & {label}" if name else label for name, label in pairs]
        return cls(" & ".join(columns), tuple(names), codes.astype(np.intp))

    @property
    def rows(self) -> dict[str, NDArray[np.intp]]:
        """Return the rows of each level."""
        order = np.argsort(self.codes, kind="stable")
        ends = np.cumsum(np.bincount(self.codes, minlength=len(self.levels)))[:-1]
        return dict(zip(self.levels, np.split(order, ends), strict=True))


@dataclass(frozen=True, eq=False)
class Within:
    """Sensitive features with the control features inside whose levels groups are compared."""

    groups: Any
    control: dict[str, NDArray[Any]]

    @classmethod
    def of(cls, sensitive_features: Any, control_features: Any) -> Any:
        """Return sensitive features as they are where there is nothing to compare within."""
        if control_features is None:
            return sensitive_features
        if is_dask(control_features) or is_dask(sensitive_features):
            raise InputError("control_features need rows in memory, found Dask collections; compute() them first.")
        return cls(sensitive_features, as_columns(control_features, "control_features"))

    def strata(self, n: int) -> Strata:
        return Strata.of(self.control, n)


def without_strata(sensitive_features: Any) -> Any:
    return sensitive_features.groups if isinstance(sensitive_features, Within) else sensitive_features
