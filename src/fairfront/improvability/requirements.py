"""Requirements: what an alternative must keep, what must improve, and how both are tested on rows nobody has seen.

An alternative qualifies where all of these hold, so the p-value of "it qualifies" is the largest of theirs (an
intersection-union test, which needs no correction):

- each figure of the job is worse than the incumbent's by less than its tolerance;
- every contrast of two groups under the alternative is smaller than the one pair under the incumbent that was found to
  be its worst on *other* rows. That pair is at most the incumbent's worst gap, so the worst gap is smaller as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np

from ..exceptions import InputError, spelled
from ..measures.figures import RATIO_OF, Column
from ..objectives import Attribute
from ..validation import check_names, check_positive, refuse
from .estimates import JOBS, RATES, Answers, Estimate, Sample, by_person, group_rates

NOTION_OF = {
    "selection": "demographic_parity",
    "tpr": "equal_opportunity",
    "fpr": "predictive_equality",
    "error": "disparate_mistreatment",
    "fnr": "equal_opportunity",
    "odds": "equalized_odds",
    "precision": "equal_opportunity",
    "npv": "equal_opportunity",
    "favourable_errors": "equalized_odds",
    "f_score": "equal_opportunity",
    "balanced_accuracy": "equalized_odds",
}
"""The notion whose gap families lower where a rate's gap is to improve; of those from precision on it stands in."""
TOLERANCE = 0.005
SEVERAL = {"odds": ("tpr", "fpr")}
"""Rates whose worse gap a gap is."""
GAPS = (*(f"{rate}_gap" for rate in (*RATES, *SEVERAL)), *RATIO_OF)
Claims = Mapping[str, tuple[Estimate, ...]]


class Pair(NamedTuple):
    """An attribute and two of its groups, by their places, the first with the higher rate; and which rate it is."""

    attribute: int
    high: int
    low: int
    rate: str


@dataclass(frozen=True)
class Contrast:
    """A worst gap, or the lowest rate over the highest: of one attribute, or the worst of all."""

    name: str
    rate: str
    attribute: str = ""
    ratio: bool = False

    @classmethod
    def of(cls, name: str, attributes: Sequence[Attribute]) -> Contrast:
        column = Column.of(name)
        known = [each.name for each in attributes]
        ratio = RATIO_OF.get(column.figure)
        rate = ratio or column.figure
        if column.kind not in GAPS or column.attribute not in ("", *known):
            one = f", or of one attribute, such as {known[0]}.tpr_gap"
            raise refuse("improve", name, f"one of {', '.join(GAPS)} (of decisions){one}")
        return cls(name, rate, column.attribute, ratio is not None)

    @property
    def rates(self) -> tuple[str, ...]:
        return SEVERAL.get(self.rate, (self.rate,))

    def pairs(self, attributes: Sequence[Attribute]) -> list[Pair]:
        return [
            Pair(i, a, b, rate)
            for rate in self.rates
            for i, each in enumerate(attributes)
            if self.attribute in ("", each.name)
            for a, b in permutations(range(len(each.levels)), 2)
        ]

    def contrasts(self, rows: Sample, said: Answers) -> dict[Pair, Estimate]:
        """Return the difference of rates, or of their logarithms, of every ordered pair of groups."""
        found = {}
        for rate in self.rates:
            by_group = [group_rates(rows, said, rate, each) for each in rows.attributes]
            found[rate] = [[each.log for each in some] for some in by_group] if self.ratio else by_group
        return {
            pair: found[pair.rate][pair.attribute][pair.high].less(found[pair.rate][pair.attribute][pair.low])
            for pair in self.pairs(rows.attributes)
        }

    def shown(self, contrast: float) -> float:
        """Return the figure that people read of the largest contrast: a gap, or a ratio."""
        return float(np.exp(-contrast)) if self.ratio else contrast

    def worst(self, rows: Sample, said: Answers) -> tuple[Pair, float]:
        found = {pair: each.value for pair, each in self.contrasts(rows, said).items()}
        known = {pair: value for pair, value in found.items() if not np.isnan(value)}
        if not known:
            return next(iter(found)), np.nan
        pair = max(known, key=lambda each: known[each])
        return pair, self.shown(known[pair])


@dataclass(frozen=True)
class Requirements:
    """Tolerances by figure of the job, gaps that must be smaller, and by how much rates of a group may fall."""

    keep: Mapping[str, float]
    improve: tuple[Contrast, ...]
    nobody_worse: float | None = None

    @classmethod
    def of(
        cls,
        keep: Any,
        improve: Any,
        nobody_worse: Any,
        attributes: Sequence[Attribute],
        *,
        scored: bool,
        costs: bool,
    ) -> Requirements:
        if keep is None:
            keep = {"auc" if scored else "error": TOLERANCE}
        if not isinstance(keep, Mapping) or not keep or not all(isinstance(name, str) for name in keep):
            raise refuse("keep", keep, "a mapping of figures to tolerances, such as {'auc': 0.005}")
        for name in keep:
            if name not in JOBS:
                raise InputError(f"{spelled('keep')} names {name!r}, expected one of {', '.join(JOBS)}.")
            if name in ("auc", "gini", "ks", "log_loss") and not scored:
                raise InputError(
                    f"{spelled('keep')} names {name!r}, which needs scores, found decisions of the incumbent; keep "
                    "'error', 'bad_rate' or 'cost', or give its scores."
                )
            if name in ("cost", "profit") and not costs:
                raise InputError(f"{spelled('keep')} names {name!r}, expected costs too; give {spelled('costs=')}.")
        tolerances = {name: check_positive(keep[name], f"keep[{name!r}]", zero=True) for name in keep}
        names = check_names(improve, "improve", "a gap such as 'tpr_gap', or a list of them")
        if not names:
            raise InputError(f"{spelled('improve')} is empty, expected a gap such as 'tpr_gap'.")
        worse = None if nobody_worse is None else check_positive(nobody_worse, "nobody_worse", zero=True)
        return cls(tolerances, tuple(Contrast.of(name, attributes) for name in names), worse)

    @property
    def notions(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(NOTION_OF[each.rate] for each in self.improve))

    def refuse_unlabelled(self) -> None:
        """Refuse figures that need the labels of people whom the incumbent did not approve."""
        decided = [name for name in self.keep if JOBS[name].decides]
        rates = [each.name for each in self.improve if each.rate != "selection"]
        for name in (*decided, *rates):
            raise InputError(
                f"{name!r} needs the labels of everybody, found labels of those alone whom "
                f"{spelled('labelled_only_if')} marks; keep auc, gini, ks or log_loss (of them alone), and improve "
                "selection_gap or selection_ratio."
            )

    def worst_pairs(self, rows: Sample, incumbent: Answers) -> tuple[Pair, ...]:
        return tuple(each.worst(rows, incumbent)[0] for each in self.improve)

    def claims(
        self, rows: Sample, incumbent: Answers, models: Sequence[Answers], pairs: Sequence[Pair]
    ) -> list[Claims]:
        """Return of every model estimates that all have to be above 0, by what they are about.

        ``pairs`` are the incumbent's worst, found on other rows.
        """
        jobs = {name: JOBS[name].of(rows, incumbent) for name in self.keep}
        worst = [each.contrasts(rows, incumbent)[pair] for each, pair in zip(self.improve, pairs, strict=True)]
        found = list[Claims]()
        for said in models:
            claims: dict[str, tuple[Estimate, ...]] = {}
            for name, tolerance in self.keep.items():
                job = JOBS[name]
                claims[name] = (job.of(rows, said).less(jobs[name]).times(job.better).plus(tolerance),)
            for each, before in zip(self.improve, worst, strict=True):
                claims[each.name] = tuple(before.less(after) for after in each.contrasts(rows, said).values())
            claims |= self._nobody_worse(rows, incumbent, said)
            found.append({name: tuple(by_person(each, rows) for each in some) for name, some in claims.items()})
        return found

    def _nobody_worse(self, rows: Sample, incumbent: Answers, said: Answers) -> dict[str, tuple[Estimate, ...]]:
        if self.nobody_worse is None:
            return {}
        allowed, found = self.nobody_worse, {}
        for rate in ("selection",) if rows.labelled is not None else ("selection", "tpr"):
            both = [
                zip(*(group_rates(rows, each, rate, attribute) for each in (incumbent, said)), strict=True)
                for attribute in rows.attributes
            ]
            found[f"{rate} of every group"] = tuple(now.less(was).plus(allowed) for some in both for was, now in some)
        return found


def weakest(claims: Claims) -> float:
    """Return the smallest z of claims that all have to hold."""
    return min(each.z for some in claims.values() for each in some)
