"""Values as strict JSON: what may be stored, and how the few things that JSON lacks are spelt.

====================================  =============================  ============================
in Python                             in the file                    comes back as
====================================  =============================  ============================
None, bool, int, str, finite float    the same                       the same type and value
NaN, infinities                       ``{"$float": "nan"}``, ...     float
numpy bool, integer, float            as Python's bool, int, float   Python's, equal by ``==``
list, tuple                           array                          list
mapping with text keys                object                         dict
mapping whose only key starts with $  ``{"$dict": {...}}``           dict
====================================  =============================  ============================

Anything else is refused: a reader must need nothing but JSON.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..exceptions import InputError

FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def encode(value: Any, where: str = "content") -> Any:
    """Return a value in terms of strict JSON, or say where something is that JSON does not know."""
    if isinstance(value, (np.bool_, np.integer, np.floating)):
        value = value.item()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"$float": str(float(value))}
    if isinstance(value, (list, tuple)):
        return [encode(each, f"{where}[{place}]") for place, each in enumerate(value)]
    if isinstance(value, Mapping):
        return _mapping(value, where)
    raise InputError(
        f"{where} is of type {type(value).__name__}, expected text, numbers, booleans, None, lists or mappings; "
        "turn it into one of those before saving."
    )


def _mapping(value: Mapping[Any, Any], where: str) -> dict[str, Any]:
    for key in value:
        if not isinstance(key, str):
            raise InputError(f"{where} has the key {key!r}, expected text; turn keys into text before saving.")
    found = {str(key): encode(each, f"{where}.{key}") for key, each in value.items()}
    return {"$dict": found} if _marked(found) else found


def _marked(value: Mapping[str, Any]) -> bool:
    return len(value) == 1 and next(iter(value)).startswith("$")


def decode(value: Any) -> Any:
    """Return what `encode` was given, with lists for tuples and Python's numbers for numpy's."""
    if isinstance(value, list):
        return [decode(each) for each in value]
    if not isinstance(value, dict):
        return value
    if not _marked(value):
        return {key: decode(each) for key, each in value.items()}
    (key, inner), *_ = value.items()
    if key == "$dict" and isinstance(inner, dict):
        return {name: decode(each) for name, each in inner.items()}
    if key == "$float" and isinstance(inner, str) and inner in FLOATS:
        return FLOATS[inner]
    raise InputError(f"found the unknown mark {key!r} among the stored values; upgrade fairfront to read it.")
