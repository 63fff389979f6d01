"""People: who is in the rows of a table by the settings of a run, with labels, groups and weights; parts of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..objectives import Array, GroupProbabilities
from ..tables import Table, read_groups
from ..tables.roles import Codes, read_target
from ..validation.inputs import factorize
from .attributes import PROXY
from .settings import Settings


@dataclass(frozen=True, eq=False)
class People:
    """Labels, groups and weights of the rows of a table that are used.

    Those without a label (``unlabelled`` of them) and of weight 0 (``idle``) are not.
    """

    labels: Codes
    favourable: Any
    groups: Mapping[str, Codes] | GroupProbabilities
    weight: Array | None
    unlabelled: int
    idle: int


@dataclass(frozen=True, eq=False)
class Part:
    """Rows of one part of the split: features, labels, groups and weights, as arrays or as Dask arrays.

    ``drawn`` reads rows of Dask arrays into memory: all of them where they fit, else a random sample.
    """

    X: Any
    y: Any
    groups: Any
    weight: Any
    drawn: Callable[[], Part] | None = None

    @property
    def n(self) -> int:
        return len(self.y)

    @property
    def people(self) -> dict[str, Any]:
        return {"sensitive_features": self.groups, "sample_weight": self.weight}

    def seen(self) -> Part:
        return self if self.drawn is None else self.drawn()


def people_of(table: Table, settings: Settings) -> tuple[Table, NDArray[np.intp], People]:
    """Return a table with the rows that are used alone, their places in the one given, and the people in them."""
    weight, n = _weights(table, settings), table.n
    used = np.arange(n) if weight is None else np.flatnonzero(weight)
    idle = n - len(used)
    table = table.take(used) if idle else table
    target = read_target(table, settings.target, settings.favourable, regression=settings.regression)
    table = table.take(target.rows) if target.dropped else table
    used = used[target.rows]
    proxies = {name: table.complete(name).numbers for name in settings.group_probabilities}
    groups = (
        GroupProbabilities(proxies, name=PROXY)
        if proxies
        else read_groups(table, settings.groups, dict(settings.bands), settings.allow)
    )
    weight = None if weight is None else weight[used]
    return table, used, People(target.column, target.favourable, groups, weight, target.dropped, idle)


def _weights(table: Table, settings: Settings) -> Array | None:
    if settings.weight is None:
        return None
    values = table.columns[settings.weight].numbers
    if values is None or not np.isfinite(values).all() or (values < 0).any():
        raise InputError(
            f"weight column {settings.weight!r} has words, missing or negative values, expected numbers >= 0."
        )
    return values


def atoms(labels: Codes, groups: Mapping[str, Codes]) -> NDArray[np.intp]:
    """The (label, groups) class of every row, which the split keeps in proportion; numbers by quarters."""
    if labels.values is None:
        code = np.searchsorted(np.quantile(labels.codes, [0.25, 0.5, 0.75]), labels.codes).astype(np.intp)
    else:
        code = factorize(labels.codes)[0]
    for group in groups.values():
        assert group.values is not None
        texts = np.array([str(each) for each in group.values.tolist()], dtype=object)
        names, level = np.unique(texts, return_inverse=True)
        code = code * len(names) + level[group.codes]
    return factorize(code)[0]
