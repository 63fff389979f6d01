"""The record of a search: what was asked, of whom, how it was tested and what came out, as plain values for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from .. import __version__
from ..objectives import Attribute
from .arguments import Incumbent
from .estimates import JOBS
from .families import FAMILIES, Data
from .gains import gains_and_losses
from .split_search import Outcome, Plan, Split, combined
from .verdict import Verdict, group_names, table_of, verdict_of

FORMAT = "fairfront alternatives 2"
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
PERSONS = (
    "Rows of one person stay in one half and are one draw in the test and in the bounds of changes. Intervals of who "
    "gains and who loses take rows as independent, and are too narrow where people have several."
)


@dataclass(frozen=True, eq=False)
class Search(Plan):
    """A finished search: what was asked and given, the first split whole, and the p-values of all splits.

    ``alpha`` is one minus the confidence; ``stopped`` says why the search did.
    """

    data: Data
    incumbent: Incumbent
    outcome: Outcome
    splits: tuple[Split, ...]
    stopped: str
    alpha: float

    @cached_property
    def p_value(self) -> float:
        """Return the p-value of the whole search."""
        return combined([each.p for each in self.splits])

    @cached_property
    def verdict(self) -> Verdict | None:
        """Return what is said of the first model; None where the first split found none."""
        return verdict_of(self.outcome, self.data, self.wanted, self.alpha, self.p_value)

    @property
    def qualified(self) -> bool:
        return self.verdict is not None and self.verdict.qualified


def record_of(search: Search) -> dict[str, Any]:
    """Return all that is known of a search, without rows."""
    return {
        "format": FORMAT,
        "fairfront": __version__,
        "finding": finding(search.p_value, search.alpha, search.qualified),
        **_question(search),
        **_sources(search),
        **_effort(search),
        **_models(search),
    }


def finding(p_value: float, alpha: float, qualified: bool) -> str:
    """Say what the p-value shows, and whether the first model qualifies."""
    p = p_words(p_value)
    if p_value > alpha:
        return (
            f"The search did not show that a fairer alternative keeps the job ({p}); this does not show that there is "
            "none."
        )
    model = "the model shown qualifies" if qualified else "the model shown does not qualify"
    return f"The search finds a fairer alternative that keeps the job ({p}); {model} on rows that were not searched on."


def p_words(p_value: float) -> str:
    return "p below 0.001" if p_value < 0.001 else f"p = {p_value:.3f}"


def _question(search: Search) -> dict[str, Any]:
    wanted = search.wanted
    return {
        "asked": asked(search),
        "favourable": str(search.data.task.favourable_label),
        "keep": dict(wanted.keep),
        "improve": [asdict(each) for each in wanted.improve],
        "nobody_worse": wanted.nobody_worse,
        "alpha": search.alpha,
        "p_value": search.p_value,
        "split_p_values": [each.p for each in search.splits],
    }


def asked(search: Search) -> str:
    """Return the question of a search in words."""
    wanted = search.wanted
    kept = ", ".join(f"{name} ({JOBS[name].words}) worse by less than {limit:g}" for name, limit in wanted.keep.items())
    gaps = []
    for contrast in wanted.improve:
        compared = "lowest over the highest" if contrast.ratio else "largest difference between groups in the"
        of = f", by {contrast.attribute}" if contrast.attribute else ""
        gaps.append(f"{contrast.name} ({compared} {RATE_WORDS[contrast.rate]}{of})")
    verb, more = "are" if len(gaps) > 1 else "is", ""
    if wanted.nobody_worse is not None:
        more = f" and no group's selection rate or TPR falls by more than {wanted.nobody_worse:g}"
    return (
        f"Is there a model with {kept}, whose {' and '.join(gaps)} {verb} better than the incumbent's{more}, on new "
        "people?"
    )


def _sources(search: Search) -> dict[str, Any]:
    data, first = search.data, search.outcome
    attributes = data.sample.attributes
    persons = [] if data.sample.person is None else [PERSONS]
    return {
        "incumbent": {"kind": search.incumbent.kind, "sentence": search.incumbent.words},
        "groups": {each.name: list(each.levels) for each in attributes},
        "rows": {"all": len(data.y), "search": len(first.search), "judge": len(first.judge)},
        "labelled": data.sample.labelled is not None,
        "covers": _covers(data),
        "notes": [*_left_out(attributes), *persons, *first.notes],
    }


def _covers(data: Data) -> str:
    if data.sample.labelled is None:
        return "All figures are of all judge rows, unless they say otherwise."
    return (
        f"Labels are known only for {int(data.sample.known.sum())} of {len(data.y)} rows: figures of the job are of "
        "those alone, shares of favourable decisions are of everybody, and figures that need the labels of the others "
        "are not given."
    )


def _left_out(attributes: Sequence[Attribute]) -> list[str]:
    found = []
    for each in attributes:
        if each.left_out:
            told = ", ".join(f"{level} ({n})" for level, n in each.left_out)
            found.append(f"Groups of {each.name!r} with too few rows are in no gap: {told}.")
        if each.n_missing:
            found.append(f"Rows without {each.name!r} are in no gap of it.")
    return found


def _effort(search: Search) -> dict[str, Any]:
    budget, tested = search.budget, [each.family for each in search.splits]
    return {
        "families": {name: FAMILIES[name].words for name in search.families},
        "budget": {"splits": budget.splits, "max_fits": budget.max_fits, "max_seconds": budget.max_seconds},
        "stopped": search.stopped,
        "fits": sum(each.fits for each in search.splits),
        "seed": search.seed,
        "chosen": {name: tested.count(name) for name in sorted(set(tested)) if name},
    }


def _models(search: Search) -> dict[str, Any]:
    """Return the table of models, and of the first one the verdict, its changes and who gains and who loses."""
    outcome, data, wanted, verdict = search.outcome, search.data, search.wanted, search.verdict
    pairs = [group_names(each, data.sample.attributes) for each in outcome.pairs]
    moved, swapped = ({}, {}) if verdict is None else gains_and_losses(outcome, data, search.alpha)
    return {
        "table": table_of(outcome, data, wanted),
        "qualified": search.qualified,
        "why_not": "no model was found" if verdict is None else verdict.why,
        "changes": {} if verdict is None else {name: asdict(each) for name, each in verdict.changes.items()},
        "pairs": {contrast.name: list(pair) for contrast, pair in zip(wanted.improve, pairs, strict=True)},
        "moved": moved,
        "swapped": swapped,
    }
