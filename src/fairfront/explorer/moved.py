"""The coefficients, or importances, that changed most from the plain model to another point."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..frontier import Frontier
from ..frontier.models import LinearModels
from ..frontier.selection import plain_place
from ..objectives import Array
from .order import Places
from .rows import built

TOP = 8


def most_moved(front: Frontier, places: Places, top: int = TOP) -> dict[str, Any] | None:
    """Return per id the ``top`` features with the largest change: name index, before, after; None without any."""
    found = _strengths(front, places)
    if found is None:
        return None
    kind, names, values, before = found
    used: dict[str, int] = {}
    lines: dict[str, list[list[float]]] = {}
    for place, after in zip(places, values, strict=True):
        order = np.argsort(-np.abs(after - before), kind="stable")[:top]
        lines[str(int(front.ids[place]))] = [
            [used.setdefault(names[j], len(used)), _short(before[j]), _short(after[j])]
            for j in order
            if after[j] != before[j]
        ]
    return {"kind": kind, "names": list(used), "lines": lines}


def _short(value: float) -> float:
    return float(f"{value:.5g}")


def _strengths(front: Frontier, places: Places) -> tuple[str, list[str], Array, Array] | None:
    """Return what is compared, feature names, values (k, d) and those of the plain model (d,)."""
    points, plain = front.models, plain_place(front)
    if isinstance(points, LinearModels):
        task = front.facts.task
        row = task.favourable if task.kind == "multiclass" else 0
        sign = -1.0 if task.kind == "binary" and task.favourable == 0 else 1.0
        values, before = sign * points.coef[places, row], sign * points.coef[plain, row]
        return "coefficient", _names(points.feature_names, values.shape[1]), values, before
    return _importances(front, places, plain)


def _importances(front: Frontier, places: Places, plain: int) -> tuple[str, list[str], Array, Array] | None:
    models = built(front, np.append(places, plain))
    if models is None:
        return None
    found = [model.feature_importances_ for model in models if hasattr(model, "feature_importances_")]
    if len(found) < len(models) or len({len(values) for values in found}) != 1:
        return None
    stacked = np.array(found, dtype=np.float64)
    names = _names(getattr(models[0], "feature_names_in_", None), stacked.shape[1])
    return "importance", names, stacked[:-1], stacked[-1]


def _names(known: Any, d: int) -> list[str]:
    return [str(name) for name in known] if known is not None else [f"x{j}" for j in range(d)]
