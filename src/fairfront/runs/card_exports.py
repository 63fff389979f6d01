"""A card as files: Markdown, and one HTML page in the explorer's style.

Names of others cannot become markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from ..explorer.page import head_of
from ..records import plain
from .card_blocks import Block, Listed, Section
from .card_sections import sections, title_of

STYLE = """.sheet td span { white-space: nowrap; }
.fields td + td { overflow-wrap: anywhere; }
tbody tr:first-child td { border-top: 0; }
h1 + section, section > * + * { margin-top: 10px; }
section p, section li { max-width: 110ch; overflow-wrap: anywhere; font-size: .9rem; }
"""
WHOLE = re.compile(r"-?\d[\d.]*-\d[\d.]*|\(-?\d[\d.]* to -?\d[\d.]*\)")
"""What is not broken over lines: a range, and an interval."""
GENERATOR = '<meta name="generator" content="fairfront card">'


def page_of(card: Mapping[str, Any]) -> str:
    title = _text(title_of(card))
    head = [*head_of(title, GENERATOR, STYLE), "<main>", f"<h1>{title}</h1>"]
    return "\n".join([*head, *_elements(card), "</main>", "</body>", "</html>", ""])


def is_card_page(head: bytes) -> bool:
    return GENERATOR.encode() in head


def _in_order(card: Mapping[str, Any]) -> Iterator[tuple[bool, Section, list[Block]]]:
    """Give every section, whether the appendix begins with it, and its blocks but for empty lists."""
    inside = False
    for section in sections(card):
        yield section.appendix and not inside, section, [block for block in section.blocks if block != Listed(())]
        inside = inside or section.appendix


def _elements(card: Mapping[str, Any]) -> Iterator[str]:
    for begins, section, blocks in _in_order(card):
        if begins:
            yield "<h1>Appendix</h1>"
        yield "<section>"
        if section.title:
            yield f"<h2>{_text(section.title)}</h2>"
        yield from map(_as_html, blocks)
        yield "</section>"


def _as_html(block: Block) -> str:
    if isinstance(block, Listed):
        return f"<ul>{''.join(f'<li>{_text(item)}</li>' for item in block.items)}</ul>"
    if isinstance(block, str):
        return f"<p>{_text(block)}</p>"
    heads = "".join(f'<th scope="col">{_text(head)}</th>' for head in block.heads)
    top = f"<thead><tr>{heads}</tr></thead>" if any(block.heads) else ""
    rows = "".join(f"<tr>{''.join(f'<td>{_cell(cell)}</td>' for cell in row)}</tr>" for row in block.rows)
    return f'<div class="sheet{"" if top else " fields"}"><table>{top}<tbody>{rows}</tbody></table></div>'


def _cell(text: str) -> str:
    return WHOLE.sub(r"<span>\g<0></span>", _text(text[:LONGEST]))


def _text(text: str) -> str:
    return escape(plain(text))


MARKUP = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "`": "'", **{mark: f"\\{mark}" for mark in "\\|*_[]"}})
LONGEST = 2_000
"""Characters of a cell: people's own words go in whole, a name of a megabyte does not."""


def markdown_of(card: Mapping[str, Any]) -> str:
    return "\n\n".join([f"# {line(title_of(card))}", *_paragraphs(card)]) + "\n"


def _paragraphs(card: Mapping[str, Any]) -> Iterator[str]:
    for begins, section, blocks in _in_order(card):
        if begins:
            yield "# Appendix"
        if section.title:
            yield f"## {line(section.title)}"
        yield from map(_as_markdown, blocks)


def _as_markdown(block: Block) -> str:
    if isinstance(block, Listed):
        return "\n".join(f"- {line(item)}" for item in block.items)
    if isinstance(block, str):
        return line(block)
    heads = f"| {' | '.join(map(cell, block.heads))} |"
    return "\n".join(
        [heads, f"|{'---|' * len(block.heads)}", *(f"| {' | '.join(map(cell, row))} |" for row in block.rows)]
    )


def cell(text: str) -> str:
    return line(text[:LONGEST])


def line(text: str) -> str:
    """Escape a text for Markdown; a < before a digit, as in "<10", begins no tag and stays."""
    return re.sub(r"&lt;(?=\d)", "<", plain(text).translate(MARKUP))
