"""Experiment 3: Table 1, all methods on linear SVM, next to the figures that the paper prints."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from ..report import Table
from .bars import gather, signed, spread
from .data import Spec
from .experiment import Experiment, Task
from .methods import METHODS
from .trial import trial

PRINTED = {
    ("adult", "sex"): {
        "Normal": ".8123 / .2615",
        "FERM (linear)": ".7937 / .0173",
        "Minimax reduction: GridSearch": ".7748 ± .0002 / .0335 ± .0169",
        "PDO as printed": ".7969 ± .0003 / .0019 ± .0025",
    },
    ("compas", "sex"): {
        "Normal": ".6037 ± .0058 / .2643 ± .0269",
        "FERM (linear)": ".5126 ± .0489 / .0934 ± .0724",
        "Minimax reduction: GridSearch": ".5805 ± .0047 / .0378 ± .0230",
        "PDO as printed": ".5871 ± .0216 / .0354 ± .0293",
    },
    ("compas", "race"): {
        "Normal": ".6037 ± .0058 / .2643 ± .0269",
        "FERM (linear)": ".5862 ± .0186 / .0877 ± .0645",
        "Minimax reduction: GridSearch": ".5833 ± .0087 / .0264 ± .0212",
        "PDO as printed": ".6029 ± .0117 / .0078 ± .0092",
    },
}
"""Accuracy / DEO as printed in the paper's Table 1."""
SETTINGS = (
    ("adult", "sex"),
    ("compas", "sex"),
    ("compas", "race"),
    ("compas_charge", "sex"),
    ("compas_charge", "race"),
)


def tasks(quick: bool) -> dict[str, Task]:
    """Return one task per data set and split."""
    found = {}
    for data, attribute in SETTINGS:
        for seed in range(1 if quick else (3 if data == "adult" else 5)):
            budget = {"grid": 6, "points": 6, "steps": 60, "rounds": 4} if quick else {}
            arguments = {"spec": asdict(Spec(data, attribute)), "seed": seed, "loss": "hinge",
                         "methods": list(METHODS), "budget": budget}  # fmt: skip
            found[f"{data} {attribute} {seed}"] = Task(trial, arguments)
    return found


def page(results: dict[str, Any], folder: Path) -> str:
    """Write the page."""
    body = [INTRODUCTION]
    for data, attribute in SETTINGS:
        trials = gather(results, data, attribute, "paper")
        body.append(f"## {Spec(data, attribute).title}\n\n{_summary(trials)}\n\n{_table(trials, (data, attribute))}")
    return "\n\n".join([*body, DIFFERENCES])


def _summary(trials: list[dict[str, Any]]) -> str:
    fit, held, test = trials[0]["rows"]
    good = trials[0]["positives"]
    noise = np.sqrt(sum(0.25 / n for n in good))
    return (
        f"{len(trials)} splits; {fit} rows to fit, {held} to choose, {test} to judge. Test rows with the favourable label: "
        f"{trials[0]['levels'][0]} {good[0]}, {trials[0]['levels'][-1]} {good[-1]}, so one split's DEO has a standard error "
        f"of up to {noise:.3f}."
    )


def _table(trials: list[dict[str, Any]], setting: tuple[str, str]) -> str:
    printed = PRINTED.get(setting, {})
    rows = []
    for name in METHODS:
        made = [t["methods"][name] for t in trials]
        says = next((text for key, text in printed.items() if name.startswith(key)), "")
        lucky = [m["best_on_test"] for m in made]
        rows.append(
            [
                name,
                says,
                spread([m["chosen"][0][-1] for m in made]),
                signed([m["deo"] for m in made]),
                f"{np.mean(np.abs([m['deo'] for m in made])):.4f}",
                f"{np.mean([b['accuracy'] for b in lucky]):.4f} / {np.mean(np.abs([b['deo'] for b in lucky])):.4f}",
                round(float(np.mean([m["candidates"] for m in made]))),
                f"{np.mean([m['seconds'] for m in made]):.1f} s",
            ]
        )
    head = ["method", "paper: Acc / DEO", "accuracy", "signed DEO", "mean abs. DEO", "picked on test: Acc / DEO",
            "candidates", "time"]  # fmt: skip
    return str(Table(head, rows))


INTRODUCTION = """Linear SVM (hinge, C = 0.1), the paper's encoding, equal opportunity. Mean ± standard deviation over splits (Adult:
the paper's split, three ways to take a fifth of the training rows for choosing; COMPAS: random 70/30).

Every model in the columns *accuracy*, *signed DEO* and *mean abs. DEO* was chosen on validation rows: the smallest |DEO|
among candidates that keep 97 % of plain training's validation accuracy. How the paper chose its points is not stated, so
the column *picked on test* shows the same rule applied to the test rows: it is what looking at the test set can do, not
what a method achieves. DEO is signed, first group minus reference, in shares of people; the paper prints its size.

ExponentiatedGradient answers with a random choice among models at every decision; its figures are expected values."""

DIFFERENCES = """## Where this differs from the paper

- **Normal on Adult.** The paper prints .8123 / .2615. The hinge minimiser on these columns has about .81 / .12, and the gap
  of a hinge that is not trained to the end ranges from .05 to .26, so the stopping point, which is not stated, decides.
- **Normal on COMPAS.** The paper prints the same figures for sex and for race; one of the two must be a copy. No
  encoding that we tried gives them; accuracies here are higher for every method.
- **COMPAS labels.** The counts of the paper's appendix are those of the charge degree (its total of 1006 for label -1 should
  be 3440), where always saying F is right for 65 % of people, more than any accuracy the paper prints for COMPAS. With that
  target almost every method ends at the constant answer, whose DEO is 0 and means nothing.
- **PDO's .0019 ± .0025 on Adult** is below the sampling error of one test set (.02), and ± over trainings that are judged on
  the same test rows does not contain that error. The raw reading, chosen on validation, comes near it at a lower accuracy; points
  picked on test come near it with most methods.
- **FERM** is near its printed figures on Adult and clearly better than printed on COMPAS.
- **Who dominates.** The paper says that PDO dominates FERM and the reduction on all three data sets. Here no
  method dominates all others, PDO in either reading included: differences in DEO are within the sampling error.
  On Adult ExponentiatedGradient keeps the highest accuracy at a small gap; it does so by a random choice between models at
  every decision, and its models are fitted to rates, not to the hinge, which serves these 13 columns poorly.
- **Few validation rows.** On COMPAS the choice rests on 739 rows, and gaps below about .05 cannot be distinguished there. A path
  that ends at a zero *loss* gap (PB-PDO, and Newton on the rate surrogate) may stop short of a zero rate gap on COMPAS by
  race; Newton's path with overshoot goes on and gets nearer."""

EXPERIMENT = Experiment("table1", "Table 1: all methods on linear SVM", tasks, page)
