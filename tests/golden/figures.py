"""What golden figures are made of and how two sets of them are compared: to the last bit, or within a tolerance."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import fairfront as ff
from tests.support.cli import command

Arrays = dict[str, np.ndarray]
MACHINE = re.compile(r"(sha256|checksum|created|seconds|versions|system|digest|\bwhen\b|time)")
"""Keys of documents whose values depend on the machine, the day or the bytes of other files."""


def of_frontier(front: ff.Frontier, models: bool = True) -> Arrays:
    """Return every array of a frontier, and every column of its evaluations with upper ends."""
    found: Arrays = {
        name: np.asarray(getattr(front, name))
        for name in (
            "ids",
            "loss",
            "gaps",
            "signed_gaps",
            "objectives",
            "preferences",
            "kkt",
            "certified",
            "multipliers",
        )
    }
    found["status"] = np.array([status.name for status in front.status])
    found["objective_names"] = np.array(front.objective_names)
    for part in front.evaluations:
        for column in front.column_names(part):
            found[f"{part}:{column}"] = front.column(column, part)
            if "gap" in column:
                found[f"{part}:{column}:95"] = front.column(column, part, 0.95)
    if models:
        found |= _coefficients(front)
        constant = np.abs(found.get("coef", np.ones((len(front.ids), 1)))).max(axis=1) < 1e-9
        for name in (name for name in found if name.endswith(":auc")):
            found[name] = np.where(constant, np.nan, found[name])  # its ranks are rounding, another on each machine
    return found


def _coefficients(front: ff.Frontier) -> Arrays:
    models = [front.select(id=int(id)) for id in front.ids]
    if not all(hasattr(model, "coef_") for model in models):
        return {}
    return {
        "coef": np.stack([np.asarray(model.coef_).ravel() for model in models]),
        "intercept": np.stack([np.ravel(model.intercept_) for model in models]),
    }


@cache
def rows(name: str) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray], Any]:
    """Return features, labels, groups and the favourable label of a data set."""
    found = ff.datasets.load(name)
    return found.matrix()[0], found.y, found.sensitive_features(*found.sensitive), found.favourable


def by_sex(name: str) -> tuple[Any, ...]:
    """Return the rows of a data set with sex as the only attribute."""
    X, y, groups, favourable = rows(name)
    return X, y, {"sex": groups["sex"]}, favourable


@cache
def nine() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows of nine classes and three groups."""
    rng = np.random.default_rng(9)
    X, group = rng.normal(size=(1800, 6)), rng.choice(["a", "b", "c"], 1800, p=[0.5, 0.3, 0.2])
    score = X @ rng.normal(size=(6, 9)) + rng.gumbel(size=(1800, 9)) + 0.5 * (group == "b")[:, None] * np.arange(9) / 9
    return X, score.argmax(axis=1), group


@cache
def values() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows with numbers to predict, and two groups."""
    rng = np.random.default_rng(5)
    X, group = rng.normal(size=(900, 5)), rng.choice(["a", "b"], 900)
    y = X @ np.array([1.0, -0.5, 0.2, 0.0, 0.3]) + 0.8 * (group == "a") * X[:, 0] + rng.normal(size=900)
    return X, y, group


def traced(data: tuple[Any, ...], n: int | None = None, **options: Any) -> ff.Frontier:
    """Trace on the first half of ``n`` rows and evaluate on the second."""
    X, y, groups = data[:3]
    favourable = data[3] if len(data) > 3 else None
    half = (n or len(y)) // 2
    train, held = slice(0, half), slice(half, 2 * half)

    def part(rows: slice) -> Any:
        return {k: v[rows] for k, v in groups.items()} if isinstance(groups, Mapping) else groups[rows]

    front = ff.trace(
        X[train], y[train], sensitive_features=part(train), favourable=favourable, progress=False, **options
    )
    return front.evaluate(X[held], y[held], sensitive_features=part(held), name="validation")


def leaves(prefix: str, document: Any) -> Arrays:
    """Return every number and every word of a document by its path."""
    numbers: dict[str, Any] = {}
    words: dict[str, str] = {}

    def walk(at: str, value: Any) -> None:
        if isinstance(value, Mapping):
            for name, inner in value.items():
                if not MACHINE.search(str(name)):
                    walk(f"{at}.{name}", inner)
        elif isinstance(value, list | tuple):
            for i, inner in enumerate(value):
                walk(f"{at}[{i}]", inner)
        elif isinstance(value, bool | int | float | np.number):
            numbers[at] = float(value)
        else:
            words[at] = str(value)

    walk(prefix, document)
    return {
        f"{prefix}:paths": np.array(list(numbers)),
        f"{prefix}:numbers": np.array(list(numbers.values()), dtype=float),
        f"{prefix}:words": np.array([f"{at} = {text}" for at, text in words.items()]),
    }


def command_line(folder: Path, file: Path, trace: Iterable[str], least: str) -> Iterable[tuple[str, list[str]]]:
    """Name every command of a person's day, in order."""
    run, model = str(folder / "run"), str(folder / "model")
    yield "trace", ["trace", str(file), *trace, "-o", run]
    yield "show", ["show", run]
    yield "show json", ["show", run, "--json"]
    yield "show ids", ["show", run, "--id", "0", "--id", "1"]
    yield "report", ["report", run, "-o", str(folder / "page.html")]
    yield "refused", ["select", run, "--at-most", f"{least}_gap=0.0001", "-o", model]
    yield "select", ["select", run, "--least-gap", least, "--by", "A. Smith", "--reason", "the board", "-o", model]
    yield "predict", ["predict", model, str(file), "-o", str(folder / "decided.csv")]
    yield "verify", ["verify", run, str(file), "--json"]
    yield "verify model", ["verify", model, run, "--json"]


def day(file: Path, *trace: str, least: str = "error") -> Arrays:
    """Return what every command said and every file that it wrote."""
    found: Arrays = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for what, words in command_line(folder, file, trace, least):
            done = command(*words)
            said = _steady(done.stdout + done.stderr, folder).replace(str(file), "FILE")
            found[f"said:{what}"] = np.array([str(done.returncode), *said.splitlines()])
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                found |= of_file(path, str(path.relative_to(folder)))
    return {
        name: np.array([_steady(line, folder) for line in array]) if array.dtype.kind == "U" else array
        for name, array in found.items()
    }


def _steady(text: str, folder: Path) -> str:
    """Leave out what no two runs share: the time, the folder's name, checksums of files with either."""
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:]+Z", "TIME", str(text).replace(str(folder), "FOLDER"))
    return re.sub(r"\b[0-9a-f]{64}\b", "SHA256", text)


def of_file(path: Path, name: str) -> Arrays:
    """Return what a file holds: arrays, leaves of documents, lines of text."""
    if path.suffix == ".npz":
        with np.load(path) as arrays:
            return {f"{name}:{key}": arrays[key] for key in arrays.files}
    if path.suffix == ".json":
        return leaves(name, json.loads(path.read_text("utf-8")))
    if path.suffix == ".html":
        payload = re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', path.read_text("utf-8"), re.S)
        return leaves(name, json.loads(payload.group(1))) if payload else {}
    if path.suffix in (".md", ".csv"):
        return {f"{name}:lines": np.array(path.read_text("utf-8").splitlines())}
    return {f"{name}:there": np.array([1])}


def differences(old: Arrays, new: Arrays, within: float) -> list[str]:
    """Say where two cases differ."""
    said = [f"missing: {name}" for name in old if name not in new] + [f"new: {name}" for name in new if name not in old]
    for name in old.keys() & new.keys():
        a, b = old[name], new[name]
        if a.shape != b.shape:
            said.append(f"{name}: shape {a.shape} became {b.shape}")
        elif a.dtype.kind in "OUSb" or within == 0:
            same = a.tobytes() == b.tobytes() if a.dtype == b.dtype else np.array_equal(a, b)
            if not same:
                where = np.flatnonzero(np.ravel(a != b))[:1]
                pair = f": {np.ravel(a)[where[0]]} became {np.ravel(b)[where[0]]}" if len(where) else ""
                said.append(f"{name} differs{pair}")
        else:
            a, b = a.astype(float), b.astype(float)
            scale = np.maximum(1.0, np.abs(a))
            off = np.where(np.isnan(a) & np.isnan(b), 0.0, np.abs(a - b) / scale)
            if not np.all((off <= within) | (a == b)):
                said.append(f"{name}: off by {np.nanmax(off):.3g}")
    return sorted(said)


def read(file: Path) -> Arrays:
    """Return the arrays of a case."""
    with np.load(file) as arrays:
        return {name.replace("\x1f", "/"): arrays[name] for name in arrays.files}
