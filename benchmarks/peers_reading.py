"""Read what peers_fit wrote and turn it into figures per method: answers, equal approval rates, costs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import judge
from .judge import Figures
from .peers import PEERS
from .peers_fit import place

REFERENCE, COST_REFERENCE = "fairfront_overshoot", "fairfront_newton"
CAPS = (0.02, 0.05)
LEVELS = 21


@dataclass(frozen=True)
class Answer:
    """Test figures at one cap over all splits, (S,) each, and in how many splits the cap was met on validation."""

    error: np.ndarray
    gap: np.ndarray
    met: int
    seeds: tuple[str, ...]

    @property
    def mostly_met(self) -> bool:
        """Tell whether the cap was met in at least half of the splits, without which errors are not comparable."""
        return 2 * self.met >= len(self.error)


class Results:
    """All methods' results on one case and variant."""

    def __init__(self, variant: str, case: str) -> None:
        self.records: dict[str, dict[str, Any]] = {}
        for peer in PEERS:
            path = place(variant, case, peer)
            if path.exists():
                self.records[peer] = json.loads(path.read_text())

    def done(self, needs_group: bool) -> list[str]:
        """Return the methods that have results, of one kind."""
        return [
            peer
            for peer, record in self.records.items()
            if record["splits"] and PEERS[peer].needs_group_at_prediction == needs_group
        ]

    def skipped(self) -> dict[str, str]:
        """Return why methods were skipped."""
        return {peer: record["skipped"] for peer, record in self.records.items() if record["skipped"]}

    def splits(self, peer: str) -> dict[str, Any]:
        """Return the results of every split."""
        return dict(self.records[peer]["splits"])

    def answer(self, peer: str, cap: float, equal_approval: bool = False) -> Answer | None:
        """Choose on validation and report on test, split by split."""
        error, gap, met = [], [], 0
        for split in self.splits(peer).values():
            if equal_approval and "equal_approval" not in split:
                return None
            pair = split["equal_approval"] if equal_approval else (split["validation"], split["test"])
            held, test = (Figures.from_lists(part) for part in pair)
            best = judge.chosen(held, cap)
            error.append(test.error[best])
            gap.append(test.gap[best])
            met += bool(held.gap[best] <= cap)
        return Answer(np.array(error), np.array(gap), met, tuple(self.splits(peer)))

    def difference(self, peer: str, cap: float, equal_approval: bool = False) -> tuple[float, float, float] | None:
        """Return the paired difference of test error to the reference with its interval."""
        mine, other = (self.answer(name, cap, equal_approval) for name in (peer, REFERENCE))
        if mine is None or other is None or peer == REFERENCE:
            return None
        shared = [s for s in mine.seeds if s in other.seeds]
        pick = [[a.seeds.index(s) for s in shared] for a in (mine, other)]
        return judge.paired_interval(mine.error[pick[0]] - other.error[pick[1]])

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
        mine, other = self.boxes(peer), self.boxes(REFERENCE)
        return judge.paired_interval(np.array([mine[s] - other[s] for s in mine if s in other]))

    def median(self, peer: str, name: str) -> float:
        """Return a figure's median over splits, NaN where it has none."""
        found = [split.get(name) for split in self.splits(peer).values()]
        known = [value for value in found if value is not None]
        return float(np.median(known)) if known else float("nan")

    def mean(self, peer: str, name: str) -> float:
        """Return a figure's mean over splits, NaN where it has none."""
        known = [split[name] for split in self.splits(peer).values() if split.get(name) is not None]
        return float(np.mean(known)) if known else float("nan")

    def hole(self, peer: str) -> float:
        """Return the largest hole in the training loss gap, as a share of the plain model's, first split."""
        split = self.splits(peer).get("0", {})
        if "loss_gap" not in split:
            return float("nan")
        return judge.largest_hole(np.array(split["loss_gap"]), self.splits("plain")["0"]["loss_gap"][0])

    def shortfall(self, value: list[float], gap: list[float]) -> float:
        """Return how far models stay behind the front on average over caps, as a share of its loss range."""
        front = self.splits(COST_REFERENCE)["0"]
        order = np.argsort(front["loss_gap"])
        known_gap, known_loss = np.array(front["loss_gap"])[order], np.array(front["loss"])[order]
        caps = np.linspace(0.0, known_gap[-1], LEVELS)
        best = np.interp(caps, known_gap, known_loss)
        span = known_loss.max() - known_loss.min()
        return judge.shortfall(np.array(value), np.array(gap), caps, best, span) / span

    def time_to_equal(self, peer: str) -> tuple[float, float] | None:
        """Return a method's shortfall, and its time over the tracer's time for a shortfall as small."""
        split = self.splits(peer).get("0", {})
        ladder = self.splits(COST_REFERENCE)["0"].get("ladder")
        if "loss" not in split or not ladder:
            return None
        mine = self.shortfall(split["loss"], split["loss_gap"])
        enough = [rung["seconds"] for rung in ladder if self.shortfall(rung["loss"], rung["gap"]) <= mine + 1e-12]
        enough.append(self.splits(COST_REFERENCE)["0"]["seconds"])
        return mine, float(split["seconds"] / min(enough))
