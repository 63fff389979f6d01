"""Gaps inside levels of control features, pooled over these with the weights of Mantel and Haenszel.

Errors of shares are those of Sato (Biometrics 45, 1989, 1323-1324), which hold for few large levels and for many small
ones; those of means add up the squared errors of levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..objectives import Array, Attribute, Task
from .counts import ratio
from .decisions import decide
from .evaluation import Evaluation
from .intervals import SURE
from .mantel_haenszel import mantel_haenszel_gap
from .notion_figures import largest_effect
from .proportions import normal_quantile
from .rates import kish
from .score_gaps import PairGaps

Ints = NDArray[np.intp]


def within_gaps(
    record: Evaluation,
    scores: Array,
    decided: NDArray[Any] | None,
    task: Task,
    truth: NDArray[Any],
    attributes: Sequence[Attribute],
    weight: Array | None,
    strata: Ints,
) -> dict[str, dict[str, PairGaps]]:
    """Return pooled gaps per attribute and figure, of values or decisions (N, n) in ``strata`` (n,).

    Decisions are by default those of scores (N, K, n).
    """
    figures: dict[str, tuple[Array, NDArray[np.bool_]]] = {}
    everyone = np.ones(len(truth), dtype=bool)
    if task.kind == "regression":
        values = scores[:, 0]
        figures = {"prediction": (values, everyone), "mse": ((values - truth) ** 2, everyone)}
    elif task.kind == "binary":
        made = decide(scores, task) if decided is None else decided
        favoured = np.asarray(np.asarray(made, dtype=np.intp) == task.favourable, dtype=np.float64)
        good = np.asarray(truth == task.favourable)
        figures = {name: (favoured, rows) for name, rows in (("selection", everyone), ("tpr", good), ("fpr", ~good))}
        figures["error"] = (np.abs(favoured - good), everyone)
    found = {}
    for attribute in attributes:
        member = attribute.membership() if weight is None else attribute.membership() * weight[:, None]
        wide = float(np.sqrt(np.max(largest_effect(record, attribute.name))))
        pooled = {name: _pooled(*each, member, strata, task.kind != "regression") for name, each in figures.items()}
        found[attribute.name] = {f"{k}_within": replace(each, error=wide * each.error) for k, each in pooled.items()}
    return found


def _pooled(values: Array, rows: NDArray[np.bool_], member: Array, strata: Ints, shares: bool) -> PairGaps:
    """Return pooled gaps (N, pairs) of means of values (N, n) over some rows; NaN where no level has both groups."""
    levels = range(int(strata.max(initial=0)) + 1)
    inside = [np.flatnonzero(rows & (strata == level)) for level in levels]
    total, size, mean, spread = [], [], [], []
    for some in inside:
        w = member[some]
        total.append(w.sum(axis=0))
        size.append(kish(total[-1], (w**2).sum(axis=0)))
        mean.append(ratio(values[:, some] @ w, total[-1]))
        spread.append(np.maximum(ratio((values[:, some] ** 2) @ w, total[-1]) - mean[-1] ** 2, 0.0))
    n, p = np.stack(size)[:, None], np.nan_to_num(np.stack(mean))  # (S, 1, c) and (S, N, c)
    one, other = np.triu_indices(member.shape[1], 1)
    n1, n0, p1, p0 = n[..., one], n[..., other], p[..., one], p[..., other]
    if shares:
        gap, (_, high) = mantel_haenszel_gap(p1 * n1, n1, p0 * n0, n0, SURE)
        return PairGaps(gap, (high - gap) / normal_quantile(SURE))
    weight = n1 * n0 / np.where(n1 + n0 > 0, n1 + n0, 1.0)
    v = np.nan_to_num(np.stack(spread))
    var = v[..., one] / np.maximum(n1 - 1.0, 1.0) + v[..., other] / np.maximum(n0 - 1.0, 1.0)
    whole = weight.sum(axis=0)
    return PairGaps(
        ratio((weight * (p1 - p0)).sum(axis=0), whole), np.sqrt(ratio((weight**2 * var).sum(axis=0), whole**2))
    )
