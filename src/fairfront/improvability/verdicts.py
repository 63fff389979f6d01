"""Verdicts on the models of the first split: figures that may be shared, who qualifies, and why others do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from ..measures.counts import ratio
from ..measures.decisions import evaluate_scores
from ..measures.evaluation import Evaluation
from ..measures.published import published
from ..objectives import Array, Attribute, Task
from .digits import FINE, Few, as_told, coarse_p, job_step
from .estimates import JOBS, Answers, Estimate, Sample, together_z
from .families import Data
from .requirements import Claims, Contrast, Pair, Requirements, weakest
from .split_search import Candidate, Outcome

SHORT = 10
"""Most models of the first split that are tested one by one; the others were less promising on the search rows."""
SHOWN = ("tpr_gap", "selection_ratio")
INCUMBENT = "incumbent"
MET = "all requirements are met"
OTHERS = "met on this split alone: the p-value of the search, over all splits, is above the level"


@dataclass(frozen=True)
class Verdict:
    """What is said of one model: whether it qualifies, its p-value, and bounds of its changes.

    ``changes`` are by figure the change of the job against the incumbent with the ends of its interval, in the unit of
    the figure, of each gap how much smaller it is and is at least (of a ratio, by which factor larger), and, where
    nobody is to be worse off, the lowest change of a group's rate and its bound; as may be told. ``coarse``: the
    p-value says only whether it passes; ``hidden``: that of the model alone would have to.
    """

    qualified: bool
    why: str
    p: float | None = None
    changes: Mapping[str, tuple[float, ...]] | None = None
    coarse: bool = False
    hidden: bool = False


def verdicts(
    outcome: Outcome, data: Data, wanted: Requirements, confidence: float, together: float, first: bool = True
) -> list[Verdict]:
    """Test models on the judge rows in the order that the search rows gave, until one fails: a fixed sequence.

    Each p-value is the largest up to its own and that of the whole search, ``together``: no model qualifies after one
    that does not, and none where the search as a whole shows nothing. The sequence alone keeps the chance of any false
    claim at one minus the confidence, and the second condition only takes claims away. Bounds hold for all models that
    are tested at once. ``first``: ``together`` is made of the p-value of this split.
    """
    rows, before = data.sample.take(outcome.judge), outcome.incumbent.take(outcome.judge)
    tested = outcome.candidates[:SHORT]
    claims = wanted.claims(rows, before, [each.answers for each in tested], outcome.pairs)
    few = [Few(rows, before, each.answers) for each in tested]
    p = np.array([float(ndtr(-weakest(each))) for each in claims])
    hidden = [known.touches(_least(own)[0], wanted) for known, own in zip(few, claims, strict=True)]
    level, found = 1.0 - confidence, []
    widths = _widths(claims, wanted, confidence)
    highest, vague = together, first and any(hidden[:1])
    for place, known in enumerate(claims):
        if p[place] >= highest:
            highest, vague = float(p[place]), hidden[place]
        fits = bool(highest <= level)
        why = MET if fits else OTHERS if together > level else "one before it fails"
        found_changes = _changes(known, wanted, widths)
        changes = few[place].told(found_changes, known, wanted, outcome.pairs, max(widths.values()))
        why = _short_of(known, wanted, changes, outcome.pairs, rows) if p[place] > level else why
        found.append(Verdict(fits, why, coarse_p(highest, level) if vague else highest, changes, vague, hidden[place]))
    late = Verdict(False, f"not tested: {SHORT} others were more promising on the search rows")
    return found + [late] * (len(outcome.candidates) - len(tested))


def _least(claims: Claims) -> tuple[str, Estimate]:
    """Return the claim that is the least sure, by what it is about."""
    return min(((name, min(some, key=lambda e: e.z)) for name, some in claims.items()), key=lambda e: e[1].z)


def _short_of(
    claims: Claims, wanted: Requirements, changes: Mapping[str, tuple[float, ...]], pairs: Sequence[Pair], rows: Sample
) -> str:
    """Say which requirement is the least sure."""
    name, least = _least(claims)
    if not np.isfinite(least.value):
        return f"{name} is not known for it"
    if name in wanted.keep:
        side = "worse by more than the tolerance" if least.value < 0 else "not surely within the tolerance"
        return f"{name} is {side} ({changes[name][0]:+.4f}, tolerance {wanted.keep[name]:g})"
    if name not in {each.name for each in wanted.improve}:
        return f"{name} may fall by more than {wanted.nobody_worse:g}"
    contrast, pair = next(both for both in zip(wanted.improve, pairs, strict=True) if both[0].name == name)
    better = "larger" if contrast.ratio else "smaller"
    side = f"not {better}" if least.value <= 0 else f"not surely {better}"
    return f"{name} is {side} than the incumbent's between {' and '.join(pair_words(pair, rows.attributes))}"


def pair_words(pair: Pair, attributes: Sequence[Attribute]) -> tuple[str, str]:
    """Return the two groups of a pair, the one with the higher rate first."""
    levels = attributes[pair.attribute].levels
    return levels[pair.high], levels[pair.low]


def _widths(claims: Sequence[Claims], wanted: Requirements, level: float) -> dict[str, float]:
    """Return by figure the standard errors of bounds that hold for all models at once."""
    names = claims[0] if claims else ()
    return {name: together_z([each[name] for each in claims], level, both=name in wanted.keep) for name in names}


def _changes(claims: Claims, wanted: Requirements, widths: Mapping[str, float]) -> dict[str, tuple[float, ...]]:
    found: dict[str, tuple[float, ...]] = {}
    for name, tolerance in wanted.keep.items():
        (each,), better = claims[name], JOBS[name].better
        ends = [better * (each.value - tolerance + side * widths[name] * each.error) for side in (-1.0, 1.0)]
        found[name] = (better * (each.value - tolerance), *sorted(ends))
    for contrast in wanted.improve:
        value, lower = (float(min(_lower(e, z) for e in claims[contrast.name])) for z in (0.0, widths[contrast.name]))
        found[contrast.name] = (float(np.exp(value)), float(np.exp(lower))) if contrast.ratio else (value, lower)
    for name in (each for each in claims if each not in found):
        worse = wanted.nobody_worse or 0.0
        found[name] = tuple(float(min(_lower(e, z) for e in claims[name])) - worse for z in (0.0, widths[name]))
    return found


def _lower(each: Estimate, z: float) -> float:
    return each.value - z * each.error


def judged(outcome: Outcome, data: Data) -> Evaluation:
    """Return the incumbent, first, and all models of a split on its judge rows, in counts that may be shared."""
    rows, task = data.sample.take(outcome.judge), data.task
    said = [outcome.incumbent.take(outcome.judge), *(each.answers for each in outcome.candidates)]
    scores = np.stack([_scores(each) for each in said])
    truth, second = truth_of(rows.good, task), task.favourable == 1
    decided = np.stack([truth_of(each.approved, task) for each in said]).astype(bool)
    weight = None if (rows.weight == 1.0).all() else rows.weight
    values = (scores if second else -scores)[:, None]
    record = evaluate_scores(values, truth, task, rows.attributes, name="judge", sample_weight=weight, decided=decided)
    return published(record, task)


def truth_of(good: NDArray[np.bool_], task: Task) -> NDArray[np.intp]:
    """Return the codes of classes where marks are of the favourable one."""
    return np.asarray(good if task.favourable == 1 else ~good).astype(np.intp)


def _scores(said: Answers) -> Array:
    return said.approved.astype(np.float64) if said.scores is None else said.scores


def table_of(
    outcome: Outcome, data: Data, wanted: Requirements, record: Evaluation, found: Sequence[Verdict]
) -> list[dict[str, Any]]:
    """Return one line per model, the incumbent first, with figures on the judge rows."""
    rows = data.sample.take(outcome.judge)
    names = dict.fromkeys(
        [*("approval_rate", "error", "auc"), *(each.name for each in wanted.improve), *_everywhere(record)]
    )
    if rows.labelled is not None:
        names = dict.fromkeys(name for name in names if "selection" in name or name == "approval_rate")
    said = [outcome.incumbent.take(outcome.judge), *(each.answers for each in outcome.candidates)]
    own = {each.name: contrast_figures(record, each) for each in wanted.improve}
    lines = []
    for i, answers in enumerate(said):
        figures = {name: as_told((own[name] if name in own else record.figure(name))[i]) for name in names}
        few = Few(rows, said[0], answers)
        figures |= {name: _job(name, rows, answers, few) for name in wanted.keep if name not in figures}
        each = None if i == 0 else outcome.candidates[i - 1]
        lines.append({"id": i, **_origin(each), **figures, **_said(None if i == 0 else found[i - 1])})
    return lines


def contrast_figures(record: Evaluation, contrast: Contrast) -> Array:
    """Return a worst gap or ratio of the incumbent, first, and of all models on the judge rows, of published counts."""
    if record.parts(contrast.name):
        return record.figure(contrast.name)
    found = []
    for name, rates in record.groups.items():
        if contrast.attribute in ("", name):
            values = [rates.rate(each) for each in contrast.rates]
            ends = [(np.fmin.reduce(each, axis=1), np.fmax.reduce(each, axis=1)) for each in values]
            found.append(np.max([ratio(low, high) if contrast.ratio else high - low for low, high in ends], axis=0))
    return np.asarray((np.fmin if contrast.ratio else np.fmax).reduce(found))


def _everywhere(record: Evaluation) -> list[str]:
    return [column for name in SHOWN for column in record.parts(name)]


def _origin(each: Candidate | None) -> dict[str, Any]:
    if each is None:
        return {"family": INCUMBENT, "settings": {}}
    return {"family": each.family, "settings": dict(each.settings)}


def _said(verdict: Verdict | None) -> dict[str, Any]:
    if verdict is None:
        return {"qualified": None, "why": "", "p": None}
    return {
        "qualified": verdict.qualified,
        "why": verdict.why,
        "p": None if verdict.p is None else as_told(verdict.p),
    }


def _job(name: str, rows: Sample, said: Answers, few: Few) -> float | None:
    """Return a figure of the job; in steps of five people where few of all rows are behind it."""
    value = JOBS[name].of(rows, said).value
    step = job_step(name, rows, said) if few.everyone else FINE
    return as_told(step * np.rint(value / step)) if np.isfinite(value) else None
