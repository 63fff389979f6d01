"""The verdict on the first model of a search, and the figures of all models on the judge rows.

The first model of a split is the one that looked best on the search rows, so that the judge rows test one model that
was fixed before they were looked at: its estimates and bounds need no correction for the number of models. It qualifies
where its own p-value and that of the whole search are both at most alpha.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from ..measures.counts import ratio
from ..measures.decisions import evaluate_scores
from ..measures.evaluation import Evaluation
from ..objectives import Array, Attribute, Task
from .estimates import JOBS, Answers, Estimate
from .families import Data
from .requirements import Claims, Contrast, Pair, Requirements
from .split_search import Outcome

ALWAYS_SHOWN = ("tpr_gap", "selection_ratio")
INCUMBENT = "incumbent"


@dataclass(frozen=True)
class Change:
    """How a figure changes from the incumbent to the model; ``upper`` is None where only a lower bound is claimed.

    Of a figure of the job it is the difference with its two-sided interval. Of a gap it is how much smaller it is, of a
    ratio the factor by which it is larger, of rates of every group the lowest change, each with its lower bound.
    """

    value: float
    lower: float
    upper: float | None = None


@dataclass(frozen=True)
class Verdict:
    """Whether the first model qualifies, why not, and how its figures change."""

    qualified: bool
    why: str
    changes: Mapping[str, Change]


def verdict_of(outcome: Outcome, data: Data, wanted: Requirements, alpha: float, search_p: float) -> Verdict | None:
    """Judge the first model of a split; None where the split found no model."""
    if not outcome.candidates:
        return None
    changes = changes_of(outcome.claims, wanted, alpha)
    if outcome.p > alpha:
        return Verdict(False, _shortfall(outcome, data.sample.attributes, wanted, changes), changes)
    if search_p > alpha:
        return Verdict(
            False, "met on this split alone: the p-value of the search, over all splits, is too large", changes
        )
    return Verdict(True, "", changes)


def changes_of(claims: Claims, wanted: Requirements, alpha: float) -> dict[str, Change]:
    """Return the change of every figure that a claim is about, at confidence 1 - alpha."""
    one_sided, two_sided = float(ndtri(1.0 - alpha)), float(ndtri(1.0 - alpha / 2.0))
    found: dict[str, Change] = {}
    for name, tolerance in wanted.keep.items():
        (claim,), better = claims[name], JOBS[name].better  # claim = better * change + tolerance
        change, half = better * (claim.value - tolerance), two_sided * claim.error
        found[name] = Change(change, change - half, change + half)
    for contrast in wanted.improve:
        value, lower = _smallest(claims[contrast.name], one_sided)
        found[contrast.name] = Change(*np.exp([value, lower]).tolist()) if contrast.ratio else Change(value, lower)
    for name in claims.keys() - found.keys():  # rates of every group, which may fall by a tolerance
        value, lower = _smallest(claims[name], one_sided)
        allowed = wanted.nobody_worse or 0.0
        found[name] = Change(value - allowed, lower - allowed)
    return found


def _smallest(estimates: Sequence[Estimate], z: float) -> tuple[float, float]:
    """Return the smallest of several estimates, and a lower bound of the smallest of what they estimate."""
    return min(each.value for each in estimates), min(each.value - z * each.error for each in estimates)


def _shortfall(
    outcome: Outcome, attributes: Sequence[Attribute], wanted: Requirements, changes: Mapping[str, Change]
) -> str:
    """Say which requirement is the least sure."""
    claims = ((name, claim) for name, some in outcome.claims.items() for claim in some)
    name, claim = min(claims, key=lambda pair: pair[1].z)
    if not np.isfinite(claim.value):
        return f"{name} is not known for it"
    if name in wanted.keep:
        side = "worse by more than the tolerance" if claim.value < 0 else "not surely within the tolerance"
        return f"{name} is {side} ({changes[name].value:+.4f}, tolerance {wanted.keep[name]:g})"
    for contrast, pair in zip(wanted.improve, outcome.pairs, strict=True):
        if contrast.name == name:
            better = "larger" if contrast.ratio else "smaller"
            side = f"not {better}" if claim.value <= 0 else f"not surely {better}"
            return f"{name} is {side} than the incumbent's between {' and '.join(group_names(pair, attributes))}"
    return f"{name} may fall by more than {wanted.nobody_worse:g}"


def group_names(pair: Pair, attributes: Sequence[Attribute]) -> tuple[str, str]:
    """Return the two groups of a pair, the one with the higher rate first."""
    levels = attributes[pair.attribute].levels
    return levels[pair.high], levels[pair.low]


def evaluate_models(outcome: Outcome, data: Data) -> Evaluation:
    """Evaluate the incumbent, first, and all models of a split on its judge rows."""
    rows, task = data.sample.take(outcome.judge), data.task
    answers = all_answers(outcome)
    scores = np.stack([_scores(each) for each in answers])
    values = (scores if task.favourable == 1 else -scores)[:, None]
    return evaluate_scores(
        values,
        class_codes(rows.good, task),
        task,
        rows.attributes,
        name="judge",
        sample_weight=None if (rows.weight == 1.0).all() else rows.weight,
        decided=np.stack([class_codes(each.approved, task) for each in answers]).astype(bool),
    )


def all_answers(outcome: Outcome) -> list[Answers]:
    """Return the answers of the incumbent, first, and of all models on the judge rows."""
    return [outcome.incumbent.take(outcome.judge), *(each.answers for each in outcome.candidates)]


def class_codes(favourable: NDArray[np.bool_], task: Task) -> NDArray[np.intp]:
    """Return codes of classes where marks are of the favourable one."""
    return np.asarray(favourable if task.favourable == 1 else ~favourable).astype(np.intp)


def _scores(answers: Answers) -> Array:
    return answers.approved.astype(np.float64) if answers.scores is None else answers.scores


def table_of(outcome: Outcome, data: Data, wanted: Requirements) -> list[dict[str, Any]]:
    """Return one line per model, the incumbent first (id 0), with its figures on the judge rows."""
    evaluation, rows = evaluate_models(outcome, data), data.sample.take(outcome.judge)
    per_attribute = [column for name in ALWAYS_SHOWN for column in evaluation.parts(name)]
    names = dict.fromkeys(["approval_rate", "error", "auc", *(each.name for each in wanted.improve), *per_attribute])
    if rows.labelled is not None:
        names = dict.fromkeys(name for name in names if "selection" in name or name == "approval_rate")
    contrasts = {each.name: each for each in wanted.improve}
    figures = {
        name: worst_contrast(evaluation, contrasts[name]) if name in contrasts else evaluation.figure(name)
        for name in names
    }
    lines = []
    for i, answers in enumerate(all_answers(outcome)):
        line: dict[str, Any] = {"id": i, "family": INCUMBENT, "settings": {}}
        if i > 0:
            candidate = outcome.candidates[i - 1]
            line |= {"family": candidate.family, "settings": dict(candidate.settings)}
        line |= {name: _defined(values[i]) for name, values in figures.items()}
        line |= {name: _defined(JOBS[name].of(rows, answers).value) for name in wanted.keep if name not in figures}
        lines.append(line)
    return lines


def worst_contrast(evaluation: Evaluation, contrast: Contrast) -> Array:
    """Return a worst gap or ratio of the incumbent, first, and of all models on the judge rows."""
    if evaluation.parts(contrast.name):
        return evaluation.figure(contrast.name)
    found = []
    for name, rates in evaluation.groups.items():
        if contrast.attribute in ("", name):
            for rate in contrast.rates:
                values = rates.rate(rate)
                low, high = np.fmin.reduce(values, axis=1), np.fmax.reduce(values, axis=1)
                found.append(ratio(low, high) if contrast.ratio else high - low)
    return np.asarray((np.fmin if contrast.ratio else np.fmax).reduce(found))


def _defined(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None
