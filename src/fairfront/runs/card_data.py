"""What a card says of its data: files, rows, periods and columns, and what became of missing and rare values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..tables.encoder import FEWEST, RARE, NumberBlock, TableEncoder
from ..validation import counted
from .card_blocks import Section, Table, fields_table, significant

if TYPE_CHECKING:
    from .run import Run

ADDED = ("control", "signs")
NO_LEVEL = "too few in train: all indicators of the column are 0"


def data_of(run: Run) -> dict[str, Any]:
    manifest, found = run.manifest, run.manifest["findings"]
    return {
        "name": manifest["data"]["name"],
        "sha256": manifest["data"].get("sha256"),
        "rows": dict(manifest["split"]["rows"]),
        "rows_without_target": manifest.get("rows_without_target", 0),
        "split": manifest["split"]["rule"],
        "periods": [dict(each) for each in manifest["split"]["periods"]],
        "weight": manifest["settings"].get("weight"),
        **{name: value for name, value in manifest["settings"].items() if name in ADDED and value},
        "features": list(manifest["features"]),
        "treatments": treatments(run.encoder, manifest["columns"]),
        "missing_marks": list(run.encoder.missing),
        "left_out": [*manifest["settings"].get("drop", ())],
        "findings": [{name: each[name] for name in ("columns", "kind", "sentence")} for each in found],
    }


def treatments(encoder: TableEncoder, columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return, by column, how many cells are missing, and what stands for them and for rare or new levels."""
    found: list[dict[str, Any]] = []
    missing = {each["name"]: each["n_missing"] for each in columns["columns"]}
    for block in encoder.blocks:
        cells = {"missing_cells": missing.get(block.name), "cells": columns["n"]}
        if isinstance(block, NumberBlock):
            known = {"used": bool(block.factor), "median": block.median, "indicator": block.indicator}
            found.append({"column": block.name, "kind": "number", **cells, **known})
        else:
            own = {"levels": len(block.levels), "other": block.other, "missing": block.missing}
            found.append({"column": block.name, "kind": "category", **cells, **own})
    return found


def data_section(card: Mapping[str, Any]) -> Section:
    data, parts = card["data"], card["parts"]
    rows = ", ".join(f"{n} {part}" for part, n in data["rows"].items())
    dropped, flagged = (
        list(dict.fromkeys(name for each in data["findings"] if each["kind"] == kind for name in each["columns"]))
        for kind in ("dropped", "flagged")
    )
    without = data["rows_without_target"]
    fields = [
        ("File", f"{data['name']}, {_fingerprint(data['sha256'])}"),
        *((f"File of {name}", _source(part["source"])) for name, part in parts.items() if part["source"]),
        ("Rows", f"{rows}; {without} without a label were left out" if without else rows),
        ("Split", data["split"].rstrip(".")),
        *_periods(data["periods"], parts),
        ("Weights", data["weight"] or "none: every row counts once"),
        *_added(data),
        ("Columns read", f"{len(data['features'])}: {', '.join(data['features'])}"),
        ("Columns left out", ", ".join((*data["left_out"], *dropped)) or "none"),
        ("Columns to look at", ", ".join(flagged) or "none were flagged"),
        ("Missing cells", _missing(data["treatments"])),
        ("Missing and rare values", _treated(data["treatments"])),
    ]
    return Section("Data", (fields_table(fields),))


def _added(data: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Say what groups are compared within, and which features have a sign."""
    control = data.get("control")
    found = [("Compared within", f"levels of {', '.join(control)}")] if control else []
    for column, sign in data.get("signs", ()):
        found.append(("Bound", f"{column}: more of it is never {'worse' if sign == '+' else 'better'}, others equal"))
    return found


def _fingerprint(sha: str | None) -> str:
    return f"sha256 {sha}" if sha else "no fingerprint: the rows came from a data frame"


def _source(source: Mapping[str, Any]) -> str:
    said = f"{source['name']}, {_fingerprint(source['sha256'])}, judged at {source['at']}."
    return " ".join((said, *source["notes"]))


def _missing(treatments: Sequence[Mapping[str, Any]]) -> str:
    """Count the missing cells of columns that are read: all of a file, or how many at most."""
    some = [each for each in treatments if each["missing_cells"]]
    told = [f"{each['column']} {each['missing_cells']}" for each in some]
    return f"{', '.join(told)}, of {treatments[0]['cells']} rows" if told else "none in the columns that are read"


def _periods(periods: Sequence[Mapping[str, Any]], known: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the days that each part covers, a line for each column with dates."""
    said: list[tuple[str, str]] = []
    for period in periods:
        ends = list(period["parts"].items())
        ends += [
            (name, each["ends"])
            for name, part in known.items()
            for each in (part["source"] or {}).get("periods", ())
            if each["column"] == period["column"]
        ]
        told = ", ".join(f"{name} {' to '.join(end.partition('T')[0] for end in some)}" for name, some in ends)
        about = "" if period["split"] else " (not what rows are split by)"
        said.append((f"Period of {period['column']}", f"{told}{about}"))
    return said or [("Period", "not known: no column that was read has dates")]


def _treated(treatments: Sequence[Mapping[str, Any]]) -> str:
    filled = [each["column"] for each in treatments if each["kind"] == "number" and each["indicator"]]
    own = [each["column"] for each in treatments if each["kind"] == "category" and each["missing"]]
    pooled = [each["column"] for each in treatments if each["kind"] == "category" and each["other"]]
    said = [
        f"median and an indicator in {', '.join(filled)}" if filled else "",
        f"missing is a level of its own in {', '.join(own)}" if own else "",
        f"rare levels are pooled in {', '.join(pooled)}" if pooled else "",
    ]
    return "; ".join(filter(None, said)) or "train has too few of either; the appendix says what is done with them"


def treatment_section(card: Mapping[str, Any]) -> Section:
    """For the appendix, by column."""
    return Section("Missing and rare values by column", (_treatments(card["data"]), _marks(card["data"])), True)


def _treatments(data: Mapping[str, Any]) -> Table:
    rows = []
    for each in data["treatments"]:
        cells = "not known" if each["missing_cells"] is None else str(each["missing_cells"])
        if each["kind"] == "number":
            missing = f"median {significant(each['median'])}{', and an indicator' if each['indicator'] else ''}"
            rows.append(
                (
                    each["column"],
                    "number",
                    cells,
                    missing,
                    "" if each["used"] else "not used: constant or mostly missing",
                )
            )
        else:
            missing, rare = (what if there else NO_LEVEL for what, there in _levels(each))
            rows.append((each["column"], f"category, {counted(each['levels'], 'level')}", cells, missing, rare))
    return Table(
        ("column", "read as", "missing cells of the file", "what stands for them", "rare or new levels"), tuple(rows)
    )


def _levels(each: Mapping[str, Any]) -> tuple[tuple[str, bool], tuple[str, bool]]:
    return ("a level of its own", each["missing"]), ("together, (other)", each["other"])


def _marks(data: Mapping[str, Any]) -> str:
    marks = ", ".join(map(repr, data["missing_marks"]))
    rare = f"Levels of fewer than {FEWEST} rows of train, or of fewer than {100 * RARE:g} %, are rare."
    return f"{rare} Read as missing: {marks}."
