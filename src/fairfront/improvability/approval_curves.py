"""Curves over approval rates: ratio, gap and job of the incumbent and the model shown, with bands for all rates.

One sort of the scores serves all cut-offs, and all draws of weights: a draw gives every row an exponential weight (the
Bayesian bootstrap), which moves cut-offs and figures together. The band is figure +- c x standard error, with c the
95 % quantile over the draws of the largest deviation over all rates, in standard errors. Rows with one score are
approved together, or in the share that the rate leaves for them.

What is kept is made of counts in multiples of 5, and bands are wider by what that can move; figures are left out where
few people are approved or refused, whose number the width of a band would tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..measures.rates import Margins, derived_share
from ..objectives import Array, Attribute
from .estimates import Sample
from .requirements import Contrast

Ints = NDArray[np.intp]
RATES_SHOWN = tuple(np.round(np.arange(0.05, 0.951, 0.05), 2).tolist())
DRAWS, BLOCKS = 400, 1000
"""Draws of weights, and blocks of neighbouring scores that rows are merged into for them."""
UNKNOWN, BAD, GOOD = 0, 1, 2


@dataclass(frozen=True, eq=False)
class Sorted:
    """Rows of one model sorted by score: the block of rows with equal scores, and the cell, of every row.

    Cells are 3 x (place of the group + 1) + label, which is unknown, bad or good; the first group is "none of them".
    """

    block: Ints
    cell: Ints
    n_cells: int

    @classmethod
    def of(cls, scores: Array, rows: Sample, attribute: Attribute, most: int | None = None) -> Sorted:
        """Sort rows; with ``most``, rows of neighbouring scores are merged into about so many blocks."""
        assert attribute.codes is not None
        _, block, counts = np.unique(-scores, return_inverse=True, return_counts=True)
        block = block.ravel()
        if most is not None and len(counts) > most:
            block = ((np.cumsum(counts) - counts) * most // len(scores))[block]
        label = np.where(rows.known, np.where(rows.good, GOOD, BAD), UNKNOWN)
        return cls(block, 3 * (attribute.codes + 1) + label, 3 * (len(attribute.levels) + 1))

    def approved(self, weight: Array, rates: Array) -> tuple[Array, Array]:
        """Return the weight of approved rows by rate and cell, (R, cells), and that of all rows, (cells,)."""
        upto, place, part = self._places(weight, rates)
        return upto[place - 1] + part[:, None] * (upto[place] - upto[place - 1]), upto[-1]

    def fewest(self, rates: Array, contrast: Contrast, pair: tuple[int, int], labelled: bool) -> Array:
        """Return the fewest rows behind each figure of `names_of`, (F, R), at the scores on both sides of a rate."""
        upto, place, _ = self._places(np.ones(len(self.cell)), rates)
        found = np.stack([each.min(axis=1) for each in _behind(upto, contrast, pair, labelled)])
        found[:, [0, -1]] = np.inf  # that nobody is approved, or everybody, tells nothing
        return np.asarray(np.minimum(found[:, place - 1], found[:, place]))

    def _places(self, weight: Array, rates: Array) -> tuple[Array, Ints, Array]:
        """Return the weight of rows down to every score by cell, the score of each rate, and what part of its rows."""
        n_blocks = int(self.block.max()) + 1
        sums = np.bincount(self.block * self.n_cells + self.cell, weight, minlength=n_blocks * self.n_cells)
        upto = np.vstack([np.zeros(self.n_cells), sums.reshape(n_blocks, self.n_cells).cumsum(axis=0)])
        share = upto.sum(axis=1) / upto[-1].sum()
        place = np.clip(np.searchsorted(share, rates, side="left"), 1, n_blocks)
        width = share[place] - share[place - 1]
        part = np.divide(rates - share[place - 1], width, out=np.ones(len(rates)), where=width > 0)
        return upto, place, part


def names_of(contrast: Contrast, labelled: bool) -> tuple[str, ...]:
    """Return the figures of a curve; where labels are missing, those that need none."""
    ratio = () if contrast.name.endswith("selection_ratio") else ("selection_ratio",)
    return (contrast.name, *ratio, *(("error", "bad_rate") if labelled else ()))


def _behind(upto: Array, contrast: Contrast, pair: tuple[int, int], labelled: bool) -> list[Array]:
    """Return the counts of people, (B, some), that each figure of `names_of` is made of, from rows down to a score."""
    yes = upto.reshape(len(upto), -1, 3)
    labels = {"selection": [[UNKNOWN, BAD, GOOD]], "tpr": [[GOOD]], "fnr": [[GOOD]], "fpr": [[BAD]]}

    def of(rate: str) -> Array:
        some = [yes[:, g + 1, each].sum(axis=1) for g in pair for each in labels.get(rate, [[GOOD], [BAD]])]
        return np.stack([*some, *(each[-1] - each for each in some)], axis=1)

    found = [of(contrast.rate)]
    if not contrast.name.endswith("selection_ratio"):
        found.append(of("selection"))
    if labelled:
        bad, good = (yes[:, :, label].sum(axis=1) for label in (BAD, GOOD))
        wrong = bad + good[-1] - good
        found += [np.stack([wrong, bad[-1] + good[-1] - wrong], axis=1), np.stack([bad, good], axis=1)]
    return found


def figures(S: Array, T: Array, contrast: Contrast, pair: tuple[int, int], labelled: bool) -> Array:
    """Return the figures of `names_of` from approved weights by rate and cell, (F, R).

    Gaps and ratios are those of one pair of groups: the first less the second, the second over the first.
    """
    approved, whole = S.reshape(len(S), -1, 3), T.reshape(-1, 3)

    def rate(name: str, group: int) -> Array:
        yes, all_ = approved[:, group + 1], whole[group + 1]
        if name == "selection":
            return np.asarray(yes.sum(axis=1) / all_.sum())
        right = np.stack([yes[:, GOOD], all_[BAD] - yes[:, BAD]], axis=-1)
        margins = Margins(all_[None, [GOOD, BAD]], right[:, None], yes[:, [BAD]], 0)
        return derived_share(name, margins, margins, margins).value[:, 0]

    with np.errstate(divide="ignore", invalid="ignore"):
        one, two = (rate(contrast.rate, group) for group in pair)
        found = [two / one if contrast.ratio else one - two]
        if not contrast.name.endswith("selection_ratio"):
            found.append(rate("selection", pair[1]) / rate("selection", pair[0]))
        if labelled:
            bad, good = approved[:, :, BAD].sum(axis=1), approved[:, :, GOOD].sum(axis=1)
            known = whole[:, BAD].sum() + whole[:, GOOD].sum()
            found += [(bad + whole[:, GOOD].sum() - good) / known, bad / (bad + good)]
    return np.stack(found)


def difference(one: Array, other: Array) -> Array:
    """Return one less the other; NaN where either is infinite, as a ratio to nobody approved."""
    known = np.isfinite(one) & np.isfinite(other)
    return np.asarray(np.subtract(one, other, out=np.full(known.shape, np.nan), where=known))


@dataclass(frozen=True, eq=False)
class Band:
    """Figures (F, R) of a curve, and half the width of the band around each."""

    value: Array
    half: Array


def half_widths(apart: Array, level: float) -> Array:
    """Return half the width of the band of all rates at once from deviations (B, F, R), each figure on its own.

    Where a draw has no value, as a ratio to nobody approved, there is no band, and others do not wait for it.
    """
    error = np.sqrt(np.mean(apart**2, axis=0))
    known = np.isfinite(error) & (error > 0)
    largest = np.divide(np.abs(apart), error, out=np.zeros_like(apart), where=known).max(axis=2)
    return np.asarray(np.quantile(largest, level, axis=0, method="higher")[:, None] * error)


def curves(
    models: Sequence[Array],
    rows: Sample,
    contrast: Contrast,
    pair: tuple[int, int, int],
    rates: Array,
    level: float,
    seed: int,
    draws: int = DRAWS,
) -> tuple[list[Band], list[tuple[Array, Array]]]:
    """Return the band of every model, given by its scores, and the last less the first; and the models' tables."""
    which, a, b = pair
    merged = [Sorted.of(scores, rows, rows.attributes[which], BLOCKS) for scores in models]
    labelled, random = rows.labelled is None, np.random.default_rng(seed)

    def at(tables: Sequence[tuple[Array, Array]]) -> Array:
        found = [figures(*each, contrast, (a, b), labelled) for each in tables]
        return np.stack([*found, difference(found[-1], found[0])])

    people = np.arange(len(rows.weight)) if rows.person is None else rows.person
    n_draws, owner = len(np.unique(people)), np.unique(people, return_inverse=True)[1].ravel()

    def drawn() -> Array:
        weight = rows.weight * random.standard_exponential(n_draws)[owner]
        return at([each.approved(weight, rates) for each in merged])

    centre, some = at([each.approved(rows.weight, rates) for each in merged]), np.stack([drawn() for _ in range(draws)])
    tables = [Sorted.of(scores, rows, rows.attributes[which]).approved(rows.weight, rates) for scores in models]
    halves = [half_widths(difference(some[:, j], centre[j]), level) for j in range(len(centre))]
    return [Band(value, half) for value, half in zip(at(tables), halves, strict=True)], tables
