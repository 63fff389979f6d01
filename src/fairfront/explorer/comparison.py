"""Points against the plain model on the same rows: changes per rate and group, calibration, and which points differ."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..measures import Evaluation, PerGroup
from ..measures.calibration import reliability_bins
from ..measures.counts import ratio
from ..measures.disclosure import pool_of
from ..measures.figures import PARTS
from ..measures.paired import (
    Change,
    Sides,
    effective_rows,
    mean_change,
    mean_changes,
    moves_by_rate,
    rounded,
    share_change,
    share_changes,
)
from ..measures.published import published, published_people
from ..measures.rates import Margins
from ..objectives import Array, Attribute, Task

SHARES = ("selection", "tpr", "fpr", "error")
MEANS = ("prediction", "mse")
BINS = ("predicted", "observed", "n")
ROWS_AT_ONCE = 16_384


def base64_of(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


@dataclass(frozen=True, eq=False)
class Rows:
    """Held-out rows with the decisions of k points; it lives while details are made and is never stored.

    ``decided`` (k, n) says who is decided favourably and ``wrong`` (k, n) where the decision is not the label; for
    regression they are the predictions and the squared errors. ``probability`` (k, n) is that of the favourable label
    where the models give one. ``record`` judges the points on these rows, with exact counts; ``rates`` are those that
    the notions are about.
    """

    task: Task
    rates: tuple[str, ...]
    plain: int
    good: NDArray[np.bool_]
    attributes: tuple[Attribute, ...]
    weight: Array
    decided: NDArray[Any]
    wrong: NDArray[Any]
    probability: Array | None
    record: Evaluation
    confidence: float
    small: int

    @property
    def regression(self) -> bool:
        return self.task.kind == "regression"

    def values(self, rate: str) -> NDArray[Any]:
        """What a rate is the mean of, (k, n)."""
        return self.wrong if rate in ("error", "mse") else self.decided

    def columns(self, member: Array, rate: str) -> Array:
        """Weights (n, c + 1) of the rows that a rate is about: of members of each group (n, c), and of everyone."""
        among = self.weight * {"tpr": self.good, "fpr": ~self.good}.get(rate, True)
        return np.column_stack([member * among[:, None], among])


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
    sides. Changes are differences of published rates, and their intervals rest on published people.
    """
    record = published(rows.record, rows.task) if rows.small else rows.record
    described: list[dict[str, Any]] = []
    everyone: Sides | None = None
    for place, attribute in enumerate(rows.attributes):
        rates, (member, people) = record.groups[attribute.name], _pooled(rows, place)
        moved: dict[str, Sides] = {}
        if not rows.regression:
            moved = moves_by_rate(rows.decided, rows.wrong, rows.plain, rows.good, member, people and people[0])
            everyone = everyone or (moved["error"][0][:, -1:], moved["error"][1][:, -1:])
        changes = {}
        for rate in MEANS if rows.regression else SHARES:
            c, values, sides = member.shape[1], rates.rate(rate), moved.get(rate)
            columns = rows.columns(member, rate)
            change = _change(rows, rate, columns, sides, _people(rows, rates, rate, columns, people))
            change = change.moved_to(np.column_stack([values - values[rows.plain], change.value[:, c:]]))
            gap = change.columns(slice(0, c - 1)).less(change.columns(slice(c - 1, c)))
            counts = {} if sides is None else {"gained": rounded(sides[0], 0), "lost": rounded(sides[1], 0)}
            changes[rate] = counts | change.listed() | {"gap": gap.listed()}
        known = {"name": attribute.name, "levels": list(rates.levels), "n": rounded(rates.n, 0)}
        bins = None
        if rows.probability is not None and attribute.codes is not None:
            bins = _calibration(rows, rows.probability, member)
        described.append(known | {"rates": changes, "calibration": bins})
    error = "mse" if rows.regression else "error"
    overall = _change(rows, error, rows.weight[:, None], everyone, np.ones(1))
    overall = overall.moved_to((record[error] - record[error][rows.plain])[:, None])
    bits = np.packbits(_differing(rows).ravel(), bitorder="little")
    return {
        "overall": {error: overall.columns(0).listed()},
        "attributes": tuple(described),
        "told_apart": base64_of(bits.tobytes()),
    }


def _differing(rows: Rows) -> NDArray[np.bool_]:
    """Which two of k models differ significantly, (k, k): in error or in a gap of the notion."""

    def compared(rate: str, weight: Array) -> Change:
        return pairwise(rows.values(rate), weight, rows.confidence, share=not rows.regression)

    found = compared("error", rows.weight).excludes_zero
    for attribute in rows.attributes:
        for rate in dict.fromkeys(r if r in SHARES + MEANS else "tpr" for r in rows.rates):
            *others, reference = (compared(rate, w) for w in rows.columns(attribute.membership(), rate)[:, :-1].T)
            for one in others:
                found |= one.less(reference).excludes_zero
    return found


def _pooled(rows: Rows, place: int) -> tuple[Array, tuple[Margins, Margins] | None]:
    """Members (n, c) of an attribute's groups, and the published rows of these and of no group, and of everyone.

    Groups of a few people are together, as in `published`, unless counts are exact.
    """
    attribute, sums = rows.attributes[place], rows.record.sums
    member = attribute.membership()
    if not rows.small:
        return member, None
    pool = pool_of(attribute.levels, member.sum(axis=0))
    joined = np.column_stack([member[:, list(some)].sum(axis=1) for some in pool.members])
    if rows.regression or sums is None:
        return joined, None
    counts: Any = sums.groups[place].pooled((*pool.members, (len(attribute.levels),)))
    return joined, published_people(counts.rows, rows.task.favourable)


def _people(rows: Rows, rates: PerGroup, rate: str, columns: Array, people: tuple[Margins, Margins] | None) -> Array:
    """Published over exact rows behind a rate, of every group and of everyone, (c + 1,)."""
    if not rows.small:
        return np.ones(columns.shape[1])
    behind = (columns / rows.weight[:, None]).sum(axis=0)
    shown, everyone = rates.n, behind[-1]
    if people is not None:
        groups, all_rows = (getattr(each, PARTS[rate][1]) for each in people)
        shown, everyone = groups[:-1], all_rows[0]
    return np.nan_to_num(ratio(np.append(shown, everyone), behind))


def _change(rows: Rows, rate: str, columns: Array, sides: Sides | None, people: Array) -> Change:
    """Against the plain model in each column, (k, q), from the rows that changed ``sides``."""
    values = rows.values(rate)
    if sides is None:
        return mean_changes(values, rows.plain, columns, people, rows.confidence)
    return share_changes(values, rows.plain, columns, rows.weight, sides, people, rows.confidence)


def _calibration(rows: Rows, probabilities: Array, member: Array) -> list[Any]:
    """Bins per point and group; None for a group with few rows."""
    inside = [np.flatnonzero(one) for one in member.T]

    def bins(probability: Array, group: NDArray[np.intp]) -> dict[str, Any] | None:
        found = reliability_bins(probability[group], rows.good[group], rows.weight[group], rows.small)
        if found is None:
            return None
        return {name: rounded(each, 0 if name == "n" else 4) for name, each in zip(BINS, found, strict=True)}

    return [[bins(probability, group) for group in inside] for probability in probabilities]
