"""Error against gaps of decisions: rules in rates and peers without the group at prediction, at equal held-out gap."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from . import judge
from .cases import CASES, TWO_GROUPS
from .comparison import Comparison, number, signed
from .contest import Contest
from .learners import boosting
from .peers import PEERS, Fitting
from .report import Section, Table

OURS, STACKED, TREES = "fairfront_rates", "fairfront_rates_stacked", "trees_rates"
LINEAR = ("fairfront_overshoot", "fairlearn_grid_search", "fairlearn_exponentiated_gradient", "bias_score")
GAPS = (0.0, 0.02, 0.05)
HELD_SHARE = 2.0 / 3.0
"""Held-out rows (validation and test, 40 %) over training rows, for the corrected interval."""
LONG = 25_000
"""Training rows above which ExponentiatedGradient is left out: four mixtures take minutes per split there."""
FRESH = 20


def _short(fitting: Fitting) -> str | None:
    return f"more than {LONG} training rows, minutes per split" if len(fitting.train.y) > LONG else None


def _methods() -> dict[str, Any]:
    trees = boosting.CONTESTS["boosting"]
    found = {name: PEERS[name] for name in ("plain", OURS, STACKED, *LINEAR)}
    slow = "fairlearn_exponentiated_gradient"
    found[slow] = replace(found[slow], limits=_short)
    found[TREES] = replace(trees["fairfront_rates"], name="fairfront, rates, LightGBM")
    found["trees_grid_search"] = replace(trees["grid_search_12"], name="GridSearch 12, LightGBM")
    return found


CONTESTS = (
    Contest("rates", _methods(), TWO_GROUPS, OURS),
    Contest("rates-fresh", _methods(), TWO_GROUPS, OURS, first=FRESH),
)
INTRODUCTION = (
    "Equal opportunity, sensitive columns not in X, {splits} random splits 60 : 20 : 20 ({which}). Main table: held-out "
    "error (validation and test rows together) where a method's held-out gap of true positive rates first is 0, 0.02 and "
    "0.05 on the way from its model of least training error, interpolated; [n] splits reach it. Differences are to "
    "'{reference}', paired over the splits that both reach, which favours methods that stop early, with intervals that "
    "allow for splits sharing rows (Nadeau and Bengio), Bonferroni-corrected for the {count} comparisons of the table; a "
    "star marks those that do not contain 0. Methods on trees are compared with each other."
)
CHOSEN = (
    "Chosen on validation rows (least error within the cap, else the smallest gap), reported on test rows: mean size of "
    "the gap, its mean with sign and its root mean square, and the noise floor, the standard error that the test gap of "
    "any model has with so few people in the smaller cells. Most of a test gap near the floor is noise. Differences are "
    "to '{reference}', at 95 % each."
)


def equal(made: Comparison, peer: str, gap: float) -> dict[str, float]:
    """Return per split the held-out error at a held-out gap; splits that do not reach it are left out."""
    found = {}
    for seed, split in made.splits(peer).items():
        error = judge.at_equal_gap(split["signed"]["train"], split["signed"]["held"], gap)
        if np.isfinite(error):
            found[seed] = error
    return found


def difference(
    mine: dict[str, float], other: dict[str, float], comparisons: int, share: float
) -> tuple[float, float, float] | None:
    """Return the paired difference with an interval that holds for so many comparisons at once."""
    shared = [seed for seed in mine if seed in other]
    if len(shared) < 3:
        return None
    values = np.array([mine[seed] - other[seed] for seed in shared])
    return judge.paired_interval(values, share, 1.0 - 0.05 / comparisons)


def at_equal_gaps(made: Comparison) -> Table:
    """Return the main table."""
    peers = [peer for peer in made.done(needs_group=False) if peer != "plain"]
    known = {(peer, gap): equal(made, peer, gap) for peer in peers for gap in GAPS}
    against = {peer: TREES if peer.startswith("trees") else OURS for peer in peers}
    count = sum(peer not in (OURS, TREES) for peer in peers) * len(GAPS)
    rows: list[list[object]] = []
    for peer in peers:
        row: list[object] = [made.peers[peer].name]
        for gap in GAPS:
            errors = known[peer, gap]
            row.append(f"{np.mean(list(errors.values())):.4f} [{len(errors)}]" if errors else "not reached")
            apart = None
            if peer != against[peer]:
                apart = difference(errors, known[against[peer], gap], count, HELD_SHARE)
            sure = apart is not None and (apart[1] > 0.0 or apart[2] < 0.0)
            row.append("" if apart is None else signed(apart) + "*" * sure)
        rows.append(row)
    head = ["method", *[text for gap in GAPS for text in (f"error at gap {gap:g}", "difference")]]
    return Table(head, rows)


def chosen(made: Comparison, cap: float) -> Table:
    """Return errors and gaps of the models that are chosen at a cap."""
    rows: list[list[object]] = []
    for peer in made.done(needs_group=False):
        places, test = [], []
        for split in made.splits(peer).values():
            held = judge.Figures.from_lists(split["validation"])
            places.append(judge.chosen(held, cap))
            test.append({name: values[places[-1]] for name, values in split["signed"]["test"].items()})
        gaps, answer = np.array([each["gap"] for each in test]), made.answer(peer, cap)
        assert answer is not None
        apart = "" if peer == OURS else signed(made.difference(peer, cap))
        noise = float(np.mean([each["noise"] for each in test]))
        cells = [
            f"{np.abs(gaps).mean():.3f}",
            f"{gaps.mean():+.3f}",
            f"{np.sqrt((gaps**2).mean()):.3f}",
            f"{noise:.3f}",
        ]
        row: list[object] = [made.peers[peer].name, f"{answer.error.mean():.4f}", *cells]
        row += [f"{answer.met}/{len(answer.error)}", apart, int(made.over_splits(peer, "solved"))]
        rows.append([*row, number(made.over_splits(peer, "seconds"), ".2f")])
    head = [
        "method",
        f"error at cap {cap:g}",
        "gap",
        "signed",
        "rms",
        "noise floor",
        "met",
        "difference",
        "fits",
        "CPU s",
    ]
    return Table(head, rows)


def sections(quick: bool) -> list[Section]:
    """Compare on the splits of the other pages, and on ten that were drawn and run once, after the method was fixed."""
    found = []
    for contest, which in zip(CONTESTS, ("0 to 9", "fresh: drawn and run once"), strict=True):
        contest.run(quick)
        for case in contest.cases:
            made = Comparison(contest, case, quick)
            if made.complete:
                words = {"splits": len(made.splits(OURS)), "which": which, "reference": made.peers[OURS].name}
                table = at_equal_gaps(made)
                count = sum(bool(cell) for row in table.rows for cell in row[2::2])
                parts: list[str | Table] = [INTRODUCTION.format(**words, count=count), table]
                parts += [CHOSEN.format(**words), chosen(made, 0.02), chosen(made, 0.05), *made.skipped()]
                found.append(Section("rates", f"Rates: {CASES[case].title}, splits {which}", parts))
    return found
