"""What the error of a gap on held-out rows is made of, and other ways to choose by it, on samples of no other table.

python -m benchmarks promise_causes
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.special import ndtr
from scipy.stats import norm
from sklearn.isotonic import IsotonicRegression

import fairfront as ff
from fairfront.frontier.held_out import HeldOut
from fairfront.frontier.selection import telling, walk
from fairfront.measures.promises import Normals
from fairfront.problems.factorisation import BorderedInverse
from fairfront.solvers.leave_one_out import LeaveOneOut

from ..report import Section, Table
from .bars import Found, mean, root
from .populations import TITLES, Population, population_of, redrawn
from .repetitions import decisions, judged, linear, truth_of

FIRST = 7000
"""The first seed: the tables of the page have those from 0 on."""
PAGE, TITLE = "promises", "Where the error comes from, and what was tried"
RUNS = {"german": 300, "compas": 200, "oulad": 60, "loans": 60, "adult": 40}
VARIANTS: dict[str, dict[str, Any]] = {
    "as on this page": {},
    "1 600 rows": {"rows": 1600},
    "chances of 20 trees": {"trees": 20},
    "chances of 120 trees": {"trees": 120},
}


class Raw:
    """One run: rates held out, by training decisions and true, (N, c) in the order of the path, and what is chosen by."""

    def __init__(self, population: Population, seed: int) -> None:
        kept: dict[str, Any] = {}
        rows = population.sample(FIRST + seed)
        front = _listened(kept, lambda: linear(rows))
        record = front.record("held_out")
        path = walk(front)
        path = path[np.isin(path, telling(front, record))]
        groups = next(iter(record.groups.values()))
        order = np.argsort([int(level) for level in groups.levels])
        cells = [(rows.groups == g) & rows.good for g in range(len(order))]
        trained, scores = decisions(front, rows.X), kept["scores"][:, 0]
        spread = 0.1 * scores.std(axis=1, keepdims=True)
        truth, error = truth_of(population, front)
        self.held, self.size = groups.tpr[:, order][path], groups.positives[order]
        self.train = np.stack([trained[:, cell].mean(axis=1) for cell in cells], axis=1)[path]
        self.smooth = np.stack([ndtr(scores[:, cell] / spread).mean(axis=1) for cell in cells], axis=1)[path]
        self.seen, self.truth, self.error = np.asarray(record["error"])[path], truth[path], error[path]
        self.zero = int(np.argmin(front.gaps[path].max(axis=1)))
        self.left = _Left(kept, rows.groups, rows.good, truth) if len(order) == 2 else None

    def delivered(self, rates: np.ndarray, cap: float) -> tuple[float, float]:
        """Return the true gap and error of the least error within an expected gap, or of the smallest of these."""
        expected = Normals(rates, rates, self.held * (1.0 - self.held) / self.size).worst
        within = np.flatnonzero(expected <= cap)
        place = within[np.argmin(self.seen[within])] if len(within) else np.argmin(expected)
        return float(np.ptp(self.truth[place])), float(self.error[place])


def _listened(kept: dict[str, Any], made: Callable[[], ff.Frontier]) -> ff.Frontier:
    """Call what traces a frontier, and take note of what leave-one-out was asked and answered."""
    joined, scores = HeldOut.joined, LeaveOneOut.scores

    def hear_scores(self: LeaveOneOut, W: np.ndarray, x: np.ndarray) -> Any:
        found = scores(self, W, x)
        kept.update(leave=self, W=W, x=x, alone=found[0])
        return found

    def hear_joined(self: HeldOut, front: Any, given: np.ndarray, *way: Any) -> Any:
        kept["scores"] = given
        return joined(self, front, given, *way)

    HeldOut.joined, LeaveOneOut.scores = hear_joined, hear_scores  # type: ignore[method-assign]
    try:
        return made()
    finally:
        HeldOut.joined, LeaveOneOut.scores = joined, scores  # type: ignore[method-assign]


class _Left:
    """At every sixth point: squared error of the gap, and its variance by counts, with the fitted model, by jackknife.

    With b_j what a row j does to the weights and a_i what a weight does to the share of row i in the gap, a decision
    near the cut-off counted by a kernel, the second is the variance of the sum of a_i b_j over pairs; the jackknife is the
    sum of squares of what each row does to the figure, through its own decision and through the weights.
    """

    def __init__(self, kept: dict[str, Any], groups: np.ndarray, good: np.ndarray, truth: np.ndarray) -> None:
        leave, found = kept["leave"], []
        problem, order = leave.problem, leave.problem.layout.cells.order
        X, targets, group = problem.piece.design.X, problem.piece.targets, np.where(good, groups, -1)[order]
        points = leave.solved_points(kept["W"], kept["x"])
        for j in range(0, len(points), 6):
            at = points[j]
            inverse, scores = BorderedInverse.of(problem.hessian(at.W, at.omega), at.A), at.W @ X.T
            value, slope = problem.measures[0][0].value_slope(scores, targets)
            inside = leave.in_averages[at.averages]
            total = np.array([problem.layout.cells.weight[problem.layout.averages[a].cells].sum() for a in at.averages])
            share = inside / (total[:, None] - inside) if len(total) else inside
            r = slope[0] * (leave.in_loss + at.kappa @ share)
            pull = X * r[:, None] - (at.kappa[:, None] * share).T @ at.m
            b = (at.S.T @ (share * (at.M[:, None] - value))).T @ inverse.Q.T - pull @ inverse.root @ inverse.root.T
            width = 0.9 * scores.std() * len(X) ** -0.2
            near = norm.pdf(scores[0] / width) / width
            decided = (kept["alone"][j, 0][order] > 0).astype(np.float64)
            own, a, through, gap = np.zeros(len(X)), np.zeros(X.shape), np.zeros(X.shape[1]), 0.0
            for g, sign in ((0, -1.0), (1, 1.0)):
                cell = group == g
                c = sign / cell.sum()
                own[cell], gap = c * (decided[cell] - decided[cell].mean()), gap + sign * decided[cell].mean()
                pushed = c * near[cell, None] * X[cell]
                a[cell], through = pushed - pushed.mean(axis=0), through + pushed.sum(axis=0)
            mixed, counts = b.T @ a, float(own @ own)
            model = float(np.sum((a.T @ a) * (b.T @ b)) + np.trace(mixed @ mixed))
            error = gap - (truth[j, 1] - truth[j, 0])
            found.append([error**2, counts, counts + model, float(((own + b @ through) ** 2).sum())])
        self.squares = np.array(found).mean(axis=0)


def ways(run: Raw) -> Iterator[tuple[str, np.ndarray]]:
    """Yield rates to read expected gaps from; of two groups also those that are made for one signed gap."""
    yield "held out, as it is", run.held
    yield "training decisions", run.train
    more, x = run.held - run.train, np.linspace(-1.0, 1.0, len(run.held))
    line = np.column_stack([np.ones(len(x)), x])
    yield "training, and a line of what held-out rates differ by", run.train + line @ np.linalg.lstsq(line, more)[0]
    yield "decisions near the cut-off by a kernel", run.smooth
    if run.held.shape[1] > 2:
        return
    gap = run.held[:, 1] - run.held[:, 0]

    def as_gap(values: np.ndarray) -> np.ndarray:
        return np.column_stack([0.0 * values, values])

    rises = bool(gap[-1] > gap[0])
    yield "a monotone curve of signed gaps", as_gap(IsotonicRegression(increasing=rises).fit_transform(x, gap))
    padded = np.concatenate([np.repeat(gap[:1], 2), gap, np.repeat(gap[-1:], 2)])
    yield "the mean of five neighbours", as_gap(np.convolve(padded, np.full(5, 0.2), "valid"))
    variance = float((run.held[run.zero] * (1.0 - run.held[run.zero]) / run.size).sum())
    yield "shrunk to no gap where losses have none", as_gap(gap - variance / (variance + 0.04**2) * gap[run.zero])


def chosen(case: str, runs: list[Raw]) -> Iterator[list[object]]:
    """Yield what each way delivers when 0.02 is asked for, beside the rule as it is."""
    found: dict[str, list[tuple[float, float]]] = {}
    for run in runs:
        for name, rates in ways(run):
            found.setdefault(name, []).append(run.delivered(rates, 0.02))
    first = np.array(next(iter(found.values())))
    for name, each in found.items():
        gap, error = (_told(mean(column)) for column in np.array(each).T)
        apart = [_told(mean(column), "+") if np.any(column) else "" for column in (np.array(each) - first).T]
        yield [TITLES[case], len(each), name, gap, apart[0], error, apart[1]]


def _told(found: Found, sign: str = "") -> str:
    return f"{found.value:{sign}.4f} ± {found.error:.4f}"


def by_population(runs: int) -> Table:
    """Return figures of German credit with more rows, and with chances of other trees."""
    rows: list[list[object]] = []
    for name, how in VARIANTS.items():
        population, found = redrawn("german", **how), []
        for seed in range(runs):
            front = linear(population.sample(FIRST + seed))
            found.append(judged(front, "held_out", truth_of(population, front)))
        rms, se = (root([each[key] for each in found]) for key in ("rms", "se"))
        gap, error = (mean([each["asked 0.02"][k] for each in found]) for k in (0, 1))
        least = mean([each["least"][0] for each in found])
        ratio = Found(rms.value / se.value, rms.error / se.value)
        rows.append([name, runs, *map(_told, (rms,)), f"{se.value:.4f}", *map(_told, (ratio, gap, error, least))])
    head = ["German credit", "runs", "rms error", "standard error", "rms / se", "asked 0.02: true gap", "true error"]
    return Table([*head, "smallest end"], rows)


def sections(quick: bool) -> list[Section]:
    """Return the section; a quick call makes a few of the runs."""
    errors, rules, share = [], [], 0.02 if quick else 1.0
    for case, runs in RUNS.items():
        made = [Raw(population_of(case), seed) for seed in range(max(2, int(share * runs)))]
        rules += list(chosen(case, made))
        if case in ("german", "compas"):
            happened, *ends = np.mean([run.left.squares for run in made if run.left], axis=0) ** 0.5
            told = [f"{each:.4f} ({happened / each:.2f})" for each in ends]
            errors.append([TITLES[case], len(made), f"{happened:.4f}", *told])
    by = ["rms error", "standard error by counts (rms / se)", "with the fitted model", "infinitesimal jackknife"]
    parts: list[str | Table] = [
        POPULATIONS, by_population(max(2, int(150 * share))), ERRORS, Table(["population", "runs", *by], errors), RULES,
        Table(["population", "runs", "gaps read from", "asked 0.02: true gap", "difference", "true error",
               "difference"], rules)]  # fmt: skip
    return [Section(PAGE, TITLE, parts)]


POPULATIONS = (
    f"Samples here have seeds from {FIRST} on, which no other table has: nothing was tuned on those. *German credit*, where the "
    "rms error misses its bar. The bars were set in a population of which the chances are lost; "
    "it had a true error of 0.29, between the first and the third row. How sharp the chances are decides the noise of a rate: "
    "by counts alone it is above the bar of 0.037 as on this page, and below it by chances of 20 trees, where the gap that is "
    "delivered meets its bar and the other two figures are within a tenth of theirs. No row is clipped, and at most one decision in a thousand differs from exact "
    "refits (a test holds that)."
)
ERRORS = (
    "*Standard errors.* What is left is the fitted model: decisions near the cut-off follow rows that are judged too. Its "
    "variance follows in closed form from the Hessian of leave-one-out, as that of the sum over pairs of rows of what one does to "
    "the other's decision. It is not taken: it makes too much of it on both, would widen all ends, and ends by counts are broken "
    "in fewer samples than allowed. The infinitesimal jackknife of the rate is of another target, the rate of models fitted to other "
    "samples, and is wrong here in both directions."
)
RULES = (
    "*Choosing.* With a standard error of 0.038 no point of German credit has an expected gap within 0.02 (`select` says so); "
    "what is delivered is then the smallest one. Other curves to read expected gaps from, the smallest where none is within the cap, were "
    "tried for all populations; noise is mostly common to neighbours, so that little can be averaged away. Shrinking delivers less on German credit and Adult "
    "and costs error on COMPAS; training decisions cost gap on OULAD and Adult; kernels and lines of what held-out rates differ by cost error on "
    "the loans. None is better in all, so that none is taken."
)
