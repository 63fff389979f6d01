"""What trace_table says of columns that look sensitive."""

from __future__ import annotations

import warnings

import pytest

import fairfront as ff

ASKED = {"target": "outcome", "favourable": "repaid", "groups": "group", "n_points": 3}


def test_columns_that_look_sensitive_are_named_unless_they_are_dropped() -> None:
    frame = ff.datasets.load_loans(seed=0).frame()
    with pytest.warns(ff.ColumnWarning, match=r"are read: sex; leave them out with drop=\['sex'\]") as caught:
        ff.trace_table(frame, **ASKED)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error", ff.ColumnWarning)
        assert "sex" not in ff.trace_table(frame, drop="sex", **ASKED).encoder.columns
