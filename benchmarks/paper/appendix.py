"""Table 1 and Figures 7 and 8 over all eight combinations of the choices that the paper leaves open."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from ..report import Table
from .choices import CHOICES, DISTANCE, FERM, GRID, LOSSES, NEAREST, NORMAL, PDO, PRINTED, cells, differences, distance
from .data import Spec
from .experiment import Experiment, Task
from .figures import draw_choices, picture
from .methods import PDOS
from .trial import gather, spread, trial

SPLITS = 5
PAIRS = tuple(Spec(data, attribute) for data in ("adult", "compas", "compas_charge") for attribute in ("sex", "race")
              if (data, attribute) != ("adult", "race"))  # fmt: skip
RACE = Spec("adult", "race", "paper", "random")
ONE_HOT = tuple(Spec(data, attribute, "one_hot") for data, attribute in PRINTED)


def tasks(quick: bool) -> dict[str, Task]:
    """Return one task per setting, loss and split."""
    budget = {"grid": 6, "steps": 40} if quick else {}
    found = {}
    for spec in (*PAIRS, RACE, *ONE_HOT):
        rows = [NORMAL, *PDOS] if spec == RACE else [NORMAL, FERM, GRID, *PDOS]
        rows = [NORMAL, NEAREST.method, "Newton (fairfront)"] if spec in ONE_HOT else rows
        for loss in [NEAREST.loss] if spec in ONE_HOT else LOSSES:
            for seed in range(1 if quick else SPLITS):
                arguments = {"spec": asdict(spec), "seed": seed, "loss": loss, "methods": rows, "budget": budget}
                found[" ".join([*asdict(spec).values(), loss, str(seed)])] = Task(trial, arguments)
    return found
