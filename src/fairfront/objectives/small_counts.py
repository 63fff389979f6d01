"""Small counts of people, which messages and files do not tell: one limit for all of them."""

from __future__ import annotations

FEWEST = 10
"""What is known of fewer people than this is neither written nor shipped, and their number is not told."""


def count_in_words(count: float) -> str:
    """Return a count of people for a message, which may be logged: "fewer than 10" in the place of a small one."""
    if 0 < count < FEWEST:
        return f"fewer than {FEWEST}"
    return f"{count:.0f}" if count == int(count) else f"{count:.1f}"
