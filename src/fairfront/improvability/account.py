"""The account of a search: what was asked, of whom, how it was tested, which families, and what it does not show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ..measures.disclosure import LIMIT
from ..objectives import Attribute
from ..objectives.people import counts_in_words
from .digits import coarse_p, p_words
from .dossier_layout import Part
from .estimates import JOBS
from .families import FAMILIES, Data
from .sections import Search, Section

TITLE = "A fairer alternative to the model in use?"
LIMITS = (
    "A p-value above the level does not show that there is no alternative: other columns, families or more people may "
    "show one. The test is about the search as it was set up here, on people like those in these rows.",
    "A smaller gap in one figure says nothing of other figures, nor of why groups differ. Whether an alternative "
    "should replace the incumbent is for people to decide.",
)


RATE_WORDS = {
    "selection": "share of people approved",
    "tpr": "share approved among people with the favourable label",
    "fpr": "share approved among people without the favourable label",
    "error": "share of wrong decisions",
    "fnr": "share refused among people with the favourable label",
    "odds": "share approved among people of one label, the worse of both",
    "precision": "share with the favourable label among the approved",
    "npv": "share without the favourable label among the refused",
    "favourable_errors": "share of approvals among wrong decisions",
    "f_score": "harmonic mean of precision and TPR",
    "balanced_accuracy": "mean of the shares decided rightly of either label",
}


PEOPLE = (
    "Rows of one person stay in one half and are one draw in tests, bounds of changes and curves. Intervals of the "
    "incumbent's audit and of who gains and who loses take rows as independent, and are too narrow where people have "
    "several."
)


class Question(Section):
    """What was asked, and the answer."""

    name = "question"

    def find(self, search: Search) -> Mapping[str, Any]:
        wanted, told = search.wanted, search.told_p
        words = p_words(told, search.alpha, coarse := told != search.p)
        return {
            "finding": finding(words, search.p <= search.alpha, len(search.qualified)),
            "p_value": round(told, 6),
            "coarse_p_value": coarse,
            "alpha": round(search.alpha, 6),
            "qualified": list(search.qualified),
            "shown": search.shown,
            "keep": dict(wanted.keep),
            "improve": [asdict(each) for each in wanted.improve],
            "nobody_worse": wanted.nobody_worse,
            "favourable": str(search.data.task.favourable_label),
        }

    def parts(self, record: Mapping[str, Any]) -> Iterator[Part]:
        yield Part(TITLE, [_asked(record), record["finding"]])

    def summary(self, record: Mapping[str, Any]) -> Iterator[Part]:
        yield Part(TITLE, [_asked(record), record["finding"], record["incumbent"]["sentence"], record["covers"]])


def _asked(record: Mapping[str, Any]) -> str:
    kept = ", ".join(
        f"{name} ({JOBS[name].words}) worse by less than {value:g}" for name, value in record["keep"].items()
    )
    better = " and ".join(f"{each['name']} ({_in_words(each)})" for each in record["improve"])
    worse, are = record["nobody_worse"], "are" if len(record["improve"]) > 1 else "is"
    more = "" if worse is None else f" and no group's selection rate or TPR falls by more than {worse:g}"
    return (
        f"Asked: is there a model with {kept}, whose {better} {are} better than the incumbent's{more}, on new people?"
    )


def _in_words(contrast: Mapping[str, Any]) -> str:
    compared = "lowest over the highest" if contrast["ratio"] else "largest difference between groups in the"
    by = f", by {contrast['attribute']}" if contrast["attribute"] else ""
    return f"{compared} {RATE_WORDS[contrast['rate']]}{by}"


def finding(p: str, passes: bool, qualified: int) -> str:
    """Say what the p-value and the models that qualify amount to."""
    p = f"p {p}" if p[0].isalpha() else f"p = {p}"
    if passes:
        many = f"{qualified or 'none'} of the models of the first split {'qualifies' if qualified == 1 else 'qualify'}"
        said = f"The search finds a fairer alternative that keeps the job ({p})"
        return f"{said}; {many} on rows that were not searched on."
    return (
        f"The search did not show that a fairer alternative keeps the job ({p}); this does not show that there is none."
    )


class Sources(Section):
    """Rows, groups and the incumbent, and whom labels cover."""

    name = "sources"

    def find(self, search: Search) -> Mapping[str, Any]:
        data, first = search.data, search.outcome
        attributes = data.sample.attributes
        return {
            "incumbent": {"kind": search.incumbent.kind, "sentence": search.incumbent.words},
            "groups": {each.name: list(each.levels) for each in attributes},
            "rows": {"all": len(data.y), "search": len(first.search), "judge": len(first.judge)},
            "covers": _covers(data),
            "labelled": data.sample.labelled is not None,
            "notes": [*_left_out(attributes), *([PEOPLE] if data.sample.person is not None else []), *first.notes],
        }

    def parts(self, record: Mapping[str, Any]) -> Iterator[Part]:
        rows = record["rows"]
        yield Part(
            "Data and incumbent",
            [
                record["incumbent"]["sentence"],
                f"{rows['all']} rows; on the first split {rows['search']} were searched on and {rows['judge']} judged. "
                f"The favourable label is {record['favourable']!r}. {record['covers']}",
                *(f"Groups of {name!r}: {', '.join(levels)}." for name, levels in record["groups"].items()),
                *record["notes"],
                *_origin(record),
            ],
        )


def _origin(record: Mapping[str, Any]) -> Iterator[str]:
    """Say where rows and incumbent are from, of a search in a file."""
    if "data" in record:
        data, file = record["data"], record["incumbent"].get("file")
        yield f"The file is {data['name']} (sha256 {data['sha256']})."
        if file is not None:
            yield f"The incumbent's file is {file} (sha256 {record['incumbent']['sha256']})."
        yield (
            f"Alternatives may use these columns: {', '.join(record['features'])}. Scales, levels and columns that are "
            "dropped were learnt from a random four fifths of all rows, judge rows among them; labels, groups and the "
            "incumbent play no part in it, so that nothing of what is tested is known beforehand."
        )
        yield from record["findings"]


def _covers(data: Data) -> str:
    if data.sample.labelled is None:
        return "All figures are of all judge rows, unless they say otherwise."
    known = int(data.sample.known.sum())
    many = f"Labels are known only for {known} of {len(data.y)} rows"
    if min(known, len(data.y) - known) < LIMIT:
        many = "Labels are known only for some rows"
    return (
        f"{many}: figures of the job are of those alone, shares of favourable decisions are of everybody, and figures "
        "that need the labels of the others are not given."
    )


def _left_out(attributes: Sequence[Attribute]) -> list[str]:
    found = []
    for each in attributes:
        if each.left_out:
            told = ", ".join(counts_in_words(*zip(*each.left_out, strict=True)))
            found.append(f"Groups of {each.name!r} with too few rows are in no gap: {told}.")
        if each.n_missing:
            found.append(f"Rows without {each.name!r} are in no gap of it.")
    return found


class Evidence(Section):
    """The improvability test."""

    name = "test"

    def find(self, search: Search) -> Mapping[str, Any]:
        p = [each.p for each in search.splits]
        first = coarse_p(p[0], search.alpha) if search.hidden else p[0]
        return {"split_p_values": [round(each, 6) for each in (first, *p[1:])], "coarse_first": search.hidden}

    def parts(self, record: Mapping[str, Any]) -> Iterator[Part]:
        alpha, known = record["alpha"], enumerate(record["split_p_values"])
        p = ", ".join(p_words(each, alpha, record["coarse_first"] and not k) for k, each in known)
        told = p_words(record["p_value"], alpha, record["coarse_p_value"])
        yield Part(
            "The test",
            [
                "Rows are halved at random, families search one half, the most promising model there is tested on the "
                "other. A split's p-value is the largest of those of all requirements; that of the search is twice "
                f"the median over the splits: {told}. It is valid however many models were tried.",
                f"P-values of the splits: {p}.",
            ],
        )


class Tried(Section):
    """Families, budget, and why the search stopped."""

    name = "tried"

    def find(self, search: Search) -> Mapping[str, Any]:
        budget, chosen = search.budget, [each.family for each in search.splits]
        return {
            "families": {name: FAMILIES[name].words for name in search.families},
            "budget": {"splits": budget.splits, "max_fits": budget.max_fits, "max_seconds": budget.max_seconds},
            "stopped": search.stopped,
            "fits": sum(each.fits for each in search.splits),
            "seed": search.seed,
            "chosen": {name: chosen.count(name) for name in sorted(set(chosen)) if name},
        }

    def parts(self, record: Mapping[str, Any]) -> Iterator[Part]:
        budget, chosen = record["budget"], [f"{name} {count}" for name, count in record["chosen"].items()]
        most = "none" if budget["max_fits"] is None else str(budget["max_fits"])
        seconds = "none" if budget["max_seconds"] is None else f"{budget['max_seconds']:g}"
        yield Part(
            "What was tried, and why the search stopped",
            [
                *(f"{name}: {words}." for name, words in record["families"].items()),
                f"{record['fits']} fits; budget of fits: {most}, of seconds: {seconds}. The search stopped because "
                f"{record['stopped']}. Seed {record['seed']}.",
                f"Models that were tested, by family: {', '.join(chosen) or 'none'}.",
            ],
        )


class Checks(Section):
    """How it can be made again, and where choices are kept."""

    name = "checks"

    def parts(self, record: Mapping[str, Any]) -> Iterator[Part]:
        told = [
            f"Made with fairfront {record['fairfront']}; the same rows, settings and seed give the same dossier. From "
            "arrays in Python only the caller can make it again."
        ]
        if "data" in record:
            file, with_ = record["data"]["name"], " --incumbent MODEL" if "file" in record["incumbent"] else ""
            made = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
            told = [
                f"Made with fairfront {record['fairfront']} ({made}).",
                f"fairfront verify FOLDER {file}{with_} searches again and compares every field of every file.",
                f"fairfront select FOLDER --id ID --data {file}{with_} --by NAME --reason TEXT -o model writes a model "
                "of the table. Who chose it, when and why is kept in the folder decisions beside this file, in a chain "
                "of records that verify checks too.",
            ]
        yield Part("How to check it, and the decision record", told)


class Limits(Section):
    """What all of it does not show."""

    name = "limits"

    def parts(self, record: Mapping[str, Any]) -> Iterator[Part]:
        yield Part("What this does not show", LIMITS)

    summary = parts
