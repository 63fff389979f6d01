"""A disk that fills up, and folders that may not be written: one sentence, and what was there stays as it was."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

import fairfront as ff

from .children import REFUSED, Limits, command, end_of
from .material import Material, digest, frontier, leftovers
from .tally import Tally

SIZES = (0, 100, 500, 1_000, 2_000, 3_000, 5_000, 8_000, 12_000, 20_000, 40_000, 100_000)
"""Bytes after which a file cannot grow: the system's limit stands in for a full disk."""

Job = Callable[[Path], Callable[[], Any]]


def jobs(material: Material) -> dict[str, Job]:
    """Return everything that writes, each as a function of the folder to write into."""
    front, run = frontier(0), ff.load(material.run)
    return {
        "trace": lambda place: material.trace(place / "out"),
        "save a frontier": lambda place: lambda: front.save(place / "out"),
        "save a model": lambda place: lambda: run.model(1).save(place / "out"),
        "report": lambda place: command("report", material.run, "-o", place / "out.html"),
        "predict": lambda place: command("predict", material.model, material.table, "-o", place / "out.csv"),
    }


def _fault(job: Callable[[], Any], place: Path, limits: Limits) -> tuple[str | None, bool]:
    """Run a job in a folder with limits; say what is wrong, and whether it was refused."""
    before = digest(place)
    ended = end_of(job, limits)
    if ended.fault or ended.code != REFUSED:
        return ended.fault, False
    if leftovers(place):
        return f"{leftovers(place)[0]} is left behind", True
    ours = [each.name for each in place.iterdir() if each.name != "old"]
    if ours:
        return f"{ours[0]} was written although it was refused", True
    return ("what was there has changed", True) if digest(place) != before else (None, True)


def _place(folder: Path, whole: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    shutil.copytree(whole, folder / "old")
    return folder


def full(count: int, material: Material, folder: Path) -> Tally:
    """Try every job at sizes of files, ``count`` in all."""
    tally, known = Tally("full disk"), jobs(material)
    known["overwrite"] = lambda place: lambda: frontier(1).save(place / "old", overwrite=True)
    whole = frontier(0).save(folder / "whole")
    pairs = [(name, size) for size in SIZES for name in known]
    for at in np.random.default_rng(16).permutation(len(pairs))[:count]:
        name, size = pairs[at]
        place = _place(folder / "place", whole)
        wrong, refused = _fault(known[name](place), place, Limits(120, file=size))
        tally.note(wrong and f"{name}, files of at most {size} bytes: {wrong}", refused=refused)
    return tally


def forbidden(material: Material, folder: Path) -> Tally:
    """Try every job in a folder that may not be written."""
    tally, whole = Tally("read-only folder"), folder / "whole"
    for each in (folder, folder.parent):  # both ours: somebody else must be able to get there
        each.chmod(0o755)
    for name, job in jobs(material).items():
        place = _place(folder / "place", whole)
        place.chmod(0o555)
        wrong, refused = _fault(_after_once(job, place), place, Limits(120))
        wrong = wrong or (None if refused else "it was written all the same")
        tally.note(wrong and f"{name}: {wrong}", refused=refused)
        place.chmod(0o755)
    return tally


def _after_once(job: Job, place: Path) -> Callable[[], Any]:
    """Return a job that works once elsewhere, so that all it imports is there, and then as nobody in a place."""

    def both() -> None:
        with tempfile.TemporaryDirectory() as elsewhere, suppress(SystemExit):
            job(Path(elsewhere))()
        Limits(120, nobody=True).apply()
        job(place)()

    return both


def run(count: int, material: Material, folder: Path) -> list[Tally]:
    """Fill up the disk so many times, then forbid writing."""
    return [full(count, material, folder), forbidden(material, folder)]
