"""A card as files: Markdown, one HTML page in the explorer's style, CycloneDX 1.6 and Hugging Face's front matter.

Names of others cannot become markup.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from html import escape
from typing import Any

from ..explorer.page import head_of
from ..measures.figures import VALUES, Column, figure_of
from ..measures.spans import with_ends
from ..records import plain
from .card_blocks import HEADS, Block, Listed, Section, difference, estimate, significant, written
from .card_sections import LIMITS, architecture, sections, title_of
from .options import in_words
from .parts import estimate_of

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
    return plain(text).translate(MARKUP)


TASKS = {"binary": "binary classification", "multiclass": "multiclass classification", "regression": "regression"}
HUB_TASKS = {"regression": "tabular-regression"}
HUB_METRICS = {"auc": "roc_auc", "selection": "approval_rate"}


def cyclonedx_of(card: Mapping[str, Any]) -> str:
    """Return the card as a component of type machine-learning-model; values are texts, as that format wants them."""
    model, data = card["model"], card["data"]
    sources = {name: part["source"] for name, part in card["parts"].items() if part["source"]}
    known = {**card["about"], "data-sha256": data["sha256"], "chosen": card["decision"]["at"]}
    known |= {} if (point := card["operating_point"]) is None else _operating(point)
    known |= {f"{name}-sha256": source["sha256"] for name, source in sources.items()}
    files = [data["name"], *(source["name"] for source in sources.values())]
    component = {
        "type": "machine-learning-model",
        "bom-ref": f"model-{model['id']}",
        "name": _name(card),
        "version": card["about"]["version"] or "",
        **({"authors": [{"name": card["about"]["owner"]}]} if card["about"]["owner"] else {}),
        "modelCard": {
            "modelParameters": {
                "approach": {"type": "supervised"},
                "task": TASKS[model["task"]],
                "architectureFamily": model["kind"],
                "modelArchitecture": _architecture(card),
                "datasets": [{"type": "dataset", "name": name, "sensitiveData": _attributes(card)} for name in files],
                "inputs": [{"format": column} for column in data["features"]],
                "outputs": [{"format": model["target"]}],
            },
            "quantitativeAnalysis": {"performanceMetrics": list(_metrics(card))},
            "considerations": {
                "useCases": [card["about"]["use"]] if card["about"]["use"] else [],
                "technicalLimitations": list(LIMITS),
                "performanceTradeoffs": list(_tradeoffs(card)),
                "fairnessAssessments": list(_assessments(card)),
            },
            "properties": [{"name": f"fairfront:{name}", "value": value} for name, value in known.items() if value],
        },
    }
    tool = {"type": "application", "name": "fairfront", "version": card["fairfront"]}
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"timestamp": card["decision"]["at"], "tools": {"components": [tool]}},
        "components": [component],
    }
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _operating(point: Mapping[str, Any]) -> dict[str, str]:
    """Return the cut-off in full, what it is a cut-off on, and the rule that it follows from."""
    found = {"operating-point": point["words"]}
    return found if point["cutoff"] is None else {**found, "cutoff": repr(point["cutoff"]), "cutoff-on": point["of"]}


def _architecture(card: Mapping[str, Any]) -> str:
    named = card["estimator"] is not None and card["model"]["units"] != "rates"
    return str(card["estimator"]["name"]) if named else architecture(card)


def _name(card: Mapping[str, Any]) -> str:
    return f"{card['model']['target']}, id {card['model']['id']}"


def _attributes(card: Mapping[str, Any]) -> list[str]:
    return [each["attribute"] for each in card["groups"]]


def _metrics(card: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for part, found in card["parts"].items():
        for figure, values in found["figures"].items():
            yield from _metric(figure, values["chosen"], part)
        for attribute, lines in found["groups"].items():
            for line in (line for line in lines if line["status"] != "all"):
                for figure in ("selection", "tpr", "fpr", "error", "prediction", "mse"):
                    yield from _metric(figure, line.get(figure), f"{part}, {attribute}={line['group']}")


def _metric(figure: str, value: Any, where: str) -> Iterator[dict[str, Any]]:
    if isinstance(value, list):
        told = [written(each, figure) for each in value[:3] if each is not None]
        told[0] = with_ends(told[0], value[3:], significant if figure in VALUES else None)
        bounds = dict(zip(("lowerBound", "upperBound"), told[1:], strict=False))  # they include what rounding may move
        ends = {"confidenceInterval": bounds} if bounds else {}
        yield {"type": HEADS[figure], "value": told[0], "slice": where, **ends}


def _tradeoffs(card: Mapping[str, Any]) -> Iterator[str]:
    for part, found in card["parts"].items():
        for figure, values in found["figures"].items():
            if values["difference"] is not None:
                change = difference(values["difference"], figure)
                yield f"{HEADS[figure]} on {part}, this model less the unconstrained one: {change}"


def _assessments(card: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """One per worst contrast of the criterion: the group that is treated worse, and by how much.

    Of a figure that is better when smaller, such as an error, that is the group with the higher one.
    """
    notions = " and ".join(map(in_words, card["model"]["notions"]))
    capped = f"trained with a cap on the gap of {notions}; see the card for what remains"
    if card["model"]["id"] == card["model"]["unconstrained"]:
        capped = "none: trained without a cap on any gap"
    for part, found in card["parts"].items():
        for each in found["worst"]:
            if each["figure"] in (*card["model"]["gaps"], "selection_ratio") and isinstance(
                each["value"], (int, float)
            ):
                worse, other = each["between"]
                figure = Column.of(each["figure"]).figure
                if figure_of(figure).better < 0:
                    worse, other = other, worse
                told = estimate(estimate_of(each), figure)
                yield {
                    "groupAtRisk": f"{each['attribute']}={worse}",
                    "harms": f"{in_words(each['figure'])} on {part}: {told} against {other}",
                    "mitigationStrategy": capped,
                }


def hub_card_of(card: Mapping[str, Any]) -> str:
    """Return README.md: front matter in YAML (whose flow style is JSON) and the card in Markdown."""
    model = card["model"]
    results = [
        {
            "task": {"type": HUB_TASKS.get(model["task"], "tabular-classification")},
            "dataset": {"name": (found["source"] or card["data"])["name"], "type": "private", "split": part},
            "metrics": [
                {"type": HUB_METRICS.get(figure, figure), "name": HEADS[figure], "value": values["chosen"][0]}
                for figure, values in found["figures"].items()
                if isinstance(values["chosen"], list)
            ],
        }
        for part, found in card["parts"].items()
    ]
    front = {
        "library_name": "fairfront",
        "pipeline_tag": HUB_TASKS.get(model["task"], "tabular-classification"),
        "tags": ["fairfront", "fairness", "tabular", *model["notions"]],
        "model-index": [{"name": _name(card), "results": results}],
    }
    lines = [f"{name}: {json.dumps(value, ensure_ascii=True, allow_nan=False)}" for name, value in front.items()]
    return "\n".join(["---", *lines, "---", "", markdown_of(card)])


FORMATS: dict[str, tuple[str, Callable[[Mapping[str, Any]], str], Callable[[bytes], bool]]] = {
    "cyclonedx": ("card.cdx.json", cyclonedx_of, lambda data: b'"bomFormat": "CycloneDX"' in data[:400]),
    "huggingface": ("README.md", hub_card_of, lambda data: data.startswith(b'---\nlibrary_name: "fairfront"\n')),
}
"""By name: the file that is written on request, how it is drawn, and how it is known."""
