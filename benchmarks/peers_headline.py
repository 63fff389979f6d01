"""The short section on peers, with the sentences that the README may take over."""

from __future__ import annotations

import numpy as np

from .peers import PEERS
from .peers_cases import CASES
from .peers_reading import CAPS, COST_REFERENCE, REFERENCE, Results

HOW = (
    "The box is the area between plain training's gap and the error of always deciding the same; a larger share is "
    "better. The best peer of each kind is the one with the largest share *on test*, which favours it. Our reference is "
    "the tracer with `overshoot=0.5`: a zero loss gap is not a zero rate gap, and on COMPAS and German credit the default "
    "ends above the caps on validation rows. That was settled after trial runs in which test figures were seen too, so "
    "both rows are in every table. On German credit the box of some splits has no area, so it has no line here."
)


def short(variant: str) -> tuple[str, str]:
    """Return the title and body of the section of marked sentences."""
    known = {case: Results(variant, case) for case in CASES}
    known = {case: r for case, r in known.items() if REFERENCE in r.records and r.splits(REFERENCE)}
    lines = [line for case, r in known.items() for line in (_time(case, r), *_best(case, r)) if line]
    return "Peers: in short", f"{HOW}\n\n" + "\n".join(lines)


def _marked(name: str, sentence: str) -> str:
    return f"- {sentence} <!-- headline: {name} -->"


def _time(case: str, results: Results) -> str:
    if "fairlearn_grid_search" not in results.done(needs_group=False):
        return ""
    ours, theirs = (results.median(p, "seconds") for p in (COST_REFERENCE, "fairlearn_grid_search"))
    models = int(results.median("fairlearn_grid_search", "solved"))
    return _marked(
        f"{case}_time",
        f"{CASES[case].title}: fairlearn's GridSearch took {theirs / ours:.1f} times as long as the Newton tracer for "
        f"{models} models.",
    )


def _best(case: str, results: Results) -> list[str]:
    """Compare with the best peer of each kind: the one that covers most of the box, which needs no cap."""
    made = []
    for needs_group, name, how in ((False, "blind", "without"), (True, "aware", "with")):
        peers = [p for p in results.done(needs_group) if needs_group or not p.startswith("fairfront")]
        most = max((len(results.boxes(p)) for p in peers), default=0)  # a peer with few splits may be best by luck
        peers = [p for p in peers if len(results.boxes(p)) == most and np.isfinite(_box(results, p))]
        if peers and np.isfinite(_box(results, REFERENCE)):
            best = max(peers, key=lambda p: _box(results, p))
            made.append(_marked(f"{case}_{name}", _compared(case, results, best, how)))
    return made


def _box(results: Results, peer: str) -> float:
    """Return the mean share of the box; not finite where the box of a split has no area."""
    return float(np.mean(list(results.boxes(peer).values())))


def _compared(case: str, results: Results, peer: str, how: str) -> str:
    ours, theirs = _box(results, REFERENCE), _box(results, peer)
    apart, low, high = results.box_difference(peer)
    cap = CAPS[0]
    answers = [results.answer(p, cap) for p in (REFERENCE, peer)]
    said = [f"{a.error.mean():.4f} (gap {a.gap.mean():.3f})" for a in answers if a is not None]
    return (
        f"{CASES[case].title}: the best peer {how} the group at prediction, {PEERS[peer].name}, covers {theirs:.2f} of the "
        f"box on test rows, {PEERS[REFERENCE].name} {ours:.2f}; difference {apart:+.2f}, 95 % interval {low:+.2f} to "
        f"{high:+.2f}. Test error when asked for a gap of {cap:g} on validation rows: {said[1]} and {said[0]}."
    )
