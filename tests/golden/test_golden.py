"""Figures stay what they were: every golden case within the tolerance of what it rests on."""

from __future__ import annotations

import warnings

import pytest

import fairfront as ff
from tests.golden.arrays import differences, read
from tests.golden.cases import CASES, DATA_OF, EXTRA_OF, KEPT


@pytest.mark.parametrize("name", sorted(CASES))
def test_figures_are_those_that_are_kept(name: str) -> None:
    if name in EXTRA_OF:
        pytest.importorskip(EXTRA_OF[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name in DATA_OF:
            try:
                ff.datasets.load(DATA_OF[name])
            except (ff.InputError, OSError) as error:
                pytest.skip(str(error))
        found = CASES[name]()
    assert differences(read(KEPT / f"{name}.npz"), found) == []


def test_what_is_kept_is_small_and_complete() -> None:
    files = list(KEPT.glob("*.npz"))
    assert {file.stem for file in files} == set(CASES)
    assert sum(file.stat().st_size for file in files) < 1_000_000
