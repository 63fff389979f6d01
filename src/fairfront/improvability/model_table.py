"""The table of models in a dossier: every model of the first split, why it was kept or refused, and what it changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .digits import p_words
from .dossier_layout import Part, cell_words
from .estimates import JOBS
from .picture import picture
from .sections import Search, Section
from .verdicts import pair_words, table_of

COARSE = (
    "Some counts are small: p-values that rest on them say only whether they pass, and changes are in steps of what "
    "five people make of them, so that no exact count follows."
)


class Models(Section):
    """Every model of the first split: settings, figures, and why it was kept or refused."""

    name = "models"

    def find(self, search: Search) -> Mapping[str, Any]:
        first, wanted = search.outcome, search.wanted
        table = table_of(first, search.data, wanted, search.judged, search.verdicts)
        known = [(i + 1, each) for i, each in enumerate(search.verdicts) if each.changes is not None]
        pairs = [pair_words(each, search.data.sample.attributes) for each in first.pairs]
        return {
            "table": table,
            "changes": {str(i): {name: list(told) for name, told in (each.changes or {}).items()} for i, each in known},
            "pairs": {each.name: list(pair) for each, pair in zip(wanted.improve, pairs, strict=True)},
            "coarse": search.few,
            "coarse_p": [i for i, each in known if each.coarse],
        }

    def parts(self, record: Mapping[str, Any]) -> Iterator[Part]:
        told = (
            "Figures are those of the judge rows of the first split, whose models were fitted on its search rows. "
            "Models are tested in the order of the table, which the search rows gave, until one fails; a p-value is "
            "the largest up to its own and that of the search. Cut-offs were placed on the search rows, where every "
            "model approves the incumbent's share. Id 0 is the incumbent."
        )
        told += f" {COARSE}" if record["coarse"] else ""
        yield Part("All models of the first split", [told], *_lines(record, record["table"]), picture(record), "model")
        yield Part("The model shown", _changes(record, record["shown"]))

    def summary(self, record: Mapping[str, Any]) -> Iterator[Part]:
        what = "first model that qualifies" if record["qualified"] else "most promising model, which does not qualify"
        shown = [line for line in record["table"] if line["id"] in (0, record["shown"])]
        title = f"The incumbent, and the {what}, on rows that were not searched on"
        told = [COARSE] if record["coarse"] else []
        yield Part(title, [*_changes(record, record["shown"]), *told], *_lines(record, shown))


def _changes(record: Mapping[str, Any], id: int | None) -> list[str]:
    found = record["changes"].get(str(id))
    if found is None:
        return ["No model was found."]
    tested = len(record["changes"])
    together = f", for the {tested} models that were tested at once" if tested > 1 else ""
    of_all = " of all of them at once" if tested > 1 else ""
    said = [f"Id {id}, with bounds at {1 - record['alpha']:.0%} confidence{together}:"]
    ratios = {each["name"] for each in record["improve"] if each["ratio"]}
    for name, values in found.items():
        one, two = record["pairs"].get(name, ("", ""))
        pair = f"the incumbent's between {one!r} and {two!r}, its worst pair on the search rows"
        if name in record["keep"]:
            of = head_words(record, name)
            said.append(f"{of} changes by {values[0]:+.4f} (between {values[1]:+.4f} and {values[2]:+.4f}).")
        elif name in ratios:
            said.append(f"{name} is {values[0]:.3f} times {pair}, at least {values[1]:.3f} times.")
        elif one:
            sure = f"at least {values[1]:.4f} smaller" if values[1] > 0 else f"no reduction is sure{of_all}"
            side = "smaller" if values[0] > 0 else "larger"
            much = f"{side} by {abs(values[0]):.4f} than" if values[0] else "as large as"
            said.append(f"{name} is {much} {pair} ({sure}).")
        else:
            said.append(f"{name}: the lowest change is {values[0]:+.4f} (at least {values[1]:+.4f}).")
    return said


def _lines(record: Mapping[str, Any], table: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    names = [name for name in table[0] if name not in ("settings",)]
    heads = ["id", "family", "settings", *names[2:]]
    return [head_words(record, name) for name in heads], [
        [line_cell(record, line, name) for name in heads] for line in table
    ]


def head_words(record: Mapping[str, Any], name: str) -> str:
    """Return the name of a figure, with whom it covers where labels do not cover everybody."""
    return f"{name} (labelled rows)" if record["labelled"] and name in JOBS else name


def line_cell(record: Mapping[str, Any], line: Mapping[str, Any], name: str) -> str:
    """Return an entry of the table of models as people read it."""
    if name == "p":
        return p_words(line["p"], record["alpha"], line["id"] in record["coarse_p"])
    return cell_words(line[name])
