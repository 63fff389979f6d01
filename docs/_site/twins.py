"""Plain text for programs that read: a twin of every page beside it, and ``llms.txt``, which lists them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

HEAD = """# fairfront

> Supervised models that are Pareto efficient between accuracy and fairness, and the whole frontier to choose from.

Every page below is plain text. A loss gap is not a rate gap; choosing happens on validation rows, reporting on test.
"""
PARTS = {
    "start": "Start",
    "how-to": "How-to",
    "explanation": "Explanation",
    "reference": "Reference",
    "gallery": "Gallery",
}


def listing(pages: dict[str, tuple[str, str]]) -> str:
    """Return ``llms.txt`` from titles and first sentences by page, in the order of the parts of the site."""
    by_part: dict[str, list[str]] = {title: [] for title in (*PARTS.values(), "Guides and evidence")}
    for page, (title, first) in sorted(pages.items()):
        part = PARTS.get(page.split("/")[0], "Guides and evidence")
        by_part[part].append(f"- [{title}]({page}.txt)" + (f": {first}" if first else ""))
    return "\n".join((HEAD, *(f"## {part}\n\n" + "\n".join(lines) + "\n" for part, lines in by_part.items() if lines)))


def first_sentence(document: Any) -> str:
    """Return the first sentence of a page's first paragraph."""
    from docutils import nodes

    for paragraph in document.findall(nodes.paragraph):
        if isinstance(paragraph.parent, nodes.section):
            return re.split(r"(?<=[.:?]) ", " ".join(paragraph.astext().split()))[0]
    return ""


def _known(translator: Any, node: Any) -> bool:
    """Tell whether a node has a form in text; what only HTML can show is left out."""
    return any(hasattr(translator, f"visit_{kind.__name__}") for kind in type(node).__mro__)


def write_twins(app: Any, error: Exception | None) -> None:
    """Write the twins after the pages; a page that autodoc or the gallery made has one too."""
    if error is not None or app.builder.format != "html":
        return
    from sphinx.builders.text import TextBuilder

    builder = TextBuilder(app, app.env)
    builder.init()
    pages = {}
    for page in sorted(app.env.found_docs):
        document = app.env.get_and_resolve_doctree(page, builder, tags=app.tags)
        translator = builder.create_translator(document, builder)
        for node in [each for each in document.findall() if not _known(translator, each)]:
            node.parent.remove(node)
        document.walkabout(translator)
        place = Path(app.outdir) / f"{page}.txt"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(translator.body, encoding="utf-8")
        pages[page] = app.env.titles[page].astext(), first_sentence(document)
    (Path(app.outdir) / "llms.txt").write_text(listing(pages), encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Write twins when the site is complete."""
    app.connect("build-finished", write_twins)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
