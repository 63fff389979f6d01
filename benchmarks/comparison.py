"""Read what a contest has found on one case and turn it into tables: answers at caps, equal approval rates, costs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import judge
from .contest import Contest
from .judge import Figures
from .report import Table

LEVELS = 21
INTRODUCTION = (
    "Equal opportunity, {splits} random splits 60 : 20 : 20. Models are chosen on validation rows (least error with "
    "a gap of true positive rates of at most the cap; the smallest gap where none is within it) and reported on test "
    "rows, means over splits. Noise floor: the mean gap that a model without any shows on such test rows; debiased rms: "
    "the root mean square of test gaps less what noise adds to it. Differences are to {reference}, paired, with 95 % intervals "
    "that allow for splits sharing rows (Nadeau and Bengio). Met: splits in which some model was within the cap on "
    "validation rows. Unprocessed: test error of the best model after the best threshold for every group (Cruz and "
    "Hardt 2024). Box: share of the box between the plain model and (majority error, plain model's gap) that the "
    "models offered dominate on test rows; it needs no cap, more is better. Differences at a cap are left out where "
    "the cap was met in fewer than half of the splits. Methods that use the group place their thresholds on the same "
    "validation rows that models are chosen on, as their authors do, so their gaps grow most on test rows."
)


@dataclass(frozen=True)
class Answer:
    """Test figures at one cap over all splits, (S,) each, and in how many splits the cap was met on validation."""

    error: np.ndarray
    gap: np.ndarray
    met: int
    seeds: tuple[str, ...]
    noise: np.ndarray  # standard errors of the gaps, NaN where they were not kept

    @property
    def floor(self) -> float:
        """Return the mean gap that a model without any shows on these test rows."""
        return float(np.sqrt(2.0 / np.pi) * self.noise.mean())

    @property
    def debiased(self) -> float:
        """Return the root mean square of the gaps less what noise adds to it."""
        return float(np.sqrt(np.maximum(0.0, (self.gap**2 - self.noise**2).mean())))

    @property
    def mostly_met(self) -> bool:
        """Tell whether the cap was met in at least half of the splits, without which errors are not comparable."""
        return 2 * self.met >= len(self.error)


class Comparison:
    """All methods of a contest on one case."""

    def __init__(self, contest: Contest, case: str, quick: bool = False) -> None:
        self.contest, self.case, self.peers = contest, case, contest.peers
        paths = {peer: contest.place(case, peer, quick) for peer in contest.peers}
        self.records: dict[str, dict[str, Any]] = {
            peer: json.loads(path.read_text()) for peer, path in paths.items() if path.exists()
        }

    @property
    def complete(self) -> bool:
        """Tell whether there is something to compare with."""
        return bool(self.records.get(self.contest.reference, {}).get("splits"))

    def done(self, needs_group: bool) -> list[str]:
        """Return the methods that have results, of one kind."""
        known = [peer for peer, record in self.records.items() if record["splits"]]
        return [peer for peer in known if self.peers[peer].needs_group_at_prediction == needs_group]

    def skipped(self) -> list[str]:
        """Say which methods were skipped, and why."""
        why = {peer: record["skipped"] for peer, record in self.records.items() if record["skipped"]}
        return [f"Skipped: {self.peers[peer].name}: {reason}." for peer, reason in why.items()]

    def splits(self, peer: str) -> dict[str, Any]:
        """Return the results of every split."""
        return dict(self.records[peer]["splits"])

    def answer(self, peer: str, cap: float, equal_approval: bool = False) -> Answer | None:
        """Choose on validation and report on test, split by split."""
        error, gap, noise, met = [], [], [], 0
        for seed, split in self.splits(peer).items():
            if equal_approval and "equal_approval" not in split:
                return None
            pair = split["equal_approval"] if equal_approval else (split["validation"], split["test"])
            held, test = (Figures.from_lists(part) for part in pair)
            limit = cap * (self.splits("plain")[seed]["validation"]["gap"][0] if self.contest.relative else 1.0)
            best = judge.chosen(held, limit)
            error.append(test.error[best])
            gap.append(test.gap[best])
            noise.append(np.nan if equal_approval or "signed" not in split else split["signed"]["test"]["noise"][best])
            met += bool(held.gap[best] <= limit)
        return Answer(np.array(error), np.array(gap), met, tuple(self.splits(peer)), np.array(noise))

    def difference(
        self, peer: str, cap: float, equal_approval: bool = False, figure: str = "error", confidence: float = 0.95
    ) -> tuple[float, float, float] | None:
        """Return the paired difference of a test figure to the reference with its interval."""
        mine, other = (self.answer(name, cap, equal_approval) for name in (peer, self.contest.reference))
        if mine is None or other is None or peer == self.contest.reference:
            return None
        shared = [seed for seed in mine.seeds if seed in other.seeds]
        ours, theirs = (getattr(a, figure)[[a.seeds.index(seed) for seed in shared]] for a in (mine, other))
        return judge.paired_interval(ours - theirs, confidence=confidence)

    def boxes(self, peer: str) -> dict[str, float]:
        """Return per split the share of the tight box that a method's offer covers on test rows."""
        found = {}
        for seed, split in self.splits(peer).items():
            plain = self.splits("plain").get(seed)
            if plain is not None:
                held, test = Figures.from_lists(split["validation"]), Figures.from_lists(split["test"])
                corner = (plain["test"]["error"][0], plain["test"]["gap"][0])
                found[seed] = judge.box_share(test, judge.offered(held), split["majority"], corner)
        return found

    def box_difference(self, peer: str) -> tuple[float, float, float]:
        """Return the paired difference of the box's share to the reference with its interval."""
        mine, other = self.boxes(peer), self.boxes(self.contest.reference)
        return judge.paired_interval(np.array([mine[s] - other[s] for s in mine if s in other]))

    def over_splits(self, peer: str, name: str, kind: Any = np.median) -> float:
        """Return the median, or another mean, of a figure over splits, NaN where it has none."""
        known = [split[name] for split in self.splits(peer).values() if split.get(name) is not None]
        return float(kind(known)) if known else float("nan")

    def hole(self, peer: str) -> float:
        """Return the largest hole in the training loss gap, as a share of the plain model's, first split."""
        split = self.splits(peer).get("0", {})
        if "loss_gap" not in split:
            return float("nan")
        return judge.largest_hole(np.array(split["loss_gap"]), self.splits("plain")["0"]["loss_gap"][0])

    def shortfall(self, value: list[float], gap: list[float]) -> float:
        """Return how far models stay behind the front on average over caps, as a share of its loss range."""
        front = self.splits(self.contest.ladder)["0"]
        order = np.argsort(front["loss_gap"])
        known_gap, known_loss = np.array(front["loss_gap"])[order], np.array(front["loss"])[order]
        caps = np.linspace(0.0, known_gap[-1], LEVELS)
        best = np.interp(caps, known_gap, known_loss)
        span = known_loss.max() - known_loss.min()
        return judge.shortfall(np.array(value), np.array(gap), caps, best, span) / span

    def time_to_equal(self, peer: str) -> tuple[float, float] | None:
        """Return a method's shortfall, and its time over the tracer's time for a shortfall as small."""
        split, front = self.splits(peer).get("0", {}), self.splits(self.contest.ladder)["0"]
        if "loss" not in split or not front.get("ladder"):
            return None
        mine = self.shortfall(split["loss"], split["loss_gap"])
        enough = [r["seconds"] for r in front["ladder"] if self.shortfall(r["loss"], r["gap"]) <= mine + 1e-12]
        return mine, float(split["seconds"] / min([*enough, front["seconds"]]))

    def introduction(self) -> str:
        """Say how methods were compared."""
        reference = self.contest.reference
        return INTRODUCTION.format(splits=len(self.splits(reference)), reference=self.peers[reference].name)

    def answers(self, needs_group: bool, box: bool = True, digits: int = 4, gaps: bool = False) -> Table:
        """Return errors and gaps at every cap with differences to the reference, of error and if asked of gap."""
        share = " of the gap" if self.contest.relative else ""
        head, rows = ["method"], []
        for cap in self.contest.caps:
            head += [f"error at {cap:g}{share}" if share else f"error at gap {cap:g}", "gap"]
            head += ["noise floor", "debiased rms", "met", "difference"]
            head += ["difference of gaps"] * gaps
        for peer in self.done(needs_group):
            row: list[object] = [self.peers[peer].name]
            for cap in self.contest.caps:
                found = self.answer(peer, cap)
                assert found is not None
                said = found.mostly_met or self.contest.relative
                row += [f"{found.error.mean():.{digits}f}", f"{found.gap.mean():.{digits - 1}f}"]
                row += [number(each, f".{digits - 1}f") for each in (found.floor, found.debiased)]
                row += [f"{found.met}/{len(found.error)}"]
                row.append(signed(self.difference(peer, cap), digits) if said else "cap not met")
                row += [signed(self.difference(peer, cap, figure="gap"), digits - 1)] * gaps
            if box:
                apart = None if peer == self.contest.reference else self.box_difference(peer)
                share_of_box = float(np.mean(list(self.boxes(peer).values())))
                row += [number(self.over_splits(peer, "unprocessed", np.mean), ".4f")]
                row += [number(share_of_box, ".2f") or "no box", signed(apart, 2)]
            rows.append(row)
        return Table([*head, *["unprocessed", "box", "box difference"][: 3 * box]], rows)

    def equal_approval(self) -> Table:
        """Return errors and gaps where every model approves the share of people that training labels favour."""
        rows: list[list[object]] = []
        for peer in self.done(needs_group=False):
            found = [self.answer(peer, cap, equal_approval=True) for cap in self.contest.caps]
            row: list[object] = [self.peers[peer].name]
            for cap, answer in zip(self.contest.caps, found, strict=True):
                if answer is not None:
                    apart = signed(self.difference(peer, cap, equal_approval=True))
                    row += [f"{answer.error.mean():.4f}", f"{answer.gap.mean():.3f}"]
                    row.append(apart if answer.mostly_met else "cap not met")
            if None not in found:
                rows.append(row)
        head = ["method", *[t for cap in self.contest.caps for t in (f"error at gap {cap:g}", "gap", "difference")]]
        return Table(head, rows)

    def costs(self, ladder: bool = True) -> Table:
        """Return times and memory, and of linear models how good they are on the training loss."""
        reference = self.over_splits(self.contest.ladder or self.contest.reference, "seconds")
        rows: list[list[object]] = []
        for peer in [*self.done(needs_group=False), *self.done(needs_group=True)]:
            seconds = self.over_splits(peer, "seconds")
            row: list[object] = [self.peers[peer].name, int(self.over_splits(peer, "solved")), f"{seconds:.2f} s"]
            row += [f"{seconds / reference:.2g}", f"{self.over_splits(peer, 'memory'):.0f} MB"]
            if ladder:
                excess = self.splits(peer).get("0", {}).get("excess")
                equal = self.time_to_equal(peer)
                row += [number(self.hole(peer), ".2f"), f"{max(excess, key=abs):.1e}" if excess else ""]
                row += [f"{equal[0]:.1e}", f"{equal[1]:.2g}"] if equal else ["", ""]
                row += [number(self.over_splits(peer, "raised"), ".0%")]
            rows.append([*row, self.peers[peer].note])
        head = ["method", "solved", "CPU time", "ratio", "peak memory"]
        more = ["largest hole", "loss excess", "shortfall", "time at equal shortfall", "raised"]
        return Table([*head, *more[: len(more) * ladder], "note"], rows)

    def lost(self, cap: float) -> list[str]:
        """Say which methods have a smaller test error or gap than the reference, their interval below zero."""
        said = []
        for peer in [*self.done(needs_group=False), *self.done(needs_group=True)]:
            for figure in ("error", "gap"):
                apart = self.difference(peer, cap, figure=figure)
                if apart is not None and peer != "plain" and apart[2] < 0.0:
                    said.append(
                        f"- cap {cap:g}: {self.peers[peer].name} has the smaller test {figure} by {-apart[0]:.4f}."
                    )
        return said


def signed(found: tuple[float, float, float] | None, digits: int = 4) -> str:
    """Return a difference with its interval in words."""
    if found is None:
        return "reference"
    if np.isnan(found[0]):
        return "no box"
    mean, low, high = (f"{value:+.{digits}f}" for value in found)
    return f"{mean} ({low} to {high})" if np.isfinite(found[1]) else mean


def number(value: float, form: str) -> str:
    """Return a number, empty where there is none."""
    return "" if np.isnan(value) else format(value, form)
