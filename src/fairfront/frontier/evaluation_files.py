"""Evaluations in files: plain values for JSON and arrays by name, and back. Nothing of single rows is in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..measures import Evaluation
from ..measures.cutoffs import Operating, OperatingPoint
from ..measures.rates import ClassRates, GroupMeans, GroupRates, PerGroup
from ..measures.score_gaps import PairGaps
from ..measures.spans import RateRange

RATES: dict[str, type[PerGroup]] = {"rates": GroupRates, "class_rates": ClassRates, "means": GroupMeans}
PLAIN = ("name", "n", "effective_n", "small")
"""What is known of an evaluation without its figures."""
Arrays = dict[str, NDArray[Any]]
Inner = TypeVar("Inner", RateRange, PairGaps)


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
        kind, sizes = next(kind for kind, known in RATES.items() if known is type(rates)), record.sizes.get(name, {})
        groups.append({"name": name, "kind": kind, "levels": list(rates.levels), "sizes": list(sizes)})
        stored = {each: getattr(rates, each) for each in _stored_rates(type(rates))}
        arrays |= inside(f"groups.{i}", {each: values for each, values in stored.items() if values is not None})
        arrays |= inside(f"groups.{i}.sizes", sizes)
        arrays |= _inner_arrays(f"groups.{i}.ranges", record.ranges.get(name, {}))
        arrays |= _inner_arrays(f"groups.{i}.scored", record.scored.get(name, {}))
        arrays |= inside(f"groups.{i}.design", record.design.get(name, {}))
        arrays |= inside(f"groups.{i}.errors", record.errors.get(name, {}))
    arrays |= inside("design", record.design.get("", {}))
    if record.critical:
        arrays["critical"] = np.stack(list(record.critical.values()))
    arrays |= _inner_arrays("ranges", record.ranges.get("", {}))
    arrays |= {name: values for name in ("labels", "alike") if (values := getattr(record, name)) is not None}
    if point is not None:
        arrays |= {"cutoffs": point.cutoffs, "probability": point.probability}
        operating = {"rule": asdict(point.rule), "placed_on": point.placed_on, "side": point.side}
    content = {name: getattr(record, name) for name in PLAIN}
    listed = {name: list(getattr(record, name)) for name in ("columns", "signed", "proxies", "critical")}
    return {**content, **listed, "groups": groups, "operating": operating, "made": record.made}, arrays


def _inner_arrays(place: str, found: Mapping[str, RateRange | PairGaps]) -> Arrays:
    return {f"{place}.{rate}.{name}": end for rate, each in found.items() for name, end in vars(each).items()}


def _stored_inside(kind: type[Inner], arrays: Arrays) -> dict[str, Inner]:
    rates = dict.fromkeys(name.rpartition(".")[0] for name in arrays)
    return {rate: kind(**outside(rate, arrays)) for rate in rates}


def _stored_rates(kind: type[PerGroup]) -> list[str]:
    return [each.name for each in fields(kind) if each.name != "levels"]


def stored_evaluation(content: Mapping[str, Any], arrays: Arrays) -> Evaluation:
    groups, sizes, ranges = {}, {}, {"": _stored_inside(RateRange, outside("ranges", arrays))}
    design, errors, scored = {"": outside("design", arrays)}, {}, {}
    for i, each in enumerate(content["groups"]):
        if each["kind"] not in RATES:
            raise InputError(f"figures are of the kind {each['kind']!r}, which this version does not know; upgrade.")
        kind, known = RATES[each["kind"]], outside(f"groups.{i}", arrays)
        names = [name for name in _stored_rates(kind) if name != "labelled" or name in known]
        values: dict[str, Any] = {name: known[name] for name in names}
        ranges[each["name"]] = _stored_inside(RateRange, outside("ranges", known))
        scored[each["name"]] = _stored_inside(PairGaps, outside("scored", known))
        design[each["name"]], errors[each["name"]] = outside("design", known), outside("errors", known)
        groups[each["name"]] = kind(levels=tuple(each["levels"]), **values)
        if each["sizes"]:
            sizes[each["name"]] = {rate: known[f"sizes.{rate}"] for rate in each["sizes"]}
    operating = content["operating"]
    if operating is not None:
        cut = {name: arrays[name] for name in ("cutoffs", "probability")}
        operating = OperatingPoint(**{**operating, **cut, "rule": Operating(**operating["rule"])})
    return Evaluation(
        **{name: content[name] for name in PLAIN},
        columns=dict(zip(content["columns"], arrays["columns"], strict=True)),
        signed={name: arrays[f"signed.{i}"] for i, name in enumerate(content["signed"])},
        groups=groups,
        sizes=sizes,
        ranges={name: each for name, each in ranges.items() if each},
        scored={name: each for name, each in scored.items() if each},
        design={name: each for name, each in design.items() if each},
        errors={name: each for name, each in errors.items() if each},
        critical=dict(zip(content.get("critical", ()), arrays.get("critical", ()), strict=True)),
        proxies=tuple(content["proxies"]),
        operating=operating,
        labels=arrays.get("labels"),
        alike=arrays.get("alike"),
        made=content.get("made", ""),
    )
