"""A choice: one model of a run written with its card, the record of it kept with the run, and what stays of the run.

Some houses must not store models that nobody chose.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..exceptions import InputError
from ..frontier.selection import subset
from ..storage.folders import make_folder, turn, write_folder
from .decision import DECISIONS, Decision, add_record, candidates, check_recordable, records_now, with_earlier
from .inventories import MODEL
from .model import TableModel
from .options import plain_id
from .run import Run


def write_choice(
    stored: Run,
    output: Path,
    rule: Mapping[str, Any],
    *,
    judged: Run | None = None,
    reason: str = "",
    by: str = "",
    keep: str = "all",
    onnx: bool = False,
    overwrite: bool = False,
    key: Any = None,
) -> tuple[TableModel, Decision]:
    """Choose by a rule, write the model to a folder and the record to the run, and return both.

    The model's files are complete when the record is written and take their place after it, so that the test part is
    never opened without a record. Of two choices at once, the second waits and counts the first.

    Parameters
    ----------
    stored : Run
        The run as its folder has it.
    judged : Run
        The same run with exact counts, where the rule is to read those.
    keep : {"all", "chosen"}
        What stays in the run; with "chosen", every point that a record names, and the plain model.
    key
        What signs the model and the record.
    """
    check_recordable(stored, key)
    assert stored.path is not None
    make_folder(stored.path / DECISIONS)  # copies may lack a folder that was empty
    with turn(stored.path / DECISIONS):
        now = records_now(stored)
        stored = replace(stored, decisions=now)
        model, decision = replace(judged or stored, decisions=now).decide(reason=reason, by=by, **rule)
        record = replace(decision, candidates=candidates(stored, decision.id))

        def fill(folder: Path) -> None:
            model.fill(folder, onnx=onnx, key=key)
            add_record(stored, record, key)

        write_folder(output, fill, MODEL, overwrite=overwrite)
        if keep == "chosen":
            stored = replace(stored, decisions=(*now, record.to_json()))
            chosen = [each["id"] for each in stored.decisions]
            keep_only(stored, (*chosen, plain_id(stored.frontier)), key)
    return model, decision


def keep_only(run: Run, ids: Sequence[int], key: Any = None) -> Run:
    """Rewrite a run so that only some models stay; decisions stay, the manifest says what was kept."""
    if run.path is None:
        raise InputError("the run has no folder yet, expected one that was saved; call run.save(path) first.")
    smaller = pruned(run, ids)
    smaller.write(run.path, overwrite=True, key=key)
    return smaller


def pruned(run: Run, ids: Sequence[int]) -> Run:
    """Return a run of some of its points, whose manifest names them and the run's checksum before."""
    kept = sorted(set(ids))
    names = {str(id) for id in kept}
    return replace(
        run,
        frontier=subset(run.frontier, kept),
        manifest={**with_earlier(run.manifest, run.checksum), "keep": "chosen", "kept_ids": kept, "shown": kept},
        tested={id: found for id, found in run.tested.items() if id in names},
        stability=_some(run, names),
        details=None,  # they compare points that are gone
    )


def _some(run: Run, names: set[str]) -> dict[str, object]:
    found = dict(run.stability)
    if "points" in found:
        found["points"] = {id: values for id, values in found["points"].items() if id in names}
    return found
