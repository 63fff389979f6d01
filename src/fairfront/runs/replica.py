"""A replica: the run that a manifest describes, made again from its rows and written beside the stored one.

What is remade follows from the rows and the settings: encoder, points, figures, the parts of the manifest that tracing
finds, and of decision records all but who, when and why. Those three are people's words, as are the name of the file
and the versions of the time; they are taken over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..exceptions import ChangedError, FairfrontError, InputError
from ..storage.packages import SUFFIX, untrusted_types
from .choice import pruned
from .decision import Decision, candidates, decided, stages, with_earlier
from .pipeline import FRAME, run_of, with_exact_counts
from .run import Run, read_run
from .settings import Settings

TAKEN_OVER = ("versions", "fairfront")
"""Parts of a manifest that say where and when, which another machine and day need not have."""


def remade(run: Run, data: Any, progress: Any) -> Run:
    """Return the run traced again from rows, under the name and the versions that the manifest has."""
    known = run.manifest
    try:
        again = run_of(data, Settings.from_json(known["settings"]), progress)
    except FairfrontError:
        raise
    except Exception as error:  # settings that were edited fail anywhere
        raise InputError(
            f"the run cannot be made again from {data} ({type(error).__name__}: {error}), expected the settings that "
            "fairfront trace wrote and their file; they were edited, or the file is another one."
        ) from error
    taken = {name: known[name] for name in TAKEN_OVER if name in known}
    origin = FRAME if known["data"] == FRAME else {**again.manifest["data"], "name": known["data"].get("name")}
    return replace(again, manifest={**again.manifest, **taken, "data": origin})


def write_replica(run: Run, again: Run, data: Any, home: Path) -> Path:
    """Write a run that was traced again, with the stages and the records that the stored one has; return its folder."""
    states = states_of(run, again, home)
    records = _records(run, states, data)
    if not records:
        return home / str(len(states) - 1)
    return replace(states[-1], decisions=records).save(home / "records")


def states_of(run: Run, again: Run, home: Path) -> list[Run]:
    """Return a run that was traced again as it was before each time that points were removed, and as it is now."""
    kept = [*(each["kept"] for each in run.manifest.get("earlier", ())), run.manifest.get("kept_ids", "all")]
    if kept[0] != "all":
        raise ChangedError(
            f"the manifest's first stage kept {kept[0]}, expected all points; it was edited: trace again."
        )
    states = [_written(again, home / "0")]
    for n, ids in enumerate(kept[1:], start=1):
        before = states[-1]
        noted = replace(before, manifest=with_earlier(before.manifest, before.checksum))
        states.append(_written(noted if ids == kept[n - 1] else pruned(before, ids), home / str(n)))
    return states


def _written(run: Run, folder: Path) -> Run:
    """Write a run and read it, as the one that is compared was; its own types of estimators need no confirmation."""
    run.save(folder)
    types = untrusted_types(folder) if any(folder.rglob(f"*{SUFFIX}")) else ()
    return read_run(folder, types)


def _records(run: Run, states: list[Run], data: Any) -> tuple[Mapping[str, Any], ...]:
    known = stages(run.manifest, str(run.checksum))
    found: tuple[Mapping[str, Any], ...] = ()
    for record in run.decisions:
        state = replace(states[known.index(record["run"])], decisions=found)
        found = (*found, decided_again(state, record, data)[1].to_json())
    return found


def decided_again(state: Run, record: Mapping[str, Any], data: Any) -> tuple[Run, Decision]:
    """Return what a record's rule chooses from a run, and the run with the counts that the rule read.

    Exact counts need the rows; the record itself has published ones.
    """
    judged = state if record["small"] else with_exact_counts(state, data, progress=False)
    try:
        id = judged.choose(**record["rule"])
    except (FairfrontError, TypeError, ValueError, KeyError) as error:
        raise ChangedError(
            f"decision record {record['opened']} has the rule {record['rule']}, which cannot be applied ({error}); it "
            "was edited."
        ) from error
    found = decided(judged, id, record["rule"], record["reason"], record["by"])
    return judged, replace(found, at=record["at"], candidates=candidates(state, id))
