"""Runs of other kinds than two classes and one linear model: several classes, values, boosted trees, tiny groups."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import fairfront as ff
from tests.support.cli import fairfront
from tests.support.edits import reseal
from tests.support.extras import need
from tests.support.trial import census, strays, write_csv

BASE = ("--target", "y", "--points", 4)


def write(path: Path, columns: dict[str, list]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


def people(n: int = 3000, seed: int = 0) -> tuple[dict[str, list], np.ndarray]:
    """Return features and groups of people, and a score that depends on both."""
    rng = np.random.default_rng(seed)
    x, sex, area = rng.normal(size=(n, 3)), rng.choice(["f", "m"], n), rng.choice(["n", "s", "w"], n, p=[0.5, 0.4, 0.1])
    score = x[:, 0] + 0.6 * (sex == "m") + 0.4 * (area == "n") + 0.7 * rng.normal(size=n)
    columns = {f"x{k}": [round(float(v), 6) for v in x[:, k]] for k in range(3)}
    return columns | {"sex": sex.tolist(), "area": area.tolist()}, score


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("kinds")
    columns, score = people()
    write(place / "values.csv", {**columns, "y": [round(float(v), 6) for v in score]})
    write(
        place / "classes.csv", {**columns, "y": [("low", "middle", "high")[k] for k in np.digitize(score, [-0.7, 1])]}
    )
    write(place / "two.csv", {**columns, "y": [("no", "yes")[int(v > 0.3)] for v in score]})
    return place


def test_values(folder: Path, tmp_path: Path) -> None:
    settings = ("--loss", "squared", "--groups", "sex,area", "--notion", "disparate_mistreatment")
    said = fairfront("trace", folder / "values.csv", *BASE, *settings, "-o", tmp_path / "run")
    assert "mse gap upper" in said  # of standard errors
    (next_line,) = (line for line in said.splitlines() if "fairfront select" in line)
    rule = next_line.split("--least-gap ")[1].split(" -o")[0].replace("--within ", "").split()
    assert rule[0] == "mse"
    suggested = json.loads(fairfront("show", tmp_path / "run", "--json"))["suggested"]
    said = fairfront("select", tmp_path / "run", "--least-gap", rule[0], "--within", rule[1], "-o", tmp_path / "model")
    assert f"id {suggested}: the smallest mse_gap (95% upper bound)" in said  # by the line to type
    assert "Means per group of sex" in fairfront("show", tmp_path / "run")
    card = (tmp_path / "model" / "card.md").read_text()
    assert "values are predicted, there is none" in card
    assert "| prediction, unconstrained | prediction |" in card
    assert "confidence)" not in card.split("| Rule |")[1].split("\n")[0]


def test_the_notion_of_values_is_found_by_itself() -> None:
    settings = ff.runs.Settings(target="y", groups=("sex",), loss="squared")
    assert settings.notion == ("disparate_mistreatment",)
    assert ff.runs.Settings(target="y", groups=("sex",), favourable="a").notion == ("equal_opportunity",)


def test_levels_are_those_of_a_column() -> None:
    with pytest.raises(ff.InputError, match="strata is for levels of control, found none; name a column"):
        ff.runs.Settings(target="y", groups=("sex",), favourable="a", strata="each")


@pytest.mark.slow
def test_several_classes(folder: Path, tmp_path: Path) -> None:
    said = fairfront(
        "trace", folder / "classes.csv", *BASE, "--groups", "sex,area", "--favourable", "high", "-o", tmp_path / "run"
    )
    assert "recall gap" in said  # the notion compares the people of every label
    fairfront("select", tmp_path / "run", "--knee", "-o", tmp_path / "model")
    card = (tmp_path / "model" / "card.md").read_text()
    assert "Probabilities are those of high." in card
    line = next(each for each in card.splitlines() if each.startswith("| test | f |"))
    assert "(" in line.split("|")[6], line  # favourable decisions have a rate and an interval


@pytest.mark.slow
@pytest.mark.parametrize("more", [("--max-fits", "4"), ("--units", "rates")], ids=["weighted", "rates"])
def test_boosted_trees_from_file_to_predictions(folder: Path, tmp_path: Path, more: tuple[str, ...]) -> None:
    need("skops")
    run, data = tmp_path / "run", folder / "two.csv"
    base = ("--target", "y", "--favourable", "yes", "--groups", "sex", "--model", "boosting")
    rates = "rates" in more
    said = fairfront("trace", data, *base, *more, "-o", run)
    assert ("it guesses the group from the features" in " ".join(said.split())) == rates
    assert "--trust" not in said  # fairfront knows the types that it writes itself
    assert "unconstrained" in fairfront("show", run)
    model = tmp_path / "model"
    fairfront("select", run, "--least-gap", "tpr", "-o", model)
    assert ("it guesses the group from the features" in (model / "card.md").read_text()) == rates
    fairfront("predict", model, data, "-o", tmp_path / "out.csv")
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 3001
    fairfront("verify", run, data)
    assert "unconstrained" in fairfront("show", run)


def test_rates_are_of_decisions(folder: Path, tmp_path: Path) -> None:
    base = ("trace", folder / "two.csv", "--target", "y", "--groups", "sex", "-o", tmp_path / "run", "--units", "rates")
    assert "found a regression" in fairfront(*base, "--loss", "squared", code=2)
    base = (*base, "--favourable", "yes")
    assert "--surrogate is for units of losses" in fairfront(*base, "--surrogate", "rate", code=2)
    assert "--max-fits is for the model 'boosting'" in fairfront(*base, "--max-fits", "4", code=2)


def test_rates_from_file_to_predictions(folder: Path, tmp_path: Path) -> None:
    """Logistic posteriors are arrays: nothing of skops is written, and loading executes nothing."""
    run, data, model = tmp_path / "run", folder / "two.csv", tmp_path / "model"
    base = ("--target", "y", "--favourable", "yes", "--groups", "sex", "--units", "rates", "--approval-rate", 0.4)
    said = " ".join(fairfront("trace", data, *base, "--points", 6, "-o", run).split())
    assert "Operating point: approval rate 0.4, inside the rules." in said
    fairfront("select", run, "--least-gap", "tpr", "--within", "error=0.2", "-o", model)
    assert not list(tmp_path.rglob("*.skops"))
    assert "it guesses the group from the features" in (model / "card.md").read_text()
    fairfront("predict", model, data, "-o", tmp_path / "out.csv")
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert abs(sum(line.startswith("yes") for line in lines) / len(lines) - 0.4) < 0.05
    chosen = ff.load(model)
    P = chosen.predict_proba(data)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert lines[0] == "prediction,probability_no,probability_yes,score_yes"  # of the label, and of the rule
    np.testing.assert_allclose([float(line.split(",")[2]) for line in lines[1:]], P[:, 1])
    assert (chosen.predict(data) == np.array([line.split(",")[0] for line in lines[1:]])).all()
    fairfront("verify", run, data)
    fairfront("verify", model, run)


def test_the_least_gap_is_a_gap(folder: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    words = ("--groups", "sex", "--favourable", "yes", "--notion", "equalized_odds", "-o", run)
    said = fairfront("trace", folder / "two.csv", *BASE, *words)
    assert "TPR gap" in said
    assert "FPR gap" in said
    said = fairfront("select", run, "--least-gap", "error", "--within", "error=0.5", "-o", tmp_path / "model")
    assert "the smallest error_gap" in said


def test_a_model_that_decides_everyone_alike_is_a_run_too(tmp_path: Path) -> None:
    columns, _ = people(600)
    data = write(tmp_path / "weak.csv", {**columns, "y": ["yes" if i % 3 else "no" for i in range(600)]})
    fairfront("trace", data, *BASE, "--favourable", "yes", "--groups", "sex", "-o", tmp_path / "run")
    fairfront("select", tmp_path / "run", "--id", 0, "-o", tmp_path / "model")
    assert "This model is the unconstrained one" in (tmp_path / "model" / "card.md").read_text()


def test_rare_levels_and_identifiers_are_in_no_file(tmp_path: Path) -> None:
    secret = "Zanzibar-7f3a"
    columns, score = people(2000)
    columns["note"] = [secret if i < 4 else "ab"[i % 2] for i in range(2000)]
    columns["code"] = [f"{secret}{i}" for i in range(2000)]
    data = write(tmp_path / "people.csv", {**columns, "y": ["yes" if v > 0 else "no" for v in score]})
    fairfront("trace", data, *BASE, "--favourable", "yes", "--groups", "sex,area", "-o", tmp_path / "run")
    for id in (0, 2):
        fairfront("select", tmp_path / "run", "--id", id, "-o", tmp_path / f"model{id}")
    written = [p for p in tmp_path.rglob("*") if p.is_file() and p != data]
    assert len(written) > 15
    for path in written:
        assert secret.encode() not in path.read_bytes(), path


def test_groups_of_few_people_are_in_the_card(tmp_path: Path) -> None:
    columns, score = people(2500)
    for i in range(0, 2500, 25):
        columns["area"][i] = "tiny"  # a hundred people, of whom few on test have each label
    data = write(tmp_path / "people.csv", {**columns, "y": ["yes" if v > 1.6 else "no" for v in score]})
    fairfront("trace", data, *BASE, "--favourable", "yes", "--groups", "area", "--min-size", 10, "-o", tmp_path / "run")
    fairfront("select", tmp_path / "run", "--id", 1, "-o", tmp_path / "model")
    card = (tmp_path / "model" / "card.md").read_text()
    assert "| area | tiny | 20 |" in card


def test_other_peoples_folders_and_names_stay(folder: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "precious.txt").write_text("x")
    words = ("--favourable", "yes", "--groups", "sex")
    said = fairfront("trace", folder / "two.csv", *BASE, *words, "--overwrite", "-o", home, code=2)
    assert "other things" in said
    (home / "manifest.json").write_text('{"about": "my own notes, which mention fairfront"}')
    said = fairfront("trace", folder / "two.csv", *BASE, *words, "--overwrite", "-o", home, code=2)
    assert "(manifest.json)" in said
    assert sorted(each.name for each in home.iterdir()) == ["manifest.json", "precious.txt"]
    run = tmp_path / "run"
    fairfront("trace", folder / "two.csv", *BASE, *words, "-o", run)
    fairfront("select", run, "--id", 0, "-o", tmp_path / "model")
    columns, _ = people(50)
    new = write(tmp_path / "new.csv", {**columns, "prediction": list(range(50))})
    out = tmp_path / "out.csv"
    said = fairfront("predict", tmp_path / "model", new, "--keep", "prediction", "-o", out, code=2)
    assert "prediction" in said
    assert not out.exists()
    manifest = run / "manifest.json"
    found = json.loads(manifest.read_text())
    for change, words in (
        ({"schema": 99}, "upgrade"),
        (
            {"schema": 1, "fairfront": "0.1.0"},
            "has schema 1, expected 5; fairfront 0.1.0 wrote it: use that version, or trace again",
        ),
        ({"settings": None}, "settings"),
    ):
        manifest.write_text(json.dumps(found | change))
        assert "was changed after it was written" in fairfront("show", run, code=2)
        reseal(run)
        assert words in fairfront("show", run, code=2)


def test_three_strays_leave_every_gap_defined(tmp_path: Path) -> None:
    data = write_csv(strays(), tmp_path / "strays.csv")
    words = ("--target", "outcome", "--favourable", "passed", "--groups", "race")
    said = fairfront("trace", data, *words, "-o", tmp_path / "run")
    assert "not defined" not in said
    fairfront("select", tmp_path / "run", "--id", 2, "-o", tmp_path / "model")
    card = (tmp_path / "model" / "card.md").read_text()
    assert "| White | 6" in card
    assert "| Other | 1" in card
    assert "Too small to be compared in training: Tiny." in card


def test_weights_are_not_printed_as_people(tmp_path: Path) -> None:
    data = write_csv(census(8000), tmp_path / "census.csv")
    words = ("--target", "income", "--favourable", "50000+.", "--groups", "sex", "--weight", "instance_weight")
    run = tmp_path / "run"
    said = fairfront("trace", data, *words, "-o", run)
    assert "weighted by" in said
    details = json.loads((run / "details.json").read_text())
    for attribute in details["attributes"]:
        assert max(attribute["n"]) <= 1600
        assert max(map(max, attribute["rates"]["selection"]["gained"])) <= 1600
    fairfront("select", run, "--id", 0, "-o", tmp_path / "model")
    card = (tmp_path / "model" / "card.md").read_text()
    assert "weighted by instance\\_weight" in card
    assert "| (all rows) | 1600 |" in card
    refused = fairfront("select", run, "--at-most", "tpr_gap=0.0001", "-o", tmp_path / "other", code=2)
    assert not [int(word) for word in refused.replace(",", " ").split() if word.isdigit() and int(word) > 8000]
