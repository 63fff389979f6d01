"""Parameters in errors: as the caller writes them, and what users named themselves as it is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fairfront as ff
from fairfront.exceptions import spelled, spelling
from tests.support.cli import fairfront

OWN = ("n_points", "overwrite=True", "at_most", "min_size", "y_true")


def test_the_outer_callers_words_hold() -> None:
    assert (spelled("a"), spelled("a", "a=True")) == ("a", "a=True")
    with spelling({"a": "--a"}):
        with spelling({"a": "inner", "b": "own"}):
            assert (spelled("a", "a=True"), spelled("b")) == ("--a", "own")
        assert (spelled("a"), spelled("b")) == ("--a", "b")
    assert spelled("a") == "a"


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file whose columns are named as parameters are."""
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("spelling") / "n_points.csv"
    rows = [",".join(rng.choice(["0", "1"], len(OWN))) for _ in range(200)]
    path.write_text("\n".join([",".join(OWN), *rows]))
    return path


@pytest.mark.parametrize("name", OWN)
def test_names_of_users_are_not_rewritten(table: Path, tmp_path: Path, name: str) -> None:
    words = ("--label", name, "--decision", "at_most", "--groups", "min_size")
    said = fairfront("audit", table, *words, "--favourable", "1", "--min-size", 190, code=2)
    assert "sensitive feature 'min_size' has 0 groups of at least 190 rows" in said
    assert "or lower --min-size." in said
    said = fairfront("audit", table, "--label", f"{name}.", *words[2:], "--favourable", "1", code=2)
    assert f"--label names '{name}.', but {table} has no such column; did you mean {name!r}?" in said
    missing = tmp_path / name
    assert f"{missing} does not exist," in fairfront("audit", missing, *words, "--favourable", "1", code=2)


def test_one_parameter_in_the_words_of_each_caller(table: Path, tmp_path: Path) -> None:
    words = ("--target", "n_points", "--favourable", "1", "--groups", "min_size", "-o", tmp_path / "run")
    for more, said in (
        (("--points", 10**6), "--points is 1000000, expected a whole number from 2 to 10000."),
        (("--model", "boosting", "--points", 5), "--points is for the model 'linear', found 'boosting'"),
        (("--cutoff", 0.5, "--costs", "1,2"), "--cutoff and --costs were given, expected one way"),
        (("--split", "60/20"), "--split is '60/20', expected three shares"),
        (("--delimiter", "ab"), "--delimiter is 'ab', expected one character"),
        (("--weight", "none"), "--weight names 'none', but"),
        (("--weight", "at_most", "--drop", "at_most"), "'at_most' is dropped, but it is also the weight or what rows"),
        (
            ("--split", "by:at_most", "--drop", "at_most"),
            "'at_most' is dropped, but it is also the weight or what rows",
        ),
    ):
        assert fairfront("trace", table, *words, *more, code=2).startswith(f"fairfront: {said}")
    with pytest.raises(ff.InputError, match=r"^n_points is 1, expected a whole number from 2 to 10000"):
        ff.trace_table(table, target="n_points", favourable="1", groups="min_size", n_points=1)
    with pytest.raises(ff.InputError, match=r"; merge groups or lower min_size \(--min-size on the command line\)\.$"):
        ff.trace_table(table, target="n_points", favourable="1", groups="min_size", min_size=190, progress=False)


def test_an_audit_speaks_of_what_it_was_given() -> None:
    y, given = [0, 1] * 50, {"g": ["a", "b"] * 50}
    for options, said in (
        (
            {"sensitive_features": {"g": ["a"]}},
            "sensitive_features column 'g' has 1 row, expected 100, as many as y_true",
        ),
        (
            {"sensitive_features": None},
            r"^sensitive_features is None, expected one value per row: the group of each\.$",
        ),
        ({"sample_weight": [1.0]}, r"^sample_weight has shape \(1,\), expected \(100,\), as many as y_true\.$"),
    ):
        with pytest.raises(ff.InputError, match=said):
            ff.audit(y, y, **{"sensitive_features": given, **options})
    with pytest.raises(ff.InputError, match=r"^favourable is -1, expected one of the labels 0, 1, .*, 19, \.\.\.\.$"):
        ff.audit(range(100), range(100), sensitive_features=given, favourable=-1, task="classification")
    with pytest.raises(ff.InputError, match=r"^y_true has missing labels"):
        ff.audit([None, *y[1:]], y, sensitive_features=given)
    with pytest.raises(ff.InputError, match=r"^scores_or_labels has missing labels"):
        ff.audit(y, ["0", *[None] * 99], sensitive_features=given)
