"""Groups: containers, missing values, small groups, crossing, references and probabilities."""

from __future__ import annotations

import tempfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairfront as ff
from fairfront.exceptions import GroupWarning, InputError
from fairfront.objectives import Attribute, GroupProbabilities, Groups
from tests.support.extras import optional

pd = optional("pandas")
pl = optional("polars")
pa = optional("pyarrow")

VALUES = ["f", "m", None, "m", "f", "m"]
COLUMN = {
    "list": lambda: VALUES,
    "tuple": lambda: tuple(VALUES),
    "list with nan": lambda: ["f", "m", float("nan"), "m", "f", "m"],
    "numpy": lambda: np.array(VALUES, dtype=object),
    "numpy column": lambda: np.array(VALUES, dtype=object)[:, None],
    "pandas series": lambda: pd.Series(VALUES),
    "pandas string": lambda: pd.Series(VALUES, dtype="string"),
    "pandas category": lambda: pd.Series(VALUES, dtype="category"),
    "pandas frame": lambda: pd.DataFrame({"group": VALUES}),
    "pandas NA": lambda: pd.Series(["f", "m", pd.NA, "m", "f", "m"], dtype=object),
    "polars series": lambda: pl.Series("group", VALUES),
    "polars categorical": lambda: pl.Series("group", VALUES, dtype=pl.Categorical),
    "polars frame": lambda: pl.DataFrame({"group": VALUES}),
    "pyarrow array": lambda: pa.array(VALUES),
    "pyarrow chunked": lambda: pa.chunked_array([VALUES[:2], VALUES[2:]]),
    "pyarrow table": lambda: pa.table({"group": VALUES}),
    "dict of list": lambda: {"group": VALUES},
    "dict of series": lambda: {"group": pd.Series(VALUES, dtype="string")},
    "dict of polars": lambda: {"group": pl.Series(VALUES)},
}
NUMBERS = {
    "list": lambda: [0, 1, None, 1, 0, 1],
    "numpy": lambda: np.array([0, 1, np.nan, 1, 0, 1]),
    "pandas float": lambda: pd.Series([0, 1, None, 1, 0, 1]),
    "pandas Int64": lambda: pd.Series([0, 1, None, 1, 0, 1], dtype="Int64"),
    "dict of Int64": lambda: {"group": pd.Series([0, 1, None, 1, 0, 1], dtype="Int64")},
    "polars": lambda: pl.Series([0, 1, None, 1, 0, 1]),
    "pyarrow": lambda: pa.chunked_array([[0, 1, None, 1, 0, 1]]),
}


def resolve(data: object, n: int = 6, **options) -> tuple[Attribute, ...]:
    return Groups(**{"min_size": 1, **options}).resolve(data, n)


@pytest.mark.parametrize("container", list(COLUMN))
def test_every_container_gives_the_same_groups(container: str) -> None:
    (attribute,) = resolve(COLUMN[container]())
    assert attribute.name == "group"
    assert attribute.levels == ("f", "m")
    assert attribute.reference == "m"
    assert attribute.n_missing == 1
    np.testing.assert_array_equal(attribute.codes, [0, 1, -1, 1, 0, 1])
    np.testing.assert_array_equal(attribute.sizes(), [2, 3])
    np.testing.assert_array_equal(attribute.membership()[:3], [[1, 0], [0, 1], [0, 0]])


@pytest.mark.parametrize("container", list(NUMBERS))
def test_numbers_are_named_without_fractions(container: str) -> None:
    (attribute,) = resolve(NUMBERS[container]())
    assert attribute.levels == ("0", "1")
    np.testing.assert_array_equal(attribute.codes, [0, 1, -1, 1, 0, 1])


def test_frames_with_numbers_for_names_and_plain_tables() -> None:
    table = np.array([["f", "x"], ["m", "y"], ["m", "y"]])
    assert [a.name for a in resolve(pd.DataFrame(table), 3)] == ["0", "1"]
    assert [a.name for a in resolve(table, 3)] == ["group0", "group1"]
    assert [a.levels for a in resolve(table.tolist(), 3)] == [("f", "m"), ("x", "y")]


def test_booleans_and_fractions() -> None:
    assert resolve([True, False, True], 3)[0].levels == ("False", "True")
    assert resolve(np.array([0.5, 1.5, 1.5]), 3)[0].levels == ("0.5", "1.5")


def test_small_groups_stay_out_with_a_warning() -> None:
    column = ["a"] * 40 + ["b"] * 35 + ["c"] * 3
    text = r"'race' with fewer than 30 rows are excluded from the gaps: c \(3 rows\); they still count in"
    with pytest.warns(GroupWarning, match=text):
        (attribute,) = Groups().resolve({"race": column}, 78)
    assert attribute.levels == ("b", "a")
    assert attribute.left_out == (("c", 3),)
    assert (attribute.codes[-3:] == -1).all()
    assert attribute.n_missing == 0
    shares = np.array([[c == "a", c == "b", c == "c"] for c in column], dtype=float)
    with pytest.warns(GroupWarning, match=r"are excluded from the gaps: c \(3 rows\)"):
        (soft,) = Groups().resolve(GroupProbabilities(shares, levels=list("abc")), 78)
    assert (soft.levels, soft.left_out) == (attribute.levels, attribute.left_out)
    np.testing.assert_array_equal(soft.sizes(), attribute.sizes())


def test_crossed_columns() -> None:
    given = {"sex": ["f", "m", None, "m", "f", "m"], "old": [1, 0, 1, 0, 1, None]}
    (attribute,) = resolve(given, cross=True)
    assert attribute.name == "sex & old"
    assert attribute.levels == ("m & 0", "f & 1")
    assert attribute.n_missing == 2
    assert resolve(given, cross=True, reference="m & 0")[0].reference == "m & 0"
    assert [a.name for a in resolve({"sex": given["sex"]}, cross=True)] == ["sex"]


def test_references() -> None:
    column = {"race": list("aabbbc"), "sex": list("ffmmmm")}
    assert [a.reference for a in resolve(column)] == ["b", "m"]
    assert [a.levels for a in resolve(column, reference={"race": "c"})] == [("a", "b", "c"), ("f", "m")]
    assert resolve([1, 1, 2, 2, 2, 3], reference=1)[0].reference == "1"
    with pytest.raises(
        InputError, match=r"reference group 'z' of 'race' is not among its groups, expected one of a, b, c\."
    ):
        resolve(column, reference={"race": "z"})
    with pytest.raises(InputError, match=r"reference names the sensitive feature 'rase', expected one of race, sex\."):
        resolve(column, reference={"rase": "c"})
    with pytest.raises(InputError, match=r"reference has no group of 'sex', expected one of each of race, sex"):
        resolve(column, reference={"race": "c"}, cross=True)


def test_columns_that_make_no_groups() -> None:
    with pytest.raises(InputError, match=r"'group' is constant \(all 5 rows are 'x'\), expected at least 2 groups"):
        resolve(["x"] * 5 + [None])
    with pytest.raises(InputError, match=r"'group' is missing in all 6 rows, expected at least 2 groups"):
        resolve([None] * 6)
    with pytest.raises(InputError, match=r"has 300 values in 300 rows, expected groups; cut a number"):
        resolve(np.arange(300), 300)
    text = r"has 1 group of at least 30 rows, expected 2 or more \(rows per group: a 40, b 2\); merge"
    with pytest.raises(InputError, match=text):
        Groups().resolve(["a"] * 40 + ["b"] * 2, 42)
    with pytest.raises(InputError, match="with no single value"):
        resolve([["a"], ["b", "c"], ["a"], ["b"], ["a"], ["b"]])


def test_wrong_lengths() -> None:
    with pytest.raises(InputError, match=r"sensitive_features column 'group' has 6 rows, expected 5, as many as X"):
        resolve(VALUES, 5)
    with pytest.raises(InputError, match=r"GroupProbabilities has 2 rows, expected 5, as many as X"):
        resolve(GroupProbabilities(np.eye(2)), 5)
    with pytest.raises(InputError, match=r"GroupProbabilities column 'b' has 1 row, expected 2, as many as the first"):
        GroupProbabilities({"a": [1.0, 0.0], "b": [0.0]})


FRAME = {"p": [0.2, 0.5, 1.0], "q": [0.8, 0.5, 0.0]}


@pytest.mark.parametrize(
    "make", [dict, pd.DataFrame, pl.DataFrame, pa.table], ids=["dict", "pandas", "polars", "arrow"]
)
def test_probabilities_from_every_frame(make) -> None:
    given = GroupProbabilities(make(FRAME), name="race")
    (attribute,) = resolve(given, 3, reference="q")
    assert (attribute.name, attribute.levels, attribute.codes) == ("race", ("p", "q"), None)
    np.testing.assert_allclose(attribute.membership(), [[0.2, 0.8], [0.5, 0.5], [1.0, 0.0]])
    np.testing.assert_allclose(attribute.sizes(), [1.7, 1.3])
    assert resolve(given, 3)[0].reference == "p"


@pytest.mark.parametrize(
    ("table", "text"),
    [
        (
            [[0.5, 0.5], [0.6, 0.3]],
            r"must sum to 1 in every row, found 0\.9 in row 1 \(1 such rows\); divide each row",
        ),
        ([[1.5, -0.5]], r"has 1\.5 for 'group0' in row 0 \(2 such entries\), expected numbers between 0 and 1"),
        ([[0.5, 0.5], [np.nan, 1.0]], r"is missing for 'group0' in row 1 \(1 such entries\), expected numbers"),
        ([[1.0], [1.0]], r"has 1 column, expected one per group \(2 or more\)"),
        ([["x", "y"]], "has entries that are not numbers"),
    ],
)
def test_probabilities_that_cannot_be(table: list, text: str) -> None:
    with pytest.raises(InputError, match="GroupProbabilities " + text):
        GroupProbabilities(np.array(table))


def test_rounded_probabilities_are_divided_by_their_sum() -> None:
    given = GroupProbabilities(np.array([[0.333, 0.333, 0.333], [0.5, 0.5, 0.0]]))
    np.testing.assert_allclose(given.shares, [[1 / 3, 1 / 3, 1 / 3], [0.5, 0.5, 0.0]])
    np.testing.assert_array_equal(given.take(np.array([1])).shares, [[0.5, 0.5, 0.0]])


def test_probabilities_say_what_they_are() -> None:
    given = GroupProbabilities({"p_black": [0.9, 0.2], "p_white": [0.1, 0.8]}, name="race")
    assert repr(given) == "GroupProbabilities('race', 2 rows, mean probability: p_black 0.550, p_white 0.450)"


def test_probability_levels_must_fit() -> None:
    with pytest.raises(InputError, match=r"has 2 columns, expected 3, one per name"):
        GroupProbabilities(np.eye(2), levels=["a", "b", "c"])
    assert GroupProbabilities(np.eye(2), levels=["a", "b"]).levels == ("a", "b")


@settings(deadline=None, max_examples=50)
@given(values=st.lists(st.sampled_from(["a", "b", "c", None, float("nan")]), min_size=1, max_size=30))
def test_codes_point_at_their_levels(values: list) -> None:
    values = [*values, "a", "b"]
    (attribute,) = resolve(values, len(values))
    for value, code in zip(values, attribute.codes, strict=True):
        assert code == -1 if value not in ("a", "b", "c") else attribute.levels[code] == value
    assert attribute.sizes().max() == attribute.sizes()[-1]


def test_the_reference_of_crossed_columns_is_a_group_of_each() -> None:
    columns = {"race": list("aabbbc") * 2, "sex": list("fmfmmm") * 2}
    for reference in ({"race": "a", "sex": "m"}, {"race & sex": "a & m"}, "a & m"):
        (found,) = Groups(reference=reference, cross=True, min_size=1).resolve(columns, 12)
        assert (found.name, found.reference, found.largest) == ("race & sex", "a & m", False)
    with pytest.raises(InputError, match="reference has no group of 'race', expected one of each of race, sex"):
        Groups(reference={"sex": "m"}, cross=True, min_size=1).resolve(columns, 12)
    with pytest.raises(InputError, match="reference group 'a & x' of 'race & sex' is not among its groups"):
        Groups(reference={"race": "a", "sex": "x"}, cross=True, min_size=1).resolve(columns, 12)


def test_crossing_holds_on_other_rows() -> None:
    rng = np.random.default_rng(0)
    age, sex, X = rng.choice(["old", "young"], 400), rng.choice(["f", "m"], 400), rng.normal(size=(400, 2))
    y = (X[:, 0] + 0.3 * (sex == "m") + rng.normal(size=400) > 0).astype(int)
    groups = Groups(cross=True, reference={"age": "old", "sex": "m"}, min_size=10)
    front = ff.trace(X, y, sensitive_features={"age": age, "sex": sex}, groups=groups, n_points=3)
    judged = front.evaluate(X[:300], y[:300], sensitive_features={"age": age[:300], "sex": sex[:300]})
    (rates,) = judged.evaluations["validation"].groups.values()
    assert set(rates.levels) == {"old & f", "old & m", "young & f", "young & m"}
    assert rates.levels[-1] == "old & m"
    with tempfile.TemporaryDirectory() as folder:
        front.save(f"{folder}/front")
        again = ff.load(f"{folder}/front").evaluate(X, y, sensitive_features={"age": age, "sex": sex})
        assert set(next(iter(again.evaluations["validation"].groups.values())).levels) == set(rates.levels)
