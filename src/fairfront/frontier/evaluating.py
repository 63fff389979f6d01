"""Judging all points of a frontier on data, in rates of decisions."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import GroupWarning, InputError
from ..measures import Evaluation, GroupRates, evaluate_scores
from ..measures.intervals import error_interval, worst_gap_upper
from ..measures.significance import smallest_verifiable_gap
from ..objectives import Array, Attribute, GroupProbabilities, Groups, Task
from ..problems.building import feature_names
from ..validation import check_labels, check_matrix, check_weights, take_rows
from .points import Points

if TYPE_CHECKING:
    from .facts import Facts


def evaluate_points(
    points: Points, facts: Facts, X: Any, y: Any, sensitive_features: Any, name: str, sample_weight: Any
) -> Evaluation:
    """Score all models on X and count their decisions per group."""
    matrix = checked_features(points, X)
    labels = encode_labels(check_labels(y, matrix.shape[0]), facts.task)
    weight = check_weights(sample_weight, matrix.shape[0])
    attributes = resolve_attributes(facts, sensitive_features, matrix.shape[0])
    if weight is not None:
        busy = weight > 0
        matrix, labels, weight = take_rows(matrix, np.flatnonzero(busy)), labels[busy], weight[busy]
        attributes = tuple(a.take(busy) for a in attributes)
    return evaluate_scores(points.scores(matrix), labels, facts.task, attributes, name=name, sample_weight=weight)


GAPS = {
    "tpr_gap": "tpr",
    "fpr_gap": "fpr",
    "selection_gap": "selection",
    "error_gap": "error",
    "recall_gap": "recall",
}


def figures(record: Evaluation, name: str, confidence: float | None) -> Array:
    """Return a column of an evaluation, as the upper end of its interval when a confidence is given.

    With several attributes ``tpr_gap`` is the worst of ``sex.tpr_gap``, ``race.tpr_gap``..., and its upper end holds
    for all of them at once.
    """
    parts = [each for each in record.columns if each.rpartition(".")[2] == name and each != name]
    if name not in record.columns and parts:
        worst = np.fmin if name == "selection_ratio" else np.fmax
        sure = None if confidence is None else 1.0 - (1.0 - confidence) / len(parts)
        return np.asarray(worst.reduce([figures(record, part, sure) for part in parts]))
    values = record[name]
    if confidence is None:
        return values
    kind = name.split(".")[-1]
    if name == "error":
        return error_interval(values, np.full(len(values), record.effective_n or record.n), confidence)[1]
    if kind in GAPS:
        attribute = name.rpartition(".")[0] or next(iter(record.groups))
        rates = record.groups[attribute]
        if isinstance(rates, GroupRates):
            sizes = record.sizes.get(attribute) if kind != "recall_gap" else None
            return worst_gap_upper(rates, GAPS[kind], confidence, sizes)
    return values


def least_claim(record: Evaluation, name: str, confidence: float | None) -> str:
    """Say the smallest gap that these rows could vouch for if none were observed, or nothing where it is no gap."""
    kind = name.split(".")[-1]
    if confidence is None or kind not in GAPS or kind == "recall_gap" or name not in record.columns:
        return ""
    rates = record.groups[name.rpartition(".")[0] or next(iter(record.groups))]
    if not isinstance(rates, GroupRates):
        return ""
    sizes = {"tpr": rates.positives, "fpr": rates.negatives}.get(GAPS[kind], rates.weight)
    two = np.sort(sizes[sizes > 0])[:2]
    if len(two) < 2:
        return ""
    pairs = len(sizes) * (len(sizes) - 1) / 2
    level = float(np.nanmean(rates.rate(GAPS[kind])))
    claim = float(smallest_verifiable_gap(two[0], two[1], level, 1.0 - (1.0 - confidence) / pairs))
    return f"{two[0]:.0f} and {two[1]:.0f} rows in the smallest groups cannot vouch for less than about {claim:.2g}"


def encode_labels(labels: NDArray[Any], task: Task) -> NDArray[Any]:
    """Return class indices of labels known from training, or the values for regression."""
    if task.kind == "regression":
        return labels.astype(np.float64)
    place = {label: i for i, label in enumerate(task.classes)}
    codes = np.array([place.get(label, -1) for label in labels.tolist()], dtype=np.intp)
    if (codes < 0).any():
        strange = labels[codes < 0][0]
        raise InputError(
            f"y has the label {strange!r}, expected those of training: {', '.join(map(repr, task.classes))}."
        )
    return codes


def checked_features(points: Points, X: Any) -> Any:
    """Return X as a matrix, refusing columns that are not those of training or in another order."""
    matrix = X if getattr(points, "raw", False) and hasattr(X, "shape") else check_matrix(X)
    known, given = getattr(points, "feature_names", None), feature_names(X)
    if known is not None and given is not None and tuple(known) != tuple(given):
        first = next((f"{g!r} where {k!r} was" for k, g in zip(known, given, strict=False) if k != g), "another number")
        raise InputError(
            f"X has other columns than training had, or in another order (found {first}); select X[names]."
        )
    width = getattr(points, "n_features", None)
    if width is not None and matrix.shape[1] != width:
        raise InputError(f"X has {matrix.shape[1]} columns, expected {width}, as in training.")
    return matrix


def resolve_attributes(facts: Facts, sensitive_features: Any, n: int) -> tuple[Attribute, ...]:
    """Resolve groups with the reference of training; say which groups training did not have or left out."""
    crossed = len(facts.sensitive) == 1 and " & " in facts.sensitive[0][0]
    present = Groups(cross=crossed, min_size=1).resolve(sensitive_features, n)
    trained = _matched(facts, present)
    usable = {a.name: trained[a.name][-1] for a in present if trained.get(a.name, ("",))[-1] in a.levels}
    if isinstance(sensitive_features, GroupProbabilities):
        usable = {}
    found = Groups(reference=usable, cross=crossed, min_size=1).resolve(sensitive_features, n)
    small = {name: set(levels) for name, levels in facts.left_out}
    return tuple(_as_trained(a, trained.get(a.name), small.get(a.name, set())) for a in found)


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
    warnings.warn(message, GroupWarning, stacklevel=5)
