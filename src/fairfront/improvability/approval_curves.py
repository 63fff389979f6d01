"""Curves over approval rates: ratio, gap and job of the incumbent and the model shown, with bands for all rates.

One sort of the scores serves all cut-offs, and all draws of weights: a draw gives every row an exponential weight (the
Bayesian bootstrap), which moves cut-offs and figures together. The band is figure +- c x standard error, with c the
95 % quantile over the draws of the largest deviation over all rates, in standard errors. Rows with one score are
approved together, or in the share that the rate leaves for them.

What is kept is made of counts in multiples of 5, and bands are wider by what that can move; figures are left out where
few people are approved or refused, whose number the width of a band would tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..measures.disclosure import FEW
from ..objectives import Array, Attribute
from ..objectives.people import FEWEST, STEP, nearest
from .dossier_layout import Part
from .estimates import Answers, Sample
from .requirements import Contrast
from .sections import Search, Section

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

    def fewest(self, rates: Array, sets: Sequence[Sequence[int]]) -> Array:
        """Return the fewest rows, of some sets of cells, that are approved or refused at the scores around a rate."""
        upto, place, _ = self._places(np.ones(len(self.cell)), rates)
        counts = np.stack([upto[:, list(each)].sum(axis=1) for each in sets], axis=1)
        least = np.minimum(counts, counts[-1] - counts).min(axis=1)
        least[[0, -1]] = np.inf  # that nobody is approved, or everybody, tells nothing
        return np.asarray(np.minimum(least[place - 1], least[place]))

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


def sets_behind(contrast: Contrast, pair: tuple[int, int], labelled: bool, n_cells: int) -> list[list[list[int]]]:
    """Return for each figure of `names_of` the sets of cells whose approved and refused people it is made of."""
    labels = {"selection": [[UNKNOWN, BAD, GOOD]], "tpr": [[GOOD]], "fpr": [[BAD]]}

    def of(rate: str) -> list[list[int]]:
        return [[3 * (g + 1) + each for each in some] for g in pair for some in labels.get(rate, [[GOOD], [BAD]])]

    found = [of(contrast.rate)]
    if not contrast.name.endswith("selection_ratio"):
        found.append(of("selection"))
    return found + [[list(range(label, n_cells, 3)) for label in (GOOD, BAD)]] * (2 if labelled else 0)


def figures(S: Array, T: Array, contrast: Contrast, pair: tuple[int, int], labelled: bool) -> Array:
    """Return the figures of `names_of` from approved weights by rate and cell, (F, R).

    Gaps and ratios are those of one pair of groups: the first less the second, the second over the first.
    """
    approved, whole = S.reshape(len(S), -1, 3), T.reshape(-1, 3)

    def rate(name: str, group: int) -> Array:
        yes, all_ = approved[:, group + 1], whole[group + 1]
        part, of = {
            "selection": (yes.sum(axis=1), all_.sum()),
            "tpr": (yes[:, GOOD], all_[GOOD]),
            "fpr": (yes[:, BAD], all_[BAD]),
            "error": (yes[:, BAD] + all_[GOOD] - yes[:, GOOD], all_[GOOD] + all_[BAD]),
            "precision": (yes[:, GOOD], yes[:, GOOD] + yes[:, BAD]),
        }[name]
        return np.asarray(part / of)

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


def shared(
    table: tuple[Array, Array], contrast: Contrast, pair: tuple[int, int], labelled: bool, unit: float
) -> tuple[Array, Array]:
    """Return figures from approved counts in multiples of 5, and by how much that can have moved them.

    ``unit`` is the mean weight of a row.
    """
    value, moved = _rounded(*table, contrast, pair, labelled, unit)
    if labelled:  # error and bad rate are of all rows, whose counts tell nothing of a group
        S, T = np.zeros_like(table[0]), np.zeros_like(table[1])
        S[:, :3], T[:3] = table[0].reshape(len(S), -1, 3).sum(axis=1), table[1].reshape(-1, 3).sum(axis=0)
        whole = _rounded(S, T, contrast, pair, labelled, unit)
        value[-2:], moved[-2:] = whole[0][-2:], whole[1][-2:]
    return value, moved


def _rounded(
    S: Array, T: Array, contrast: Contrast, pair: tuple[int, int], labelled: bool, unit: float
) -> tuple[Array, Array]:
    S = unit * nearest(S / unit)
    value = figures(S, T, contrast, pair, labelled)
    moved = np.zeros(value.shape)
    for cell in range(len(T)):
        most = np.zeros(value.shape)
        for side in (-1.0, 1.0):
            other = S.copy()
            other[:, cell] = np.clip(other[:, cell] + side * unit * STEP / 2, 0.0, T[cell])
            most = np.maximum(most, np.abs(difference(figures(other, T, contrast, pair, labelled), value)))
        moved = moved + most
    return value, moved


class Curves(Section):
    """Figures of incumbent and model over all approval rates."""

    name = "curves"

    def find(self, search: Search) -> Mapping[str, Any]:
        if search.shown is None:
            return {"curves": []}
        judge = search.outcome.judge
        rows, before = search.data.sample.take(judge), search.outcome.incumbent.take(judge)
        after = search.outcome.candidates[search.shown - 1].answers
        found = [_curve(search, rows, before, after, place) for place in range(len(search.wanted.improve))]
        few = [each.name for each, known in zip(search.wanted.improve, found, strict=True) if known is None]
        return {"curves": [each for each in found if each is not None], "curves_left_out": few}

    def parts(self, record: Mapping[str, Any]) -> Iterator[Part]:
        if few := record.get("curves_left_out"):
            yield Part("Curves over approval rates", [f"Not given of {', '.join(few)}: a label of a group has {FEW}."])
        for each in record["curves"]:
            one, two = each["groups"]
            told = (
                f"Judge rows, at every approval rate; {each['figures'][0]} and selection_ratio are those of {one!r} "
                f"and {two!r} ({each['attribute']}), the incumbent's worst pair on the search rows. Behind +- is half "
                f"of the band that holds for all rates at once with {each['level']:.0%} confidence. Counts are "
                f"multiples of 5; nothing is told where {FEW} of those behind a figure are approved, or refused."
            )
            models = list(each["curves"])
            heads = ["approval rate", *(f"{name}, {model}" for name in each["figures"] for model in models)]
            rows = []
            for r, rate in enumerate(each["rates"]):
                cells = (each["curves"][model][name][r] for name in each["figures"] for model in models)
                rows.append(
                    [f"{rate:.0%}", *("" if cell is None else f"{cell[0]:.3f} +- {cell[1]:.3f}" for cell in cells)]
                )
            yield Part(f"{each['figures'][0]} and the job over approval rates", [told], heads, rows)


def _curve(search: Search, rows: Sample, before: Answers, after: Answers, place: int) -> dict[str, Any] | None:
    """Return the curves of one gap; None where a label of a group has few people."""
    contrast, pair = search.wanted.improve[place], search.outcome.pairs[place]
    codes = rows.attributes[pair[0]].codes
    known = [rows.good & rows.known, ~rows.good & rows.known]
    if min(int((each & (codes == group)).sum()) for each in known for group in pair[1:]) < FEWEST:
        return None
    models = [each.scores for each in (before, after) if each.scores is not None]
    names = ["incumbent", f"id {search.shown}", "difference"] if len(models) == 2 else [f"id {search.shown}"]
    labelled, unit, level = rows.labelled is None, float(rows.weight.mean()), 1.0 - search.alpha
    bands, tables = curves(models, rows, contrast, pair, np.array(RATES_SHOWN), level, search.seed)
    told = [shared(table, contrast, pair[1:], labelled, unit) for table in tables]
    if len(told) == 2:
        told.append((difference(told[1][0], told[0][0]), told[0][1] + told[1][1]))
    figured = names_of(contrast, labelled)
    attribute = rows.attributes[pair[0]]
    sorts = [Sorted.of(scores, rows, attribute) for scores in models]
    behind = sets_behind(contrast, pair[1:], labelled, sorts[0].n_cells)
    few = [np.stack([each.fewest(np.array(RATES_SHOWN), sets) < FEWEST for sets in behind]) for each in sorts]
    few += [few[0] | few[1]] if len(few) == 2 else []
    return {
        "attribute": attribute.name,
        "groups": [attribute.levels[pair[1]], attribute.levels[pair[2]]],
        "level": round(level, 6),
        "rates": list(RATES_SHOWN),
        "figures": list(figured),
        "curves": {
            name: {
                figure: _cells(np.where(hidden[f], np.nan, value[f]), band.half[f] + moved[f])
                for f, figure in enumerate(figured)
            }
            for name, band, (value, moved), hidden in zip(names, bands, told, few, strict=False)
        },
    }


def _cells(value: Array, half: Array) -> list[list[float] | None]:
    known = np.isfinite(value) & np.isfinite(half)
    return [
        [round(float(v), 3), round(float(np.ceil(1e3 * h + 0.5) / 1e3), 3)] if there else None
        for v, h, there in zip(value, half, known, strict=True)
    ]
