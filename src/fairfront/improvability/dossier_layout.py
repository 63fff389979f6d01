"""The layout of a dossier: parts with texts, tables and pictures, as Markdown and as one page.

Names of others cannot become markup in either.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from ..explorer.page import head_of
from ..records import plain

GENERATOR = '<meta name="generator" content="fairfront alternatives">'
STYLE = """h1 + section, section > * + * { margin-top: 10px; }
section p, section li { max-width: 110ch; overflow-wrap: anywhere; font-size: .9rem; }
figure { margin: 10px 0 0; } figcaption { font-size: .85rem; max-width: 100ch; }
.drawing svg { background: var(--sheet); border: 1px solid var(--line); border-radius: 11px; }
.drawing svg { max-width: 100%; height: auto; }
.drawing text { fill: var(--soft); }
@media (max-width: 600px) { .drawing text { font-size: 17px; } }
.sheet th { vertical-align: top; }
.sheet td.long { min-width: 16em; }
.drawing .region { fill: var(--promised); }
.drawing .incumbent { fill: var(--plain); }
.drawing .qualified { fill: var(--least); }
.drawing .refused circle { fill: var(--sheet); stroke: var(--point); stroke-width: 1.5; }
.drawing a:focus-visible > :last-child { stroke: var(--focus); stroke-width: 4; }
.sheet tr:target { background: var(--faint); outline: 2px solid var(--focus); }
.contents { columns: 2; padding-left: 1.2em; font-size: .9rem; }
"""


LONG = 32
"""Characters from which a cell is given room for a sentence."""


@dataclass(frozen=True)
class Part:
    """One section: paragraphs, then a table with its heads, the first cell of a row being its heading."""

    title: str
    texts: Sequence[str]
    heads: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    drawn: str = ""
    anchor: str = ""
    """Lines of the table are named by it and their first cell, for links of a picture."""


def cell_words(value: Any) -> str:
    """Return an entry of a record as people read it; empty where there is none."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {cell_words(each)}" for name, each in value.items())
    if isinstance(value, list):
        return " ".join(map(cell_words, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def text_of(parts: Sequence[Part]) -> str:
    """Return Markdown in which nothing that a person named is markup."""
    lines = []
    for i, part in enumerate(parts):
        lines += [f"{'#' if not i else '##'} {_marked(part.title)}", ""]
        for text in part.texts:
            lines += [_marked(text), ""]
        if part.rows:
            table = [part.heads, ["---"] * len(part.heads), *part.rows]
            lines += ["| " + " | ".join(map(_marked, row) if k != 1 else row) + " |" for k, row in enumerate(table)]
            lines.append("")
    return "\n".join(lines)


def _marked(text: str) -> str:
    """Return a text that is no markup, and of which no address becomes a link."""
    clean = plain(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*\[\]|]|:(?=//)|(?<=www)\.|@)", r"\\\1", clean)


def _text(text: str, quote: bool = False) -> str:
    return escape(plain(text), quote=quote)


def page_of(parts: Sequence[Part]) -> str:
    """Return one page that needs nothing else, runs nothing, and reads in order."""
    lines = [
        *head_of(_text(parts[0].title), GENERATOR, STYLE),
        '<a class="skip" href="#part0">To the finding</a>',
        "<main>",
    ]
    for i, part in enumerate(parts):
        tag = "h2" if i else "h1"
        lines += [f'<section aria-labelledby="part{i}">', f'<{tag} id="part{i}">{_text(part.title)}</{tag}>']
        lines += [f"<p>{_text(text)}</p>" for text in part.texts]
        lines += [part.drawn] if part.drawn else []
        lines += list(_table(part)) if part.rows else []
        lines += list(_contents(parts)) if not i and len(parts) > 2 else []
        lines.append("</section>")
    return "\n".join([*lines, "</main>", "</body>", "</html>", ""])


def _contents(parts: Sequence[Part]) -> Iterator[str]:
    yield '<nav aria-label="Contents"><ol class="contents">'
    yield from (f'<li><a href="#part{i}">{_text(part.title)}</a></li>' for i, part in enumerate(parts) if i)
    yield "</ol></nav>"


def _table(part: Part) -> Iterator[str]:
    yield f'<div class="sheet" role="region" tabindex="0" aria-label="{_text(part.title, True)}"><table>'
    yield (
        "<thead><tr>" + "".join(f'<th scope="col">{_text(head)}</th>' for head in part.heads) + "</tr></thead><tbody>"
    )
    for row in part.rows:
        cells = "".join(f"<td{' class=long' if len(cell) > LONG else ''}>{_text(cell)}</td>" for cell in row[1:])
        place = f' id="{part.anchor}{_text(row[0], True)}"' if part.anchor else ""
        yield f'<tr{place}><th scope="row">{_text(row[0])}</th>{cells}</tr>'
    yield "</tbody></table></div>"
