"""What a card says of what went into the model: the data, and the coefficients that came of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .card_blocks import Listed, Section, coefficient_table, fields_table, main_lines


def data_section(card: Mapping[str, Any]) -> Section:
    data = card["data"]
    rows = ", ".join(f"{n} {part}" for part, n in data["rows"].items())
    dropped = [each["column"] for each in data["findings"] if each["kind"] == "dropped"]
    flagged = [each["column"] for each in data["findings"] if each["kind"] == "flagged"]
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
                    ("Columns to look at", ", ".join(dict.fromkeys(flagged)) or "none were flagged"),
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
