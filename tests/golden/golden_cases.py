"""Golden figures: what the code gave, case by case, so that moving lines about can be seen to change nothing.

``python tests/golden/golden_cases.py FOLDER`` writes every case; ``--against OTHER`` compares it with an earlier
folder, to the last bit or ``--within 1e-12``. Small cases are kept beside it: test_golden.py compares them at 1e-9.
"""

from __future__ import annotations

import argparse
import re
import sys
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # this file is also a script

from figures import Arrays, by_sex, day, differences, leaves, nine, of_frontier, read, rows, traced, values

import fairfront as ff
from tests.support.cli import command

CASES: dict[str, Callable[[], Arrays]] = {}
SMALL: set[str] = set()
CLASSES = ("--target", "region", "--favourable", "north", "--loss", "softmax")


def case(name: str, *, small: bool = False) -> Callable[[Callable[[], Arrays]], Callable[[], Arrays]]:
    """Register a case."""

    def register(make: Callable[[], Arrays]) -> Callable[[], Arrays]:
        CASES[name] = make
        if small:
            SMALL.add(name)
        return make

    return register


@case("loans newton", small=True)
def _() -> Arrays:
    return of_frontier(traced(rows("loans"), 4000))


@case("loans notions by rate", small=True)
def _() -> Arrays:
    data = by_sex("loans")
    return of_frontier(
        traced(data, 3000, notion=["equalized_odds", "demographic_parity"], surrogate="rate", n_points=5)
    )


@case("loans weights, hinge and preferences", small=True)
def _() -> Arrays:
    weight = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 2.0], 1500)
    front = traced(by_sex("loans"), 3000, sample_weight=weight, preferences=4)
    hinge = traced(by_sex("loans"), 3000, loss="squared_hinge", n_points=4, solver=ff.Newton(path="proportional"))
    return of_frontier(front) | {f"hinge:{k}": v for k, v in of_frontier(hinge).items()}


@case("nine classes", small=True)
def _() -> Arrays:
    return of_frontier(traced(nine(), loss="softmax", n_points=5, notion="demographic_parity"))


@case("regression", small=True)
def _() -> Arrays:
    return of_frontier(traced(values(), loss="squared", notion="disparate_mistreatment", n_points=6))


for _name in ("pb_pdo", "pdo", "paper_pb_pdo", "paper_pdo"):

    @case(f"loans {_name}")
    def _(name: str = _name) -> Arrays:
        return of_frontier(traced(by_sex("loans"), 2400, solver=name, preferences=4, random_state=0))


for _name in ("adult", "compas"):

    @case(f"{_name} newton")
    def _(name: str = _name) -> Arrays:
        return of_frontier(traced(rows(name)))


@case("compas pb_pdo")
def _() -> Arrays:
    return of_frontier(traced(by_sex("compas"), solver="pb_pdo", preferences=5, random_state=0))


@case("german credit newton")
def _() -> Arrays:
    return of_frontier(traced(by_sex("german_credit")))


@case("communities newton")
def _() -> Arrays:
    return of_frontier(traced(rows("communities_crime")[:3], loss="squared", notion="group_loss"))


@case("loans boosted trees")
def _() -> Arrays:
    from sklearn.ensemble import HistGradientBoostingClassifier

    trees = HistGradientBoostingClassifier(max_iter=20, random_state=0)
    front = traced(rows("loans"), 3000, estimator=trees, solver=ff.Weighting(max_fits=4), random_state=0)
    return of_frontier(front, models=False)


@case("loans rates")
def _() -> Arrays:
    return of_frontier(traced(rows("loans"), 3000, units="rates", random_state=0), models=False)


@case("german rates")
def _() -> Arrays:
    return of_frontier(traced(by_sex("german_credit"), units="rates", n_points=12, random_state=0), models=False)


@case("a small module")
def _() -> Arrays:
    import torch

    X, y, groups, good = rows("loans")
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(X.shape[1], 6), torch.nn.Tanh(), torch.nn.Linear(6, 1)).double()
    from fairfront.torch import Training, trace

    training = Training(epochs=3, batch_size=128, seed=0)
    front = trace(
        module,
        X[:1000],
        y[:1000],
        sensitive_features={"sex": groups["sex"][:1000]},
        favourable=good,
        preferences=3,
        training=training,
        progress=False,
    )
    held = front.evaluate(
        X[1000:2000], y[1000:2000], sensitive_features={"sex": groups["sex"][1000:2000]}, name="validation"
    )
    return of_frontier(held, models=False)


@case("loans dask")
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


@case("tools", small=True)
def _() -> Arrays:
    X, y, groups, good = rows("loans")

    def part(first: int, last: int) -> tuple[Any, ...]:
        return X[first:last], y[first:last]

    def sex(first: int, last: int) -> dict[str, Any]:
        return {"sensitive_features": {"sex": groups["sex"][first:last]}}

    front = traced(by_sex("loans"), 3000, n_points=4)
    per_group = front.postprocess(*part(3000, 4500), **sex(3000, 4500), allow_group_at_prediction=True)
    stable = front.stability(*part(0, 1500), **sex(0, 1500), n=4, random_state=0, progress=False)
    scores = 1 / (1 + np.exp(-X[3000:4500, :2]))
    candidates = ff.Frontier.from_scores(scores.T, y[3000:4500], favourable=good, **sex(3000, 4500))
    fitted = front.calibration(0, *part(3000, 4500), **sex(3000, 4500))
    found = {
        "postprocess": of_frontier(per_group.evaluate(*part(4500, 6000), **sex(4500, 6000), name="held"), models=False),
        "recalibrate": of_frontier(front.recalibrate(*part(3000, 4500)), models=False),
        "refine": of_frontier(front.refine(*part(0, 1500), **sex(0, 1500), between=(0, 1), n=2)),
        "stability": vars(stable),
        "candidates": of_frontier(candidates, models=False),
        "calibration": vars(fitted["sex"]),
        "explain": vars(front.explain(0, 2)),
    }
    return {
        f"{what}:{name}": np.asarray(value)
        for what, arrays in found.items()
        for name, value in arrays.items()
        if isinstance(value, np.ndarray) and value.dtype.kind in "biufU"
    }


@case("audit", small=True)
def _() -> Arrays:
    X, y, groups, good = rows("loans")
    score = 1 / (1 + np.exp(-X[:, 0] + X[:, 1]))
    sex, options = {"sex": groups["sex"]}, {"favourable": good}
    whole = ff.audit(y, score, sensitive_features=groups, cutoff=0.6, **options)
    strata = ff.audit(
        y, score, sensitive_features=sex, approval_rate=0.4, control_features={"group": groups["group"]}, **options
    )
    x, value, group = values()
    predicted = ff.audit(value, x[:, 0], sensitive_features=group, task="regression")
    found = {"whole": whole, "strata": strata, "values": predicted}
    return {key: array for name, audit in found.items() for key, array in leaves(name, audit.to_dict()).items()}


def loans() -> Path:
    """Return the embedded rows as a file."""
    return Path(command("data", "path", "loans").stdout.strip())


@case("commands on loans")
def _() -> Arrays:
    return day(loans(), "--target", "outcome", "--favourable", "repaid", "--groups", "group,sex", "--stability", "3")


@case("commands on loans with costs and trees")
def _() -> Arrays:
    more = ["--drop", "group", "--costs", "5,1", "--model", "boosting", "--max-fits", "3", "--stability", "0"]
    return day(loans(), "--target", "outcome", "--favourable", "repaid", "--groups", "sex:ref=M", *more)


@case("commands on a regression")
def _() -> Arrays:
    return day(
        loans(),
        "--target",
        "loan_amount",
        "--loss",
        "squared",
        "--notion",
        "group_loss",
        "--groups",
        "sex",
        least="mse",
    )


@case("commands on several classes")
def _() -> Arrays:
    return day(loans(), *CLASSES, "--groups", "sex", "--points", "4", least="recall")


@case("audits")
def _() -> Arrays:
    file = str(loans())
    words = ["audit", file, "--label", "outcome", "--favourable", "repaid", "--groups", "group,sex"]
    found: Arrays = {}
    for name, more in {
        "decision": ["--decision", "outcome"],
        "json": ["--decision", "outcome", "--json"],
        "score": ["--score", "income", "--cutoff", "30000"],
        "control": ["--score", "income", "--approval-rate", "0.5", "--control", "region", "--json"],
        "require": ["--decision", "outcome", "--require", "selection_gap<=.05"],
    }.items():
        done = command(*words, *more)
        said = (done.stdout + done.stderr).replace(file, "FILE")
        found[f"said:{name}"] = np.array([str(done.returncode), *said.splitlines()])
    for name in ("data list", "trace --help", "show --help", "select --help", "audit --help", "verify --help"):
        found[f"said:{name}"] = np.array(command(*name.split()).stdout.splitlines())
    return found


def write(folder: Path, names: Iterable[str]) -> None:
    """Make cases and write one file for each."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            arrays = CASES[name]()
        np.savez_compressed(
            folder / f"{name}.npz", **{key.replace("/", "\x1f"): value for key, value in arrays.items()}
        )
        print(f"{name}: {len(arrays)} arrays", flush=True)


def main(argv: list[str]) -> int:
    """Write the cases to a folder, or compare two folders."""
    words = argparse.ArgumentParser()
    words.add_argument("folder", type=Path)
    words.add_argument("--only", default="")
    words.add_argument("--against", type=Path)
    words.add_argument("--within", type=float, default=0.0)
    words.add_argument("--no-make", action="store_true")
    asked = words.parse_args(argv)
    names = [name for name in CASES if re.search(asked.only, name)]
    if not asked.no_make:
        write(asked.folder, names)
    found = 0
    for name in names if asked.against else ():
        for line in differences(read(asked.against / f"{name}.npz"), read(asked.folder / f"{name}.npz"), asked.within):
            found += 1
            print(f"{name} | {line}")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
