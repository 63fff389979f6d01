"""The search: one split of the rows at a time, families on the one half, the one judge on the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr
from sklearn.linear_model import LogisticRegression

from ..frontier.models import Models
from ..measures.cutoffs import cutoffs_for_rate, decide
from ..objectives import Array, Task
from ..problems.threads import one_blas_thread
from ..validation.inputs import check_matrix
from .estimates import Answers
from .families import FAMILIES, Data, Found, proposed
from .requirements import Claims, Pair, Requirements, weakest

Ints = NDArray[np.intp]
CHOOSING = 3
"""One in so many search rows is kept for comparing models that fit too well what they have seen."""


@dataclass(frozen=True)
class Budget:
    """How much may be spent; fits are counted over all splits."""

    splits: int = 20
    max_fits: int | None = None
    max_seconds: float | None = None

    def left(self, fits: int) -> int:
        return 1 << 30 if self.max_fits is None else self.max_fits - fits

    def over(self, fits: int, started: float) -> str:
        """Say why the search stops, if it does."""
        if self.left(fits) <= 0:
            return f"the budget of {self.max_fits} fits was used up"
        if self.max_seconds is not None and time.monotonic() - started > self.max_seconds:
            return f"the budget of {self.max_seconds:g} seconds was used up"
        return ""


@dataclass(frozen=True)
class Plan:
    """What is searched for, where, and how much may be spent; ``rate`` is the share of people a stand-in approves."""

    wanted: Requirements
    families: tuple[str, ...]
    budget: Budget
    seed: int
    rate: float | None


@dataclass(frozen=True, eq=False)
class Candidate:
    """One model of a split: where it comes from, its cut-off, and its answers on the judge rows.

    ``promise`` is the smallest z of what is claimed of it, on the rows that models are compared on: not evidence.
    """

    family: str
    settings: Mapping[str, Any]
    cutoff: float
    promise: float
    answers: Answers = field(repr=False)
    build: Callable[[], Any] = field(repr=False)
    models: Models | None = field(default=None, repr=False)
    place: int = 0
    """Where it is among the models of its family, which can be written; None where it cannot."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """What one split found: candidates, best promise first, and the claims of the first on the judge rows."""

    task: Task
    search: Ints
    judge: Ints
    incumbent: Answers
    pairs: tuple[Pair, ...]
    candidates: tuple[Candidate, ...]
    claims: Claims
    fits: int
    notes: tuple[str, ...] = ()

    @property
    def p(self) -> float:
        """Return the p-value of this split: that the chosen model qualifies; 1 where there is none."""
        return float(ndtr(-weakest(self.claims))) if self.claims else 1.0


@dataclass(frozen=True)
class Split:
    """What is kept of every split: its p-value, its fits, and the family of the model that was tested."""

    p: float
    fits: int
    family: str


def halves(atoms: Ints, seed: int, k: int, person: Ints | None = None) -> tuple[Ints, Ints]:
    """Cut rows in two at random, so that every atom is halved; in increasing order.

    Rows of one ``person`` stay together; people are halved by the atoms of their first rows.
    """
    if person is not None:
        _, first, owner = np.unique(person, return_index=True, return_inverse=True)
        chosen = np.isin(owner.ravel(), halves(atoms[first], seed, k)[0])
        return np.flatnonzero(chosen), np.flatnonzero(~chosen)
    random = np.random.default_rng([seed, k])
    order = random.permutation(len(atoms))
    order = order[np.argsort(atoms[order], kind="stable")]
    first = np.arange(len(atoms)) % 2 == random.integers(2)
    return np.sort(order[first]), np.sort(order[~first])


def atoms_of(data: Data) -> Ints:
    """Return the combination of label and groups of every row, as codes."""
    columns: list[Any] = [data.sample.good & data.sample.known, *(each.codes for each in data.sample.attributes)]
    return np.unique(np.column_stack(columns), axis=0, return_inverse=True)[1].astype(np.intp).ravel()


def stand_in(data: Data, rows: Ints, rate: float | None) -> Answers:
    """Return the answers on all rows of plain logistic regression that was fitted on some."""
    known = data.rows(rows)
    model = LogisticRegression(max_iter=1000)
    model.fit(check_matrix(known["X"]), known["y"], sample_weight=known["sample_weight"])
    scores = model.predict_proba(check_matrix(data.X))[:, list(model.classes_).index(data.task.favourable_label)]
    cutoff = 0.5
    if rate is not None:
        cutoff = float(cutoffs_for_rate(scores[rows], rate, data.sample.weight[rows], between=True)[0])
    return Answers(scores >= cutoff, scores, True)


@one_blas_thread()
def search_split(data: Data, plan: Plan, k: int, most: int, atoms: Ints) -> Outcome:
    """Search one half, with at most so many fits, and judge on the other."""
    wanted, (search, judge) = plan.wanted, halves(atoms, plan.seed, k, data.sample.person)
    said = data.incumbent if data.incumbent is not None else stand_in(data, search, plan.rate)
    data = replace(data, incumbent=said)
    share = float(data.sample.weight[search] @ said.approved[search]) / float(data.sample.weight[search].sum())
    share = min(max(share, 1.0 / len(search)), 1.0 - 1.0 / len(search))
    pairs = wanted.worst_pairs(data.sample.take(search), said.take(search))
    candidates, notes, fits = list[Candidate](), list[str](), 0
    for name in plan.families:
        family = FAMILIES[name]
        compare = search[k % CHOOSING :: CHOOSING] if family.eager else search
        fit = np.setdiff1d(search, compare) if family.eager else search
        found, note = proposed(family, data, fit, share, most - fits, plan.seed + k)
        if found is None:
            notes.append(f"{name}: {note}")
            continue
        fits += found.fits
        candidates += _compared(data, wanted, found, compare, judge, share, pairs)
    order = np.argsort([-each.promise for each in candidates], kind="stable")
    ranked = tuple(candidates[i] for i in order)
    rows, before = data.sample.take(judge), said.take(judge)
    claims = wanted.claims(rows, before, [ranked[0].answers], pairs)[0] if ranked else {}
    return Outcome(data.task, search, judge, said, pairs, ranked, claims, fits, tuple(notes))


def _compared(
    data: Data,
    wanted: Requirements,
    found: Found,
    compare: Ints,
    judge: Ints,
    share: float,
    pairs: Sequence[Pair],
) -> list[Candidate]:
    """Place cut-offs on the search rows, compare there, and take down the answers on the judge rows."""
    assert data.incumbent is not None
    rows, before = data.sample.take(compare), data.incumbent.take(compare)
    there, scores = found.responses(compare), found.responses(judge)
    cutoffs = []
    for i in range(len(found.settings)):
        rate = share if found.rates is None or found.rates[i] is None else float(found.rates[i] or share)
        cutoffs.append(float(cutoffs_for_rate(there[i], rate, rows.weight, between=True)[0]))
    said = [
        [Answers(decide(each[i], cutoff), each[i], found.probability) for i, cutoff in enumerate(cutoffs)]
        for each in (there, scores)
    ]
    promises = map(weakest, wanted.claims(rows, before, said[0], pairs))
    return [
        Candidate(found.family, settings, cutoff, promise, new, _builder(found, i, cutoff), found.models, i)
        for i, (settings, cutoff, promise, new) in enumerate(
            zip(found.settings, cutoffs, promises, said[1], strict=True)
        )
    ]


def _builder(found: Found, place: int, cutoff: float) -> Callable[[], Any]:
    return lambda: found.build(place, cutoff)


def combined(p_values: Sequence[float] | Array) -> float:
    """Return one p-value of those of many splits of the same rows, however they depend on each other: 2 x median.

    Why it is valid after searching, where no model that the search can choose qualifies:

    - Given the search half, the chosen model is one fixed model, and the judge half is new people. It does not qualify,
      so one of its requirements fails: a job figure is worse by the tolerance or more (a non-inferiority test against
      the incumbent), or a contrast of groups is no smaller than the incumbent's. A split's p-value is the largest over
      requirements, hence at least that of the one that fails, which is at most u with probability u or less (an
      intersection-union test; by normal approximation of paired differences).
    - The median is the smallest value that at least half of them do not exceed. By Markov's inequality half of them are
      at most a/2 with probability a at the most (Ruschendorf 1982; Auerbach, Liang, Okumura and Tabord-Meehan 2024 use
      it for this question).
    - Splits are drawn alike and independently given the rows, so their p-values are exchangeable, and the bound holds
      for all numbers of splits at once (Gasparin, Wang and Ramdas 2025): a search may stop at any number, or go on. The
      smallest of all these medians would claim more, but rests on the first splits: nothing would be left over for the
      normal approximation, and another seed would change the verdict more often.
    """
    ordered = np.sort(np.asarray(p_values, dtype=np.float64))
    return float(min(1.0, 2.0 * ordered[(len(ordered) + 1) // 2 - 1])) if len(ordered) else 1.0
