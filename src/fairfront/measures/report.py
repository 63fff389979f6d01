"""Counts and rates as text, for what leaves the run folder: the written card and the explorer page.

A count of 1 to 9 people is written as "<10", and a rate of fewer than 10 people as "-". This is a courtesy to small
groups, not disclosure control: differences of other counts, a second card or coefficients can give a hidden count back.
"""

from __future__ import annotations

HIDE_BELOW = 10
HIDDEN_RATE = "-"


def count_text(n: float, hide_below: int = HIDE_BELOW) -> str:
    """Return a count of people as text: "<10" for 1 to 9 people; all counts in full where ``hide_below`` is 0."""
    return f"<{hide_below}" if 0 < n < hide_below else f"{n:.0f}"
