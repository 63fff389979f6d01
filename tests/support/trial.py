"""Rows of the shapes on which figures once went wrong: eight skewed groups, heavy weights, nine classes, a few strays.

Everything is drawn with a fixed seed and describes nobody. Columns are returned as a mapping of names to arrays, which
`write_csv` puts into a file for the commands and `matrix` turns into features for Python.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np

Columns = dict[str, np.ndarray]

RACES = {
    "White": (0.839, 0.0),
    "Black": (0.062, -1.5),
    "Asian": (0.039, -0.5),
    "Hispanic": (0.022, -0.9),
    "Mexican": (0.018, -0.9),
    "Other": (0.014, -0.4),
    "Amerindian": (0.004, -0.8),
    "Puertorican": (0.002, -1.2),
}
"""Share of the students, and how far below the others' their scores lie, in standard deviations."""
ORIGINS = {"White": 0.84, "Black": 0.10, "Asian": 0.033, "Other": 0.019, "Amer Indian": 0.008}
CLASSES = tuple("abcdefghi")


def students(n: int = 22_000, seed: int = 0) -> Columns:
    """Draw students of eight races, most of them of one; nine in ten pass, so a cut-off of 0.5 lets nearly all pass."""
    rng = np.random.default_rng(seed)
    race = rng.choice(list(RACES), n, p=[share for share, _ in RACES.values()])
    sex = rng.choice(["F", "M"], n, p=[0.44, 0.56])
    below = np.array([RACES[each][1] for each in race])
    able = rng.normal(size=n) + 0.6 * below
    lsat = 37.0 + 5.5 * (0.7 * able + 0.5 * below + 0.6 * rng.normal(size=n))
    ugpa = 3.2 + 0.4 * (0.5 * able + 0.8 * rng.normal(size=n))
    family = np.clip(np.rint(3.5 + 0.5 * below + rng.normal(size=n)), 1, 5)
    passed = rng.random(n) < 1.0 / (1.0 + np.exp(-(2.75 + 1.3 * able + 0.2 * (ugpa - 3.2))))
    return {
        "race": race,
        "sex": sex,
        "lsat": np.round(lsat, 1),
        "ugpa": np.round(ugpa, 2),
        "family_income": family,
        "outcome": np.where(passed, "passed", "failed"),
    }


def census(n: int = 300_000, seed: int = 0) -> Columns:
    """Draw weighted people of five races, six in a hundred with a high income; weights have a mean of about 1 740."""
    rng = np.random.default_rng(seed)
    race = rng.choice(list(ORIGINS), n, p=list(ORIGINS.values()))
    sex = rng.choice(["Female", "Male"], n, p=[0.524, 0.476])
    age = np.clip(np.rint(rng.gamma(4.0, 10.0, n)), 0, 90)
    study = np.clip(np.rint(rng.normal(12.0, 3.0, n) - 0.8 * (race != "White")), 0, 20)
    weeks = np.where(rng.random(n) < 0.47, 0.0, rng.integers(1, 53, n))
    kind = rng.choice(["private", "public", "own", "none"], n, p=[0.37, 0.08, 0.07, 0.48])
    trade = rng.choice([f"trade {k}" for k in range(24)], n)
    latent = -4.7 + 0.2 * (study - 12) + 0.035 * weeks + 0.02 * (age - 40) + 1.3 * (sex == "Male")
    rich = rng.random(n) < 1.0 / (1.0 + np.exp(-(latent + 2.0 * (kind == "own"))))
    return {
        "race": race,
        "sex": sex,
        "age": age,
        "study": study,
        "weeks": weeks,
        "kind": kind,
        "trade": trade,
        "instance_weight": np.round(rng.gamma(3.0, 580.0, n) + 40.0, 2),
        "income": np.where(rich, "50000+.", "- 50000."),
    }


def nine_classes(n: int = 6_000, seed: int = 0) -> Columns:
    """Draw people of nine income classes and two groups, the classes of very different sizes."""
    rng = np.random.default_rng(seed)
    group = rng.choice(["x", "y"], n, p=[0.7, 0.3])
    able = rng.normal(size=n) - 0.4 * (group == "y")
    X = np.column_stack([able + 0.7 * rng.normal(size=n), rng.normal(size=n), rng.normal(size=n)])
    latent = able + 0.5 * X[:, 1] + 0.8 * rng.normal(size=n)
    edges = np.quantile(latent, [0.25, 0.4, 0.52, 0.62, 0.72, 0.82, 0.9, 0.96])
    label = np.array(CLASSES)[np.digitize(latent, edges)]
    return {"group": group, **{f"f{k}": np.round(X[:, k], 4) for k in range(3)}, "income": label}


def strays(n: int = 4_000, seed: int = 0) -> Columns:
    """Draw two groups and three people of a third, whose code is a slip of the pen."""
    found = students(n, seed)
    race = np.where(found["race"] == "White", "White", "Other").astype(object)
    race[np.random.default_rng(seed).choice(n, 3, replace=False)] = "Tiny"
    return {**found, "race": race.astype(str)}


def matrix(columns: Columns, *names: str) -> np.ndarray:
    """Return numeric columns standardised, and one-hot columns of the others."""
    parts = []
    for name in names:
        values = columns[name]
        if values.dtype.kind in "US":
            parts += [(values == level).astype(float) for level in np.unique(values)]
        else:
            parts.append((values - values.mean()) / values.std())
    return np.column_stack(parts)


def write_csv(columns: Columns, path: Path) -> Path:
    """Write columns as a CSV file."""
    with path.open("w", newline="", encoding="utf-8") as file:
        rows: Any = csv.writer(file)
        rows.writerow(columns)
        rows.writerows(zip(*(values.tolist() for values in columns.values()), strict=True))
    return path
