"""Numbers and text on their way into a page: arrays as base64, JSON that cannot leave its element.

A figure without a value is NaN, which JSON does not have and base64 of the floats has.
"""

from __future__ import annotations

import base64
import json
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def packed(values: ArrayLike, kind: Literal["f8", "f4"] = "f8") -> dict[str, str]:
    """Return numbers as little-endian floats in base64; ``f8`` keeps every bit, so that choices agree with Python's."""
    array = np.ascontiguousarray(values, dtype=f"<{kind}")
    return {kind: base64.b64encode(array.tobytes()).decode("ascii")}


def packed_bits(flags: ArrayLike) -> str:
    """Return booleans as bits in base64, the first in the lowest bit."""
    bits = np.packbits(np.asarray(flags, dtype=bool).ravel(), bitorder="little")
    return base64.b64encode(bits.tobytes()).decode("ascii")


def rounded(values: ArrayLike, digits: int = 6) -> list[Any]:
    """Return nested lists of rounded numbers with None for NaN."""
    array = np.round(np.asarray(values, dtype=np.float64), digits)
    found = array.astype(object)
    found[~np.isfinite(array)] = None
    return list(found.tolist())


def safe_json(record: Any) -> str:
    """Return JSON in ASCII that stays text inside a script element: no <, >, &, nor a line separator."""
    text = json.dumps(record, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character, escape in UNSAFE.items():
        text = text.replace(character, escape)
    return text
