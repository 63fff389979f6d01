"""The tables of the paper's appendix: rows per label and group, counted here beside what is printed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from fairfront.datasets import load_adult

from ..cases import folder
from ..report import Table, thousands
from .data import dataset
from .experiment import Claim, Experiment, Task

SHORT = {"Amer-Indian-Eskimo": "AIE", "Asian-Pac-Islander": "API"}
PRINTED: dict[str, tuple[tuple[str, ...], tuple[int, ...], tuple[int, ...]]] = {
    "Adult, train, gender": (("Female", "Male"), (1196, 6912, 8108), (9352, 15101, 24453)),
    "Adult, test, gender": (("Female", "Male"), (473, 2627, 3100), (3674, 5887, 9561)),
    "Adult, train, race": (
        ("AIE", "API", "Black", "White", "Other"),
        (37, 265, 402, 7380, 24, 8108),
        (275, 697, 2645, 20614, 222, 24453),
    ),
    "Adult, test, race": (
        ("AIE", "API", "Black", "White", "Other"),
        (16, 104, 132, 2827, 21, 3100),
        (107, 237, 1049, 8082, 86, 9561),
    ),
    "COMPAS, sex": (("Female", "Male"), (422, 1416, 1838), (609, 2831, 1006)),
    "COMPAS, race": (("Caucasian", "Not Caucasian"), (859, 979, 1838), (1244, 2196, 1006)),
}
"""Per table of the appendix: groups, then counts of label +1 and of label -1 with their totals."""


def counts() -> dict[str, Any]:
    """Count what the appendix tables count."""
    adult, found = dataset("adult"), {}
    assert adult.split is not None
    for part, rows in zip(("train", "test"), adult.split, strict=True):
        for attribute, words in (("sex", "gender"), ("race", "race")):
            found[f"Adult, {part}, {words}"] = {"+1": _table(adult, attribute, rows)}
    for attribute in ("sex", "race"):
        found[f"COMPAS, {attribute}"] = {
            label: _table(dataset(name), attribute, np.arange(len(dataset(name))))
            for name, label in (("compas", "no recidivism within two years"), ("compas_charge", "charge degree M"))
        }
    files = load_adult(folder(), paper_split=False)
    assert files.split is not None
    whole = np.array([all(value is not None for value in row) for row in zip(*files.columns.values(), strict=True)])
    inside = len(adult.split[0]) - int(whole[files.split[0]].sum())
    return {"tables": found, "inside": inside, "test": len(adult.split[1])}


def _table(data: Any, attribute: str, rows: np.ndarray) -> dict[str, list[int]]:
    names, good = np.asarray(data.columns[attribute])[rows], (np.asarray(data.y) == data.favourable)[rows]
    shown = [SHORT.get(name, name) for name in names]
    shown = [
        "Not Caucasian" if data.name == "compas" and attribute == "race" and n != "Caucasian" else n for n in shown
    ]
    kinds = np.array(shown)
    return {
        group: [int((good & (kinds == group)).sum()), int((~good & (kinds == group)).sum())]
        for group in sorted(set(shown))
    }


def tasks(quick: bool) -> dict[str, Task]:
    """Return the one task."""
    return {"counts": Task(counts, {})}


def page(results: dict[str, Any], folder: Path) -> str:
    """Write the tables."""
    found = results["counts"]
    body = [INTRODUCTION]
    for title, (groups, good, bad) in PRINTED.items():
        rows: list[list[Any]] = [["+1", "paper", *good], ["-1", "paper", *bad]]
        for label, counted in found["tables"][title].items():
            for sign, place in (("+1", 0), ("-1", 1)):
                each = [counted[group][place] for group in groups]
                rows.append([sign, "here" if label == "+1" else f"here: {label} is +1", *each, sum(each)])
        body.append(f"## {title}\n\n{Table(['label', '', *groups, 'total'], rows)}")
    inside, test = thousands(found["inside"]), thousands(found["test"])
    return "\n\n".join([*body, DIFFERENCES.format(inside=inside, test=test)])


def claims(results: dict[str, Any]) -> list[Claim]:
    """Return the rows of the summary."""
    tables = results["counts"]["tables"]
    same = all(
        [tables[title][label][group][place] for group in groups] == list(each[:-1])
        for title, (groups, *both) in PRINTED.items()
        for label in (("+1",) if title.startswith("Adult") else ("charge degree M",))
        for place, each in enumerate(both)
    )
    free, charged = (
        sum(cell[0] for cell in tables["COMPAS, sex"][label].values())
        for label in ("no recidivism within two years", "charge degree M")
    )
    return [
        Claim(
            "Appendix: counts of Adult; of COMPAS with two-year recidivism as the label",
            "six tables; 1 838 rows of COMPAS with +1",
            f"{thousands(free)} rows of COMPAS with +1; by the charge degree {thousands(charged)}",
            "Adult holds; COMPAS counts the charge degree" if same else "counts differ",
        )
    ]


INTRODUCTION = (
    """The appendix describes the data by six tables. "Here" are the rows that the experiments of these pages use."""
)

DIFFERENCES = """## What the counts say

- **Adult.** All counts agree. They are those of the rows of both files in order, without rows that miss a value, cut after the
  32 561st, which is the number of rows of the training file *with* those that miss a value. So {inside} rows of the published test
  file are among the training rows, and {test} are left to test on. The split is kept as it is, because published figures
  rest on it; the repeated splits of [splits](splits.md) and [race](race.md) draw from all rows instead.
- **COMPAS, label.** The text predicts two-year recidivism. The counts of both tables are those of the charge degree (M as
  +1) and not of recidivism, in every cell. Which label the figures of Table 1 have is not stated; [Table 1](table1.md)
  and [bars](bars.md) show both.
- **COMPAS, total.** The total of label -1 is printed as 1006 in both tables; 609 + 2831 and 1244 + 2196 are 3440.
- **COMPAS, groups.** Rows are those of African-American and Caucasian defendants, 5 278; "Not Caucasian" are the former."""

EXPERIMENT = Experiment("counts", "Appendix: the data, counted", tasks, page, claims)
