"""Rules of decisions: error and rates of whatever is decided by posteriors, expected and measured.

A rule decides d(x), and every rate is linear in it: with Q_c(x) = P(cell c | x) / P(cell c), the expected rate of a
cell is E[d(x) Q_c(x)]. So a rule's expected figures are sums of one small table, (pair of label and cell) x decision,
and its measured figures are the same sums of the table of what rows really are. The rule that maximises

    expected gain  -  sum_q lambda_q z_q,        z = signed gaps of rates,

decides argmax_j sum_pairs P(pair | x) W[pair, j] with W = gain - sum_q lambda_q C_q.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..objectives import Array, Objectives
from .fit_rows import Ints
from .posteriors import rule_scores

UNDECIDED = 1e-9
"""By how much a later label has to score more than an earlier one: at the best multipliers some rows are undecided."""


@dataclass(frozen=True, eq=False)
class Compared:
    """What multipliers drive.

    events (a, pairs, K)  how much a decision of which pair counts in an average; ``inside`` (a, pairs) whom it is over
    signs (a, q)          which averages each gap compares, and ``offset`` (q,) what is subtracted from it
    notion_of (q,)        which notion each gap is of
    """

    events: Array
    inside: Array
    signs: Array
    offset: Array
    two_sided: NDArray[np.bool_]
    notion_of: Ints


def compared_by(objectives: Objectives, pairs: Ints, K: int) -> Compared:
    """Return what notions compare in terms of pairs of label and cell."""
    algebra, averages = objectives.algebra, objectives.layout.averages
    assert algebra.signs is not None
    assert algebra.notion_of is not None
    among = np.stack([np.isin(pairs[:, 1], average.cells) for average in averages]).astype(np.float64)
    events = np.zeros((len(averages), len(pairs), K))
    for counted, average in zip(events, averages, strict=True):
        if average.quantity.label is None:  # errors
            counted[:] = pairs[:, :1] != np.arange(K)
        else:
            counted[:, average.quantity.label] = 1.0
    events *= among[:, :, None]
    return Compared(events, among, algebra.signs, algebra.b, algebra.two_sided, algebra.notion_of)


@dataclass(frozen=True, eq=False)
class Rules:
    """What there is to know of rows to find rules: nothing of features.

    P (n, pairs)          P(label, cell | x), by models that have not seen the row
    share (n,)            weights of rows, which sum to 1
    label, own (n,)       what rows really are: the label, and the pair (-1: its cell is too small to be guessed)
    pairs (pairs, 2)      label and cell of each pair
    cost (K, K)           what deciding j costs for a row of label y
    asked                 what is compared
    approval              the share of rows to be decided for the label ``favourable``, None: as many as pay
    total                 the sum of weights: one of 2 is a row that is there twice
    """

    P: Array
    share: Array
    label: Ints
    own: Ints
    pairs: Ints
    cost: Array
    asked: Compared
    approval: float | None = None
    favourable: int = 1
    total: float = 0.0

    @property
    def signs(self) -> Array:
        return self.asked.signs

    @property
    def offset(self) -> Array:
        return self.asked.offset

    @property
    def two_sided(self) -> NDArray[np.bool_]:
        return self.asked.two_sided

    @property
    def K(self) -> int:
        return len(self.cost)

    @cached_property
    def gain(self) -> Array:
        return np.asarray(-self.cost[self.pairs[:, 0]])

    @cached_property
    def known(self) -> Array:
        """The share of every pair, (pairs,), among rows whose pair is known."""
        some = self.own >= 0
        return np.asarray(np.bincount(self.own[some], self.share[some], minlength=len(self.pairs)), dtype=np.float64)

    @cached_property
    def contrasts(self) -> Array:
        """C (q, pairs, K) with z = sum C * table + constants, for tables of expected decisions."""
        scale = 1.0 / np.maximum(self.asked.inside @ (self.share @ self.P), 1e-300)
        return np.asarray(np.einsum("aq,apk->qpk", self.signs, self.asked.events * scale[:, None, None]))

    def weights(self, multipliers: Array) -> Array:
        """Return W (pairs, K) of the rule of these multipliers; with an approval rate, its cut-off is inside."""
        W = self.gain - np.tensordot(multipliers, self.contrasts, axes=1) - UNDECIDED * np.arange(self.K)
        if self.approval is not None:
            W[:, self.favourable] -= self._cutoff(W)
        return np.asarray(W)

    def _cutoff(self, W: Array) -> float:
        """Return the cut-off midway between two scores at which the approved share comes nearest to what is asked."""
        margin = self.P @ (W[:, self.favourable] - W[:, 1 - self.favourable])
        order = np.argsort(-margin, kind="stable")
        sorted_, approved = margin[order], np.cumsum(self.share[order])
        ends = np.flatnonzero(np.append(sorted_[1:] < sorted_[:-1], True))  # rows with the same score go together
        assert self.approval is not None
        best = ends[np.argmin(np.abs(approved[ends] - self.approval))]
        if best == len(order) - 1:
            return float(sorted_[-1] - 1.0)
        return float(0.5 * (sorted_[best] + sorted_[best + 1]))

    def decide(self, W: Array) -> Ints:
        scores = rule_scores(self.P, W)
        return np.asarray(scores[0] > 0.0 if len(scores) == 1 else scores.argmax(axis=0), dtype=np.intp)

    def expected(self, decided: Ints) -> Array:
        """Return the table (pairs, K) that posteriors expect of decisions (n,)."""
        return np.stack([self.share[decided == j] @ self.P[decided == j] for j in range(self.K)], axis=1)

    def measured(self, decided: Ints) -> Array:
        """Return the table (pairs, K) of what rows really are."""
        code, some = self.own * self.K + decided, self.own >= 0
        found = np.bincount(code[some], self.share[some], minlength=len(self.pairs) * self.K)
        return np.asarray(found.reshape(-1, self.K), dtype=np.float64)

    def rates(self, table: Array) -> Array:
        """Return the average of every group, (a,), of a table."""
        whole = np.maximum(self.asked.inside @ table.sum(axis=1), 1e-300)
        return np.asarray((self.asked.events * table).sum(axis=(1, 2)) / whole)

    def gaps(self, table: Array) -> Array:
        return np.asarray(self.rates(table) @ self.signs - self.offset)

    def utility(self, table: Array) -> float:
        return float((self.gain * table).sum())

    def loss(self, decided: Ints) -> float:
        """Return the measured error, or cost, of decisions."""
        return float(self.share @ self.cost[self.label, decided])

    def errors(self) -> Array:
        """Return the standard error of every measured rate of the plain rule, (a,)."""
        rate = self.rates(self.measured(self.decide(self.weights(np.zeros(self.signs.shape[1])))))
        rows = (self.asked.inside @ self.known) * (self.total or len(self.P))
        return np.asarray(np.sqrt(rate * (1.0 - rate) / np.maximum(rows, 1.0)))
