"""Verdicts: bounds hold for whichever model is chosen, and figures of one line are of the same counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import ndtri

from fairfront.improvability.estimates import Estimate, together_z
from tests.improvability.test_improvability import lender, searched


@pytest.mark.parametrize(("both", "tail"), [(False, 1.0), (True, 2.0)])
def test_bounds_of_models_that_are_alike_are_those_of_one_and_of_others_those_of_sidak(both: bool, tail: float) -> None:
    alike = [[Estimate(0.1, np.full(100, 0.01))] for _ in range(8)]
    assert together_z(alike, 0.95, both=both) == pytest.approx(ndtri(1 - 0.05 / tail), abs=0.03)
    apart = [[Estimate(0.1, np.eye(8)[k])] for k in range(8)]
    assert together_z(apart, 0.95, both=both) == pytest.approx(ndtri(1 - (1 - 0.95 ** (1 / 8)) / tail), abs=0.03)


def test_a_model_with_several_estimates_claims_no_more_than_its_weakest() -> None:
    many = [[Estimate(0.1, each) for each in np.eye(40)[20 * k : 20 * k + 20]] for k in range(2)]
    assert together_z(many, 0.95, both=False) == pytest.approx(ndtri(1 - 0.05 / 2))  # Bonferroni over two models


def test_the_bound_of_the_best_looking_of_ten_models_holds() -> None:
    """Ten models that gain nothing, of which a person takes the one that looks best."""
    random, misses = np.random.default_rng(0), 0
    for _ in range(400):
        common = random.normal(size=300)
        rows = [0.6 * common + 0.8 * random.normal(size=300) for _ in range(10)]
        found = [[Estimate(float(each.mean()), (each - each.mean()) / 300)] for each in rows]
        z = together_z(found, 0.9, both=False)
        misses += max(each.value - z * each.error for (each,) in found) > 0
    assert misses / 400 <= 0.1 + 2 * np.sqrt(0.1 * 0.9 / 400)


def test_the_worst_gap_of_all_attributes_is_the_worst_of_theirs() -> None:
    given = lender(1500, 0)
    sex = np.tile(["m", "f", "f"], 500)
    some: dict[str, Any] = {"sensitive_features": {**given["sensitive_features"], "sex": sex}, "n_splits": 1}
    for line in searched({**given, **some}).table:
        assert line["tpr_gap"] == max(line["group.tpr_gap"], line["sex.tpr_gap"])
    names = ["precision_gap", "tpr_ratio", "group.precision_gap", "sex.precision_gap"]
    for line in searched({**given, **some}, improve=names).table:
        assert line["precision_gap"] == max(line["group.precision_gap"], line["sex.precision_gap"])


def test_where_nobody_may_be_worse_off_the_lowest_change_of_a_group_has_its_bound() -> None:
    found = searched(lender(3000, 0), nobody_worse=0.5, n_splits=1)
    for name in ("selection of every group", "tpr of every group"):
        value, bound = found.record["changes"]["1"][name]
        assert -0.5 < bound < value < 0.1
    moved = [line["tpr_change"][0] for line in found.moved["group"]]
    assert found.record["changes"]["1"]["tpr of every group"][0] == pytest.approx(min(moved), abs=0.02)
