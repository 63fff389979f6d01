"""Docstrings on the pages of the reference: columns stay aligned, bars are bars, and every name has its example."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

REFERENCE = Path(__file__).parent.parent / "reference"
PAGES = ("examples", "examples-torch")
EXAMPLE = re.compile(r"^##+ `([\w.]+)`\n\n```(?:python|\{code-block\} python)\n(.*?)```", re.DOTALL | re.MULTILINE)

ALIGNED = re.compile(r"\S.*\S {2,}\S")
BARS = re.compile(r"(?<![`\\])\|(?=\S)([^|`\n]*\S)\|(?!`)")
REQUESTS = re.compile(r"set_\w+_request|get_metadata_routing")


def readable(lines: list[str]) -> list[str]:
    """Return a docstring in which paragraphs that are set in columns are literal blocks."""
    found: list[str] = []
    paragraph: list[str] = []
    for line in (*lines, ""):
        if line.strip():
            paragraph.append(line)
            continue
        if paragraph and ALIGNED.match(paragraph[0]) and not paragraph[0].startswith((">>>", "..", " ")):
            paragraph = ["::", "", *(f"    {each}" for each in paragraph)]
        else:
            paragraph = [BARS.sub(r"\\|\1\\|", each) for each in paragraph]
        found += [*paragraph, ""]
        paragraph = []
    return found


def examples() -> dict[str, tuple[str, str]]:
    """Return the page and the code of every name's example."""
    texts = ((page, (REFERENCE / f"{page}.md").read_text(encoding="utf-8")) for page in PAGES)
    return {name: (page, code) for page, text in texts for name, code in EXAMPLE.findall(text)}


def section(page: str, code: str) -> list[str]:
    """Return an example as numpydoc's section."""
    told = f"From :doc:`/reference/{page}`, which makes what it uses:"
    block = [f"   {line}".rstrip() for line in code.splitlines()]
    return ["", "Examples", "--------", told, "", ".. code-block:: python", "", *block, ""]


def setup(app: Any) -> dict[str, bool]:
    """Read docstrings so; leave out what scikit-learn adds to every estimator for its routing."""
    known = examples()

    def read(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
        lines[:] = readable(lines)
        if name in known and "Examples" not in lines:
            lines += section(*known[name])

    def skip(app: Any, what: str, name: str, thing: Any, skipped: bool, options: Any) -> bool | None:
        return True if REQUESTS.fullmatch(name.rpartition(".")[2]) else None

    app.connect("autodoc-process-docstring", read, priority=100)
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
