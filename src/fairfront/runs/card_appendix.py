"""What a card says of the data and the coefficients, and its appendix: what the main part leaves out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..validation import counted
from .card import CALIBRATION
from .card_blocks import (
    HEADS,
    Listed,
    Section,
    Table,
    coefficient_table,
    estimate,
    fields_table,
    main_lines,
    moves_tables,
    number,
    rates_table,
    significant,
    worst_table,
)

NO_LEVEL = "too few in train: all indicators of the column are 0"


def appendix(card: Mapping[str, Any]) -> Iterator[Section]:
    validation = {name: part for name, part in card["parts"].items() if name == "validation"}
    for each in card["groups"]:
        if validation:
            title = f"Groups of {each['attribute']} on validation"
            yield Section(title, (rates_table(validation, each["attribute"]),), True)
    for each in card["groups"]:
        if card["parts"]:
            yield Section(
                f"All gaps of {each['attribute']}", (worst_table(card, card["parts"], each["attribute"]),), True
            )
    if card["model"]["id"] != card["model"]["unconstrained"]:
        others = {name: part for name, part in card["parts"].items() if name != "test"}
        yield Section("Who gains and who loses on other rows", tuple(moves_tables(others)), True)
    yield from _calibration(card)
    found = card["coefficients"]
    if found is not None and len(found["lines"]) > main_lines(found):
        yield Section("All coefficients", (coefficient_table(card, found["lines"]),), True)
    yield Section("Missing and rare values by column", (_treatments(card["data"]), _marks(card["data"])), True)
    yield Section("Stability", (_stability(card),), True)
    used = fields_table(card["sensitive"].items())
    yield Section("Where the sensitive attribute was used", (used, _training(card)), True)
    versions = ", ".join(f"{name} {value}" for name, value in card["versions"].items())
    yield Section(
        "Reproduction",
        (
            "fairfront verify RUN DATA traces the run again from its rows and compares every file; fairfront verify "
            f"MODEL RUN compares this model with its run. Written by fairfront {card['fairfront']}; {versions}.",
        ),
        True,
    )


def _calibration(card: Mapping[str, Any]) -> Iterator[Section]:
    for each in card["groups"]:
        rows = [
            (name, line["group"], *(estimate(line[key]) for key in CALIBRATION))
            for name, part in card["parts"].items()
            for line in part["groups"][each["attribute"]]
            if all(key in line for key in CALIBRATION)
        ]
        if rows:
            said = "Perfect calibration has slope 1 and mean bias 0; a slope below 1 means probabilities too extreme."
            if card["model"]["task"] == "multiclass":
                said += f" Probabilities are those of {card['model']['favourable']}."
            table = Table(("part", "group", *(HEADS[key] for key in CALIBRATION)), tuple(rows))
            yield Section(f"Calibration by {each['attribute']}", (table, said), True)


def _treatments(data: Mapping[str, Any]) -> Table:
    rows = []
    for each in data["treatments"]:
        if each["kind"] == "number":
            missing = f"median {significant(each['median'])}{', and an indicator' if each['indicator'] else ''}"
            rows.append(
                (each["column"], "number", missing, "" if each["used"] else "not used: constant or mostly missing")
            )
        else:
            missing, rare = (what if there else NO_LEVEL for what, there in _levels(each))
            rows.append((each["column"], f"category, {counted(each['levels'], 'level')}", missing, rare))
    return Table(("column", "read as", "missing", "rare or new levels"), tuple(rows))


def _levels(each: Mapping[str, Any]) -> tuple[tuple[str, bool], tuple[str, bool]]:
    return ("a level of its own", each["missing"]), ("together, (other)", each["other"])


def _marks(data: Mapping[str, Any]) -> str:
    marks = ", ".join(map(repr, data["missing_marks"]))
    return f"Levels of fewer than 10 rows of train, or of fewer than 0.1 %, are rare. Read as missing: {marks}."


def _stability(card: Mapping[str, Any]) -> str:
    found, gap = card["stability"], card["model"]["training_gap"]
    if "why_not" in found:
        return f"Not measured: {found['why_not']}."
    low, high = found["gap"]
    said = (
        f"The model was trained again in the same way on {found['refits']} bootstrap samples of train. Measured on all "
        f"of train, the worst {gap['unit']} of these models lies between {number(low)} and {number(high)} "
        f"({found['confidence']:.0%} of them); that of the chosen model is {number(gap['value'])}. A cap is met on the "
        "rows of its own sample, so other rows mostly show a larger gap."
    )
    if found["flips"] is not None:
        said += f" On average {found['flips']:.1%} of the training rows would be decided otherwise."
    return said


def _training(card: Mapping[str, Any]) -> str:
    model, gap = card["model"], card["model"]["training_gap"]
    sure = "known to be the global optimum of the training loss at its gap"
    status = sure if model["certified"] else "not certified to be a global optimum"
    return (
        f"The model is {status}. Its training {gap['unit']} is {number(gap['value'])}: the quantity that training "
        "controls, which is not a gap between rates."
    )


def data_section(card: Mapping[str, Any]) -> Section:
    data = card["data"]
    rows = ", ".join(f"{n} {part}" for part, n in data["rows"].items())
    dropped, flagged = (
        list(dict.fromkeys(name for each in data["findings"] if each["kind"] == kind for name in each["columns"]))
        for kind in ("dropped", "flagged")
    )
    without = data["rows_without_target"]
    return Section(
        "Data",
        (
            fields_table(
                [
                    ("File", data["name"]),
                    ("sha256", data["sha256"] or "none: the rows came from a data frame"),
                    ("Rows", f"{rows}; {without} without a label were left out" if without else rows),
                    ("Split", data["split"].rstrip(".")),
                    ("Period", _period(data["period"])),
                    ("Weights", data["weight"] or "none: every row counts once"),
                    ("Columns read", f"{len(data['features'])}: {', '.join(data['features'])}"),
                    ("Columns left out", ", ".join((*data["left_out"], *dropped)) or "none"),
                    ("Columns to look at", ", ".join(flagged) or "none were flagged"),
                    ("Missing and rare values", _treated(data["treatments"])),
                ]
            ),
            Listed((*(each["sentence"] for each in data["findings"]), *_sources(card["parts"]))),
        ),
    )


def _sources(parts: Mapping[str, Any]) -> Iterator[str]:
    """Say which other files the model was judged on, and what has to be known to read these figures."""
    for name, source in ((name, part["source"]) for name, part in parts.items()):
        if source is not None:
            known = f", sha256 {source['sha256']}" if source["sha256"] else ""
            yield " ".join((f"{name}: {source['name']}{known}, judged at {source['at']}.", *source["notes"]))


def _period(period: Mapping[str, Any] | None) -> str:
    if period is None:
        return "no time column: rows were not split by time"
    parts = [f"{name} {first} to {last}" for name, (first, last) in period["parts"].items()]
    return f"{period['column']}: {', '.join(parts)} (ten rows of each part lie at or beyond each end)"


def _treated(treatments: Sequence[Mapping[str, Any]]) -> str:
    filled = [each["column"] for each in treatments if each["kind"] == "number" and each["indicator"]]
    own = [each["column"] for each in treatments if each["kind"] == "category" and each["missing"]]
    pooled = [each["column"] for each in treatments if each["kind"] == "category" and each["other"]]
    said = [
        f"median and an indicator in {', '.join(filled)}" if filled else "",
        f"missing is a level of its own in {', '.join(own)}" if own else "",
        f"rare levels are pooled in {', '.join(pooled)}" if pooled else "",
    ]
    return "; ".join(filter(None, said)) or "train has too few of either; the appendix says what is done with them"


def coefficient_section(card: Mapping[str, Any]) -> Section:
    found, learner = card["coefficients"], card["estimator"]
    if found is None:
        settings = ", ".join(f"{name}={value}" for name, value in learner["settings"].items())
        return Section("Coefficients", (f"None: the model is a {learner['name']} ({settings}).",))
    most = main_lines(found)
    if len(found["lines"]) <= most:
        return Section("Coefficients", (coefficient_table(card, found["lines"]), _coefficient_words(card)))
    order = sorted(found["lines"], key=lambda line: -max(map(abs, line["per_spread"] or line["per_unit"])))
    said = f"The {most} largest of {len(found['lines'])}; the appendix has all."
    return Section("Coefficients", (coefficient_table(card, order[:most]), f"{said} {_coefficient_words(card)}"))


def _coefficient_words(card: Mapping[str, Any]) -> str:
    model, found = card["model"], card["coefficients"]
    what = f"the score of {model['favourable']}" if model["task"] == "binary" else "the prediction"
    if model["task"] == "multiclass":
        what = "the score of each class"
    if model["loss"] == "logistic" and model["task"] == "binary":
        what = f"the log-odds of {model['favourable']}"
    start = ", ".join(f"{value:.3g}" for value in found["intercept"])
    return (
        f"What is added to {what}: + speaks for it. Intercept {start}, at the mean of all numbers and without "
        "indicators. Every level has an indicator and none is the reference: differences between the levels of a "
        f"column count. Ridge {found['ridge']:.3g} shrinks all but the intercept."
    )
