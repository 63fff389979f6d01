"""What the sections of a card are made of: tables, lists and sentences of plain text, and numbers as people read them.

Whoever draws a text escapes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..measures.figures import MORE, MORE_VALUES, VALUES, rate_words
from ..measures.lines import ALL, REFERENCE
from ..measures.moves import OVERALL
from .options import in_words
from .parts import RATES, estimate_of

HEADS = {
    "auc": "AUC",
    "ks": "KS",
    "gini": "Gini",
    "error": "error",
    "selection": "approval rate",
    "tpr": "TPR",
    "fpr": "FPR",
    **{name: figure.heading for name, figure in (MORE | MORE_VALUES).items()},
    "precision": "precision",
    "prediction": "mean prediction",
    "residual": "mean residual",
    "mse": "squared error",
    "mean_score": "mean probability",
    "in_the_large": "observed minus predicted",
    "slope": "slope",
    "brier": "Brier score",
}


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


ROUNDING = 1e-12  # of a gap that training made 0


def number(value: Any, digits: int = 3) -> str:
    """So many digits after the point, fewer of large numbers."""
    if value is None or isinstance(value, str):
        return value or "not available"
    if isinstance(value, int):
        return str(value)
    text = f"{value:.{digits if abs(value) < 10 else 1 if abs(value) < 100 else 0}f}"
    return text if float(text) else text.removeprefix("-")


def significant(value: float, digits: int = 3) -> str:
    """So many digits that count, whatever the unit."""
    text = f"{value:.{digits}g}"
    if abs(value) < ROUNDING:
        return "0"
    return f"{float(text):.0f}" if "e" in text and 1.0 <= abs(value) < 1e6 else text


def written(value: float, figure: str) -> str:
    """Of a mean of predictions digits that count, because its unit is the target's; of a rate those after the point."""
    return significant(value) if figure in VALUES else number(value)


def count(value: Any) -> str:
    return value or "" if value is None or isinstance(value, str) else f"{value:.0f}"


def estimate(value: Any, figure: str = "") -> str:
    """Of ``[value, lower, upper]``: ``0.123 (0.100 to 0.150)``, without ends where they are not known."""
    if value is None or isinstance(value, str):
        return number(value)
    middle, low, high = value
    ends = "" if low is None else f" ({written(low, figure)} to {written(high, figure)})"
    return written(middle, figure) + ends


def difference(value: Any, figure: str = "") -> str:
    """As `estimate`, with its sign, and a digit more where all is small, or an end would be written as 0."""
    if value is None:
        return number(value)
    known = [each for each in value if each is not None]
    digits = 4 if max(map(abs, known)) < 0.005 or any(0 < abs(each) < 0.0005 for each in known) else 3
    text, *ends = (significant(each) if figure in VALUES else number(each, digits) for each in known)
    sign = "+" if known[0] > 0 and float(text) else ""
    return f"{sign}{text}" + (f" ({' to '.join(ends)})" if ends else "")


def fields_table(pairs: Iterable[tuple[str, Any]]) -> Table:
    return Table(("", ""), tuple((name, str(value)) for name, value in pairs if value is not None))


def rates_table(parts: Mapping[str, Any], names: Iterable[str], most: int | None = None) -> Table:
    """Rates of groups by part and attribute, all rows last, with who changes sides against the unconstrained model.

    Of an attribute with more than ``most`` groups: the reference and those with a worst gap.
    """
    rows, names = [], list(names)
    lines = [(part, name, line) for part in parts for name, line in _group_lines(parts[part], names, most)]
    rates = [key for key in RATES if any(key in line for *_, line in lines)]
    labelled, moved = any("base_rate" in line for *_, line in lines), any(part["moves"] for part in parts.values())
    for part, name, line in lines:
        cells = [part, name if line["status"] != ALL else "", line["group"], count(line["rows"])]
        if labelled:
            cells += [count(line.get("labelled_favourable")), _base_rate(line)]
        cells += [estimate(line[key], key) if key in line else "" for key in rates]
        rows.append((*cells, *([_sides(parts[part], name, line)] if moved else [])))
    heads = ["part", "attribute", "group", "rows", *(["labelled favourable", "base rate"] if labelled else [])]
    heads += [HEADS[key] for key in rates] + (["newly approved / declined"] if moved else [])
    kept = [k for k, head in enumerate(heads) if head != "part" or len(parts) > 1]
    return Table(tuple(heads[k] for k in kept), tuple(tuple(row[k] for k in kept) for row in rows))


def _group_lines(part: Mapping[str, Any], names: Sequence[str], most: int | None) -> Iterator[tuple[str, Any]]:
    for name in names:
        lines = [line for line in part["groups"][name] if line["status"] != ALL]
        if most is not None and len(lines) > most:
            worst = {group for each in part["worst"] if each["attribute"] == name for group in each["between"]}
            lines = [line for line in lines if line["group"] in worst or line["status"] == REFERENCE]
        yield from ((name, line) for line in lines)
    yield from ((names[0], line) for line in part["groups"][names[0]] if line["status"] == ALL)


def _base_rate(line: Mapping[str, Any]) -> str:
    return number(line["base_rate"], 3) if "base_rate" in line else ""


def _sides(part: Mapping[str, Any], name: str, line: Mapping[str, Any]) -> str:
    group = OVERALL if line["status"] == ALL else line["group"]
    found = [each for each in part["moves"].get(name, ()) if each["group"] == group]
    if not found:
        return ""
    return " / ".join(count(found[0][side]) for side in ("gained", "lost"))


def worst_table(card: Mapping[str, Any], parts: Mapping[str, Any], wanted: Sequence[str] = ()) -> Table:
    """Those that the criterion is about and the ratio of approval rates, or all."""
    found = [
        (part, each)
        for part in parts
        for each in parts[part]["worst"]
        if not wanted or each["figure"] in (*wanted, "selection_ratio")
    ]
    plain = f"unconstrained (id {card['model']['unconstrained']})"
    pair = ("group with the lower (people)", "with the higher (people)", "upper end of")
    heads = ("part", "attribute", "worst", "this model", plain, *pair)
    left_out = any(each["not_compared"] for _, each in found)
    rows = [
        (part, each["attribute"], _contrast(each), *_pair(each))
        + ((", ".join(each["not_compared"]) or "none",) if left_out else ())
        for part, each in found
    ]
    return Table((*heads, "not compared: too few") if left_out else heads, tuple(rows))


def _contrast(each: Mapping[str, Any]) -> str:
    """Name a contrast, and which rate it is of where it is one of several."""
    return in_words(each["figure"]) + (f" ({rate_words(each['of'])})" if each.get("of") else "")


def _pair(each: Mapping[str, Any]) -> tuple[str, ...]:
    if each["value"] is None:
        return ("not defined: fewer than two groups have it", "", "", "", "")
    figure, plain = each["figure"].removesuffix("_gap"), each["unconstrained"]
    people = [f" ({count(n)})" for n in each["people"]] or ["", ""]
    pair = [f"{group}{n}" for group, n in zip(each["between"], people, strict=True)]
    bound = (
        "the same pair" if set(each["upper_between"]) == set(each["between"]) else " and ".join(each["upper_between"])
    )
    before = "not defined" if plain[0] is None else estimate(plain, figure)
    return (estimate(estimate_of(each), figure), before, *pair, bound)


def bound_words(card: Mapping[str, Any], attribute: str) -> str:
    """Say what gaps between people can be on test, of groups that are given as probabilities."""
    known = card["parts"]["test"].get("bounds", {}).get(attribute, ())
    told = [
        f"{in_words(each['figure'])} of {' less '.join(each['between'])} from {each['low']:.2f} to {each['high']:.2f}"
        for each in known
        if each["figure"] in card["model"]["gaps"]
    ]
    said = f"Groups of {attribute} are given as probabilities: rows are counted by their shares."
    if not told:
        return f"{said} Bounds on gaps between people are not given: values are predicted."
    bounds = "if probabilities are right, without sampling error (Kallus, Mao and Zhou 2022)"
    return f"{said} What gaps between people can be on test, {bounds}: {'; '.join(told)}."


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


def shifts_table(parts: Mapping[str, Any]) -> Table:
    """Means of values by part, attribute and group, before and after."""
    heads = ("prediction, unconstrained", "prediction", "squared error, unconstrained", "squared error")
    rows = [line for name, part in parts.items() for line in _shifts(name, part)]
    return Table(("part", "attribute", "group", *heads), tuple(rows))


def _shifts(name: str, part: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for attribute, before in part["unconstrained"].items():
        for old, new in zip(before, part["groups"][attribute], strict=True):
            means = (each.get(key, "") for key in ("prediction", "mse") for each in (old, new))
            pairs = (mean if isinstance(mean, str) else significant(mean[0]) for mean in means)
            yield (name, attribute, new["group"], *pairs)
