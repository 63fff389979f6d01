"""Regressions at equal held-out gap: what the ridge is worth, chosen without test rows."""

from __future__ import annotations

import numpy as np

from . import judge
from .comparison import Comparison, signed
from .contest import Contest
from .peers import regression
from .report import Section, Table

HELD_SHARE = 2.0 / 3.0
"""Held-out rows (validation and test, 40 %) over training rows, for the corrected interval."""
REGRESSIONS = Contest(
    "regression", regression.PEERS, ("communities",), "fairfront_newton", caps=(0.25, 0.5), relative=True
)
SHARES = (0.75, 0.6, 0.5)
REGRESSION = (
    "Communities and Crime, linear models, 10 random splits: held-out mean squared error (validation and test rows) where "
    "the held-out gap between the two groups' errors first is a share of the plain model's; [n] splits reach it. The "
    "ridge of the second row is chosen by leave-one-out figures of training rows alone. Differences are to it, paired, "
    "corrected for splits that share rows, at 95 % each."
)


def difference(
    mine: dict[str, float], other: dict[str, float], comparisons: int, share: float
) -> tuple[float, float, float] | None:
    """Return the paired difference with an interval that holds for so many comparisons at once."""
    shared = [seed for seed in mine if seed in other]
    if len(shared) < 3:
        return None
    values = np.array([mine[seed] - other[seed] for seed in shared])
    return judge.paired_interval(values, share, 1.0 - 0.05 / comparisons)


def regression_at_equal_gap(quick: bool) -> Section:
    """Compare regressions at equal gap, not at caps that neither meets."""
    REGRESSIONS.run(quick)
    made, best = Comparison(REGRESSIONS, "communities", quick), "fairfront_ridges"
    widest = {seed: abs(split["signed"]["held"]["gap"][0]) for seed, split in made.splits("plain").items()}
    known: dict[tuple[str, float], dict[str, float]] = {}
    peers = [peer for peer in made.done(needs_group=False) if peer != "plain"]
    for peer in peers:
        for share in SHARES:
            errors = {}
            for seed, split in made.splits(peer).items():
                at = judge.at_equal_gap(split["signed"]["train"], split["signed"]["held"], share * widest[seed])
                errors |= {seed: at} if np.isfinite(at) else {}
            known[peer, share] = errors
    rows: list[list[object]] = []
    for peer in peers:
        row: list[object] = [made.peers[peer].name]
        for share in SHARES:
            errors = known[peer, share]
            row.append(f"{np.mean(list(errors.values())):.5f} [{len(errors)}]" if errors else "not reached")
            apart = None if peer == best else difference(errors, known[best, share], 1, HELD_SHARE)
            row.append("" if apart is None else signed(apart, 5))
        rows.append(row)
    head = ["method", *[text for share in SHARES for text in (f"error at {share:g} of the gap", "difference")]]
    return Section("rates", "Regression: error at equal gap", [REGRESSION, Table(head, rows)])
