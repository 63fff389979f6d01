"""The problems of experiment 6: Example 1, loss against gap on data, and groups' losses."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import fairfront as ff
from fairfront.objectives.notions import ScoreCovariance

from .. import judge
from ..cases import Split
from ..optimum import whitening
from ..peers.base import frontier_weights, linear_candidates
from . import comparators as by
from .data import Spec, parts
from .example import NU, D, example, on_front
from .methods import problem
from .named_fronts import Question, answers


def toy_front(points: int, steps: int) -> dict[str, Any]:
    """Return every method's points on Example 1 with their distance to the front."""
    rng = np.random.default_rng(2)
    angle = (np.arange(points) + 0.5) * np.pi / (2 * points)
    pi = np.column_stack([1.0 / np.cos(angle), 1.0 / np.sin(angle)])
    start = 0.2 * NU + rng.normal(scale=0.3 / np.sqrt(D), size=D)
    grid = on_front(np.linspace(-1.0, 1.0, 4001))

    def away(h: np.ndarray) -> np.ndarray:
        return np.linalg.norm(h[:, None] - grid[None], axis=2)

    question = Question(example, start, (NU, -NU), pi, etas=(0.02, 0.1, 0.5), steps=steps, shift=np.zeros(2))
    found = answers(question, lambda h: away(h).min(axis=1))
    arc = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(grid, axis=0), axis=1)))
    arc /= arc[-1]
    for answer in found.values():
        near = answer["off"] <= 1e-2
        answer |= {"near": int(near.sum()), "hole": hole(arc[away(answer["h"]).argmin(axis=1)][near])}
    return {"title": "Example 1, R^20", "methods": found, "front": grid[::40].tolist(), "near": 1e-2,
            "measure": "distance to the front"}  # fmt: skip


def hole(places: np.ndarray) -> float:
    """Return the widest stretch of [0, 1] without a place, ends included."""
    return float(np.diff(np.sort(np.concatenate([[0.0, 1.0], places]))).max())


def scaled(linear: Any, plain: np.ndarray) -> tuple[Any, np.ndarray]:
    """Return v -> (h, J) at w = plain + C v with C from the loss's Hessian at the plain fit, and C."""
    C = whitening(linear.metric(plain[None]))

    def f(v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        at = linear.cells((plain + C @ v)[None, None])
        return linear.algebra.objectives(at.L)[0], linear.algebra.jacobian(at.L)[0] @ at.D[0] @ C

    return f, C


def fair_front(spec: dict[str, str], points: int, steps: int) -> dict[str, Any]:
    """Return every method's points on loss against z^2/2, with their loss excess over Newton's front."""
    made = parts(Spec(**spec), 0)
    linear = ff.linear_problem(**problem(made, "logistic"))
    front = ff.trace(**problem(made, "logistic"), n_points=60, progress=False)
    W = frontier_weights(front)
    gap, loss = front.gaps[:, 0], front.loss
    f, C = scaled(linear, W[0])
    ends = (np.zeros(len(C)), np.linalg.solve(C, W[int(np.argmin(gap))] - W[0]))
    h = f(ends[0])[0]
    pi = np.column_stack([np.ones(points), h[0] / h[1] * np.geomspace(1.1, 300.0, points)])
    shift = np.array([loss.min(), 0.0])
    order = np.argsort(gap)
    span, widest = loss.max() - loss.min(), gap.max()

    def excess(h: np.ndarray) -> np.ndarray:
        z = np.sqrt(2.0 * np.maximum(h[:, 1], 0.0))
        return np.abs(h[:, 0] - np.interp(z, gap[order], loss[order])) / span

    found = answers(Question(f, ends[0], ends, pi, etas=(0.005, 0.05, 0.5), steps=steps, shift=shift), excess)
    found["Newton (fairfront)"] = _newton(made, points, excess)
    for answer in found.values():
        z, near = np.sqrt(2.0 * np.maximum(answer["h"][:, 1], 0.0)), answer["off"] <= 1e-2
        answer |= {"near": int(near.sum()), "hole": hole(np.clip(z[near] / widest, 0.0, 1.0))}
    curve = np.column_stack([loss[order], gap[order] ** 2 / 2])
    return {"title": Spec(**spec).title, "methods": found, "front": curve.tolist(), "near": 1e-2,
            "measure": "loss excess (share of the loss range)"}  # fmt: skip


def _newton(made: Split, points: int, excess: Any) -> dict[str, Any]:
    """Return Newton's points; its passes over the data are of another kind and not counted."""
    begun = time.process_time()
    front = ff.trace(**problem(made, "logistic"), n_points=max(points, 2), progress=False)
    seconds = time.process_time() - begun
    h = np.column_stack([front.loss, front.gaps[:, 0] ** 2 / 2])
    return {"h": h, "off": excess(h), "eta": None, "evaluations": None, "seconds": seconds}


def minimax_points(spec: dict[str, str], rounds: int, steps: int) -> dict[str, Any]:
    """Return the one answer of each method that has one: group losses, excess over own best, rates on test."""
    made = parts(Spec(**spec), 0)
    regret, best = by.against_own_best(**problem(made, "logistic"))
    bounded = ff.linear_problem(**problem(made, "logistic", notion="group_loss"))
    plain = bounded.fit(bounded.algebra.p)[0]
    f, C = _group_losses(bounded, plain)
    m = len(best)
    covariance = problem(made, "logistic", notion=ScoreCovariance())
    weights = {
        "plain training": ("mean loss", plain),
        "bounded group loss (fairfront, Newton)": ("worst group loss", _last(bounded)),
        "minimax Pareto fairness (APStar)": (
            "worst group loss", plain + C @ by.minimax_pareto(f, m, np.zeros(len(C)), rounds=rounds).w),
        "ALMO": ("worst group loss", plain + C @ by.almo(f, m, np.zeros(len(C)), 1.0, 5.0, steps).w),
        "against own best (Balashankar)": ("worst excess", _last(regret)),
        "zero covariance (Zafar)": ("mean loss, no covariance", _last(ff.linear_problem(**covariance))),
    }  # fmt: skip
    found = {name: {"aim": aim, **_facts(w, bounded, best, made)} for name, (aim, w) in weights.items()}
    words = f"DEO, {made.levels[0]} - {made.levels[-1]}" if m == 2 else "worst DEO"
    return {
        "title": Spec(**spec).title,
        "levels": list(bounded.algebra.mean_names),
        "methods": found,
        "deo_words": words,
    }


def _group_losses(made: Any, plain: np.ndarray) -> tuple[Any, np.ndarray]:
    """Return v -> (group losses with the penalty, Jacobian) in scaled variables, and the scaling."""
    C = whitening(made.metric(plain[None]))
    rows = made.algebra.B.copy()
    rows[:, -1] = made.algebra.p[-1]

    def f(v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        at = made.cells((plain + C @ v)[None, None])
        return rows @ at.L[0], rows @ at.D[0] @ C

    return f, C


def _last(linear: Any) -> np.ndarray:
    """Return the weights at the end of Newton's path: the smallest worst gap that can be reached."""
    front = ff.tracing.trace_problem(linear, "newton", n_points=12, progress=False)
    end = int(np.argmin(front.gaps[:, 0]))
    return frontier_weights(front)[end]


def _facts(w: np.ndarray, made: Any, best: np.ndarray, data: Split) -> dict[str, Any]:
    losses = made.algebra.B @ made.values(w[None, None])[0]
    approve = linear_candidates(w[None]).approve(data.test.X, data.test.groups)
    test = judge.rates(approve, data.test, len(data.levels))
    return {
        "losses": losses.tolist(),
        "regret": float((losses - best).max()),
        "accuracy": float(test[0, 0, -1]),
        "deo": float(judge.deo(test)[0]),
    }
