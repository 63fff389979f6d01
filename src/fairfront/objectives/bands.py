"""Bands: numbers such as ages that are cut into groups."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..validation import refuse, shown
from ..validation.inputs import factorize


def check_bands(bands: Any) -> dict[str, tuple[float, ...]] | None:
    """Return the edges of the bands of each column as numbers."""
    expected = "increasing numbers by column, such as {'age': [25, 40, 65]}"
    if bands is not None and not isinstance(bands, Mapping):
        raise refuse("bands", bands, expected)
    for name, edges in (bands or {}).items():
        listed = isinstance(edges, (Sequence, np.ndarray)) and not isinstance(edges, str) and len(edges) > 0
        if not (isinstance(name, str) and listed and all(isinstance(each, Real) for each in edges)):
            raise refuse("bands", bands, expected)
        numbers = np.array([float(each) for each in edges])
        if not np.isfinite(numbers).all() or (np.diff(numbers) <= 0).any():
            raise refuse("bands", bands, expected)
    return None if bands is None else {name: tuple(map(float, edges)) for name, edges in bands.items()}


def band_of(value: Any, edges: Sequence[float], name: str) -> str:
    """Return the band of a number; whole edges are for whole numbers such as years of age, "25 to 39"."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(
            f"{name!r} has {shown(value)}, expected numbers to cut into bands; leave the bands out, or fix the column."
        ) from None
    place = bisect_right(edges, number)
    low, high = map(plain_number, (edges[max(place - 1, 0)], edges[min(place, len(edges) - 1)]))
    if place in (0, len(edges)):
        return f"{low} and over" if place else f"under {high}"
    whole = all(float(each).is_integer() for each in edges)
    return f"{low} to {plain_number(edges[place] - 1)}" if whole else f"{low} to under {high}"


def plain_number(edge: float) -> str:
    """Write the edge of a band with all its digits."""
    return f"{edge:.15g}"


def banded(name: str, values: NDArray[Any], edges: Sequence[float]) -> NDArray[Any]:
    codes, found = factorize(values)
    names: NDArray[Any] = np.array([*(band_of(value, edges, name) for value in found), None], dtype=object)
    return names[codes]
