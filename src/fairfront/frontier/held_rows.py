"""Rows that models are judged on: checked and matched with training, or a sentence that says which differ.

Rows of Dask are matched part by part: combinations of groups are counted in one pass, then each part looks its own up.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import GroupWarning, InputError
from ..objectives import Array, Attribute, GroupProbabilities, Groups, Task, take_groups, warn_of_proxies
from ..problems.dask.passes import reduced
from ..problems.dask.scan import Key, Tally, group_tally, keys_of
from ..problems.linear import feature_names
from ..validation import (
    as_columns,
    check_labels,
    check_matrix,
    check_weights,
    counted,
    is_dask,
    take_rows,
    weighted_rows,
)
from .models import Models

if TYPE_CHECKING:
    from .frontier import Frontier
    from .points import Facts


@dataclass(frozen=True, eq=False)
class HeldRows:
    """Features, labels, groups and weights of the rows that models are judged on, without those of weight 0."""

    X: Any
    labels: NDArray[Any]
    attributes: tuple[Attribute, ...]
    weight: Array | None


def held_rows(
    front: Frontier, X: Any, y: Any, sensitive_features: Any, sample_weight: Any = None, *, as_given: bool = False
) -> HeldRows:
    """Check rows, and match features, labels and groups with training; X may stay ``as_given`` for a stock model."""
    matrix = check_matrix(X) if as_given else checked_features(front.models, X)
    n = matrix.shape[0]
    warn_of_proxies(sensitive_features, stacklevel=5)
    labels = encode_labels(check_labels(y, n), front.facts.task)
    weight = check_weights(sample_weight, n)
    kept = X if as_given else matrix
    rows = weighted_rows(weight)
    if rows is not None and weight is not None:
        labels, weight, kept = labels[rows], weight[rows], take_rows(kept, rows)
        sensitive_features = take_groups(sensitive_features, rows, n)
    return HeldRows(kept, labels, resolve_attributes(front.facts, sensitive_features, len(labels)), weight)


def encode_labels(labels: NDArray[Any], task: Task, what: str = "y") -> NDArray[Any]:
    """Return class indices of labels known from training, or the values for regression."""
    if task.kind == "regression":
        return labels.astype(np.float64)
    place = {label: i for i, label in enumerate(task.classes)}
    codes = np.array([place.get(label, -1) for label in labels.tolist()], dtype=np.intp)
    if (codes < 0).any():
        strange = labels[codes < 0][:1].tolist()[0]
        raise InputError(
            f"{what} has the label {strange!r}, expected those of training: {', '.join(map(repr, task.classes))}."
        )
    return codes


def checked_features(models: Models, X: Any) -> Any:
    """Return X as a matrix, refusing columns that are not those of training or in another order."""
    as_given = models.raw and hasattr(X, "shape")
    matrix = X if as_given and not models.by_group else check_matrix(X)
    known, given = models.feature_names, feature_names(X)
    if known is not None and given is not None and tuple(known) != tuple(given):
        first = next((f"{g!r} where {k!r} was" for k, g in zip(known, given, strict=False) if k != g), "another number")
        raise InputError(
            f"X has other columns than training had, or in another order (found {first}); select X[names]."
        )
    width = models.n_features
    if width is not None and matrix.shape[1] != width:
        raise InputError(f"X has {counted(matrix.shape[1], 'column')}, expected {width}, as in training.")
    return X if as_given else matrix


def resolve_attributes(
    facts: Facts, sensitive_features: Any, n: int, counts: Array | None = None
) -> tuple[Attribute, ...]:
    """Resolve groups with the reference of training; say which groups training did not have or left out.

    ``counts`` (n,) are the rows that each entry stands for, as in `Groups.resolve`.
    """
    crossed = _is_crossed(facts)
    present = Groups(cross=crossed, min_size=1).resolve(sensitive_features, n, counts)
    trained = _matched(facts, present)
    usable = {a.name: trained[a.name][-1] for a in present if trained.get(a.name, ("",))[-1] in a.levels}
    found = Groups(reference=usable, cross=crossed, min_size=1).resolve(sensitive_features, n, counts)
    small = {name: set(levels) for name, levels in facts.left_out}
    return tuple(_as_trained(a, trained.get(a.name), small.get(a.name, set())) for a in found)


def _is_crossed(facts: Facts) -> bool:
    """Tell whether training crossed several columns into one attribute."""
    return len(facts.sensitive) == 1 and " & " in facts.sensitive[0][0]


def _matched(facts: Facts, present: tuple[Attribute, ...]) -> dict[str, tuple[str, ...]]:
    """Return the trained groups of each attribute; a single one is matched whatever its name."""
    known = dict(facts.sensitive)
    if len(known) == len(present) == 1:
        return {present[0].name: next(iter(known.values()))}
    return known


def _as_trained(attribute: Attribute, trained: tuple[str, ...] | None, small: set[str]) -> Attribute:
    """Leave out groups that training left out, and warn about new groups and another reference."""
    if trained is None:
        return attribute
    new = [level for level in attribute.levels if level not in trained and level not in small]
    if new:
        _warn(f"groups of {attribute.name!r} that training did not have are evaluated too: {', '.join(new)}.")
    if trained[-1] not in attribute.levels:
        _warn(f"the reference group {trained[-1]!r} has no rows here; {attribute.reference!r} takes its place.")
    kept = [i for i, level in enumerate(attribute.levels) if level not in small]
    if len(kept) == len(attribute.levels) or len(kept) < 2 or attribute.codes is None:
        return attribute
    renumber = np.full(len(attribute.levels) + 1, -1, dtype=np.intp)
    renumber[kept] = np.arange(len(kept))
    levels = tuple(attribute.levels[i] for i in kept)
    return replace(attribute, levels=levels, codes=renumber[attribute.codes])


def _warn(message: str) -> None:
    warnings.warn(message, GroupWarning, stacklevel=8)


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
