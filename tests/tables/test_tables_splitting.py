"""Splits: a partition, the same for the same seed, in the right shares, and people or times kept apart."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairfront.exceptions import InputError
from fairfront.tables import Table, parse_split
from fairfront.tables.split import seats
from fairfront.tables.table import Column
from tests.support.tables import parts_of, table_of

NOTHING = Table(0, {})


def is_partition(parts: dict[str, np.ndarray], n: int) -> bool:
    joined = np.concatenate(list(parts.values()))
    return list(parts) == ["train", "validation", "test"] and np.array_equal(np.sort(joined), np.arange(n))


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 60), min_size=1, max_size=6).filter(lambda s: sum(s) >= 12),
    shares=st.sampled_from(["60/20/20", "50/25/25", "80/10/10", "0.6/0.2/0.2", "34/33/33"]),
    seed=st.integers(0, 2**32 - 1),
)
def test_random_splits_keep_the_shares_of_atoms(sizes: list[int], shares: str, seed: int) -> None:
    atoms = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))
    split = parse_split(shares)
    parts = parts_of(split, Table(len(atoms), {}), atoms, seed)
    assert is_partition(parts, len(atoms))
    again = parts_of(split, Table(len(atoms), {}), atoms, seed)
    assert all(np.array_equal(parts[name], again[name]) for name in parts)
    for share, rows in zip(split.shares, parts.values(), strict=True):
        assert abs(len(rows) - share / 100 * len(atoms)) <= 1
        assert np.all(np.abs(np.bincount(atoms[rows], minlength=len(sizes)) - share / 100 * np.array(sizes)) <= 2)


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 9), min_size=40, max_size=120),
    as_text=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_people_stay_together(sizes: list[int], as_text: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    owner = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    atoms = rng.integers(0, 3, len(owner))
    ids = owner.astype(str).astype(object) if as_text else owner.astype(float)
    split = parse_split("by:person:50/25/25")
    parts = parts_of(split, table_of({"person": ids}), atoms, seed)
    assert is_partition(parts, len(owner))
    people = [set(owner[rows].tolist()) for rows in parts.values()]
    assert sum(map(len, people)) == len(sizes)
    assert abs(len(people[0]) - 0.5 * len(sizes)) <= 1
    assert abs(len(parts["train"]) / len(owner) - 0.5) < 0.15


def test_a_person_is_whom_rows_are_split_by_or_left_out_by() -> None:
    assert parse_split("60/20/20").person == ""
    assert parse_split("by:who:50/25/25").person == "who"
    assert parse_split("50/25/25", "who") == parse_split("by:who:50/25/25", "who") == parse_split("by:who:50/25/25")
    dated = parse_split("time:day:1,2", "who")
    assert (dated.kind, dated.columns) == ("time", ("day", "who"))
    codes = dated.people(table_of({"day": [1.0, 2.0, 3.0], "who": np.array(["b", "a", "b"], dtype=object)}))
    assert codes[0] == codes[2] != codes[1]
    assert parse_split("60/20/20").people(table_of({"x": [1.0]})) is None
    with pytest.raises(InputError, match="together and person is 'who', expected one column for both"):
        parse_split("by:region", "who")


def test_seeds_differ() -> None:
    atoms = np.arange(500) % 4
    one, two = (parts_of(parse_split("60/20/20"), Table(500, {}), atoms, seed)["test"] for seed in (0, 1))
    assert not np.array_equal(one, two)


def test_seats_are_fair_in_every_stretch() -> None:
    taken = seats(1000, (60.0, 20.0, 20.0))
    counts = np.bincount(taken).tolist()
    assert counts == [600, 200, 200]
    for start in range(0, 990, 7):
        assert np.all(np.abs(np.bincount(taken[start : start + 10], minlength=3) - [6, 2, 2]) <= 1)


DATES = np.array(
    ["2023-01-05", "2024-06-30", "2024-07-01", "2025-01-01T08:00:00", "2022-12-31", "2024-12-31"], dtype=object
)


def times_of(dates: np.ndarray) -> Table:
    """Return a table as it is where dates were loaded as times."""
    seconds = dates.astype("datetime64[s]").astype(np.float64)
    return Table(len(dates), {"day": Column(seconds, time=True)})


def test_time_splits_dates_and_numbers() -> None:
    split = parse_split("time:day:2024-07-01,2025-01-01")
    assert split.columns == split.times == ("day",)
    parts = parts_of(split, times_of(DATES), np.zeros(6))
    assert {name: rows.tolist() for name, rows in parts.items()} == {
        "train": [0, 1, 4],
        "validation": [2, 5],
        "test": [3],
    }
    years = table_of({"year": np.array([2013, 2014, 2015, 2016])})
    years = parts_of(parse_split("time:year:2014,2015.5"), years, np.zeros(4))
    assert {name: rows.tolist() for name, rows in years.items()} == {"train": [0], "validation": [1, 2], "test": [3]}


@pytest.mark.parametrize(
    ("text", "columns", "sentence"),
    [
        ("time:day:2014,2015", {"day": DATES}, "holds dates, expected limits such as"),
        ("time:x:2024-01-01,2025-01-01", {"x": np.arange(6.0)}, "holds numbers, expected limits that are numbers"),
        ("time:x:1,2", {"x": np.array([1, np.nan, 3])}, "missing in 1 row "),
        ("time:d:2024-01-01,2025-01-01", {}, "no column 'd'"),
        ("by:who", {"who": np.array(["a", None], dtype=object)}, "missing in 1 row "),
        ("by:who", {"who": np.array(["a", "b", "a"], dtype=object)}, "at least 3 different values"),
        ("60/20/20", {"x": np.arange(2)}, "has no rows .2 in all."),
    ],
)
def test_splits_that_do_not_fit_the_table(text: str, columns: dict, sentence: str) -> None:
    n = len(next(iter(columns.values()), []))
    with pytest.raises(InputError, match=sentence):
        parse_split(text).codes(table_of(columns, n), np.zeros(n))


def test_two_shares_have_no_validation_part() -> None:
    split = parse_split("80/20")
    found = split.codes(table_of({"a": np.arange(50.0)}, 50), np.zeros(50))
    assert np.bincount(found, minlength=3).tolist() == [40, 0, 10]
    assert "80 % train, 20 % test" in split.describe()


def test_times_that_leave_a_part_empty() -> None:
    split = parse_split("time:day:2030-01-01,2031-01-01")
    with pytest.raises(InputError, match=r"validation part of the split has no rows.*other limits"):
        split.codes(times_of(DATES), np.zeros(6))


@pytest.mark.parametrize(
    "text",
    [
        *(
            "60/50",
            "60",
            "60/20/30",
            "a/b/c",
            "",
            "100/0/0",
            "half",
            "nan/20/80",
            "inf/0/0",
            "time:day",
            "time:day:2024-01-01",
        ),
        *(
            "time::1,2",
            "time:day:2,1",
            "time:day:2024-01-01,2023-01-01",
            "time:day:soon,later",
            "time:day:1,2024-01-01",
        ),
        *("by:", "by:who:60/20", "until:day:1,2", "time:day:1,1"),
    ],
)
def test_splits_that_are_none(text: str) -> None:
    with pytest.raises(InputError, match="expected"):
        parse_split(text)


def test_splits_are_described() -> None:
    assert parse_split("60/20/20").describe() == (
        "Random split, stratified by label and group: 60 % train, 20 % validation, 20 % test."
    )
    assert "'who'" in parse_split("by:who").describe()
    assert parse_split("by:a:b:50/25/25").columns == ("a:b",)
    assert "train before 2024-01-01" in parse_split("time:day:2024-01-01,2024-02-01T10:00").describe()
    with pytest.raises(InputError, match="atoms have 3 rows, expected 2"):
        parse_split("60/20/20").codes(table_of({"x": [1.0, 2.0]}), np.zeros(3))


def test_many_texts_without_names_are_people() -> None:
    nameless = Table(60, {"d": Column(np.arange(60, dtype=np.int32), "category", n_levels=60)})
    assert is_partition(parts_of(parse_split("by:d"), nameless, np.zeros(60)), 60)
