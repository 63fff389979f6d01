"""Experiment 3: Table 1, all methods on linear SVM, next to the figures that the paper prints."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from .. import judge
from ..report import Table
from .choices import CHOICES, FERM, GRID, NEAREST, NORMAL, PDO, PRINTED, WORST, Choice, cells, method_of
from .data import Spec
from .experiment import Claim, Experiment, Task
from .figures import draw_table1, picture
from .methods import METHODS, PDOS
from .trial import gather, spread, trial

SETTINGS = tuple(Spec(*each) for each in (*PRINTED, ("compas_charge", "sex"), ("compas_charge", "race")))
OTHERS = tuple(name for name in METHODS if name not in PDOS)
ROWS = (*OTHERS[:4], NEAREST.method, *OTHERS[4:])
SPLITS, WORST_SPLITS = 20, 5


def tasks(quick: bool) -> dict[str, Task]:
    """Return one task per data set and split, and the rows of the worst combination on fewer splits."""
    found = {}
    budget = {"grid": 6, "points": 6, "steps": 60, "rounds": 4} if quick else {}
    kinds = ((NEAREST, list(ROWS), SPLITS), (WORST, [NORMAL, FERM, GRID, WORST.method], WORST_SPLITS))
    for choice, rows, splits in kinds:
        for spec in SETTINGS:
            if choice is WORST and spec.data == "compas_charge":
                continue
            for seed in range(1 if quick else splits):
                arguments = {"spec": asdict(spec), "seed": seed, "loss": choice.loss, "methods": rows, "budget": budget}
                found[f"{spec.data} {spec.attribute} {choice.loss} {seed}"] = Task(trial, arguments)
    return found
