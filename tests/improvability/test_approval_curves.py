"""Curves are the figures at every cut-off, their bands hold for all rates at once, and no small count is told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import expit

from fairfront.improvability.approval_curves import RATES_SHOWN, Sorted, curves, figures, names_of
from fairfront.improvability.estimates import Sample
from fairfront.improvability.published_curves import shared
from fairfront.improvability.requirements import Contrast
from fairfront.objectives import Attribute

RATES = np.array(RATES_SHOWN)
TPR = Contrast("tpr_gap", "tpr")


def people(n: int, seed: int) -> tuple[Sample, Any, Any]:
    random = np.random.default_rng(seed)
    group = random.integers(0, 2, n)
    x, proxy = random.normal(size=n) + 0.5 * group, random.normal(size=n) + group
    good = random.random(n) < expit(x)
    rows = Sample(good, np.ones(n), (Attribute("g", ("b", "a"), group.astype(np.intp)),))
    return rows, x + 0.4 * proxy, x


def test_figures_are_those_of_counting_at_every_cut_off() -> None:
    """With many ties; a rate inside a block of equal scores approves its share of the block."""
    rows, scores, _ = people(997, 0)
    scores, codes = np.round(scores, 1), rows.attributes[0].codes
    table = Sorted.of(scores, rows, rows.attributes[0])
    for cut in np.unique(scores)[5:-5:7]:
        yes = scores >= cut
        S, T = table.approved(rows.weight, np.array([yes.mean()]))
        gap, ratio, error, bad = figures(S, T, TPR, (1, 0), True)[:, 0]
        tpr = [yes[rows.good & (codes == g)].mean() for g in (0, 1)]
        assert gap == pytest.approx(tpr[1] - tpr[0])
        assert ratio == pytest.approx(yes[codes == 0].mean() / yes[codes == 1].mean())
        assert error == pytest.approx((yes != rows.good).mean())
        assert bad == pytest.approx((~rows.good)[yes].mean())
    S, _ = table.approved(rows.weight, RATES)
    assert S.sum(axis=1) == pytest.approx(RATES * len(scores))


@pytest.mark.slow
def test_bands_hold_for_all_rates_at_once() -> None:
    """At least 95 % less three standard errors of 150 runs, for every figure and for the difference of two models."""
    rows, *models = people(1_000_000, 99)
    truth = [curves([each], rows, TPR, (0, 1, 0), RATES, 0.95, 0, draws=2)[0][0].value for each in models]
    truth.append(truth[1] - truth[0])
    inside = np.zeros((3, 4))
    for run in range(150):
        some, *scores = people(1500, run)
        bands, _ = curves(scores, some, TPR, (0, 1, 0), RATES, 0.95, run, draws=200)
        for j, (band, true) in enumerate(zip(bands, truth, strict=True)):
            inside[j] += (np.abs(band.value - true) <= band.half).all(axis=1)
    assert (inside / 150 >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 150)).all(), inside / 150


def test_shared_figures_are_of_multiples_of_five_and_stay_within_what_is_said() -> None:
    rows, scores, _ = people(400, 1)
    table = Sorted.of(scores, rows, rows.attributes[0]).approved(rows.weight, RATES)
    exact = figures(*table, TPR, (1, 0), True)
    value, moved = shared(table, TPR, (1, 0), True, 1.0)
    assert (np.abs(value - exact) <= moved + 1e-12).all()
    shares = figures(5 * np.rint(table[0] / 5), table[1], TPR, (1, 0), True)
    assert np.allclose(value[:2], shares[:2], atol=1e-12, equal_nan=True)
    yes, all_ = 5 * np.floor(table[0].reshape(-1, 3, 3).sum(axis=1) / 5 + 0.5), table[1].reshape(3, 3).sum(axis=0)
    assert np.allclose(value[3], yes[:, 1] / yes[:, 1:].sum(axis=1))  # bad ones of all approved
    assert np.allclose(value[2], (yes[:, 1] + all_[2] - yes[:, 2]) / all_.sum())


def test_a_curve_of_a_ratio_has_it_once() -> None:
    assert names_of(Contrast("selection_ratio", "selection", ratio=True), False) == ("selection_ratio",)
