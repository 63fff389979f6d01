"""Options: the handful of points that are worth a person's time, out of all that were solved."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..exceptions import InputError
from ..frontier import Frontier
from ..frontier.choice import Promise
from ..frontier.selection import plain_place, usable
from ..measures.claims import Pair, bound_pair, decides_alike, no_better, rival_words, trivial
from ..measures.figures import Column
from ..measures.promises import has_ends
from ..objectives import rates_of
from ..pareto import spread

ALIKE, NO_BETTER, UNCONSTRAINED = "alike", "no better", "unconstrained"
ACRONYMS = {"auc": "AUC", "fpr": "FPR", "npv": "NPV", "tpr": "TPR"}
TOLERANCE = 0.005
RELATIVE = 0.05
SHOWN = 7


@dataclass(frozen=True)
class Option:
    """One point as a person sees it: its id, what it is, and its figures on the rows it is judged on."""

    id: int
    marks: tuple[str, ...]
    figures: dict[str, float]

    @property
    def mark(self) -> str:
        return ", ".join(self.marks)

    def to_json(self, **more: Any) -> dict[str, Any]:
        """JSON has no word for figures that are hidden or not defined."""
        figures = {name: value if math.isfinite(value) else None for name, value in self.figures.items()}
        return {"id": self.id, "mark": self.mark, **more, **figures}


def in_words(column: str) -> str:
    """Return the name of a column as people write it: ``TPR gap``, ``TPR gap by sex``."""
    found = Column.of(column)
    words = " ".join(ACRONYMS.get(word, word) for word in found.kind.split("_"))
    return f"{words} by {found.attribute}" if found.attribute else words


def main_error(front: Frontier) -> str:
    return "mse" if front.facts.task.kind == "regression" else "error"


def main_gap(front: Frontier) -> str:
    """Of the first notion, such as ``tpr_gap``; the worst over all attributes."""
    return main_gaps(front)[0]


def main_gaps(front: Frontier) -> tuple[str, ...]:
    """Return the gaps of decisions (of values for regression) that the notions are about, each once."""
    wanted = tuple(f"{rate}_gap" for rate in rates_of(front.facts.notions, front.facts.task))
    names = front.column_names()
    there = {Column.of(name).kind for name in names}
    for gap in wanted:
        if gap not in there:
            raise InputError(f"no column {gap} on validation, expected one of {', '.join(names)}.")
    return wanted


def leading_gap(front: Frontier) -> str:
    """Return the gap that suggestions go by: that of decisions, or of training where no group may be shown."""
    gap = main_gap(front)
    return front.facts.gap_column if np.isnan(front.column(gap)).all() else gap


def tolerance_of(front: Frontier) -> float:
    """How much worse than the smallest error a suggestion may be; a share of it for squared errors."""
    if main_error(front) == "error":
        return TOLERANCE
    return float(f"{RELATIVE * float(np.nanmin(front.column('mse')[front.solved])):.2g}")


def plain_id(front: Frontier) -> int:
    return int(front.ids[plain_place(front)])


def suggested_id(front: Frontier) -> int | None:
    """Return the id with the smallest upper bound of the gap among those within a tolerance of the smallest error.

    Points that decide nearly everyone alike, or no better than without looking, are never suggested; None where there
    are no others.
    """
    if trivial(front.judged(), front.facts.task, front.facts.operating)[front.solved].all():
        return None
    return front.choose(least=leading_gap(front), within={main_error(front): tolerance_of(front)})


def shortlist(front: Frontier, n: int = SHOWN) -> tuple[int, ...]:
    """Return the ids of about n points that differ in what people see: plain, suggested, and some between, by loss.

    Points whose error and gap are the same to three digits (of rates: after the point) are one option: nobody could see
    a difference. Each next point is the one farthest from those that are listed.
    """
    columns = np.column_stack([front.column(main_error(front)), front.column(leading_gap(front))])
    axes = np.nan_to_num(columns, nan=1e9, posinf=1e9)
    scaled = axes / np.maximum(axes.max(axis=0) - axes.min(axis=0), 1e-12)
    form = ".3g" if main_error(front) == "mse" else ".3f"
    digits = [(f"{e:{form}}", f"{gap:{form}}") for e, gap in axes.tolist()]
    solved = front.solved
    order = [int(solved[i]) for i in spread(axes[solved], min(len(solved), 4 * n))]
    known = dict.fromkeys([plain_id(front), suggested_id(front)])
    chosen = [front.place(each) for each in known if each is not None]
    while len(chosen) < n:
        seen = {digits[place] for place in chosen}
        rest = [place for place in order if digits[place] not in seen]
        if not rest:
            break
        far = np.abs(scaled[rest][:, None] - scaled[chosen][None]).max(axis=2).min(axis=1)
        chosen.append(rest[int(np.argmax(far))])
    return tuple(int(front.ids[place]) for place in sorted(chosen, key=lambda place: (front.loss[place], place)))


def options_of(front: Frontier, ids: Iterable[int]) -> list[Option]:
    record, read, task = front.record(), front.judged(), front.facts.task
    plain, suggested = plain_id(front), suggested_id(front)
    alike, worse = decides_alike(read), no_better(read, task, front.facts.operating)
    error = main_error(front)
    columns = {"loss": front.loss, front.facts.gap_column: front.gaps.max(axis=1), error: front.column(error)}
    columns |= {name: front.column(name) for name in ("approval_rate", "auc") if name in front.column_names()}
    for gap in main_gaps(front):
        columns[gap] = front.column(gap)
        if has_ends(record, gap):
            columns[f"{gap}_upper"] = front.column(gap, confidence=0.95)
    if task.classes:
        columns["selection_ratio"] = front.column("selection_ratio")
    found = []
    for id in ids:
        place = front.place(id)
        marks = {UNCONSTRAINED: id == plain, "suggested": id == suggested, ALIKE: alike[place], NO_BETTER: worse[place]}
        figures = {name: float(values[place]) for name, values in columns.items()}
        there = tuple(name for name, there in marks.items() if there)
        found.append(Option(int(front.ids[place]), there, figures))
    return found


def _bound_words(front: Frontier, gap: str, id: int, pair: Pair) -> str:
    """Name the pair behind the upper bound where it is another than that of the gap."""
    bound = bound_pair(front.record(), gap, front.place(id))
    if not bound or (set(bound[:2]) == set(pair.groups) and bound[2] == pair.attribute):
        return ""
    by = f", by {bound[2]}" if bound[2] != pair.attribute else ""
    return f"; the upper bound is that of {bound[0]} and {bound[1]}{by}"


def indistinct_words(front: Frontier, gap: str, confidence: float | None = 0.95) -> str:
    """Say that the rows cannot tell models apart by a gap: no bound is below the largest gap that any of them shows.

    Then no model can be shown to have a smaller gap than another, and a rule on the bound takes one all the same.
    Empty where some bound is below it, where bounds are not asked for, and where there is one model only.
    """
    record = front.judged()
    if confidence is None or not has_ends(record, gap) or not Column.of(gap).gap:
        return ""
    among = usable(front, None)
    upper, seen = (front.column(gap, record.name, sure)[among] for sure in (confidence, None))
    if len(among) < 2 or not np.isfinite(upper).any() or not np.isfinite(seen).any():
        return ""
    least, most = float(np.nanmin(upper)), float(np.nanmax(seen))
    if least < most:
        return ""
    return (
        f"These {record.n} rows of {record.name} cannot distinguish the models by a bound of the {in_words(gap)}: the "
        f"smallest {confidence:.0%} upper bound is {least:.3f}, the largest gap that any model shows is {most:.3f}. "
        "Compare fewer or larger groups, or judge on more rows."
    )


def mark_words(front: Frontier, options: list[Option]) -> list[str]:
    record = front.judged()
    alike = f"gives more than 99 % of the {record.name} rows the same decision"
    words = {ALIKE: alike, NO_BETTER: rival_words(record, front.facts.operating)}
    there = {mark for option in options for mark in option.marks}
    return [f"{mark}: {said}; never suggested." for mark, said in words.items() if mark in there]


def promise_words(promises: Iterable[Mapping[str, Any]], test: int) -> list[str]:
    """Say what was asked, observed, expected and promised of a choice, and what noise alone shows on test."""
    said = []
    for each in promises:
        names = ("figure", "asked", "observed", "expected", "promised", "confidence", "most")
        if any(each[name] is None for name in names if name != "asked"):
            continue
        words = Promise(**{name: each[name] for name in names}).words
        said.append(f"{words}; on {each['on']} ({each['rows']} rows).")
        if each.get("noise") is not None:
            said.append(
                f"On the {test} test rows a model with no {in_words(each['figure'])} at all shows about "
                f"{each['noise']:.3f}, by noise alone; this one is expected to show about {each['predicted']:.3f}."
            )
    return said


def pair_sentences(front: Frontier, ids: Iterable[int]) -> list[str]:
    """Say which two groups make the gap of each point, who is below, and how many people it rests on.

    Points with one pair are told together. Then say over how many groups the worst gap is, and who is not compared:
    left out in training, or too few here.
    """
    gap, what = main_gap(front), "rate" if front.facts.task.classes else "mean"
    found: dict[str, list[str]] = {}
    for id in ids:
        pair = front.worst_pair(gap, id)
        if pair is not None:
            by = f", by {pair.attribute}" if len(front.facts.sensitive) > 1 else ""
            lower = f"; {pair.groups[0]} has the lower {what}" if pair.gap > 0 else ""
            bound = _bound_words(front, gap, id, pair)
            found.setdefault(f"between {pair.words}{by}{lower}{bound}.", []).append(str(id))
    said = [f"{in_words(gap)} of id {', '.join(some)}: {words}" for words, some in found.items()]
    rate, left_out = Column.of(gap).figure, dict(front.facts.left_out)
    for name, rates in front.record().groups.items():
        values = rates.rate(rate) if rate in rates.names else np.zeros((1, len(rates.levels)))
        unknown = np.asarray(np.isnan(values).reshape(len(values), len(rates.levels), -1).all(axis=(0, 2)))
        few = [level for level, gone in zip(rates.levels, unknown, strict=True) if gone]
        out, every = [*few, *left_out.get(name, ())], len(rates.levels) + len(left_out.get(name, ()))
        if out:
            words = f"{every - len(out)} of {every} groups; excluded, too few rows: {', '.join(out)}."
            said.append(f"Gaps of {name} compare {words}")
    return said
