"""The appendix of a card: what the main part leaves out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .card_blocks import (
    HEADS,
    Listed,
    Section,
    Table,
    coefficient_table,
    estimate,
    fields_table,
    main_lines,
    number,
    rates_table,
    shifts_table,
    worst_table,
)
from .card_data import treatment_section
from .parts import CALIBRATION

GAPS_SAID = "Each is the worst over all pairs of one attribute's groups, and its interval holds for all of these pairs."
MOST_GROUPS = 8
"""Groups of an attribute that the main part has room for."""


def shown_parts(card: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts that the choice was not made on."""
    return {name: part for name, part in card["parts"].items() if name != "validation"}


def is_crowded(part: Mapping[str, Any]) -> bool:
    """Tell whether the main part has no room for all groups of an attribute."""
    return any(len(lines) > MOST_GROUPS + 1 for lines in part["groups"].values())


def appendix(card: Mapping[str, Any]) -> Iterator[Section]:
    names = [each["attribute"] for each in card["groups"]]
    for name, part in card["parts"].items():
        if name != "test" or is_crowded(part):
            yield Section(f"Groups on {name}", (rates_table({name: part}, names),), True)
        if card["model"]["task"] != "regression" and card["model"]["id"] != card["model"]["unconstrained"]:
            before = {**part, "groups": part["unconstrained"], "moves": {}}
            yield Section(f"Groups on {name}, unconstrained model", (rates_table({name: before}, names),), True)
        elif card["model"]["task"] == "regression" and name != "test":
            yield Section(f"Means before and after on {name}", (shifts_table({name: part}),), True)
    if card["parts"]:
        yield Section("All gaps", (worst_table(card, card["parts"]), GAPS_SAID), True)
    yield from _posteriors(card)
    yield from _calibration(card)
    found = card["coefficients"]
    if found is not None and len(found["lines"]) > main_lines(found):
        yield Section("All coefficients", (coefficient_table(card, found["lines"]),), True)
    if card["data"]["findings"]:
        said = Listed(tuple(each["sentence"] for each in card["data"]["findings"]))
        yield Section("What was found in the columns", (said,), True)
    yield treatment_section(card)
    used = fields_table(card["sensitive"].items())
    yield Section("Where the sensitive attribute was used", (used, _training(card)), True)
    yield Section("Reproduction", (" ".join(_reproduction(card)),), True)


def _reproduction(card: Mapping[str, Any]) -> Iterator[str]:
    yield "fairfront verify RUN DATA traces the run again from its rows and compares every file."
    yield "fairfront verify MODEL RUN compares this model with its run."
    point, versions = card["operating_point"], ", ".join(f"{name} {value}" for name, value in card["versions"].items())
    if point is not None and point["cutoff"] is not None:
        yield f"The cut-off in full: {point['cutoff']!r}."
    yield f"Written by fairfront {card['fairfront']}; {versions}."


def _posteriors(card: Mapping[str, Any]) -> Iterator[Section]:
    if (found := card["model"]["posteriors"]) is not None:
        rows = [(each["of"], *(number(each[name]) for name in ("expected", "measured"))) for each in found]
        said = (
            "The rule is the best for the probabilities that it weighs. Expected: rates of its decisions if these were "
            f"right. Measured: the same on {card['model']['measured_on']}. Where the two are far apart, the "
            "probabilities are wrong for that group, and so may be what is best."
        )
        table = Table(("group", "expected", "measured"), tuple(rows))
        yield Section("Expected and measured rates", (table, said), True)


def _calibration(card: Mapping[str, Any]) -> Iterator[Section]:
    for each in card["groups"]:
        lines = [
            (name, line)
            for name, part in shown_parts(card).items()
            for line in part["groups"][each["attribute"]]
            if all(key in line for key in CALIBRATION)
        ]
        if lines and all(isinstance(line["brier"], str) for _, line in lines):
            why = f"Calibration is {estimate(lines[-1][1]['brier'])}."
            yield Section(f"Calibration by {each['attribute']}", (why,), True)
        elif lines:
            said = "Calibrated: slope 1, observed minus predicted 0. A slope below 1 means probabilities too extreme."
            said += f" Probabilities are those of {card['model']['favourable']}."
            if card["model"]["posteriors"] is not None:
                said += " All rules share them, and none decides by them alone."
            rows = [(name, line["group"], *(estimate(line[key]) for key in CALIBRATION)) for name, line in lines]
            table = Table(("part", "group", *(HEADS[key] for key in CALIBRATION)), tuple(rows))
            yield Section(f"Calibration by {each['attribute']}", (table, said), True)


def _training(card: Mapping[str, Any]) -> str:
    model, gap = card["model"], card["model"]["training_gap"]
    sure = "known to be the global optimum of the training loss at its gap"
    status = sure if model["certified"] else "not certified to be a global optimum"
    status = status if model["posteriors"] is None else f"optimal for its posteriors, and {status}"
    other = "which is not a gap between rates" if gap["unit"] != "rate gap" else "measured on training rows left out"
    return (
        f"The model is {status}. Its training {gap['unit']} is {number(gap['value'])}: the quantity that training "
        f"controls, {other}."
    )
