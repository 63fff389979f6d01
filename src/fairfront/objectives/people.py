"""Counts of people: how those of few are told and published."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from .losses import Array

FEWEST = 10
"""What is known of fewer people than this is neither written nor shipped, and their number is not told."""
FEWER = f"fewer than {FEWEST}"
STEP = 5
"""Small counts that are published are multiples of it."""


def count_in_words(count: float) -> str:
    """Return a count of people for a message, which may be logged: "fewer than 10" in the place of a small one."""
    if 0 < count < FEWEST:
        return FEWER
    return f"{count:.0f}" if count == int(count) else f"{count:.1f}"


def counts_in_words(names: Sequence[str], counts: Iterable[float]) -> list[str]:
    """Return names with their counts of people for a message; beside a small one all are multiples of 5.

    Otherwise what the others leave of all rows, which are often known, would be the small one.
    """
    known = [float(count) for count in counts]
    few = any(0 < count < FEWEST for count in known)
    told = [count_in_words(STEP * round(count / STEP) if few and count >= FEWEST else count) for count in known]
    return [f"{name} {count}" for name, count in zip(names, told, strict=True)]


def nearest(counts: Array | float) -> Array:
    return np.asarray(STEP * np.floor(counts / STEP + 0.5))


def rounded(counts: Array | float) -> Array:
    """Return counts of people that may be published: small ones as the nearest of 0, 5 and 10."""
    return np.where(counts < FEWEST, nearest(counts), counts)


def rounded_part(part: int, whole: int) -> int:
    """Return a part of a published whole such that what is left of it may be published."""
    return whole - int(rounded(whole - part))
