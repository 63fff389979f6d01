"""Cost of the first-order engine as ratios: one step, more groups, a batch of runs, more rows, memory.

python -m benchmarks.engine_speed
"""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np

import fairfront as ff
from fairfront.solvers import PBPDO, Target, run

from .adult import adult
from .report import table, write_section
from .timing import medians


def one_step(problem: Any, runs: int) -> Any:
    """Return a function that takes one whole step of default PB-PDO: plan, move, evaluate, judge."""
    start = problem.fit(problem.algebra.p)
    caps = np.full((runs, len(problem.algebra.b)), 0.05)
    solver = PBPDO()
    work, W, state = solver.prepare(problem, start, Target.from_caps(caps), None)
    point = work.cells(W)

    def step() -> None:
        plan, after = solver.plan(work.algebra, point, state)
        new = work.cells(work.move(point, plan.beta))
        solver.judge(work.algebra, point, new, plan, after)

    return step


def bare(problem: Any, runs: int) -> Any:
    """Return a function with the step's two matrix products and its elementwise functions, nothing else."""
    X = problem.design.X
    W = np.random.default_rng(0).normal(scale=0.1, size=(runs, X.shape[1]))

    def work() -> None:
        scores = W @ X.T
        _, slope = problem.loss.value_slope(scores[:, None], problem.targets)
        slope[:, 0] @ X

    return work


def steps() -> str:
    """Measure a step against its bare products, and five groups against two."""
    rows = []
    problems = {}
    for attribute in ("sex", "race"):
        data = adult(attribute)
        problems[attribute] = ff.linear_problem(data.X, data.y, sensitive_features=data.groups).problem
    for runs in (1, 32):
        found = medians(
            31,
            bare=bare(problems["sex"], runs),
            two=one_step(problems["sex"], runs),
            five=one_step(problems["race"], runs),
        )
        rows.append(
            [
                runs,
                f"{1e3 * found['bare']:.1f} ms",
                f"{found['two'] / found['bare']:.2f}",
                f"{found['five'] / found['two']:.2f}",
            ]
        )
    return table(
        [
            "runs R",
            "bare products + elementwise",
            "step / bare (at most 1.5)",
            "11 objectives / 2 objectives (at most 1.25)",
        ],
        rows,
    )


def batch(runs: int = 32) -> str:
    """Measure 32 targets as one batch against 32 single runs that share the plain fit."""
    data = adult("sex")
    problem = ff.linear_problem(data.X, data.y, sensitive_features=data.groups).problem
    start = problem.fit(problem.algebra.p)
    caps = np.linspace(0.2, 0.0, runs)[:, None]

    def together() -> None:
        run(problem, PBPDO(), start, Target.from_caps(caps))

    def singles() -> None:
        for cap in caps:
            run(problem, PBPDO(), start, Target.from_caps(cap[None]))

    def chained() -> None:
        W = start
        for cap in caps:
            W = run(problem, PBPDO(slide=1.0), W, Target.from_caps(cap[None])).W[0]

    found = medians(3, together=together, singles=singles, chained=chained)
    rows = [
        ["one batch of 32", f"{found['together']:.2f} s", "1.00"],
        [
            "32 single runs from the shared plain fit",
            f"{found['singles']:.2f} s",
            f"{found['singles'] / found['together']:.2f}",
        ],
        [
            "32 single runs, each from the last one's end (best way known)",
            f"{found['chained']:.2f} s",
            f"{found['chained'] / found['together']:.2f}",
        ],
    ]
    return table(["way", "time", "ratio to the batch"], rows)


def sizes(d: int = 50, runs: int = 4) -> str:
    """Measure time per row and extra memory up to 2 million rows."""
    rows = []
    first = None
    for n in (20_000, 200_000, 2_000_000):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, d))
        group = np.where(rng.random(n) < 0.3, "B", "A")
        y = (X[:, 0] + 0.5 * (group == "B") + rng.logistic(size=n) > 0).astype(int)
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        problem = ff.linear_problem(X, y, sensitive_features=group).problem
        step = one_step_plain(problem, runs)
        step()
        peak = tracemalloc.get_traced_memory()[1] - before
        tracemalloc.stop()
        seconds = medians(5, step=step)["step"] / n
        first = first or seconds
        allowed = X.nbytes + 4 * n * runs * 8
        rows.append(
            [f"{n:,}".replace(",", " "), f"{1e9 * seconds:.0f} ns", f"{seconds / first:.2f}", f"{peak / allowed:.2f}"]
        )
        del X, problem, step
    return table(
        [
            f"rows (x {d} columns, R = {runs})",
            "time per row and step",
            "ratio to the smallest",
            "peak extra memory / (X + 4 n R numbers)",
        ],
        rows,
    )


def one_step_plain(problem: Any, runs: int) -> Any:
    """Return one step without the plain fit before it."""
    W = np.random.default_rng(0).normal(scale=0.1, size=(runs, 1, problem.d))

    def step() -> None:
        point = problem.cells(W)
        problem.move(point, np.ones_like(point.L))

    return step


def main() -> None:
    """Run all parts and write the section."""
    parts = ["### One step\n", steps(), "\n### A batch\n", batch(), "\n### Size\n", sizes()]
    write_section("solvers", "First-order engine: cost", "python -m benchmarks.engine_speed", "\n".join(parts))


if __name__ == "__main__":
    main()
