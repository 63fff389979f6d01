"""Whether a run gives the results that were stored before it: every figure, by the standard error of its splits."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..report import Table, thousands

EQUAL = 1e-6
"""Relative difference of two figures, of seven digits each, that are the same."""
FILE = "reproduction.json"
DRAWN = ("drawn", "points")
"""Names of points that pictures show; tables have their figures."""


@dataclass(frozen=True)
class Agreement:
    """Of one experiment: tasks that had been run before, their figures (means over splits), and how many of them agree."""

    tasks: int
    figures: int
    equal: int
    within: int

    @property
    def beyond(self) -> int:
        """Figures that differ by more than their standard error."""
        return self.figures - self.equal - self.within


def agreement(before: dict[str, Any], after: dict[str, Any]) -> Agreement:
    """Compare what a store kept before and after a run; tasks that differ in their seed only are splits of one setting.

    A figure is the mean over splits. Its standard error is that of the earlier ones; a single run has none.
    """
    known = {kept["mark"]: kept["result"] for kept in before.values()}
    settings: dict[str, list[tuple[Any, Any]]] = defaultdict(list)
    for kept in after.values():
        if kept["mark"] in known:
            name, arguments = json.loads(kept["mark"])
            setting = json.dumps([name, {key: value for key, value in arguments.items() if key != "seed"}])
            settings[setting].append((known[kept["mark"]], kept["result"]))
    counts = [_figures(pairs) for pairs in settings.values()]
    return Agreement(sum(map(len, settings.values())), *(sum(each) for each in zip((0, 0, 0), *counts, strict=True)))


def _figures(pairs: list[tuple[Any, Any]]) -> tuple[int, int, int]:
    """Count the figures of one setting, those that are equal, and those within their standard error."""
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for old, new in pairs:
        first, second = dict(_leaves(old)), dict(_leaves(new))
        for name in first.keys() | second.keys():
            found[name].append((first.get(name, np.nan), second.get(name, np.nan)))
    equal = within = 0
    for values in found.values():
        old, new = np.array(values).T
        error = float(old.std(ddof=1) / np.sqrt(len(old))) if len(old) > 1 else 0.0
        same = bool((np.abs(old - new) <= EQUAL * np.maximum(np.abs(old), np.abs(new))).all())
        equal += same
        within += not same and abs(float(old.mean() - new.mean())) <= error
    return len(found), equal, within


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, float]]:
    """Yield all numbers of a result by where they stand, but for times and points that are drawn."""
    if isinstance(value, dict):
        for key, each in value.items():
            if not (key == "seconds" or (key in DRAWN and isinstance(each, (list, dict)))):
                yield from _leaves(each, f"{name}/{key}")
    elif isinstance(value, list):
        for i, each in enumerate(value):
            yield from _leaves(each, f"{name}/{i}")
    elif isinstance(value, (int, float)):
        yield name, float(value)


@dataclass(frozen=True)
class Took:
    """Minutes of a clock, minutes of one core by all tasks together, and the number of processes."""

    minutes: float
    processor: float
    jobs: int


def keep(part: str, found: dict[str, Agreement], made: str, took: Took, folder: Path, ended: bool) -> None:
    """Store what was compared in a run of one part, the main text or the appendix, so far or to its end."""
    whole = _kept(folder)
    whole[part] = {"made": made, "ended": ended, **{name: round(each, 1) for name, each in asdict(took).items()}}
    whole[part]["results"] = {name: asdict(each) for name, each in found.items()}
    (folder / FILE).write_text(json.dumps(whole, indent=1) + "\n")


def _kept(folder: Path) -> dict[str, Any]:
    path = folder / FILE
    return dict(json.loads(path.read_text())) if path.exists() else {}


def section(folder: Path) -> str:
    """Say what the last run of everything gave, or nothing where there was none."""
    parts, rows = _kept(folder), []
    for each in parts.values():
        for name, counts in each["results"].items():
            one = Agreement(**counts)
            rows.append([name, *map(thousands, (one.tasks, one.figures, one.equal, one.within, one.beyond))])
    said = [
        f"- {part}{'' if each['ended'] else ', stopped before its end'}: {each['made']}; {each['minutes']:.0f} minutes with "
        f"{each['jobs']} processes, {each['processor']:.0f} minutes of one core"
        for part, each in parts.items()
    ]
    head = ["results of", "tasks compared", "figures", "equal", "within one standard error", "beyond"]
    return TEXT.format(said="\n".join(said), table=Table(head, rows)) if parts else ""


TEXT = """
## Run again

`make paper` and `make paper-appendix` run everything anew and compare with the results that were stored: every number of every
task but for times and points of pictures, averaged over splits, by the standard error of the stored splits. A task that was not stored before
with the same settings is not compared. A single run has no standard error, so that whatever moves in it counts as beyond:
printed runs with long steps do not settle, and another last bit of a sum leads them elsewhere ([Figure 6](extraction.md)
says how far). Stored results may be of earlier commits, so that what changed in the code since then moves figures too. Last time, beside other work on the machine:

{said}

{table}
"""
