"""Sentences about figures and how sure they are, without conclusions about law or about anybody's intent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import spelled
from .figures import MORE, MORE_VALUES, RATIOS, SCORE_GAPS, SCORED, SHARES, VALUES, Column, not_defined, rate_words

if TYPE_CHECKING:
    from .group_table import GroupTable
    from .judged import Judged
    from .lines import Lines
    from .worst_contrasts import Worst

NONE = np.array([np.nan])
ADDED = MORE | SCORE_GAPS | MORE_VALUES
ENDS = ("", "_lower", "_upper")


def notion_sentences(judged: Judged, more: Sequence[str] = ()) -> tuple[str, ...]:
    """Say what each figure's gap compares, those of ``more`` figures too."""
    good = repr(judged.task.favourable_label)
    calibrates = judged.scores is not None and judged.scores.ndim == 1 and judged.probability
    figures = VALUES if judged.task.kind == "regression" else SHARES | (SCORED if calibrates else {})
    figures = figures | {name: ADDED[name] for name in more if name in ADDED}
    compared = [f"{_capital(f.notion)} {f.compares.format(good=good)}." for f in figures.values() if f.notion]
    if judged.task.kind == "regression":
        return (f"{_capital(judged.rule)}.", *compared)
    chosen = "" if judged.favourable_was_given else " (the second of the sorted labels, because none was given)"
    odds = "Equalized odds takes the worse of equal opportunity and predictive equality."
    ratio = f"The selection ratio {RATIOS['selection_ratio'].compares}."
    return (f"{_capital(judged.rule)}; the favourable label is {good}{chosen}.", *compared, odds, ratio)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def backward_sentences(judged: Judged, columns: Mapping[str, NDArray[Any]]) -> tuple[str, ...]:
    """Say that scores rank people the wrong way round, where the AUC of all rows is surely below a half."""
    low, value, high = (float(columns.get(f"auc{end}", NONE)[-1]) for end in ("_lower", "", "_upper"))
    if not high < 0.5:
        return ()
    speak, other = ("against", "below") if judged.side == "above" else ("for", "above")
    side = f"favourable_side='{other}'"
    said = f"AUC is {value:.3f} ({low:.3f} to {high:.3f}), expected more than 0.5: high scores seem to speak {speak}"
    return (f"{said} {judged.task.favourable_label!r}; if they do, give {spelled(side)} as well as the label.",)


def reference_words(levels: Sequence[str], largest: bool, another: str = "") -> str:
    if not largest:
        return levels[-1]
    return f"{levels[-1]}, the largest group" + (f"; choose another with {another}" if another else "")


def _in_python(attribute: str, group: str) -> str:
    return f"Groups(reference={{{attribute!r}: {group!r}}})"


def reference_sentences(tables: Iterable[GroupTable], words: Callable[[str, str], str] = _in_python) -> tuple[str, ...]:
    """Name the reference of every attribute for which none was given; ``words`` choose another."""
    said = []
    for lines in (table.lines for table in tables if table.lines.largest):
        levels = lines.names[: lines.c]
        named = reference_words(levels, True, words(lines.attribute, levels[0]))
        said.append(f"{lines.attribute}: the reference is {named}.")
    return tuple(said)


def pooled_sentences(lines: Lines, columns: Mapping[str, list[Any]]) -> Iterator[str]:
    for i, group in enumerate(columns["group"]):
        said = []
        for key, what, form in (
            ("selection_gap", "selection gap", ".4g"),
            ("selection_over_reference", "ratio of selection rates", ".3f"),
        ):
            value, low, high = (columns[key + end][i] for end in ENDS)
            if not isinstance(value, str):
                upper = "or more" if isinstance(high, str) else f"to {high:{form}}"
                said.append(f"{what} {value:{form}} ({low:{form}} {upper})")
        if said:
            yield (
                f"{lines.attribute}: within levels of the control features, {group} against "
                f"{lines.names[lines.reference]}: {', '.join(said)}, pooled by Mantel and Haenszel's weights."
            )


def found_sentences(table: GroupTable, confidence: float) -> Iterator[str]:
    attribute = table.lines.attribute
    for worst in table.worst:
        of_no_probabilities = worst.value != worst.value and Column.of(worst.figure).figure in SCORED
        if worst.notion and not of_no_probabilities:
            yield f"{attribute}: {_worst_sentence(worst, confidence)}"
    for name, kind in zip(table.lines.names, table.lines.status, strict=True):
        if kind == "too few":
            yield f"{attribute}: {name} has too few rows (fewer than {table.lines.min_size}) and is not compared."


SPOKEN = {"tpr_gap": "TPR gap", "fpr_gap": "FPR gap", "odds_gap": "gap", "in_the_large_gap": "gap"}
"""Contrasts whose name is not the one of their column; the notion says the rest."""


def _worst_sentence(worst: Worst, confidence: float) -> str:
    what = f"{worst.notion}, {SPOKEN.get(worst.figure, worst.figure.replace('_', ' '))}"
    what += f" (of the {rate_words(worst.of)})" if worst.of else ""
    if worst.value != worst.value:
        return f"{what}: {not_defined(worst.figure)}."
    (low, high), (few, many), rate = worst.between, worst.people, "value"
    one, other = low, high
    if few == few:  # people are counted
        one, other, rate = f"{low} ({few:.0f} people)", f"{high} ({many:.0f})", "rate"
    sure, over = f"{confidence:.0%}", ""
    if worst.not_compared:
        left = f"; over {worst.groups - len(worst.not_compared)} of {worst.groups} groups"
        over = f"{left}; not compared: {', '.join(worst.not_compared)}"
    if worst.figure in RATIOS:
        ends = f"{sure} interval {worst.lower:.3f} to {worst.upper:.3f} over all pairs"
        return f"{what}: {one} has {worst.value:.3f} times the rate of {other} ({ends}){over}."
    lower = f"; {low} has the lower {rate}" if worst.value > 0 else ""
    return (
        f"{what}: {worst.value:.4g} between {one} and {other}, "
        f"{sure} upper bound {worst.upper:.4g}{bound_words(worst.between, worst.upper_between)} over all pairs "
        f"({worst.unit}){lower}{over}."
    )


def bound_words(between: Sequence[str], bound: Sequence[str]) -> str:
    """Name the pair of groups behind a bound, where it is another than that of the gap: `` (of A and B)``."""
    return "" if not bound or not bound[0] or set(bound) == set(between) else f" (of {bound[0]} and {bound[1]})"
