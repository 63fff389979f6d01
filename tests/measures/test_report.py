"""Counts and rates of few people as text."""

from __future__ import annotations

import pytest

from fairfront.measures.report import count_text


@pytest.mark.parametrize(
    ("n", "text"), [(0, "0"), (1, "<10"), (9, "<10"), (9.6, "<10"), (10, "10"), (10.4, "10"), (12_345, "12345")]
)
def test_counts_of_1_to_9_are_hidden(n: float, text: str) -> None:
    assert count_text(n) == text


def test_other_limits_of_counts() -> None:
    assert count_text(4, hide_below=5) == "<5"
    assert count_text(5, hide_below=5) == "5"
    assert count_text(1, hide_below=0) == "1"
