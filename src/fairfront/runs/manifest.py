"""The manifest: all that is needed to make the same run again, and nothing about single people."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import threadpoolctl

from .. import __version__
from ..exceptions import ChangedError, InputError
from ..objectives.small_counts import FEWER, FEWEST
from .prepared_rows import Prepared
from .settings import Settings

FORMAT = "fairfront manifest"
SCHEMA = 1
PARTS = {
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
    """Return the manifest of a run: data, schema, split, settings, versions, BLAS, seed, ids of the options listed."""
    unlabelled = prepared.unlabelled
    return {
        "format": FORMAT,
        "schema": SCHEMA,
        "fairfront": __version__,
        "data": dict(data),
        "columns": prepared.schema.to_json(prepared.n),
        "features": list(prepared.features),
        "findings": [{"column": f.column, "kind": f.kind, "sentence": f.sentence} for f in prepared.findings],
        "rows_without_target": FEWER if 0 < unlabelled < FEWEST else unlabelled,
        "split": {"rule": prepared.split_words, "sha256": prepared.split_digest, "rows": prepared.sizes},
        "settings": asdict(prepared.settings),
        "sensitive": used_where(prepared.settings),
        "versions": versions(),
        "keep": "all",
        "shown": list(shown),
    }


def used_where(settings: Settings) -> dict[str, str]:
    """Say where the sensitive attribute was used: features, training, thresholds, evaluation."""
    columns = ", ".join(settings.group_probabilities)
    by = f"the probabilities of groups ({columns})" if columns else "group"
    weighed = {"training weights": f"yes: rows are weighed by {by} and label"}
    guessed = {"training weights": "no", "inside the model": "yes: it guesses the group from the features"}
    one = "no: values are predicted, there is none" if settings.regression else "no: one cut-off for everyone"
    if settings.posteriors:
        one = "not by group; the cut-off on the label's probability moves with the guess"
    return {
        "features": "yes, asked for: predictions need it" if settings.use_sensitive else "no",
        **(guessed if settings.posteriors else weighed),
        "threshold": one,
        "evaluation": "yes, as probabilities" if columns else "yes",
    }


def versions() -> dict[str, Any]:
    """Return versions of Python, of the packages that compute, and of the BLAS that they call."""
    found: dict[str, Any] = {"python": platform.python_version(), "machine": platform.machine()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    libraries = sorted({_library(each) for each in threadpoolctl.threadpool_info() if each["user_api"] == "blas"})
    return {**found, "blas": libraries}


def _library(info: Mapping[str, Any]) -> str:
    return f"{info['internal_api']} {info.get('version') or ''}, {info['num_threads']} threads"


def as_text(content: Mapping[str, Any]) -> str:
    """Return JSON that people can read and programs can compare."""
    return json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def check_manifest(found: Any, where: str) -> dict[str, Any]:
    """Return a manifest that this version understands, or say why not."""
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise InputError(f"{where} is not a manifest of a run, expected one written by fairfront trace.")
    schema, writer = found.get("schema"), found.get("fairfront")
    if schema != SCHEMA:
        newer = isinstance(schema, int) and schema > SCHEMA
        remedy = "upgrade fairfront" if newer else "use that version, or trace again"
        raise InputError(f"{where} has schema {schema}, expected {SCHEMA}; fairfront {writer} wrote it: {remedy}.")
    lacking = [name for name in PARTS if not isinstance(found.get(name), PARTS[name])]
    if lacking:
        raise ChangedError(f"{where} lacks {', '.join(lacking)}, or has something else there; copy it again.")
    return found
