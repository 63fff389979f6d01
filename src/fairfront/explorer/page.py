"""The page as text: template, one style and one script inlined, a policy that lets nothing else in, and its data.

Arrays travel as base64 and JSON cannot leave its element. A figure without a value is NaN, which JSON does not have and
base64 of the floats has.
"""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

SCRIPTS = (
    "data.js",
    "figures.js",
    "rules.js",
    "elements.js",
    "scales.js",
    "marks.js",
    "chart.js",
    "decision.js",
    "groups.js",
    "changes.js",
    "pairs.js",
    "model.js",
    "actions.js",
    "main.js",
)
GENERATOR = b'<meta name="generator" content="fairfront">'
STYLES = ("explorer.css", "print.css")
UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


@cache
def asset(name: str) -> str:
    """Return one shipped file."""
    return (files(__package__) / "assets" / name).read_text(encoding="utf-8")


@cache
def script() -> str:
    """Return all scripts as one, in a scope of its own."""
    body = "\n".join(asset(name) for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{body}\n}})();\n'


@cache
def style() -> str:
    """Return all styles as one."""
    return "\n".join(asset(name) for name in STYLES)


def digest(text: str) -> str:
    """Return the hash by which a content security policy knows an inline element."""
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii") + "'"


def policy() -> str:
    """Return the content security policy: nothing but the one script and the one style."""
    return (
        f"default-src 'none'; script-src {digest(script())}; style-src {digest(style())}; "
        "base-uri 'none'; form-action 'none'"
    )


def is_page(head: bytes) -> bool:
    """Tell whether a file begins as a page of fairfront does."""
    return GENERATOR in head


def page(record: dict[str, Any]) -> str:
    """Return the whole page with its data."""
    text = asset("page.html")
    for name, value in (("policy", policy()), ("style", style()), ("data", safe_json(record)), ("script", script())):
        head, mark, tail = text.partition(f"@@{name}@@")
        if not mark:
            raise RuntimeError(f"page.html has no place for {name}.")
        text = head + value + tail
    return text


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
