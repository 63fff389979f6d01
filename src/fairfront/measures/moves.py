"""Moves of decisions between two models on the same rows: who comes into a rate, who goes out, and what may be told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..objectives import Array
from ..objectives.people import FEWEST, STEP, rounded
from ..records import Record
from .counts import membership, ratio, row_weight, weighted_sums
from .disclosure import LIMIT, publish_decisions
from .ranges import TableRange, added_up, chain_range
from .rates import Margins, PerGroup
from .spans import Range, each_end, joined

OVERALL = "overall"
OFF = STEP // 2  # how far a count that is rounded to the nearest step can be from it
Sides = tuple[Array, Array]


@dataclass(frozen=True, eq=False)
class Moves(PerGroup):
    """Decisions that change from one model to each of N others, per group and, as the last level, overall.

    ``overall`` has every row, those without a group too; it stands in the place of the reference, so that
    `gaps` compares each group with everyone. Shapes (N, c + 1):

    - ``gained``    weight of rows refused before and decided favourably after
    - ``lost``      weight of rows decided favourably before and refused after
    - ``n_gained``, ``n_lost``  the same in rows
    """

    names: ClassVar[tuple[str, ...]] = ("gained", "lost", "n_gained", "n_lost", "net_per_1000", "changed_per_1000")

    gained: Array
    lost: Array
    n_gained: Array
    n_lost: Array

    @property
    def net_per_1000(self) -> Array:
        """Return favourable decisions won less those lost, per 1000 of the group's weight; NaN without any."""
        return 1000.0 * ratio(self.gained - self.lost, self.weight)

    @property
    def changed_per_1000(self) -> Array:
        """Return decisions that change in either direction, per 1000 of the group's weight; NaN without any."""
        return 1000.0 * ratio(self.gained + self.lost, self.weight)


@dataclass(frozen=True, eq=False, repr=False)
class Flips(Record):
    """Changed decisions among all people and among those whose own label is the favourable one."""

    among_all: Moves
    among_favourable: Moves


def changed_sides(values: NDArray[np.bool_], before: NDArray[np.bool_], columns: Array) -> Sides:
    """Return the weights of rows that come into a share and go out of it, (N, q) each."""
    return weighted_sums(values & ~before, columns), weighted_sums(~values & before, columns)


def flips(
    before: NDArray[np.bool_],
    after: NDArray[np.bool_],
    favourable: NDArray[np.bool_],
    codes: NDArray[Any],
    levels: Sequence[str],
    sample_weight: Array | None = None,
) -> Flips:
    """Count who gains and who loses a favourable decision between one model, (n,), and each of N others, (N, n).

    Those of ``favourable`` (n,) have that label; ``codes`` are as in `membership`, and rows without a group count in
    the overall column only.
    """
    rows = np.column_stack([membership(codes, len(levels)), np.ones(len(codes))])
    weighted = rows * row_weight(sample_weight, len(rows))[:, None]
    columns = np.hstack([weighted, rows, weighted * favourable[:, None], rows * favourable[:, None]])
    gained, lost = (np.split(side, 4, axis=1) for side in changed_sides(np.atleast_2d(after), before, columns))
    total, names = np.split(columns.sum(axis=0), 4), (*levels, OVERALL)
    everyone, labelled = (  # weights, each with the rows behind them
        Moves(names, total[k + 1], total[k], gained[k], lost[k], gained[k + 1], lost[k + 1]) for k in (0, 2)
    )
    return Flips(everyone, labelled)


def published_sides(gained: Array, lost: Array, net: Array) -> Sides:
    """Return how many rows gained and lost, (N, c), that may be published beside rates whose counts differ by ``net``.

    The smaller side is rounded where it is small, and the other follows from the published net: otherwise the two
    together with the rates would give the small one back.
    """
    less = rounded(np.minimum(gained, lost))
    up, down = np.where(gained <= lost, less, less + net), np.where(gained <= lost, less - net, less)
    below = np.maximum(0.0, -np.minimum(up, down))
    return rounded(up + below), rounded(down + below)


@dataclass(frozen=True, eq=False)
class Sided:
    """Rows that come into a rate and go out of it, (2, N, c + 1): groups first and everyone last.

    As they are told, with the least and the most that exact ones can be.
    """

    rows: Range

    @property
    def most(self) -> Sides:
        """Return the most rows that can stand behind published ones: intervals include the rounding."""
        return self.rows.high[0], self.rows.high[1]


def moves_by_rate(
    decided: NDArray[np.bool_],
    wrong: NDArray[np.bool_],
    plain: int,
    good: NDArray[np.bool_],
    member: Array,
    shown: tuple[Margins, TableRange] | None = None,
) -> dict[str, Sided]:
    """Return how many rows come into each rate and go out of it against one model.

    ``decided`` and ``wrong`` are (N, n), ``good`` (n,) has the favourable label, ``member`` are (n, c). With ``shown``,
    the published rows of these groups and last of none, and what exact counts can be, with all rows after
    them, moves are those that may be published: made of those of either label, so that they add up to one another
    and to the rates.
    """
    everyone = np.column_stack([member, 1.0 - member.sum(axis=1)])
    columns = [everyone * rows[:, None] for rows in (good, ~good)]
    sides = np.stack([changed_sides(decided, decided[plain], each) for each in columns], axis=1)
    labels, mistakes = Range.exactly(sides), Range.exactly(np.stack(changed_sides(wrong, wrong[plain], everyone)))
    total, by_label, wrongly = labels.sum((1, 3)), labels.sum(3), mistakes.sum(2)
    if shown is not None:
        behind = np.concatenate([each.sum(axis=0) for each in columns])
        labels, total, nets = _published(sides, behind, *shown, plain)
        mistakes = _mistakes(mistakes.shown, labels, *shown, plain)
        by_label, total = added_up(labels.sum(3), total, 1)
        wrongly = mistakes.sum(2) if shown[0].labels.shape[1] > 2 else _all_mistakes(mistakes.sum(2), total, *nets)
    own, other = (slice(None), 0), (slice(None), 1)
    found = {"tpr": (labels.at(*own), by_label.at(*own)), "fpr": (labels.at(*other), by_label.at(*other))}
    found |= {"error": (mistakes, wrongly), "selection": added_up(labels.sum(1), total, 2)}
    return {
        rate: Sided(joined(each.at(..., slice(0, -1)), together.at(..., None), 2))
        for rate, (each, together) in found.items()
    }


def _all_mistakes(wrongly: Range, total: Range, net: Array, off: Array) -> Range:
    """Of two classes, the mistakes of all rows that come and go, (2, N): whoever changes sides makes or mends one.

    All who change sides are ``total``, and mistakes that come less those that go are what published errors differ by.
    """
    more, together = np.stack([net[1] - net[0], net[0] - net[1]]), total.sum(0)
    low, high = (together.low + more - off) / 2.0, (together.high + more + off) / 2.0
    return Range(wrongly.shown, np.maximum(wrongly.low, low), np.minimum(wrongly.high, high))


def _published(
    sides: Array, behind: Array, rows: Margins, spans: TableRange, plain: int
) -> tuple[Range, Range, tuple[Array, Array]]:
    """Publish moves by side, label, model and group, (2, 2, N, c + 1), and those of all rows, (2, N).

    The last are the net of all rows by label, (2, N), and how far it can be off, (N,).

    More come in than go out by what the published rates say. So there is one number to publish per cell, that of the
    smaller side, and cells are published like those of any table: beside a total which makes the moves of all rows
    exact, unless these are few. ``behind`` are the exact rows of each group by label.
    """
    (gained, lost), N = sides, sides.shape[2]
    net, off, cap, every_off = _nets(rows, spans.cells, plain)
    more = np.stack([np.maximum(net, 0.0), np.maximum(-net, 0.0)])
    smaller = np.minimum(gained, lost).transpose(1, 0, 2).reshape(N, -1)
    exact, nets = sides.sum(axis=(1, 3)), more.sum(axis=(1, 3))
    both = np.maximum(exact[0] - nets[0], 0.0)
    both = np.where(((exact == 0) | (exact >= FEWEST)).all(axis=0), both, rounded(both))
    labels = spans.labels.at(slice(0, -1))
    whole = each_end(lambda end: np.concatenate([end[:, rows.k], np.delete(end, rows.k, axis=1).sum(axis=1)]), labels)
    total = np.stack([both, whole.shown.sum() - both], axis=1)
    shown = publish_decisions(np.stack([smaller, behind - smaller], axis=2), whole.shown, total)
    every = rounded(both + nets)
    few = 2.0 * OFF * (every.min(axis=0) <= FEWEST + OFF) + every_off
    far = (few + off.sum(axis=(0, 2)) + np.abs(both - shown[:, :, 0].sum(axis=1)))[:, None]
    cells = chain_range(
        shown, whole.at(None).at(np.zeros(N, dtype=np.intp)), Range(total, total - far, total + far), LIMIT, STEP // 2
    ).at(..., 0)
    cells = each_end(lambda end: end.reshape(N, 2, -1).transpose(1, 0, 2), cells)
    ends = [np.stack([np.maximum(side * net + far, 0.0) for side in (1, -1)]) for far in (-off, off)]
    low, high = np.maximum(cells.low + ends[0], 0.0), np.minimum(cells.high + ends[1], cap)
    fewer = few + np.where(both == 0, off.sum(axis=(0, 2)), 0.0)  # nets that are off can be more than all moves
    few[plain] = fewer[plain] = 0.0
    for each in (low, high):
        each[:, :, plain] = 0.0
    least, most, all_net = np.maximum(every - fewer, 0.0), every + few, net.sum(axis=2)
    one, both_ways = all_net.sum(axis=0), np.array([1.0, -1.0])[:, None]
    least, most = (  # one side less the other is the net of all rows
        np.maximum(least, least[::-1] + both_ways * one - every_off),
        np.minimum(most, most[::-1] + both_ways * one + every_off),
    )
    return Range(rounded(cells.shown + more), low, high), Range(every, least, most), (all_net, every_off)


def _nets(rows: Margins, spans: Range, plain: int) -> tuple[Array, Array, Array, Array]:
    """Return published nets by label, (2, N, c + 1), how far off, the most rows that can change sides, and of all nets.

    Nobody is newly approved who was approved before: no more than are approved now, nor than were refused. Nets of
    groups add up to that of all rows, so one is off by no more than the others together.
    """
    own = np.arange(spans.low.shape[2]) == rows.k

    def of(end: Array, decision: NDArray[np.bool_]) -> Array:
        return np.stack([end[:, :, label][..., decision].sum(axis=(2, 3)) for label in (own, ~own)])

    approved, refused = np.stack([rows.hit, rows.alarm]), of(spans.high, ~own)
    least, most = (of(end, own) for end in (spans.low, spans.high))
    every = np.concatenate([approved, approved.sum(axis=2, keepdims=True)], axis=2)
    width = np.maximum(most - every, every - least)
    cap = np.stack([np.minimum(most, refused[:, [plain]]), np.minimum(most[:, [plain]], refused)])[..., :-1]
    off, total = np.split(width + width[:, [plain]], [approved.shape[2]], axis=2)
    off = np.minimum(off, total + off.sum(axis=2, keepdims=True) - off)
    return approved - approved[:, [plain]], off, cap, total.sum(axis=(0, 2))


def _mistakes(exact: Array, labels: Range, rows: Margins, spans: TableRange, plain: int) -> Range:
    """Of two classes, those who are newly declined by wrong or approved by wrong; of several, by themselves."""
    if rows.labels.shape[1] == 2:
        return each_end(lambda end: np.stack([end[1, 0] + end[0, 1], end[0, 0] + end[1, 1]]), labels)
    shown = np.stack(published_sides(exact[0], exact[1], rows.wrong - rows.wrong[plain]))
    wide = spans.cells.width[:, :-1].sum(axis=(2, 3))
    off = 2.0 * (wide + wide[plain]) + 2.0 * OFF * (shown.min(axis=0) <= FEWEST)
    off[plain] = 0.0
    return Range(shown, np.maximum(shown - off, 0.0), shown + off)
