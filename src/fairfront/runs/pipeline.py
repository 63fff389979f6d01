"""The pipeline: from a file or data frame to a run, with test sealed for the card, and from a run to a chosen model."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..exceptions import ColumnWarning, InputError, ProxyWarning
from ..explorer import describe_points
from ..frontier.held_out import HELD_OUT
from ..objectives import warn_of_names
from ..storage.folders import make_folder, turn, write_folder
from ..tables import open_source
from ..validation import check_progress
from . import decision_records as records
from .archive import MODEL, fill_model
from .attributes import PROXY
from .decision import Decision
from .decision_records import DECISIONS
from .external import added, check_name
from .manifest import manifest_of
from .model import TableModel
from .options import shortlist
from .parts import judged_points
from .preparation import Prepared, prepare
from .rows import uncompared
from .run import Run
from .settings import Settings
from .traces import traced

FRAME = {"name": "data frame", "sha256": None}
"""What a manifest says of rows that came from no file, and have no fingerprint."""


def trace_table(
    data: Any,
    *,
    target: str,
    groups: str | Iterable[str] | None = None,
    group_probabilities: str | Iterable[str] | None = None,
    progress: Any = "auto",
    **settings: Any,
) -> Run:
    """Trace the frontier of a table: read, split, encode, train, and judge on validation.

    Parameters
    ----------
    data : path or data frame
        CSV, TSV (also gzipped), Parquet or Feather; or a frame of pandas, polars or pyarrow.
    target : str
        The column to predict.
    groups : str or sequence of str
        Columns of groups, ``"sex,race:ref=White"``; they are not features unless ``use_sensitive=True``.
    group_probabilities : str or sequence of str
        In the place of groups: columns of probabilities, one per group, ``"p_black,p_white:ref"``; never features.
    progress : bool or "auto"
    **settings
        The other fields of `Settings`: ``favourable`` (the value of the target that is good for the person),
        ``notion``, ``loss``, ``model``, ``split``, ``drop``, ``weight``, ``seed``, and the operating point:
        ``cutoff``, ``approval_rate`` or ``costs``...

    Returns
    -------
    Run
        `Run.options` lists what to choose among, `Run.select` gives the model.
    """
    check_progress(progress)
    known = Settings.of(target=target, groups=groups, group_probabilities=group_probabilities, **settings)
    return run_of(data, known, progress, on_read=_warn_of_columns)


def _warn_of_columns(ready: Prepared) -> None:
    """Name the columns that a model will read and a shell would name: nobody reads the findings of a run unasked."""
    named = list(dict.fromkeys(name for each in ready.findings if each.kind == "flagged" for name in each.columns))
    if named:
        sentence = (
            f"columns that look sensitive, tell the group or deserve another look are read: {', '.join(named)}; leave "
            f"them out with drop={named!r}, or see manifest['findings'] of the run."
        )
        warnings.warn(sentence, ColumnWarning, stacklevel=4)


def run_of(
    data: Any,
    settings: Settings,
    progress: Any = "auto",
    on_read: Callable[[Prepared], None] | None = None,
) -> Run:
    """``on_read`` is told what was read before anything is traced."""
    warn_of_names((PROXY,) if settings.group_probabilities else ())
    with warnings.catch_warnings(action="ignore", category=ProxyWarning):  # said above, once
        source = open_source(data, **settings.opening)
        ready = prepare(source, settings, progress)
        if on_read is not None:
            on_read(ready)
        front = traced(ready, progress=progress)
        sha = source.sha256()
        origin = FRAME if sha is None else {"name": Path(data).name, "sha256": sha}
        left_out = uncompared(front.facts, ready.people.groups, settings.cross)  # in the other parts, too
        front = replace(front, facts=replace(front.facts, left_out=left_out))
        run = judged(Run(front, ready.encoder, {}), ready, progress)
    return replace(run, manifest=manifest_of(ready, origin, shortlist(run.frontier)))


def judged(run: Run, ready: Prepared, progress: Any) -> Run:
    """Return a run whose points are judged: on validation for choosing, on test for the card.

    Without a validation part choices rest on held-out figures of the training rows, which tracing made.
    """
    if not ready.sizes["validation"]:
        return _judged_held_out(run, ready, progress)
    held, rule = ready.part("validation"), ready.settings.operating
    asked: dict[str, Any] = {"cutoff": rule.cutoff, "approval_rate": rule.approval_rate, "costs": rule.costs}
    if ready.settings.units == "rates":  # the operating point is inside the rules
        asked = {}
    known_rows = {**held.people, **held.within}
    front = run.frontier.evaluate(held.X, held.y, **known_rows, **asked, person=held.person)
    held = held.seen()  # rows of a file larger than memory, or a sample of them
    details = describe_points(front, held.X, held.y, **held.people)
    validated = judged_points(front, held, ready.settings, progress, name="validation")
    del held
    tested = judged_points(front, ready.part("test"), ready.settings, progress)
    return replace(run, frontier=front, details=details, validated=validated, tested=tested)


def _judged_held_out(run: Run, ready: Prepared, progress: Any) -> Run:
    if HELD_OUT not in run.frontier.evaluations:
        raise InputError(
            f"the split {ready.settings.split} has no validation part, and choices would rest on held-out figures of "
            "the training rows, which are made only while tracing, of rows in memory; trace with a split such as "
            "60/20/20."
        )
    return replace(run, tested=judged_points(run.frontier, ready.part("test"), ready.settings, progress))


def write_evaluation(stored: Run, data: Any, *, name: str, overwrite: bool = False, **reading: Any) -> Run:
    """Judge a run on another file and write it with that evaluation, whole or not at all; return it.

    What was added to its folder meanwhile stays.
    """
    records.check_recordable(stored)
    assert stored.path is not None
    found = stored.evaluate(data, name=name, overwrite=overwrite, **reading)
    make_folder(stored.path / DECISIONS)  # copies may lack a folder that was empty
    with turn(stored.path / DECISIONS):
        now = records.current(stored)
        name = check_name(now, name, overwrite)
        about = replace(found.external[name], after=len(now.decisions))
        larger = added(now, found.frontier.evaluations[name], about)
        larger.save(stored.path, overwrite=True)
    return larger


def write_choice(
    stored: Run,
    output: Path,
    rule: Mapping[str, Any],
    *,
    reason: str = "",
    by: str = "",
    about: Mapping[str, str] | None = None,
    overwrite: bool = False,
) -> tuple[TableModel, Decision]:
    """Choose by a rule, write the model to a folder and the record to the run, and return both.

    The model's files are complete when the record is written and take their place after it, so that the test part is
    never opened without a record. Of two choices at once, the second waits and counts the first.
    """
    records.check_recordable(stored)
    assert stored.path is not None
    make_folder(stored.path / DECISIONS)  # copies may lack a folder that was empty
    with turn(stored.path / DECISIONS):
        stored = records.current(stored)
        model, decision = stored.decide(reason=reason, by=by, about=about, **rule)

        def fill(folder: Path) -> None:
            fill_model(model, folder)
            records.add_record(stored, decision)

        write_folder(output, fill, MODEL, overwrite=overwrite)
    return model, decision
