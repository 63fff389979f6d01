"""Real test rows: what choices show on a fifth of the rows that nobody has looked at, over many splits.

A test part of a few hundred people shows a gap for a model that has none. So every gap is given with that noise: the
mean gap that a model without one would show, and the root mean square less what noise adds (debiased).

python -m benchmarks.promises.splits german 60
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

import fairfront as ff
from fairfront.measures.promises import folded

from .. import report
from ..cases import CASES, Rows, labels_of, loaded, two_parts
from ..judge import Figures, chosen
from .repetitions import ASKED, GAP, HOME, OVERSHOOT, POINTS, as_place, decisions


def parts_of(case: str, seed: int) -> tuple[list[Rows], np.ndarray | None]:
    """Split 60 : 20 : 20 as `cases.split_of` does; return the parts, and who the rows of the first two are."""
    data, people = loaded(case), loaded(case).split_ids
    train, rest = two_parts(np.arange(len(data)), people, 0.4, seed)
    held, test = two_parts(rest, None if people is None else people[rest], 0.5, seed)
    X = data.matrix("one_hot", fit_on=train)[0]
    groups = np.unique(np.asarray(data.columns[CASES[case].group]).astype(str), return_inverse=True)[1].astype(np.intp)
    whole = Rows(X, labels_of(data)[0], groups)
    return [whole.take(part) for part in (train, held, test)], None if people is None else people[np.r_[train, held]]


def one_split(case: str, seed: int) -> dict[str, Any]:
    """Choose on validation rows as observed, and on held-out figures of all rows by expected gaps."""
    (train, held, test), people = parts_of(case, seed)
    both = Rows(*(np.concatenate([getattr(part, name) for part in (train, held)]) for name in ("X", "y", "groups")))
    known: dict[str, Any] = {"n_points": POINTS, "progress": False, "solver": ff.Newton(overshoot=OVERSHOOT)}
    before = ff.trace(train.X, train.y, sensitive_features=train.groups, held_out=False, **known)
    before = before.evaluate(held.X, held.y, sensitive_features=held.groups)
    after = ff.trace(both.X, both.y, sensitive_features=both.groups, held_out=True, person=people, **known)
    record, solved = before.evaluations["validation"], before.solved
    seen = Figures(record["error"][solved], record[GAP][solved], record["error"][solved])
    found: dict[str, Any] = {"seed": seed}
    for cap in ASKED:
        for name, front, place in (
            ("before", before, int(solved[chosen(seen, cap)])),
            ("held_out", after, as_place(after, "held_out", cap)),
        ):
            found[f"{name} {cap}"] = tested(decisions(front, test.X)[place], test)
    return found


def tested(decided: np.ndarray, test: Rows) -> list[float]:
    """Return the gap and the error on test rows, the variance of the gap, and what a model without one would show."""
    cells = [(test.groups == g) & test.good for g in range(int(test.groups.max()) + 1)]
    rates, sizes = np.array([decided[cell].mean() for cell in cells]), np.array([cell.sum() for cell in cells])
    variance = float((rates * (1.0 - rates) / sizes).sum())
    error = float((decided.astype(bool) != test.good).mean())
    noise = folded(np.array(0.0), np.array((rates.mean() * (1.0 - rates.mean()) / sizes).sum()))
    return [float(np.ptp(rates)), error, variance, float(noise)]


def run(case: str, splits: int) -> None:
    """Make splits until there are so many."""
    HOME.mkdir(parents=True, exist_ok=True)
    path = Path(HOME / f"{case}-splits.jsonl")
    done = {json.loads(line)["seed"] for line in path.read_text().splitlines()} if path.exists() else set()
    for seed in (seed for seed in range(splits) if seed not in done):
        found = one_split(case, seed)
        with path.open("a") as file:
            file.write(json.dumps({**found, "commit": report.commit()}) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.promises.splits")
    parser.add_argument("case", choices=("adult", "compas", "german", "oulad"))
    parser.add_argument("splits", type=int)
    given = parser.parse_args()
    run(given.case, given.splits)
