"""The Newton tracer: answers against SLSQP, certificates, and time against plain fits."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

import fairfront as ff
from fairfront.solvers.base import tops

from ..cases import Rows, adult, loaded
from ..optimum import capped_optimum
from ..report import Section, Table
from .process import medians


def settings() -> dict[str, tuple[Rows, dict[str, Any]]]:
    """Return rows and options by name; sensitive columns are not in X but for the paper's 13 columns."""
    sex = adult("sex")

    def plain(case: str, group: str, **options: Any) -> tuple[Rows, dict[str, Any]]:
        data = loaded(case)
        return Rows(data.matrix("one_hot")[0], data.y, data.columns[group]), options

    crime = {"loss": "squared", "notion": "disparate_mistreatment"}
    return {
        "Adult one-hot, sex": (sex, {}),
        "Adult 13 columns, sex": (adult("sex", "paper"), {}),
        "Adult one-hot, race (5 groups)": (adult("race"), {"groups": ff.Groups(min_size=1)}),
        "COMPAS, sex": plain("compas", "sex", favourable="no recidivism"),
        "COMPAS, race": plain("compas", "race", favourable="no recidivism"),
        "Adult one-hot, sex, equalized odds": (sex, {"notion": "equalized_odds"}),
        "Adult one-hot, sex, demographic parity": (sex, {"notion": "demographic_parity"}),
        "Adult one-hot, sex, smoothed hinge": (sex, {"loss": "smoothed_hinge"}),
        "German credit, age": plain("german", "age_group", favourable="good"),
        "OULAD, disability (4 classes)": plain("oulad_outcomes", "disability"),
        "Communities and Crime (regression)": plain("communities", "black_share", **crime),
    }


def random_points(stated: ff.problems.LinearProblem, count: int, seed: int = 0) -> tuple[float, float, float]:
    """Solve at random caps with Newton and SLSQP; return largest excess, KKT residual and violation of SLSQP."""
    problem = ff.Newton().working(stated)
    plain = problem.fit(stated.algebra.p)
    z = problem.algebra.violation(problem.algebra.gaps(problem.values(plain[None])))[0]
    top = tops(problem.algebra, z)
    span = ff.solve(stated, "newton").objectives[0, 0] - problem.algebra.loss(problem.values(plain[None]))[0]
    excess, violation = [], []
    for share in np.random.default_rng(seed).uniform(0.02, 0.98, size=count):
        ours = ff.solve(stated, "newton", max_gap=float(share * top.max()))
        caps = np.full(len(top), share * top.max())
        best, over = capped_optimum(problem, caps, plain)
        excess.append((ours.objectives[0, 0] - best) / span)
        violation.append(over)
    return max(excess), min(excess), max(violation)


def price(quick: bool) -> Section:
    """Adult one-hot by sex: 30 random points, and the price of 12 and 50 points in plain fits."""
    data = adult("sex")
    stated = ff.linear_problem(data.X, data.y, sensitive_features=data.groups)
    worst, least, over = random_points(stated, 2 if quick else 30)

    def traced(points: int) -> ff.Frontier:
        return ff.trace(data.X, data.y, sensitive_features=data.groups, n_points=points, held_out=False, progress=False)

    jobs = {str(points): lambda points=points: traced(points) for points in (12, 50)}
    jobs["fit"] = lambda: LogisticRegression(solver="newton-cholesky", tol=1e-8).fit(data.X, data.y)
    found = medians(1 if quick else 5, jobs)
    rows = []
    for points in (12, 50):
        front, seconds = traced(points), found[str(points)]
        rows.append([points, f"{np.nanmax(front.kkt):.1e}", f"{front.certified.mean():.0%}", f"{seconds:.2f} s",
                     f"{seconds / found['fit']:.1f}", f"{points * found['fit'] / seconds:.1f}"])  # fmt: skip
    text = (
        "Adult one-hot without sex and race (32561 x 97), gender, equal opportunity, logistic. At 30 random caps the loss "
        f"differs from SLSQP's optimum by {least:.1e} to {worst:.1e} of the front's loss range (SLSQP left violations of "
        f"up to {over:.0e}). A plain fit is `LogisticRegression(solver='newton-cholesky', tol=1e-8)`, "
        f"{found['fit']:.2f} s here; times include checking the data and the plain fit at the start of the path."
    )
    head = ["points", "largest KKT residual", "certified", "time", "in plain fits", "faster than one fit per point by"]
    summary = f"Newton traces 12 points of Adult in {rows[0][4]} plain fits and 50 in {rows[1][4]}."
    return Section("solvers", "Newton tracer: Adult by gender", [text, Table(head, rows)], summary)


def row(name: str, data: Rows, asked: dict[str, Any], points: int) -> list[object]:
    """Trace one setting: points, certificates, KKT residuals, time, and random points against SLSQP."""
    options = {"sensitive_features": data.groups, **asked}
    stated = ff.linear_problem(data.X, data.y, **options)
    start = time.perf_counter()
    front = ff.trace(data.X, data.y, held_out=False, progress=False, **options)
    traced = time.perf_counter() - start
    start = time.perf_counter()
    ff.Newton().working(stated).fit(stated.algebra.p)
    fitted = time.perf_counter() - start
    n, d = data.X.shape
    return [name, f"{n} x {d}", len(front), f"{front.certified.mean():.0%}", f"{np.nanmax(front.kkt):.1e}",
            f"{traced:.2f} s", f"{traced / fitted:.1f}", f"{random_points(stated, points)[0]:.1e}"]  # fmt: skip


def sections(quick: bool) -> list[Section]:
    """Measure Adult, then every setting."""
    text = "Adaptive knots; loss excess at five random caps against SLSQP on the same functions."
    head = [
        "setting",
        "n x d",
        "points",
        "certified",
        "largest KKT residual",
        "time",
        "in plain fits",
        "largest loss excess",
    ]
    rows = [row(name, *given, points=1 if quick else 5) for name, given in settings().items()]
    breadth = Section("solvers", "Newton tracer: other data, notions, losses", [text, Table(head, rows)])
    return [price(quick), breadth]
