"""Somebody who has every output of a run, knows how counts are rounded, and works out how many people there were.

Counts are read as they stand, as a rate times its base, and as what is left of a whole. `Guess` then takes each of them
for what the documents say that it may be (exact, or one of a few that are rounded to it), puts all totals beside them,
and asks for the least and the most that a count can be: where both are the same, the count is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from fairfront.measures import Evaluation, GroupRates
from fairfront.measures.rates import ClassRates

LIMIT = 10
ROUNDED = {0: (0, 2), 5: (3, 7), 10: (8, 10)}
"""What may stand behind a count that may have been rounded."""


Table = tuple[list[str], np.ndarray, np.ndarray]
"""Names of groups, their rows by label and decision, (c, 2, 2), and those of all rows, (2, 2)."""


def evaluated(record: Evaluation, attribute: str, place: int, good: int) -> Table:
    """Return the table of one model on the rows that it was chosen on, worked out of figures that are written."""
    rates = record.groups[attribute]
    assert isinstance(rates, GroupRates)
    assert rates.labelled is not None
    positives, negatives = rates.labelled.T
    return (
        list(rates.levels),
        _cells(rates.tpr[place], rates.fpr[place], positives, negatives),
        totals_of(record, good)[place],
    )


def numbers(lines: Sequence[Mapping[str, Any]], name: str) -> np.ndarray:
    """Return an entry of every line of one model's table on test, the value of estimates, NaN where words stand."""
    found = [line[name][0] if isinstance(line[name], list) else line[name] for line in lines]
    return np.array([np.nan if isinstance(value, str) else float(value) for value in found])


def audited(lines: Sequence[Mapping[str, Any]]) -> Table:
    good = numbers(lines, "labelled_favourable")
    cells = _cells(*(numbers(lines, name) for name in ("tpr", "fpr")), good, numbers(lines, "rows") - good)
    return [line["group"] for line in lines][:-1], cells[:-1], cells[-1]


def _cells(tpr: np.ndarray, fpr: np.ndarray, positives: np.ndarray, negatives: np.ndarray) -> np.ndarray:
    hit, alarm = (np.where(base == 0, 0.0, rate * base) for rate, base in ((tpr, positives), (fpr, negatives)))
    return np.stack([np.stack([hit, positives - hit], 1), np.stack([alarm, negatives - alarm], 1)], 1)


def beside(shown: Table, exact: Table) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return cells (c + 1, 2, 2) as shown and exact, and the totals shown; the last cells are what groups leave."""
    given = [name for name, cells in zip(*shown[:2], strict=True) if name in exact[0] and not np.isnan(cells).any()]
    found = []
    for names, cells, total in (shown, exact):
        known = np.array([cells[names.index(name)] for name in given])
        found.append(np.concatenate([known, (total - known.sum(axis=0))[None]]))
    return found[0], np.rint(found[1]), shown[2]


def totals_of(record: Evaluation, good: int) -> np.ndarray:
    """Return all rows by model, label and decision, (N, 2, 2), from the error, the approval rate and the labels."""
    assert record.labels is not None
    n, positives = record.n, record.n * record.labels[good]
    wrong, approved = record["error"] * n, record["approval_rate"] * n
    hit = (approved - wrong + positives) / 2.0
    alarm = approved - hit
    return np.stack([np.stack([hit, positives - hit], 1), np.stack([alarm, n - positives - alarm], 1)], 1)


def recalls_of(record: Evaluation, attribute: str) -> Iterator[np.ndarray]:
    """Return rows of every class that are decided as labelled and otherwise, of every group."""
    rates = record.groups[attribute]
    assert isinstance(rates, ClassRates)
    assert rates.labelled is not None
    right = np.nan_to_num(rates.recall) * rates.labelled
    yield from (right, rates.labelled - right, right.sum(axis=2), (rates.labelled - right).sum(axis=1))


def small(counts: Any) -> np.ndarray:
    """Return the counts that are small and not rounded."""
    values = np.rint(np.asarray(counts, dtype=np.float64).ravel())
    return values[(values > 0) & (values < LIMIT) & (values % 5 != 0)]


class Guess:
    """All that is known of one table of groups, labels and decisions, (c, 2, 2), with its totals (2, 2)."""

    def __init__(self, shown: np.ndarray, total: np.ndarray, hidden: tuple[int, ...] = (), exact: bool = False) -> None:
        self.shape, self.size = shown.shape, shown.size
        self.place = np.arange(shown.size).reshape(shown.shape)
        self.rows: list[np.ndarray] = []
        self.ends: list[tuple[float, float]] = []
        for label, decision in np.ndindex(2, 2):
            self._add(self.place[:, label, decision], *_known(total[label, decision], exact))
        if exact:
            for where in np.ndindex(shown.shape):
                if where[0] not in hidden:
                    self._add(self.place[where], shown[where], shown[where])
            return
        sizes, labels = shown.sum(axis=(1, 2)), shown.sum(axis=2)
        taker = int(np.argsort(sizes, kind="stable")[-1])
        for g in range(len(sizes)):
            self._add(self.place[g], *_known(sizes[g], g != taker and sizes[g] >= 4 * LIMIT))
            for label in range(2):
                largest = int(np.argsort(labels[:, label], kind="stable")[-1])
                plain = g not in (taker, largest) and labels[g].min() >= 2 * LIMIT and sizes[g] >= 4 * LIMIT
                self._add(self.place[g, label], *_known(labels[g, label], plain))
                settled = shown[largest, label].min() >= LIMIT and plain and shown[g, label].min() > LIMIT
                for decision in range(2):
                    cell = shown[g, label, decision]
                    close = shown[largest, label].min() >= LIMIT and plain and cell in ROUNDED
                    ends = ROUNDED[int(cell)] if close else _known(cell, settled)
                    self._add(self.place[g, label, decision], *ends)

    def _add(self, places: Any, low: float, high: float) -> None:
        row = np.zeros(self.size)
        row[np.ravel(places)] = 1.0
        self.rows.append(row)
        self.ends.append((low, high))

    def know(self, places: Any, low: float, high: float) -> None:
        """Take note of the least and the most that some cells can be together."""
        self._add(self.place[places], low, high)

    def range(self, places: Any) -> tuple[float, float] | None:
        """Return the least and the most that some cells can be together, None where what was assumed cannot be."""
        aim = np.zeros(self.size)
        aim[np.ravel(self.place[places])] = 1.0
        low, high = np.array(self.ends).T
        known = LinearConstraint(np.array(self.rows), np.ceil(low - 1e-6), np.floor(high + 1e-6))
        found = [
            milp(sign * aim, constraints=known, integrality=np.ones(self.size), bounds=Bounds(0, np.inf))
            for sign in (1.0, -1.0)
        ]
        if any(each.x is None for each in found):
            return None
        return float(np.rint(found[0].fun)), float(np.rint(-found[1].fun))


def _known(count: float, exact: bool) -> tuple[float, float]:
    """Return what may stand behind a count: itself, or as much as running totals are rounded by."""
    return (count, count) if exact else (max(count - 12.0, 0.0), count + 12.0)
