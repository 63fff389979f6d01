"""Experiment 6: the methods that the paper names, on Example 1 and on the fairness problems."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from ..report import Table
from .data import Spec
from .experiment import Experiment, Task
from .figures import picture
from .named_fronts import TOLD
from .named_tasks import NEWTON, fair_front, minimax_points, toy_front
from .plane_figures import draw_points

FAIR = (("adult", "sex"), ("compas", "sex"))
MINIMAX = (("adult", "sex"), ("adult", "race"))


def tasks(quick: bool) -> dict[str, Task]:
    """Return one task per problem."""
    points, steps, seeds = (3, 40, 2) if quick else (9, 500, 5)
    asked = {"points": points, "steps": steps, "seeds": seeds}
    found = {"example": Task(toy_front, asked)}
    for data, attribute in FAIR:
        found[f"front {data} {attribute}"] = Task(fair_front, {"spec": asdict(Spec(data, attribute)), **asked})
    for data, attribute in MINIMAX:
        arguments = {
            "spec": asdict(Spec(data, attribute)),
            "rounds": 3 if quick else 60,
            "steps": 50 if quick else 3000,
            "seeds": seeds,
        }
        found[f"minimax {data} {attribute}"] = Task(minimax_points, arguments)
    return found


def page(results: dict[str, Any], folder: Path) -> str:
    """Draw the fronts and write the page."""
    fronts = {key: results[key] for key in results if not key.startswith("minimax")}
    body = [INTRODUCTION]
    for key, found in fronts.items():
        name = f"named-methods-{key.replace('front ', '').replace(' ', '-')}.png"
        draw_points(found, folder / name)
        body.append(f"## {found['title']}\n\n{picture(name, 'Points of every method, first seed')}\n\n{_fronts(found)}")
    body.append(_family(fronts))
    body.append(MINIMAX_WORDS)
    for key, found in results.items():
        if key.startswith("minimax"):
            body.append(f"### {found['title']}\n\n{_points(found)}")
    return "\n\n".join([*body, READING])


def _fronts(found: dict[str, Any]) -> str:
    rows = []
    for name, answer in found["methods"].items():
        rows.append(
            [
                name if answer["eta"] is None else f"{name}, eta {answer['eta']:g}",
                f"{sum(answer['near'])} of {sum(answer['points'])}",
                f"{np.median(answer['median']):.0e}",
                f"{max(answer['largest']):.0e}",
                _range(answer["hole"], "{:.2f}"),
                _range(answer["evaluations"], "{:.0f}"),
                _range(answer["hessians"], "{:.0f}") if max(answer["hessians"]) else "",
                f"{np.median(answer['seconds']):.2f} s",
                TOLD.get(name, ""),
            ]
        )
    head = ["method", f"points within {found['near']:g} of the front, all seeds", f"median {found['measure']}",
            "largest", "largest hole (share of the front)", "evaluations", "Hessians", "time",
            "told beforehand"]  # fmt: skip
    return str(Table(head, rows))


def _range(values: list[float], form: str) -> str:
    """Return the median over seeds with the range where it is not one number."""
    texts = [form.format(value) for value in (np.median(values), min(values), max(values))]
    return texts[0] if texts[1] == texts[2] else f"{texts[0]} ({texts[1]} to {texts[2]})"


def _family(fronts: dict[str, Any]) -> str:
    """Set Newton beside its relatives, with what each paid and how near it came."""
    rows = []
    for found in (f for f in fronts.values() if NEWTON in f["methods"]):
        for name in (NEWTON, "homotopy (Hillermeier)", "continuous exploration (Ma et al.)", "PB-PDO (fairfront)"):
            a = found["methods"][name]
            cost = found["plain"] if name != NEWTON else {"evaluations": 0, "hessians": 0}
            passes, hessians = (np.median(a[key]) + cost[key] for key in ("evaluations", "hessians"))
            rows.append([found["title"], name, f"{np.median(a['points']):.0f}", f"{passes:.0f}", f"{hessians:.0f}",
                         f"{max(a['largest']):.0e}"])  # fmt: skip
    head = ["problem", "method", "points", "passes over the data", "Hessians", "largest excess"]
    return f"{FAMILY}\n\n{Table(head, rows)}\n\n{FAMILY_READING}"


def _points(found: dict[str, Any]) -> str:
    levels = found["levels"]
    head = ["method", "what it minimises", "worst group loss", *[f"loss {level}" for level in levels],
            "largest excess over own best", "test accuracy", found["deo_words"]]  # fmt: skip
    rows = []
    for name, each in found["methods"].items():
        losses = np.mean([a["losses"] for a in each], axis=0)
        worst, regret, accuracy, deo = (
            np.array([value(a) for a in each])
            for value in (lambda a: max(a["losses"]), *(lambda a, k=k: a[k] for k in ("regret", "accuracy", "deo")))
        )
        rows.append([name, each[0]["aim"], _mean(worst), *[f"{v:.4f}" for v in losses], _mean(regret),
                     _mean(accuracy), _mean(deo, "+")])  # fmt: skip
    return str(Table(head, rows))


def _mean(values: np.ndarray, sign: str = "") -> str:
    """Return the mean over seeds and, of several, their standard deviation."""
    return f"{values.mean():{sign}.4f}" + (f" ± {values.std(ddof=1):.4f}" if len(values) > 1 else "")


INTRODUCTION = """Each method was asked for nine points, five times. On Example 1 (R^20, s = 1.5, a front that is not convex) a seed is a random
start, shared by all; methods with preferences get the same nine, weighted methods nine even weights. On the fairness problems
(logistic, equal opportunity, the paper's encoding, objectives loss and z^2/2) a seed is a split (Adult: which fifth of the
paper's training part is left out), and all start from plain training, in variables scaled by the loss's Hessian there, which is fair
to first-order methods and does not move the front; preferences run from just above what plain training meets to 300 times
that. One evaluation is one pass over the data with all gradients. Methods with constant steps were run with three step sizes
on the first seed; the one nearest to the front counts, there and on the other seeds, at its own cost. Cells are medians over
seeds, with the range in brackets.

Distances on Example 1 are to the closed form. The excess of a point is its loss above the least loss at its own gap, solved for
that point by Newton, so there is no curve whose resolution could limit it; SLSQP, L-BFGS and the homotopy, which share no step with
Newton, agree with it to 1e-9. The largest hole is the widest stretch of the front without a
point (of those near the front), ends included, as a share: of the arc for Example 1, of the range of gaps otherwise. Some holes
are by design: even weights bunch, even preferences do not spread evenly over gaps.

What methods are told beforehand is in the last column. NBI cannot begin without the minima of both objectives; it is given
them (of the fairness problem's second objective, which has many minimisers, the one with the smallest loss), and what L-BFGS takes
to find a minimum of each is counted. The other ranges only set units of caps, sectors and steps and are not charged. Pareto MTL
was given objectives minus their minima, because its sectors start at the origin and a fairness front lies in one of them
otherwise. The two methods that walk (homotopy, continuous exploration) begin at the minimum of the first objective, found by
L-BFGS and counted; they are told a length of step, not a number of points."""

FAMILY = """## The family of Newton's tracer

Hillermeier's homotopy treats the KKT points as a curve and follows it with second derivatives: a step along the tangent, then
corrections. Ma et al. keep the idea and never form a Hessian: the tangent is a linear system, solved by MINRES on products with
it, and the way back is common descent. The paper counts both as "geometrical exploration" and holds second derivatives
against them. The default solver of this package, Newton, belongs to this family: a path of solved KKT points, each started from
its neighbour, corrected with exact Hessians of the Lagrangian. It follows the *cap on the gap* instead of the weights. Passes
here include plain training, which the others were given (its cost is added to theirs)."""

FAMILY_READING = """What the other parameter buys: caps can be asked for, so points lie where they are wanted and the last one is at a zero gap;
with several groups an inequality per pair joins or leaves the active set, where a curve of weights would have to be followed
through more dimensions; a Hessian is kept over several steps and points while the residual falls fast enough, which is why
there are so few (the homotopy computes one per correction, and could keep them too); a point whose Lagrangian is convex is certified as the global optimum. What it does not buy: generality. Newton
is for losses of linear models against gaps; homotopy and exploration take any pair of smooth functions and walk through the
front of Example 1, which is not convex, as well. With phi = z^2/2 the rank condition of the homotopy fails at the fair end (the
gradient of the second objective vanishes there and the Hessian tends to rank one), so its last point is short of a zero
gap; exploration needs more passes, most of them for products and common descent."""

MINIMAX_WORDS = """## Methods with one answer

Minimax Pareto fairness (APStar), ALMO and bounded group loss ask for the smallest loss of the worst-off group; Balashankar
et al. ask for the smallest excess of any group over the best it could reach alone; Zafar et al. for no covariance between
group and score. Logistic, the paper's encoding, losses on training rows, mean over five seeds (as above) with their standard
deviation."""

READING = """## How to read this

- On Example 1, whose front is not convex, the weighted sum and weight perturbation find ends only, as the theory says; methods
  with preferences, sectors or caps find the middle, and so do the two that walk, whose Hessians need not be definite. On the
  fairness problems the front is convex and all of them work.
- With variables scaled and the step size tuned almost every method reaches the front; they differ in what they cost and in
  where their points lie. Without scaling, first-order methods with constant steps need many more steps: see the page on frontiers.
- The printed PB-PDO, in either reading, leaves one to four of nine points of a fairness problem off the front with 500 steps of the
  best of three sizes. Its other points are on it.
- A step size that is right for one split can be wrong for another: Pareto MTL on Adult, chosen on the first seed.
- The three minimax methods solve one problem. Bounded group loss and APStar agree to the third digit or better; ALMO's averaged steps
  come near it with two groups and are less precise with five.
- An equal worst loss or an equal excess is not an equal true positive rate: see the last column. The notions differ in what they
  ask for, and no method is at fault for not giving another's.
- The paper names these methods and does not compare with them; there are no printed figures to set beside."""

EXPERIMENT = Experiment("named-methods", "The methods that the paper names", tasks, page)
