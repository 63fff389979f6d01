"""The first-order engine: what a step, a batch and more rows cost, and how near it comes to preferences and optima."""

from __future__ import annotations

import tracemalloc
from dataclasses import dataclass
from typing import Any

import numpy as np

import fairfront as ff
from fairfront.solvers import PBPDO, Target, descend

from ..cases import Rows, adult, synthetic
from ..optimum import Logistic
from ..paper.extraction import random_starts
from ..paper.ladder import climb, smoothness
from ..report import Section, Table, thousands
from .process import medians

BATCH = 32
GENDER = np.column_stack([np.ones(10), np.geomspace(5.0, 20_000.0, 10)])
"""Preferences pi of loss and gap on Adult by gender; not all of them can be reached."""
T = 5000
"""Number of steps of the printed algorithms."""
STEPS = {"raw": (0.01, 0.05, 0.25, 1.0, 2.0), "normalised": (0.005, 0.025, 0.1, 0.5, 2.0)}
"""Their step sizes in units of 1 / L."""


def one_step(problem: Any, runs: int) -> Any:
    """Return a function that takes one whole step of default PB-PDO: plan, move, evaluate, judge."""
    target = Target.from_preferences(np.column_stack([np.ones(runs), np.full((runs, len(problem.algebra.b)), 300.0)]))
    solver = PBPDO()
    begun = solver.beginning(problem, problem.fit(problem.algebra.p), target, np.random.default_rng(0))
    work = begun.problem
    point = work.cells(begun.W)
    state = solver.begin(work.algebra, point, target)

    def step() -> None:
        plan = solver.plan(work.algebra, point, state)
        new = work.cells(work.move(point, plan.beta))
        solver.judge(work.algebra, point, new, plan, state)

    return step


def bare(problem: Any, runs: int) -> Any:
    """Return a function with the step's two matrix products and its elementwise functions, nothing else."""
    X = problem.piece.design.X
    W = np.random.default_rng(0).normal(scale=0.1, size=(runs, X.shape[1]))

    def work() -> None:
        _, slope = problem.loss.value_slope((W @ X.T)[:, None], problem.piece.targets)
        slope[:, 0] @ X

    return work


def problem_of(rows: Rows) -> Any:
    return ff.linear_problem(rows.X, rows.y, sensitive_features=rows.groups, groups=ff.Groups(min_size=1))


def steps(quick: bool) -> Table:
    """Measure a step against its bare products, and five groups against two."""
    sex, race = (problem_of(adult(attribute)) for attribute in ("sex", "race"))
    rows = []
    for runs in (1, BATCH):
        jobs = {"bare": bare(sex, runs), "two": one_step(sex, runs), "five": one_step(race, runs)}
        found = medians(3 if quick else 31, jobs)
        ratios = (found["two"] / found["bare"], found["five"] / found["two"])
        rows.append([runs, f"{1e3 * found['bare']:.1f} ms", *(f"{ratio:.2f}" for ratio in ratios)])
    head = ["runs R", "bare products + elementwise", "step / bare (at most 1.5)"]
    return Table([*head, "11 objectives / 2 objectives (at most 1.25)"], rows)


def batch(quick: bool) -> Table:
    """Measure targets as one batch against single runs that share the plain fit."""
    problem = problem_of(adult("sex"))
    start, ratios = problem.fit(problem.algebra.p), np.geomspace(20.0, 1e6, BATCH)[:, None]
    targets = np.column_stack([np.ones(BATCH), ratios])

    def together() -> None:
        descend(problem, PBPDO(), start, Target.from_preferences(targets))

    def singles() -> None:
        for pi in targets:
            descend(problem, PBPDO(), start, Target.from_preferences(pi[None]))

    def chained() -> None:
        W = start
        for pi in targets:
            W = descend(problem, PBPDO(slide=1.0), W, Target.from_preferences(pi[None])).W[0]

    ways = {
        f"one batch of {BATCH}": together,
        f"{BATCH} single runs from the shared plain fit": singles,
        f"{BATCH} single runs, each from the last one's end (best way known)": chained,
    }
    found = medians(1 if quick else 3, ways)
    first = next(iter(found.values()))
    rows = [[way, f"{seconds:.2f} s", f"{seconds / first:.2f}"] for way, seconds in found.items()]
    return Table(["way", "time", "ratio to the batch"], rows)


def sizes(quick: bool, columns: int = 50, runs: int = 4) -> Table:
    """Measure time per row and extra memory up to 2 million rows."""
    rows: list[list[object]] = []
    first = None
    for n in (20_000, 50_000) if quick else (20_000, 200_000, 2_000_000):
        data = synthetic(n, columns)
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        problem = problem_of(data)
        W = np.random.default_rng(0).normal(scale=0.1, size=(runs, 1, problem.d))

        def step(problem: Any = problem, W: np.ndarray = W) -> None:
            point = problem.cells(W)
            problem.move(point, np.ones_like(point.L))

        step()
        peak = tracemalloc.get_traced_memory()[1] - before
        tracemalloc.stop()
        seconds = medians(5, {"step": step})["step"] / n
        first = first or seconds
        allowed = data.X.nbytes + 4 * n * runs * 8
        rows.append([thousands(n), f"{1e9 * seconds:.0f} ns", f"{seconds / first:.2f}", f"{peak / allowed:.2f}"])
    head = [f"rows (x {columns} columns, R = {runs})", "time per row and step", "ratio to the smallest"]
    return Table([*head, "peak extra memory / (X + 4 n R numbers)"], rows)


@dataclass(frozen=True)
class Ends:
    """Where the runs of one algorithm end: objectives (R, m), statuses, and passes over the data of its step size."""

    objectives: np.ndarray
    status: tuple[ff.Status, ...]
    passes: int


def readings(problem: Any, X: np.ndarray, pi: np.ndarray, steps: int) -> dict[str, Ends]:
    """Return the ends of the default and of the printed algorithm in both readings, each at its best step size.

    That is the one with the smallest median of max_i pi_i h_i at the ends, which are what is judged.
    """
    default = ff.solve(problem, "pb_pdo", preferences=pi)
    found = {"PB-PDO (default)": Ends(default.objectives, default.status, default.passes)}
    for gradients, shares in STEPS.items():
        solver = ff.PaperPBPDO(gradients=gradients, T=steps)  # type: ignore[arg-type]
        etas = np.array(shares) / smoothness(X, "logistic")
        ended = climb(problem, solver, etas, random_starts(problem.d, len(pi)), pi)
        h = ended.objectives.reshape(len(etas), *pi.shape)
        best = int(np.nanargmin(np.median((h * pi).max(axis=2), axis=1)))
        status = ended.status[best * len(pi) : (best + 1) * len(pi)]
        found[f"as printed, {gradients} (eta {shares[best]:g} / L)"] = Ends(h[best], status, ended.passes)
    return found


def gender(steps: int) -> Section:
    """Adult by gender, one-hot, ten preferences: imbalance and loss excess at each end point's own gap."""
    data = adult("sex")
    problem = ff.linear_problem(data.X, data.y, sensitive_features=data.groups)
    logistic = Logistic(data)
    plain = logistic.whitened(problem.fit(problem.algebra.p)[0])
    smallest, first, second = logistic(plain)[0]
    widest = abs(first - second)
    span = logistic.at_gap(0.0, plain).fun - smallest
    reachable = GENDER[:, 1] * widest**2 / 2 > smallest
    rows = []
    for name, outcome in readings(problem, data.X, GENDER, steps).items():
        h = outcome.objectives * GENDER
        balance = (h.max(axis=1) / h.min(axis=1) - 1.0)[reachable]
        caps = np.minimum(np.sqrt(2 * outcome.objectives[:, 1]), widest)
        excess = (outcome.objectives[:, 0] - [logistic.at_gap(cap, plain).fun for cap in caps]) / span
        statuses = [status.name for status in outcome.status]
        said = ", ".join(f"{statuses.count(name)} {name.lower()}" for name in ("LINE", "NEAREST", "STEPS_TAKEN"))
        shares = (balance.max(), np.median(balance)), (excess[reachable].max(), np.median(excess))
        rows.append([name, *(f"{x:.2%}" for x in shares[0]), *(f"{x:.4%}" for x in shares[1]), said, outcome.passes])
    text = (
        f"Adult (the paper's split, {data.X.shape[0]} x {data.X.shape[1]} one-hot without sex and race), gender, equal "
        f"opportunity, logistic. Ten preferences pi_2 / pi_1 from 5 to 20 000, {int(reachable.sum())} reachable. "
        "Imbalance is the difference between pi_1 h_1 and pi_2 h_2; loss excess is (loss - SLSQP's optimum at the "
        f"point's own gap) / (loss range of the front). The printed algorithm had {thousands(steps)} steps and the best of "
        "five step sizes from 0.005 / L to 2 / L by where its runs end, with both epsilons at 1e-2; L is the largest curvature "
        "of the mean loss. What runs pass on their way is in [the paper's Figure 6](../paper/extraction.md). "
        "Runs with constant steps do not settle, so that another last bit of a sum may move their ends far."
    )
    head = [
        "algorithm",
        "largest imbalance",
        "median imbalance",
        "largest loss excess (reachable)",
        "median loss excess",
    ]
    summary = f"PB-PDO reaches the {int(reachable.sum())} of 10 preferences that can be reached to {rows[0][1]}."
    return Section(
        "solvers",
        "First-order engine: preferences on Adult by gender",
        [text, Table([*head, "status", "passes over the data"], rows)],
        summary,
    )


def race(steps: int, preferences: int = 5, seed: int = 0) -> Section:
    """Adult by race, the paper's 13 columns: weighted Chebyshev points against SLSQP."""
    data = adult("race", "paper")
    problem = ff.linear_problem(
        data.X, data.y, sensitive_features=data.groups, groups=ff.Groups(reference="White", min_size=1)
    )
    fair = np.exp(np.random.default_rng(seed).uniform(np.log(10.0), np.log(1000.0), size=(preferences, 10)))
    pi = np.column_stack([np.ones(preferences), fair])
    logistic = Logistic(data)
    plain = logistic.whitened(problem.fit(problem.algebra.p)[0])
    outcomes = readings(problem, data.X, pi, steps)
    ends = [logistic.whitened(W[0]) for W in ff.solve(problem, "pb_pdo", preferences=pi).W]
    best = np.array(
        [min(logistic.chebyshev(p, start) for start in (plain, end)) for p, end in zip(pi, ends, strict=True)]
    )
    rows = []
    for name, outcome in outcomes.items():
        excess = (outcome.objectives * pi).max(axis=1) / best - 1.0
        rows.append([name, f"{excess.max():.4%}", f"{np.median(excess):.4%}", outcome.passes])
    text = (
        f"Adult ({data.X.shape[0]} x {data.X.shape[1]}, the paper's integer-coded columns, sex and race among them), "
        f"race, 5 groups, 11 objectives, {preferences} random preferences. Excess of max_i pi_i h_i over the weighted "
        "Chebyshev optimum by SLSQP (the better of two starts)."
    )
    made = Table(["algorithm", "largest excess", "median excess", "passes over the data"], rows)
    return Section("solvers", "First-order engine: 11 objectives on Adult by race", [text, made])


def sections(quick: bool) -> list[Section]:
    """Measure cost."""
    step, together = steps(quick), batch(quick)
    parts = ["### One step", step, "### A batch", together, "### Size", sizes(quick)]
    summary = (
        f"A first-order step costs {step.rows[0][2]} times its bare matrix products; {BATCH} single runs take "
        f"{together.rows[1][2]} times as long as one batch."
    )
    return [Section("solvers", "First-order engine: cost", parts, summary)]


def preferences(quick: bool) -> list[Section]:
    """Measure how near runs come to what they aim at."""
    steps = 50 if quick else T
    return [gender(steps), race(steps, 1 if quick else 5)]
