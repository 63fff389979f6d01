"""The archive: what the folders of a model hold, how they are filled, and whatever was saved, read from its folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ..explorer import Details
from ..frontier.linear_models import LinearModels
from ..frontier.models import FOLDER, Stored, task_content, task_of
from ..frontier.rule_models import FOREIGN, RuleModels
from ..frontier.store import load_frontier
from ..storage.documents import read_json
from ..storage.folders import write_file, write_folder
from ..storage.foreign import SUFFIX, read_estimator, write_estimator
from ..storage.packages import check_checksums, checksum_of, parts_of, read_package, write_checksums, write_package
from ..storage.places import MANIFEST, SEALED, read_folder
from ..tables.encoder import TableEncoder
from ..validation import check_names, check_number, check_path, refuse
from .card import FORMAT as CARD_FORMAT
from .card_exports import is_card_page, markdown_of, page_of
from .decision import FORMAT
from .decision_records import ADDED, DECISIONS, read_records
from .external import read_external
from .manifest import FORMAT as MANIFEST_FORMAT
from .manifest import SCHEMA, as_text, check_manifest, inventory, of_format, read_record
from .model import TableModel
from .run import DETAILS, ENCODER, FRONTIER, KINDS, TEST, Run

NAME, KIND = "model", "fairfront model"
CARD, TEXT, PAGE, DECISION = "card.json", "card.md", "card.html", "decision.json"
ESTIMATOR = "estimator.skops"
LINEAR = ("loss", "ridge", "total", "fit_intercept")
MODEL = inventory(
    "model",
    {NAME: KIND},
    {
        DECISION: of_format(FORMAT),
        CARD: of_format(CARD_FORMAT),
        TEXT: lambda data: data.startswith(b"# Model card: id "),
        PAGE: is_card_page,
    },
)


def fill_model(model: TableModel, folder: Path) -> None:
    encoding, arrays = model.encoder.to_content()
    content: dict[str, Any] = {"task": task_content(model.task), "about": dict(model.about), "encoder": encoding}
    content["cutoff"] = model.cutoff
    stored = {f"encoder.{name}": values for name, values in arrays.items()}
    files: tuple[str, ...] = ()
    if model.points is None:
        files = (ESTIMATOR,)
        write_estimator(folder / ESTIMATOR, model.estimator)
    elif isinstance(model.points, RuleModels):
        kept = model.points.write(folder)
        stored |= {f"rule.{name}": values for name, values in kept.arrays.items()}
        content["rule"], files = kept.content, kept.files
    else:
        stored |= {"coef": model.points.coef, "intercept": model.points.intercept}
        content["linear"] = {name: getattr(model.points, name) for name in LINEAR}
    write_package(folder, NAME, KIND, content, stored, SCHEMA, files)
    if model.facts is not None:
        write_file(folder / CARD, as_text(model.facts))
        for name, draw in {PAGE: page_of, TEXT: markdown_of}.items():
            write_file(folder / name, draw(model.facts))
    for name, record in ((DECISION, model.decision), (MANIFEST, model.manifest)):
        if record is not None:
            write_file(folder / name, as_text(record))
    write_checksums(folder)


def save_model(model: TableModel, path: Any, *, overwrite: bool) -> Path:
    return write_folder(path, partial(fill_model, model), MODEL, overwrite=overwrite)


def read_model(folder: Path, trusted: tuple[str, ...] = ()) -> TableModel:
    """Read a model that `TableModel.save` wrote; nothing is executed, types of others are confirmed by name."""
    check_checksums(folder)
    content, arrays = read_package(folder, NAME, KIND, SCHEMA)
    with parts_of(folder, "model"):
        own = {name.removeprefix("encoder."): values for name, values in arrays.items() if name.startswith("encoder.")}
        encoder, task = TableEncoder.from_content(content["encoder"], own), task_of(content["task"])
        model = TableModel(
            encoder,
            None,
            task,
            dict(content["about"]),
            facts=read_record(folder / CARD, CARD_FORMAT),
            decision=read_record(folder / DECISION, FORMAT),
            manifest=read_record(folder / MANIFEST, MANIFEST_FORMAT),
            cutoff=None if content["cutoff"] is None else check_number(content["cutoff"], "cutoff"),
        )
        if "rule" in content:
            found = {name.removeprefix("rule."): values for name, values in arrays.items() if name.startswith("rule.")}
            # a guess in a file of its own is listed with the checksums, and read by its place
            files = tuple(f"{FOLDER}/{place}{SUFFIX}" for place in range(content["rule"]["guesses"].count(FOREIGN)))
            return replace(model, points=RuleModels.read(Stored(content["rule"], found, files), folder, trusted))
        if "linear" not in content:
            return replace(model, estimator=read_estimator(folder / ESTIMATOR, trusted))
        names = encoder.feature_names
        points = LinearModels.from_arrays(arrays, len(names), task=task, feature_names=names, **content["linear"])
        return replace(model, points=points)


def read_run(folder: Path, trusted: tuple[str, ...] = ()) -> Run:
    sums = check_checksums(folder, growing=DECISIONS)
    manifest = check_manifest(read_json(folder / MANIFEST), str(folder / MANIFEST))
    encoding, arrays = read_package(folder, ENCODER, KINDS[ENCODER], SCHEMA)
    tested, _ = read_package(folder, TEST, KINDS[TEST], SCHEMA)
    front = load_frontier(folder / FRONTIER, trusted=trusted)
    checksum, details = checksum_of(sums, ADDED), folder / DETAILS
    with parts_of(folder, "run"):
        front, external = read_external(folder, front)
        return Run(
            frontier=front,
            encoder=TableEncoder.from_content(encoding, arrays),
            manifest=manifest,
            details=Details.from_json(read_json(details)) if details.exists() else None,
            path=folder,
            validated=dict(tested["validation"]),
            tested=dict(tested["points"]),
            decisions=read_records(folder, sums),
            checksum=checksum,
            external=external,
        )


def load(path: Any, *, trusted: Sequence[str] = ()) -> Any:
    """Read a `Frontier`, a `Run` or a `TableModel` from the folder it was saved to.

    Parameters
    ----------
    path : path
        A folder written by ``Frontier.save``, ``Run.save``, ``TableModel.save`` or the command line.
    trusted : sequence of str
        Types inside estimators that a user brought which may be loaded, after reading the list that the error shows.
        Models of fairfront itself are arrays and JSON: loading them executes nothing.
    """
    folder, expected = check_path(path), "a list of the names of types, such as those that an error has listed"
    if isinstance(trusted, str):
        raise refuse("trusted", trusted, expected)
    types = check_names(trusted, "trusted", expected)

    def read(place: Path) -> Any:
        if (place / "model.json").exists():
            return read_model(place, types)
        if any((place / name).exists() for name in SEALED):
            return read_run(place, types)
        return load_frontier(place, trusted=types)

    return read_folder(folder, read)
