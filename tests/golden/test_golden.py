"""Figures stay what they were: every small case within 1e-9 of what is kept in tests/golden/kept."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from figures import differences, read
from golden_cases import CASES, SMALL

KEPT = Path(__file__).parent / "kept"


@pytest.mark.parametrize("name", sorted(SMALL))
def test_figures_are_those_that_are_kept(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {key: array for key, array in CASES[name]().items() if not key.endswith(":words")}
    assert differences(read(KEPT / f"{name}.npz"), found, 1e-9) == []


def test_what_is_kept_is_small_and_complete() -> None:
    files = list(KEPT.glob("*.npz"))
    assert {file.stem for file in files} == SMALL
    assert sum(file.stat().st_size for file in files) < 2_000_000
