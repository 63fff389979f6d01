"""Verdicts on the models of the first split: figures that may be shared, who qualifies, and why others do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from ..measures.decisions import evaluate_scores
from ..measures.evaluation import Evaluation
from ..measures.published import published
from ..objectives import Array, Task
from ..objectives.groups import FEWEST, STEP
from .estimates import JOBS, RATES, Answers, Estimate, Sample
from .families import Data
from .requirements import Claims, Contrast, Requirements, weakest
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
    the figure, and of each gap how much smaller it is at least (of a ratio, by which factor it is larger at least).
    """

    qualified: bool
    why: str
    p: float | None = None
    changes: Mapping[str, tuple[float, ...]] | None = None


def verdicts(outcome: Outcome, data: Data, wanted: Requirements, confidence: float, together: float) -> list[Verdict]:
    """Test models on the judge rows in the order that the search rows gave, until one fails: a fixed sequence.

    Each p-value is the largest up to its own and that of the whole search, ``together``: no model qualifies after one
    that does not, and none where the search as a whole shows nothing. The sequence alone keeps the chance of any false
    claim at one minus the confidence, and the second condition only takes claims away. Bounds are those of each model
    alone.
    """
    rows, before = data.sample.take(outcome.judge), outcome.incumbent.take(outcome.judge)
    tested = outcome.candidates[:SHORT]
    claims = wanted.claims(rows, before, [each.answers for each in tested], outcome.pairs)
    p = np.array([float(ndtr(-weakest(each))) for each in claims])
    adjusted = np.maximum(np.maximum.accumulate(p), together) if len(p) else p
    level, found = 1.0 - confidence, []
    for known, own, value in zip(claims, p, adjusted, strict=True):
        fits = bool(value <= level)
        why = MET if fits else OTHERS if together > level else "one before it fails"
        why = _short_of(known, wanted) if own > level else why
        found.append(Verdict(fits, why, float(value), _changes(known, wanted, confidence)))
    late = Verdict(False, f"not tested: {SHORT} others were more promising on the search rows")
    return found + [late] * (len(outcome.candidates) - len(tested))


def _short_of(claims: Claims, wanted: Requirements) -> str:
    """Say which requirement is the least sure."""
    name, least = min(((name, min(some, key=lambda e: e.z)) for name, some in claims.items()), key=lambda e: e[1].z)
    if not np.isfinite(least.value):
        return f"{name} is not known for it"
    if name in wanted.keep:
        change, tolerance = least.value - wanted.keep[name], wanted.keep[name]
        side = "worse by more than the tolerance" if least.value < 0 else "not surely within the tolerance"
        return f"{name} is {side} ({JOBS[name].better * change:+.4f}, tolerance {tolerance:g})"
    side = "not smaller" if least.value <= 0 else "not surely smaller"
    if name not in {each.name for each in wanted.improve}:
        return f"{name} may fall by more than {wanted.nobody_worse:g}"
    return f"{name} is {side if not _ratio(name, wanted) else side.replace('smaller', 'larger')}"


def _ratio(name: str, wanted: Requirements) -> bool:
    return any(each.ratio for each in wanted.improve if each.name == name)


def _changes(claims: Claims, wanted: Requirements, level: float) -> dict[str, tuple[float, ...]]:
    two, one = float(ndtri(0.5 + level / 2.0)), float(ndtri(level))
    found: dict[str, tuple[float, ...]] = {}
    for name, tolerance in wanted.keep.items():
        (each,), better = claims[name], JOBS[name].better
        ends = [better * (each.value - tolerance + side * two * each.error) for side in (-1.0, 1.0)]
        found[name] = (better * (each.value - tolerance), *sorted(ends))
    for contrast in wanted.improve:
        sides = claims[contrast.name]
        value, lower = (float(min(_lower(e, z) for e in sides)) for z in (0.0, one))
        found[contrast.name] = (float(np.exp(value)), float(np.exp(lower))) if contrast.ratio else (value, lower)
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


def coarse_p(p: float, alpha: float) -> float:
    """Return the level where a p-value passes, else 1: beside rounded counts more would give exact ones away."""
    return round(alpha, 6) if p <= alpha else 1.0


def coarse_changes(
    changes: Mapping[str, tuple[float, ...]], wanted: Requirements, rows: Sample, before: Answers
) -> dict[str, tuple[float, ...]]:
    """Return changes whose gaps are in steps of what five people of the smallest group make of a rate, bounds below."""
    found = dict(changes)
    for contrast in wanted.improve:
        part, whole = RATES[contrast.rate](rows, before)
        sizes = [
            (int((whole & own).sum()), float((part & whole & own).sum()))
            for attribute in rows.attributes
            if contrast.attribute in ("", attribute.name)
            for own in (attribute.codes == k for k in range(len(attribute.levels)))
        ]
        step = STEP / max(min(n for n, _ in sizes), 1)
        if contrast.ratio:
            step /= max(max(k / n for k, n in sizes if n), step)
        value, lower = changes[contrast.name]
        found[contrast.name] = (float(step * np.rint(value / step)), float(step * np.floor(lower / step)))
    return found


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
    own = {each.name: contrast_figures(outcome, data, record, each) for each in wanted.improve}
    lines = []
    for i, answers in enumerate(said):
        figures = {name: _plain((own[name] if name in own else record.figure(name))[i]) for name in names}
        figures |= {name: _plain(JOBS[name].of(rows, answers).value) for name in wanted.keep if name not in figures}
        each = None if i == 0 else outcome.candidates[i - 1]
        lines.append({"id": i, **_origin(each), **figures, **_said(None if i == 0 else found[i - 1])})
    return lines


def contrast_figures(outcome: Outcome, data: Data, record: Evaluation, contrast: Contrast) -> Array:
    """Return a worst gap or ratio of the incumbent, first, and of all models on the judge rows.

    Those that the record does not have are counted here; unknown where a group has too few people for it.
    """
    if contrast.name in record.columns:
        return record.figure(contrast.name)
    rows, found = data.sample.take(outcome.judge), []
    for said in (outcome.incumbent.take(outcome.judge), *(each.answers for each in outcome.candidates)):
        whole = RATES[contrast.rate](rows, said)[1]
        fewest = min(
            int((whole & (rows.attributes[i].codes == a)).sum()) for i, a, _ in contrast.pairs(rows.attributes)
        )
        found.append(contrast.worst(rows, said)[1] if fewest >= FEWEST else np.nan)
    return np.array(found)


def _everywhere(record: Evaluation) -> list[str]:
    return [column for name in SHOWN for column in record.parts(name)]


def _origin(each: Candidate | None) -> dict[str, Any]:
    if each is None:
        return {"family": INCUMBENT, "settings": {}}
    return {"family": each.family, "settings": dict(each.settings)}


def _said(verdict: Verdict | None) -> dict[str, Any]:
    if verdict is None:
        return {"qualified": None, "why": "", "p": None}
    return {"qualified": verdict.qualified, "why": verdict.why, "p": None if verdict.p is None else _plain(verdict.p)}


def _plain(value: float) -> float | None:
    return round(float(value), 4) if np.isfinite(value) else None
