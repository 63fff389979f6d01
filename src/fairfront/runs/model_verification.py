"""Verification of a model: made again from the run that it was chosen from, with its card and record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .. import __version__
from ..exceptions import ChangedError, InputError
from ..storage.differences import differences
from ..storage.seals import public_key
from .archive import load
from .decision import Decision, candidates, promises_of
from .decision_chain import stages
from .external import own_frontier
from .model import TableModel
from .run import Run, model_of
from .verification import (
    WRITER,
    Check,
    decided_again,
    evaluated_files,
    file_checks,
    signature_check,
    states_of,
    traced_again,
    with_external,
)

RECORD = "record"


def verify_model(
    path: Any,
    run: Run,
    data: Any = None,
    key: Any = None,
    trusted: Sequence[str] = (),
    evaluated: Sequence[Any] = (),
) -> list[Check]:
    """Make a model again from the run that it was chosen from and compare every file, card and record included.

    That the run itself is right is what `verify_run` shows. Nothing is refitted, but where points were removed from the
    run since and data are given. Where the run has no record of the decision, as of `Run.select`, that is told, and the
    rule is applied again.

    Parameters
    ----------
    path : path
        The folder of the model.
    data : path or data frame
        The rows of the run, for a model that was chosen by exact counts or whose point was removed from the run since.
    key : path
        PEM file of the public key that must have signed the model.
    trusted : sequence of str
        Types inside an estimator that may be loaded.
    evaluated : sequence of paths
        Files of external evaluations, for a model whose point was removed from the run since.
    """
    signed = None if key is None else public_key(key)
    folder, model = Path(path), load(path, trusted=trusted)
    if not isinstance(model, TableModel):
        raise InputError(f"{folder} holds a {type(model).__name__}, expected a model written by fairfront select.")
    with TemporaryDirectory(prefix="fairfront-") as home:
        try:
            again, recorded = _model_again(run, model, data, Path(home), evaluated_files(run, evaluated))
        except InputError:
            raise
        except (TypeError, ValueError, LookupError, AttributeError) as error:  # a record that only the model has
            raise ChangedError(
                f"{folder} has a decision record that was edited, for it cannot be followed ({error})."
            ) from error
        new = Path(home) / "model"
        again.save(new)
        free = () if run.manifest.get("fairfront") == __version__ else (WRITER,)
        return [signature_check(folder, signed), recorded, *file_checks(differences(folder, new, free=free), False)]


def _model_again(
    run: Run, model: TableModel, data: Any, home: Path, files: Mapping[Any, Path]
) -> tuple[TableModel, Check]:
    """Return a model made again, with card, record and manifest where it has a record, and what the run knows of it."""
    n = len(run.decisions)
    found = f"not one of the {n} in the run: fairfront select writes one, Run.select in Python does not"
    unrecorded = Check(RECORD, None, found, decisive=False)
    if model.decision is None:
        return run.model(model.about["id"]), unrecorded
    record, recorded = _record_of(run, model.decision) or (model.decision, unrecorded)
    state = _state(run, record, data, home, files)
    if recorded.same and record["small"]:
        judged, tuples = state, {name: tuple(record[name]) for name in ("candidates", "notes", "footnotes")}
        decision = Decision(**{**record, **tuples})
    else:
        if not record["small"] and data is None:
            raise InputError("the model was chosen by exact counts, which need the rows; add --data FILE.")
        judged, decision = decided_again(state, record, data)
        told = promises_of(judged, decision.id, decision.rule)
        decision = replace(decision, candidates=candidates(judged, decision.id), promises=told)
    return replace(model_of(judged, decision.id, decision), manifest=state.manifest), recorded


def _record_of(run: Run, given: Mapping[str, Any]) -> tuple[Mapping[str, Any], Check] | None:
    """Return the run's record of a model's decision, or the model's own where that differs; None if it has none."""
    number: Any = given.get("opened")
    there = given.get("run") is not None and isinstance(number, int) and 0 < number <= len(run.decisions)
    record = run.decisions[number - 1] if there else given
    if there and record["id"] == given.get("id"):
        return record, Check(RECORD, True, f"decision {number} of the run")
    known = (None, *stages(run.manifest, str(run.checksum)))
    if set(given) != set(Decision.__dataclass_fields__) or given["run"] not in known:
        raise InputError(
            f"the model's decision {number} is of other files than the run has (their checksum differs), expected the "
            "run that it was chosen from; give that run."
        )
    if not there:
        return None
    return given, Check(RECORD, False, f"decision {number} of the run is another one, of id {record['id']}")


def _state(run: Run, record: Mapping[str, Any], data: Any, home: Path, files: Mapping[Any, Path]) -> Run:
    """Traced again if points were removed since and rows are given; with the evaluations that there were then."""
    unsaved = record["run"] is None  # chosen from the run as it was traced, before it had a folder
    place = 0 if unsaved else stages(run.manifest, str(run.checksum)).index(record["run"])
    earlier = list(run.manifest.get("earlier", ()))
    then = {name: e for name, e in run.external.items() if e.after < record["opened"]}
    if unsaved:
        then = {name: e for name, e in then.items() if e.at <= record["at"]}
    later = {name: e for name, e in run.external.items() if name not in then}
    state = replace(run, frontier=own_frontier(run.frontier, later), external=then)
    if place < len(earlier) and data is not None:
        for name, each in then.items():
            if each.sha256 not in files:
                raise InputError(f"the card shows {name!r}, expected its file ({each.file}) too; add --evaluated FILE.")
        states = states_of(run, traced_again(run, data, False), home)
        state = with_external(run, states[place], then, states, files)
    elif place < len(earlier):  # the manifest that the run had then
        kept = earlier[place]["kept"]
        manifest = {name: value for name, value in run.manifest.items() if name not in ("earlier", "kept_ids")}
        manifest["keep"] = "all" if kept == "all" else "chosen"
        manifest["shown"] = [each["id"] for each in record["candidates"] if each["shown"]]
        manifest |= ({"earlier": earlier[:place]} if place else {}) | ({} if kept == "all" else {"kept_ids": kept})
        state = replace(state, manifest=manifest)
    if record["id"] not in state.frontier.ids.tolist():
        raise InputError(
            f"the run has no point {record['id']} any more, because --keep chosen removed it; add --data FILE to trace "
            "it again."
        )
    before = () if unsaved else run.decisions[: record["opened"] - 1]
    return replace(state, decisions=before, checksum=record["run"])
