"""Experiment 6: the methods that the paper names, on Example 1 and on the fairness problems."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from ..report import Table
from .data import Spec
from .experiment import Experiment, Task
from .figures import draw_points, picture
from .named_tasks import fair_front, minimax_points, toy_front

FAIR = (("adult", "sex"), ("compas", "sex"))
MINIMAX = (("adult", "sex"), ("adult", "race"))


def tasks(quick: bool) -> dict[str, Task]:
    """Return one task per problem."""
    points, steps = (3, 40) if quick else (9, 500)
    found = {"example": Task(toy_front, {"points": points, "steps": steps})}
    for data, attribute in FAIR:
        arguments = {"spec": asdict(Spec(data, attribute)), "points": points, "steps": steps}
        found[f"front {data} {attribute}"] = Task(fair_front, arguments)
    for data, attribute in MINIMAX:
        arguments = {
            "spec": asdict(Spec(data, attribute)),
            "rounds": 3 if quick else 60,
            "steps": 50 if quick else 3000,
        }
        found[f"minimax {data} {attribute}"] = Task(minimax_points, arguments)
    return found


def page(results: dict[str, Any], folder: Path) -> str:
    """Draw the fronts and write the page."""
    fronts = {key: results[key] for key in results if not key.startswith("minimax")}
    draw_points(fronts, folder / "named-methods.png")
    body = [INTRODUCTION, picture("named-methods.png", "Points of every method")]
    for found in fronts.values():
        body.append(f"## {found['title']}\n\n{_fronts(found)}")
    body.append(MINIMAX_WORDS)
    for key, found in results.items():
        if key.startswith("minimax"):
            body.append(f"### {found['title']}\n\n{_points(found)}")
    return "\n\n".join([*body, READING])


def _fronts(found: dict[str, Any]) -> str:
    rows = []
    for name, answer in found["methods"].items():
        off, near = answer["off"], answer["near"]
        rows.append(
            [
                name if answer["eta"] is None else f"{name}, eta {answer['eta']:g}",
                f"{near} of {len(off)}",
                f"{np.median(off):.1e}",
                f"{np.max(off):.1e}",
                f"{answer['hole']:.2f}",
                answer["evaluations"] or "",
                f"{answer['seconds']:.1f} s",
            ]
        )
    head = ["method", f"points within {found['near']:g} of the front", f"median {found['measure']}", "largest",
            "largest hole (share of the front)", "evaluations", "time"]  # fmt: skip
    return str(Table(head, rows))


def _points(found: dict[str, Any]) -> str:
    levels = found["levels"]
    head = ["method", "what it minimises", "worst group loss", *[f"loss {level}" for level in levels],
            "largest excess over own best", "test accuracy", found["deo_words"]]  # fmt: skip
    rows = [
        [name, a["aim"], f"{max(a['losses']):.4f}", *[f"{v:.4f}" for v in a["losses"]], f"{a['regret']:.4f}",
         f"{a['accuracy']:.4f}", f"{a['deo']:+.4f}"]
        for name, a in found["methods"].items()
    ]  # fmt: skip
    return str(Table(head, rows))


INTRODUCTION = """Each method was asked for nine points. On Example 1 (R^20, s = 1.5, a front that is not convex) all start from one point;
methods with preferences get the same nine, weighted methods nine even weights. On the fairness problems (logistic, equal
opportunity, the paper's encoding, objectives loss and z^2/2) all start from plain training, in variables scaled by the
loss's Hessian there, which is fair to first-order methods and does not move the front; preferences run from just above
what plain training meets to 300 times that. One evaluation is one pass over the data with all gradients.
Methods with constant steps were run with three step sizes; the one nearest to the front counts, at its own cost.

The largest hole is the widest stretch of the front without a point (of those near the front), ends included, as a share:
of the arc for Example 1, of the range of gaps otherwise. Some holes are by design: even weights bunch, even preferences
do not spread evenly over gaps. Pareto MTL was given objectives minus their minima, because its sectors start at the origin
and a fairness front lies in one of them otherwise."""

MINIMAX_WORDS = """## Methods with one answer

Minimax Pareto fairness (APStar), ALMO and bounded group loss ask for the smallest loss of the worst-off group; Balashankar
et al. ask for the smallest excess of any group over the best it could reach alone; Zafar et al. for no covariance between
group and score. Logistic, the paper's encoding, losses on training rows."""

READING = """## How to read this

- On Example 1, whose front is not convex, the weighted sum and weight perturbation find ends only, as the theory says; methods
  with preferences, sectors or caps find the middle. On the fairness problems the front is convex and all of them work.
- With variables scaled and the step size tuned almost every method reaches the front; they differ in what they cost and in
  where their points lie. The reference is Newton's curve of 60 points with straight lines between them, so an excess of
  about 1e-4 is its resolution. Without scaling, first-order methods with constant steps do much worse on Adult: see the page
  on frontiers.
- The three minimax methods solve one problem. Bounded group loss and APStar agree to the fourth digit; ALMO's averaged steps
  come near it with two groups and are less precise with five.
- An equal worst loss or an equal excess is not an equal true positive rate: see the last column. The notions differ in what they
  ask for, and no method is at fault for not giving another's.
- The paper names these methods and does not compare with them; there are no printed figures to set beside."""

EXPERIMENT = Experiment("named-methods", "The methods that the paper names", tasks, page)
