"""All contests, and the sections of the pages that they make."""

from __future__ import annotations

import numpy as np

from . import rates
from .cases import CASES, TWO_GROUPS
from .comparison import Comparison
from .contest import Contest
from .learners import boosting, networks
from .peers import PEERS
from .rate_regressions import REGRESSIONS
from .report import Section, Table

REFERENCE, TRACER = "fairfront_overshoot", "fairfront_newton"
SLOW = ("torchjd_upgrad", "torchjd_mgda", "nsga2", "aif360_grid_search", "slsqp")
CONTESTS = {
    contest.name: contest
    for contest in (
        Contest("peers", PEERS, TWO_GROUPS, REFERENCE, ladder=TRACER),
        Contest(
            "peers-sensitive",
            {name: peer for name, peer in PEERS.items() if name not in SLOW},
            TWO_GROUPS,
            REFERENCE,
            splits=5,
            sensitive_in=True,
        ),
        *rates.CONTESTS,
        REGRESSIONS,
        *(
            Contest(name, peers, (*TWO_GROUPS, "adult_race"), boosting.REFERENCE, caps=(0.01, 0.02, 0.05))
            for name, peers in boosting.CONTESTS.items()
        ),
        *(Contest(name, networks.PEERS, (case,), networks.REFERENCE, caps, 5) for name, case, caps in networks.CASES),
    )
}
BOX = (
    "The box is the area between plain training's gap and the error of always deciding the same; a larger share is "
    "better. The best peer of each kind is the one with the largest share *on test*, which favours it. Our reference is "
    "the tracer with `overshoot=0.5`: a zero loss gap is not a zero rate gap, and on COMPAS and German credit the default "
    "ends above the caps on validation rows. That was settled after trial runs in which test figures were seen too, so "
    "both rows are in every table. On German credit the box of some splits has no area, so it has no line here."
)
APPROVAL = (
    "Every model approves the share of people that has the favourable label in training; cut-offs are placed on "
    "validation rows. Methods without scores are left out."
)
COSTS = (
    "Times are medians, ratios to fairfront Newton; peak memory is what a fit adds to the process. "
    "For linear models, on the training loss of the first split: largest hole in the loss gap as a share of the plain "
    "model's; loss excess of up to three models over SLSQP's optimum at their own gap, as a share of the front's loss "
    "range, the largest; shortfall, the same averaged over 21 caps for the best model within each (1: none); and the "
    "time over the time in which the tracer has as small a shortfall. Methods that aim at rates, or at another loss, "
    "are not made for these three. Raised: share of steps of a first-order method that raised an objective."
)
REGRESSION = (
    "Communities and Crime, random splits, linear models; error is the mean squared error of a target in [0, 1], the gap "
    "its difference between the two groups of communities. Caps are shares of the plain model's gap on validation rows; "
    "chosen there, reported on test rows."
)


def _compared(name: str, quick: bool) -> dict[str, Comparison]:
    """Run what is missing of a contest and return its comparisons by case."""
    contest = CONTESTS[name]
    contest.run(quick)
    found = {case: Comparison(contest, case, quick) for case in contest.cases}
    return {case: made for case, made in found.items() if made.complete}


def peers(quick: bool) -> list[Section]:
    """Compare linear methods, without and with the sensitive column, and those for a regression."""
    plain, inside = _compared("peers", quick), _compared("peers-sensitive", quick)
    return [
        _in_short(plain),
        *(_case(case, made) for case, made in plain.items()),
        *(_case(case, made, inside=True) for case, made in inside.items()),
        *(
            Section("peers", f"Peers: {CASES[case].title}", [REGRESSION, made.answers(False, box=False, digits=5)])
            for case, made in _compared("regression", quick).items()
        ),
    ]


def _case(case: str, made: Comparison, inside: bool = False) -> Section:
    title = f"Peers: {CASES[case].title}" + (", sensitive column in X" if inside else "")
    parts: list[str | Table] = [made.introduction()]
    parts += ["### The group as a column of X" if inside else "### Without the group at prediction"]
    parts += [made.answers(needs_group=False)]
    parts += ["### With thresholds by group" if inside else "### With the group at prediction"]
    parts += [made.answers(needs_group=True), _verdict(made)]
    if not inside:
        parts += ["### At one approval rate", APPROVAL, made.equal_approval(), "### Costs", COSTS, made.costs()]
    return Section("peers-sensitive" if inside else "peers-cases", title, [*parts, *made.skipped()])


def _verdict(made: Comparison) -> str:
    """Say plainly where post-processing with the group wins, ties or loses, on the box that needs no cap."""
    said: dict[str, list[str]] = {
        "more of the box": [],
        "less of the box": [],
        "a share not statistically different": [],
    }
    more, less, same = said
    for peer in made.done(needs_group=True):
        _, low, high = made.box_difference(peer)
        said[more if low > 0 else less if high < 0 else same].append(made.peers[peer].name)
    words = [f"{word}: {', '.join(names)}" for word, names in said.items() if names]
    return f"Post-processing, against {made.peers[REFERENCE].name}, covers {'; '.join(words)}." if words else ""


def _in_short(known: dict[str, Comparison]) -> Section:
    """Return the sentences that the README may take over, marked."""
    lines = []
    for case, made in known.items():
        if "fairlearn_grid_search" in made.done(needs_group=False):
            ours, theirs = (made.over_splits(peer, "seconds") for peer in (TRACER, "fairlearn_grid_search"))
            models = int(made.over_splits("fairlearn_grid_search", "solved"))
            said = f"fairlearn's GridSearch took {theirs / ours:.1f} times as long as the Newton tracer for {models} models."
            lines.append(f"- {CASES[case].title}: {said} <!-- headline: {case}_time -->")
        for needs_group, name in ((False, "blind"), (True, "aware")):
            best = _best(made, needs_group)
            if best is not None:
                lines.append(f"- {CASES[case].title}: {_against(made, best)} <!-- headline: {case}_{name} -->")
    summary = " ".join(lines[0].removeprefix("- ").split(" <!--")[:1]) if lines else ""
    return Section("peers", "Peers: in short", [BOX, "\n".join(lines)], summary)


def _box(made: Comparison, peer: str) -> float:
    """Return the mean share of the box; not finite where the box of a split has no area."""
    return float(np.mean(list(made.boxes(peer).values())))


def _best(made: Comparison, needs_group: bool) -> str | None:
    """Return the peer that covers most of the box, of those with most splits: few splits may be best by luck."""
    peers = [peer for peer in made.done(needs_group) if needs_group or not peer.startswith("fairfront")]
    most = max((len(made.boxes(peer)) for peer in peers), default=0)
    peers = [peer for peer in peers if len(made.boxes(peer)) == most and np.isfinite(_box(made, peer))]
    if not peers or not np.isfinite(_box(made, REFERENCE)):
        return None
    return max(peers, key=lambda peer: _box(made, peer))


def _against(made: Comparison, peer: str) -> str:
    apart, low, high = made.box_difference(peer)
    cap, how = made.contest.caps[0], "with" if made.peers[peer].needs_group_at_prediction else "without"
    answers = [made.answer(name, cap) for name in (peer, REFERENCE)]
    theirs, ours = (f"{a.error.mean():.4f} (gap {a.gap.mean():.3f})" for a in answers if a is not None)
    return (
        f"the best peer {how} the group at prediction, {made.peers[peer].name}, covers {_box(made, peer):.2f} of the box on "
        f"test rows, {made.peers[REFERENCE].name} {_box(made, REFERENCE):.2f}; difference {apart:+.2f}, 95 % interval "
        f"{low:+.2f} to {high:+.2f}. Test error when asked for a gap of {cap:g} on validation rows: {theirs} and {ours}."
    )


def _learned(name: str, page: str, title: str, introduction: str, quick: bool) -> list[Section]:
    """Compare ways to make models of one kind of learner: answers with both differences, costs, and where we lose."""
    found = []
    for case, made in _compared(name, quick).items():
        lost = [line for cap in made.contest.caps for line in made.lost(cap)]
        parts: list[str | Table] = [introduction, made.answers(False, box=False, gaps=True)]
        if made.done(needs_group=True):
            parts += ["### With the group at prediction", made.answers(True, box=False, gaps=True)]
        parts += ["### Costs", made.costs(ladder=False), *made.skipped(), "### Where the reference loses"]
        parts += ["\n".join(lost) or "- nowhere, at 95 % per comparison."]
        found.append(Section(page, title.format(CASES[case].title), parts))
    return found


def boosting_lightgbm(quick: bool) -> list[Section]:
    """Compare ways to lower a gap of LightGBM."""
    title = "Frontiers of boosted trees: LightGBM, {}"
    return _learned("boosting", "boosted-trees", title, boosting.INTRODUCTION, quick)


def boosting_hist(quick: bool) -> list[Section]:
    """Compare ways to lower a gap of scikit-learn's histogram boosting."""
    title = "Frontiers of boosted trees: HistGradientBoosting, {}"
    return _learned("boosting_hist", "boosted-trees", title, boosting.INTRODUCTION, quick)


def networks_traced(quick: bool) -> list[Section]:
    """Compare traced networks with others."""
    names = [name for name, _, _ in networks.CASES]
    return [s for name in names for s in _learned(name, "networks", "Networks: {}", networks.INTRODUCTION, quick)]
