"""SIGKILL at random moments: is the old folder or the new one there and whole?"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import fairfront as ff

from .children import killed
from .material import Material, digest, frontier, leftovers
from .tally import Tally


def overwritten(kills: int, folder: Path, rng: np.random.Generator) -> Tally:
    """Kill a process that replaces one saved frontier by another, again and again."""
    tally, fronts = Tally("kill during overwrite"), [frontier(0), frontier(1)]
    for k, front in enumerate(fronts):
        front.save(folder / f"known{k}")
    known, place = {digest(folder / f"known{k}") for k in range(2)}, folder / "alone" / "out"
    place.parent.mkdir()
    fronts[0].save(place)

    def job() -> None:
        for turn in range(1, 1_000_000):
            fronts[turn % 2].save(place, overwrite=True)

    for kill in range(kills):
        killed(job, rng.uniform(0.0, 0.3))
        left, wrong = leftovers(place.parent), _lost(place, known, kill)
        if wrong is None:
            fronts[kill % 2].save(place, overwrite=True)
            stays = leftovers(place.parent)
            wrong = f"kill {kill}: {stays[0]} stays after the next writer" if stays else None
        tally.note(wrong, left_behind=bool(left))
        if wrong:
            shutil.rmtree(place.parent)
            place.parent.mkdir()
            fronts[0].save(place)
    return tally


def _lost(place: Path, known: set[str], kill: int) -> str | None:
    """Say what is wrong with a folder after a kill: it must load, and be one of those that were written."""
    try:
        ff.load(place)
    except Exception as error:
        return f"kill {kill}: {type(error).__name__}: {error}"
    return None if digest(place) in known else f"kill {kill}: the folder is neither the old nor the new one"


def saved(kills: int, folder: Path, rng: np.random.Generator, material: Material) -> Tally:
    """Kill a process that saves a model under one new name after the other."""
    tally, model = Tally("kill during save of a model"), ff.load(material.model)
    whole = digest(model.save(folder / "known"))

    def job(place: Path) -> Callable[[], Any]:
        return lambda: [model.save(place / str(number)) for number in range(1_000_000)]

    for kill in range(kills):
        place = folder / f"kill{kill}"
        place.mkdir()
        killed(job(place), rng.uniform(0.0, 0.3))
        there = [each for each in place.iterdir() if not each.name.startswith(".")]
        torn = [each.name for each in there if digest(each) != whole]
        left = leftovers(place)
        for name in {hidden.split(".")[1] for hidden in left}:
            model.save(place / name, overwrite=(place / name).exists())
        wrong = f"folder {torn[0]} is not whole" if torn else None
        if leftovers(place):
            wrong = f"{leftovers(place)[0]} stays after the next writer"
        tally.note(wrong and f"kill {kill}: {wrong}", saved=len(there), left_behind=bool(left))
        shutil.rmtree(place)
    return tally


def run(count: int, material: Material, folder: Path) -> list[Tally]:
    """Kill so many times in all, half of them in each way."""
    each, rng = max(count // 2, 1), np.random.default_rng(16)
    places = [folder / name for name in ("overwrite", "save")]
    for place in places:
        place.mkdir()
    return [
        overwritten(each, places[0], rng),
        saved(each, places[1], rng, material),
    ]
