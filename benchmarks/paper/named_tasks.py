"""The problems of experiment 6: Example 1, loss against gap on data, and groups' losses."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import fairfront as ff
from fairfront.objectives.notions import ScoreCovariance
from fairfront.problems import LinearProblem

from .. import judge
from ..cases import Split
from ..optimum import whitening
from ..peers.base import frontier_weights, linear_candidates
from . import comparators as by
from .bumps import NU, D, curvature, example, on_front, to_front
from .data import Spec, parts
from .methods import problem
from .named_fronts import Question, answers

NEWTON = "Newton (fairfront)"


def toy_front(points: int, steps: int, seeds: int) -> dict[str, Any]:
    """Return every method's points on Example 1, from one random start per seed, with their distance to the front."""
    angle = (np.arange(points) + 0.5) * np.pi / (2 * points)
    pi = np.column_stack([1.0 / np.cos(angle), 1.0 / np.sin(angle)])
    grid = on_front(np.linspace(-1.0, 1.0, 4001))
    arc = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(grid, axis=0), axis=1)))

    def asked(seed: int) -> tuple[Question, Any]:
        start = 0.2 * NU + np.random.default_rng(seed).normal(scale=0.3 / np.sqrt(D), size=D)
        minima, etas, shift = (NU, -NU), (0.02, 0.1, 0.5), np.zeros(2)
        return Question(example, start, minima, pi, etas, steps, shift, curvature), lambda h: to_front(h)[0]

    def places(h: np.ndarray, seed: int) -> np.ndarray:
        return np.interp(to_front(h)[1], np.linspace(-1.0, 1.0, 4001), arc) / arc[-1]

    return {"title": "Example 1, R^20", "front": grid[::40].tolist(), "near": 1e-3, "measure": "distance to the front",
            "axes": ["h_1", "h_2"], "methods": gathered(asked, places, seeds, 1e-3)}  # fmt: skip


def gathered(asked: Any, places: Any, seeds: int, near: float) -> dict[str, Any]:
    """Ask all methods once per seed, with the step sizes found on the first; return their figures, (seeds,) each."""
    rounds: list[dict[str, Any]] = []
    for seed in range(seeds):
        question, off = asked(seed)
        etas = {name: answer["eta"] for name, answer in rounds[0].items()} if rounds else None
        rounds.append(answers(question, off, etas) | (off.more() if hasattr(off, "more") else {}))
        for answer in rounds[-1].values():
            close = answer["off"] <= near
            answer |= {"near": int(close.sum()), "hole": hole(places(answer["h"], seed)[close])}
    return {name: _over_seeds([found[name] for found in rounds]) for name in rounds[0]}


def _over_seeds(each: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the objectives of the first seed, and per seed: points, points near, median and largest off, hole, cost."""
    kept = {key: [answer[key] for answer in each] for key in ("near", "hole", "evaluations", "hessians", "seconds")}
    off = [answer["off"] for answer in each]
    spread = {"points": [len(o) for o in off], "median": [np.median(o) for o in off], "largest": [max(o) for o in off]}
    return {"h": each[0]["h"], "eta": each[0]["eta"], **spread, **kept}


def hole(places: np.ndarray) -> float:
    """Return the widest stretch of [0, 1] without a place, ends included."""
    return float(np.diff(np.sort(np.concatenate([[0.0, 1.0], places]))).max())


class Scaled:
    """v -> (h, J) at w = plain + C v, with C from the loss's Hessian at the plain fit, and Hessians of sums."""

    def __init__(self, linear: Any, plain: np.ndarray) -> None:
        self.linear, self.plain, self.C = linear, plain, whitening(linear.metric(plain[None]))

    def __call__(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        at, algebra = self.linear.cells((self.plain + self.C @ v)[None, None]), self.linear.algebra
        return algebra.objectives(at.L)[0], algebra.jacobian(at.L)[0] @ at.D[0] @ self.C

    def hessian(self, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return that of a_1 loss + a_2 z^2 / 2: of omega.L with omega = a_1 p + a_2 z B, and a_2 dz dz^T."""
        w, algebra = (self.plain + self.C @ v)[None], self.linear.algebra
        at = self.linear.cells(w[None])
        z, dz = algebra.gaps(at.L)[0], algebra.B @ at.D[0] @ self.C
        H = self.linear.hessian(w, a[0] * algebra.p + a[1] * z @ algebra.B)
        return np.asarray(self.C.T @ H @ self.C + a[1] * dz.T @ dz)


class Excess:
    """Loss above the least loss at a point's own gap, as a share of the front's loss range; solved for each point."""

    def __init__(self, made: Split, points: int) -> None:
        self.made, self.points, self.linear = made, points, ff.linear_problem(**problem(made, "logistic"))
        self.front = ff.tracing.trace_problem(self.linear, "newton", n_points=60, progress=False)
        self.span, self.widest = np.ptp(self.front.loss), float(self.front.gaps.max())

    def __call__(self, h: np.ndarray) -> np.ndarray:
        z = np.sqrt(2.0 * np.maximum(h[:, 1], 0.0))
        best = [ff.solve(self.linear, "newton", max_gap=float(cap)).objectives[0, 0] for cap in z.clip(max=self.widest)]
        return np.abs(h[:, 0] - best) / self.span

    def more(self) -> dict[str, Any]:
        """Return Newton's own answer: passes over the data with gradients or without, and Hessians."""
        begun, counted = time.process_time(), Tallied.of(self.linear)
        front = ff.tracing.trace_problem(counted, "newton", n_points=max(self.points, 2), progress=False)
        seconds = time.process_time() - begun
        h = np.column_stack([front.loss, front.gaps[:, 0] ** 2 / 2])
        return {NEWTON: {"h": h, "off": self(h), "eta": None, "seconds": seconds, **counted.tally}}


class Tallied(LinearProblem):
    """A linear problem that counts its passes over the data, and Hessians."""

    tally: dict[str, int]

    @classmethod
    def of(cls, linear: LinearProblem) -> Tallied:
        made = cls(linear.rows, linear.objectives, linear.frame, linear.feature_names)
        made.tally = {"evaluations": 0, "hessians": 0}
        return made

    def cells(self, W: Any) -> Any:
        self.tally["evaluations"] += len(W)
        return super().cells(W)

    def values(self, W: Any) -> Any:
        self.tally["evaluations"] += len(W)
        return super().values(W)

    def hessian(self, W: Any, omega: Any, float32: bool = False) -> Any:
        self.tally["hessians"] += 1
        return super().hessian(W, omega, float32)


def plain_cost(linear: LinearProblem) -> dict[str, int]:
    """Return what plain training costs, which all methods but Newton are given."""
    counted = Tallied.of(linear)
    counted.fit(counted.algebra.p)
    return counted.tally


def fair_front(spec: dict[str, str], points: int, steps: int, seeds: int) -> dict[str, Any]:
    """Return every method's points on loss against z^2/2, one split per seed, with their loss excess."""
    kept: dict[int, Excess] = {}

    def asked(seed: int) -> tuple[Question, Excess]:
        off = kept[seed] = Excess(parts(Spec(**spec), seed), points)
        W = frontier_weights(off.front)
        f = Scaled(off.linear, W[0])
        ends = (np.zeros(len(f.C)), np.linalg.solve(f.C, W[int(np.argmin(off.front.gaps[:, 0]))] - W[0]))
        h = f(ends[0])[0]
        pi = np.column_stack([np.ones(points), h[0] / h[1] * np.geomspace(1.1, 300.0, points)])
        shift = np.array([off.front.loss.min(), 0.0])
        return Question(f, ends[0], ends, pi, (0.005, 0.05, 0.5), steps, shift, f.hessian), off

    def places(h: np.ndarray, seed: int) -> np.ndarray:
        return np.clip(np.sqrt(2.0 * np.maximum(h[:, 1], 0.0)) / kept[seed].widest, 0.0, 1.0)

    methods = gathered(asked, places, seeds, 1e-3)
    gap, loss = kept[0].front.gaps[:, 0], kept[0].front.loss
    order = np.argsort(gap)
    curve = np.column_stack([loss[order], gap[order] ** 2 / 2])
    return {"title": Spec(**spec).title, "methods": methods, "front": curve.tolist(), "near": 1e-3,
            "measure": "loss excess (share of the loss range)", "axes": ["loss", "z^2 / 2"],
            "plain": plain_cost(kept[0].linear)}  # fmt: skip


def minimax_points(spec: dict[str, str], rounds: int, steps: int, seeds: int) -> dict[str, Any]:
    """Return the one answer of each method that has one, per seed: group losses, excess over own best, rates on test."""
    each = [_minimax(parts(Spec(**spec), seed), rounds, steps) for seed in range(seeds)]
    made = parts(Spec(**spec), 0)
    words = f"DEO, {made.levels[0]} - {made.levels[-1]}" if len(made.levels) == 2 else "worst DEO"
    methods = {name: [found[name] for found in each] for name in each[0]}
    return {"title": Spec(**spec).title, "levels": list(made.levels), "methods": methods, "deo_words": words}


def _minimax(made: Split, rounds: int, steps: int) -> dict[str, Any]:
    regret, best = by.against_own_best(**problem(made, "logistic"))
    bounded = ff.linear_problem(**problem(made, "logistic", notion="group_loss"))
    assert tuple(bounded.algebra.mean_names) == made.levels
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
    return {name: {"aim": aim, **_facts(w, bounded, best, made)} for name, (aim, w) in weights.items()}


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
