"""What rows say of each point: changes, who moved, calibration, pairs told apart, each against plain counting."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairfront as ff
from fairfront.explorer import describe_points
from fairfront.explorer.comparison import pairwise
from fairfront.explorer.details import detailed, walk
from fairfront.explorer.payload import most_moved
from fairfront.frontier.selection import plain_place
from fairfront.measures import wilson
from fairfront.measures.calibration import reliability_bins
from fairfront.measures.decisions import decide
from fairfront.measures.moves import flips
from fairfront.measures.paired import share_change
from tests.support.pages import loans


def bits(text: str, k: int) -> np.ndarray:
    found = np.unpackbits(np.frombuffer(base64.b64decode(text), dtype=np.uint8), bitorder="little")
    return found[: k * k].reshape(k, k).astype(bool)


def decisions(front: ff.Frontier, X: Any) -> np.ndarray:
    return decide(front.models.scores(X), front.facts.task) == front.facts.task.favourable


def test_moves_are_those_of_flips_and_changes_those_of_rates() -> None:
    front, X, y, groups = loans()
    details = describe_points(front, X, y, sensitive_features=groups)
    plain = front.place(details.plain)
    decided = decisions(front, X)
    rates = front.evaluations["validation"].groups["group"]
    codes = np.array([rates.levels.index(g) for g in groups["group"]])
    found = flips(decided[plain], decided, y == "repaid", codes, rates.levels)
    (attribute,) = details.attributes
    assert tuple(attribute["levels"]) == rates.levels
    for name, moves in (("selection", found.among_all), ("tpr", found.among_favourable)):
        record = attribute["rates"][name]
        np.testing.assert_allclose(record["gained"], moves.gained)
        np.testing.assert_allclose(record["lost"], moves.lost)
        change = np.array(record["change"])[:, :-1]
        np.testing.assert_allclose(change, rates.rate(name) - rates.rate(name)[plain], atol=1e-6)
        gap = np.array(record["gap"]["change"])[:, 0]
        np.testing.assert_allclose(gap, change[:, 0] - change[:, 1], atol=2e-6)
        for ends in (record, record["gap"]):
            assert (np.array(ends["lower"]) <= np.array(ends["change"])).all()
            assert (np.array(ends["upper"]) >= np.array(ends["change"])).all()
    error = np.array(details.overall["error"]["change"])
    np.testing.assert_allclose(error, front.column("error") - front.column("error")[plain], atol=1e-6)


def newcombe_paired(e: int, f: int, g: int, h: int) -> tuple[float, float]:
    """Both wrong, only a, only b, neither: method 10 for paired data, Statistics in Medicine 17 (1998) 2635-2650."""
    n, phi = e + f + g + h, 0.0
    if (margins := (e + f) * (g + h) * (e + g) * (f + h)) > 0:
        product = e * h - f * g
        phi = (max(product - n / 2, 0) if product > 0 else product) / margins**0.5
    p1, p2 = (e + f) / n, (e + g) / n
    (l1, u1), (l2, u2) = wilson(e + f, n), wilson(e + g, n)
    delta = np.sqrt((p1 - l1) ** 2 - 2 * phi * (p1 - l1) * (u2 - p2) + (u2 - p2) ** 2)
    epsilon = np.sqrt((u1 - p1) ** 2 - 2 * phi * (u1 - p1) * (p2 - l2) + (p2 - l2) ** 2)
    return float(p1 - p2 - delta), float(p1 - p2 + epsilon)


def test_the_paired_interval_that_others_are_compared_with_is_as_published() -> None:
    """Fagerland, Lydersen and Laake (2014), Statistics in Medicine 33:2850-2875."""
    assert newcombe_paired(1, 1, 7, 12) == pytest.approx((-0.507, -0.026), abs=5.1e-4)
    assert newcombe_paired(59, 6, 16, 80) == pytest.approx((-0.1186, -0.0046), abs=5.1e-5)


@given(st.integers(0, 60), st.integers(0, 60), st.integers(200, 600))
def test_paired_interval_is_near_newcombes(gained: int, lost: int, n: int) -> None:
    low, high = newcombe_paired(40, gained, lost, n - 40 - gained - lost)
    change = share_change(np.array(float(gained)), np.array(float(lost)), np.array(float(n)), 0.95)
    assert change.value == pytest.approx((gained - lost) / n)
    assert abs(float(change.lower) - low) < 0.025
    assert abs(float(change.upper) - high) < 0.025


def test_paired_interval_covers_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    p = np.array([0.06, 0.03, 0.91])
    counts = rng.multinomial(400, p, size=4000)
    change = share_change(counts[:, 0] * 1.0, counts[:, 1] * 1.0, np.array(400.0), 0.95)
    inside = (change.lower <= 0.03) & (change.upper >= 0.03)
    assert 0.93 < inside.mean() < 0.98


def test_pairs_agree_with_the_change_against_one() -> None:
    rng = np.random.default_rng(1)
    flags = rng.random((5, 40_000)) < 0.3
    weight = rng.uniform(0.5, 2.0, 40_000)
    found = pairwise(flags, weight, 0.95, share=True)
    mean = flags @ weight / weight.sum()
    np.testing.assert_allclose(found.value, mean[:, None] - mean[None, :], atol=1e-6)
    np.testing.assert_allclose(found.value, -found.value.T, atol=1e-12)
    values = rng.normal(size=(4, 500))
    plain = pairwise(values, np.ones(500), 0.95, share=False)
    difference = values[2] - values[0]
    half = 1.959964 * difference.std() / np.sqrt(500)
    np.testing.assert_allclose(plain.upper[2, 0] - plain.value[2, 0], half, rtol=1e-6)


def test_told_apart_is_symmetric_and_never_tells_a_point_from_itself() -> None:
    front, X, y, groups = loans()
    details = describe_points(front, X, y, sensitive_features=groups)
    told = bits(details.told_apart, len(details.ids))
    np.testing.assert_array_equal(told, told.T)
    assert not told.diagonal().any()
    assert told.any()


def test_changes_are_differences_of_the_rates_that_the_page_shows() -> None:
    front, X, y, groups = loans()
    details = describe_points(front, X, y, sensitive_features=groups)
    shown = front.evaluate(X, y, sensitive_features=groups).evaluations["validation"]
    places = [front.place(id) for id in details.ids]
    plain = front.place(details.plain)
    for rate in ("tpr", "fpr", "selection", "error"):
        values = shown.groups["group"].rate(rate)
        change = np.array(details.attributes[0]["rates"][rate]["change"])[:, :-1]
        np.testing.assert_allclose(change, values[places] - values[plain], atol=1e-6)


def test_calibration_bins_hold_everybody() -> None:
    rng = np.random.default_rng(2)
    p = rng.random(300)
    good = rng.random(300) < p
    bins = reliability_bins(p, good, np.ones(300))
    assert bins is not None
    predicted, observed, n = bins
    assert n.sum() == 300
    assert np.dot(n, observed) == pytest.approx(good.sum(), abs=0.05)
    assert predicted.tolist() == sorted(predicted)
    assert reliability_bins(p[good], good[good], np.ones(good.sum())) is None


def test_large_frontiers_are_thinned_along_the_walk() -> None:
    front, X, y, groups = loans()
    assert len(detailed(front, limit=4)) == 4
    last = int(front.ids[walk(front)[-1]])
    details = describe_points(front, X, y, sensitive_features=groups, ids=(last,), limit=3)
    assert {details.plain, last} <= set(details.ids)
    assert len(details.ids) == 3
    gaps = front.gaps.max(axis=1)[walk(front)]
    assert (np.diff(gaps) <= 1e-12).all()
    with pytest.raises(ff.InputError, match="limit"):
        describe_points(front, X, y, sensitive_features=groups, ids=(last,), limit=1)


def test_weights_of_two_are_rows_given_twice() -> None:
    front, X, y, groups = loans()
    twice = np.tile(np.arange(len(y)), 2)
    one = describe_points(front, X, y, sensitive_features=groups, sample_weight=np.full(len(y), 2.0))
    two = describe_points(front, X[twice], y[twice], sensitive_features=groups["group"][twice])
    first, second = (d.attributes[0]["rates"]["selection"] for d in (one, two))
    assert first["change"] == second["change"]
    assert (2 * np.array(first["gained"])).tolist() == second["gained"]  # rows, not weights


@pytest.mark.filterwarnings("ignore::fairfront.ProxyWarning")
@pytest.mark.parametrize("kind", ["regression", "multiclass", "probabilities"])
def test_other_tasks_are_described_too(kind: str) -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(900, 3))
    group = rng.choice(["a", "b"], 900)
    latent = X[:, 0] + 0.4 * (group == "a") + rng.normal(size=900)
    y = {"regression": latent, "multiclass": np.digitize(latent, [-0.5, 0.5])}.get(kind, (latent > 0).astype(int))
    notion = "disparate_mistreatment" if kind == "regression" else "equal_opportunity"
    share = np.column_stack([group == "a", group == "b"]) * 0.8 + 0.1
    sensitive: Any = ff.GroupProbabilities(share, levels=["a", "b"]) if kind == "probabilities" else group
    options = {"loss": "squared"} if kind == "regression" else {}
    front = ff.trace(X, y, sensitive_features=sensitive, notion=notion, n_points=4, **options)
    details = describe_points(front, X, y, sensitive_features=sensitive)
    assert set(details.overall) == ({"mse"} if kind == "regression" else {"error"})
    assert len(details.attributes[0]["rates"]["mse" if kind == "regression" else "tpr"]["change"]) == len(details.ids)
    assert (details.attributes[0]["calibration"] is None) == (kind != "binary")


def test_coefficients_that_moved_are_those_of_explain() -> None:
    front, *_ = loans()
    moved = most_moved(front, np.arange(len(front)))
    assert moved is not None
    plain = int(front.ids[plain_place(front)])
    for id in front.ids.tolist():
        told = front.explain(plain, id)
        lines = moved["lines"][str(id)]
        assert [moved["names"][line[0]] for line in lines] == list(told.features[: len(lines)])
        np.testing.assert_allclose([line[2] for line in lines], told.after[: len(lines)], rtol=1e-4)
