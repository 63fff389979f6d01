"""Sentences about an audit: what notions compare, how decisions were made, what was found.

They state figures and how sure they are, and draw no conclusion about law or about anybody's intent.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..objectives import count_in_words
from .figures import RATIOS, SCORED, SHARES, VALUES, Column
from .group_table import GroupTable
from .judged import Judged
from .lines import Lines
from .worst import Worst

POOLED = ("selection_gap", "selection_over_reference")


def notion_sentences(judged: Judged) -> tuple[str, ...]:
    """Say how decisions were made and what each notion compares."""
    good = repr(judged.task.favourable_label)
    figures = VALUES if judged.task.kind == "regression" else SHARES | (SCORED if judged.calibrates else {})
    compared = [f"{_capital(f.notion)} {f.compares.format(good=good)}." for f in figures.values() if f.notion]
    if judged.task.kind == "regression":
        return (f"{_capital(judged.rule)}.", *compared)
    chosen = "" if judged.favourable_was_given else " (the second of the sorted labels, because none was given)"
    odds = "Equalized odds takes the worse of equal opportunity and predictive equality."
    ratio = f"The selection ratio {RATIOS['selection_ratio'].compares}."
    return (f"{_capital(judged.rule)}; the favourable label is {good}{chosen}.", *compared, odds, ratio)


def idle_sentence(n: int) -> str:
    """Say how many rows of weight 0 were left out."""
    return f"Rows of weight 0 count as if they were not there: {count_in_words(n)} were left out."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def reference_words(levels: Sequence[str], largest: bool, another: str = "") -> str:
    """Name the reference, the last of the levels; where none was given, say so and how to choose another."""
    if not largest:
        return levels[-1]
    return f"{levels[-1]}, the largest group" + (f"; choose another with {another}" if another else "")


def in_shell(attribute: str, group: str) -> str:
    """Return the words of a command that choose a group as the reference."""
    return shlex.quote(f"{attribute}:ref={group}")


def marked_in_shell(attribute: str, column: str) -> str:
    """Return the words of a command that choose a column of probabilities as the reference."""
    return shlex.quote(f"{column}:ref")


def in_python(attribute: str, group: str) -> str:
    """Return the words of Python that choose a group as the reference."""
    return f"Groups(reference={{{attribute!r}: {group!r}}})"


def reference_sentences(tables: Iterable[GroupTable], words: Callable[[str, str], str] = in_python) -> tuple[str, ...]:
    """Name the reference of every attribute for which none was given; ``words`` choose another."""
    said = []
    for lines in (table.lines for table in tables if table.lines.largest):
        levels = lines.names[: lines.c]
        named = reference_words(levels, True, words(lines.attribute, levels[0]))
        said.append(f"{lines.attribute}: the reference is {named}.")
    return tuple(said)


def found_sentences(table: GroupTable, confidence: float) -> Iterable[str]:
    """Say each notion's worst contrast and how sure it is, then which groups are not compared."""
    attribute = table.lines.attribute
    for worst in table.worst:
        of_no_probabilities = worst.value != worst.value and Column.of(worst.figure).figure in SCORED
        if worst.notion and not of_no_probabilities:
            yield f"{attribute}: {worst_sentence(worst, confidence)}"
    for name, kind in zip(table.lines.names, table.lines.status, strict=True):
        if kind == "too few":
            yield f"{attribute}: {name} has too few rows (fewer than {table.lines.min_size}) and is not compared."


def pooled_sentences(lines: Lines, columns: Mapping[str, list[Any]]) -> Iterable[str]:
    """Say the pooled selection gap and ratio to the reference of every group, where they are known and shown."""
    reference = lines.names[lines.reference]
    for i, group in enumerate(columns["group"]):
        gap, ratio = ([columns[key + end][i] for end in ("", "_lower", "_upper")] for key in POOLED)
        if not any(isinstance(value, str) for value in (*gap, *ratio)):
            yield (
                f"{lines.attribute}: within levels of the control features, {group} against {reference}: selection gap "
                f"{gap[0]:.4g} ({gap[1]:.4g} to {gap[2]:.4g}), ratio of selection rates {ratio[0]:.3f} "
                f"({ratio[1]:.3f} to {ratio[2]:.3f}), pooled by Mantel and Haenszel's weights."
            )


def worst_sentence(worst: Worst, confidence: float) -> str:
    """Say one worst gap or ratio in a sentence."""
    what = _in_words(worst)
    if worst.value != worst.value:
        return f"{worst.notion}, {what}: {_why(worst)}."
    one, other = _with_people(worst)
    sure = f"{confidence:.0%} confidence over all groups"
    over = not_compared_words(worst)
    if worst.figure in RATIOS:
        ends = f"{worst.lower:.3f} to {worst.upper:.3f}"
        return f"{worst.notion}, {what}: {one} has {worst.value:.3f} times the rate of {other} ({ends}; {sure}){over}."
    return (
        f"{worst.notion}, {what}: {worst.value:.4g} between {one} and {other}, "
        f"at most {worst.upper:.4g} ({worst.unit}; {sure}){lower_words(worst)}{over}."
    )


def lower_words(worst: Worst) -> str:
    """Say which of two groups is below the other; nothing where they are equal."""
    what = "value" if worst.people[0] != worst.people[0] else "rate"
    return f"; {worst.between[0]} has the lower {what}" if worst.value > 0 else ""


def not_compared_words(worst: Worst) -> str:
    """Say over how many groups a worst contrast is and which are not compared; nothing where it is over all."""
    if not worst.not_compared:
        return ""
    left = worst.groups - len(worst.not_compared)
    return f"; over {left} of {worst.groups} groups; not compared: {', '.join(worst.not_compared)}"


def _with_people(worst: Worst) -> tuple[str, str]:
    """Name the two groups of a contrast with the people whom it rests on, where they are counted."""
    (one, other), (few, many) = worst.between, worst.people
    return (one, other) if few != few else (f"{one} ({few:.0f} people)", f"{other} ({many:.0f})")


def _why(worst: Worst) -> str:
    """Say why a worst contrast has no value."""
    return f"not defined: {RATIOS[worst.figure].missing if worst.figure in RATIOS else 'fewer than two groups have it'}"


def _in_words(worst: Worst) -> str:
    """Name a figure: TPR gap, selection ratio; a gap alone where the notion has the figure's name."""
    words = worst.figure.replace("_", " ")
    if worst.notion.endswith(words.removesuffix(" gap")):
        return "gap"
    return " ".join(word.upper() if word in ("tpr", "fpr") else word for word in words.split())


def worst_record(worst: Worst) -> dict[str, Any]:
    """Return a worst contrast with words where it has no value."""
    record: dict[str, Any] = {"figure": worst.figure, "notion": worst.notion, "unit": worst.unit}
    record["not_compared"] = list(worst.not_compared)
    if worst.value != worst.value:
        return {**record, "value": _why(worst)}
    names = ("value", "lower", "upper", "pair_lower" if worst.figure in RATIOS else "floor")
    record |= {name: getattr(worst, name) for name in names} | {"between": list(worst.between)}
    if worst.people[0] == worst.people[0]:
        record["people"] = list(worst.people)
    return record
