"""Curves over approval rates as a dossier has them: of counts in multiples of 5, without what rests on few people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..measures.disclosure import FEW
from ..objectives import Array
from ..objectives.people import FEWEST, STEP, nearest
from .approval_curves import RATES_SHOWN, Sorted, curves, difference, figures, names_of
from .dossier_layout import Part
from .estimates import Answers, Sample
from .requirements import Contrast
from .sections import Search, Section


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
                f"multiples of 5, and what rests on {FEW} is left out."
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
    of = search.outcome.pairs[place]
    contrast, pair = search.wanted.improve[place].at(of), (of.attribute, of.high, of.low)
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
    few = [each.fewest(np.array(RATES_SHOWN), contrast, pair[1:], labelled) < FEWEST for each in sorts]
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
