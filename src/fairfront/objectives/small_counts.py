"""Small counts of people, which messages and files do not tell: one limit for all of them."""

from __future__ import annotations

FEWEST = 10
"""What is known of fewer people than this is neither written nor shipped, and their number is not told."""


def count_in_words(count: float) -> str:
    """Return a count of people for a message, which may be logged: "fewer than 10" in the place of a small one."""
    if 0 < count < FEWEST:
        return f"fewer than {FEWEST}"
    return f"{count:.0f}" if count == int(count) else f"{count:.1f}"


def rounded_count(count: int) -> int:
    """Return a count of people that may be published: a small one as the nearest of 0, 5 and 10."""
    return 5 * int(count / 5 + 0.5) if count < FEWEST else count


def rounded_part(part: int, whole: int) -> int:
    """Return a part of a published whole such that what is left of it may be published."""
    return whole - rounded_count(whole - part)
