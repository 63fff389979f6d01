"""A choice: one model of a run written with its card, and the record of it kept with the run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..storage.folders import make_folder, write_folder
from ..storage.writers import turn
from .decision import DECISIONS, Decision, candidates
from .inventories import MODEL
from .keeping import keep_only
from .model import TableModel
from .options import plain_id
from .records import add_record, check_recordable, records_now
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
