"""SIGKILL at random moments: is the old folder or the new one there and whole, and do resumed runs end alike?"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import fairfront as ff

from .children import end_of, killed
from .material import Material, digest, frontier, leftovers, trees
from .tally import Tally


@dataclass(frozen=True)
class Resumed:
    """A run with a checkpoint: killed, resumed, killed again, until it ends."""

    fault: str
    job: Callable[[Path], Callable[[], Any]]

    def tried(self, kills: int, folder: Path, rng: np.random.Generator) -> Tally:
        """Kill so many times: every run one to three times before it may come to its end and is compared."""
        tally, output = Tally(self.fault), folder / "out"
        begun = time.monotonic()
        self._ended(folder)
        whole, seconds = digest(output), time.monotonic() - begun
        while tally.tried < kills:
            self._cleared(folder)
            for _ in range(int(rng.integers(1, 4))):
                if not output.exists() and killed(self.job(folder), rng.uniform(0.0, seconds)):
                    torn = output.exists() and digest(output) != whole
                    tally.note(f"kill {tally.tried}: the folder is there, but not whole" if torn else None)
            if not output.exists():
                self._ended(folder)
            self._compared(tally, folder, whole)
        return tally

    def _ended(self, folder: Path) -> None:
        ended = end_of(self.job(folder))
        if ended.code:
            raise RuntimeError(ended.said)

    def _compared(self, tally: Tally, folder: Path, whole: str) -> None:
        tally.counts["runs"] += 1
        tally.counts["equal_bytes"] += (equal := digest(folder / "out") == whole)
        if not equal:
            tally.retract(f"after kill {tally.tried}: the resumed folder has other bytes")
        if [name for name in leftovers(folder) if ".partial" in name]:
            tally.retract(f"after kill {tally.tried}: {leftovers(folder)[0]} stays after the next writer")

    def _cleared(self, folder: Path) -> None:
        shutil.rmtree(folder)
        folder.mkdir()


def trace_job(material: Material) -> Callable[[Path], Callable[[], Any]]:
    """Return the command with a checkpoint."""
    return lambda folder: material.trace(folder / "out", "--checkpoint", folder / "ck", "--resume")


def estimator_job(folder: Path) -> Callable[[], Any]:
    """Return the trace of a learner with a checkpoint, and its saving."""
    return lambda: trees(checkpoint=folder / "ck", resume=True).save(folder / "out")


def first_order_job(folder: Path) -> Callable[[], Any]:
    """Return a trace by PB-PDO with a checkpoint, and its saving."""
    asked = {"solver": ff.PBPDO(slide=0.005), "preferences": 12, "n_points": None}
    return lambda: frontier(checkpoint=folder / "ck", resume=True, **asked).save(folder / "out")


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
    """Kill so many times in all, a fifth of them in each way."""
    each, rng = max(count // 5, 1), np.random.default_rng(16)
    places = [folder / name for name in ("trace", "trees", "first-order", "overwrite", "save")]
    for place in places:
        place.mkdir()
    return [
        Resumed("kill during fairfront trace, resumed", trace_job(material)).tried(each, places[0], rng),
        Resumed("kill during the trace of an estimator, resumed", estimator_job).tried(each, places[1], rng),
        Resumed("kill during a trace by PB-PDO, resumed", first_order_job).tried(each, places[2], rng),
        overwritten(each, places[3], rng),
        saved(each, places[4], rng, material),
    ]
