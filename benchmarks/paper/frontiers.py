"""Experiment 4: frontiers of PB-PDO and Newton against the minimax reduction with 200 classifiers (Figures 9 and 10)."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from .. import judge
from ..report import Table, thousands
from .choices import GRID
from .data import Spec
from .experiment import Claim, Experiment, Task
from .figures import draw_frontiers, picture
from .fronts import METHODS, NEWTON, PBPDO, PRINTED, ROUTES, frontier

LOSSES = {"hinge": "linear SVM", "logistic": "logistic regression"}
SETTINGS = (Spec("adult", "sex", "paper", "random"), Spec("compas", "sex"), Spec("compas", "race"))
DRAWN = (Spec("adult", "sex"), *SETTINGS[1:])
SPLITS, STEPS, DRAWN_STEPS = 10, 2000, 5000


def tasks(quick: bool) -> dict[str, Task]:
    """Return one task per loss, data set and split, and longer runs on the splits that are drawn."""
    size = {"grid": 8, "points": 8} if quick else {"grid": 200, "points": 50}
    splits, steps, longer = (1, 40, 50) if quick else (SPLITS, STEPS, DRAWN_STEPS)
    wanted = [("drawn", spec, 0, longer) for spec in reversed(DRAWN)]
    wanted += [("split", spec, seed, steps) for spec in reversed(SETTINGS) for seed in range(splits)]
    return {
        f"{kind} {loss} {spec.data} {spec.attribute} {seed}": Task(
            frontier,
            {"spec": asdict(spec), "seed": seed, "loss": loss, **size, "steps": steps, "drawn": kind == "drawn"},
        )
        for kind, spec, seed, steps in wanted
        for loss in LOSSES
    }
