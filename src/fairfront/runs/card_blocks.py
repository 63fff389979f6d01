"""What the sections of a card are made of: tables, lists and sentences of plain text, and numbers as people read them.

Whoever draws a text escapes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..measures.disclosure import with_rounding
from .card import RATES
from .options import in_words

HEADS = {
    "auc": "AUC",
    "ks": "KS",
    "gini": "Gini",
    "error": "error",
    "selection": "approval rate",
    "tpr": "TPR",
    "fpr": "FPR",
    "prediction": "mean prediction",
    "residual": "mean residual",
    "mse": "squared error",
    "mean_score": "mean probability",
    "in_the_large": "observed minus predicted",
    "slope": "slope",
    "brier": "Brier score",
}
VALUES = ("prediction", "residual", "mse")
"""In the unit of the target or its square, not shares."""


@dataclass(frozen=True)
class Table:
    """Headings, empty for fields by name, and rows of as many cells."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Listed:
    """Sentences one below the other."""

    items: tuple[str, ...]


Block = str | Table | Listed


@dataclass(frozen=True)
class Section:
    """A heading with what stands below it; ``appendix`` sections come last."""

    title: str
    blocks: tuple[Block, ...]
    appendix: bool = False


def number(value: Any, digits: int = 3) -> str:
    """So many digits after the point, fewer of large numbers."""
    if value is None or isinstance(value, str):
        return value or "not available"
    if isinstance(value, int):
        return str(value)
    text = f"{value:.{digits if abs(value) < 10 else 1 if abs(value) < 100 else 0}f}"
    return text if float(text) else text.removeprefix("-")


def significant(value: float) -> str:
    """Three digits that count, whatever the unit."""
    text = f"{value:.3g}"
    return f"{float(text):.0f}" if "e" in text and 1.0 <= abs(value) < 1e6 else text


def count(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:.0f}"


def estimate(value: Any, figure: str = "", rounding: float = 0.0) -> str:
    """Of ``[value, lower, upper]``: ``0.123 (0.100 to 0.150)``, without ends where they are not known."""
    if value is None or isinstance(value, str):
        return number(value)
    shown = significant if figure in VALUES else number
    middle, low, high = value
    return with_rounding(shown(middle), rounding) + ("" if low is None else f" ({shown(low)} to {shown(high)})")


def difference(value: Any, figure: str = "") -> str:
    """As `estimate`, with its sign, and a digit more where all is small."""
    if value is None or figure in VALUES:
        return estimate(value, figure)
    middle, *ends = value
    digits = 4 if max(abs(each) for each in value if each is not None) < 0.005 else 3
    text, (low, high) = number(middle, digits), (number(end, digits) for end in ends)
    sign = "+" if middle > 0 and float(text) else ""
    return f"{sign}{text}" + ("" if ends[0] is None else f" ({low} to {high})")


def fields_table(pairs: Iterable[tuple[str, Any]]) -> Table:
    return Table(("", ""), tuple((name, str(value)) for name, value in pairs if value is not None))


def rates_table(parts: Mapping[str, Any], name: str) -> Table:
    first = next(iter(parts.values()))["groups"][name][0]
    rates, labelled = [key for key in RATES if key in first], "base_rate" in first
    rows = []
    for part, found in parts.items():
        for line in found["groups"][name]:
            base = [count(line["labelled_favourable"]), number(line["base_rate"])] if labelled else []
            figures = [estimate(line[key], key) for key in rates]
            rows.append((part, line["group"], count(line["rows"]), *base, *figures))
    base_heads = ("labelled favourable", "base rate") if labelled else ()
    return Table(("part", "group", "rows", *base_heads, *(HEADS[key] for key in rates)), tuple(rows))


def worst_table(card: Mapping[str, Any], parts: Mapping[str, Any], name: str, wanted: Sequence[str] = ()) -> Table:
    """Those that the criterion is about and the ratio of approval rates, or all."""
    rows = []
    for part, found in parts.items():
        for each in found["worst"]:
            if each["attribute"] == name and (not wanted or each["figure"] in (*wanted, "selection_ratio")):
                rows.append((part, in_words(each["figure"]), *_pair(each)))
    plain = f"unconstrained (id {card['model']['unconstrained']})"
    return Table(("part", "worst", "this model", plain, "lower (people)", "higher (people)"), tuple(rows))


def _pair(each: Mapping[str, Any]) -> tuple[str, ...]:
    if each["value"] is None:
        return ("not defined: fewer than two groups have it", "", "", "")
    figure, plain = each["figure"].removesuffix("_gap"), each["unconstrained"]
    people = [f" ({count(n)})" for n in each["people"]] or ["", ""]
    pair = [f"{group}{n}" for group, n in zip(each["between"], people, strict=True)]
    own = estimate([each["value"], each["lower"], each["upper"]], figure, each.get("rounding", 0.0))
    return (own, "not defined" if plain[0] is None else estimate(plain, figure), *pair)


def main_lines(found: Mapping[str, Any]) -> int:
    """Return how many coefficients the main part has room for, each of as many rows as there are classes."""
    return max(2, 10 // max(1, len(found["classes"])))


def coefficient_table(card: Mapping[str, Any], lines: Sequence[Mapping[str, Any]]) -> Table:
    classes = card["coefficients"]["classes"] or [""]
    rows = []
    for line in lines:
        how = "0 or 1"
        if line["encoding"] == "number":
            how = "not used: constant, or known in too few rows"
            if line["spread"]:
                how = f"number: mean {significant(line['mean'])}, standard deviation {significant(line['spread'])}"
        per_spread = line["per_spread"] or [None] * len(classes)
        for label, value, spread in zip(classes, line["per_unit"], per_spread, strict=True):
            sign = "+" if value > 0 else "-" if value < 0 else "0"
            told = "" if spread is None else significant(spread)
            rows.append((line["feature"], how, *([label] if label else []), significant(value), told, sign))
    named = ("class",) if card["coefficients"]["classes"] else ()
    return Table(("feature", "encoding", *named, "per unit", "per standard deviation", "sign"), tuple(rows))


def moves_tables(parts: Mapping[str, Any]) -> list[Table]:
    """Who changes sides by part, attribute and group; of values, their means before and after."""
    rows = [
        (name, attribute, line["group"], count(line["gained"]), count(line["lost"]))
        for name, part in parts.items()
        for attribute, lines in part["moves"].items()
        for line in lines
    ]
    shifts = [line for name, part in parts.items() for line in _shifts(name, part)]
    sides = ("newly approved", "newly declined")
    means = ("prediction, unconstrained", "prediction", "squared error, unconstrained", "squared error")
    found = [
        Table(("part", "attribute", "group", *heads), tuple(some)) for heads, some in ((sides, rows), (means, shifts))
    ]
    return [table for table in found if table.rows]


def _shifts(name: str, part: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for attribute, before in part["unconstrained"].items():
        for old, new in zip(before, part["groups"][attribute], strict=True):
            means = (each[key] for key in ("prediction", "mse") for each in (old, new))
            pairs = (mean if isinstance(mean, str) else significant(mean[0]) for mean in means)
            yield (name, attribute, new["group"], *pairs)
