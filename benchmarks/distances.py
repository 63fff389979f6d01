"""The limit of rules that do not see the group on the data of the benchmarks, and how far models are from it.

`distance` is for tables of any benchmark: it reads the limits that ``python -m benchmarks distances`` keeps.
"""

from __future__ import annotations

import json
import warnings
from functools import cache
from typing import Any

import numpy as np

from fairfront.improvability.attainable import MOST, corrections, learn_rules
from fairfront.improvability.limit import limit_of

from .cases import CASES, TWO_GROUPS, labels_of, loaded
from .report import RESULTS, Section, Table, commit, stored

KEPT = RESULTS / "limit-cases.json"
GAPS = np.linspace(0.0, 0.3, 61)
TOLD = (0.0, 0.02, 0.05)
"""Gaps that tables show."""


def limit_on(case: str, most: int = MOST) -> dict[str, Any]:
    """Return the least error at gaps of TPR of at most so much, at any approval rate, with its band."""
    data, group = loaded(case), CASES[case].group
    once = np.arange(len(data)) if data.split_ids is None else np.unique(data.split_ids, return_index=True)[1]
    rows = np.sort(np.random.default_rng(0).permutation(once)[:most])
    X, (y, favourable) = data.matrix("one_hot", fit_on=rows)[0][rows], labels_of(data)
    groups = np.asarray(data.columns[group]).astype(str).astype(object)[rows]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rules = learn_rules(X, y[rows], groups, str(groups[0]), "tpr", favourable=favourable)
        limit = limit_of(rules, 0.95, 0, corrections(X, rules, 0))
    ends = dict(zip(("error", "low", "high"), limit.error(GAPS), strict=True))
    curve = {name: np.round(each, 5).tolist() for name, each in {"gaps": GAPS, **ends}.items()}
    told = {"rows": len(rows), "calibrated": limit.calibrated, "beaten": limit.beaten, "commit": commit()}
    return {**curve, **told}


@cache
def kept() -> dict[str, Any]:
    return dict(json.loads(KEPT.read_text())) if KEPT.exists() else {}


def distance(case: str, error: float, gap: float) -> tuple[float, float, float]:
    """Return a model's error less the least error at its gap, and the ends that the band leaves for it; NaN where unknown."""
    known = kept().get(case)
    if known is None:
        return (np.nan,) * 3
    value, low, high = (
        error - float(np.interp(abs(gap), known["gaps"], known[name])) for name in ("error", "high", "low")
    )
    return value, low, high


def in_words(case: str, error: float, gap: float) -> str:
    """Return the distance as tables show it, empty where the limit is not known."""
    value, low, high = distance(case, error, gap)
    return "" if np.isnan(value) else f"{value:+.3f} ({low:+.3f} to {high:+.3f})"


def sections(quick: bool) -> list[Section]:
    """Return the limits, and the distances of the peers' stored tables."""
    if quick:
        return [Section("limit", "Quick", [str(limit_on("german", 600)["error"][:3])])]
    KEPT.write_text(json.dumps({case: limit_on(case) for case in TWO_GROUPS}, separators=(",", ":")) + "\n")
    kept.cache_clear()
    return drawn_sections()


def drawn_sections() -> list[Section]:
    """Return the tables of stored limits."""
    rows = []
    for case, found in kept().items():
        cells = [_at(found, gap) for gap in TOLD]
        doubts = [
            text for text, so in (("poorly calibrated", not found["calibrated"]), ("beaten", found["beaten"])) if so
        ]
        rows.append([CASES[case].title, found["rows"], *cells, ", ".join(doubts) or "none", found["commit"]])
    head = ["data", "rows", *[f"least error at gap {gap:g}" for gap in TOLD], "doubts told", "commit"]
    text = (
        "Least error of any rule that does not see the group, at TPR gaps of at most so much and any approval rate, with its "
        f"95 % band for all gaps at once; from at most {MOST} rows, one per person, sensitive columns left out. Beaten: rules that extremely "
        "randomised trees correct do better, so that the limit is lower."
    )
    made = [Section("limit", "The limit on data of the benchmarks", [text, Table(head, rows)])]
    lines = [line for case in kept() for line in _peers(case)]
    if lines:
        words = (
            "Errors and gaps are the means over test rows in the tables of the peers that do not see the group at "
            "prediction; the distance is to the least error at that gap, with the ends that the band leaves, without the "
            "noise of the model's own figures. Many of them are linear models: what boosted trees see is out of their reach."
        )
        table = Table(["data", "method", "cap", "error", "gap", "distance to the limit"], lines)
        made.append(Section("limit", "Distance of the peers to the limit", [words, table]))
    return made


def _at(found: dict[str, Any], gap: float) -> str:
    error, low, high = (float(np.interp(gap, found["gaps"], found[name])) for name in ("error", "low", "high"))
    return f"{error:.3f} ({low:.3f} to {high:.3f})"


def _peers(case: str) -> list[list[Any]]:
    """Return a line per method and cap of the stored table of peers; older results are kept as its cells alone."""
    title, lines = f"Peers: {CASES[case].title}", []
    for record in stored("peers-cases"):
        tables = [part for part in record["parts"] if not isinstance(part, str)] if record["title"] == title else []
        for row in tables[0]["rows"] if tables else []:
            for place, name in enumerate(tables[0]["head"]):
                if name.startswith("error at gap "):
                    found = in_words(case, float(row[place]), float(row[place + 1]))
                    lines.append([CASES[case].title, row[0], name[13:], row[place], row[place + 1], found])
    return lines
