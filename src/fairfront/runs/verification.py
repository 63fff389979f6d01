"""Verification: make a run again from its manifest, or a model from its run, and compare everything that is stored.

What is made again follows from the rows and the settings: encoder, points, figures, the parts of the manifest that
tracing finds, and of decision records all but who, when and why. Those three are people's words, as are the name of the
file and the versions of the time; they are taken over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .. import __version__
from ..exceptions import ChangedError, FairfrontError, InputError
from ..storage.differences import Difference, differences
from ..storage.foreign import SUFFIX, untrusted_types
from ..storage.packages import found_in, is_signed, read_checksums
from ..storage.places import CHECKSUMS, MANIFEST
from ..storage.seals import is_signature_of, public_key
from .decision import Decision, candidates, decided, pruned, stages, with_earlier
from .manifest import versions
from .model import ONNX, TableModel
from .pipeline import FRAME, run_of, with_exact_counts
from .run import ENCODER, Run, load, model_of, read_run
from .settings import Settings

TOLERANCE = 1e-6
WRITER = "*:fairfront"
FREE = (WRITER, f"{MANIFEST}:earlier", "*:run", "*:previous")
"""What another version may write otherwise: its own number, and checksums of its files, which loading has checked."""
TAKEN_OVER = ("versions", "fairfront")
"""Parts of a manifest that say where and when, which another machine and day need not have."""
SIGNED, RECORD = "signature", "record"
MIXED = (f"{ENCODER}.npz",)
"""Means and scales of columns, each in a unit of its own."""


@dataclass(frozen=True)
class Check:
    """One comparison: what was compared, whether it agrees, what was found, and every field that differs.

    ``same`` is None where nothing was compared; what is not decisive is told and no more.
    """

    what: str
    same: bool | None
    found: str
    decisive: bool = True
    differences: tuple[Difference, ...] = ()


def verify_run(run: Run, data: Any, progress: Any = "auto", key: Any = None) -> list[Check]:
    """Trace a run again and compare every field of every file with the one stored.

    With the versions, machine and BLAS of the manifest everything must be equal to the last bit. With others, which
    are told, floating-point numbers may differ by a millionth of the largest of their array, or of 1; text, counts,
    certificates, statuses and names must be equal all the same.

    A run of a data frame, which has no fingerprint, is compared by all that follows from the rows, also with a file.

    Parameters
    ----------
    data : path or data frame
        The rows that the run was traced from.
    key : path
        PEM file of the public key that must have signed the run.
    """
    signed = None if key is None else public_key(key)
    again = _traced_again(run, data, progress)
    then = {"fairfront": run.manifest.get("fairfront"), **run.manifest["versions"]}
    now = {"fairfront": __version__, **versions()}
    names = [name for name in {**now, **then} if now.get(name) != then.get(name)]
    other = [f"{name} {then.get(name)} then, {now.get(name)} now" for name in names]
    if run.manifest["data"] == FRAME:
        found = "a data frame then, without a fingerprint: what follows from the rows is compared"
        rows = Check("data", None, found, decisive=False)
    else:
        sha, known = (each.manifest["data"].get("sha256") for each in (again, run))
        found = f"sha256 {_first_digits(sha)}, the manifest has {_first_digits(known)}"
        rows = Check("data", sha == known, found)
    with TemporaryDirectory(prefix="fairfront-") as home:
        stored = run.path or run.save(Path(home) / "stored")
        new = _write_replica(run, again, data, Path(home))
        compared = differences(stored, new, TOLERANCE if other else 0.0, FREE if other else (), MIXED)
        return [
            _signature(stored, signed),
            rows,
            Check("versions", not other, "; ".join(other) or "equal", decisive=False),
            *_files(compared, bool(other)),
        ]


def verify_model(path: Any, run: Run, data: Any = None, key: Any = None, trusted: Sequence[str] = ()) -> list[Check]:
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
    """
    signed = None if key is None else public_key(key)
    folder, model = Path(path), load(path, trusted=trusted)
    if not isinstance(model, TableModel):
        raise InputError(f"{folder} holds a {type(model).__name__}, expected a model written by fairfront select.")
    with TemporaryDirectory(prefix="fairfront-") as home:
        try:
            again, recorded = _model_again(run, model, data, Path(home))
        except InputError:
            raise
        except (TypeError, ValueError, LookupError, AttributeError) as error:  # a record that only the model has
            raise ChangedError(
                f"{folder} has a decision record that was edited, for it cannot be followed ({error})."
            ) from error
        new = Path(home) / "model"
        again.save(new, onnx=(folder / ONNX).exists())
        free = () if run.manifest.get("fairfront") == __version__ else (WRITER,)
        return [_signature(folder, signed), recorded, *_files(differences(folder, new, free=free), False)]


def agrees(checks: list[Check]) -> bool:
    return all(check.same for check in checks if check.decisive)


def _first_digits(digest: str | None) -> str:
    return "none" if digest is None else digest[:12]


def _signature(folder: Path, key: Any) -> Check:
    """Say whether the list of checksums is signed, by the key if one is given, and covers all records."""
    if key is None:
        there = "there, and not checked without --key" if is_signed(folder) else "none"
        return Check(SIGNED, None, there, decisive=False)
    if not is_signed(folder):
        return Check(SIGNED, False, "none, expected one by the key")
    if not is_signature_of(folder, key):
        return Check(SIGNED, False, f"not of this {CHECKSUMS} by this key")
    later = sorted(set(found_in(folder)) - set(read_checksums(folder)))
    return Check(SIGNED, not later, f"does not cover {', '.join(later)}" if later else "by the key")


def _files(found: Mapping[str, list[Difference]], rounded: bool) -> list[Check]:
    equal = f"equal up to {TOLERANCE:g}" if rounded else "equal to the last bit"
    checks = []
    for name, said in found.items():
        words = f"{len(said)} {'field differs' if len(said) == 1 else 'fields differ'}" if said else equal
        checks.append(Check(name, not said, words, differences=tuple(said)))
    return checks


def _traced_again(run: Run, data: Any, progress: Any) -> Run:
    """Under the name and the versions that the manifest has."""
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


def _write_replica(run: Run, again: Run, data: Any, home: Path) -> Path:
    """With the stages and the records that the stored run has."""
    states = _states(run, again, home)
    known = stages(run.manifest, str(run.checksum))
    records: tuple[Mapping[str, Any], ...] = ()
    for record in run.decisions:
        state = replace(states[known.index(record["run"])], decisions=records)
        records = (*records, _decided_again(state, record, data)[1].to_json())
    if not records:
        return home / str(len(states) - 1)
    return replace(states[-1], decisions=records).save(home / "records")


def _states(run: Run, again: Run, home: Path) -> list[Run]:
    """Return a run that was traced again as it was before each time that points were removed, and as it is now.

    Each is written and read, as the one that is compared was; its own types of estimators need no confirmation.
    """
    kept = [*(each["kept"] for each in run.manifest.get("earlier", ())), run.manifest.get("kept_ids", "all")]
    if kept[0] != "all":
        raise ChangedError(
            f"the manifest's first stage kept {kept[0]}, expected all points; it was edited: trace again."
        )
    states: list[Run] = []
    for n, ids in enumerate(kept):
        state = again
        if states:
            before = states[-1]
            noted = replace(before, manifest=with_earlier(before.manifest, before.checksum))
            state = noted if ids == kept[n - 1] else pruned(before, ids)
        folder = state.save(home / str(n))
        states.append(read_run(folder, untrusted_types(folder) if any(folder.rglob(f"*{SUFFIX}")) else ()))
    return states


def _decided_again(state: Run, record: Mapping[str, Any], data: Any) -> tuple[Run, Decision]:
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


def _model_again(run: Run, model: TableModel, data: Any, home: Path) -> tuple[TableModel, Check]:
    """Return a model made again, with card, record and manifest where it has a record, and what the run knows of it."""
    n = len(run.decisions)
    found = f"not one of the {n} in the run: fairfront select writes one, Run.select in Python does not"
    unrecorded = Check(RECORD, None, found, decisive=False)
    if model.decision is None:
        return run.model(model.about["id"]), unrecorded
    record, recorded = _record_of(run, model.decision) or (model.decision, unrecorded)
    state = _state(run, record, data, home)
    if recorded.same and record["small"]:
        judged, tuples = state, {name: tuple(record[name]) for name in ("candidates", "notes", "footnotes")}
        decision = Decision(**{**record, **tuples})
    else:
        if not record["small"] and data is None:
            raise InputError("the model was chosen by exact counts, which need the rows; add --data FILE.")
        judged, decision = _decided_again(state, record, data)
        decision = replace(decision, candidates=candidates(judged, decision.id))
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


def _state(run: Run, record: Mapping[str, Any], data: Any, home: Path) -> Run:
    """Traced again if points were removed since and rows are given."""
    unsaved = record["run"] is None  # chosen from the run as it was traced, before it had a folder
    place = 0 if unsaved else stages(run.manifest, str(run.checksum)).index(record["run"])
    earlier = list(run.manifest.get("earlier", ()))
    state = run
    if place < len(earlier) and data is not None:
        state = _states(run, _traced_again(run, data, False), home)[place]
    elif place < len(earlier):  # the manifest that the run had then
        kept = earlier[place]["kept"]
        manifest = {name: value for name, value in run.manifest.items() if name not in ("earlier", "kept_ids")}
        manifest["keep"] = "all" if kept == "all" else "chosen"
        manifest["shown"] = [each["id"] for each in record["candidates"] if each["shown"]]
        manifest |= ({"earlier": earlier[:place]} if place else {}) | ({} if kept == "all" else {"kept_ids": kept})
        state = replace(run, manifest=manifest)
    if record["id"] not in state.frontier.ids.tolist():
        raise InputError(
            f"the run has no point {record['id']} any more, because --keep chosen removed it; add --data FILE to trace "
            "it again."
        )
    before = () if unsaved else run.decisions[: record["opened"] - 1]
    return replace(state, decisions=before, checksum=record["run"])
