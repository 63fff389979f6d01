"""Matching new rows with training: the same columns, labels and groups, or a sentence that says which differ."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import GroupWarning, InputError
from ..objectives import Array, Attribute, Groups, Task, take_groups, warn_of_proxies
from ..problems.linear import feature_names
from ..validation import check_labels, check_matrix, check_weights, counted, take_rows, weighted_rows
from .models import Models

if TYPE_CHECKING:
    from .facts import Facts


@dataclass(frozen=True, eq=False)
class HeldRows:
    """Labels, groups and weights of the rows that models are judged on; rows of weight 0 are left out.

    ``rows`` are those that stay of the ones given, None for all.
    """

    labels: NDArray[Any]
    attributes: tuple[Attribute, ...]
    weight: Array | None
    rows: NDArray[np.intp] | None

    def of(self, X: Any) -> Any:
        """Return the same rows of the features."""
        return X if self.rows is None else take_rows(X, self.rows)


def held_rows(facts: Facts, n: int, y: Any, sensitive_features: Any, sample_weight: Any = None) -> HeldRows:
    """Check what is known of n rows, and match labels and groups with training."""
    warn_of_proxies(sensitive_features, stacklevel=5)
    labels = encode_labels(check_labels(y, n), facts.task)
    weight = check_weights(sample_weight, n)
    rows = weighted_rows(weight)
    if rows is not None and weight is not None:
        labels, weight = labels[rows], weight[rows]
        sensitive_features = take_groups(sensitive_features, rows, n)
    return HeldRows(labels, resolve_attributes(facts, sensitive_features, len(labels)), weight, rows)


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
