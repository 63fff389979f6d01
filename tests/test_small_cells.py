"""Small cells: which rows make a group large enough, which pair makes a worst gap, and what so many rows can show."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import fairfront as ff
from fairfront.exceptions import GroupWarning
from fairfront.objectives import GroupProbabilities, Groups


def with_few_positives(few: int = 12) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features, labels and three groups, of which c has 200 rows and few with the favourable label."""
    rng = np.random.default_rng(0)
    group = np.repeat(["a", "b", "c"], [600, 400, 200])
    X = rng.normal(size=(1200, 3)) + 0.3 * (group == "b")[:, None]
    y = (X[:, 0] + rng.logistic(size=1200) > 0).astype(int)
    y[group == "c"] = np.arange(200) < few
    return X, y, group


@pytest.mark.parametrize(
    ("notion", "levels"),
    [
        ("equal_opportunity", ("b", "a")),
        ("equalized_odds", ("b", "a")),
        ("predictive_equality", ("b", "c", "a")),
        ("demographic_parity", ("b", "c", "a")),
    ],
)
def test_min_size_counts_the_rows_that_the_notion_compares(notion: str, levels: tuple[str, ...]) -> None:
    X, y, group = with_few_positives()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        front = ff.trace(X, y, sensitive_features={"race": group}, notion=notion, n_points=3, progress=False)
    assert front.facts.sensitive == (("race", levels),)
    told = [str(each.message) for each in said if issubclass(each.category, GroupWarning)]
    if "c" in levels:
        assert not told
    else:
        assert "fewer than 30 rows stay out of the gaps: c (12 rows with label 1)" in told[0]


def test_candidates_count_them_too() -> None:
    _, y, group = with_few_positives()
    with pytest.warns(GroupWarning, match=r"c \(12 rows with label 1\)"):
        front = ff.Frontier.from_scores({"one": y * 0.9}, y, sensitive_features=group, notion="equal_opportunity")
    assert front.facts.left_out == (("group", ("c",)),)


def test_too_few_everywhere_says_which_rows_are_meant() -> None:
    X, y, group = with_few_positives()
    some = group != "b"
    with pytest.raises(ff.InputError, match=r"has 1 group\(s\) of at least 30 rows with label 1, .*c 12"):
        ff.trace(X[some], y[some], sensitive_features=group[some], n_points=3, progress=False)


def test_rows_of_probabilities_and_of_counted_combinations() -> None:
    column, inside = np.repeat(["a", "b", "c"], [40, 40, 30]), np.arange(110) % 2 == 0
    shares = np.stack([column == level for level in "abc"], axis=1).astype(float)
    for given in (column, GroupProbabilities(shares, levels=list("abc"))):
        with pytest.warns(GroupWarning, match=r"c \(15 rows with label 1\)"):
            (found,) = Groups(min_size=16).resolve(given, 110, None, [("label 1", inside)])
        assert found.left_out == (("c", 15),)
    (counted,) = Groups(min_size=16).resolve(column, 110, np.full(110, 2.0), [("label 1", inside)])
    assert not counted.left_out
