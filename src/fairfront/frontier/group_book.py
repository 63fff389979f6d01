"""Groups of rows that lie in parts: combinations are counted in one pass, then each part looks its rows up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from ..exceptions import InputError
from ..objectives import Attribute, GroupProbabilities
from ..problems.dask.passes import reduced
from ..problems.dask.tallying import Key, Tally, group_tally, keys_of
from ..validation import as_columns, is_dask
from .matching import resolve_attributes

if TYPE_CHECKING:
    from .facts import Facts


@dataclass(frozen=True, eq=False)
class GroupBook:
    """The attributes of every combination of groups that occurs, and the place of each combination."""

    attributes: tuple[Attribute, ...]
    places: Mapping[Key, int]

    def read(self, block: Any, n: int) -> tuple[Attribute, ...]:
        """Return the attributes of one part's n rows."""
        place, keys = keys_of(list(as_columns(block, "sensitive_features", n=n).values()))
        if not all(key in self.places for key in keys):
            raise InputError(
                "a partition has groups that it did not have when it was first read, expected collections that give "
                "the same rows each time; store or persist them before judging."
            )
        rows = np.array([self.places[key] for key in keys], dtype=np.intp)[place]
        return tuple(attribute.take(rows) for attribute in self.attributes)


def group_book(facts: Facts, sensitive_features: Any) -> GroupBook:
    """Count the values of groups in one pass, and match them with training as `resolve_attributes` does."""
    if isinstance(sensitive_features, GroupProbabilities):
        raise InputError(
            "sensitive_features are probabilities in memory and X is a Dask collection, expected columns of groups as "
            "Dask collections; compute() X, or give groups."
        )
    some = is_dask(sensitive_features)
    tally = reduced(group_tally, sensitive_features, combine=_joined) if some else group_tally(sensitive_features)
    keys = tally.keys
    attributes = resolve_attributes(facts, tally.groups, len(keys), tally.counts)
    return GroupBook(attributes, {key: i for i, key in enumerate(keys)})


def _joined(parts: list[Tally]) -> Tally:
    return reduce(Tally.joined, parts)
