"""One trial: split, fit every method, choose on validation, judge on test."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Any

import numpy as np

from .choosing import least_error, least_gap
from .data import Parts, Spec, parts
from .methods import Budget, Candidates, candidates
from .rates import deo, error, rates

CAPS = (0.02, 0.05)
LEAST = 30
"""Groups with fewer positives in the validation rows do not take part in choosing among models of several groups."""


def trial(spec: dict[str, str], seed: int, loss: str, methods: list[str], budget: dict[str, int]) -> dict[str, Any]:
    """Return, per method, the figures of the chosen models on the test rows; times are of one core."""
    made = parts(Spec(**spec), seed)
    groups = len(made.levels)
    positives = [[int((p.y & (p.codes == g)).sum()) for g in range(groups)] for p in (made.validation, made.test)]
    counted = np.array(positives[0]) >= LEAST
    judged: dict[str, Any] = {}
    plain = None
    for name in methods:
        begun = time.process_time()
        found = candidates(name, made, loss, seed, Budget(**budget))
        seconds = time.process_time() - begun
        plain = found if plain is None else plain
        judged[name] = {"seconds": seconds, **_judge(found, plain, made, counted)}
    return {
        "spec": spec,
        "budget": asdict(Budget(**budget)),
        "levels": list(made.levels),
        "large": counted.tolist(),
        "negatives": [int((~made.test.y & (made.test.codes == g)).sum()) for g in range(groups)],
        "positives": positives[1],
        "rows": [len(p.y) for p in (made.fit, made.validation, made.test)],
        "methods": judged,
    }


def _judge(found: Candidates, plain: Candidates, made: Parts, counted: np.ndarray) -> dict[str, Any]:
    groups = len(made.levels)
    held, judged = (found.mix(rates(found.W, part, groups)) for part in (made.validation, made.test))
    floors = [float(error(rates(plain.W, part, groups))[0]) for part in (made.validation, made.test)]
    gap, test_gap = deo(held, counted), deo(judged)
    chosen = least_gap(error(held), gap, floors[0])
    lucky = least_gap(error(judged), test_gap, floors[1])
    capped = {f"{cap:g}": least_error(error(held), gap, cap) for cap in CAPS}
    return {
        "candidates": len(held),
        "chosen": judged[chosen].tolist(),
        "deo": float(test_gap[chosen]),
        "deo_large": float(deo(judged, counted)[chosen]),
        "validation_deo": float(gap[chosen]),
        "best_on_test": {"accuracy": float(judged[lucky, 0, -1]), "deo": float(test_gap[lucky])},
        "at_gap": {
            cap: {"error": float(error(judged)[place]), "deo": float(test_gap[place])} for cap, place in capped.items()
        },
    }
