"""A linear model as a scorecard, and what the encoder does to the cells of each column; plain values for JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..frontier.models import LinearModels
from ..objectives import Array, Task
from ..tables.encoder import NONE, OTHER, Block, NumberBlock, TableEncoder


def scorecard(encoder: TableEncoder, models: LinearModels, place: int) -> dict[str, Any]:
    """Return intercepts and coefficients, one per class (one in all for two classes and for values).

    Of two classes they speak for the favourable one. ``per_unit`` is in units of the column, ``per_spread`` in standard
    deviations of it on train; an indicator (a level, a missing value) has the first alone. The intercept is that of a
    row with the mean of every number and no indicator.
    """
    sign = _sign(models.task)
    coef, intercept = sign * models.coef[place], sign * models.intercept[place]
    lines, start = [], 0
    for block in encoder.blocks:
        width = len(block.feature_names)
        lines += list(_lines(block, coef[:, start : start + width]))
        start += width
    classes = [str(each) for each in models.task.classes] if models.task.kind == "multiclass" else []
    return {"classes": classes, "intercept": intercept.tolist(), "ridge": models.ridge, "lines": lines}


def _sign(task: Task) -> float:
    return -1.0 if task.kind == "binary" and task.favourable == 0 else 1.0


def _lines(block: Block, coef: Array) -> Iterator[dict[str, Any]]:
    for k, feature in enumerate(block.feature_names):
        line: dict[str, Any] = {"feature": feature, "column": block.name}
        if isinstance(block, NumberBlock) and k == 0:
            spread = 1.0 / block.factor if block.factor else None
            per_unit = (coef[:, k] * block.factor).tolist()
            line |= {"encoding": "number", "level": None, "mean": block.mean, "spread": spread}
            yield line | {"per_unit": per_unit, "per_spread": coef[:, k].tolist() if spread else None}
        else:
            level = NONE if isinstance(block, NumberBlock) else (*block.levels, *_rest(block))[k]
            line |= {"encoding": "indicator", "level": level, "mean": None, "spread": None}
            yield line | {"per_unit": coef[:, k].tolist(), "per_spread": None}


def _rest(block: Any) -> list[str]:
    return [label for label, there in ((OTHER, block.other), (NONE, block.missing)) if there]


def treatments(encoder: TableEncoder) -> list[dict[str, Any]]:
    """Return, by column, what stands for missing cells and for rare or new levels."""
    found: list[dict[str, Any]] = []
    for block in encoder.blocks:
        if isinstance(block, NumberBlock):
            known = {"used": bool(block.factor), "median": block.median, "indicator": block.indicator}
            found.append({"column": block.name, "kind": "number", **known})
        else:
            own = {"levels": len(block.levels), "other": block.other, "missing": block.missing}
            found.append({"column": block.name, "kind": "category", **own})
    return found


def estimator_settings(model: Any) -> dict[str, Any]:
    """Return the name of a learner and those of its settings that are plain values."""
    settings = model.get_params(deep=False) if hasattr(model, "get_params") else {}
    plain = {
        name: value
        for name, value in sorted(settings.items())
        if value is None or isinstance(value, (str, bool, int)) or (isinstance(value, float) and np.isfinite(value))
    }
    return {"name": type(model).__name__, "settings": plain}
