"""What of an evaluation may be written: nothing that gives away how many people a small cell has, or who they are.

The rule, in the spirit of `measures.suppression`: a group with 1 to 9 rows is hidden with its name and all its figures;
where 1 to 9 of a group's rows have one of the labels, its counts of labels and the rates that rest on them (tpr, fpr,
recall, error) are hidden. Because all rows and their error are known, and other attributes have the same rows, what is
hidden in one group could be had by subtraction: then the next smallest group is hidden as well, until what is left over
is two lines or more with no small count together. Rows without a group are no group, unless groups that were left out
as too small are among them. Hidden is NaN, in counts and rates. Worst gaps and ratios are taken again between groups
that are shown, as for groups that are too small in training; with fewer than two there is none. Nothing else changes:
where nothing is small the file has every figure to the last bit.

Rates over 10 people or more are written as they are, and with them how many of those a model decides either way: that
is what a frontier is about. With sample weights, rows are Kish's effective number, which is never more than the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np

from ..measures import Evaluation
from ..measures.contrasts import PerGroup, selection_ratio, worst_gap
from ..measures.intervals import DENOMINATORS, rows_behind
from ..measures.rates import ClassRates, GroupRates
from ..measures.suppression import Mask, hidden_rows
from ..objectives import Array

LIMIT = 10
OF_LABELS = frozenset({"positives", "negatives", "tpr", "fpr", "error", "class_weight", "recall"})


def shareable(record: Evaluation, left_out: bool = False) -> Evaluation:
    """Return an evaluation without small counts and what would give them back.

    ``left_out`` says that rows without a group may belong to groups that were left out as too small.
    """
    for attribute, rates in record.groups.items():
        if not withheld(rates).any():  # what was read from a file has been through this already
            record = _hide(record, attribute, *_hidden(record, attribute, left_out))
    return record


def withheld(rates: PerGroup) -> Mask:
    """Return the groups of which some counts are hidden, (c,)."""
    counts = [rates.n, getattr(rates, "positives", rates.n)]
    return np.asarray(np.isnan(counts).any(axis=0))


def withheld_sentence(evaluations: Mapping[str, Evaluation]) -> str:
    """Say which evaluations lack figures of how many groups and why, or nothing where none does."""
    found = [
        f"{int(withheld(rates).sum())} of {len(rates.levels)} groups of {attribute!r} in {name!r}"
        for name, record in evaluations.items()
        for attribute, rates in record.groups.items()
        if withheld(rates).any()
    ]
    if not found:
        return ""
    return (
        f"the saved frontier has no figures of {', '.join(found)}, which would give away fewer than {LIMIT} people; "
        "its gaps are those between the other groups: merge small groups, or evaluate again after loading."
    )


def _hidden(record: Evaluation, attribute: str, left_out: bool) -> tuple[Mask, Mask]:
    """Return which groups are hidden whole, and which in what rests on labels, each (c,)."""
    rates = record.groups[attribute]
    c, n = len(rates.levels), np.round(rates.n, 6)
    without = max(record.n - float(n.sum()), 0.0)
    lines = np.concatenate([n, [without, record.n]])
    whole = hidden_rows(lines, c - 1, LIMIT, None if left_out else c).n[:c]
    labels = _label_rows(record, attribute)
    if labels is None:
        return whole, whole
    hidden = whole | _small(labels).any(axis=1)
    return whole, hidden if without >= LIMIT else _mixed(hidden, labels, n, without)


def _small(rows: Array) -> Mask:
    return np.asarray((rows > 0) & (rows < LIMIT))


def _mixed(hidden: Mask, labels: Array, n: Array, without: float) -> Mask:
    """Hide further groups, the smallest first, until those hidden together give no count of a label back."""
    found, lines = hidden.copy(), int(without > 0)
    queue = [int(i) for i in np.argsort(n, kind="stable") if n[i] > 0 and not found[i]]
    while found.any() and queue and (found.sum() + lines < 2 or _small(labels[found].sum(axis=0)).any()):
        found[queue.pop(0)] = True
    return found


def _label_rows(record: Evaluation, attribute: str) -> Array | None:
    """Return the rows of every group by label, (c, K), or None for regression."""
    rates, sizes = record.groups[attribute], record.sizes.get(attribute)
    if not isinstance(rates, GroupRates):
        return None
    if isinstance(rates, ClassRates):
        rows = rows_behind(rates, "recall", None)
    else:
        rows = np.column_stack([rows_behind(rates, "tpr", sizes), rows_behind(rates, "fpr", sizes)])
    return np.asarray(np.round(rows, 6), dtype=np.float64)  # sums of weights carry rounding


def _hide(record: Evaluation, attribute: str, whole: Mask, of_labels: Mask) -> Evaluation:
    if not of_labels.any():
        return record
    rates = record.groups[attribute]
    masks = {name: of_labels if name in OF_LABELS else whole for name in _arrays(rates)}
    shown = replace(
        rates,
        levels=_names(rates),
        **{name: _blank(getattr(rates, name), mask, name in rates.names) for name, mask in masks.items()},
    )
    prefix = f"{attribute}." if len(record.groups) > 1 else ""
    columns = {**record.columns, **_worst(shown, masks, prefix, record.columns)}
    signed = {name: _signed(name, values, masks, prefix) for name, values in record.signed.items()}
    sizes = {**record.sizes}
    if attribute in sizes:
        sizes[attribute] = {k: _blank(v, masks[DENOMINATORS[k]], False) for k, v in sizes[attribute].items()}
    return replace(record, columns=columns, signed=signed, groups={**record.groups, attribute: shown}, sizes=sizes)


def _arrays(rates: PerGroup) -> list[str]:
    return [each.name for each in fields(rates) if each.name != "levels"]


def _names(rates: PerGroup) -> tuple[str, ...]:
    """Return the names of groups, with words in the place of those of small ones."""
    small = (rates.n > 0) & (rates.n < LIMIT)
    words = [f"(group {k} of fewer than {LIMIT} rows)" for k in np.cumsum(small)]
    return tuple(word if hide else level for word, hide, level in zip(words, small, rates.levels, strict=True))


def _blank(values: Array, mask: Mask, by_model: bool) -> Array:
    """Return values with NaN for hidden groups, the first axis, or the second after that of the models."""
    found = np.array(values, dtype=np.float64)
    found[(slice(None), mask) if by_model else mask] = np.nan
    return found


def _worst(shown: Any, masks: dict[str, Mask], prefix: str, columns: Mapping[str, Array]) -> dict[str, Array]:
    """Return the gaps and ratios that hidden groups had a part in, between the groups that are shown."""
    found = {f"{prefix}{name}_gap": worst_gap(shown, name) for name in shown.names if masks.get(name, masks["n"]).any()}
    if "selection" in masks and masks["selection"].any():
        found[f"{prefix}selection_ratio"] = selection_ratio(shown)
    return {name: values for name, values in found.items() if name in columns}


def _signed(name: str, values: Array, masks: dict[str, Mask], prefix: str) -> Array:
    """Return signed gaps with NaN where the group or the reference is hidden."""
    if not name.startswith(prefix):
        return values
    mask = masks.get(name.removeprefix(prefix).partition("_gap")[0])
    return values if mask is None or not mask.any() else _blank(values, mask[:-1] | mask[-1], True)
