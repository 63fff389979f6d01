"""A file as banks have it: semicolons, Latin-1 or a byte order mark, currency, percent, and dates with the day first.

Everything is drawn with a fixed seed and describes nobody.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

NAMES = (
    "application no;application date;zip;income;debt ratio;term;branch;age;marital status;race;sex;comment;term;rating;"
    "channel;decision"
)
KINDS = {
    "zip": "category",
    "income": "number",
    "debt ratio": "number",
    "term": "number",
    "branch": "category",
    "age": "number",
    "marital status": "category",
    "rating": "number",
    "channel": "category",
}
"""What every column that is learnt from must be."""
DROPPED = ("application no", "application date", "comment", "term (2)")


def messy_lines(n: int = 1500, seed: int = 0) -> list[str]:
    """Return the header and n rows."""
    rng = np.random.default_rng(seed)
    lines = [NAMES]
    zips = rng.choice([614, 1067, 4109, 10115, 20095, 50667, 80331, 99084], n)
    for i in range(n):
        race, sex = rng.choice(["White", "Black", "Other"], p=[0.6, 0.25, 0.15]), rng.choice(["M", "F"])
        earned = rng.gamma(4.0, 15_000.0) + 9_000.0 * (sex == "M") + 8_000
        owed, term = rng.uniform(5, 60), int(rng.choice([12, 24, 36, 60]))
        good = rng.random() < 1 / (1 + np.exp(-(0.9 + (earned - 65_000) / 30_000 - (owed - 30) / 18)))
        day = np.datetime64("2023-01-01") + int(rng.integers(0, 700))
        date = f"{day.item():%d.%m.%Y}"
        income = "k. A." if rng.random() < 0.02 else f"€{earned:,.0f}"
        comment = f"Kunde {i} hat {rng.integers(1, 999)} Fragen zum Kredit gestellt für später"
        rating = f"{rng.normal(3, 0.5):.2f}".replace(".", ",")
        cells = (
            f"A-{rng.integers(10**6, 10**7)}-{i}", date, f"{zips[i]:05d}", income, f"{owed:.1f} %".replace(".", ","),
            str(term), rng.choice(["Zürich", "Köln", "Graz"]), str(rng.integers(18, 80)),
            rng.choice(["single", "married", "divorced"]), race, sex, comment, str(term), rating,
            rng.choice(["web", "shop"]), "paid" if good else "default",
        )  # fmt: skip
        lines.append(";".join(map(str, cells)))
    return lines


def write_messy(path: Path, encoding: str = "cp1252", n: int = 1500, seed: int = 0) -> Path:
    """Write the file; the encoding utf-8-sig has a byte order mark."""
    path.write_bytes("\r\n".join(messy_lines(n, seed)).encode(encoding))
    return path
