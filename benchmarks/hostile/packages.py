"""Packages that somebody made to do harm, with checksums that fit: refused in one sentence, in bounded memory and time."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import fairfront as ff

from .children import REFUSED, Limits, end_of
from .forgery import Package, listed
from .material import Material, frontier
from .tally import Tally

LIMITS = Limits(20, memory=600_000_000)
NAME = "frontier"


def _changed(name: str, change: Callable[[np.ndarray], np.ndarray]) -> Callable[[Package], None]:
    return lambda package: package.put(name, change(package.array(name)))


def _first(value: float) -> Callable[[np.ndarray], np.ndarray]:
    def change(array: np.ndarray) -> np.ndarray:
        array.reshape(-1)[0] = value
        return array

    return change


def _bomb(package: Package) -> None:
    shape = [40_000_000, 1, 10]
    package.header("models.coef", shape, bytes(8 * 100_000_000))
    package.compressed = True


def _foreign(path: str) -> Callable[[Package], None]:
    def change(package: Package) -> None:
        package.document["files"][path] = {"bytes": 0, "sha256": hashlib.sha256(b"").hexdigest()}

    return change


def _content(**values: Any) -> Callable[[Package], None]:
    return lambda package: package.content.update(values)


def _member(name: str) -> Callable[[Package], None]:
    return lambda package: package.arrays.update({name: b"x"})


FORGED: dict[str, Callable[[Package], None]] = {
    "shape of 1e12 numbers in a header": lambda package: package.header("models.coef", [10**12, 1, 3]),
    "negative shape": lambda package: package.header("models.coef", [-1, 1, 3]),
    "shape beyond integers": lambda package: package.header("models.coef", [10**30, 1, 3]),
    "compressed bomb of 800 MB": _bomb,
    "array of objects": lambda package: package.put("models.coef", np.array([print], dtype=object), allow_pickle=True),
    "array of text": lambda package: package.put("models.coef", np.array(["x"])),
    "climbing path": _foreign("../outside"),
    "absolute path": _foreign("/etc/hostname"),
    "path of a device": _foreign("/dev/zero"),
    "member with a climbing name": _member("../../x.npy"),
    "member that nobody named": _member("strange.npy"),
    "duplicate ids": _changed("ids", lambda ids: np.zeros_like(ids)),
    "NaN as a coefficient": _changed("models.coef", _first(np.nan)),
    "infinity as a coefficient": _changed("models.coef", _first(np.inf)),
    "booleans as coefficients": _changed("models.coef", lambda coef: coef > 0),
    "coefficients of another shape": _changed("models.coef", lambda coef: coef[:, :, :1]),
    "coefficients of too few points": _changed("models.coef", lambda coef: coef[:1]),
    "no points": _changed("models.coef", lambda coef: coef[:0]),
    "complex coefficients": _changed("models.coef", lambda coef: coef + 1j),
    "content of another kind": lambda package: package.document.update(content=[]),
    "content without models": _content(models={}),
    "unknown status": _content(status=["WON"] * 4),
    "status as numbers": _content(status=[1, 2, 3, 4]),
    "format of another kind": lambda package: package.document.update(format="fairfront model"),
    "schema of the future": lambda package: package.document.update(schema=10**6),
    "schema as text": lambda package: package.document.update(schema="1"),
    "arrays file of another name": lambda package: package.document["arrays"].update(file="../frontier.npz"),
}


def _text(text: str) -> Callable[[Path], None]:
    return lambda folder: (folder / f"{NAME}.json").write_text(text)


def _replaced(name: str, make: Callable[[Path], Any]) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        (folder / name).unlink()
        make(folder / name)

    return change


DAMAGED: dict[str, Callable[[Path], Any]] = {
    "deep JSON": _text("[" * 100_000 + "]" * 100_000),
    "deep JSON in objects": _text('{"a":' * 100_000 + "1" + "}" * 100_000),
    "JSON with a number of a million digits": _text('{"format": ' + "9" * 1_000_000 + "}"),
    "JSON with NaN": _text('{"format": NaN}'),
    "empty JSON": _text(""),
    "JSON that is not UTF-8": lambda folder: (folder / f"{NAME}.json").write_bytes(b"\xff\xfe\x00{}"),
    "JSON with a lone surrogate": _text('{"format": "\\ud800"}'),
    "JSON with duplicate keys": _text('{"format": "fairfront frontier", "format": 1}'),
    "npz is a folder": _replaced(f"{NAME}.npz", lambda path: path.mkdir()),
    "JSON is a folder": _replaced(f"{NAME}.json", lambda path: path.mkdir()),
    "npz is a pipe": _replaced(f"{NAME}.npz", os.mkfifo),
    "JSON is a pipe": _replaced(f"{NAME}.json", os.mkfifo),
    "JSON is a link to itself": _replaced(f"{NAME}.json", lambda path: path.symlink_to(path)),
    "npz is gone": _replaced(f"{NAME}.npz", lambda path: None),
    "npz is not an archive": lambda folder: (folder / f"{NAME}.npz").write_bytes(b"PK\x03\x04" + bytes(100)),
}


def _forged(name: str, forge: Callable[[Package], None]) -> Callable[[Path], None]:
    """Return the change of a run or model that forges one of its packages."""

    def change(folder: Path) -> None:
        package = Package(folder, name)
        forge(package)
        package.seal()

    return change


def _spoilt(name: str, change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    """Return the change of a run or model that spoils a JSON file."""

    def spoil(folder: Path) -> None:
        record = json.loads((folder / name).read_text())
        change(record)
        (folder / name).write_text(json.dumps(record))

    return spoil


def _written(name: str, text: str) -> Callable[[Path], Any]:
    return lambda folder: (folder / name).write_text(text)


def _nan_coefficient(package: Package) -> None:
    package.put("coef", np.full_like(package.array("coef"), np.nan))


DEEP = '{"a":' * 100_000 + "1" + "}" * 100_000

RUNS: dict[str, Callable[[Path], Any]] = {
    "run: deep manifest": _written("manifest.json", DEEP),
    "run: manifest with NaN": _written("manifest.json", '{"format": NaN}'),
    "run: manifest is a list": _written("manifest.json", "[]"),
    "run: manifest without settings": _spoilt("manifest.json", lambda record: record.pop("settings")),
    "run: settings as text": _spoilt("manifest.json", lambda record: record.update(settings="x")),
    "run: manifest of the future": _spoilt("manifest.json", lambda record: record.update(schema=10**9)),
    "run: deep details": _written("details.json", DEEP),
    "run: details of another kind": _written("details.json", "3"),
    "run: details without parts": _written("details.json", "{}"),
    "run: deep decision": _written("decisions/0001.json", DEEP),
    "run: decision is a number": _written("decisions/0001.json", "3"),
    "run: decision without a predecessor": lambda folder: (folder / "decisions" / "0001.json").unlink(),
    "run: decision edited": _spoilt("decisions/0001.json", lambda record: record.update(id=3)),
    "run: decisions swapped": lambda folder: _swapped(folder / "decisions"),
    "run: deep test figures": _written("test.json", DEEP),
    "run: encoder of another kind": _forged("encoder", lambda package: package.document.update(content=[])),
    "run: encoder without columns": _forged("encoder", lambda package: package.document.update(content={})),
}
MODELS: dict[str, Callable[[Path], Any]] = {
    "model: deep manifest": _written("manifest.json", DEEP),
    "model: deep decision": _written("decision.json", DEEP),
    "model: decision is a list": _written("decision.json", "[]"),
    "model: content of another kind": _forged("model", lambda package: package.document.update(content=[])),
    "model: NaN as a coefficient": _forged("model", _nan_coefficient),
    "model: cut-off as text": _forged("model", lambda package: package.content.update(cutoff="x")),
    "model: classes as a number": _forged("model", lambda package: package.content.update(task=3)),
    "model: card is a folder": _replaced("card.md", lambda path: path.mkdir()),
}
UNLISTED: dict[str, Callable[[Path], Any]] = {
    "model: a file that is not listed": _written("more.txt", "x"),
    "model: list with a climbing path": _written("SHA256SUMS", f"{'0' * 64}  ../../x\n"),
    "model: list with an absolute path": _written("SHA256SUMS", f"{'0' * 64}  /etc/hostname\n"),
    "model: list that is empty": _written("SHA256SUMS", ""),
    "model: list that is a pipe": _replaced("SHA256SUMS", os.mkfifo),
    "model: list that is gone": _replaced("SHA256SUMS", lambda path: None),
    "model: card is a link to another file": _replaced(
        "card.md", lambda path: path.symlink_to(path.parent / "model.json")
    ),
    "model: card is a pipe": _replaced("card.md", os.mkfifo),
    "model: a pipe beside the files": lambda folder: os.mkfifo(folder / "pipe"),
}


def _swapped(folder: Path) -> None:
    first, second = folder / "0001.json", folder / "0002.json"
    texts = first.read_text(), second.read_text()
    first.write_text(texts[1])
    second.write_text(texts[0])


def _then_listed(change: Callable[[Path], Any]) -> Callable[[Path], None]:
    def both(folder: Path) -> None:
        change(folder)
        listed(folder)

    return both


def tried(whole: Path, copy: Path, changes: dict[str, Callable[[Path], Any]], tally: Tally) -> None:
    """Load a copy after each change: all have to be refused."""
    for name, change in changes.items():
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(whole, copy)
        change(copy)
        ended = end_of(lambda: ff.load(copy), LIMITS)
        wrong = ended.fault or (None if ended.code == REFUSED else "it was loaded")
        tally.note(wrong and f"{name}: {wrong}")


def run(material: Material, folder: Path) -> list[Tally]:
    """Load every forged and damaged package; there is a fixed number of them."""
    tally, whole, copy = Tally("packages made to do harm"), frontier(0).save(folder / "whole"), folder / "copy"
    tried(whole, copy, DAMAGED, tally)
    tried(whole, copy, {name: _forged(NAME, forge) for name, forge in FORGED.items()}, tally)
    tried(material.run, copy, {name: _then_listed(change) for name, change in RUNS.items()}, tally)
    tried(material.model, copy, {name: _then_listed(change) for name, change in MODELS.items()}, tally)
    tried(material.model, copy, UNLISTED, tally)
    return [tally]
