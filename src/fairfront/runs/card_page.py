"""A card as pages: Markdown, and one HTML file in the explorer's style; names of others cannot become markup."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from ..explorer.page import asset, inline_digest
from .card_blocks import Block, Listed, Section
from .card_sections import sections, title_of

STYLE = """
.sheet { background: var(--sheet); border: 1px solid var(--line); border-radius: 11px; padding: 8px 14px; }
.sheet { overflow-x: auto; }
.sheet td { overflow-wrap: anywhere; min-width: 4em; vertical-align: top; }
tbody tr:first-child td { border-top: 0; }
h1 + section, section > * + * { margin-top: 10px; }
section p, section li { max-width: 110ch; overflow-wrap: anywhere; font-size: .9rem; }
"""
GENERATOR = '<meta name="generator" content="fairfront card">'


def page_of(card: Mapping[str, Any]) -> str:
    style = "\n".join((asset("explorer.css"), asset("print.css"), STYLE))
    policy = f"default-src 'none'; style-src {inline_digest(style)}; base-uri 'none'; form-action 'none'"
    title = _text(title_of(card))
    head = [
        "<!doctype html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        GENERATOR,
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="referrer" content="no-referrer">',
        '<meta name="color-scheme" content="light dark">',
        f"<title>{title}</title>",
        f"<style>{style}</style>",
        "</head>",
        "<body>",
        "<main>",
        f"<h1>{title}</h1>",
    ]
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
    rows = "".join(f"<tr>{''.join(f'<td>{_text(cell[:LONGEST])}</td>' for cell in row)}</tr>" for row in block.rows)
    return f'<div class="sheet"><table>{top}<tbody>{rows}</tbody></table></div>'


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
    return plain(text).translate(MARKUP)


def plain(text: str) -> str:
    """Return a text in one line, without what cannot be printed."""
    breaks = "\r\n\t\u2028\u2029"
    return "".join(" " if ch in breaks else ch for ch in text if ch.isprintable() or ch in breaks)
