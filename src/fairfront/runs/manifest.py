"""The manifest: all that is needed to make the same run again, and nothing about single people; and what is beside it.

Folders of a run and of a model with anything else in them than fairfront wrote are never replaced.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import threadpoolctl

from .. import __version__
from ..exceptions import ChangedError, InputError
from ..storage.documents import parse_json, read_json
from ..storage.inventory import Inventory, Known
from ..storage.places import CHECKSUMS, MANIFEST, anything
from ..tables import Source
from .preparation import Prepared
from .settings import Settings

FORMAT = "fairfront manifest"
SCHEMA = 5
"""The layout of all files of runs and models."""
REQUIRED = {
    "data": dict,
    "columns": dict,
    "features": list,
    "findings": list,
    "split": dict,
    "settings": dict,
    "sensitive": dict,
    "versions": dict,
}
"""What every manifest has, and of which kind it is."""
PACKAGES = ("numpy", "scipy", "scikit-learn", "narwhals", "pyarrow", "lightgbm", "xgboost")


def manifest_of(prepared: Prepared, data: Mapping[str, Any], shown: Sequence[int]) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "schema": SCHEMA,
        "fairfront": __version__,
        "data": dict(data),
        "columns": prepared.schema.to_json(),
        "features": list(prepared.encoder.columns),
        "findings": [{**asdict(found), "columns": list(found.columns)} for found in prepared.findings],
        "rows_without_target": prepared.people.unlabelled,
        "split": {
            "rule": prepared.split_words,
            "sha256": prepared.split_digest,
            "rows": prepared.sizes,
            "periods": [dict(each) for each in prepared.periods],
        },
        "settings": asdict(prepared.settings),
        "sensitive": _used_where(prepared.settings),
        "versions": versions(),
        "shown": list(shown),
    }


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def opening_of(manifest: Mapping[str, Any] | None, **said: Any) -> dict[str, Any]:
    """Return how files are opened: as those of the run, but for what is said."""
    kept = (manifest or {}).get("settings", {})
    return {name: kept.get(name) if said.get(name) is None else said[name] for name in ("delimiter", "encoding")}


def check_origin(source: Source, data: Any, origin: Mapping[str, Any], purpose: str) -> None:
    """Refuse another file than the one that a run was traced from."""
    sha = origin.get("sha256")
    if source.sha256() != sha:
        remedy = "give that file" if sha else "a data frame has none: trace the file itself"
        raise InputError(
            f"{data if source.path else 'the data frame'} is not the file that the run was traced from "
            f"({origin['name']}, by its sha256), expected the same rows for {purpose}; {remedy}."
        )


def _used_where(settings: Settings) -> dict[str, str]:
    columns = ", ".join(settings.group_probabilities)
    by = f"the probabilities of groups ({columns})" if columns else "group"
    of = by if settings.regression else f"{by} and label"
    weighted = {"training weights": f"yes (rows are reweighted by {of})"}
    guessed = {"training weights": "no", "inside the model": "yes (it guesses the group from the features)"}
    one = "no (values are predicted, there is none)" if settings.regression else "no (one cut-off for all groups)"
    if settings.units == "rates":
        one = "not by group; the cut-off on the label's probability moves with the guess"
    return {
        "features": "yes, as requested (predictions need it)" if settings.use_sensitive else "no",
        **(guessed if settings.units == "rates" else weighted),
        "threshold": one,
        "evaluation": "yes, as probabilities" if columns else "yes",
    }


def versions() -> dict[str, Any]:
    found: dict[str, Any] = {"python": platform.python_version(), "machine": platform.machine()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    libraries = {
        f"{each['internal_api']} {each.get('version') or ''}, {each['num_threads']} threads"
        for each in threadpoolctl.threadpool_info()
        if each["user_api"] == "blas"
    }
    return {**found, "blas": sorted(libraries)}


def as_text(content: Mapping[str, Any]) -> str:
    return json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def check_manifest(found: Any, where: str) -> dict[str, Any]:
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise InputError(f"{where} is not a manifest of a run, expected one written by fairfront trace.")
    schema, writer = found.get("schema"), found.get("fairfront")
    if schema != SCHEMA:
        newer = isinstance(schema, int) and schema > SCHEMA
        remedy = "upgrade fairfront" if newer else "use that version, or trace again"
        raise InputError(f"{where} has schema {schema}, expected {SCHEMA}; fairfront {writer} wrote it: {remedy}.")
    lacking = [name for name, kind in REQUIRED.items() if not isinstance(found.get(name), kind)]
    if lacking:
        raise ChangedError(f"{where} lacks {', '.join(lacking)}, or has something else there; copy it again.")
    return found


def known_by(read: Callable[[bytes], Any]) -> Known:
    def known(data: bytes) -> bool:
        try:
            return bool(read(data))
        except InputError:
            return False

    return known


def of_format(name: str) -> Known:
    def read(data: bytes) -> bool:
        found = parse_json(data, name)
        return isinstance(found, dict) and found.get("format") == name

    return known_by(read)


def inventory(what: str, packages: Mapping[str, str], files: Mapping[str, Known], growing: str = "") -> Inventory:
    lists: dict[str, Known] = {CHECKSUMS: anything}
    known = {MANIFEST: of_format(FORMAT), **files, **lists}
    return Inventory(what, dict(packages), known, listed=True, growing=growing or None)


def read_record(file: Path, format: str) -> dict[str, Any] | None:
    """None where there is no such file."""
    if not file.exists():
        return None
    found = read_json(file)
    if not isinstance(found, dict) or found.get("format") != format:
        raise ChangedError(f"{file} is not a {format}, expected the one that fairfront select wrote; select it again.")
    return found
