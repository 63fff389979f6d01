"""What held-out figures of the training rows cost beside the trace that they are of."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ..cases import CASES, TWO_GROUPS, split_of
from ..report import Section, Table, thousands
from .process import apart, medians

TURNS = 7


def inside(case: str, turns: int) -> dict[str, Any]:
    """Return processor seconds of a trace, of one with held-out figures, and of folds refitted by hand."""
    import fairfront as ff

    split = split_of(case, 0)
    train, groups = split.train, split.names(split.train)

    def traced(**options: Any) -> Any:
        return ff.trace(train.X, train.y, sensitive_features=groups, favourable=1, progress=False, **options)

    jobs = {"trace": lambda: traced(held_out=False), "held_out": lambda: traced(held_out=True)}
    found: dict[str, Any] = dict(medians(turns, jobs, time.process_time))
    fold, start = np.random.default_rng(0).integers(10, size=len(train.y)), time.process_time()
    for each in range(10):
        kept = fold != each
        some = train.take(kept)
        ff.trace(some.X, some.y, sensitive_features=groups[kept], favourable=1, held_out=False, progress=False)
    found["folds"] = time.process_time() - start
    return {**found, "rows": len(train.y), "columns": train.X.shape[1], "points": len(traced(held_out=False))}


def measure(case: str, turns: int) -> list[object]:
    """Return the line of one case."""
    found = apart(inside, case, turns)
    more = found["held_out"] - found["trace"]
    return [CASES[case].title, thousands(found["rows"]), found["columns"], found["points"], f"{found['trace']:.3f} s",
            f"{more:.3f} s", f"{more / found['trace']:.2f}", f"{found['folds'] / found['trace']:.1f}"]  # fmt: skip


def sections(quick: bool) -> list[Section]:
    """Measure all cases, or the smallest."""
    lines = [measure(case, 1 if quick else TURNS) for case in (("german",) if quick else TWO_GROUPS)]
    text = (
        "Processor seconds of a default trace (60 % of the rows) without held-out figures, and how much more it takes with "
        "them: leave-one-out scores of all rows at all points in closed form, and their judgement. Medians of "
        f"{TURNS} turns. Beside it what ten traces without a tenth of the rows each would take."
    )
    head = [
        "data",
        "rows",
        "columns",
        "points",
        "trace",
        "held-out figures",
        "as a share of the trace",
        "ten folds traced",
    ]
    worst = max(float(str(line[6])) for line in lines)
    summary = f"Held-out figures of all training rows at all points take at most {worst:.2f} of the time of the trace."
    return [Section("solvers", "Held-out figures", [text, Table(head, lines)], summary)]


if __name__ == "__main__":
    print(*sections(quick=False))
