"""The Newton tracer: answers against SLSQP, certificates, and time against plain fits.

python -m benchmarks.newton_quality
"""

from __future__ import annotations

import time

import numpy as np
from sklearn.linear_model import LogisticRegression

import fairfront as ff
from fairfront.solvers.aiming import tops, working_problem

from .adult import adult
from .report import table, write_section
from .settings import Setting, settings
from .slsqp import capped_optimum
from .timing import medians


def main() -> None:
    """Run all parts."""
    headline()
    breadth()


def random_points(setup: ff.problems.Setup, count: int, seed: int = 0) -> tuple[float, float, float]:
    """Solve at random caps with Newton and SLSQP; return largest excess, KKT residual and violation of SLSQP."""
    problem = working_problem(setup, ff.Newton())
    plain = problem.fit(problem.algebra.p)
    z = problem.algebra.violation(problem.algebra.gaps(problem.values(plain[None])))[0]
    top = tops(problem.algebra, z, "worst_gap")
    span = ff.solve(setup, "newton").objectives[0, 0] - problem.algebra.loss(problem.values(plain[None]))[0]
    excess, violation = [], []
    for share in np.random.default_rng(seed).uniform(0.02, 0.98, size=count):
        ours = ff.solve(setup, "newton", max_gap=float(share * top.max()))
        caps = np.full(len(top), share * top.max())
        best, over = capped_optimum(problem, caps, plain)
        excess.append((ours.objectives[0, 0] - best) / span)
        violation.append(over)
    return max(excess), min(excess), max(violation)


def headline() -> None:
    """Adult one-hot by sex: 30 random points, and the price of 12 and 50 points in plain fits."""
    data = adult("sex")
    setup = ff.linear_problem(data.X, data.y, sensitive_features=data.groups)
    worst, least, over = random_points(setup, 30)
    fronts = {k: ff.trace(data.X, data.y, sensitive_features=data.groups, n_points=k) for k in (12, 50)}

    def fit() -> None:
        LogisticRegression(solver="newton-cholesky", tol=1e-8).fit(data.X, data.y)

    found = medians(
        5,
        fit=fit,
        twelve=lambda: ff.trace(data.X, data.y, sensitive_features=data.groups, n_points=12),
        fifty=lambda: ff.trace(data.X, data.y, sensitive_features=data.groups, n_points=50),
    )
    rows = [
        [k, f"{np.nanmax(front.kkt):.1e}", f"{front.certified.mean():.0%}", f"{found[name]:.2f} s",
         f"{found[name] / found['fit']:.1f}", f"{k * found['fit'] / found[name]:.1f}"]
        for (k, front), name in zip(fronts.items(), ("twelve", "fifty"), strict=True)
    ]  # fmt: skip
    body = (
        "Adult one-hot without sex and race (32561 x 97), gender, equal opportunity, logistic. At 30 random caps the loss "
        f"differs from SLSQP's optimum by {least:.1e} to {worst:.1e} of the front's loss range (SLSQP left violations of "
        f"up to {over:.0e}). A plain fit is `LogisticRegression(solver='newton-cholesky', tol=1e-8)`, "
        f"{found['fit']:.2f} s here; times include checking the data and the plain fit at the start of the path.\n\n"
        + table(
            [
                "points",
                "largest KKT residual",
                "certified",
                "time",
                "in plain fits",
                "faster than one fit per point by",
            ],
            rows,
        )
    )
    write_section("solvers", "Newton tracer: Adult by gender", "python -m benchmarks.newton_quality", body)


def breadth() -> None:
    """Every setting: points, certificates, KKT residuals, time, and five random points against SLSQP."""
    rows = [_row(setting) for setting in settings()]
    body = "Adaptive knots; loss excess at five random caps against SLSQP on the same functions.\n\n" + table(
        [
            "setting",
            "n x d",
            "points",
            "certified",
            "largest KKT residual",
            "time",
            "in plain fits",
            "largest loss excess",
        ],
        rows,
    )
    write_section("solvers", "Newton tracer: other data, notions, losses", "python -m benchmarks.newton_quality", body)


def _row(setting: Setting) -> list[object]:
    options = {"sensitive_features": setting.groups, **setting.options}
    setup = ff.linear_problem(setting.X, setting.y, **options)
    start = time.perf_counter()
    front = ff.trace(setting.X, setting.y, **options)
    traced = time.perf_counter() - start
    start = time.perf_counter()
    working_problem(setup, ff.Newton()).fit(setup.problem.algebra.p)
    fitted = time.perf_counter() - start
    worst, _, _ = random_points(setup, 5)
    n, d = setting.X.shape
    return [setting.name, f"{n} x {d}", len(front), f"{front.certified.mean():.0%}", f"{np.nanmax(front.kkt):.1e}",
            f"{traced:.2f} s", f"{traced / fitted:.1f}", f"{worst:.1e}"]  # fmt: skip


if __name__ == "__main__":
    main()
