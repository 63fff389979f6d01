"""One trial: split, fit every method, choose on validation, judge on test."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Any

import numpy as np

from .. import judge
from ..cases import Split
from ..judge import Figures
from ..peers.base import Candidates
from .data import Spec, parts
from .methods import OWN, PDOS, Budget, candidates

CAPS = (0.02, 0.05)
LEAST = 30
"""Groups with fewer positives in the validation rows do not take part in choosing among models of several groups."""
KEEP = 0.97
"""Candidates must keep this share of plain training's accuracy to be chosen for their small gap."""


def least_gap(found: Figures, plain_error: float) -> int:
    """Return the candidate with the smallest |gap| among those that keep enough of plain training's accuracy.

    If none does, the most accurate one.
    """
    allowed = np.flatnonzero(1.0 - found.error >= KEEP * (1.0 - plain_error))
    return int(allowed[np.argmin(np.abs(found.gap[allowed]))]) if len(allowed) else int(np.argmin(found.error))


def trial(spec: dict[str, str], seed: int, loss: str, methods: list[str], budget: dict[str, int]) -> dict[str, Any]:
    """Return, per method, the figures of the chosen models on the test rows; times are of one core."""
    made = parts(Spec(**spec), seed)
    groups = len(made.levels)
    counts = [[np.bincount(p.groups[which], minlength=groups).tolist() for which in (p.good, ~p.good)]
              for p in (made.validation, made.test)]  # fmt: skip
    counted = np.array(counts[0][0]) >= LEAST
    judged: dict[str, Any] = {}
    plain = None
    for name in methods:
        begun = time.process_time()
        found = candidates(name, made, loss, seed, Budget(**budget))
        seconds = time.process_time() - begun
        plain = found if plain is None else plain
        judged[name] = {"seconds": seconds, **_judge(found, plain, made, counted, OWN if name in PDOS else 0)}
    return {
        "spec": spec,
        "loss": loss,
        "budget": asdict(Budget(**budget)),
        "levels": list(made.levels),
        "large": counted.tolist(),
        "negatives": counts[1][1],
        "positives": counts[1][0],
        "rows": [len(p.y) for p in (made.train, made.validation, made.test)],
        "methods": judged,
    }


def _judge(found: Candidates, plain: Candidates, made: Split, counted: np.ndarray, own: int) -> dict[str, Any]:
    groups, parts_ = len(made.levels), (made.validation, made.test)
    held, judged = (judge.rates(found.approve(part.X, part.groups), part, groups) for part in parts_)
    floors = [float(judge.figures(plain.approve(part.X, part.groups), part).error[0]) for part in parts_]
    on_held = Figures(1.0 - held[:, 0, -1], judge.deo(held, counted), held[:, 1, -1])
    on_test = Figures(1.0 - judged[:, 0, -1], judge.deo(judged), judged[:, 1, -1])
    chosen, lucky = least_gap(on_held, floors[0]), least_gap(on_test, floors[1])
    capped = {f"{cap:g}": judge.chosen(on_held, cap) for cap in CAPS}
    fit = judge.rates(found.approve(made.train.X, made.train.groups), made.train, groups)
    return {
        "candidates": len(held),
        "chosen": judged[chosen].tolist(),
        "train": fit[chosen].tolist(),
        "own": {"test": judged[own].tolist(), "train": fit[own].tolist(), "deo": float(on_test.gap[own])},
        "deo": float(on_test.gap[chosen]),
        "deo_large": float(judge.deo(judged, counted)[chosen]),
        "validation_deo": float(on_held.gap[chosen]),
        "best_on_test": {"accuracy": float(judged[lucky, 0, -1]), "deo": float(on_test.gap[lucky])},
        "at_gap": {
            cap: {"error": float(on_test.error[place]), "deo": float(on_test.gap[place])}
            for cap, place in capped.items()
        },
    }


def gather(results: dict[str, Any], spec: Spec, loss: str, source: str = "") -> list[dict[str, Any]]:
    """Return the trials of one setting and loss in the order of their splits, maybe those of another experiment."""
    mine = [found for key, found in results.items() if key.rpartition(": ")[0] == source]
    return [found for found in mine if found["spec"] == asdict(spec) and found["loss"] == loss]


def spread(values: list[float], sign: str = "") -> str:
    """Return mean and standard deviation over splits."""
    many = f" ± {np.std(values, ddof=1):.4f}" if len(values) > 1 else ""
    return f"{np.mean(values):{sign}.4f}{many}"
