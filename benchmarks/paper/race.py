"""Experiment 2: Adult by race, five groups, 11 objectives."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from ..report import Table
from .bars import ENCODINGS, ROWS, gather, spread
from .data import Spec
from .experiment import Experiment, Task
from .figures import draw_bars, picture
from .trial import LEAST, trial

METHODS = (*ROWS[:3], "PB-PDO (fairfront)", ROWS[3])


def tasks(quick: bool) -> dict[str, Task]:
    """Return one task per encoding and split."""
    found = {}
    for encoding in ENCODINGS:
        for seed in range(1 if quick else (3 if encoding == "paper" else 2)):
            budget = {"points": 5, "steps": 40} if quick else {"points": 16, "steps": 400}
            arguments = {"spec": asdict(Spec("adult", "race", encoding)), "seed": seed, "loss": "hinge",
                         "methods": list(METHODS), "budget": budget}  # fmt: skip
            found[f"{encoding} {seed}"] = Task(trial, arguments)
    return found


def page(results: dict[str, Any], folder: Path) -> str:
    """Draw the charts and write the page."""
    body = [INTRODUCTION.format(least=LEAST)]
    for encoding, words in ENCODINGS.items():
        trials = gather(results, "adult", "race", encoding)
        name = f"race-{encoding.replace('_', '-')}.png"
        draw_bars({f"Adult (race), {words}": trials}, METHODS, folder / name)
        body.append(f"## {words[0].upper()}{words[1:]}\n\n" + picture(name, f"Rates per race, {words}"))
        body.append(_table(trials))
    return "\n\n".join([*body, DIFFERENCES])


def _table(trials: list[dict[str, Any]]) -> str:
    levels = trials[0]["levels"]
    counts = ", ".join(f"{level} {n}" for level, n in zip(levels, trials[0]["positives"], strict=True))
    rows = []
    for name in METHODS:
        made = [t["methods"][name] for t in trials]
        tpr = np.mean([m["chosen"] for m in made], axis=0)[1]
        accuracy = spread([m["chosen"][0][-1] for m in made])
        worst, large = spread([m["deo"] for m in made]), spread([m["deo_large"] for m in made])
        rows.append([name, accuracy, worst, large, *[f"{value:.3f}" for value in tpr[:-1]]])
    head = ["method", "accuracy", "worst DEO, 5 groups", "worst DEO, large groups", *[f"TPR {lv}" for lv in levels]]
    return f"Test rows with label +1: {counts}.\n\n" + str(Table(head, rows))


INTRODUCTION = """Linear SVM (hinge, C = 0.1), equal opportunity between five groups: 10 fairness objectives and the loss. The paper's
Figure 6. FERM and fairlearn's GridSearch are not in this chart: the first is for two groups, and the grid of the second
grows exponentially with the groups. Models were chosen on validation rows as in the first experiment; groups with fewer
than {least} validation rows of label +1 took no part in choosing, because their rates there are noise. "Worst DEO" is the
largest difference in true positive rates between any two groups; over five groups it is dominated by the two smallest,
whose rates have standard errors of about .1 (see the whiskers)."""

DIFFERENCES = """## Where this differs from the paper

- The paper states that equal opportunity is met among all five groups on test. With 16 and 21 test rows of label +1 in
  the two smallest groups no model can show that: two equal rates of .5 differ by .13 on average by chance alone.
- The smallest group has 24 training rows of label +1 in the paper's split, and about four fifths of them here, because a
  fifth of the training rows is kept to choose on. Closing a training gap that rests on so few rows is fitting
  noise in part.
- On the 13 columns plain training's gap among the three large groups is about .05, hardly more than its standard error, so
  there is little to choose by, and the models chosen are close to plain training. One-hot shows more.
- Pairwise gaps of five groups have rank 4, so the inner problem of Algorithm 1 is not strongly convex here, as the
  analysis assumes; its direction is unique all the same."""

EXPERIMENT = Experiment("race", "Five groups: Adult by race, 11 objectives", tasks, page)
