"""Golden arrays: what each of them rests on, how they are written, and how two sets are compared.

The name of an array is ``RESTS_ON:name``. What it rests on says when it may be replaced:

    problem    losses and gaps of plain training: never, the problem is what it is
    path       the points of a frontier and their models: when points are placed elsewhere
    descent    the same of solvers that go step by step: when their steps change
    learner    the same of weighted fits of trees, which break ties by the last bits: as the path's
    counts     people and rates of decisions, without intervals: when the path or the cut-offs change
    interval   bounds of rates and gaps: when intervals are made another way
    rule       the models that rules choose: when one of the above or the rule changes
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

import fairfront as ff

Arrays = dict[str, np.ndarray]
WITHIN = {
    "problem": 1e-9,
    "path": 1e-7,
    "descent": 1e-6,
    "learner": 1e-2,
    "counts": 1e-7,
    "interval": 1e-6,
    "rule": 0.0,
}
"""How far arrays may be apart, relative to the larger of 1 and what is kept: on any machine.

Points of the exact path are solved to KKT residuals of 1e-9, which leaves weights and multipliers the square root less
sure where they hardly matter; critical values are quantiles of draws by a square root of a covariance.
"""
NOT_HIGHER = 1e-6
"""How far above the kept curve, as a share of its loss, the loss of an uncertified point may lie at its gap."""

RULES: dict[str, dict[str, object]] = {
    "cap on the point": {"at_most": {"GAP": 0.1}, "confidence": None},
    "cap on the bound": {"at_most": {"GAP": 0.15}},
    "cap at 90 %": {"at_most": {"GAP": 0.12}, "confidence": 0.9},
    "least gap": {"least": "GAP"},
    "least gap within an error": {"least": "GAP", "within": {"error": 0.01}},
    "least error": {"least": "error"},
    "error at most": {"at_most": {"error": 0.3}, "confidence": None},
    "preference": {"preference": [1, 50]},
    "knee": {"knee": True},
    "id": {"id": 0},
    "most selected alike": {"most": "selection_ratio"},
    "ratio at least": {"at_least": {"selection_ratio": 0.7}, "confidence": None},
}
"""Rules by name; GAP stands for a column of the frontier at hand."""
NOTHING_QUALIFIES = -1


def of_frontier(front: ff.Frontier, path: str = "path", models: bool = True) -> Arrays:
    """Return the arrays of a frontier and of its evaluations."""
    found: Arrays = {
        "problem:objective_names": np.array(front.objective_names),
        f"{path}:ids": front.ids,
        f"{path}:loss": front.loss,
        f"{path}:gaps": front.gaps,
        f"{path}:signed_gaps": front.signed_gaps,
        f"{path}:objectives": front.objectives,
        f"{path}:preferences": front.preferences,
        f"{path}:certified": front.certified,
        f"{path}:status": np.array([status.name for status in front.status]),
    }
    if path == "path" and front.certified[0]:
        found |= {"problem:plain loss": front.loss[:1], "problem:plain gaps": front.signed_gaps[:1]}
    if path != "learner":
        found[f"{path}:multipliers"] = front.multipliers
    if models:
        found |= {f"{path}:{name}": array for name, array in coefficients(front).items()}
    for part in front.evaluations:
        for column in front.column_names(part):
            if not column.endswith("auc"):  # ties of nearly constant scores are broken by rounding
                found[f"counts:{part} {column}"] = front.column(column, part)
            if column.endswith("gap"):
                found[f"interval:{part} {column}"] = front.column(column, part, 0.95)
    return found


def coefficients(front: ff.Frontier) -> Arrays:
    """Return coefficients and intercepts of linear models, nothing of others."""
    models = [front.select(id=int(id)) for id in front.ids]
    models = [getattr(model, "estimator_", model) for model in models]
    if not all(hasattr(model, "coef_") for model in models):
        return {}
    return {
        "coef": np.stack([np.ravel(model.coef_) for model in models]),
        "intercept": np.stack([np.ravel(model.intercept_) for model in models]),
    }


def choices(front: ff.Frontier, gap: str) -> Arrays:
    """Return the id that every rule chooses, on every evaluation and on none named."""
    found: Arrays = {}
    for name, template in RULES.items():
        rule = with_gap(template, gap)
        found[f"rule:{name}"] = np.array([chosen_id(front, rule)])
        for part in front.evaluations:
            found[f"rule:{name}, on {part}"] = np.array([chosen_id(front, rule | {"on": part})])
    return found


def with_gap(template: object, gap: str) -> dict[str, object]:
    """Return a rule with the name of a gap in the places of GAP."""
    rule: dict[str, object] = {}
    assert isinstance(template, Mapping)
    for name, value in template.items():
        key = gap if name == "GAP" else name
        if isinstance(value, Mapping):
            value = with_gap(value, gap)
        rule[key] = gap if value == "GAP" else value
    return rule


def chosen_id(front: ff.Frontier, rule: dict[str, object]) -> int:
    """Return the id that a rule chooses, or `NOTHING_QUALIFIES`."""
    try:
        return int(front.choose(**rule))
    except ff.InputError:
        return NOTHING_QUALIFIES


def write(file: Path, arrays: Arrays) -> None:
    """Write arrays to a file."""
    np.savez_compressed(file, **{name.replace("/", "\x1f"): array for name, array in arrays.items()})


def read(file: Path) -> Arrays:
    """Return the arrays of a file."""
    with np.load(file) as arrays:
        return {name.replace("\x1f", "/"): arrays[name] for name in arrays.files}


def differences(kept: Arrays, found: Arrays) -> list[str]:
    """Return one line for each array that is missing or farther off than what it rests on allows."""
    lines = [f"missing: {name}" for name in sorted(kept.keys() - found.keys())]
    uncertified = ~kept["path:certified"] if "path:certified" in kept else None
    if uncertified is not None and uncertified.any() and "path:loss" in found:
        lines += higher_losses(kept, found)
    for name in sorted(kept.keys() & found.keys()):
        old, new = kept[name], found[name]
        if uncertified is not None and uncertified.any() and not name.startswith(("problem:", "rule:")):
            if old.shape != new.shape or old.shape[:1] != uncertified.shape:
                continue  # another number of points; their losses are compared above
            old, new = old[~uncertified], new[~uncertified]
        if old.shape != new.shape:
            lines.append(f"{name}: shape {old.shape} became {new.shape}")
        elif old.dtype.kind in "USb":
            lines += [f"{name} differs"] if (old != new).any() else []
        else:
            off = distance(old.astype(float), new.astype(float))
            if off > WITHIN[name.split(":")[0]]:
                lines.append(f"{name}: off by {off:.3g}")
    return lines


def distance(old: np.ndarray, new: np.ndarray) -> float:
    """Return the largest difference relative to the larger of 1 and the old value; NaN equals NaN."""
    same = (old == new) | (np.isnan(old) & np.isnan(new))
    with np.errstate(invalid="ignore"):
        off = np.abs(old - new) / np.maximum(1.0, np.abs(old))
    off = np.where(np.isnan(off), np.inf, off)
    return float(np.where(same, 0.0, off).max(initial=0.0))


def higher_losses(kept: Arrays, found: Arrays) -> list[str]:
    """Return a line for each new point that lies above the kept curve of losses over the worst gap."""
    order = np.argsort(kept["path:gaps"][:, 0])
    gap, loss = kept["path:gaps"][order, 0], kept["path:loss"][order]
    allowed = np.interp(found["path:gaps"][:, 0], gap, loss)
    above = found["path:loss"] - allowed - NOT_HIGHER * np.abs(allowed)
    inside = found["path:gaps"][:, 0] >= gap[0]
    return [
        f"path: the loss at gap {found['path:gaps'][i, 0]:.6g} is {above[i]:.3g} above what is kept"
        for i in np.flatnonzero((above > 0) & inside)
    ]
