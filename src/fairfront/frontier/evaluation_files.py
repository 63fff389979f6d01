"""Evaluations in files: plain values for JSON and arrays by name, and back. Nothing of single rows is in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..measures import Evaluation
from ..measures.counts import Counts, Means, Sums
from ..measures.cutoffs import Operating, OperatingPoint
from ..measures.moments import Moments, Spread
from ..measures.rates import ClassRates, GroupMeans, GroupRates, PerGroup
from ..measures.score_gaps import PairGaps

RATES: dict[str, type[PerGroup]] = {"rates": GroupRates, "class_rates": ClassRates, "means": GroupMeans}
PLAIN = ("name", "n", "effective_n")
"""What is known of an evaluation without its figures."""
FURTHER = ("sizes", "further_sizes", "scored", "design", "errors")
"""Fields of an evaluation that have entries by attribute; of the attribute "", which is all rows, too."""
INNER: dict[str, type[Any]] = {"scored": PairGaps}
"""Those of them whose entries are records of arrays."""
Arrays = dict[str, NDArray[Any]]


def inside(name: str, arrays: Arrays) -> Arrays:
    return {f"{name}.{each}": values for each, values in arrays.items()}


def outside(name: str, arrays: Arrays) -> Arrays:
    start = f"{name}."
    return {each.removeprefix(start): values for each, values in arrays.items() if each.startswith(start)}


def evaluation_content(record: Evaluation) -> tuple[dict[str, Any], Arrays]:
    arrays: Arrays = {"columns": np.stack(list(record.columns.values()))}
    arrays |= {f"signed.{i}": values for i, values in enumerate(record.signed.values())}
    groups, point, operating = [], record.operating, None
    for i, (name, rates) in enumerate(record.groups.items()):
        kind = next(kind for kind, known in RATES.items() if known is type(rates))
        stored = {each: getattr(rates, each) for each in _stored_rates(type(rates))}
        arrays |= inside(f"groups.{i}", {each: values for each, values in stored.items() if values is not None})
        listed, figures = _further_content(record, name)
        groups.append({"name": name, "kind": kind, "levels": list(rates.levels), **listed})
        arrays |= inside(f"groups.{i}", figures)
    of_all, figures = _further_content(record, "")
    arrays |= inside("all", figures)
    arrays |= {name: values for name in ("labels", "alike") if (values := getattr(record, name)) is not None}
    if point is not None:
        arrays |= {"cutoffs": point.cutoffs, "probability": point.probability}
        operating = {"rule": asdict(point.rule), "placed_on": point.placed_on, "side": point.side}
    content = {name: getattr(record, name) for name in PLAIN}
    content |= {name: list(getattr(record, name)) for name in ("columns", "signed", "proxies")}
    described, counts = (None, {}) if record.sums is None else _sums_content(record.sums)
    content |= {"groups": groups, "all": of_all, "operating": operating, "made": record.made, "sums": described}
    return content, arrays | inside("sums", counts)


def _further_content(record: Evaluation, attribute: str) -> tuple[dict[str, list[str]], Arrays]:
    """Return the names and the arrays of what is known of an attribute's groups beside rates, of all rows by ""."""
    listed, arrays = {}, Arrays()
    for field in FURTHER:
        known = getattr(record, field).get(attribute, {})
        listed[field] = list(known)
        if field in INNER:
            arrays |= {
                f"{field}.{rate}.{end}": values for rate, each in known.items() for end, values in vars(each).items()
            }
        else:
            arrays |= inside(field, known)
    return listed, arrays


def _stored_further(listed: Mapping[str, list[str]], arrays: Arrays) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for field in FURTHER:
        if field in INNER:
            found[field] = {rate: INNER[field](**outside(f"{field}.{rate}", arrays)) for rate in listed[field]}
        else:
            found[field] = {rate: arrays[f"{field}.{rate}"] for rate in listed[field]}
    return found


def _sums_content(sums: Sums) -> tuple[dict[str, Any], Arrays]:
    """Return the counts (or means) of all rows and of groups, and how models vary together in them."""
    counted = (sums.everyone, *sums.groups)
    arrays: Arrays = {"total": sums.total}
    for i, counts in enumerate(counted):
        arrays |= inside(f"counts.{i}", _distinct_arrays(counts))
    for i, spread in enumerate(sums.spreads or ()):
        for j, moments in enumerate(spread.values()):
            arrays |= inside(f"spreads.{i}.{j}", vars(moments))
    return {
        "kind": "means" if isinstance(sums.everyone, Means) else "counts",
        "groups": len(sums.groups),
        "spreads": None if sums.spreads is None else [list(spread) for spread in sums.spreads],
        "clustered": sums.clustered,
    }, arrays


def _distinct_arrays(counts: Counts | Means) -> Arrays:
    """Return the arrays of counts; those of rows alone where everybody weighs 1, as the three are then one array."""
    if isinstance(counts, Counts) and counts.weight is counts.rows:
        return {"rows": counts.rows}
    return dict(vars(counts))


def _stored_sums(content: Mapping[str, Any], arrays: Arrays) -> Sums:
    counted = [_stored_counts(content["kind"], outside(f"counts.{i}", arrays)) for i in range(content["groups"] + 1)]
    spreads: tuple[Spread, ...] | None = None
    if content["spreads"] is not None:
        spreads = tuple(
            {name: Moments(**outside(f"spreads.{i}.{j}", arrays)) for j, name in enumerate(names)}
            for i, names in enumerate(content["spreads"])
        )
    return Sums(arrays["total"], counted[0], tuple(counted[1:]), None, spreads, content["clustered"])


def _stored_counts(kind: str, arrays: Arrays) -> Counts | Means:
    if kind == "means":
        return Means(**arrays)
    rows = arrays["rows"]
    return Counts(rows, arrays.get("weight", rows), arrays.get("squared", rows))


def _stored_rates(kind: type[PerGroup]) -> list[str]:
    return [each.name for each in fields(kind) if each.name != "levels"]


def stored_evaluation(content: Mapping[str, Any], arrays: Arrays) -> Evaluation:
    groups: dict[str, PerGroup] = {}
    further: dict[str, Any] = {field: {} for field in FURTHER}
    for i, each in enumerate(content["groups"]):
        if each["kind"] not in RATES:
            raise InputError(f"figures are of the kind {each['kind']!r}, which this version does not know; upgrade.")
        kind, known = RATES[each["kind"]], outside(f"groups.{i}", arrays)
        names = [name for name in _stored_rates(kind) if name != "labelled" or name in known]
        values: dict[str, Any] = {name: known[name] for name in names}
        groups[each["name"]] = kind(levels=tuple(each["levels"]), **values)
        for field, figures in _stored_further(each, known).items():
            further[field] |= {each["name"]: figures} if figures else {}
    for field, figures in _stored_further(content["all"], outside("all", arrays)).items():
        further[field] |= {"": figures} if figures else {}
    operating = content["operating"]
    if operating is not None:
        cut = {name: arrays[name] for name in ("cutoffs", "probability")}
        operating = OperatingPoint(**{**operating, **cut, "rule": Operating(**operating["rule"])})
    return Evaluation(
        **{name: content[name] for name in PLAIN},
        columns=dict(zip(content["columns"], arrays["columns"], strict=True)),
        signed={name: arrays[f"signed.{i}"] for i, name in enumerate(content["signed"])},
        groups=groups,
        **further,
        proxies=tuple(content["proxies"]),
        operating=operating,
        labels=arrays.get("labels"),
        alike=arrays.get("alike"),
        made=content["made"],
        sums=None if content["sums"] is None else _stored_sums(content["sums"], outside("sums", arrays)),
    )
