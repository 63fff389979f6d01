"""The card in words: sections of tables, lists and sentences, made from its record for Markdown and HTML alike.

Texts here are plain: whoever draws them escapes them. Sections up to the appendix are what a validator reads, three
screens at most; the appendix has the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..frontier.frontier_figures import BOTH
from ..measures.figures import Column
from ..measures.report import HIDDEN_RATE, HIDE_BELOW, count_text
from ..objectives import LOSSES
from ..validation import counted
from .card import ABOUT
from .card_appendix import MOST_GROUPS, appendix, is_crowded, shown_parts
from .card_blocks import (
    HEADS,
    Block,
    Listed,
    Section,
    Table,
    bound_words,
    coefficient_table,
    difference,
    estimate,
    fields_table,
    main_lines,
    number,
    rates_table,
    shifts_table,
    significant,
    worst_table,
)
from .card_counts import without_small_counts
from .card_data import data_section
from .card_promises import promises_section
from .options import in_words
from .parts import FIGURES, estimate_of

NOT_GIVEN = "not given"
NO_FIGURE = dict.fromkeys(("chosen", "unconstrained", "difference"))
"""Where a part has no such figure."""
LIMITS = (
    "Labels are taken as they are. If they record past decisions or unequal measurement, a small gap here says little "
    "about people's lives.",
    "Figures hold for people like those in the data; a new population or a later year needs a new audit.",
    "Intervals cover the sampling of rows, not the choice among models and not errors in the data.",
    "Not evaluated for any other use. This card reports measurements and draws no legal conclusion.",
)
PAIRED = (
    "Differences are paired, on the same rows: error and approval rate from the rows that changed (Agresti and Min); "
    "AUC and Gini by DeLong's variance, KS from the rows that the two models put on different sides of their best "
    "cut-offs. KS itself is a maximum, too high where rows are few: the lower end of its interval allows for that."
)
PAIRED_MEANS = "Differences are paired, on the same rows, with the normal interval of their mean."


def title_of(card: Mapping[str, Any]) -> str:
    model = card["model"]
    return f"Model card: id {model['id']} of {counted(model['points'], 'model')} for {model['target']}"


def sections(record: Mapping[str, Any], hide_below: int = HIDE_BELOW) -> list[Section]:
    """Return what is drawn of a card's record: counts below ``hide_below``, and rates of fewer people, are left out."""
    card = without_small_counts(record, hide_below)
    found = [
        _head(card),
        *(_performance(card), promises_section(card)),
        _groups(card, hide_below),
        data_section(card),
        _coefficients(card),
        _alternatives(card),
        _limits(card),
        *appendix(card),
    ]
    return [each for each in found if each.blocks]


def _head(card: Mapping[str, Any]) -> Section:
    model, decision = card["model"], card["decision"]
    good = "" if model["favourable"] is None else f"; favourable outcome: {model['favourable']}"
    fields = [
        ("Predicts", f"{model['target']}{good}"),
        ("Model", f"{architecture(card)}; id {model['id']} of {counted(model['points'], 'model')}"),
        ("Operating point", _operating_point(card)),
        ("Fairness criterion", " ".join(model["compares"])),
        ("Chosen", f"{decision['at']}{' by ' + decision['by'] if decision['by'] else ', by whom was not given'}"),
        ("Rule", decision["rule_words"]),
        ("Reason", decision["reason"] or NOT_GIVEN),
        *((words, card["about"][name] or NOT_GIVEN) for name, words in ABOUT.items()),
    ]
    return Section("", (fields_table(fields), *model["notes"]))


def architecture(card: Mapping[str, Any]) -> str:
    model = card["model"]
    if model["units"] == "rates":
        return f"rule on probabilities of label and group ({model['kind']}), for the least {model['loss']}"
    return f"{model['kind']}, {model['loss']} loss"


def _operating_point(card: Mapping[str, Any]) -> str:
    point, model = card["operating_point"], card["model"]
    if point is None:
        several = "no cut-off: each row gets the class of the largest score"
        return "values are predicted: there is no cut-off" if model["task"] == "regression" else several
    if point["cutoff"] is None:
        return f"{point['rule']}, inside the rule: no single cut-off, because it moves with the guess of the group"
    placed = f"placed on {point['placed_on']} and used unchanged elsewhere" if point["placed_on"] else "the default"
    rule = point["rule"] or "no operating point was given"
    return f"{rule}: cut-off {number(point['cutoff'])} on the {point['of']} of {model['favourable']}, {placed}"


def _performance(card: Mapping[str, Any]) -> Section:
    model, rows = card["model"], []
    if not card["parts"]:
        return Section("Performance", ("This model was not solved to tolerance and has no figures.",))
    same = model["id"] == model["unconstrained"]
    figures = [name for name in FIGURES if any(name in part["figures"] for part in card["parts"].values())]
    for name, part in card["parts"].items():
        known = {figure: part["figures"].get(figure, NO_FIGURE) for figure in figures}
        line = [estimate(known[figure]["chosen"], figure) for figure in figures]
        rows.append((f"{name} ({part['rows']} rows)", f"this model (id {model['id']})", *line))
        if not same:
            plain = [estimate(known[figure]["unconstrained"], figure) for figure in figures]
            rows.append((name, f"unconstrained (id {model['unconstrained']})", *plain))
            rows.append((name, "difference", *(difference(known[f]["difference"], f) for f in figures)))
    table = Table(("rows", "model", *(HEADS[figure] for figure in figures)), tuple(rows))
    sure = f"Intervals at {next(iter(card['parts'].values()))['confidence']:.0%} confidence."
    said = "This model is the unconstrained one: trained without a cap on any gap."
    if not same:
        said = "Unconstrained: trained without a cap on any gap. "
        said += PAIRED_MEANS if model["task"] == "regression" else PAIRED
    choice = f"The choice was made on {_chosen_on(card)}, whose figures flatter it."
    return Section("Performance", (table, " ".join(filter(None, (sure, said, choice, _opened(card))))))


def _chosen_on(card: Mapping[str, Any]) -> str:
    """Name the rows that the rule read."""
    if BOTH in {each["on"] for each in card["decision"]["promises"]}:
        return "validation and training rows, each of these judged without itself"
    return _listed_on(card)


def _listed_on(card: Mapping[str, Any]) -> str:
    """Name the rows that the listed figures are of: validation, or without it the training rows left out."""
    return "validation" if "validation" in card["parts"] else "training rows, each judged without itself"


def _opened(card: Mapping[str, Any]) -> str:
    opened = card["decision"]["opened"]
    if opened == 1:
        return "This is the first use of the test part."
    return (
        f"The test part of this run has been opened {opened} times: the more often, the less the figures on test are "
        "those of an untouched sample."
    )


def _groups(card: Mapping[str, Any], hide_below: int) -> Section:
    """Rates on test and worst gaps on test and in other files; the appendix has the other rates."""
    names, parts = [each["attribute"] for each in card["groups"]], shown_parts(card)
    blocks: list[Block] = []
    if parts:
        test = {name: part for name, part in parts.items() if name == "test"}
        blocks += [worst_table(card, parts, card["model"]["gaps"]), rates_table(test, names, MOST_GROUPS)]
        blocks += [shifts_table(test)] if card["model"]["task"] == "regression" else []
        blocks.append(" ".join((*_group_words(card), *_hidden(hide_below))))
    return Section("Groups on test, and worst gaps", tuple(blocks))


def _hidden(hide_below: int) -> Iterator[str]:
    if hide_below:
        few = f"Counts of 1 to {hide_below - 1} people are shown as {count_text(1, hide_below)}"
        yield f"{few}, and rates of fewer than {hide_below} as {HIDDEN_RATE}; card.json has them."


def _grown(card: Mapping[str, Any]) -> Iterator[str]:
    """Say which gaps of other criteria are larger on test than those of the unconstrained model."""
    larger: list[str] = []
    for each in card["parts"]["test"]["worst"]:
        after, before, figure = estimate_of(each), each["unconstrained"], each["figure"]
        other = figure.endswith("_gap") and figure not in (*card["model"]["gaps"], "odds_gap")
        if other and None not in (after[0], before[0]) and after[0] > before[0]:
            now, then = (estimate(found, figure.removesuffix("_gap")) for found in (after, before))
            larger.append(f"{in_words(figure)} by {each['attribute']} {now}, before {then}")
    if larger:
        yield f"Other gaps that are larger on test than those of the unconstrained model: {'; '.join(larger)}."


def _group_words(card: Mapping[str, Any]) -> Iterator[str]:
    model = card["model"]
    yield (
        "Worst gaps and ratios are over all pairs of an attribute's groups, and their intervals hold for all pairs. "
        "The lower and the higher group are this model's, the unconstrained one's may be others; the upper end can be "
        "that of another pair, of fewer people."
    )
    yield from _grown(card)
    if model["task"] != "regression" and model["id"] != model["unconstrained"]:
        yield "Newly approved, declined: rows that the unconstrained model decides otherwise."
    if any(part["weighted"] for part in card["parts"].values()):
        how = "counts and base rates are of rows, and intervals rest on effective rows (Kish)"
        yield f"Figures are weighted by {card['data']['weight']}; {how}."
    if is_crowded(card["parts"]["test"]):
        yield "Of an attribute with many groups: the reference and those of a worst gap; the appendix has all."
    for each in card["groups"]:
        largest = ", the largest group" if each["reference_is_largest"] else ""
        yield f"Reference of {each['attribute']}: {each['reference']}{largest}."
        if each["probabilities"]:
            yield bound_words(card, each["attribute"])
        if each["left_out"]:
            yield f"Too small to be compared in training: {', '.join(each['left_out'])}."
        if each["rows_without_group"]:
            yield f"Rows without {each['attribute']!r} count in the loss and in figures of all rows, not in gaps."


def _coefficients(card: Mapping[str, Any]) -> Section:
    found, learner = card["coefficients"], card["estimator"]
    if card["model"]["units"] == "rates":
        weighed = f"the rule weighs probabilities of label and group ({card['model']['kind']})"
        return Section("Coefficients", (f"None of its own: {weighed}; what gives these is in the model's files.",))
    if found is None:
        settings = ", ".join(f"{name}={value}" for name, value in learner["settings"].items())
        return Section("Coefficients", (f"None: the model is a {learner['name']} ({settings}).",))
    lines, most = found["lines"], main_lines(found)
    words = _coefficient_words(card)
    if len(lines) > most:
        lines = sorted(lines, key=lambda line: -max(map(abs, line["per_spread"] or line["per_unit"])))[:most]
        words = f"The {most} largest of {len(found['lines'])}; the appendix has all. {words}"
    return Section("Coefficients", (coefficient_table(card, lines), words))


def _coefficient_words(card: Mapping[str, Any]) -> str:
    model, found = card["model"], card["coefficients"]
    what = f"the score of {model['favourable']}" if model["task"] == "binary" else "the prediction"
    if model["task"] == "multiclass":
        what = "the score of each class"
    if model["loss"] == "logistic" and model["task"] == "binary":
        what = f"the log-odds of {model['favourable']}"
    if model["loss"] in LOSSES and LOSSES[model["loss"]].link:
        what = "the logarithm of the prediction"
    start = ", ".join(f"{value:.3g}" for value in found["intercept"])
    return (
        f"What is added to {what}: + {'raises' if model['task'] == 'regression' else 'speaks for'} it. Intercept "
        f"{start}, at the mean of all numbers and without indicators. Means and standard deviations are those of train "
        "that the encoding uses, in which the median stands for missing values. Every level has an indicator and none "
        f"is the reference: differences between the levels of a column count. Ridge {found['ridge']:.3g} shrinks all "
        "but the intercept."
    )


def _alternatives(card: Mapping[str, Any]) -> Section:
    decision, id = card["decision"], card["model"]["id"]
    names = [name for name in decision["alternatives"][0] if name not in ("id", "mark", "shown")]
    rows = []
    for each in decision["alternatives"]:
        chosen = " (chosen)" if each["id"] == id else ""
        rows.append((f"{each['id']}{chosen}", each["mark"], *(_figure(card, each, name) for name in names)))
    heads = tuple(map(_heading, names))
    said = " ".join((*_listed(card), *_over(card), *decision["footnotes"]))
    return Section("Alternatives considered", (Table(("id", "", *heads), tuple(rows)), said))


def _heading(name: str) -> str:
    column = Column.of(name)
    return in_words(name) if not column.end else f"{in_words(str(replace(column, end='')))}, 95 % upper bound"


def _listed(card: Mapping[str, Any]) -> Iterator[str]:
    decision, id, among = card["decision"], card["model"]["id"], counted(card["model"]["points"], "model")
    ids = ", ".join(map(str, decision["listed"]))
    said = f"{len(decision['listed'])} of {among} were listed when the run was traced"
    yield f"{said}, before the decision of {decision['at']}: ids {ids}."
    if id not in decision["listed"]:
        yield f"Id {id}, which was chosen, was not among them and is added here."


def _over(card: Mapping[str, Any]) -> Iterator[str]:
    names = [each["attribute"] for each in card["groups"]]
    model = card["model"]
    loss = f"Loss (here the {model['loss']})" if model["units"] == "rates" else "Loss"
    yield f"{loss} and its gap are those of {model['measured_on']}, the other figures those of {_listed_on(card)}."
    if len(names) > 1:
        yield (
            f"Gaps here are the largest over {' and '.join(names)} (ratios the smallest), and upper bounds hold for "
            "all of them at once: they are wider than those of one attribute in the appendix."
        )


def _figure(card: Mapping[str, Any], each: Mapping[str, Any], name: str) -> str:
    value, values = each[name], card["model"]["task"] == "regression"
    return significant(value) if values and value is not None else number(value)


def _limits(card: Mapping[str, Any]) -> Section:
    model = card["model"]
    traded = " and ".join(map(in_words, model["notions"]))
    error = f"{model['loss']} loss" if model["task"] == "regression" else "error"
    gaps = " and ".join(map(in_words, model["gaps"]))
    first = f"The {error} was traded against {traded}; other criteria may be worse than before."
    return Section("Limits", (Listed((f"{first} Read all tables, not the {gaps} alone.", *LIMITS)),))
