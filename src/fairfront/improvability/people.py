"""The people of a dossier: who gains and who loses against the incumbent, and how those who change sides perform."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .layout import Part, cell_words
from .sections import Search, Section
from .verdicts import moved, swapped


class People(Section):
    """Rates of every group before and after, and swap sets, of the model that is shown."""

    name = "people"

    def find(self, search: Search) -> Mapping[str, Any]:
        if search.shown is None:
            return {"moved": {}, "swapped": {}}
        people = moved(search.outcome, search.data, search.judged, search.shown)
        return {"moved": people, "swapped": swapped(search.outcome, search.data, search.shown)}

    def parts(self, record: Mapping[str, Any]) -> Iterator[Part]:
        for name, lines in record["moved"].items():
            rates = [rate for rate in ("selection", "tpr") if rate in lines[0]]
            sides = [f"{rate} {when}" for rate in rates for when in ("incumbent", "model")]
            heads, rows = ["group", "people", *sides, "enter", "leave"], []
            for line in lines:
                shares = [cell_words(value) for rate in rates for value in line[rate]]
                rows.append([line["group"], str(line["n"]), *shares, str(line["enter"]), str(line["leave"])])
            yield Part(f"Who gains and who loses: {name}", ["Small counts are rounded to multiples of 5."], heads, rows)
        if record["swapped"]:
            yield Part("Swap sets", [_swap(record["swapped"][name], verb) for name, verb in VERBS.items()])

    summary = parts


VERBS = {"enter": "approved by the model alone", "leave": "approved by the incumbent alone"}


def _swap(found: Mapping[str, Any], verb: str) -> str:
    share = "" if found["favourable"] is None else f", {found['favourable']:.1%} of whom have the favourable label"
    return f"{found['people']} people are {verb}{share}."
