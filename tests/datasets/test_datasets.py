"""Data sets: published counts, checks of files, encodings, and a contract for every registered set."""

from __future__ import annotations

import hashlib
import sys
from functools import cache

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import train_test_split

from fairfront.datasets import (
    DATASETS,
    ORIGINS,
    Dataset,
    encode,
    load,
    load_adult,
    load_compas,
    load_german_credit,
    load_loans,
    paper_matrix,
)
from fairfront.datasets.origin import ENVIRONMENT, Origin, PublicFile, number_column, table, text_column
from fairfront.exceptions import InputError, MissingExtraError
from tests.support.places import DATA

EMBEDDED = ("loans", "motor")


@cache
def loaded(name: str, **options: object) -> Dataset:
    if name in EMBEDDED:
        return load(name, **options)
    if not (DATA / name).is_dir():
        pytest.skip(f"the files of {name} are not here: set {ENVIRONMENT} to the folder that holds them.")
    return load(name, folder=DATA, **options)


def counts(data: Dataset, column: str, label: str, rows: np.ndarray | slice = slice(None)) -> dict[str, int]:
    chosen = data.columns[column][rows][data.y[rows] == label]
    values, number = np.unique(chosen, return_counts=True)
    return dict(zip(values.tolist(), number.tolist(), strict=True))


def toy(**changes: object) -> Dataset:
    fields = {
        "name": "toy",
        "columns": {
            "size": np.array([1.0, 3.0, np.nan, 100.0]),
            "colour": np.array(["red", None, "blue", "red"], dtype=object),
            "who": np.array(["a", "b", None, "a"], dtype=object),
            "label": np.array(["yes", "no", "yes", "no"]),
        },
        "target": "label",
        "favourable": "yes",
        "sensitive": ("who",),
        "features": ("size", "colour"),
        "task": "binary",
        "card": "A toy.",
    }
    return Dataset(**(fields | changes))


# Every registered data set


@pytest.mark.slow
def test_data_sets_are_listed_by_name() -> None:
    assert list(DATASETS) == sorted(DATASETS) == list(ORIGINS)


@pytest.mark.parametrize("name", tuple(DATASETS))
def test_contract(name):
    data = loaded(name)
    assert data.name == name
    assert {data.target, *data.sensitive, *data.features} <= set(data.columns)
    assert {values.shape for values in data.columns.values()} == {(len(data),)}
    assert not {data.target, *data.sensitive} & set(data.features)
    assert len(data.features) == len(set(data.features))
    for values in data.columns.values():
        assert values.dtype in (np.int64, np.float64, object) or values.dtype.kind == "U"
    for word in ("limits", "groups", "task"):
        assert word in data.card.lower()
    assert "\n" not in data.card


@pytest.mark.parametrize("name", tuple(DATASETS))
def test_contract_labels(name):
    data = loaded(name)
    if data.task == "regression":
        assert data.favourable is None
        assert data.y.dtype == np.float64
    else:
        labels = set(data.y.tolist())
        assert data.favourable in labels
        assert (len(labels) == 2) == (data.task == "binary")


@pytest.mark.parametrize("name", tuple(DATASETS))
@pytest.mark.parametrize("encoding", ["one_hot", "integer"])
def test_contract_matrix(name, encoding):
    data = loaded(name)
    X, names = data.matrix(encoding)
    assert X.dtype == np.float64
    assert X.shape == (len(data), len(names))
    assert len(set(names)) == len(names)
    assert np.isfinite(X).all()
    assert not {label.split("=")[0] for label in names} & {*data.sensitive, data.target}


@pytest.mark.parametrize("name", tuple(DATASETS))
@pytest.mark.parametrize("backend", ["pandas", "polars"])
def test_contract_frame(name, backend):
    pytest.importorskip(backend)
    frame = loaded(name).frame(backend)
    assert type(frame).__module__.split(".")[0] == backend
    assert frame.shape == (len(loaded(name)), len(loaded(name).columns))
    assert list(frame.columns) == list(loaded(name).columns)


def test_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(InputError, match="did you mean 'adult'"):
        load("adlut")


# The record


def test_sensitive_features_are_the_first_by_default():
    data = load_loans(n=50)
    assert list(data.sensitive_features()) == ["group"]
    assert list(data.sensitive_features("sex", "group")) == ["sex", "group"]
    with pytest.raises(InputError, match="unknown sensitive column of loans 'race'"):
        data.sensitive_features("race")


def test_subset_carries_rows_split_and_ids():
    data = toy(split=(np.array([0, 1]), np.array([2, 3])), split_ids=np.array([5, 6, 5, 7]))
    part = data.subset([3, 1, 0])
    assert part.columns["who"].tolist() == ["a", "b", "a"]
    assert [rows.tolist() for rows in part.split] == [[1, 2], [0]]
    assert part.split_ids.tolist() == [7, 6, 5]
    assert len(data.subset(data.y == "yes")) == 2
    for rows in ([9], [True, False], [0.5], "no"):
        with pytest.raises(InputError, match="expected a boolean mask of shape"):
            data.subset(rows)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"target": "labl"}, "unknown column named by the data set toy 'labl'"),
        ({"features": ("size", "who")}, "features of toy contain who"),
        ({"features": ("label",)}, "features of toy contain label"),
        ({"sensitive": ()}, "no sensitive column"),
        ({"columns": toy().columns | {"size": np.zeros(3)}}, r"shape \(3,\), expected \(4,\)"),
    ],
)
def test_a_record_that_contradicts_itself_is_refused(changes, message):
    with pytest.raises(InputError, match=message):
        toy(**changes)


def test_frame_names_the_missing_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(MissingExtraError, match=r"fairfront\[polars\]"):
        toy().frame("polars")
    with pytest.raises(InputError, match="unknown backend 'excel'"):
        toy().frame("excel")


def test_frame_keeps_missing_groups():
    pytest.importorskip("polars")
    assert toy().frame("polars")["who"].to_list() == ["a", "b", None, "a"]


# Encodings


def test_one_hot_by_hand():
    X, names = toy().matrix(fit_on=[0, 1])
    assert names == ["size", "size=missing", "colour=blue", "colour=missing", "colour=red"]
    # Fit rows hold 1 and 3: mean 2, deviation 1, median 2.
    assert X[:, 0].tolist() == [-1, 1, 0, 98]
    assert X[:, 1:].tolist() == [[0, 0, 0, 1], [0, 0, 1, 0], [1, 1, 0, 0], [0, 0, 0, 1]]


def test_integer_by_hand():
    X, names = toy().matrix("integer", include=("who",))
    assert names == ["size", "size=missing", "colour", "who"]
    codes = np.array([2.0, 1.0, 0.0, 2.0])
    np.testing.assert_allclose(X[:, 2], (codes - codes.mean()) / codes.std())
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-15)
    np.testing.assert_allclose(X.std(axis=0), 1)


def test_constant_and_unseen_columns_stay_finite():
    columns = {"one": np.array([1, 1, 2]), "gone": np.array([np.nan, np.nan, 4.0])}
    X, _ = encode(columns, ["one", "gone"], fit_on=[True, True, False])
    assert X[:, 0].tolist() == [0, 0, 1]
    assert np.isfinite(X).all()
    assert encode(columns, [])[0].shape == (3, 0)


def test_encoding_errors():
    data = toy()
    with pytest.raises(InputError, match="encoding is 'ordinal', expected 'one_hot' or 'integer'"):
        data.matrix("ordinal")
    with pytest.raises(InputError, match="fit_on selects 0 rows"):
        data.matrix(fit_on=[])
    for name in ("label", "weight"):
        with pytest.raises(InputError, match=f"column of toy to include '{name}'"):
            data.matrix(include=(name,))


def test_scaling_is_fitted_on_the_fit_rows_only():
    data = loaded("adult")
    train, test = data.split
    X, names = data.matrix(include=("sex", "race"), fit_on=train)
    assert X.shape == (45222, 104)
    assert {"sex=Female", "race=Black"} <= set(names)
    numbers = [names.index(name) for name in ("age", "capital-gain", "hours-per-week")]
    np.testing.assert_allclose(X[train][:, numbers].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(X[train][:, numbers].std(axis=0), 1, atol=1e-12)
    assert np.abs(X[test][:, numbers].mean(axis=0)).min() > 1e-4
    assert data.matrix(include="sex")[0].shape == (45222, 99)


# Files


def test_no_folder(monkeypatch, tmp_path):
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    monkeypatch.setenv("FAIRFRONT_CACHE", str(tmp_path))
    with pytest.raises(InputError, match=r"pass folder=\.\.\. or set the environment variable FAIRFRONT_DATA"):
        load_adult()


@pytest.mark.parametrize("name", [name for name in tuple(DATASETS) if name not in EMBEDDED])
def test_missing_and_changed_files(name, tmp_path):
    with pytest.raises(InputError, match=r"was not found, expected at .*get it from https://"):
        load(name, folder=tmp_path)
    for file in ("adult.data", "communities.data", "compas-scores-two-years.csv", "german.data"):
        (tmp_path / file).write_bytes(b"1,2,3\n")
    (tmp_path / "studentInfo.csv").write_bytes(b"1,2,3\n")
    with pytest.raises(InputError, match=r"has sha256 [0-9a-f]{64}, expected [0-9a-f]{64}: it is another"):
        load(name, folder=tmp_path)


def test_folder_may_be_the_own_one_its_parent_or_the_environment(monkeypatch):
    loaded("german_credit")
    monkeypatch.setenv(ENVIRONMENT, str(DATA))
    for data in (load_german_credit(), load_german_credit(DATA / "german_credit"), load_german_credit(DATA)):
        assert len(data) == 1000


def test_line_ends_do_not_matter_and_content_does(tmp_path):
    digest = hashlib.sha256(b"a\r\nb\r\n").hexdigest()
    file = PublicFile("small.csv", 6, digest)
    source = Origin("small", "https://example.org", 2, "none", "y", ("g",), (file,))
    for content in (b"a\r\nb\r\n", b"a\nb\n"):
        (tmp_path / "small.csv").write_bytes(content)
        assert source.read(tmp_path)["small.csv"].split() == ["a", "b"]
    (tmp_path / "small.csv").write_bytes(b"a\nc\n")
    with pytest.raises(InputError, match="sha256"):
        source.read(tmp_path)


def test_reading_columns():
    assert table('a, "b, c"\n\n d ,e\n') == [["a", "b, c"], ["d", "e"]]
    assert text_column(["x", "?", ""]).tolist() == ["x", None, None]
    assert text_column(["x", "y"]).dtype.kind == "U"
    assert number_column(["1", "2"]).dtype == np.int64
    np.testing.assert_array_equal(number_column(["1", "?", "2.5"]), [1.0, np.nan, 2.5])


# Adult

ADULT_TABLES = {
    ("sex", 0, ">50K"): {"Female": 1196, "Male": 6912},
    ("sex", 0, "<=50K"): {"Female": 9352, "Male": 15101},
    ("sex", 1, ">50K"): {"Female": 473, "Male": 2627},
    ("sex", 1, "<=50K"): {"Female": 3674, "Male": 5887},
    ("race", 0, ">50K"): (37, 265, 402, 24, 7380),
    ("race", 0, "<=50K"): (275, 697, 2645, 222, 20614),
    ("race", 1, ">50K"): (16, 104, 132, 21, 2827),
    ("race", 1, "<=50K"): (107, 237, 1049, 86, 8082),
}
RACES = ("Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other", "White")


@pytest.mark.parametrize(("column", "part", "label"), ADULT_TABLES)
def test_adult_has_the_counts_of_the_paper(column, part, label):
    data = loaded("adult")
    expected = ADULT_TABLES[column, part, label]
    expected = expected if column == "sex" else dict(zip(RACES, expected, strict=True))
    assert counts(data, column, label, data.split[part]) == expected


def test_adult_rows():
    data = loaded("adult")
    assert [len(rows) for rows in data.split] == [32561, 12661]
    assert not any(values.dtype == object for values in data.columns.values())
    whole = loaded("adult", paper_split=False)
    assert len(whole) == 48842
    assert [len(rows) for rows in whole.split] == [32561, 16281]
    missing = [name for name, values in whole.columns.items() if values.dtype == object]
    assert missing == ["workclass", "occupation", "native-country"]
    rows = zip(*(whole.columns[name] for name in missing), strict=True)
    assert sum(None in row for row in rows) == 3620
    assert "occupation=missing" in whole.matrix()[1]


def test_paper_matrix():
    data = loaded("adult")
    train, test = data.split
    X, names = paper_matrix(data)
    assert X.shape == (45222, 13)
    assert (names.index("race"), names.index("sex")) == (8, 9)
    assert "native-country" not in names
    np.testing.assert_allclose(X[train].std(axis=0), 1)
    model = LogisticRegression().fit(X[train], data.y[train])
    chosen = model.predict(X[test]) == ">50K"
    good = data.y[test] == ">50K"
    female = data.columns["sex"][test] == "Female"
    assert np.mean(chosen == good) == pytest.approx(0.8208, abs=0.002)
    assert chosen[good & ~female].mean() - chosen[good & female].mean() == pytest.approx(0.294, abs=0.01)


def test_paper_matrix_drops_and_refuses():
    data = loaded("adult")
    X, names = paper_matrix(data, drop=("sex", "race"))
    assert X.shape == (45222, 11)
    assert not {"sex", "race"} & set(names)
    with pytest.raises(InputError, match="cannot drop 'country'"):
        paper_matrix(data, drop=("country",))
    with pytest.raises(InputError, match="expected one from load_adult"):
        paper_matrix(load_loans(n=10))


def test_adult_plain_logistic_has_the_known_accuracy():
    data = loaded("adult")
    train, test = data.split
    X, _ = data.matrix(include=("race",), fit_on=train)
    model = LogisticRegression(max_iter=1000).fit(X[train], data.y[train])
    assert model.score(X[test], data.y[test]) == pytest.approx(0.849, abs=0.002)


# COMPAS

COMPAS_TABLES = {
    ("two_year_recid", "no recidivism"): (658, 2137, 1281, 1514),
    ("two_year_recid", "recidivism"): (373, 2110, 822, 1661),
    ("charge_degree", "M"): (422, 1416, 859, 979),
    ("charge_degree", "F"): (609, 2831, 1244, 2196),
}


@pytest.mark.parametrize(("target", "label"), COMPAS_TABLES)
def test_compas_has_the_counts_of_either_label(target, label):
    data = loaded("compas", target=target)
    female, male, caucasian, african_american = COMPAS_TABLES[target, label]
    assert len(data) == 5278
    assert counts(data, "sex", label) == {"Female": female, "Male": male}
    assert counts(data, "race", label) == {"Caucasian": caucasian, "African-American": african_american}


def test_compas_keeps_nothing_that_points_to_a_person():
    data = loaded("compas")
    assert set(data.columns) == {
        *("age", "age_cat", "sex", "race", "juv_fel_count", "juv_misd_count", "juv_other_count"),
        *("priors_count", "c_charge_degree", "decile_score", "score_text", "two_year_recid"),
    }
    assert "decile_score" not in data.features


def test_compas_targets():
    assert loaded("compas").favourable == "no recidivism"
    charge = loaded("compas", target="charge_degree")
    assert charge.favourable == "M"
    assert "c_charge_degree" not in charge.features
    assert "c_charge_degree" in loaded("compas").features
    with pytest.raises(InputError, match="target is 'violent', expected 'two_year_recid'"):
        load_compas(DATA, target="violent")


# German credit, Communities and Crime, OULAD


def test_german_credit_counts():
    data = loaded("german_credit")
    assert len(data) == 1000
    assert counts(data, "sex", "good") == {"F": 201, "M": 499}
    assert counts(data, "age_group", "good") == {"<=25": 110, ">25": 590}
    assert np.sum(data.columns["age_group"] == "<=25") == 190
    assert not {"age", "personal_status_sex", "foreign_worker", "sex"} & set(data.features)
    assert {"age", "personal_status_sex"} <= set(data.columns)
    assert "unreliable" in data.card


def test_communities_crime():
    data = loaded("communities_crime")
    assert len(data) == 1994
    assert len(data.features) == 95
    assert len(data.columns) == 122 + 2
    assert not {"racepctblack", "racePctWhite", "racePctAsian", "racePctHisp"} & set(data.features)
    above = data.columns["black_share"] == "above 0.06"
    assert (above.sum(), (~above).sum()) == (970, 1024)


def test_communities_crime_plain_ridge_has_the_known_fit():
    data = loaded("communities_crime")
    train, test = train_test_split(np.arange(1994), test_size=0.3, random_state=0)
    shares = ("racepctblack", "racePctWhite", "racePctAsian", "racePctHisp")
    X, _ = data.matrix(include=shares, fit_on=train)
    model = Ridge().fit(X[train], data.y[train])
    squares = (model.predict(X[test]) - data.y[test]) ** 2
    above = data.columns["black_share"][test] == "above 0.06"
    assert model.score(X[test], data.y[test]) == pytest.approx(0.64, abs=0.005)
    assert squares[above].mean() == pytest.approx(0.030, abs=0.001)
    assert squares[~above].mean() == pytest.approx(0.009, abs=0.001)


def test_oulad():
    data = loaded("oulad")
    values, number = np.unique(data.y, return_counts=True)
    assert dict(zip(values, number, strict=True)) == {
        "Pass": 12361,
        "Withdrawn": 10156,
        "Fail": 7052,
        "Distinction": 3024,
    }
    assert np.sum(data.columns["disability"] == "Y") == 3164
    assert sum(band is None for band in data.columns["imd_band"]) == 1111
    assert "id_student" not in data.columns
    assert np.array_equal(np.unique(data.split_ids), np.arange(28785))
    binary = loaded("oulad", binary=True)
    assert np.sum(binary.y == binary.favourable) == 12361 + 3024
    assert not {"final_result", "passed"} & set(binary.features)


def test_oulad_plain_logistic_has_the_known_rates():
    data = loaded("oulad", binary=True)
    train, test = train_test_split(np.arange(len(data)), test_size=0.3, random_state=0)
    X, _ = data.matrix(include=data.sensitive, fit_on=train)
    chosen = LogisticRegression(max_iter=1000).fit(X[train], data.y[train]).predict(X[test])
    good, disability = data.y[test] == data.favourable, data.columns["disability"][test]
    rates = {level: np.mean(chosen[good & (disability == level)] == data.favourable) for level in "NY"}
    assert np.mean(chosen == data.y[test]) == pytest.approx(0.625, abs=0.002)
    assert rates["N"] == pytest.approx(0.589, abs=0.005)
    assert rates["Y"] == pytest.approx(0.316, abs=0.01)


# Loans


def test_loans_same_seed_same_bytes():
    first, again, other = load_loans(), load_loans(), load_loans(seed=1)
    for name, values in first.columns.items():
        assert values.tolist() == again.columns[name].tolist()
        assert values.dtype == again.columns[name].dtype
    assert first.columns["income"].tobytes() == again.columns["income"].tobytes()
    assert first.columns["income"].tobytes() != other.columns["income"].tobytes()


def test_loans_groups_and_calendar():
    data = load_loans()
    group = data.columns["group"]
    share = {name: np.mean([value == name for value in group]) for name in ("A", "B", "C", None)}
    assert share["A"] > share["B"] > 0.33
    assert share["C"] == pytest.approx(0.03, abs=0.01)
    assert share[None] == pytest.approx(0.02, abs=0.01)
    assert set(data.columns["sex"]) == {"F", "M"}
    months = np.unique(data.columns["applied"])
    assert (len(months), months[0], months[-1]) == (24, "2024-01", "2025-12")
    assert "applied" not in data.features
    assert 0.65 < np.mean(data.y == "repaid") < 0.75


def loan_model(data: Dataset, shift: float = 0.0) -> tuple[float, float]:
    """Return error and TPR gap (A minus B) on the last 30 % of rows; shift moves weight from A to B."""
    train = np.arange(len(data)) < 0.7 * len(data)
    X, _ = data.matrix(fit_on=train)
    good, group = data.y == "repaid", data.columns["group"]
    weight = np.ones(len(data))
    for name, sign in (("A", -1), ("B", 1)):
        rows = train & good & (group == name)
        weight[rows] += sign * shift * train.sum() / rows.sum()
    model = LogisticRegression(max_iter=1000).fit(X[train], good[train], sample_weight=weight[train])
    chosen = model.predict(X)
    rates = [chosen[~train & good & (group == name)].mean() for name in ("A", "B")]
    return float(np.mean((chosen != good)[~train])), float(rates[0] - rates[1])


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_loans_bias_is_visible_caused_by_the_records_and_cheap_to_reduce(seed):
    error, gap = loan_model(load_loans(seed=seed))
    assert 0.20 < error < 0.28
    assert 0.08 < gap < 0.20
    assert abs(loan_model(load_loans(seed=seed, bias=0.0))[1]) < 0.06
    fairer_error, fairer_gap = loan_model(load_loans(seed=seed), shift=0.2)
    assert abs(fairer_gap) < gap / 2
    assert fairer_error < error + 0.01


def test_loans_options():
    assert len(load_loans(n=1)) == 1
    for options in ({"n": 0}, {"bias": 2.0}):
        with pytest.raises(InputError, match=r"expected a (whole number from 1|share between 0 and 1)"):
            load_loans(**options)
