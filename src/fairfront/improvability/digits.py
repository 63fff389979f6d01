"""Digits: how exactly a dossier tells what rests on exact counts, beside the rounded counts that it publishes.

P-values and bounds are computed from exact counts. Where a count of judge rows by group, label and the decisions of
incumbent and model is small, a p-value says only whether it passes, and changes are in steps of what five people make
of them, ends outwards: nobody can tell which of several small counts is behind them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..measures.disclosure import LIMIT
from ..objectives import Array
from ..objectives.people import STEP
from .estimates import JOBS, Answers, Estimate, Sample, shares_behind
from .requirements import Claims, Contrast, Pair, Requirements

FINE, SCORED = 1e-4, 1e-3
"""Steps of figures that no small count is behind, and of figures of scores beside small counts."""
Changes = Mapping[str, tuple[float, ...]]
ROUNDING = 1e-6  # share of a last digit that is none


@dataclass(frozen=True, eq=False)
class Few:
    """Rows, what the incumbent answers ``before`` and a model ``after``, and which counts of them are small.

    ``attributes`` are places of those in which a count of a group by label and both decisions is; ``everyone`` says so
    of all rows.
    """

    rows: Sample
    before: Answers
    after: Answers

    @cached_property
    def attributes(self) -> frozenset[int]:
        known = enumerate(self.rows.attributes)
        return frozenset(i for i, each in known if self._small(np.asarray(each.codes) + 1))

    @cached_property
    def everyone(self) -> bool:
        return self._small(0)

    def _small(self, codes: Array | int) -> bool:
        cells = 6 * self.before.approved + 3 * self.after.approved + np.where(self.rows.known, 1 + self.rows.good, 0)
        counts = np.bincount((12 * np.asarray(codes) + cells).astype(np.intp))
        return bool(((counts > 0) & (counts < LIMIT)).any())

    def __bool__(self) -> bool:
        return self.everyone or bool(self.attributes)

    def touches(self, name: str, wanted: Requirements) -> bool:
        """Tell whether a small count is behind a claim: of a gap in its attributes, of the job in all rows."""
        if name in wanted.keep:
            return JOBS[name].decides and self.everyone
        own = {each.name: each.attribute for each in wanted.improve}.get(name, "")
        return any(own in ("", self.rows.attributes[i].name) for i in self.attributes)

    def told(
        self, changes: Changes, claims: Claims, wanted: Requirements, pairs: Sequence[Pair], z: float
    ) -> dict[str, tuple[float, ...]]:
        """Return changes as they may be told; ``z`` is that of bounds."""
        rows, steps = self.rows, dict.fromkeys(changes, FINE)
        for name in wanted.keep:
            if self.touches(name, wanted) or (self and not JOBS[name].decides):
                steps[name] = max(FINE, job_step(name, rows, self.after))
        for contrast, pair in zip(wanted.improve, pairs, strict=True):
            if self.touches(contrast.name, wanted):
                found = contrast_groups(contrast, pair, claims[contrast.name], rows, z)
                steps[contrast.name] = max(FINE, gap_step(contrast, found, rows, self.before, self.after))
        for name in set(changes) - {*wanted.keep, *(each.name for each in wanted.improve)}:
            if self.attributes:
                smallest = min(int(np.bincount(np.asarray(each.codes) + 1)[1:].min()) for each in rows.attributes)
                steps[name] = STEP / max(smallest, 1)
        return {name: outwards(values, steps[name]) for name, values in changes.items()}


def as_told(value: float) -> float | None:
    """Return a number as files have it; None where it is not defined."""
    return round(float(value), 4) if np.isfinite(value) else None


def coarse_p(p: float, alpha: float) -> float:
    """Return the level where a p-value passes, else 1: beside rounded counts more would give exact ones away."""
    return round(alpha, 6) if p <= alpha else 1.0


def p_words(p: float | None, alpha: float, coarse: bool) -> str:
    """Return a p-value as people read it; one that says only whether it passes as such."""
    if p is None:
        return ""
    if coarse:
        return f"at most {alpha:g}" if p <= alpha else f"above {alpha:g}"
    return "below 0.001" if p < 0.001 else f"{p:.3f}"


def job_step(name: str, rows: Sample, said: Answers) -> float:
    """Return what five people make of a figure of the job; of figures of scores, a digit less than usual."""
    if not JOBS[name].decides:
        return SCORED
    of = rows.known & said.approved if name == "bad_rate" else rows.known
    step = STEP / max(int(of.sum()), 1)
    if name in ("cost", "profit") and rows.costs:
        step *= float(max(np.abs(each).max() for each in rows.costs.values()))
    return float(step)


def gap_step(contrast: Contrast, pairs: Collection[Pair], rows: Sample, before: Answers, said: Answers) -> float:
    """Return what five people of the smallest group of some pairs make of a difference of rates, or of a ratio.

    Of whom a rate is a share may hang on decisions, so that is looked at under both models, and by whole fives.
    """

    def counts(answers: Answers) -> list[tuple[int, int]]:
        return [
            (int((part & own).sum()), int(own.sum()))
            for pair in pairs
            for part, whole in shares_behind(pair.rate, rows, answers)
            for own in (whole & (rows.attributes[pair.attribute].codes == k) for k in pair.groups)
        ]

    fewest = min(whole for answers in (before, said) for _, whole in counts(answers))
    step = STEP / max(fewest - fewest % STEP, STEP)
    if contrast.rate == "f_score":  # it moves up to twice as fast as its share
        step *= 2.0
    rates = [part / max(whole, 1) for part, whole in counts(said)]
    return float(step / max(*rates, step)) if contrast.ratio else float(step)


def contrast_groups(contrast: Contrast, pair: Pair, sides: Sequence[Estimate], rows: Sample, z: float) -> set[Pair]:
    """Return the pairs that a change of a gap rests on: the incumbent's, and the model's worst by value and bound."""
    known = contrast.pairs(rows.attributes)
    lowest = (int(np.argmin([each.value - by * each.error for each in sides])) for by in (0.0, z))
    return {pair, *(known[place] for place in lowest)}


def outwards(values: Sequence[float], step: float) -> tuple[float, ...]:
    """Return a change, its lower end and, where there is one, its upper one in steps; ends are not narrower."""
    value, low, *high = (each / step for each in values)
    unit = 10.0 ** (4 if step >= FINE else 6)
    told = np.rint(step * np.rint(value) * unit), np.floor(step * np.floor(low) * unit + ROUNDING)
    ends = (np.ceil(step * np.ceil(each) * unit - ROUNDING) for each in high)
    return tuple(float(each / unit) + 0.0 for each in (*told, *ends))  # no minus before 0
