"""Cheaper weighted fits: a shared prefix of trees, and one run that walks along the frontier, against full fits.

python -m benchmarks.boosting_cheaper [--quick] [--seeds 5]

All three use the same row weights. *Full*: every point from nothing. *Prefix*: half of the trees are those of plain
training, the other half weighted. *Walk*: one training run; after plain training every point adds a few trees with its
own weights to those of the point before. Row weights enter the gradient of every round, so the walk does what a custom
objective with the Lagrangian's gradient would do.
"""

from __future__ import annotations

import argparse
import copy
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from lightgbm import LGBMClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from xgboost import XGBClassifier

from fairfront.problems import estimator_problem

from .boosting import CAPS, chosen, interval, store
from .boosting_data import Split, figures, split
from .report import table, write_section

FILE = Path(__file__).resolve().parent / "results" / "boosting_cheaper.json"
TREES, POINTS, STEP = 100, 8, 10
Continue = Callable[[Any, int, np.ndarray, np.ndarray, np.ndarray], Any]


def continue_hgb(model: Any, trees: int, X: np.ndarray, y: np.ndarray, weight: np.ndarray) -> Any:
    more = copy.deepcopy(model)
    before = more.n_iter_ if hasattr(more, "n_iter_") else 0
    return more.set_params(warm_start=True, max_iter=before + trees).fit(X, y, sample_weight=weight)


def continue_lightgbm(model: Any, trees: int, X: np.ndarray, y: np.ndarray, weight: np.ndarray) -> Any:
    fresh = LGBMClassifier(**{**model.get_params(), "n_estimators": trees})
    start = model.booster_ if hasattr(model, "fitted_") and model.fitted_ else None
    return fresh.fit(X, y, sample_weight=weight, init_model=start)


def continue_xgboost(model: Any, trees: int, X: np.ndarray, y: np.ndarray, weight: np.ndarray) -> Any:
    fresh = XGBClassifier(**{**model.get_params(), "n_estimators": trees})
    start = model.get_booster() if hasattr(model, "classes_") else None
    return fresh.fit(X, y, sample_weight=weight, xgb_model=start)


LEARNERS: dict[str, tuple[Any, Continue]] = {
    "HistGradientBoosting": (HistGradientBoostingClassifier(early_stopping=False, random_state=0), continue_hgb),
    "LightGBM": (LGBMClassifier(random_state=0, verbose=-1, n_jobs=1), continue_lightgbm),
    "XGBoost": (XGBClassifier(random_state=0, learning_rate=0.1, max_depth=5, n_jobs=1), continue_xgboost),
}


def weights(data: Split) -> list[np.ndarray]:
    """Return row weights of evenly spaced multipliers, up to doubling the weight of the smaller compared cell."""
    problem = estimator_problem(
        data.train.X,
        data.train.y,
        estimator=HistGradientBoostingClassifier(),
        sensitive_features=data.train.group,
        cv="train",
    )
    row = problem.algebra.B[0]
    unit = float((problem.shares[row != 0] / np.abs(row[row != 0])).min())
    rare = row[np.argmin(np.where(row != 0, problem.shares, np.inf))]
    found = []
    for t in np.linspace(0.0, 1.0, POINTS):
        rows = problem.weighted(np.array([np.sign(rare) * t * unit]))
        weight = np.zeros(len(data.train.y))
        weight[rows.index] = rows.weight
        found.append(weight)
    return found


def full(learner: Any, go: Continue, data: Split, weight: list[np.ndarray]) -> list[Any]:
    return [go(learner, TREES, data.train.X, data.train.y, w) for w in weight]


def prefix(learner: Any, go: Continue, data: Split, weight: list[np.ndarray]) -> list[Any]:
    first = go(learner, TREES // 2, data.train.X, data.train.y, weight[0])
    return [go(first, TREES // 2, data.train.X, data.train.y, w) for w in weight]


def walk(learner: Any, go: Continue, data: Split, weight: list[np.ndarray]) -> list[Any]:
    models = [go(learner, TREES, data.train.X, data.train.y, weight[0])]
    for w in weight[1:]:
        models.append(go(models[-1], STEP, data.train.X, data.train.y, w))
    return models


WAYS = {"full": full, "prefix": prefix, "walk": walk}


def run(seeds: int, most: int | None, file: Path) -> dict[str, Any]:
    """Fill in what is missing in the file: learner, seed, way."""
    results: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    for seed in range(seeds):
        data = split("Adult, sex", seed, most)
        weight = weights(data)
        for name, (learner, go) in LEARNERS.items():
            for way, function in WAYS.items():
                key = f"{name}/{seed}/{way}"
                if key in results:
                    continue
                start = time.perf_counter()
                models = function(learner, go, data, weight)
                seconds = time.perf_counter() - start
                held, test = (
                    figures(np.stack([m.predict(p.X).astype(float) for m in models]), p)
                    for p in (data.validation, data.test)
                )
                results[key] = {
                    "seconds": seconds,
                    "chosen": {str(cap): chosen(held, test, cap) for cap in CAPS},
                    "least": float(test[:, 1].min()),
                }
                store(results, file)
                print(key, f"{seconds:.1f} s", results[key]["chosen"], flush=True)
    return results


def rows(results: dict[str, Any]) -> list[list[object]]:
    lines: list[list[object]] = []
    for name in LEARNERS:
        for cap in CAPS:
            base = [r for k, r in results.items() if k.startswith(f"{name}/") and k.endswith("/full")]
            for way in WAYS:
                mine = [r for k, r in results.items() if k.startswith(f"{name}/") and k.endswith(f"/{way}")]
                error, gap = (np.array([r["chosen"][str(cap)][i] for r in mine]) for i in (0, 1))
                first, second = (np.array([r["chosen"][str(cap)][i] for r in base]) for i in (0, 1))
                ratio = np.median([a["seconds"] / b["seconds"] for a, b in zip(mine, base, strict=True)])
                same = way == "full"
                lines.append([name, f"{cap:g}", way, f"{error.mean():.4f}", f"{gap.mean():.3f}",
                              "" if same else interval(error - first), "" if same else interval(gap - second),
                              f"{ratio:.2f}"])  # fmt: skip
    return lines


def main(seeds: int = 5, quick: bool = False) -> None:
    file = FILE.with_name("boosting_cheaper_quick.json") if quick else FILE
    results = run(1 if quick else seeds, 12_000 if quick else None, file)
    head = ["learner", "cap", "way", "test error", "test gap", "error minus full", "gap minus full", "time ratio"]
    body = (
        f"Adult, sex, equal opportunity: {POINTS} weightings of {TREES} trees, chosen on validation, {seeds} splits. "
        + " ".join((__doc__ or "").split("\n\n")[-1].split())
        + "\n\n"
        + table(head, rows(results))
    )
    if quick:
        print(body)
    else:
        write_section("Cheaper weighted fits of boosted trees", "python -m benchmarks.boosting_cheaper", body)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seeds", type=int, default=5)
    asked = parser.parse_args()
    main(asked.seeds, asked.quick)
