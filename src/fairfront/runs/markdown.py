"""A card in Markdown, and names from others' files that cannot become markup."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .card_blocks import Block, Listed, Section
from .card_sections import sections, title_of

MARKUP = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "`": "'", **{mark: f"\\{mark}" for mark in "\\|*_[]"}})
LONGEST = 2_000
"""Characters of a cell: people's own words go in whole, a name of a megabyte does not."""


def markdown_of(card: Mapping[str, Any]) -> str:
    return "\n\n".join([f"# {line(title_of(card))}", *_parts(sections(card))]) + "\n"


def _parts(found: list[Section]) -> Iterator[str]:
    inside = False
    for section in found:
        if section.appendix and not inside:
            inside = True
            yield "# Appendix"
        if section.title:
            yield f"## {line(section.title)}"
        yield from (_drawn(block) for block in section.blocks if block != Listed(()))


def _drawn(block: Block) -> str:
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
