"""The card in the formats of others: a CycloneDX 1.6 document, and Hugging Face's front matter above the Markdown."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..measures.figures import Column, figure_of
from .card_blocks import HEADS, number
from .card_page import markdown_of
from .card_sections import LIMITS
from .options import in_words

TASKS = {"binary": "binary classification", "multiclass": "multiclass classification", "regression": "regression"}
HUB_TASKS = {"regression": "tabular-regression"}
HUB_METRICS = {"auc": "roc_auc", "selection": "approval_rate"}


def cyclonedx_of(card: Mapping[str, Any]) -> str:
    """Return the card as a component of type machine-learning-model; values are texts, as that format wants them."""
    model, data = card["model"], card["data"]
    sources = {name: part["source"] for name, part in card["parts"].items() if part["source"]}
    known = {**card["about"], "data-sha256": data["sha256"], "chosen": card["decision"]["at"]}
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
                "modelArchitecture": (card["estimator"] or {"name": f"linear, {model['loss']} loss"})["name"],
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


def _name(card: Mapping[str, Any]) -> str:
    return f"{card['model']['target']}, id {card['model']['id']}"


def _attributes(card: Mapping[str, Any]) -> list[str]:
    return [each["attribute"] for each in card["groups"]]


def _metrics(card: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for part, found in card["parts"].items():
        for figure, values in found["figures"].items():
            yield from _metric(HEADS[figure], values["chosen"], part)
        for attribute, lines in found["groups"].items():
            for line in (line for line in lines if line["status"] != "all"):
                for figure in ("selection", "tpr", "fpr", "error", "prediction", "mse"):
                    yield from _metric(HEADS[figure], line.get(figure), f"{part}, {attribute}={line['group']}")


def _metric(name: str, value: Any, where: str) -> Iterator[dict[str, Any]]:
    if isinstance(value, list):
        middle, low, high = value
        ends = {} if low is None else {"confidenceInterval": {"lowerBound": number(low), "upperBound": number(high)}}
        yield {"type": name, "value": number(middle), "slice": where, **ends}


def _tradeoffs(card: Mapping[str, Any]) -> Iterator[str]:
    for part, found in card["parts"].items():
        for figure, values in found["figures"].items():
            if values["difference"] is not None:
                change = number(values["difference"][0])
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
                if figure_of(Column.of(each["figure"]).figure).better < 0:
                    worse, other = other, worse
                yield {
                    "groupAtRisk": f"{each['attribute']}={worse}",
                    "harms": f"{in_words(each['figure'])} on {part}: {number(each['value'])} against {other}",
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
