"""Points against the plain model on the same rows: changes per rate and group, calibration, and which points differ."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..measures.calibration import reliability_bins
from ..measures.moves import Sides
from ..measures.paired import MEANS, SHARES, Change, PairedRows, effective_rows, mean_change, rounded, share_change
from ..objectives import Array

BINS = ("predicted", "observed", "n")
ROWS_AT_ONCE = 16_384


def base64_of(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


@dataclass(frozen=True, eq=False)
class Rows:
    """Held-out rows with the decisions of k points; it lives while details are made and is never stored.

    ``probability`` (k, n) is that of the favourable label where the models give one; ``rates`` are those that the
    notions are about.
    """

    paired: PairedRows
    rates: tuple[str, ...]
    probability: Array | None


def pairwise(values: NDArray[Any], weight: Array, confidence: float, *, share: bool) -> Change:
    """Return the differences of weighted means between any two of k models, (k, k), row model less column model.

    ``values`` (k, n) are flags where ``share`` is true; products run over blocks of rows.
    """
    k, total = len(values), float(weight.sum())
    product, mean = np.zeros((k, k)), np.zeros(k)
    kind: Any = np.float32 if share else np.float64
    for start in range(0, values.shape[1], ROWS_AT_ONCE):
        part = slice(start, start + ROWS_AT_ONCE)
        block: NDArray[Any] = values[:, part].astype(kind)
        row: NDArray[Any] = weight[part].astype(kind)
        product += np.asarray((block * row) @ block.T, dtype=np.float64)
        mean += np.asarray(block @ row, dtype=np.float64)
    if total <= 0:
        return Change(*(np.full((k, k), np.nan) for _ in range(3)))
    size = effective_rows(weight[:, None])[0]
    own = np.diag(product) / total
    square = np.maximum(own[:, None] + own[None, :] - 2.0 * product / total, 0.0)
    difference = (mean[:, None] - mean[None, :]) / total
    if not share:
        return mean_change(difference, square, size, confidence)
    gained, lost = (np.maximum(square + s * difference, 0.0) * size / 2.0 for s in (1.0, -1.0))
    return share_change(gained, lost, size, confidence)


def describe(rows: Rows) -> dict[str, Any]:
    """Return the fields of `Details` that come from rows.

    Of each rate: its change in every group and, last, overall; the change of the gaps to the reference; who changed
    sides. Changes are differences of rates.
    """
    paired, error = rows.paired, "mse" if rows.paired.regression else "error"
    compared = [paired.by_group(place) for place in range(len(paired.attributes))]
    described: list[dict[str, Any]] = []
    for attribute, found in zip(paired.attributes, compared, strict=True):
        changes, c = {}, found.member.shape[1]
        for rate, change in found.changes.items():
            gap = change.columns(slice(0, c - 1)).less(change.columns(slice(c - 1, c)))
            sides = found.sides.get(rate)
            counts = {} if sides is None else _moved(sides)
            behind = {"rows": rounded(_people(paired, attribute.name, rate), 0)}
            changes[rate] = counts | change.listed() | {"gap": gap.listed()} | behind
        n = paired.record.groups[attribute.name].n
        bins = None
        if rows.probability is not None and attribute.codes is not None:
            bins = _calibration(paired, rows.probability, found.member)
        known = {"name": attribute.name, "levels": list(found.levels), "n": rounded(n, 0)}
        described.append(known | {"rates": changes, "calibration": bins})
    bits = np.packbits(_differing(rows).ravel(), bitorder="little")
    return {
        "overall": {error: paired.overall()[error].listed()},
        "attributes": tuple(described),
        "told_apart": base64_of(bits.tobytes()),
    }


def _moved(sides: Sides) -> dict[str, Any]:
    """Return the rows that changed sides."""
    gained, lost = sides
    return {"gained": rounded(gained, 0), "lost": rounded(lost, 0)}


def _people(paired: PairedRows, attribute: str, rate: str) -> Array:
    """Return how many rows a rate is about in each group and, last, in all."""
    every = {"tpr": paired.good, "fpr": ~paired.good}.get(rate, np.ones(len(paired.good), dtype=bool))
    return np.append(paired.record.groups[attribute].people(rate, paired.task.favourable), every.sum())


def _differing(rows: Rows) -> NDArray[np.bool_]:
    """Which two of k models differ significantly, (k, k): in error or in a gap of the notion."""
    paired = rows.paired

    def compared(rate: str, weight: Array) -> Change:
        return pairwise(paired.values(rate), weight, paired.confidence, share=not paired.regression)

    found = compared("error", paired.weight).excludes_zero
    for attribute in paired.attributes:
        for rate in dict.fromkeys(r if r in SHARES + MEANS else "tpr" for r in rows.rates):
            *others, reference = (compared(rate, w) for w in paired.columns(attribute.membership(), rate)[:, :-1].T)
            for one in others:
                found |= one.less(reference).excludes_zero
    return found


def _calibration(rows: PairedRows, probabilities: Array, member: Array) -> list[Any]:
    """Bins per point and group; None for a group with few rows."""
    inside = [np.flatnonzero(one) for one in member.T]

    def bins(probability: Array, group: NDArray[np.intp]) -> dict[str, Any] | None:
        found = reliability_bins(probability[group], rows.good[group], rows.weight[group])
        if found is None:
            return None
        return {name: rounded(each, 0 if name == "n" else 4) for name, each in zip(BINS, found, strict=True)}

    return [[bins(probability, group) for group in inside] for probability in probabilities]
