"""The golden cases: small problems of every kind, real data where it is there, and a twin of each data set.

``python tests/golden/cases.py [--only TEXT]`` writes what the package gives today to ``tests/golden/kept``.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # this file is also a script

import fairfront as ff
from tests.golden.arrays import Arrays, choices, of_frontier, write

KEPT = Path(__file__).parent / "kept"
CASES: dict[str, Callable[[], Arrays]] = {}
DATA_OF: dict[str, str] = {}
EXTRA_OF: dict[str, str] = {}
REAL = ("adult", "compas", "german_credit", "communities_crime")
DESCENTS = ("pb_pdo", "pdo", "paper_pb_pdo", "paper_pdo")


def case(name: str, *, data: str = "", extra: str = "") -> Callable[[Callable[[], Arrays]], Callable[[], Arrays]]:
    """Register a case, with the data set or the extra that it needs."""

    def register(make: Callable[[], Arrays]) -> Callable[[], Arrays]:
        CASES[name] = make
        if data:
            DATA_OF[name] = data
        if extra:
            EXTRA_OF[name] = extra
        return make

    return register


@cache
def rows(name: str) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray], Any]:
    """Return features, labels, groups and the favourable label of a data set."""
    data = ff.datasets.load(name)
    return data.matrix()[0], data.y, data.sensitive_features(*data.sensitive), data.favourable


def by(attribute: str, name: str) -> tuple[Any, ...]:
    """Return the rows of a data set with one attribute."""
    X, y, groups, favourable = rows(name)
    return X, y, {attribute: groups[attribute]}, favourable


@cache
def nine_classes() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows of nine classes and three groups."""
    rng = np.random.default_rng(9)
    X, group = rng.normal(size=(1800, 6)), rng.choice(["a", "b", "c"], 1800, p=[0.5, 0.3, 0.2])
    score = X @ rng.normal(size=(6, 9)) + rng.gumbel(size=(1800, 9))
    score += 0.5 * (group == "b")[:, None] * np.arange(9) / 9
    return X, score.argmax(axis=1), group


@cache
def numbers() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows with numbers to predict, and two groups."""
    rng = np.random.default_rng(5)
    X, group = rng.normal(size=(900, 5)), rng.choice(["a", "b"], 900)
    y = X @ np.array([1.0, -0.5, 0.2, 0.0, 0.3]) + 0.8 * (group == "a") * X[:, 0] + rng.normal(size=900)
    return X, y, group


@cache
def counts() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows with counts to predict, and three groups."""
    rng = np.random.default_rng(6)
    X, group = rng.normal(size=(1200, 4)), rng.choice(["a", "b", "c"], 1200)
    rate = np.exp(0.3 * X[:, 0] - 0.4 * X[:, 1] + 0.5 * (group == "b") * X[:, 2])
    return X, rng.poisson(rate).astype(float), group


TWINS = {
    "adult": (0.24, (("sex", (0.67, 0.33)), ("race", (0.85, 0.1, 0.03, 0.01, 0.01))), 24, 1),
    "compas": (0.55, (("race", (0.6, 0.4)),), 8, 2),
    "german_credit": (0.7, (("sex", (0.69, 0.31)),), 20, 3),
    "communities_crime": (0.5, (("race", (0.85, 0.15)),), 30, 4),
    "oulad": (0.53, (("sex", (0.55, 0.45)), ("age", (0.7, 0.29, 0.01))), 12, 5),
}
"""Per data set: share of favourable labels, groups with their shares, columns, seed."""


@cache
def twin(name: str) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray], int]:
    """Draw 2 000 rows that resemble a data set in its size of groups, labels and one-hot columns."""
    favourable, attributes, d, seed = TWINS[name]
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(2000, d // 2)), rng.random((2000, d - d // 2)) < 0.2]).astype(float)
    groups = {column: rng.choice(len(shares), 2000, p=shares) for column, shares in attributes}
    score = X @ rng.normal(size=d) / np.sqrt(d) + rng.logistic(size=2000)
    for codes in groups.values():
        score -= 0.5 * (codes > 0)
    y = (score > np.quantile(score, 1 - favourable)).astype(int)
    return X, y, {column: np.array([f"{column}{code}" for code in codes]) for column, codes in groups.items()}, 1


def traced(data: tuple[Any, ...], n: int | None = None, **options: Any) -> ff.Frontier:
    """Trace on the first half of ``n`` rows and evaluate on the second."""
    X, y, groups = data[:3]
    favourable = data[3] if len(data) > 3 else None
    half = (n or len(y)) // 2
    train, held = slice(0, half), slice(half, 2 * half)

    def part(rows: slice) -> Any:
        return {k: v[rows] for k, v in groups.items()} if isinstance(groups, Mapping) else groups[rows]

    front = ff.trace(
        X[train], y[train], sensitive_features=part(train), favourable=favourable, progress=False, **options
    )
    return front.evaluate(X[held], y[held], sensitive_features=part(held), name="validation")


@case("loans")
def _() -> Arrays:
    front = traced(rows("loans"), 4000)
    return of_frontier(front) | choices(front, "sex.tpr_gap")


@case("loans by rates of two notions")
def _() -> Arrays:
    notions = ["equalized_odds", "demographic_parity"]
    return of_frontier(traced(by("sex", "loans"), 3000, notion=notions, surrogate="rate", n_points=5))


@case("loans with weights and preferences")
def _() -> Arrays:
    weight = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 2.0], 1500)
    front = traced(by("sex", "loans"), 3000, sample_weight=weight, preferences=4)
    return of_frontier(front) | choices(front, "tpr_gap")


@case("loans with persons")
def _() -> Arrays:
    person = np.arange(1500) // 3
    front = traced(by("sex", "loans"), 3000, person=person, n_points=6)
    return of_frontier(front) | choices(front, "tpr_gap")


@case("loans squared hinge")
def _() -> Arrays:
    return of_frontier(traced(by("sex", "loans"), 3000, loss="squared_hinge", n_points=4))


@case("loans hinge")
def _() -> Arrays:
    return of_frontier(traced(by("sex", "loans"), 1200, loss="hinge", n_points=3), models=False)


@case("nine classes")
def _() -> Arrays:
    front = traced(nine_classes(), loss="softmax", n_points=5, notion="demographic_parity")
    return of_frontier(front) | choices(front, "selection_gap")


@case("regression")
def _() -> Arrays:
    front = traced(numbers(), loss="squared", notion="disparate_mistreatment", n_points=6)
    return of_frontier(front)


@case("poisson")
def _() -> Arrays:
    return of_frontier(traced(counts(), loss="poisson", notion="disparate_mistreatment", n_points=6))


for _name in DESCENTS:

    @case(f"loans {_name}")
    def _(name: str = _name) -> Arrays:
        front = traced(by("sex", "loans"), 2400, solver=name, preferences=4, random_state=0)
        return of_frontier(front, "descent")


for _name in TWINS:

    @case(f"twin of {_name}")
    def _(name: str = _name) -> Arrays:
        data = twin(name)
        front = traced(data, n_points=6, groups=ff.Groups(min_size=5))
        first = next(iter(data[2]))
        gap = f"{first}.tpr_gap" if len(data[2]) > 1 else "tpr_gap"
        return of_frontier(front) | choices(front, gap)


for _name, _attribute in (
    ("adult", "sex"),
    ("adult", "race"),
    ("compas", "race"),
    ("german_credit", "sex"),
):

    @case(f"{_name} {_attribute}", data=_name)
    def _(name: str = _name, attribute: str = _attribute) -> Arrays:
        front = traced(by(attribute, name), n_points=8)
        return of_frontier(front) | choices(front, "tpr_gap")


@case("communities and crime", data="communities_crime")
def _() -> Arrays:
    return of_frontier(traced(rows("communities_crime")[:3], loss="squared", notion="disparate_mistreatment"))


@case("loans boosted trees")
def _() -> Arrays:
    from sklearn.ensemble import HistGradientBoostingClassifier

    trees = HistGradientBoostingClassifier(max_iter=10, max_leaf_nodes=4, min_samples_leaf=100, random_state=0)
    solver = ff.Weighting(max_fits=4)
    front = traced(rows("loans"), 3000, estimator=trees, solver=solver, random_state=0)
    return of_frontier(front, "learner", models=False)


@case("loans plug-in rules")
def _() -> Arrays:
    front = traced(by("sex", "loans"), 3000, units="rates", random_state=0, n_points=8)
    return of_frontier(front, "descent", models=False)


@case("loans small module", extra="torch")
def _() -> Arrays:
    import torch

    from fairfront.torch import Training, trace

    X, y, groups, good = rows("loans")
    torch.manual_seed(0)
    layers = torch.nn.Linear(X.shape[1], 6), torch.nn.Tanh(), torch.nn.Linear(6, 1)
    front = trace(
        torch.nn.Sequential(*layers).double(),
        X[:1000],
        y[:1000],
        sensitive_features={"sex": groups["sex"][:1000]},
        favourable=good,
        preferences=3,
        training=Training(epochs=3, batch_size=128, seed=0),
        progress=False,
    )
    held = {"sensitive_features": {"sex": groups["sex"][1000:2000]}, "name": "validation"}
    return of_frontier(front.evaluate(X[1000:2000], y[1000:2000], **held), "descent", models=False)


@case("loans dask", extra="dask")
def _() -> Arrays:
    import dask.array as da

    X, y, groups, good = rows("loans")
    front = ff.trace(
        da.from_array(X[:2000], chunks=(500, -1)),
        da.from_array((y[:2000] == good).astype(int), chunks=500),
        sensitive_features=da.from_array(groups["sex"][:2000], chunks=500),
        progress=False,
        n_points=5,
    )
    return of_frontier(front)


@case("thresholds by group and candidates")
def _() -> Arrays:
    X, y, groups, good = rows("loans")

    def part(first: int, last: int) -> dict[str, Any]:
        sex = {"sex": groups["sex"][first:last]}
        return {"X": X[first:last], "y": y[first:last], "sensitive_features": sex}

    front = traced(by("sex", "loans"), 3000, n_points=4)
    per_group = front.postprocess(**part(3000, 4500), allow_group_at_prediction=True)
    per_group = per_group.evaluate(**part(4500, 6000), name="held")
    known = part(3000, 4500)
    scores = 1 / (1 + np.exp(-known.pop("X")[:, :2]))
    own = ff.Frontier.from_scores(scores.T, known.pop("y"), favourable=good, **known)
    found = {"thresholds": of_frontier(per_group, models=False), "candidates": of_frontier(own, models=False)}
    return {
        f"{name.split(':')[0]}:{what} {name.split(':')[1]}": array
        for what, arrays in found.items()
        for name, array in arrays.items()
    }


@case("audits")
def _() -> Arrays:
    X, y, groups, good = rows("loans")
    score = 1 / (1 + np.exp(-X[:, 0] + X[:, 1]))
    whole = ff.audit(y, score, sensitive_features=groups, favourable=good, cutoff=0.6)
    strata = ff.audit(
        y,
        score,
        sensitive_features={"sex": groups["sex"]},
        favourable=good,
        approval_rate=0.4,
        control_features={"group": groups["group"]},
    )
    x, value, group = numbers()
    predicted = ff.audit(value, x[:, 0], sensitive_features=group, task="regression")
    found: Arrays = {}
    for name, audit in {"whole": whole, "strata": strata, "numbers": predicted}.items():
        for key, leaf in leaves(audit.to_dict()).items():
            rests = "interval" if key.endswith(("lower", "upper", "_error", "p_value")) else "counts"
            found[f"{rests}:{name}{key}"] = np.array([leaf])
    return found


def leaves(document: Any, at: str = "") -> dict[str, float]:
    """Return every number of a document by its path."""
    if isinstance(document, Mapping):
        return {k: v for name, inner in document.items() for k, v in leaves(inner, f"{at}.{name}").items()}
    if isinstance(document, list | tuple):
        return {k: v for i, inner in enumerate(document) for k, v in leaves(inner, f"{at}[{i}]").items()}
    if isinstance(document, bool | int | float | np.number):
        return {at: float(document)}
    return {}


def main(argv: list[str]) -> None:
    """Write cases to a folder."""
    words = argparse.ArgumentParser()
    words.add_argument("--only", default="")
    words.add_argument("--folder", type=Path, default=KEPT)
    asked = words.parse_args(argv)
    asked.folder.mkdir(exist_ok=True)
    for name, make in CASES.items():
        if asked.only not in name:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            arrays = make()
        write(asked.folder / f"{name}.npz", arrays)
        print(f"{name}: {len(arrays)} arrays", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
