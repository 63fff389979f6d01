"""Frontiers of claims per year on a large portfolio, against one fit of scikit-learn's PoissonRegressor."""

from __future__ import annotations

import time

import numpy as np

from ..report import Section, Table, thousands
from .process import apart

POINTS, COLUMNS, TIMED = 12, 40, 3


def measure(n: int) -> dict[str, float]:
    """Return processor seconds of a fit and of a trace (medians), how many points are certified, and the difference."""
    from sklearn.linear_model import PoissonRegressor

    import fairfront as ff

    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, n)
    X = rng.normal(size=(n, COLUMNS))
    X[:, 0] += 0.5 * group
    exposure = rng.uniform(0.1, 1.0, n)
    y = rng.poisson(exposure * np.exp(-2.0 + 0.3 * X[:, 0] - 0.2 * X[:, 1] + 0.1 * X[:, 2]))
    plain = PoissonRegressor(alpha=1e-4, solver="newton-cholesky")
    fits, traces = [], []
    for _ in range(TIMED):
        start = time.process_time()
        plain.fit(X, y / exposure, sample_weight=exposure)
        fits.append(time.process_time() - start)
        start = time.process_time()
        front = ff.trace(
            X,
            y / exposure,
            sensitive_features=group,
            sample_weight=exposure,
            loss="poisson",
            notion="link_scale_parity",
            ridge=1e-4,
            n_points=POINTS,
            progress=False,
        )
        traces.append(time.process_time() - start)
    far = float(np.abs(front.models.coef[0, 0] - plain.coef_).max())
    known = {"fit": float(np.median(fits)), "trace": float(np.median(traces))}
    return {**known, "points": len(front), "certified": int(front.certified.sum()), "far": far}


def sections(quick: bool) -> list[Section]:
    """Measure one size."""
    n = 20_000 if quick else 600_000
    found = apart(measure, n)
    cells = [f"{found['fit']:.2f} s", f"{found['trace']:.2f} s", f"{found['trace'] / found['fit']:.1f}"]
    row = [thousands(n), str(COLUMNS), *cells, f"{found['certified']:.0f} of {found['points']:.0f}"]
    heads = ["policies", "columns", "one fit", f"{POINTS} points", "fits", "certified"]
    said = (
        f"One fit of PoissonRegressor(solver='newton-cholesky'), and {POINTS} points at the same penalty, from it to equal "
        f"mean scores; median processor time of {TIMED} interleaved runs, one BLAS thread. Coefficients of both plain fits "
        f"differ by {found['far']:.1e} at most."
    )
    summary = f"{POINTS} certified points of a Poisson frontier on {thousands(n)} policies cost {cells[2]} plain fits."
    return [Section("solvers", "Poisson frontiers", [said, Table(heads, [row])], summary)]
