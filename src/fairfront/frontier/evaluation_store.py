"""Evaluations as JSON and arrays: names and order in the one, figures in the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..measures import Evaluation
from ..measures.operating_points import Operating, OperatingPoint
from ..measures.rates import ClassRates, GroupMeans, GroupRates, PerGroup

RATES: dict[str, type[PerGroup]] = {"rates": GroupRates, "class_rates": ClassRates, "means": GroupMeans}
SHARES = ("labels", "alike")
Arrays = dict[str, NDArray[Any]]


def evaluation_content(record: Evaluation) -> tuple[dict[str, Any], Arrays]:
    """Return an evaluation for JSON, and its arrays: columns (figures, N), then one array each."""
    arrays: Arrays = {"columns": np.stack(list(record.columns.values()))}
    arrays |= {f"signed.{i}": values for i, values in enumerate(record.signed.values())}
    groups = []
    for i, (name, rates) in enumerate(record.groups.items()):
        sizes = record.sizes.get(name, {})
        groups.append({"name": name, "kind": _kind(rates), "levels": list(rates.levels), "sizes": list(sizes)})
        arrays |= {
            f"groups.{i}.{field}": value
            for field in _fields(type(rates))
            if (value := getattr(rates, field)) is not None
        }
        arrays |= {f"groups.{i}.sizes.{rate}": values for rate, values in sizes.items()}
    arrays |= {name: values for name in SHARES if (values := getattr(record, name)) is not None}
    if record.operating is not None:
        arrays |= {"cutoffs": record.operating.cutoffs, "probability": record.operating.probability}
    content = {
        "name": record.name,
        "n": record.n,
        "effective_n": record.effective_n,
        "small": record.small,
        "columns": list(record.columns),
        "signed": list(record.signed),
        "groups": groups,
        "proxies": list(record.proxies),
        "operating": None if record.operating is None else _operating_content(record.operating),
    }
    return content, arrays


def _operating_content(point: OperatingPoint) -> dict[str, Any]:
    return {
        "rule": asdict(point.rule),
        "placed_on": point.placed_on,
        "side": point.side,
    }


def _operating_of(content: Mapping[str, Any] | None, arrays: Arrays) -> OperatingPoint | None:
    if content is None:
        return None
    known = {name: arrays[name] for name in ("cutoffs", "probability")}
    return OperatingPoint(**{**content, **known, "rule": Operating(**content["rule"])})


def _kind(rates: PerGroup) -> str:
    for name, known in RATES.items():
        if known is type(rates):
            return name
    raise InputError(f"rates of type {type(rates).__name__} cannot be saved, expected one of {', '.join(RATES)}.")


def _fields(kind: type[PerGroup]) -> list[str]:
    return [each.name for each in fields(kind) if each.name != "levels"]


def evaluation_of(content: Mapping[str, Any], arrays: Arrays) -> Evaluation:
    """Return the evaluation that `evaluation_content` was given."""
    groups, sizes = {}, {}
    for i, each in enumerate(content["groups"]):
        if each["kind"] not in RATES:
            raise InputError(f"figures are of the kind {each['kind']!r}, which this version does not know; upgrade.")
        known = RATES[each["kind"]]
        names = [name for name in _fields(known) if name != "labelled" or f"groups.{i}.labelled" in arrays]
        values: dict[str, Any] = {name: arrays[f"groups.{i}.{name}"] for name in names}
        groups[each["name"]] = known(levels=tuple(each["levels"]), **values)
        if each["sizes"]:
            sizes[each["name"]] = {rate: arrays[f"groups.{i}.sizes.{rate}"] for rate in each["sizes"]}
    return Evaluation(
        name=content["name"],
        n=content["n"],
        columns=dict(zip(content["columns"], arrays["columns"], strict=True)),
        signed={name: arrays[f"signed.{i}"] for i, name in enumerate(content["signed"])},
        groups=groups,
        sizes=sizes,
        effective_n=content["effective_n"],
        proxies=tuple(content.get("proxies", ())),
        small=content["small"],
        operating=_operating_of(content["operating"], arrays),
        labels=arrays.get("labels"),
        alike=arrays.get("alike"),
    )
