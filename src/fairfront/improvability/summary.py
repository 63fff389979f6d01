"""One page on a search, in Markdown, made from its record; names of others cannot become markup in it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..records import plain
from ..storage.folders import make_folder, write_file, write_folder
from ..storage.inventory import Inventory
from ..validation import check_flag
from .estimates import JOBS
from .record import FORMAT, p_words

TITLE = "A fairer alternative to the model in use?"
SUMMARY, RECORD, MODEL = "summary.md", "alternatives.json", "model"
INVENTORY = Inventory(
    "search",
    files={
        SUMMARY: lambda data: data.startswith(f"# {TITLE}".encode()),
        RECORD: lambda data: f'"format": "{FORMAT}"'.encode() in data,
        f"{MODEL}/*": lambda data: True,
    },
)
LISTED = 10
LIMITS = (
    "A p-value above the level does not show that there is no alternative: other columns, families or more people may "
    "show one. The test is about the search as it was set up here, on people like those in these rows.",
    "A smaller gap in one figure says nothing of other figures, nor of why groups differ. Whether an alternative "
    "should replace the incumbent is for people to decide.",
)


def write_search(path: Any, record: Mapping[str, Any], *, overwrite: bool = False, fill_model: Any = None) -> Path:
    """Write summary.md and alternatives.json to a folder, whole or not at all.

    ``fill_model`` writes the model that was found into a folder of its own, model.
    """
    check_flag(overwrite, "overwrite")

    def fill(folder: Path) -> None:
        write_file(folder / SUMMARY, summary_of(record))
        write_file(folder / RECORD, json.dumps(record, indent=1, allow_nan=False) + "\n")
        if fill_model is not None:
            make_folder(folder / MODEL)
            fill_model(folder / MODEL)

    return write_folder(path, fill, INVENTORY, overwrite=overwrite)


def summary_of(record: Mapping[str, Any]) -> str:
    """Return the page: the finding, the models, who gains and who loses, how it was tested, what it does not show."""
    blocks = [f"# {TITLE}", *_finding(record), *_models(record), *_gains(record), *_method(record)]
    blocks += ["## What this does not show", *map(escaped, LIMITS)]
    return "\n\n".join(blocks) + "\n"


def escaped(text: str) -> str:
    """Return a text that is no markup, and of which no address becomes a link."""
    clean = plain(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*\[\]|]|:(?=//)|(?<=www)\.|@)", r"\\\1", clean)


def _finding(record: Mapping[str, Any]) -> list[str]:
    told = [record["finding"], record["asked"], record["incumbent"]["sentence"], record["covers"], *record["notes"]]
    if "data" in record:
        told.append(f"The file is {record['data']['name']} (sha256 {record['data']['sha256']}).")
    return [escaped(text) for text in told]


def _models(record: Mapping[str, Any]) -> list[str]:
    lines = record["table"]
    heads = list(lines[0])
    told = [
        f"Figures are those of the {record['rows']['judge']} judge rows of the first split. Id 0 is the incumbent; the "
        "others are in the order in which they looked promising on the search rows. Model 1 alone is tested there.",
        *change_sentences(record),
    ]
    if record["why_not"]:
        told.append(f"It does not qualify: {record['why_not']}.")
    if len(lines) > 1 + LISTED:
        told.append(f"{RECORD} has {len(lines) - 1 - LISTED} more models.")
    table = ([figure_words(line[name]) for name in heads] for line in lines[: 1 + LISTED])
    return ["## Models", *map(escaped, told), _table([column_words(record, name) for name in heads], table)]


def change_sentences(record: Mapping[str, Any]) -> list[str]:
    """Say how the figures of model 1 differ from the incumbent's, with their bounds."""
    ratios = {each["name"] for each in record["improve"] if each["ratio"]}
    told = [f"Model 1, with bounds at {1 - record['alpha']:.0%} confidence:"] if record["changes"] else []
    for name, change in record["changes"].items():
        value, lower, upper = change["value"], change["lower"], change["upper"]
        pair = " and ".join(map(repr, record["pairs"].get(name, ())))
        incumbent = f"the incumbent's between {pair}, its worst pair on the search rows"
        if name in record["keep"]:
            told.append(f"{column_words(record, name)} changes by {value:+.4f} ({lower:+.4f} to {upper:+.4f}).")
        elif name in ratios:
            told.append(f"{name} is {value:.3f} times {incumbent}, at least {lower:.3f} times.")
        elif pair:
            sure = f"at least {lower:.4f} smaller" if lower > 0 else "no reduction is sure"
            told.append(
                f"{name} is {'smaller' if value > 0 else 'larger'} by {abs(value):.4f} than {incumbent} ({sure})."
            )
        else:
            told.append(f"{name}: the lowest change is {value:+.4f} (at least {lower:+.4f}).")
    return told


def column_words(record: Mapping[str, Any], name: str) -> str:
    """Return the name of a figure, with whom it covers where labels are known for some rows only."""
    return f"{name} (labelled rows)" if record["labelled"] and name in JOBS else name


def figure_words(value: Any) -> str:
    """Return an entry of the table of models as people read it; empty where there is none."""
    if value is None:
        return ""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {figure_words(each)}" for name, each in value.items())
    if isinstance(value, list):
        return " ".join(map(figure_words, value))
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def _gains(record: Mapping[str, Any]) -> list[str]:
    blocks = []
    for name, lines in record["moved"].items():
        rates = [rate for rate in ("selection", "tpr") if rate in lines[0]]
        heads = ["group", "people", *(f"{rate} {what}" for rate in rates for what in ("before", "after", "change"))]
        shares = "enter_favourable" in lines[0]
        heads += ["enter", "of whom favourable", "leave", "of whom favourable"] if shares else ["enter", "leave"]
        told = (
            "People whom the model alone approves enter, those whom the incumbent alone approves leave. Behind a "
            f"change is its {1 - record['alpha']:.0%} interval."
        )
        rows = (_gain_line(line, rates, shares) for line in (*lines, record["swapped"]))
        blocks += [f"## Who gains and who loses: {escaped(name)}", told, _table(heads, rows)]
    return blocks


def _gain_line(line: Mapping[str, Any], rates: Sequence[str], shares: bool) -> list[str]:
    cells = [line["group"], str(line.get("n", ""))]
    for rate in rates:
        cells += [figure_words(value) for value in line.get(rate, (None, None))]
        change = line.get(f"{rate}_change", [None])
        cells.append("" if None in change else "{:+.3f} ({:+.3f} to {:+.3f})".format(*change))
    for side in ("enter", "leave"):
        cells += [str(line[side]), figure_words(line[f"{side}_favourable"])] if shares else [str(line[side])]
    return cells


def _method(record: Mapping[str, Any]) -> list[str]:
    chosen = ", ".join(f"{name} {count}" for name, count in record["chosen"].items()) or "none"
    told = [
        "Rows are halved at random, families search one half, the most promising model there is tested on the other. A "
        "split's p-value is the largest of those of all requirements; that of the search is twice the median over the "
        f"splits ({p_words(record['p_value'])}). It is valid however many models were tried.",
        *(f"{name}: {words}." for name, words in record["families"].items()),
        f"Models that were tested, by family: {chosen}. {record['fits']} fits. The search stopped because "
        f"{record['stopped']}. Seed {record['seed']}; fairfront {record['fairfront']}.",
    ]
    if "features" in record:
        told.append(
            f"Alternatives may use these columns: {', '.join(record['features'])}. Scales, levels and columns that are "
            "dropped were learnt from a random four fifths of all rows, without labels, groups or the incumbent."
        )
        told += record["findings"]
    return ["## How it was tested", *map(escaped, told)]


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, *rows]
    cells = ["| " + " | ".join(map(escaped, line)) + " |" for line in lines]
    cells.insert(1, "| " + " | ".join(["---"] * len(heads)) + " |")
    return "\n".join(cells)
