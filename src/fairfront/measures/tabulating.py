"""From what is judged and who belongs where to the table of one attribute."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..objectives import Array
from .group_table import (
    Share,
    Sureness,
    drawn_columns,
    normal_columns,
    selection_columns,
    share_columns,
    shares_of,
    why,
)
from .intervals import normal_quantile
from .judged import Judged
from .lines import Counts, Lines, count
from .scored import DRAWN, ScoredRows, drawn, figures_of
from .sums import ratio
from .suppression import Hidden, hidden_lines, hidden_rows
from .worst import Worst, worst_means, worst_shares


@dataclass(frozen=True)
class Settings:
    """How sure intervals are to be, and how they are drawn."""

    confidence: float = 0.95
    simultaneous: bool = False
    n_resamples: int = 500
    random_state: int = 0
    suppress_below: int = 10

    def sureness(self, lines: Lines) -> Sureness:
        """Return the confidence of figures and of gaps, the latter for all groups at once on request."""
        others = max(1, int(lines.compared.sum())) if self.simultaneous else 1
        return Sureness(self.confidence, 1.0 - (1.0 - self.confidence) / others)


@dataclass(frozen=True, eq=False)
class GroupTable:
    """The table of one attribute: columns with one entry per line, the worst contrasts, and counts behind them."""

    lines: Lines
    columns: dict[str, NDArray[Any]]
    worst: tuple[Worst, ...]
    hidden: Hidden
    shares: dict[str, Share] = field(default_factory=dict)

    @cached_property
    def readable(self) -> dict[str, list[Any]]:
        """Return plain values, with a reason in words wherever a figure has no value."""
        return {name: self._column(name, values.tolist()) for name, values in self.columns.items()}

    def _column(self, name: str, values: list[Any]) -> list[Any]:
        return [why(name, i, self.lines, self.columns) if v != v else v for i, v in enumerate(values)]


def tabulate(judged: Judged, lines: Lines, settings: Settings, order: NDArray[np.intp] | None) -> GroupTable:
    """Compute every figure of every line; ``order`` sorts rows by score where there are scores."""
    head = {"group": np.array(lines.names, dtype=object), "status": np.array(lines.status, dtype=object)}
    sure = settings.sureness(lines)
    if judged.task.kind == "regression":
        return _of_values(judged, lines, settings, sure, head)
    counts = count(lines, judged.truth, judged.decided, len(judged.task.classes), judged.weight)
    shares = shares_of(counts, judged.task)
    columns = {**head, **_counted(counts, judged.task.favourable)}
    for name, share in shares.items():
        columns |= share_columns(name, share, lines, sure)
        if name == "selection":
            columns |= selection_columns(share, columns["weight"], lines, sure)
    if order is not None:
        columns |= _of_scores(judged, lines, settings, sure, order)
    hidden = hidden_lines(counts.rows, lines.reference, settings.suppress_below)
    return GroupTable(lines, columns, worst_shares(shares, lines, settings.confidence), hidden, shares)


def _counted(counts: Counts, good: int) -> dict[str, Array]:
    """Return rows, weight, and the rows with the favourable label, another label, a favourable decision."""
    n = counts.rows.sum(axis=(1, 2))
    positives = counts.rows[:, good].sum(axis=1)
    return {
        "n": n,
        "weight": counts.weight.sum(axis=(1, 2)),
        "positives": positives,
        "negatives": n - positives,
        "selected": counts.rows[:, :, good].sum(axis=1),
    }


def _of_scores(
    judged: Judged, lines: Lines, settings: Settings, sure: Sureness, order: NDArray[np.intp]
) -> dict[str, Array]:
    random = np.random.default_rng(settings.random_state)
    exact, draws = [], []
    for rows in _scored_parts(judged, lines, order):
        exact.append(figures_of(rows))
        draws.append(drawn(rows, exact[-1], settings.n_resamples, random))
    value = {name: np.array([line[name] for line in exact]) for name in exact[0]}
    columns: dict[str, Array] = {}
    for name in DRAWN:
        at = np.column_stack([line[name] for line in draws])
        columns |= drawn_columns(name, value[name], at, lines, sure)
    columns |= normal_columns("slope", value["slope"], value["slope_error"], lines, sure)
    return columns | _standardised(columns, judged)


def _scored_parts(judged: Judged, lines: Lines, order: NDArray[np.intp]) -> Any:
    assert judged.scores is not None
    positive, score = judged.truth == judged.task.favourable, judged.oriented
    for rows, share in lines.parts(order):
        weight = None if judged.weight is None else judged.weight[rows]
        if share is not None:
            weight = share if weight is None else share * weight
        if weight is not None and not weight.all():
            rows, weight = rows[weight > 0], weight[weight > 0]
        yield ScoredRows(score[rows], judged.scores[rows], positive[rows], weight, judged.probability)


def _standardised(columns: dict[str, Array], judged: Judged) -> dict[str, Array]:
    """Return gaps of the mean score in standard deviations of all rows' scores."""
    assert judged.scores is not None
    mean = columns["mean_score"][-1]
    spread = np.sqrt(np.average((judged.scores - mean) ** 2, weights=judged.weight))
    ends = {"smd": "mean_score_gap", "smd_lower": "mean_score_gap_lower", "smd_upper": "mean_score_gap_upper"}
    return {name: ratio(columns[of], np.full(len(columns[of]), spread)) for name, of in ends.items()}


def _of_values(judged: Judged, lines: Lines, settings: Settings, sure: Sureness, head: dict[str, Any]) -> GroupTable:
    """Return means of predictions, residuals and squared residuals with normal intervals."""
    n = len(judged.truth)
    nothing = np.zeros(n, dtype=np.intp)
    counts = count(lines, nothing, nothing, 1, judged.weight)
    weight = counts.weight[:, 0, 0]
    size = np.nan_to_num(ratio(weight**2, counts.squared[:, 0, 0]))
    columns: dict[str, Any] = {**head, "n": counts.rows[:, 0, 0], "weight": weight}
    residual = judged.truth - judged.decided
    pairs = lines.c * (lines.c - 1) // 2
    z = normal_quantile(1.0 - (1.0 - settings.confidence) / pairs)
    worst = []
    for name, values in {"prediction": judged.decided, "residual": residual, "mse": residual**2}.items():
        mean, error = _means(lines, values, judged.weight, weight, size)
        columns |= normal_columns(name, mean, error, lines, sure)
        worst.append(worst_means(name, mean, error, lines, z))
    hidden = hidden_rows(columns["n"], lines.reference, settings.suppress_below)
    return GroupTable(lines, columns, tuple(worst), hidden)


def _means(lines: Lines, values: Array, row_weight: Array | None, weight: Array, size: Array) -> tuple[Array, Array]:
    """Return the mean of every line and its standard error."""
    shift = float(values.mean())
    first, second = (_sums(lines, (values - shift) ** k, row_weight) for k in (1, 2))
    mean = ratio(first, weight)
    spread = np.maximum(ratio(second, weight) - mean**2, 0.0)
    return mean + shift, np.sqrt(ratio(spread, np.where(size > 1, size - 1.0, np.nan)))


def _sums(lines: Lines, values: Array, row_weight: Array | None) -> Array:
    weighted = values if row_weight is None else values * row_weight
    if lines.shares is not None:
        return np.append(weighted @ lines.shares, weighted.sum())
    assert lines.codes is not None
    total = np.bincount(lines.codes, weighted, minlength=len(lines.names) - 1)
    return np.append(total, weighted.sum())
