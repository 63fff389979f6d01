"""The dossier of a search: one folder with a summary for a committee and the whole record, as text, JSON and a page.

All files are made from one record, which has no count below the limit; names of others cannot become markup.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from ..explorer.page import asset, inline_digest
from ..storage.folders import write_file, write_folder
from ..storage.packages import write_checksums
from ..storage.places import CHECKSUMS, anything
from ..storage.seals import Inventory
from ..validation import check_flag
from .estimates import JOBS
from .picture import picture

FORMAT = "fairfront alternatives 1"
TITLE = "A fairer alternative to the model in use?"
GENERATOR = '<meta name="generator" content="fairfront alternatives">'
FILES = ("summary.md", "dossier.md", "dossier.json", "dossier.html")
LIMITS = (
    "A p-value above the level does not show that there is no alternative: other columns, families or more people may "
    "show one. The test is about the search as it was set up here, on people like those in these rows.",
    "A smaller gap in one figure says nothing of other figures, nor of why groups differ. Whether an alternative "
    "should replace the incumbent is for people to decide.",
)
STYLE = """
.sheet { background: var(--sheet); border: 1px solid var(--line); border-radius: 11px; padding: 8px 14px; }
.sheet { overflow-x: auto; }
.sheet td { min-width: 4em; vertical-align: top; }
h1 + section, section > * + * { margin-top: 10px; }
section p, section li { max-width: 110ch; overflow-wrap: anywhere; font-size: .9rem; }
figure { margin: 0; } figcaption { font-size: .85rem; max-width: 100ch; }
"""


@dataclass(frozen=True)
class Part:
    """One section: paragraphs, then a table with its heads, the first cell of a row being its heading."""

    title: str
    texts: Sequence[str]
    heads: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    drawn: str = ""


INVENTORY = Inventory(
    "dossier",
    files={
        "summary.md": lambda data: data.startswith(f"# {TITLE}".encode()),
        "dossier.md": lambda data: data.startswith(f"# {TITLE}".encode()),
        "dossier.json": lambda data: f'"format": "{FORMAT}"'.encode() in data,
        "dossier.html": lambda data: GENERATOR.encode() in data,
        CHECKSUMS: anything,
    },
    listed=True,
)


def write_dossier(path: Any, record: Mapping[str, Any], *, overwrite: bool = False) -> Path:
    """Write the folder, whole or not at all, with a list of checksums."""
    check_flag(overwrite, "overwrite")

    def fill(folder: Path) -> None:
        parts = tuple(sections(record))
        texts = [text_of(summary(record)), text_of(parts), json.dumps(record, indent=1, allow_nan=False) + "\n"]
        for name, text in zip(FILES, [*texts, page_of(parts)], strict=True):
            write_file(folder / name, text)
        write_checksums(folder)

    return write_folder(path, fill, INVENTORY, overwrite=overwrite)


def summary(record: Mapping[str, Any]) -> tuple[Part, ...]:
    """Return one page: the question, the answer, the model that qualifies first, and what it does not show."""
    texts = [_asked(record), record["finding"], record["incumbent"]["sentence"], record["covers"]]
    shown = [line for line in record["table"] if line["id"] in (0, record["shown"])]
    what = (
        "The incumbent, and the first model that qualifies"
        if record["qualified"]
        else "The incumbent, and the most promising model, which does not qualify"
    )
    return (
        Part(TITLE, texts),
        Part(f"{what}, on rows that were not searched on", _changes(record, record["shown"]), *_lines(shown)),
        *_people(record),
        Part("What this does not show", LIMITS),
    )


def sections(record: Mapping[str, Any]) -> Iterator[Part]:
    """Return the whole dossier."""
    budget = record["budget"]
    p = ", ".join(f"{each:.3f}" for each in record["split_p_values"])
    yield Part(TITLE, [_asked(record), record["finding"]])
    yield Part(
        "Data and incumbent",
        [
            record["incumbent"]["sentence"],
            f"{record['rows']['all']} rows; on the first split {record['rows']['search']} were searched on and "
            f"{record['rows']['judge']} judged. The favourable label is {record['favourable']!r}. {record['covers']}",
            *(f"Groups of {name!r}: {', '.join(levels)}." for name, levels in record["groups"].items()),
            *record["notes"],
            *(f"{name}: {value}." for name, value in record.get("origin", {}).items()),
        ],
    )
    yield Part(
        "The test",
        [
            "Rows are halved at random, families search one half, the most promising model there is tested on the "
            "other. A split's p-value is the largest of those of all requirements; that of the search is twice the "
            f"median over the splits: {record['p_value']:.4g}. It is valid however many models were tried.",
            f"P-values of the splits: {p}.",
        ],
    )
    tried = [f"{name}: {words}." for name, words in record["families"].items()]
    most = "none" if budget["max_fits"] is None else str(budget["max_fits"])
    seconds = "none" if budget["max_seconds"] is None else f"{budget['max_seconds']:g}"
    yield Part(
        "What was tried, and why the search stopped",
        [
            *tried,
            f"{record['fits']} fits; budget of fits: {most}, of seconds: {seconds}. The search stopped because "
            f"{record['stopped']}. Seed {record['seed']}.",
            "Models that were tested, by family: "
            + (", ".join(f"{name} {count}" for name, count in record["chosen"].items()) or "none")
            + ".",
        ],
    )
    heads, rows = _lines(record["table"])
    told = (
        "Figures are those of the judge rows of the first split, whose models were fitted on its search rows. Models "
        "are tested in the order of the table, which the search rows gave, until one fails; a p-value is the largest "
        "up to its own. Id 0 is the incumbent."
    )
    yield Part("All models of the first split", [told], heads, rows, picture(record))
    yield Part("The model shown", _changes(record, record["shown"]))
    yield from _people(record)
    yield Part("What this does not show", LIMITS)


def _asked(record: Mapping[str, Any]) -> str:
    kept = ", ".join(
        f"{name} ({JOBS[name].words}) worse by less than {value:g}" for name, value in record["keep"].items()
    )
    better = " and ".join(each["name"] for each in record["improve"])
    worse = record["nobody_worse"]
    more = "" if worse is None else f" and no group's selection rate or TPR falls by more than {worse:g}"
    return f"Asked: is there a model with {kept}, whose {better} is better than the incumbent's{more}, on new people?"


def _changes(record: Mapping[str, Any], id: int | None) -> list[str]:
    found = record["changes"].get(str(id))
    if found is None:
        return ["No model was found."]
    said = [f"Id {id}, with bounds at {1 - record['alpha']:.0%} confidence:"]
    ratios = {each["name"] for each in record["improve"] if each["ratio"]}
    for name, values in found.items():
        if name in record["keep"]:
            said.append(f"{name} changes by {values[0]:+.4f} (between {values[1]:+.4f} and {values[2]:+.4f}).")
        elif name in ratios:
            said.append(f"{name} is {values[0]:.3f} times the incumbent's, at least {values[1]:.3f} times.")
        else:
            sure = f"at least {values[1]:.4f} smaller" if values[1] > 0 else "no reduction is sure"
            said.append(f"{name} is smaller by {values[0]:.4f} than the incumbent's worst pair of groups ({sure}).")
    return said


def _lines(table: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    names = [name for name in table[0] if name not in ("settings",)]
    heads = ["id", "family", "settings", *names[2:]]
    return heads, [[_cell(line[name]) for name in heads] for line in table]


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_cell(each)}" for name, each in value.items())
    if isinstance(value, list):
        return " ".join(map(_cell, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _people(record: Mapping[str, Any]) -> Iterator[Part]:
    """Who gains and who loses."""
    for name, lines in record["moved"].items():
        rates = [rate for rate in ("selection", "tpr") if rate in lines[0]]
        heads = [
            "group",
            "people",
            *(f"{rate} {when}" for rate in rates for when in ("incumbent", "model")),
            "enter",
            "leave",
        ]
        rows = []
        for line in lines:
            shares = [_cell(value) for rate in rates for value in line[rate]]
            rows.append([line["group"], str(line["n"]), *shares, str(line["enter"]), str(line["leave"])])
        yield Part(f"Who gains and who loses: {name}", ["Small counts are rounded to multiples of 5."], heads, rows)
    if record["swapped"]:
        said = []
        for name, verb in (("enter", "approved by the model alone"), ("leave", "approved by the incumbent alone")):
            found = record["swapped"][name]
            share = (
                "" if found["favourable"] is None else f", {found['favourable']:.1%} of whom have the favourable label"
            )
            said.append(f"{found['people']} people are {verb}{share}.")
        yield Part("Swap sets", said)


def text_of(parts: Sequence[Part]) -> str:
    """Return Markdown in which nothing that a person named is markup."""
    lines = []
    for i, part in enumerate(parts):
        lines += [f"{'#' if not i else '##'} {_plain(part.title)}", ""]
        for text in part.texts:
            lines += [_plain(text), ""]
        if part.rows:
            table = [part.heads, ["---"] * len(part.heads), *part.rows]
            lines += ["| " + " | ".join(map(_plain, row) if k != 1 else row) + " |" for k, row in enumerate(table)]
            lines.append("")
    return "\n".join(lines)


def _plain(text: str) -> str:
    clean = "".join(each if each.isprintable() else " " for each in text)
    clean = clean.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*\[\]|])", r"\\\1", clean)


def page_of(parts: Sequence[Part]) -> str:
    """Return one page that needs nothing else, runs nothing, and reads in order."""
    style = "\n".join((asset("explorer.css"), asset("print.css"), STYLE))
    policy = f"default-src 'none'; style-src {inline_digest(style)}; base-uri 'none'; form-action 'none'"
    lines = [
        "<!doctype html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        GENERATOR,
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="referrer" content="no-referrer">',
        '<meta name="color-scheme" content="light dark">',
        f"<title>{escape(TITLE)}</title>",
        f"<style>{style}</style>",
        "</head>",
        "<body>",
        "<main>",
    ]
    for i, part in enumerate(parts):
        tag = "h2" if i else "h1"
        lines += [f'<section aria-labelledby="part{i}">', f'<{tag} id="part{i}">{escape(part.title)}</{tag}>']
        lines += [f"<p>{escape(text)}</p>" for text in part.texts]
        lines += [part.drawn] if part.drawn else []
        lines += list(_table(part)) if part.rows else []
        lines.append("</section>")
    return "\n".join([*lines, "</main>", "</body>", "</html>", ""])


def _table(part: Part) -> Iterator[str]:
    yield f'<div class="sheet" role="region" tabindex="0" aria-label="{escape(part.title, quote=True)}"><table>'
    yield (
        "<thead><tr>" + "".join(f'<th scope="col">{escape(head)}</th>' for head in part.heads) + "</tr></thead><tbody>"
    )
    for row in part.rows:
        cells = "".join(f"<td>{escape(cell)}</td>" for cell in row[1:])
        yield f'<tr><th scope="row">{escape(row[0])}</th>{cells}</tr>'
    yield "</tbody></table></div>"
