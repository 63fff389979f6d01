"""The explorer, one file that is complete or not there: template, one style and one script inlined, and its data.

A policy lets nothing else in, and JSON cannot leave its element.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from .. import __version__
from ..exceptions import InputError
from ..frontier import Frontier
from ..frontier.judgement import is_test
from ..measures.report import HIDE_BELOW
from ..storage.documents import FORMULA
from ..storage.folders import write_file
from ..storage.places import check_new_file
from ..validation import check_count, check_instance, check_mapping, check_text, refuse, shown
from .comparison import base64_of
from .details import Details, describe_points, refuse_test
from .payload import page_payload

USUAL = "validation"
PYTHON_LINE = "model = front.select(id={id})"
SCRIPTS = (
    *("data.js", "figures.js", "rules.js", "elements.js", "scales.js", "marks.js", "chart.js"),
    *("decision.js", "groups.js", "changes.js", "pairs.js", "model.js", "actions.js", "main.js"),
)
GENERATOR = b'<meta name="generator" content="fairfront">'
STYLES = ("explorer.css", "print.css")
SHEET = """
.sheet { background: var(--sheet); border: 1px solid var(--line); border-radius: 11px; padding: 8px 14px; }
.sheet { overflow-x: auto; }
.sheet td { min-width: 4em; vertical-align: top; }
"""
"""The frame of a table on pages that are read, not worked with."""
UNSAFE = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def write_explorer(
    front: Frontier,
    path: Any,
    *,
    chosen: int | None = None,
    X: Any = None,
    y: Any = None,
    sensitive_features: Any = None,
    sample_weight: Any = None,
    on: str = USUAL,
    details: Details | None = None,
    title: str | None = None,
    baselines: Frontier | Mapping[str, Frontier] | None = None,
    command: str | None = None,
    python: str = PYTHON_LINE,
    hide_below: int = HIDE_BELOW,
    overwrite: bool = False,
) -> Path:
    """Write one self-contained page in which a person sees the trade-off and chooses; return its path.

    Parameters
    ----------
    front : Frontier
        Evaluations other than "test" become the parts that rates can be seen on.
    path : path
        The file to write.
    chosen : int, optional
        The id that the page opens on; by default the least gap within half a point of the smallest error.
    X, y, sensitive_features, sample_weight
        Validation rows, never test rows: with them the page says who gains and who loses against the unconstrained
        model, how surely, and how well each group is calibrated. Only aggregates are written.
    on : str
        The evaluation to choose on, and the name of those rows.
    details : Details, optional
        What `describe_points` returned, in place of rows.
    title : str, optional
        A heading, such as the name of the run.
    baselines : Frontier or mapping of names to frontiers, optional
        Own candidates (`Frontier.from_models`), or another frontier, to lay over, judged on the same rows.
    command : str, optional
        The command that uses a model, with ``{id}`` in the place of its id.
    python : str
        The Python line that does, with ``{id}``.
    hide_below : int
        Smaller counts of people are written as "<10", and rates of fewer as "-"; worst gaps and their bounds are
        always shown. A courtesy to small groups, not disclosure control; 0 hides nothing.
    overwrite : bool
        Whether a page that fairfront wrote there before may be replaced; other files stay.
    """
    refuse_test(on)
    check_count(hide_below, "hide_below", least=0)
    if title is not None:
        check_text(title, "title")
    for name, line in (("command", command), ("python", python)):
        if "{id}" not in check_text("{id}" if line is None and name == "command" else line, name):
            raise refuse(name, line, "a line with {id} in the place of the model's id")
    check_new_file(path, overwrite, is_page)
    judged = _evaluation(front, on, rows=X is not None or details is not None)
    named = {"candidates": baselines} if isinstance(baselines, Frontier) else {} if baselines is None else baselines
    for each in check_mapping(named, "baselines", "{'mine': front}").values():
        check_instance(each, Frontier, "baselines", "a Frontier, or a mapping of names to frontiers")
    if X is not None:
        ids = () if chosen is None else (chosen,)
        known = {"sensitive_features": sensitive_features, "sample_weight": sample_weight}
        details = describe_points(front, X, y, on=on, ids=ids, **known)
    if details is not None:
        _check_details(front, details, on)
    record = page_payload(front, judged, chosen, details, named, hide_below) | {
        "title": title,
        "command": command,
        "python": python,
        "formula": FORMULA,
        "version": __version__,
        "written": f"{datetime.now(UTC):%Y-%m-%d}",
    }
    return write_file(path, page(record), overwrite=overwrite, own=is_page)


def _evaluation(front: Frontier, on: str, rows: bool) -> str | None:
    """Return the evaluation to choose on: the one named, else the first that is not test, None where none was made.

    A name that no evaluation has is that of the rows, where there are some, or the default.
    """
    if on in front.evaluations:
        return on
    if on != USUAL and not rows:
        raise InputError(f"no evaluation {shown(on)}, expected one of {', '.join(front.evaluations) or 'none yet'}.")
    others = [name for name in front.evaluations if not is_test(name)]
    if front.evaluations and not others:
        raise InputError(
            "the frontier was evaluated on test rows only, expected others to choose on; call "
            "front.evaluate(X, y, sensitive_features=..., name='validation') first."
        )
    return others[0] if others else None


def _check_details(front: Frontier, details: Details, on: str) -> None:
    check_instance(details, Details, "details", "what describe_points returned")
    refuse_test(details.on)
    strange = sorted(set(details.ids) - set(front.ids.tolist()))
    if strange:
        raise InputError(f"details describe id {strange[0]}, which is not on this frontier; describe its points again.")
    if details.on != on and details.on not in front.evaluations:
        raise InputError(f"details are about {details.on!r} rows, expected {on!r}; pass on={details.on!r}.")


@cache
def asset(name: str) -> str:
    return (files(__package__) / "assets" / name).read_text(encoding="utf-8")


def is_page(head: bytes) -> bool:
    return GENERATOR in head


def page(record: dict[str, Any]) -> str:
    scripts = "\n".join(map(asset, SCRIPTS))
    script = f'(() => {{\n"use strict";\n{scripts}\n}})();\n'
    style = "\n".join(map(asset, STYLES))
    policy = (
        f"default-src 'none'; script-src {inline_digest(script)}; style-src {inline_digest(style)}; "
        "base-uri 'none'; form-action 'none'"
    )
    parts = {"policy": policy, "style": style, "data": safe_json(record), "script": script}
    return re.sub("@@(.*?)@@", lambda place: parts[place[1]], asset("page.html"))


def head_of(title: str, generator: str, style: str) -> list[str]:
    """Return the lines of a page without scripts up to its body: policy, titles, and the explorer's style with its own.

    ``title`` is HTML already, ``generator`` the element by which the page is known again.
    """
    whole = "\n".join((*map(asset, STYLES), SHEET + style))
    policy = f"default-src 'none'; style-src {inline_digest(whole)}; base-uri 'none'; form-action 'none'"
    return [
        "<!doctype html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        generator,
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="referrer" content="no-referrer">',
        '<meta name="color-scheme" content="light dark">',
        f"<title>{title}</title>",
        f"<style>{whole}</style>",
        "</head>",
        "<body>",
    ]


def inline_digest(text: str) -> str:
    """By which a content security policy knows an inline element."""
    return f"'sha256-{base64_of(hashlib.sha256(text.encode('utf-8')).digest())}'"


def safe_json(record: Any) -> str:
    """Return JSON in ASCII that stays text inside a script element: no <, >, &, nor a line separator."""
    return json.dumps(record, ensure_ascii=True, allow_nan=False, separators=(",", ":")).translate(UNSAFE)
