"""Who gains and who loses is written without anything that gives a small count back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairfront.measures.changes import Moves
from fairfront.runs.moves import HIDDEN, hidden_moves


def moves(gained: list[int], lost: list[int], rest: tuple[int, int] = (0, 0)) -> Moves:
    """Return the moves of one model in groups, with a last column for all people."""
    both = [
        np.array([[*counts, sum(counts) + more]], dtype=float)
        for counts, more in zip((gained, lost), rest, strict=True)
    ]
    n = np.array([*[1000.0] * len(gained), 1000.0 * len(gained) + sum(rest)])
    levels = (*(f"g{i}" for i in range(len(gained))), "overall")
    return Moves(levels, n=n, weight=n, gained=both[0], lost=both[1], n_gained=both[0], n_lost=both[1])


def test_one_small_group_of_two_hides_both() -> None:
    found = hidden_moves(moves([34, 3], [0, 39]), 0)
    assert found["gained"] == [HIDDEN, HIDDEN, 37]
    assert found["lost"] == [0, 39, 39]


def test_small_groups_whose_sum_is_small_take_the_next_with_them() -> None:
    found = hidden_moves(moves([1, 2, 50, 80], [0, 0, 20, 30]), 0)
    assert found["gained"] == [HIDDEN, HIDDEN, HIDDEN, 80, 133]


def test_nothing_is_hidden_where_nothing_is_small() -> None:
    found = hidden_moves(moves([0, 12, 50], [10, 0, 20]), 0)
    assert found == {"group": ["g0", "g1", "g2", "overall"], "gained": [0, 12, 50, 62], "lost": [10, 0, 20, 30]}


def test_a_small_total_hides_everything() -> None:
    assert set(hidden_moves(moves([0, 3], [0, 0]), 0)["gained"]) == {HIDDEN}


counts = st.integers(0, 30)


@given(st.lists(st.tuples(counts, counts), min_size=2, max_size=6), st.tuples(st.integers(0, 12), st.integers(0, 12)))
def test_what_is_hidden_cannot_be_had_by_subtraction(groups, rest) -> None:
    gained, lost = ([pair[k] for pair in groups] for k in (0, 1))
    found = hidden_moves(moves(gained, lost, rest), 0)
    for name, true, more in (("gained", gained, rest[0]), ("lost", lost, rest[1])):
        shown = found[name]
        assert all(value == HIDDEN or not 0 < value < 10 for value in shown)
        assert all(value in (HIDDEN, known) for value, known in zip(shown, [*true, sum(true) + more], strict=True))
        hidden = [known for value, known in zip(shown[:-1], true, strict=True) if value == HIDDEN]
        if shown[-1] != HIDDEN and hidden:
            together = sum(hidden) + more
            assert together == 0 or together >= 10 or len(hidden) == len(true)


def test_rows_without_a_group_are_protected_too() -> None:
    found = hidden_moves(moves([40, 60], [30, 20], rest=(2, 0)), 0)
    assert found["gained"].count(HIDDEN) == 1


@pytest.mark.parametrize("k", [9, 10])
def test_the_limit(k: int) -> None:
    hidden = hidden_moves(moves([k, 40], [0, 40]), 0)["gained"][0] == HIDDEN
    assert hidden is (k < 10)
