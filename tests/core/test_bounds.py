"""Wide files and areas under the curve cost what they should."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import rankdata

import fairfront as ff
from fairfront.tables import ColumnSchema, Schema, open_source


class Counted(str):
    """A name that counts how often it is compared."""

    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return str.__eq__(self, other)


def test_columns_are_found_without_a_walk_over_all(tmp_path: Any) -> None:
    """A file of 20 000 columns took 48 seconds to read, most of them to look names up in lists."""
    names = [f"c{i}" for i in range(2_000)]
    (tmp_path / "wide.csv").write_text(",".join(names) + "\n" + ",".join("1" for _ in names) + "\n")
    source = open_source(tmp_path / "wide.csv")
    source.names = tuple(map(Counted, source.names))
    schema = Schema(1, tuple(ColumnSchema(name, "number", 0, 1, True, True, True, False) for name in source.names), ())
    Counted.compared = 0
    for name in names:
        source.check_column(name)
        schema.column(name)
    assert list(next(iter(source.chunks(names)))) == names
    assert Counted.compared < 10 * len(names)


def test_the_area_under_the_curve_is_that_of_ranks() -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        scores, positive = rng.integers(0, 9 + 40 * seed, 300).astype(float), rng.random(300) < 0.4
        n, m = int(positive.sum()), int((~positive).sum())
        assert ff.measures.auc(scores, positive)[0] == (rankdata(scores)[positive].sum() - n * (n + 1) / 2) / (n * m)
