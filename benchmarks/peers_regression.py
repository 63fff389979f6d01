"""Regression: Communities and Crime, mean squared error against the difference of it between groups.

python -m benchmarks.peers_regression
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.linear_model import Ridge

import fairfront as ff
from fairfront.datasets import load_communities_crime

from . import judge
from .adult import folder
from .judge import Figures
from .peers.base import Rows, weights_of
from .peers_cases import parts_of
from .peers_fit import RESULTS
from .report import table

SPLITS = {"full": 10, "quick": 2}
SHARES = (0.25, 0.5)
Fit = Callable[[Rows], np.ndarray]


def plain(rows: Rows) -> np.ndarray:
    return weights_of([Ridge(alpha=1.0).fit(rows.X, rows.y)])


def newton(rows: Rows) -> np.ndarray:
    front = ff.trace(
        rows.X,
        rows.y,
        sensitive_features=rows.groups,
        loss="squared",
        notion="disparate_mistreatment",
        n_points=20,
        progress=False,
    )
    return np.column_stack([front.points.coef[:, 0], front.points.intercept[:, 0]])


def grid_search(rows: Rows) -> np.ndarray:
    from fairlearn.reductions import BoundedGroupLoss, GridSearch, SquareLoss

    search = GridSearch(Ridge(alpha=1.0), BoundedGroupLoss(SquareLoss(0.0, 1.0)), grid_size=20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(rows.X, rows.y, sensitive_features=rows.groups)
    return weights_of(list(search.predictors_))


def strengths(rows: Rows) -> np.ndarray:
    return weights_of([Ridge(alpha=alpha).fit(rows.X, rows.y) for alpha in np.logspace(-2, 5, 20)])


METHODS: dict[str, Fit] = {
    "plain Ridge": plain,
    "fairfront Newton": newton,
    "fairlearn GridSearch, bounded group loss": grid_search,
    "by hand: 20 regularisations": strengths,
}


def squared(W: np.ndarray, rows: Rows) -> Figures:
    """Judge linear models: mean squared error, its worst difference between groups, mean prediction."""
    predicted = W[:, :-1] @ rows.X.T + W[:, -1:]
    wrong = (predicted - rows.y) ** 2
    each = np.stack([wrong[:, rows.groups == g].mean(axis=1) for g in np.unique(rows.groups)], axis=1)
    return Figures(wrong.mean(axis=1), np.ptp(each, axis=1), predicted.mean(axis=1))


def run(variant: str) -> None:
    """Fit what is missing and write it to JSON after each split."""
    path = RESULTS / variant / "communities.json"
    record: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    data = load_communities_crime(folder())
    groups = np.unique(data.columns["black_share"], return_inverse=True)[1]
    for seed in range(SPLITS[variant]):
        train, rest = parts_of(np.arange(len(data)), None, 0.4, seed)
        held, test = parts_of(rest, None, 0.5, seed)
        X = data.matrix("one_hot", fit_on=train)[0]
        parts = [Rows(X[r], data.y[r], groups[r]) for r in (train, held, test)]
        for name, fit in METHODS.items():
            if str(seed) in record.setdefault(name, {}):
                continue
            start = time.process_time()
            W = fit(parts[0])
            seconds = time.process_time() - start
            figures = [squared(W, part).as_lists() for part in parts[1:]]
            record[name][str(seed)] = {"seconds": seconds, "figures": figures}
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(record))


def sections(variant: str) -> list[tuple[str, str]]:
    """Return the section, or nothing where nothing was run."""
    path = RESULTS / variant / "communities.json"
    if not path.exists():
        return []
    record = json.loads(path.read_text())
    caps = {
        seed: Figures.from_lists(split["figures"][0]).gap[0] for seed, split in record["plain Ridge"].items()
    }  # the plain model's gap on validation rows
    rows: list[list[object]] = []
    for name, splits in record.items():
        row: list[object] = [name, f"{np.median([s['seconds'] for s in splits.values()]):.2f} s"]
        for share in SHARES:
            mine, ours = (_answers(record[m], caps, share) for m in (name, "fairfront Newton"))
            mean, low, high = judge.paired_interval(mine[:, 0] - ours[:, 0])
            row += [f"{mine[:, 0].mean():.5f}", f"{mine[:, 1].mean():.5f}"]
            row.append("reference" if name == "fairfront Newton" else f"{mean:+.5f} ({low:+.5f} to {high:+.5f})")
        rows.append(row)
    head = ["method", "time", *[t for s in SHARES for t in (f"error at {s:g} of the gap", "gap", "difference")]]
    body = (
        f"Communities and Crime, {len(caps)} random splits, linear models; error is the mean squared error of a target "
        "in [0, 1], the gap its difference between the two groups of communities. Caps are shares of the plain model's "
        "gap on validation rows; chosen there, reported on test rows. fairlearn bounds the largest group's error, which "
        "is not the same as bringing errors together.\n\n" + table(head, rows)
    )
    return [("Peers: Communities and Crime (regression)", body)]


def _answers(splits: dict[str, Any], caps: dict[str, float], share: float) -> np.ndarray:
    found = []
    for seed, split in splits.items():
        held, test = (Figures.from_lists(part) for part in split["figures"])
        best = judge.chosen(held, share * caps[seed])
        found.append([test.error[best], test.gap[best]])
    return np.array(found)


if __name__ == "__main__":
    run("full")
