"""Screening: identifiers, constants, leaks, proxies and crowded categories are named; ordinary columns are not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fairfront.exceptions import InputError
from fairfront.tables import Table, TrainingRows, screen
from fairfront.tables.sensitive_names import sensitive_finding
from tests.support.tables import table_of

N = 600


def data(**more: Any) -> tuple[Table, np.ndarray, dict[str, np.ndarray]]:
    rng = np.random.default_rng(0)
    y = np.where(rng.random(N) < 0.3, "yes", "no").astype(object)
    sex = rng.choice(np.array(["F", "M", None], dtype=object), N, p=[0.4, 0.5, 0.1])
    columns = {
        "age": rng.normal(40, 9, N),
        "income": rng.integers(10_000, 10_000_000, N).astype(float),
        "job": rng.choice(np.array(list("abcd"), dtype=object), N),
        "hint": np.where(y == "yes", 1.0, 0.0) + rng.normal(0, 0.6, N),
    }
    made = {name: make(y, sex, rng) for name, make in more.items()}
    return table_of({**columns, **made}), y, {"sex": sex}


def findings(table: Table, y: np.ndarray, groups: dict, **options: Any) -> dict[str, str]:
    found = screen(TrainingRows.of(table, list(table.columns)), y, groups, **options)
    assert all(each.sentence.endswith(".") and each.columns[0] in each.sentence for each in found)
    return {name: each.kind for each in found for name in each.columns}


def test_ordinary_columns_are_left_alone() -> None:
    table, y, groups = data()
    assert findings(table, y, groups) == {"income": "flagged"}  # nearly every row has a whole number of its own


def text(values: Any) -> np.ndarray:
    return np.array([str(v) for v in values], dtype=object)


COLUMNS = {
    "row number": (lambda y, a, r: r.permutation(N).astype(float), "dropped"),
    "personId": (lambda y, a, r: r.integers(0, 10**6, N).astype(float), "dropped"),
    "student_id": (lambda y, a, r: r.integers(0, N, N).astype(float) * 977, "dropped"),
    "code": (lambda y, a, r: text(f"P{i}" for i in range(N)), "dropped"),
    "same": (lambda y, a, r: np.full(N, "x", dtype=object), "dropped"),
    "nothing": (lambda y, a, r: np.full(N, None, dtype=object), "dropped"),
    "street": (lambda y, a, r: text(r.integers(0, 200, N)), "refused"),
    "result": (lambda y, a, r: np.where(y == "yes", "granted", "denied").astype(object), "refused"),
    "paid": (lambda y, a, r: np.where(y == "yes", 100.0, 1.0) + r.random(N), "refused"),
    "odd": (lambda y, a, r: np.where(y == "yes", 5.0, r.choice([1.0, 9.0], N)), "refused"),
    "closed": (lambda y, a, r: np.where(y == "yes", np.nan, r.normal(size=N)), "refused"),
    "title": (lambda y, a, r: np.where(a == "F", "Ms", "Mr").astype(object), "flagged"),
    "height": (lambda y, a, r: np.where(a == "F", 100.0, 200.0) + r.random(N), "flagged"),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_not_to_learn_from(name: str) -> None:
    make, kind = COLUMNS[name]
    table, y, groups = data(**{name: make})
    found = findings(table, y, groups)
    assert found == {"income": "flagged", name: kind}


def test_noise_in_a_leak_does_not_hide_it_and_a_good_column_is_no_leak() -> None:
    rng = np.random.default_rng(1)
    kinds = ((0.002, {"z": "refused"}), (0.05, {"z": "flagged"}), (0.2, {}))
    for flips, known in kinds:
        turned = rng.random(N) < flips
        table, y, groups = data(z=lambda y, a, r, t=turned: np.where((y == "yes") ^ t, "p", "q").astype(object))
        assert findings(table, y, groups) == {"income": "flagged", **known}


def test_allowed_columns_are_flagged_instead() -> None:
    table, y, groups = data(result=COLUMNS["result"][0])
    assert findings(table, y, groups, allow=["result"])["result"] == "flagged"


def test_several_classes() -> None:
    rng = np.random.default_rng(2)
    y = rng.integers(0, 4, N)
    table = table_of({"copy": y * 10.0 + rng.random(N), "word": text(y), "good": y + rng.normal(0, 1, N)})
    assert findings(table, y, {}) == {"copy": "refused", "word": "refused"}


def test_regression() -> None:
    rng = np.random.default_rng(3)
    y = rng.normal(size=N)
    bins = text(np.digitize(y, np.linspace(-3, 3, 20)))
    table = table_of({"copy": -3 * y + 1e-3 * rng.normal(size=N), "good": y + 0.2 * rng.normal(size=N), "bins": bins})
    assert findings(table, y, {}, regression=True) == {"copy": "refused"}
    values = rng.integers(0, 5, N).astype(float)
    assert findings(table_of({"word": text(values)}), values, {}, regression=True) == {"word": "refused"}


def test_rare_classes_say_nothing() -> None:
    y = np.array(["yes"] * 4 + ["no"] * (N - 4), dtype=object)
    table = table_of({"x": np.r_[np.ones(4), np.zeros(N - 4)]})
    assert findings(table, y, {}) == {}
    assert findings(table, y, {"g": np.full(N, None, dtype=object)}) == {}


def test_huge_numbers_are_screened() -> None:
    rng = np.random.default_rng(5)
    y = rng.integers(0, 3, N)
    table = table_of({"copy": (y + 1) * 1e300, "noise": rng.random(N) * 1e300})
    assert findings(table, y, {}) == {"copy": "refused"}
    assert findings(table, y == 0, {}) == {"copy": "refused"}
    assert findings(table, table.columns["copy"].numbers, {}, regression=True) == {"copy": "refused"}


def test_labels_must_fit() -> None:
    table, y, groups = data()
    with pytest.raises(InputError, match="expected 600"):
        screen(TrainingRows.of(table, ["age"]), y[:5], groups)


def test_columns_that_tell_the_group_only_together_are_named() -> None:
    rng = np.random.default_rng(2)
    left, right = rng.integers(0, 2, N), rng.integers(0, 2, N)
    more = {"left": lambda y, a, r: left.astype(float), "right": lambda y, a, r: text(right)}
    table, y, _ = data(**more)
    several = np.array(list("abc"), dtype=object)[(left + 2 * right) % 3]
    for group in (np.where(left ^ right, "F", "M").astype(object), several):
        found = screen(TrainingRows.of(table, list(table.columns)), y, {"sex": group})
        (joint,) = [each for each in found if len(each.columns) > 1]
        assert {"left", "right"} <= set(joint.columns)
        assert (joint.kind, "together tell 'sex'" in joint.sentence) == ("flagged", True)
        assert {"left", "right"} <= set(joint.sentence.replace(",", " ").replace(":", " ").split())
        assert "--drop" in joint.sentence
    assert not [
        each
        for each in screen(TrainingRows.of(table, list(table.columns)), y, {"sex": y})
        if "together" in each.sentence
    ]


def test_names_that_look_sensitive_are_one_sentence() -> None:
    names = ["income", "maritalStatus", "AGE", "mortgage", "post code", "hispanic_origin", "cap", "page", "zip_code"]
    (found,) = sensitive_finding(names)
    assert found.sentence == (
        "Columns that look sensitive and are read: maritalStatus, AGE, post code, hispanic_origin, cap, zip_code (post "
        "code, cap, zip_code: where people live may stand for groups); leave them out with --drop maritalStatus --drop "
        "AGE --drop 'post code' --drop hispanic_origin --drop cap --drop zip_code."
    )
    assert sensitive_finding(["income", "mortgage"]) == ()


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("sensitive", "Geschlecht Alter Nationalität NATIONALITAET Familienstand sexe Âge edad Età leeftijd género"),
        ("sensitive", "native-country foreign_worker country_of_birth citizenship religion disability NativeCountry"),
        ("sensitive", "état_civil EstadoCivil Stato.Civile Staatsangehörigkeit Geburtsdatum date-naissance geslacht"),
        ("place", "PLZ Postleitzahl code_postal CodigoPostal zip Post-Code kunde_plz"),
        ("sensitive", "driver_age age_at_account_opening vehicle_age_driver_age Alter_Kunde age_group"),
        ("neither", "vehicle_age CarAge age_of_the_building fahrzeug.alter edad_del_vehiculo account-age"),
        ("neither", "income foreign_currency Alternative country page stage civilian usage average origination"),
    ],
)
def test_words_of_several_languages_are_known(kind: str, names: str) -> None:
    for name in names.split():
        found = sensitive_finding([name])
        assert bool(found) == (kind != "neither"), name
        if found:
            assert found[0].columns == (name,)
            assert ("where people live" in found[0].sentence) == (kind == "place")


def test_places_that_are_read_as_numbers_can_be_read_as_codes() -> None:
    (found,) = sensitive_finding(["home zip", "income"], ["home zip", "income"])
    assert "read as a number: if it is a code, give --text 'home zip'." in found.sentence
    assert "--text" not in sensitive_finding(["zip"])[0].sentence


def test_digits_that_are_all_dates_are_no_numbers() -> None:
    days = np.arange("2001-01-01", "2020-01-01", dtype="datetime64[D]")[:N].astype(str)
    written = np.array([float(day.replace("-", "")) for day in days])
    table, y, groups = data(z=lambda *_: written, far=lambda *_: written + 70)
    found = screen(TrainingRows.of(table, list(table.columns)), y, groups)
    said = {each.columns: each.sentence for each in found if each.kind == "dropped"}
    assert "dates in YYYYMMDD format" in said["z",]
    assert not any("far" in names for names in said)
    kept = screen(TrainingRows.of(table, list(table.columns)), y, groups, allow=["z"])
    assert not any("z" in each.columns and each.kind == "dropped" for each in kept)


def test_yes_and_no_in_several_ways_are_named_and_columns_with_one_reason_share_a_sentence() -> None:
    answers = np.array(["ja", "nein", "1", "0"], dtype=object)[np.arange(N) % 4]
    table, y, groups = data(z=lambda *_: answers, one=lambda *_: np.ones(N), two=lambda *_: np.ones(N))
    found = screen(TrainingRows.of(table, list(table.columns)), y, groups)
    said = {each.columns: each.sentence for each in found}
    assert said["z",].startswith("'z' has yes and no in several ways ('0', '1', 'ja', 'nein')")
    assert said["one", "two"] == "Dropped 'one', 'two': one value in all rows."
