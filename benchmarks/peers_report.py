"""Tables of the comparison with peers, one section per case, written from the JSON results."""

from __future__ import annotations

import numpy as np

from .peers import PEERS
from .peers_cases import CASES
from .peers_reading import CAPS, COST_REFERENCE, REFERENCE, Results
from .report import table

Section = tuple[str, str]


def section(variant: str, case: str) -> Section | None:
    """Return the title and the body of one case, None where nothing was run."""
    results = Results(variant, case)
    if REFERENCE not in results.records or not results.splits(REFERENCE):
        return None
    inside = "sensitive" in variant
    title = f"Peers: {CASES[case].title}" + (", sensitive column in X" if inside else "")
    blind = "### The group as a column of X\n" if inside else "### Without the group at prediction\n"
    parts = [_intro(results), blind, _answers(results, needs_group=False)]
    parts += [
        "### With thresholds by group\n" if inside else "### With the group at prediction\n",
        _answers(results, needs_group=True),
        _verdict(results),
    ]
    if not inside:
        parts += ["### At one approval rate\n", _equal_approval(results), "### Costs\n", _costs(results)]
    parts += [f"Skipped: {PEERS[peer].name}: {why}." for peer, why in results.skipped().items()]
    return title, "\n\n".join(part.strip() for part in parts)


def _intro(results: Results) -> str:
    splits = len(results.splits(REFERENCE))
    return (
        f"Equal opportunity, {splits} random splits 60 : 20 : 20. Models are chosen on validation rows (least error with "
        "a gap of true positive rates of at most the cap; the smallest gap where none is within it) and reported on test "
        f"rows, means over splits. Differences of test error are to {PEERS[REFERENCE].name}, paired, with 95 % intervals "
        "that allow for splits sharing rows (Nadeau and Bengio). Met: splits in which some model was within the cap on "
        "validation rows. Unprocessed: test error of the best model after the best threshold for every group (Cruz and "
        "Hardt 2024). Box: share of the box between the plain model and (majority error, plain model's gap) that the "
        "models offered dominate on test rows; it needs no cap, more is better. Differences at a cap are left out where "
        "the cap was met in fewer than half of the splits. Methods that use the group place their thresholds on the same "
        "validation rows that models are chosen on, as their authors do, so their gaps grow most on test rows."
    )


def _signed(found: tuple[float, float, float] | None, form: str = ".4f") -> str:
    if found is None:
        return "reference"
    mean, low, high = (format(value, f"+{form}") for value in found)
    return f"{mean} ({low} to {high})" if np.isfinite(found[1]) else mean


def _number(value: float, form: str) -> str:
    return "" if np.isnan(value) else format(value, form)


def _answers(results: Results, needs_group: bool) -> str:
    head = ["method"]
    for cap in CAPS:
        head += [f"error at gap {cap:g}", "gap", "met", "difference"]
    rows: list[list[object]] = []
    for peer in results.done(needs_group):
        row: list[object] = [PEERS[peer].name]
        for cap in CAPS:
            found = results.answer(peer, cap)
            assert found is not None
            row += [f"{found.error.mean():.4f}", f"{found.gap.mean():.3f}", f"{found.met}/{len(found.error)}"]
            row.append(_signed(results.difference(peer, cap)) if found.mostly_met else "cap not met")
        box = f"{np.mean(list(results.boxes(peer).values())):.2f}"
        apart = "reference" if peer == REFERENCE else _signed(results.box_difference(peer), ".2f")
        rows.append([*row, _number(results.mean(peer, "unprocessed"), ".4f"), box, apart])
    return table([*head, "unprocessed", "box", "box difference"], rows)


def _verdict(results: Results) -> str:
    """Say plainly where post-processing with the group wins, ties or loses, on the box that needs no cap."""
    wins: dict[str, list[str]] = {
        "more of the box": [],
        "less of the box": [],
        "no clearly different share of the box": [],
    }
    for peer in results.done(needs_group=True):
        _, low, high = results.box_difference(peer)
        words = list(wins)
        wins[words[0] if low > 0 else words[1] if high < 0 else words[2]].append(PEERS[peer].name)
    said = [f"{word}: {', '.join(names)}" for word, names in wins.items() if names]
    return f"Post-processing, against {PEERS[REFERENCE].name}, covers {'; '.join(said)}." if said else ""


def _equal_approval(results: Results) -> str:
    rows: list[list[object]] = []
    for peer in results.done(needs_group=False):
        row: list[object] = [PEERS[peer].name]
        for cap in CAPS:
            found = results.answer(peer, cap, equal_approval=True)
            if found is None:
                break
            row += [f"{found.error.mean():.4f}", f"{found.gap.mean():.3f}"]
            apart = _signed(results.difference(peer, cap, equal_approval=True))
            row.append(apart if found.mostly_met else "cap not met")
        else:
            rows.append(row)
    head = ["method", *[text for cap in CAPS for text in (f"error at gap {cap:g}", "gap", "difference")]]
    return (
        "Every model approves the share of people that has the favourable label in training; cut-offs are placed on "
        "validation rows. Methods without scores are left out.\n\n" + table(head, rows)
    )


def _costs(results: Results) -> str:
    reference = results.median(COST_REFERENCE, "seconds")
    rows: list[list[object]] = []
    for peer in [*results.done(needs_group=False), *results.done(needs_group=True)]:
        seconds = results.median(peer, "seconds")
        split = results.splits(peer).get("0", {})
        excess = f"{max(split['excess'], key=abs):.1e}" if split.get("excess") else ""
        equal = results.time_to_equal(peer)
        rows.append(
            [
                PEERS[peer].name,
                int(results.median(peer, "solved")),
                f"{seconds:.2f} s",
                f"{seconds / reference:.2g}",
                f"{results.median(peer, 'memory'):.0f} MB",
                _number(results.hole(peer), ".2f"),
                excess,
                f"{equal[0]:.1e}" if equal else "",
                f"{equal[1]:.2g}" if equal else "",
                _number(results.median(peer, "raised"), ".0%"),
                PEERS[peer].note,
            ]
        )
    head = ["method", "solved", "CPU time", "ratio", "peak memory", "largest hole", "loss excess", "shortfall"]
    return (
        f"Times are medians, ratios to {PEERS[COST_REFERENCE].name}; peak memory is what a fit adds to the process. "
        "For linear models, on the training loss of the first split: largest hole in the loss gap as a share of the plain "
        "model's; loss excess of up to three models over SLSQP's optimum at their own gap, as a share of the front's loss "
        "range, the largest; shortfall, the same averaged over 21 caps for the best model within each (1: none); and the "
        "time over the time in which the tracer has as small a shortfall. Methods that aim at rates, or at another loss, "
        "are not made for these three. Raised: share of steps of a first-order method that raised an objective.\n\n"
        + table([*head, "time at equal shortfall", "raised", "note"], rows)
    )
