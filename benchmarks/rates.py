"""Error against gaps of decisions: rules in rates and peers without the group at prediction, at equal held-out gap."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from . import judge
from .cases import CASES, TWO_GROUPS
from .comparison import Comparison, number, signed
from .contest import Contest
from .learners import boosting
from .peers import PEERS, bias_score
from .peers.base import Peer
from .rate_costs import costs
from .rate_people import compared
from .rate_regressions import HELD_SHARE, difference
from .report import Section, Table

OURS, TREES = "fairfront_rates", "trees_rates"
LINEAR = ("fairfront_overshoot", "fairlearn_grid_search", "fairlearn_exponentiated_gradient", "bias_score")
GAPS = (0.0, 0.02, 0.05)
DRAWN, MANY = 40, 40
"""The first of the splits that were drawn once, and how many of them COMPAS has, for the question of surety."""


def _methods() -> dict[str, Peer]:
    trees, packages = boosting.lightgbm, ("lightgbm", "fairlearn.reductions")
    found = {name: PEERS[name] for name in ("plain", OURS, *LINEAR)}
    ways = {
        TREES: ("fairfront, rates, LightGBM", boosting.in_rates),
        "trees_grid_search": ("GridSearch, LightGBM", boosting.grid_search(50)),
        "trees_bias_score": (
            "bias scores, LightGBM",
            lambda fitting, learner: bias_score.fit(fitting, lambda _: type(learner)(**learner.get_params())),
        ),
    }
    found |= {
        key: Peer(name, boosting.counting(build, trees), packages=packages) for key, (name, build) in ways.items()
    }
    return {key: replace(peer, most_splits=MANY) for key, peer in found.items()}


CONTESTS = (
    Contest("rates", _methods(), TWO_GROUPS, OURS),
    Contest("rates-drawn", _methods(), TWO_GROUPS, OURS, first=DRAWN),
    Contest("rates-many", _methods(), ("compas",), OURS, first=DRAWN, splits=MANY),
)
"""No version of the method had seen splits 40 to 79 before they were named here; they are run once, with all methods.

Named with them, as what decides whether rules in rates are surely better than GridSearch and than the frontier in
losses on COMPAS: the difference at an equal held-out gap of 0.02 over splits 40 to 79, corrected for two comparisons.
"""
NOTES = (
    "The method was settled on splits 0 to 19 of the same data with test figures in view, and one step of it, rows left out in "
    "closed form (three folds have replaced it since), on training parts of splits 100 and on. Splits 40 to 79 were named in the repository, with what was to be "
    "decided by them, before they were run; they were run once, and nothing that is compared here was changed after. They reshuffle "
    "the same rows. Peers have the same base learner and their authors' settings: GridSearch 50 multipliers, "
    "ExponentiatedGradient its defaults at four tolerances, bias scores the flip points of validation rows. German credit has "
    "about 20 people in the smaller cell of a test part, so that the test gap of any model has a standard error of 0.06 to "
    "0.09: caps of 0.02 are met or missed by chance there, and nothing tells the methods apart. ExponentiatedGradient offers "
    "four mixtures, and 'met' counts the splits in which one of them keeps the cap on validation rows; its errors elsewhere are "
    "those of a wider gap. badr 0.1.2 (Tanji, Vaiter and Laguel 2026) was not run: it weighs groups until one fairness metric "
    "is smallest and ends in one model, of which no gap can be asked, and it needs an older numpy than the other peers. A "
    "method that is missing in a table was not run there."
)
SUMMARY = (
    "On COMPAS, at an equal held-out gap of 0.02, rules in rates surely have a smaller error than GridSearch (by 0.027) and "
    "than the frontier in losses (by 0.032), on 40 splits that were named before they were run; on Adult, German credit and "
    "OULAD no method without the group is surely better or worse with the same learner."
)
ASKED_FOR = "test error (test gap, splits that met the cap) when asked for a gap of 0.02 on validation rows"
SHORT = (
    "fairfront_rates",
    "bias_score",
    "fairlearn_grid_search",
    "fairlearn_exponentiated_gradient",
    "fairfront_overshoot",
)


def in_short(made: dict[tuple[str, str], Comparison]) -> Section:
    """Return the sentences that the README may take over, marked: those of splits that were run once."""
    lines = []
    for case in TWO_GROUPS:
        last = "rates-many" if ("rates-many", case) in made else "rates-drawn"
        for name in dict.fromkeys(("rates", "rates-drawn", last)):
            if made[name, case].complete:
                mark = f" <!-- headline: rates_{case} -->" if name == last else ""
                lines.append(f"- {CASES[case].title}: {ASKED_FOR}, {_told(made[name, case])}.{mark}")
    return Section("rates", "Rates: in short", [NOTES, "\n".join(lines)], SUMMARY)


SURETY = (
    "Are rules in rates surely better than GridSearch and than the frontier in losses (Newton, overshoot) on COMPAS, at a gap "
    "of 0.02? Differences are theirs minus ours, with intervals for both comparisons at once (Bonferroni) at 95 %. What was "
    "named before splits 40 to 79 were run is the first row. Intervals over splits that share rows are wide by construction "
    "(Nadeau and Bengio): more splits leave the part that is the held-out over the training rows."
)
BEFORE = (
    "Earlier runs on ten splits each, as their pages had them (equal held-out gap of 0.02, corrected for 17, 17 and 12 "
    "comparisons): on splits 0 to 9 GridSearch +0.0304 (-0.0133 to +0.0741) and the frontier in losses +0.0353 (-0.0134 to "
    "+0.0839); on splits 20 to 29, which an earlier version had seen, +0.0329 (+0.0107 to +0.0551) and +0.0403 (+0.0131 to "
    "+0.0674); on splits 30 to 39, run once, +0.0293 (-0.0138 to +0.0724) and +0.0372 (-0.0186 to +0.0930)."
)
RIVALS = ("fairlearn_grid_search", "fairfront_overshoot")


def surety(made: Comparison) -> Section:
    """Return the answers to the question that the last splits were drawn for."""
    which, rows = _which(made.contest), []
    ours = equal(made, OURS, 0.02)
    found = [difference(equal(made, rival, 0.02), ours, len(RIVALS), HELD_SHARE) for rival in RIVALS]
    rows.append([f"{which}, held-out error at an equal held-out gap of 0.02", *map(signed, found)])
    confidence = 1.0 - 0.05 / len(RIVALS)
    chosen_ones = [made.difference(rival, 0.02, confidence=confidence) for rival in RIVALS]
    rows.append([f"{which}, test error, chosen at a cap of 0.02 on validation rows", *map(signed, chosen_ones)])
    head = ["evidence", *(made.peers[rival].name for rival in RIVALS)]
    said = " and ".join(f"{made.peers[rival].name} {signed(each)}" for rival, each in zip(RIVALS, found, strict=True))
    line = (
        f"- COMPAS, race: held-out error minus that of rules in rates at an equal gap of 0.02: {said}; {which}, named before "
        "they were run, 95 % intervals for both at once. <!-- headline: rates_surety -->"
    )
    return Section("rates", "Rates: surely better on COMPAS?", [SURETY, line, Table(head, rows), _kept(made), BEFORE])


def _kept(made: Comparison) -> str:
    """Say how errors at a cap vary with the splits, whoever makes them."""
    ours, plain = made.answer(OURS, 0.02), made.answer("plain", 0.02)
    assert ours is not None
    assert plain is not None
    return (
        f"Asked for a gap of 0.02 on validation rows, rules in rates keep it in {ours.met} of {len(ours.error)} splits with a "
        f"test error of {ours.error.mean():.3f}. It varies with the splits: over the first ten it is "
        f"{ours.error[:10].mean():.3f}, where that of the plain model is {plain.error[:10].mean():.3f}, over all "
        f"{plain.error.mean():.3f}."
    )


def _told(found: Comparison) -> str:
    answers = {peer: found.answer(peer, 0.02) for peer in SHORT if peer in found.done(needs_group=False)}
    words = [
        f"{found.peers[peer].name} {a.error.mean():.3f} ({a.gap.mean():.3f}, {a.met}/{len(a.error)})"
        for peer, a in answers.items()
        if a is not None
    ]
    return f"{_which(found.contest)}: {', '.join(words)}"


def _which(contest: Contest) -> str:
    return f"splits {contest.first} to {contest.first + contest.splits - 1}"


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


def _ahead(made: Comparison) -> str:
    """Say which peers are ahead at 95 % of one comparison, where the table is corrected for all."""
    said = []
    for peer in made.done(needs_group=False):
        mine = TREES if peer.startswith("trees") else OURS
        if peer not in ("plain", mine):
            for gap in GAPS:
                apart = difference(equal(made, peer, gap), equal(made, mine, gap), 1, HELD_SHARE)
                if apart is not None and apart[2] < 0.0:
                    said.append(f"{made.peers[peer].name} at gap {gap:g}, {signed(apart)}")
    return f"Ahead of rules in rates at 95 % of one comparison, not corrected: {'; '.join(said) or 'none'}."


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
    """Compare on the splits of the other pages, and on those that were named first and run once."""
    for contest in CONTESTS:
        contest.run(quick)
    return drawn(quick) if quick else [*drawn(quick), costs()]


def drawn(quick: bool) -> list[Section]:
    """Return the sections of what was run."""
    made = {(each.name, case): Comparison(each, case, quick) for each in CONTESTS for case in each.cases}
    found = [_compared(each) for each in made.values() if each.complete]
    return found if quick else [in_short(made), surety(made["rates-many", "compas"]), compared(), *found]


def _compared(made: Comparison) -> Section:
    which = _which(made.contest)
    words = {
        "splits": len(made.splits(OURS)),
        "which": which.removeprefix("splits "),
        "reference": made.peers[OURS].name,
    }
    table = at_equal_gaps(made)
    count = sum(bool(cell) for row in table.rows for cell in row[2::2])
    parts: list[str | Table] = [INTRODUCTION.format(**words, count=count), table, _ahead(made)]
    parts += [CHOSEN.format(**words), chosen(made, 0.02), chosen(made, 0.05), *made.skipped()]
    return Section("rates", f"Rates: {CASES[made.case].title}, {which}", parts)
