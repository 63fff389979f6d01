"""Two processes at once: the same output, two decisions about one run."""

from __future__ import annotations

import os
import shutil
import signal
from functools import partial
from pathlib import Path

import fairfront as ff

from .children import DONE, REFUSED, Ended, ends_of, start
from .material import Material, digest, frontier, leftovers
from .tally import Tally


def _fault(ended: list[Ended], *codes: set[int]) -> str | None:
    """Say what is wrong with how two processes ended; ``codes`` are the pairs that may be."""
    wrong = [each.fault for each in ended if each.fault]
    if wrong:
        return wrong[0]
    found = [each.code for each in ended]
    return None if set(found) in codes else f"they ended with {found}: {ended[0].said} {ended[1].said}"


def same_output(rounds: int, folder: Path, overwrite: bool) -> Tally:
    """Let two processes save different frontiers under one name."""
    tally = Tally("two writers of one folder" + (", both overwriting" if overwrite else ""))
    fronts = [frontier(0), frontier(1)]
    known = {digest(front.save(folder / f"known{k}{overwrite}")) for k, front in enumerate(fronts)}
    for number in range(rounds):
        place = folder / f"round{number}" / "out"
        place.parent.mkdir()
        if overwrite:
            fronts[0].save(place)
        ended = ends_of([partial(front.save, place, overwrite=overwrite) for front in fronts])
        wrong = _fault(ended, {DONE}, {DONE, REFUSED}) if overwrite else _fault(ended, {DONE, REFUSED})
        if wrong is None and digest(place) not in known:
            wrong = "the folder is neither the one nor the other"
        if wrong is None and leftovers(place.parent):
            wrong = f"{leftovers(place.parent)[0]} is left behind"
        tally.note(wrong and f"round {number}: {wrong}", refused=sum(each.code == REFUSED for each in ended))
        shutil.rmtree(place.parent)
    return tally


def readers(loads: int, folder: Path) -> Tally:
    """Load a folder again and again while a process overwrites it: there is always one, old or new."""
    tally, fronts, place = Tally("load during overwrites"), [frontier(0), frontier(1)], folder / "read" / "out"
    place.parent.mkdir()
    fronts[0].save(place)

    def overwrite() -> None:
        for turn in range(1, 1_000_000):
            fronts[turn % 2].save(place, overwrite=True)

    with open(os.devnull, "wb") as nowhere:  # noqa: PTH123
        child = start(overwrite, nowhere.fileno())
    known = [front.loss.tobytes() for front in fronts]
    try:
        for number in range(loads):
            tally.note(_unread(place, known, number))
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return tally


def _unread(place: Path, known: list[bytes], number: int) -> str | None:
    try:
        found = ff.load(place).loss.tobytes()
    except Exception as error:
        return f"load {number}: {type(error).__name__}: {error}"
    return None if found in known else f"load {number}: neither the old nor the new frontier"


def two_decisions(rounds: int, folder: Path, material: Material) -> Tally:
    """Let two people choose from one run at once: both records are kept and the run loads."""
    tally = Tally("two decisions about one run")
    before = len(ff.load(material.run).decisions)
    for number in range(rounds):
        place = folder / f"choice{number}"
        shutil.copytree(material.run, place / "run")
        ended = ends_of([material.select(place / "run", place / name) for name in ("one", "two")])
        wrong = _fault(ended, {DONE})
        kept = 0 if wrong else len(ff.load(place / "run").decisions) - before
        if wrong is None and kept != 2:
            wrong = f"{kept} of 2 records were kept"
        if wrong is None and leftovers(place):
            wrong = f"{leftovers(place)[0]} is left behind"
        tally.note(wrong and f"round {number}: {wrong}")
        shutil.rmtree(place)
    return tally


def run(count: int, material: Material, folder: Path) -> list[Tally]:
    """Try each pair of writers a quarter of the times."""
    each = max(count // 4, 1)
    return [
        same_output(each, folder, overwrite=False),
        same_output(each, folder, overwrite=True),
        readers(10 * each, folder),
        two_decisions(each, folder, material),
    ]
