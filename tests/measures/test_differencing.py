"""Differencing: nobody who has all outputs of a run together can work out a count of fewer than 10 people.

Each run is of data with few people in many places, its true counts are those of ``--small 0``, and the reader is that
of `tests.support.adversary`. Outputs are also held against one another: a figure is the same wherever it stands.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairfront as ff
from fairfront.measures.published import published_people
from fairfront.runs import Run
from fairfront.runs.pipeline import with_exact_counts
from tests.support.adversary import LIMIT, Guess, audited, beside, evaluated, numbers, recalls_of, small
from tests.support.cli import fairfront
from tests.support.pages import record_of, unpacked
from tests.support.trial import Columns, write_csv

LEFT_OUT, STRAYS, NO_GROUP, RARE, UNKNOWN = 2, 7, 6, 4, 3
"""Rows without a target, people of a tiny group, of no group, of a rare category, and without an identifier."""


def people(seed: int, n: int = 1_100) -> Columns:
    """Draw people of three groups with a few strays; most are decided rightly, so that many counts are small."""
    rng = np.random.default_rng(seed)
    group = rng.choice(["A", "B", "C"], n, p=[0.74, 0.21, 0.05]).astype(object)
    some = iter(np.split(rng.permutation(n), np.cumsum([LEFT_OUT, STRAYS, NO_GROUP, RARE, UNKNOWN])))
    able = rng.normal(size=n) + 0.4 * (group == "A")
    y = np.where(3.0 * able + rng.logistic(size=n) > -1.5, "yes", "no").astype(object)
    y[next(some)], group[next(some)], group[next(some)] = "", "Tiny", ""
    trade = rng.choice(["a", "b"], n).astype(object)
    trade[next(some)] = "rare"
    code = np.array([f"P{i}" for i in range(n)], dtype=object)
    code[next(some)] = ""
    grade = np.where(able > 2.2, "top", np.where(y == "no", "low", "middle")).astype(object)
    return {
        "code": code,
        "group": group,
        "sex": rng.choice(["f", "m"], n),
        "able": np.round(able, 3),
        "other": np.round(rng.normal(size=n), 3),
        "trade": trade,
        "weight": rng.integers(1, 4, n),
        "y": y,
        "grade": grade,
        "wage": np.round(10.0 + 2.0 * able + rng.normal(size=n)),
    }


PLAIN = ("--target", "y", "--favourable", "yes", "--groups", "group,sex", "--drop", "weight", "--drop", "grade")
ASKED: dict[str, tuple[Any, ...]] = {
    "two labels": (*PLAIN, "--drop", "wage"),
    "other people": (*PLAIN, "--drop", "wage"),
    "crossed": (*PLAIN, "--drop", "wage", "--cross", "--notion", "equalized_odds"),
    "approval rate": (*PLAIN, "--drop", "wage", "--approval-rate", 0.9),
    "weights": (*PLAIN[:6], "--weight", "weight", "--drop", "grade", "--drop", "wage"),
    "several labels": (
        *("--target", "grade", "--favourable", "middle", *PLAIN[4:8], "--drop", "y", "--drop", "wage"),
        *("--loss", "softmax", "--notion", "demographic_parity"),
    ),
    "values": (*("--target", "wage", *PLAIN[4:], "--drop", "y", "--loss", "squared", "--notion", "group_loss"),),
}


@dataclass(frozen=True)
class Outputs:
    """All that was written and said about one run, and the run with exact counts, which nobody else has."""

    folder: Path
    run: Run
    exact: Run
    page: dict[str, Any]
    said: str


@pytest.fixture(scope="module")
def outputs_of(tmp_path_factory: pytest.TempPathFactory) -> Any:
    @cache
    def made(name: str) -> Outputs:
        folder = tmp_path_factory.mktemp("outputs")
        file = write_csv(people(5 if name == "other people" else 2), folder / "rows.csv")
        traced = fairfront("trace", file, *ASKED[name], "--points", 3, "--min-size", 10, "-o", folder / "run")
        chosen = fairfront("select", folder / "run", "--knee", "-o", folder / "model")
        shown = fairfront("show", folder / "run") + fairfront("show", folder / "run", "--json")
        fairfront("report", folder / "run", "-o", folder / "page.html")
        run = ff.load(folder / "run")
        exact = with_exact_counts(run, file, progress=False)
        return Outputs(folder, run, exact, record_of(folder / "page.html"), traced + chosen + shown)

    return made


def rows_in(run: Run) -> dict[str, list[Any]]:
    """Return the counts of rows that stand in the files of a run as they are, or that two of them leave."""
    record = run.frontier.evaluations["validation"]
    found: dict[str, list[Any]] = {"validation": [], "details": [], "test": []}
    for rates in record.groups.values():
        labelled = getattr(rates, "labelled", None)
        found["validation"] += [rates.n, record.n - rates.n.sum(), *([] if labelled is None else [labelled])]
    assert run.details is not None
    for attribute in run.details.attributes:
        found["details"].append(attribute["n"])
        for rate in attribute["rates"].values():
            found["details"] += [rate[side] for side in ("gained", "lost") if side in rate]
        bins = [each["n"] for by_id in attribute["calibration"] or () for each in by_id if each is not None]
        found["details"] += bins
    for point in run.tested.values():
        for lines in point["groups"].values():
            known = {"n": numbers(lines, "rows")}
            if "labelled_favourable" in lines[0]:
                known["positives"] = numbers(lines, "labelled_favourable")
            if "selection" in lines[0] and not point["weighted"]:
                selected = numbers(lines, "selection") * known["n"]
                known["selected"] = np.rint(selected)
                np.testing.assert_allclose(selected, known["selected"], atol=1e-6)
            found["test"] += [values[~np.isnan(values)] for values in known.values()]
            found["test"].append(known["n"][-1] - np.nansum(known["n"][:-1]))
            others = [values for name, values in known.items() if name != "n"]
            found["test"] += [(known["n"] - values)[~np.isnan(values)] for values in others]
        found["test"] += [
            np.array(moved[side])[:, 0] for moved in point["moves"].values() for side in ("gained", "lost")
        ]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", ASKED)
def test_no_small_count_stands_anywhere(name: str, outputs_of: Any) -> None:
    outputs = outputs_of(name)
    for where, counts in rows_in(outputs.run).items():
        for each in counts:
            assert not small(each).size, (where, each)
    exact = rows_in(outputs.exact)
    assert all(any(small(each).size for each in exact[where]) for where in ("validation", "test"))  # they are there


UNWEIGHTED = ("two labels", "other people", "crossed", "approval rate")


def tables_of(outputs: Outputs) -> Iterator[tuple[str, np.ndarray, np.ndarray, np.ndarray]]:
    """Give the tables of all points on validation and test, as published and exact, with the totals published."""
    shown, exact = (run.frontier.evaluations["validation"] for run in (outputs.run, outputs.exact))
    good = outputs.run.frontier.facts.task.favourable
    for name, place in product(shown.groups, range(shown.n_models)):
        both = (evaluated(record, name, place, good) for record in (shown, exact))
        yield f"validation, {name}, point {place}", *beside(*both)
    for id, point in outputs.run.tested.items():
        true = outputs.exact.tested[id]["groups"]
        for name, lines in point["groups"].items():
            yield f"test, {name}, id {id}", *beside(audited(lines), audited(true[name]))


def sums_of(cells: np.ndarray) -> Iterator[tuple[Any, float]]:
    """Give the places of all counts of a table: of cells, of labels, of decisions and of groups, with the counts."""
    for g in range(len(cells)):
        places: list[Any] = [*((g, label, decision) for label, decision in np.ndindex(2, 2)), (g,)]
        places += [(g, label) for label in range(2)] + [(g, slice(None), decision) for decision in range(2)]
        yield from ((place, float(cells[place].sum())) for place in places)


@pytest.mark.slow
@pytest.mark.parametrize("name", UNWEIGHTED)
def test_no_small_count_can_be_worked_out(name: str, outputs_of: Any) -> None:
    right = tried = 0
    for where, shown, exact, total in tables_of(outputs_of(name)):
        assert not small(shown[:-1]).size, (where, shown)
        guess = Guess(shown, total)
        for place, count in sums_of(exact):
            if 0 < count < LIMIT:
                known = guess.range(place)
                assert known is None or known[0] < known[1] or known[0] != count, (where, place, count, known)
                tried, right = tried + 1, right + (known is not None and known[0] <= count <= known[1])
    assert right > 0.8 * tried > 8  # what the reader assumes is so: it is not for want of wit that nothing was found


def test_the_reader_works_out_what_is_not_protected(outputs_of: Any) -> None:
    """Leave the figures of one group out, as a table that hides small counts does: its counts are what is left."""
    found = 0
    for _, _, exact, _ in tables_of(outputs_of("two labels")):
        g = int(exact.sum(axis=(1, 2)).argmin())
        guess = Guess(exact, exact.sum(axis=0), hidden=(g,), exact=True)
        for place, count in sums_of(exact):
            if place[0] == g and 0 < count < LIMIT:
                assert guess.range(place) == (count, count)
                found += 1
    assert found > 10


def test_the_reader_works_out_counts_that_are_rounded_one_by_one() -> None:
    """Seven and twelve missed people of 19, each rounded by itself, are known: both roundings went all the way."""
    exact = np.array([[[93.0, 7.0], [60.0, 60.0]], [[108.0, 12.0], [60.0, 60.0]]])
    guess = Guess(exact, exact.sum(axis=0), hidden=(0, 1), exact=True)
    for g, (low, high) in enumerate(((3, 7), (8, 12))):
        guess.know((g, 0, 1), low, high)
    assert guess.range((0, 0, 1)) == (7.0, 7.0)


@pytest.mark.slow
def test_several_classes_leave_no_small_count(outputs_of: Any) -> None:
    outputs = outputs_of("several labels")
    shown, exact = (run.frontier.evaluations["validation"] for run in (outputs.run, outputs.exact))
    good = outputs.run.frontier.facts.task.favourable
    for name in shown.groups:
        for counts in recalls_of(shown, name):
            assert not small(counts).size
        assert any(small(counts).size for counts in recalls_of(exact, name))
    _, totals, _ = published_people(exact.sums.everyone.rows, good)
    assert not small([totals.hits, totals.labels - totals.hits]).size
    np.testing.assert_allclose(shown["error"] * shown.n, totals.wrong[:, 0])
    np.testing.assert_allclose(shown["approval_rate"] * shown.n, totals.chosen[:, 0])


def test_rows_that_were_left_out_are_not_counted(outputs_of: Any) -> None:
    outputs = outputs_of("two labels")
    manifest = json.loads((outputs.folder / "run" / "manifest.json").read_text())
    used = sum(manifest["split"]["rows"].values())
    assert manifest["rows_without_target"] == "fewer than 10"
    assert manifest["columns"]["n"] - used in (0, 5, 10)
    assert manifest["columns"]["n"] - used != LEFT_OUT
    assert f"{manifest['columns']['n']} rows. Numeric columns" in outputs.said
    for column in manifest["columns"]["columns"]:
        assert not small(manifest["columns"]["n"] - column["n_distinct"]).size
        assert isinstance(column["n_missing"], str) or not small(column["n_missing"]).size
    (told,) = (found["sentence"] for found in manifest["findings"] if "code" in found["columns"])
    values, rows = map(int, re.findall(r"(\d+) distinct values in (\d+) rows", told)[0])
    assert not small([values - rows, manifest["split"]["rows"]["train"] - rows]).size


def test_rows_of_weight_0_are_not_counted(tmp_path: Path) -> None:
    rows = people(0)
    rows["weight"][:4] = 0
    file = write_csv(rows, tmp_path / "rows.csv")
    said = fairfront("trace", file, *ASKED["weights"], "--points", 3, "--min-size", 10, "-o", tmp_path / "run")
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["columns"]["n"] - sum(manifest["split"]["rows"].values()) in (0, 5, 10)
    assert "Rows with 0 in 'weight' were left out: fewer than 10." in said


@pytest.mark.slow
@pytest.mark.parametrize("name", ASKED)
def test_no_sentence_tells_a_small_count(name: str, outputs_of: Any) -> None:
    outputs = outputs_of(name)
    texts = [outputs.said, *(path.read_text() for path in outputs.folder.rglob("*.md"))]
    texts += [path.read_text() for path in outputs.folder.rglob("*.json")]
    for text in texts:
        told = re.findall(r"(?<![\d.])(\d+) (?:people|rows|persons|of them)\b", text)
        assert not small([float(count) for count in told]).size
        for word in ("Tiny", "rare"):
            assert not re.search(rf"\b{word}\b \(\d", text)


def rows_of(line: dict[str, Any]) -> str:
    """Write the rows of a group as cards do, as what they can be where they are rounded."""
    return "-".join(f"{end:.0f}" for end in line.get("rows_could_be", [line["rows"]]))


@pytest.mark.parametrize("name", ASKED)
def test_a_figure_is_the_same_wherever_it_stands(name: str, outputs_of: Any) -> None:
    outputs = outputs_of(name)
    front, page, details = outputs.run.frontier, outputs.page, outputs.run.details
    record, part = front.evaluations["validation"], page["parts"][0]
    for column, values in record.columns.items():
        np.testing.assert_array_equal(unpacked(part["columns"][column]), values)
    for rates, there, here in zip(record.groups.values(), part["attributes"], details.attributes, strict=True):
        assert there["levels"] == here["levels"] == list(rates.levels)
        assert there["n"] == here["n"] == np.round(rates.n).tolist()
        for rate, values in there["rates"].items():
            np.testing.assert_allclose(unpacked(values), rates.rate(rate).ravel(), rtol=1e-6)
    decision = json.loads((outputs.folder / "model" / "decision.json").read_text())
    shown = json.loads(outputs.said[outputs.said.rindex('{\n "format": "fairfront options"') :])
    for each in (*decision["candidates"], *shown["options"]):
        for column in set(each) & set(record.columns):
            value = record[column][front.place(each["id"])]
            assert each[column] == value or (each[column] is None and np.isnan(value))
    card = (outputs.folder / "model" / "card.md").read_text()
    for lines in outputs.run.tested[str(decision["id"])]["groups"].values():
        assert all(f"| {rows_of(line)} |" in card for line in lines)
    for point in outputs.run.tested.values():
        everyone = [lines[-1] for lines in point["groups"].values()]
        for name in ("rows", "labelled_favourable", "selection", "error", "mse"):
            known = [line[name] for line in everyone if name in line]
            assert all(value == known[0] for value in known)
        for name in ("selection", "error", "mse"):
            for line in (line for line in everyone if name in line):
                assert point["figures"][name]["value"][0] == pytest.approx(line[name][0], abs=1e-6, rel=1e-6)


@pytest.mark.parametrize("name", UNWEIGHTED)
def test_who_gains_and_loses_follows_from_the_rates(name: str, outputs_of: Any) -> None:
    run = outputs_of(name).run
    rates = run.frontier.evaluations["validation"].groups
    places = [run.frontier.place(id) for id in run.details.ids]
    plain = run.frontier.place(run.details.plain)
    for attribute in run.details.attributes:
        known = rates[attribute["name"]]
        hits = np.nan_to_num(known.tpr * known.positives)
        moved = attribute["rates"]["tpr"]
        net = np.array(moved["gained"])[:, :-1] - np.array(moved["lost"])[:, :-1]
        given = ~np.isnan(known.tpr[0])
        exact = (hits[places] - hits[plain])[:, given]
        assert np.abs(net[:, given] - exact).max() <= 2.5  # as far as a small side is rounded
