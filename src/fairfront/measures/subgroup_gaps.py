"""Worst subgroups: the combination of groups whose rate is farthest from everyone's, of all that have enough rows.

Of thousands of combinations the worst is partly chance. Its upper end is the largest of all combinations' own: it fails
only if that of the truly worst does. Deviations of a combination's rate, h (Wilson's, or a mean's normal ones), and of
everyone's, h0, are squared and added as Newcombe does. A share s of everyone is the combination, which makes their
covariance s h^2: h^2 + h0^2 - 2 s h^2, and h^2 at least. Without h0 the end of a group that is never approved fails
half of the time, since everyone's rate is less sure than its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..objectives import Array, Attribute, Task
from ..objectives.cells import find_atoms
from ..objectives.groups import Groups
from ..objectives.people import FEWEST
from ..objectives.subgroups import Subgroups
from .decisions import decide
from .disclosure import LIMIT
from .evaluation import Evaluation
from .figures import SUBGROUP, Column, figure_of
from .intervals import SURE, share_interval
from .notion_figures import largest_effect
from .proportions import normal_quantile
from .spans import RateRange

if TYPE_CHECKING:
    from .judged import Judged

Mask = NDArray[np.bool_]
STEPS = 100.0  # per unit, to which files round


@dataclass(frozen=True, eq=False)
class SubgroupGaps:
    """Of a figure: what combinations differ from everyone by, (N, q), NaN of those with few rows, and upper ends."""

    figure: str
    names: tuple[str, ...]
    gap: Array
    upper: Array
    small: Mask

    @property
    def worst(self) -> Array:
        """Return the largest absolute gap, (N,)."""
        return np.asarray(np.nanmax(np.abs(self.gap), axis=1))

    @property
    def most(self) -> Array:
        """Return the upper end of the worst gap, (N,)."""
        return np.asarray(np.nanmax(self.upper, axis=1))

    def plain(self, published: bool, model: int = 0) -> dict[str, Any]:
        """Return the worst combination of a model; published, one with a small count is not named."""
        place = int(np.nanargmax(np.abs(self.gap[model])))
        value, upper = float(self.gap[model, place]), float(self.most[model])
        if published:
            value, upper = float(np.round(value * STEPS) / STEPS), float(np.ceil(upper * STEPS) / STEPS)
        name = None if published and self.small[min(model, len(self.small) - 1), place] else self.names[place]
        known = {"figure": f"{self.figure}_gap", "combination": name, "value": value, "upper": upper}
        return {**known, "combinations": int(np.isfinite(self.gap[model]).sum())}

    def sentence(self, confidence: float, published: bool) -> str:
        told = self.plain(published)
        who = told["combination"] or "a combination with a small count, which is not named,"
        return (
            f"Of {told['combinations']} combinations of groups, the {figure_of(self.figure).heading} of {who} is "
            f"farthest from everyone's: {told['value']:+.3g}; none is farther than {told['upper']:.3g} "
            f"({confidence:.0%} confidence)."
        )


def subgroup_gaps(
    values: dict[str, tuple[Array, Mask]],
    good: Mask,
    attributes: Sequence[Attribute],
    weight: Array | None,
    min_size: int,
    *,
    confidence: float = SURE,
    shares: bool = True,
    effect: float = 1.0,
) -> tuple[SubgroupGaps, ...]:
    """Return the gaps of every figure: means of values (N, n) over some rows (n,), or ``shares`` of decisions.

    ``good`` (n,) are rows whose label is favourable; ``effect`` is how much less sure rates are where people have
    several rows. Figures of which every combination has few rows are left out.
    """
    least = max(min_size, FEWEST)
    atoms = find_atoms(good.astype(np.intp), tuple(attributes), weight)
    found = Subgroups.of(atoms, tuple(attributes), (), least, None, None)
    inside = np.vstack([found.masks, found.belongs(atoms, None, None)]).astype(np.float64).T  # everyone last
    index, w = atoms.index, np.ones(len(good)) if weight is None else weight
    assert index is not None

    def gaps_of(name: str, mean: Array, rows: Mask) -> SubgroupGaps:
        def sums(of: Array) -> Array:
            found = [np.bincount(index[rows], each[rows], len(atoms.keys)) for each in of]
            return np.array(found, dtype=np.float64)

        count, total, squared = sums(np.stack([np.ones_like(w), w, w**2])) @ inside
        few = np.append(count[:-1] < least, False)
        total, n = np.where(few, 1.0, total), np.where(few, 1.0, total**2 / np.where(few, 1.0, squared) / effect)
        rate = np.where(few, 0.0, sums(w * mean) @ inside / total)
        if shares:
            low, high = share_interval(RateRange(rate, rate, n), confidence)
        else:
            spread = np.sqrt(np.maximum(sums(w * mean**2) @ inside / total - rate**2, 0.0) / n)
            low, high = rate - (half := normal_quantile(confidence) * spread), rate + half
        gap = np.where(few, np.nan, rate - rate[:, -1:])[:, :-1]
        down, up, own = (rate - low) ** 2, (high - rate) ** 2, (total / total[-1])[:-1]
        above, below = (
            h[:, :-1] + np.maximum(h0[:, -1:] - 2.0 * own * h[:, :-1], 0.0) for h, h0 in ((up, down), (down, up))
        )
        return SubgroupGaps(name, found.names, gap, np.maximum(gap + np.sqrt(above), np.sqrt(below) - gap), small)

    small = np.zeros((1, len(found.names)), dtype=bool)
    if shares:  # a count by label and decision
        made, whole = values["selection"][0], np.ones((1, len(good)))
        cells = [part * rows for rows in (good, ~good) for part in (made, whole - made)]
        counted = [np.stack([np.bincount(index, each, len(atoms.keys)) for each in part]) @ inside for part in cells]
        small = (np.min(counted, axis=0) < LIMIT)[:, :-1]
    every = (gaps_of(name, *each) for name, each in values.items())
    return tuple(each for each in every if np.isfinite(each.gap).any())


def combined_gaps(
    judged: Judged, attributes: Sequence[Attribute], groups: Groups, confidence: float
) -> tuple[SubgroupGaps, ...]:
    """Return the gaps of combinations that an audit of one model was asked for; none of several classes."""
    task, truth = judged.task, judged.truth
    if task.kind == "multiclass":
        return ()
    shares, good = task.kind == "binary", np.asarray(truth == task.favourable)
    made = np.asarray(judged.decided, dtype=np.float64)[None]
    values = decided_figures(made == task.favourable, good) if shares else _of_values(made, truth)
    known: dict[str, Any] = {"confidence": confidence, "shares": shares}
    return subgroup_gaps(values, good & shares, attributes, judged.weight, groups.min_size, **known)


def _of_values(made: Array, truth: NDArray[Any]) -> dict[str, tuple[Array, Mask]]:
    everyone = np.ones(len(truth), dtype=bool)
    return {"prediction": (made, everyone), "mse": ((made - truth) ** 2, everyone)}


def decided_figures(favoured: Mask, good: Mask) -> dict[str, tuple[Array, Mask]]:
    """Return what shares are of: decisions for the favourable label (N, n) of rows, some of which have it."""
    everyone, made = np.ones(len(good), dtype=bool), favoured.astype(np.float64)
    parts = {"selection": (made, everyone), "tpr": (made, good), "fpr": (made, ~good)}
    found = {name: each for name, each in parts.items() if each[1].any()}
    return found | {"error": (np.abs(made - good), everyone)}


def with_subgroups(record: Evaluation, gaps: Sequence[SubgroupGaps]) -> Evaluation:
    """Return an evaluation with worst gaps of combinations, ``tpr_subgroup_gap``, and upper ends, (N,) each."""
    columns = dict(record.columns)
    for each in gaps:
        columns[f"{each.figure}_subgroup_gap"] = each.worst
        columns[f"{each.figure}_subgroup_gap_upper"] = each.most
    return replace(record, columns=columns)


def model_gaps(
    record: Evaluation,
    scores: Array,
    decided: Any,
    task: Task,
    truth: NDArray[Any],
    attributes: Sequence[Attribute],
    weight: Array | None,
    groups: Groups,
) -> tuple[SubgroupGaps, ...]:
    """Return gaps of combinations of N models, by scores (N, K, n) or what they decide; none unless ``groups`` asks."""
    if groups.compare != "subgroups" or task.kind == "multiclass" or any(each.is_proxy for each in attributes):
        return ()
    shares, good = task.kind == "binary", np.asarray(truth == task.favourable)
    made = decide(scores, task) if decided is None and shares else decided
    values = decided_figures(np.asarray(made == task.favourable), good) if shares else _of_values(scores[:, 0], truth)
    several = record.sums is not None and record.sums.clustered
    effect = max(float(np.max(largest_effect(record, each.name))) for each in attributes) if several else 1.0
    known: dict[str, Any] = {"shares": shares, "effect": effect}
    return subgroup_gaps(values, good & shares, attributes, weight, groups.min_size, **known)


def published_subgroups(columns: dict[str, Array]) -> dict[str, Array]:
    """Return the columns of worst combinations as files have them, upper ends rounded up."""
    found = {name: values for name, values in columns.items() if is_of_subgroups(name)}
    return {
        name: (np.ceil(values * STEPS) if name.endswith("_upper") else np.round(values * STEPS)) / STEPS
        for name, values in found.items()
    }


def is_of_subgroups(column: str) -> bool:
    return Column.of(column).figure in SUBGROUP
