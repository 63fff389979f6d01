"""Intervals of a card's part where people have several rows: widened to what as many people, not rows, can tell.

Audits and paired differences take rows as independent. The design effect of a figure is its variance over people
against that over rows, both from the same decisions (`measures.moments`): ends are moved away from the value by its
root. Of what has no variance of its own, such as the AUC and calibration, it is the largest of its rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..measures.figures import RATIO_OF, Column
from ..measures.lines import ALL
from ..measures.moments import MODELS, STEP, Moments, spreads_of
from ..measures.paired import rounded
from ..objectives import Array, Attribute, Task

Ints = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class People:
    """Design effects of rates by group (c,), of all rows by rate, and of differences from plain training (N,)."""

    groups: Mapping[str, Mapping[str, Mapping[str, float]]]
    everyone: Mapping[str, float]
    changes: Mapping[str, Array]

    @classmethod
    def of(
        cls,
        decided: NDArray[Any],
        labels: Ints,
        task: Task,
        attributes: Sequence[Attribute],
        weight: Array | None,
        person: Ints,
        plain: int,
    ) -> People:
        """Return the design effects of N models' decisions (N, n); of many models those of some are taken for all."""
        N = len(decided)
        some = np.arange(N) if N <= MODELS else np.unique(np.append(np.linspace(0, N - 1, MODELS - 1).round(), plain))
        some = some.astype(np.intp)
        near = np.abs(some[:, None] - np.arange(N)).argmin(axis=0)  # models stand in the order of the path
        decided, plain = decided[some], int(near[plain])
        who = np.unique(person, return_inverse=True)[1].astype(np.intp)
        together = spreads_of(decided, labels, task, attributes, weight, who)
        apart = spreads_of(decided, labels, task, attributes, weight, None)
        assert together is not None
        assert apart is not None
        groups = {}
        for attribute, one, other in zip(attributes, together, apart, strict=False):
            effects = {rate: _effect(one[rate], other[rate]) for rate in one}
            groups[attribute.name] = {
                level: {rate: float(each[g]) for rate, each in effects.items()}
                for g, level in enumerate(attribute.levels)
            }
        everyone = {rate: float(_effect(each, apart[-1][rate])[0]) for rate, each in together[-1].items()}
        changes = {rate: _change_effect(each, apart[-1][rate], plain)[near] for rate, each in together[-1].items()}
        return cls(groups, everyone, changes)

    def widen(self, one: dict[str, Any], place: int) -> None:
        """Widen what a part tells of one point: figures of all rows, groups and worst gaps."""
        most = max(self.everyone.values())
        for name, each in one["figures"].items():
            each["value"] = _wider(each["value"], self.everyone.get(name, most), name)
            change = self.changes[name][place] if name in self.changes else most
            each["difference"] = _wider(each["difference"], float(change), name, signed=True)
        for attribute, lines in one.get("groups", {}).items():
            for line in lines:
                known = (
                    self.everyone if line["status"] == ALL else self.groups[attribute].get(line["group"], self.everyone)
                )
                for name, value in line.items():
                    if isinstance(value, list):
                        line[name] = _wider(value, known.get(name, max(known.values())), name)
        for each in one.get("worst", ()):
            figure = Column.of(each["figure"]).figure
            rate = RATIO_OF.get(figure, figure)
            effects = [known.get(rate, max(known.values())) for known in self.groups[each["attribute"]].values()]
            ends = _wider([each[end] for end in ("value", "lower", "upper")], max(effects), each["figure"])
            each |= dict(zip(("lower", "upper"), ends[1:], strict=True))


def _effect(together: Moments, apart: Moments) -> Array:
    """Return the variance over people against that over rows of each group, all models as one; at least 1."""
    alone = apart.variance.sum(axis=1)
    more = together.variance.sum(axis=1) / np.where(alone > 0, alone, 1.0)
    return _up(np.where(alone > 0, more, 1.0))


def _change_effect(together: Moments, apart: Moments, plain: int) -> Array:
    """Return the same of each model's difference from one of them, (N,)."""
    whole, alone = (_changes(each.covariance[0], plain) for each in (together, apart))
    return _up(np.where(alone > 1e-15, whole / np.where(alone > 1e-15, alone, 1.0), 1.0))


def _changes(covariance: Array, plain: int) -> Array:
    return np.asarray(np.diag(covariance) + covariance[plain, plain] - 2.0 * covariance[plain])


def _up(effect: Array) -> Array:
    return np.asarray(np.ceil(np.maximum(effect, 1.0) / STEP - 1e-9) * STEP)


def _wider(told: Sequence[Any], effect: float, figure: str, *, signed: bool = False) -> list[Any]:
    """Return an estimate ``[value, lower, upper]`` whose ends are farther away by the root of an effect."""
    value, *ends = told
    if not isinstance(value, (int, float)) or effect <= 1.0:
        return list(told)
    far = [end if end is None else value + np.sqrt(effect) * (end - value) for end in ends]
    if figure not in ("mse", "prediction", "residual", "slope", "in_the_large"):
        least = -1.0 if signed else 0.0
        far = [end if end is None else min(max(end, least), 1.0) for end in far]
    known = rounded(np.array([np.nan if end is None else end for end in far]), figure=figure)
    return [value, *(None if end is None else each for end, each in zip(far, known, strict=True))]
