"""The one policy for small counts: nobody disappears, totals stay, and subtraction gives back rounded counts only."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fairfront import InputError
from fairfront.measures.disclosure import (
    LIMIT,
    check_small,
    publish_decisions,
    publish_labels,
    publish_sizes,
)
from fairfront.objectives.people import nearest, rounded

COUNTS = st.one_of(st.integers(0, 30), st.integers(0, 400), st.integers(100, 5000))


@st.composite
def tables(draw: st.DrawFn, labels: int = 2, decisions: int = 2) -> np.ndarray:
    """Draw counts by model, group, label and decision, the rows by label being the same for all models."""
    c, N = draw(st.integers(2, 6)), draw(st.integers(1, 4))
    whole = draw(arrays(np.float64, (c, labels), elements=COUNTS.map(float)))
    cells = np.zeros((N, c, labels, decisions))
    for place in np.ndindex(N, c, labels):
        left = int(whole[place[1:]])
        for d in range(decisions - 1):
            cells[(*place, d)] = draw(
                st.integers(0, left) if left < 40 else st.sampled_from([0, 3, 7, left // 2, left])
            )
            left -= int(cells[(*place, d)])
        cells[(*place, decisions - 1)] = left
    return cells


def published(cells: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return sizes (c,), labels (c, K) and decisions (N, c, K, D) that may be published."""
    _, _, K, D = cells.shape
    labels = cells[0].sum(axis=2)
    n = publish_sizes(labels.sum(axis=1), K, D)
    shown = publish_labels(labels, n, D)
    return n, shown, np.stack([publish_decisions(cells[:, :, k], shown[:, k]) for k in range(K)], axis=2)


@pytest.mark.slow
@pytest.mark.parametrize(("K", "D"), [(2, 2), (3, 2), (3, 3)])
def test_small_counts_are_0_5_or_10_and_parts_add_up(K: int, D: int) -> None:
    @given(tables(K, D))
    def holds(cells: np.ndarray) -> None:
        n, labels, shown = published(cells)
        for counts in (n, labels, shown):
            assert (counts >= 0).all()
            assert ((counts >= LIMIT) | (counts % 5 == 0)).all()
        np.testing.assert_array_equal(labels.sum(axis=1), n)
        np.testing.assert_array_equal(shown.sum(axis=3), np.broadcast_to(labels, shown.shape[:3]))

    holds()


@given(tables())
def test_large_counts_stay_what_they_are(cells: np.ndarray) -> None:
    if cells[cells > 0].size and cells[cells > 0].min() >= 40:
        n, labels, shown = published(cells)
        np.testing.assert_array_equal(shown, cells)
        np.testing.assert_array_equal(labels, cells[0].sum(axis=2))
        np.testing.assert_array_equal(n, cells[0].sum(axis=(1, 2)))


@given(tables())
def test_no_count_moves_far(cells: np.ndarray) -> None:
    """A count is off by its own rounding, and one per column by the roundings of the others."""
    n, _, shown = published(cells)
    c = len(n)
    assert np.abs(n - cells[0].sum(axis=(1, 2))).max() <= 2.5 * c
    assert np.abs(shown - cells).max() <= 2.5 * 7 * c


def large() -> np.ndarray:
    """Return three groups at one model: B has 6 missed people of 200, A and C have many of either kind."""
    return np.array([[[[500.0, 200.0], [50.0, 150.0]], [[194.0, 6.0], [60.0, 40.0]], [[300.0, 90.0], [30.0, 80.0]]]])


def test_the_total_stays_and_the_rest_does_not_tell_the_count() -> None:
    cells = large()
    _, labels, shown = published(cells)
    np.testing.assert_array_equal(labels, cells[0].sum(axis=2))
    np.testing.assert_array_equal(shown.sum(axis=1), cells.sum(axis=1))  # as in the table of any other attribute
    assert shown[0, 1, 0].tolist() == [195.0, 5.0]
    assert shown[0, 0, 0].tolist() == [499.0, 201.0]  # the largest count takes up the difference
    np.testing.assert_array_equal(shown[0, 2], cells[0, 2])


@pytest.mark.parametrize("missed", [3, 4, 5, 6, 7])
def test_what_is_published_is_the_same_for_all_counts_behind_it(missed: int) -> None:
    """With the totals of all rows as they are, nobody can know how many of B were missed."""
    cells = large()
    moved = 6 - missed
    cells[0, 1, 0] += [moved, -moved]
    cells[0, 0, 0] += [-moved, moved]
    np.testing.assert_array_equal(published(cells)[2], published(large())[2])


def test_where_the_largest_group_has_no_room_running_totals_are_rounded() -> None:
    cells = np.array([[[[93.0, 7.0], [50.0, 50.0]], [[92.0, 8.0], [50.0, 50.0]]]])
    shown = published(cells)[2]
    assert shown[0, :, 0].tolist() == [[95.0, 5.0], [90.0, 10.0]]
    np.testing.assert_array_equal(shown[:, :, 1], cells[:, :, 1])


def every_table(whole: tuple[int, ...], total: int) -> np.ndarray:
    """Return all ways in which so many of groups of such sizes can be decided alike, (ways, groups)."""
    first = [range(size + 1) for size in whole[:-1]]
    found = [(*some, total - sum(some)) for some in product(*first) if 0 <= total - sum(some) <= whole[-1]]
    return np.array(found, dtype=np.float64)


@pytest.mark.parametrize("whole", [(20, 30), (21, 33), (10, 60), (37, 41), (10, 10, 15), (15, 21, 24), (5, 10, 30)])
def test_who_knows_the_total_and_the_program_cannot_work_a_small_count_out(whole: tuple[int, ...]) -> None:
    """Of all tables with one total that are published alike, no small count is the same in all."""
    for total in range(LIMIT, sum(whole) - LIMIT + 1):
        favoured = every_table(whole, total)
        sides = np.stack([favoured, whole - favoured], axis=2)
        shown = publish_decisions(sides, np.array(whole, dtype=np.float64))[:, :, 0]
        _, alike = np.unique(shown, axis=0, return_inverse=True)
        for k in range(alike.max() + 1):
            least, most = (each(sides[alike.ravel() == k], axis=0) for each in (np.min, np.max))
            assert not ((least == most) & (least > 0) & (least < LIMIT)).any(), (total, least)


def test_parts_of_a_few_people_stay_in_proportion() -> None:
    """One of three people approved is not five of five, though three are published as five."""
    cells = np.array([[[[1.0, 2.0], [40.0, 60.0]], [[300.0, 400.0], [500.0, 600.0]]]])
    shown = published(cells)[2]
    assert shown[0, 0, 0].tolist() == [0.0, 5.0]
    flipped = published(cells[..., ::-1])[2]
    assert flipped[0, 0, 0].tolist() == [5.0, 0.0]


def test_strays_are_rounded_and_the_number_of_all_rows_stays() -> None:
    n = publish_sizes(np.array([3343.0, 654.0, 3.0]), 2, 2)
    assert n.tolist() == [3341.0, 654.0, 5.0]


def test_rounding() -> None:
    counts = np.arange(12.0)
    assert rounded(counts).tolist() == [0, 0, 0, 5, 5, 5, 5, 5, 10, 10, 10, 11]
    assert nearest(np.array([12.0, 13.0])).tolist() == [10, 15]


@pytest.mark.parametrize("small", [1, 5, 11, -1, None, "10", True, np.nan])
def test_the_limit_is_one(small: object) -> None:
    with pytest.raises(InputError, match="expected 10"):
        check_small(small)
