"""The page as text: template, one style and one script inlined, and a policy that lets nothing else in."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import Any

from .packing import safe_json

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
