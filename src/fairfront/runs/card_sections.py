"""The card in words: sections of tables, lists and sentences, made from its record for Markdown and HTML alike.

Texts here are plain: whoever draws them escapes them. Sections up to the appendix are what a validator reads; the
appendix has the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..measures.disclosure import EXACT, ROUNDED, with_rounding
from ..validation import counted
from .card import FIGURES
from .card_appendix import appendix, coefficient_section, data_section
from .card_blocks import (
    HEADS,
    Block,
    Listed,
    Section,
    Table,
    difference,
    estimate,
    fields_table,
    moves_tables,
    number,
    rates_table,
    significant,
    worst_table,
)
from .manifest import ABOUT
from .options import in_words

NOT_GIVEN = "not given"
NO_FIGURE = dict.fromkeys(("chosen", "unconstrained", "difference"))
"""Where a model decides everyone alike, so that scores rank nobody."""
LIMITS = (
    "Labels are taken as they are. If they record past decisions or unequal measurement, a small gap here says little "
    "about people's lives.",
    "Figures hold for people like those in the data; a new population or a later year needs a new audit.",
    "Intervals cover the sampling of rows, not the choice among models and not errors in the data.",
    "Not evaluated for any other use. This card reports measurements and draws no legal conclusion.",
)
PAIRED = (
    "Unconstrained: trained without a cap on any gap. Differences are paired, on the same rows: error and approval "
    "rate from the rows that changed (Agresti and Min), AUC and Gini by DeLong's variance; KS has no interval."
)
PAIRED_MEANS = (
    "Unconstrained: trained without a cap on any gap. Differences are paired, on the same rows, with the normal "
    "interval of their mean."
)


def title_of(card: Mapping[str, Any]) -> str:
    model = card["model"]
    return f"Model card: id {model['id']} of {counted(model['points'], 'model')} for {model['target']}"


def sections(card: Mapping[str, Any]) -> list[Section]:
    found = [
        _head(card),
        _operating_point(card),
        _performance(card),
        *_group_sections(card),
        data_section(card),
        coefficient_section(card),
        _moves(card),
        _alternatives(card),
        _limits(card),
        *appendix(card),
    ]
    return [each for each in found if each.blocks]


def _head(card: Mapping[str, Any]) -> Section:
    model, decision = card["model"], card["decision"]
    good = "" if model["favourable"] is None else f"; favourable outcome: {model['favourable']}"
    kind = f"{model['kind']}, {model['loss']} loss; id {model['id']} of {counted(model['points'], 'model')}"
    fields = [
        ("Predicts", f"{model['target']}{good}"),
        ("Model", kind),
        ("Fairness criterion", " ".join(model["compares"])),
        ("Chosen", f"{decision['at']}{' by ' + decision['by'] if decision['by'] else ', by whom was not given'}"),
        ("Rule", decision["rule_words"]),
        ("Reason", decision["reason"] or NOT_GIVEN),
        *((words, card["about"][name] or NOT_GIVEN) for name, words in ABOUT.items()),
    ]
    return Section("", (fields_table(fields), "Not evaluated for any other use.", *model["notes"]))


def _operating_point(card: Mapping[str, Any]) -> Section:
    point, model = card["operating_point"], card["model"]
    if point is None:
        several = "each row gets the class of the largest score"
        said = (
            "Values are predicted: there is no cut-off." if model["task"] == "regression" else f"No cut-off: {several}."
        )
        return Section("Operating point", (said,))
    placed = f"placed on {point['placed_on']} and used unchanged elsewhere" if point["placed_on"] else "the default"
    approved = [
        (f"Approved on {name}", estimate(part["figures"]["selection"]["chosen"]))
        for name, part in card["parts"].items()
        if "selection" in part["figures"]
    ]
    fields = [
        ("Rule", point["rule"] or "no operating point was given"),
        ("Cut-off", f"{point['cutoff']:.4g} on the {point['of']} of {model['favourable']}; {placed}"),
        *approved,
    ]
    return Section("Operating point", (fields_table(fields),))


def _performance(card: Mapping[str, Any]) -> Section:
    model, rows = card["model"], []
    if not card["parts"]:
        return Section("Performance", ("This model was not solved to tolerance and has no figures.",))
    same = model["id"] == model["unconstrained"]
    figures = [name for name in FIGURES if any(name in part["figures"] for part in card["parts"].values())]
    for name, part in card["parts"].items():
        known = {name: part["figures"].get(name, NO_FIGURE) for name in figures}
        line = [estimate(known[figure]["chosen"], figure) for figure in figures]
        rows.append((f"{name} ({part['rows']} rows)", f"this model (id {model['id']})", *line))
        if not same:
            plain = [estimate(known[figure]["unconstrained"], figure) for figure in figures]
            rows.append((name, f"unconstrained (id {model['unconstrained']})", *plain))
            rows.append((name, "difference", *(difference(known[f]["difference"], f) for f in figures)))
    table = Table(("rows", "model", *(HEADS[figure] for figure in figures)), tuple(rows))
    said = "This model is the unconstrained one: trained without a cap on any gap."
    if not same:
        said = PAIRED_MEANS if model["task"] == "regression" else PAIRED
    return Section("Performance", (table, f"{_sure(card)} {said} {_opened(card)}".replace("  ", " "), *_small(card)))


def _sure(card: Mapping[str, Any]) -> str:
    part = next(iter(card["parts"].values()))
    return f"Intervals at {part['confidence']:.0%} confidence."


def _opened(card: Mapping[str, Any]) -> str:
    opened = card["decision"]["opened"]
    if opened == 1:
        return "This is the first use of the test part."
    return (
        f"The test part of this run has been opened {opened} times: the more often, the less the figures on test are "
        "those of an untouched sample."
    )


def _small(card: Mapping[str, Any]) -> Iterator[str]:
    part = next(iter(card["parts"].values()))
    if part["weighted"]:
        how = "counts and base rates are of rows, and intervals rest on effective rows (Kish)"
        yield f"Rates are weighted by {card['data']['weight']}; {how}."
    yield ROUNDED if part["rounded_below"] else EXACT


def _group_sections(card: Mapping[str, Any]) -> Iterator[Section]:
    """Rates by group in the order that the user gave; those of validation are in the appendix."""
    for each in card["groups"]:
        name, blocks = each["attribute"], list[Block]()
        parts = {part: found for part, found in card["parts"].items() if part != "validation"}
        blocks += [rates_table(parts, name), worst_table(card, parts, name, card["model"]["gaps"])] if parts else []
        blocks += [" ".join(_about_groups(each))]
        yield Section(f"Groups of {name}", tuple(blocks))


def _about_groups(each: Mapping[str, Any]) -> Iterator[str]:
    yield f"Reference: {each['reference']}{', the largest group' if each['reference_is_largest'] else ''}."
    if each["probabilities"]:
        yield "Groups are given as probabilities: rows are counted by their shares."
    if each["left_out"]:
        yield f"Too small to be compared in training: {', '.join(each['left_out'])}."
    if each["rows_without_group"]:
        yield "Some rows have no group here: they count in the loss and in figures of all rows, not in gaps."


def _moves(card: Mapping[str, Any]) -> Section:
    model = card["model"]
    title, plain = "Who gains and who loses", f"the unconstrained model (id {model['unconstrained']})"
    if model["id"] == model["unconstrained"]:
        return Section(title, ("This is the unconstrained model. Nobody is decided otherwise.",))
    said = f"Rows whose decision differs from that of {plain}."
    if model["task"] == "regression":
        said = f"Means per group: those of {plain}, then those of this one."
    elif any(part["rounded_below"] and len(part["moves"]) > 1 for part in card["parts"].values()):
        said += " Small counts are rounded, so that overall, their sum, can differ between attributes."
    return Section(title, (*moves_tables({"test": card["parts"]["test"]} if card["parts"] else {}), said))


def _alternatives(card: Mapping[str, Any]) -> Section:
    decision, id = card["decision"], card["model"]["id"]
    names = [name for name in decision["alternatives"][0] if name not in ("id", "mark", "shown", "rounding")]
    rows = []
    for each in decision["alternatives"]:
        chosen = " (chosen)" if each["id"] == id else ""
        off = each.get("rounding", {})
        figures = (with_rounding(_figure(card, each[name]), off.get(name, 0.0)) for name in names)
        rows.append((f"{each['id']}{chosen}", each["mark"], *figures))
    listed = ", ".join(map(str, decision["listed"]))
    among = counted(card["model"]["points"], "model")
    said = (
        f"{len(decision['listed'])} of {among} were listed as options before the decision of {decision['at']}: "
        f"ids {listed}."
    )
    if id not in decision["listed"]:
        said += f" Id {id}, which was chosen, was not listed and is added here."
    said += " Loss and its gap are those of training, the other figures those of validation."
    heads = tuple(in_words(name).replace("at most", "upper 95 % limit") for name in names)
    table = Table(("id", "", *heads), tuple(rows))
    return Section("Alternatives considered", (table, " ".join((said, *decision["footnotes"]))))


def _figure(card: Mapping[str, Any], value: float | None) -> str:
    return significant(value) if card["model"]["task"] == "regression" and value is not None else number(value)


def _limits(card: Mapping[str, Any]) -> Section:
    model = card["model"]
    traded = " and ".join(map(in_words, model["notions"]))
    error = "squared error" if model["task"] == "regression" else "error"
    gaps = " and ".join(map(in_words, model["gaps"]))
    first = f"The {error} was traded against {traded}; other criteria may be worse than before."
    return Section("Limits", (Listed((f"{first} Read all tables, not the {gaps} alone.", *LIMITS)),))
