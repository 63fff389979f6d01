"""What rules in rates cost: fits of posteriors, and the path by one sort or by the dual."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from fairfront.problems import rate_problem
from fairfront.solvers.base import tops
from fairfront.solvers.rule_path import rule_path

from . import cases
from .cases import CASES
from .peers.base import base_learner
from .report import Section, Table

COSTS = (
    "Training rows of the first split, logistic posteriors, CPU seconds of one thread in one run. Ratios are to one plain "
    "fit of the same learner to the label. The path is everything after the fits: one sort for one gap, the dual for "
    "several; the duality gap is the largest of its rules, in units of the error. Expected and measured rates differ by "
    "at most what the last column says."
)
ASKED = (
    ("adult", "equal_opportunity"),
    ("adult", "equalized_odds"),
    ("adult", "demographic_parity"),
    ("adult_race", "demographic_parity"),
    ("compas", "equal_opportunity"),
    ("compas", "equalized_odds"),
)


def costs() -> Section:
    """Time the posteriors and the path by one sort or by the dual."""
    rows: list[list[object]] = []
    for case, notion in ASKED:
        train = cases.split_of(case, 0).train
        known = {"sensitive_features": train.groups.astype(str), "notion": notion}
        problem = rate_problem(train.X, train.y, estimator=None, **known)
        plain = _seconds(lambda train=train: base_learner().fit(train.X, train.y))[0]
        fits = _seconds(problem.learn)[0]
        rules = problem.rules()
        gaps = rules.gaps(rules.measured(rules.decide(rules.weights(np.zeros(len(rules.offset))))))
        caps = tops(problem.objectives.algebra, np.abs(gaps))
        path, found = _seconds(lambda rules=rules, caps=caps: rule_path(rules, caps, None))
        decided = [rules.decide(rule.weights) for rule in found]
        off = max(np.abs(rules.rates(rules.expected(d)) - rules.rates(rules.measured(d))).max() for d in decided)
        cells = [f"{plain:.2f}", f"{fits / plain:.1f}", f"{path:.3f}", f"{path / plain:.2f}", len(found)]
        cells += [f"{max(rule.duality_gap for rule in found):.1e}", f"{off:.3f}"]
        rows.append([CASES[case].title, notion.replace("_", " "), len(rules.offset), problem.fits, *cells])
    head = ["data", "notion", "gaps", "fits", "plain fit, s", "all fits, plain fits", "path, s", "path, plain fits"]
    table = Table([*head, "rules", "duality gap", "expected and measured"], rows)
    return Section("rates", "Rates: cost of posteriors and of the path", [COSTS, table])


def _seconds(work: Any) -> tuple[float, Any]:
    start = time.process_time()
    found = work()
    return time.process_time() - start, found
