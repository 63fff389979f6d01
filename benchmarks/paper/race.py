"""Experiment 2: Adult by race, five groups, 11 objectives (Figure 8)."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from .. import judge
from ..report import Table
from .choices import NEAREST, NORMAL
from .data import Spec
from .experiment import Claim, Experiment, Task
from .figures import draw_rates, picture
from .trial import LEAST, gather, spread, trial

EXPONENTIATED = "Minimax reduction: ExponentiatedGradient"
METHODS = (NORMAL, NEAREST.method, EXPONENTIATED, "PB-PDO (fairfront)", "Newton (fairfront)")
SPEC = Spec("adult", "race", "paper", "random")
SPLITS, SHARE = 20, 1.0 / 3.0


def tasks(quick: bool) -> dict[str, Task]:
    """Return one task per random split."""
    budget = {"points": 5, "steps": 40, "rounds": 3} if quick else {}
    arguments = {"spec": asdict(SPEC), "loss": NEAREST.loss, "methods": list(METHODS), "budget": budget}
    return {f"split {seed}": Task(trial, {**arguments, "seed": seed}) for seed in range(1 if quick else SPLITS)}
