"""The Newton tracer against fairlearn's GridSearch: same number of models, and time at equal quality.

python -m benchmarks.newton_fairlearn
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from fairlearn.reductions import GridSearch, TruePositiveRateParity
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

import fairfront as ff

from .adult import adult
from .report import table, write_section

BASES = {
    "default base (lbfgs)": lambda: LogisticRegression(max_iter=1000),
    "fastest base (newton-cholesky)": lambda: LogisticRegression(solver="newton-cholesky"),
}
SIZES = (12, 50, 200)


def grid(base: Any, size: int, X: np.ndarray, y: np.ndarray, group: np.ndarray) -> tuple[list[Any], float]:
    """Return the models of a grid search and the seconds it took."""
    search = GridSearch(base(), TruePositiveRateParity(), grid_size=size)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(X, y, sensitive_features=group)
    return list(search.predictors_), time.perf_counter() - start


def loss_excess(models: list[Any], setup: Any, front: ff.Frontier) -> np.ndarray:
    """Return each model's (loss - frontier's loss at the model's own gap) / loss range, on the training data."""
    problem = setup.problem
    W = np.stack([np.column_stack([m.coef_, m.intercept_]) for m in models if hasattr(m, "coef_")])
    L = problem.values(W)
    gap = problem.algebra.worst(L)[:, 0]
    loss = problem.algebra.loss(L)
    order = np.argsort(front.gaps[:, 0])
    curve = np.interp(gap, front.gaps[order, 0], front.loss[order])
    return (loss - curve) / (front.loss.max() - front.loss.min())


def error_and_gap(models: list[Any], X: np.ndarray, y: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Return (error, difference in true positive rates) of every model."""
    found = []
    for model in models:
        decided = model.predict(X)
        rates = [(decided[(group == g) & (y == 1)] == 1).mean() for g in np.unique(group)]
        found.append([(decided != y).mean(), abs(rates[0] - rates[1])])
    return np.array(found)


def error_at_gap(validation: np.ndarray, test: np.ndarray, cap: float) -> float:
    """Choose on validation the smallest error with a gap of at most ``cap``, and report its test error."""
    allowed = validation[:, 1] <= max(cap, validation[:, 1].min())
    best = np.flatnonzero(allowed)[np.argmin(validation[allowed, 0])]
    return float(test[best, 0])


def main(splits: int = 10) -> None:
    """Compare time and loss excess on the paper's split, and test error at equal gap over random splits."""
    data = adult("sex")
    y = (data.y == ">50K").astype(int)
    setup = ff.linear_problem(data.X, y, sensitive_features=data.groups)
    fine = ff.trace(data.X, y, sensitive_features=data.groups, n_points=50)
    rows = []
    cover: dict[str, float] = {}
    for size in SIZES:
        start = time.perf_counter()
        front = ff.trace(data.X, y, sensitive_features=data.groups, n_points=size)
        ours = time.perf_counter() - start
        rows.append([size, "fairfront, Newton", f"{ours:.2f} s", "1", f"{_span(front.gaps[:, 0]):.3f}", "0 (KKT at most "
                     f"{np.nanmax(front.kkt):.0e})", "0"])  # fmt: skip
        if size == SIZES[0]:
            cover["hole"], cover["ours"] = _span(front.gaps[:, 0]), ours
        for name, base in BASES.items():
            if size == 200 and "default" in name:
                continue
            models, seconds = grid(base, size, data.X, y, data.groups)
            excess = loss_excess(models, setup, fine)
            gaps = setup.problem.algebra.worst(
                setup.problem.values(np.stack([np.column_stack([m.coef_, m.intercept_]) for m in models]))
            )[:, 0]
            inside = gaps <= fine.gaps.max()
            if "fastest" in name and "theirs" not in cover and _span(gaps[inside]) <= cover["hole"]:
                cover["theirs"], cover["models"] = seconds, size
            rows.append([size, f"GridSearch, {name}", f"{seconds:.1f} s", f"{seconds / ours:.0f}",
                         f"{_span(gaps[inside]):.3f}", f"{np.median(excess[inside]):.1e}",
                         f"{int((~inside).sum())}"])  # fmt: skip
    body = (
        "Adult one-hot by gender, equal opportunity. GridSearch with TruePositiveRateParity fits one weighted model per "
        "grid point and optimises classification rates; loss excess is measured on our training objective, for models "
        "inside the traced range of gaps. Largest hole: the widest stretch of loss gap without a model, as a share of the "
        "range.\n\n"
        + table(
            ["models", "method", "time", "time ratio", "largest hole", "median loss excess", "models outside"], rows
        )
        + "\n\n"
        + _covered(cover)
        + _paired(splits)
    )
    write_section(
        "studies", "Newton tracer against fairlearn's GridSearch", "python -m benchmarks.newton_fairlearn", body
    )


def _covered(cover: dict[str, float]) -> str:
    """Say how long GridSearch needs to leave no larger hole than our first frontier does."""
    if "theirs" not in cover:
        return f"No grid tried covers the front as densely as our {SIZES[0]} points do.\n\n"
    return (
        f"Time at equal coverage: GridSearch with its fastest base needs {cover['models']:.0f} models, "
        f"{cover['theirs'] / cover['ours']:.0f} times our time, to leave no larger hole than our {SIZES[0]} points do.\n\n"
    )


def _span(gaps: np.ndarray) -> float:
    ordered = np.sort(np.append(gaps, [0.0, 0.212]))
    return float(np.diff(ordered).max() / 0.212)


def _paired(splits: int) -> str:
    """Return test error at equal gap, paired over random splits, for 12 models each."""
    data = adult("sex")
    X = np.vstack([data.X, data.X_test])
    y = (np.concatenate([data.y, data.y_test]) == ">50K").astype(int)
    group = np.concatenate([data.groups, data.groups_test])
    differences: dict[float, list[float]] = {0.02: [], 0.05: []}
    seconds = {"fairfront": [], "GridSearch": []}
    for seed in range(splits):
        train, rest = train_test_split(np.arange(len(y)), test_size=0.4, random_state=seed)
        held, test = train_test_split(rest, test_size=0.5, random_state=seed)
        start = time.perf_counter()
        front = ff.trace(X[train], y[train], sensitive_features=group[train], n_points=12)
        seconds["fairfront"].append(time.perf_counter() - start)
        ours = [front.select(id=int(i)) for i in front.ids]
        theirs, taken = grid(BASES["fastest base (newton-cholesky)"], 12, X[train], y[train], group[train])
        seconds["GridSearch"].append(taken)
        parts = [[error_and_gap(m, X[r], y[r], group[r]) for r in (held, test)] for m in (ours, theirs)]
        for cap, found in differences.items():
            found.append(error_at_gap(*parts[0], cap) - error_at_gap(*parts[1], cap))
    ratio = np.array(seconds["GridSearch"]) / np.array(seconds["fairfront"])
    lines = []
    for cap, found in differences.items():
        mean, spread = np.mean(found), 2.26 * np.std(found, ddof=1) / np.sqrt(splits)
        lines.append([f"{cap:g}", f"{mean:+.4f}", f"{mean - spread:+.4f} to {mean + spread:+.4f}"])
    return (
        f"Test error at equal gap, 12 models each, chosen on validation, {splits} random splits (fairfront minus "
        f"GridSearch with its fastest base; 95 % interval of the paired mean). GridSearch took {np.median(ratio):.0f} "
        f"times as long ({ratio.min():.0f} to {ratio.max():.0f}).\n\n"
        + table(["largest TPR gap on validation", "difference of test error", "95 % interval"], lines)
    )


if __name__ == "__main__":
    main()
