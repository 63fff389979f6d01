"""Cheaper weighted fits: a shared prefix of trees, and one run that walks along the frontier, against full fits.

python -m benchmarks.boosting_cheaper [--quick] [--seeds 5] [--rows 12000]

*Full*: every point from nothing. *Prefix*: half of the trees are those of plain training, the other half weighted.
*Walk*: after plain training every point adds a few trees with its own weights to those of the point before. These
three use the same row weights. *Descent* (LightGBM and XGBoost): one training run with a custom objective, which after
plain training follows the direction in which loss and gap fall together, every round anew.
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

from .boosting import CAPS, FOLDER, chosen, interval, store
from .boosting_data import Split, figures, split
from .boosting_descent import WALKS, Cut
from .report import table, write_section

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


WAYS = {"full": full, "prefix": prefix, "walk": walk, "descent": None}


def models_of(way: str, name: str, data: Split, weight: list[np.ndarray]) -> list[Any] | None:
    """Return the models of one way, None where the learner has no custom objectives."""
    learner, go = LEARNERS[name]
    function = WAYS[way]
    if function is not None:
        return function(learner, go, data, weight)
    if name not in WALKS:
        return None
    plain = go(learner, TREES, data.train.X, data.train.y, weight[0])
    scores = WALKS[name](plain, STEP * (POINTS - 1), data)
    return [Cut(scores, TREES + STEP * place) for place in range(POINTS)]


def run(seeds: int, most: int | None, file: Path) -> dict[str, Any]:
    """Fill in what is missing in the file: learner, seed, way."""
    results: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    for seed in range(seeds):
        data = split("Adult, sex", seed, most)
        weight = weights(data)
        for name in LEARNERS:
            for way in WAYS:
                key = f"{name}/{seed}/{way}"
                if key in results:
                    continue
                start = time.process_time()
                models = models_of(way, name, data, weight)
                seconds = time.process_time() - start
                if models is None:
                    continue
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
                if not mine:
                    continue
                error, gap = (np.array([r["chosen"][str(cap)][i] for r in mine]) for i in (0, 1))
                first, second = (np.array([r["chosen"][str(cap)][i] for r in base]) for i in (0, 1))
                ratio = np.median([a["seconds"] / b["seconds"] for a, b in zip(mine, base, strict=True)])
                same = way == "full"
                lines.append([name, f"{cap:g}", way, f"{error.mean():.4f}", f"{gap.mean():.3f}",
                              "" if same else interval(error - first), "" if same else interval(gap - second),
                              f"{ratio:.2f}"])  # fmt: skip
    return lines


def main(seeds: int = 5, quick: bool = False, most: int | None = None) -> None:
    count, most = (1, most or 12_000) if quick else (seeds, most)
    results = run(count, most, FOLDER / f"cheaper_{'all' if most is None else most}.json")
    head = ["learner", "cap", "way", "test error", "test gap", "error minus full", "gap minus full", "time ratio"]
    body = (
        f"Adult, sex, equal opportunity: {POINTS} weightings of {TREES} trees, chosen on validation, {count} splits. "
        + " ".join((__doc__ or "").split("\n\n")[-1].split())
        + "\n\n"
        + table(head, rows(results))
    )
    if most is not None:
        print(body)
    else:
        write_section(
            "studies", "Cheaper weighted fits of boosted trees", "python -m benchmarks.boosting_cheaper", body
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rows", type=int, help="most rows, to try things out")
    asked = parser.parse_args()
    main(asked.seeds, asked.quick, asked.rows)
