"""Verifying: make a run again from its manifest, or a model from its run, and compare everything that is stored."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .. import __version__
from ..exceptions import ChangedError, InputError
from ..storage.checksums import found_in, is_signature_of, is_signed, public_key, read_checksums
from ..storage.differences import Difference, differences
from ..storage.places import CHECKSUMS, MANIFEST
from .card import card_of
from .decision import Decision, candidates, stages
from .manifest import versions
from .model import ONNX, TableModel
from .pipeline import FRAME
from .replica import decided_again, remade, states_of, write_replica
from .run import ENCODER, Run, load

TOLERANCE = 1e-6
WRITER = "*:fairfront"
FREE = (WRITER, f"{MANIFEST}:earlier", "*:run", "*:previous")
"""What another version may write otherwise: its own number, and checksums of its files, which loading has checked."""

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
    again = remade(run, data, progress)
    other = _other_versions(run)
    with TemporaryDirectory(prefix="fairfront-") as home:
        stored = run.path or run.save(Path(home) / "stored")
        new = write_replica(run, again, data, Path(home))
        found = differences(stored, new, TOLERANCE if other else 0.0, FREE if other else (), MIXED)
        return [
            _signature(stored, signed),
            _data(run, again),
            Check("versions", not other, "; ".join(other) or "equal", decisive=False),
            *_files(found, bool(other)),
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


def first_digits(digest: str | None) -> str:
    """Return the first digits of a fingerprint."""
    return "none" if digest is None else digest[:12]


def _other_versions(run: Run) -> list[str]:
    here, there = {"fairfront": __version__, **versions()}, run.manifest["versions"]
    there = {"fairfront": run.manifest.get("fairfront"), **there}
    names = dict.fromkeys((*here, *there))
    return [
        f"{name} {there.get(name)} then, {here.get(name)} now" for name in names if here.get(name) != there.get(name)
    ]


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


def _data(run: Run, again: Run) -> Check:
    if run.manifest["data"] == FRAME:
        found = "a data frame then, without a fingerprint: what follows from the rows is compared"
        return Check("data", None, found, decisive=False)
    sha, known = (each.manifest["data"].get("sha256") for each in (again, run))
    return Check("data", sha == known, f"sha256 {first_digits(sha)}, the manifest has {first_digits(known)}")


def _files(found: Mapping[str, list[Difference]], rounded: bool) -> list[Check]:
    return [Check(name, not said, _words(said, rounded), differences=tuple(said)) for name, said in found.items()]


def _words(said: list[Difference], rounded: bool) -> str:
    if not said:
        return f"equal up to {TOLERANCE:g}" if rounded else "equal to the last bit"
    return f"{len(said)} {'field differs' if len(said) == 1 else 'fields differ'}"


def _record_of(run: Run, given: Mapping[str, Any]) -> tuple[Mapping[str, Any], Check]:
    """Return the run's record of a model's decision; the model's own where the run has none, which is told."""
    number: Any = given.get("opened")
    known = (None, *stages(run.manifest, str(run.checksum)))
    there = given.get("run") is not None and isinstance(number, int) and 0 < number <= len(run.decisions)
    record = run.decisions[number - 1] if there else given
    if there and record["id"] == given.get("id"):
        return record, Check(RECORD, True, f"decision {number} of the run")
    if set(given) != set(Decision.__dataclass_fields__) or given["run"] not in known:
        raise InputError(
            f"the model's decision {number} is of other files than the run has (their checksum differs), expected the "
            "run that it was chosen from; give that run."
        )
    if there:
        return given, Check(RECORD, False, f"decision {number} of the run is another one, of id {record['id']}")
    return given, _unrecorded(run)


def _unrecorded(run: Run) -> Check:
    found = (
        f"not one of the {len(run.decisions)} in the run: fairfront select writes one, Run.select in Python does not"
    )
    return Check(RECORD, None, found, decisive=False)


def _state(run: Run, record: Mapping[str, Any], data: Any, home: Path) -> Run:
    """Return a run as it was when a record was made; traced again if points were removed since and rows are given."""
    unsaved = record["run"] is None  # chosen from the run as it was traced, before it had a folder
    place = 0 if unsaved else stages(run.manifest, str(run.checksum)).index(record["run"])
    if data is not None and place < len(run.manifest.get("earlier", ())):
        state = states_of(run, remade(run, data, False), home)[place]
    else:
        state = replace(run, manifest=_manifest_at(run, place, record))
    if record["id"] not in state.frontier.ids.tolist():
        raise InputError(
            f"the run has no point {record['id']} any more, because --keep chosen removed it; add --data FILE to trace "
            "it again."
        )
    before = () if unsaved else run.decisions[: record["opened"] - 1]
    return replace(state, decisions=before, checksum=record["run"])


def _model_again(run: Run, model: TableModel, data: Any, home: Path) -> tuple[TableModel, Check]:
    """Return a model made again, with card, record and manifest where it has a record, and what the run knows of it."""
    if model.decision is None:
        return run.model(model.about["id"]), _unrecorded(run)
    record, recorded = _record_of(run, model.decision)
    state = _state(run, record, data, home)
    if recorded.same and record["small"]:
        judged, tuples = state, {name: tuple(record[name]) for name in ("candidates", "notes", "footnotes")}
        decision = Decision(**{**record, **tuples})
    else:
        if not record["small"] and data is None:
            raise InputError("the model was chosen by exact counts, which need the rows; add --data FILE.")
        judged, decision = decided_again(state, record, data)
        decision = replace(decision, candidates=candidates(judged, decision.id))
    card = card_of(judged, decision.id, decision)
    again = replace(judged.model(decision.id), card=card, decision=decision.to_json(), manifest=state.manifest)
    return again, recorded


def _manifest_at(run: Run, place: int, record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the manifest that a run had when a record was made, before models were removed from it."""
    earlier = list(run.manifest.get("earlier", ()))
    found = dict(run.manifest)
    if place == len(earlier):
        return found
    kept = earlier[place]["kept"]
    shown = [each["id"] for each in record["candidates"] if each["shown"]]
    for name in ("earlier", "kept_ids"):
        found.pop(name, None)
    found |= {"keep": "all" if kept == "all" else "chosen", "shown": shown}
    if place:
        found |= {"earlier": earlier[:place]}
    return found if kept == "all" else {**found, "kept_ids": kept}


def as_json(checks: list[Check]) -> str:
    """Return checks for programs."""
    said = [
        {
            "what": check.what,
            "same": check.same,
            "found": check.found,
            "decisive": check.decisive,
            "differences": [vars(each) for each in check.differences],
        }
        for check in checks
    ]
    return json.dumps({"same": agrees(checks), "checks": said}, indent=1)


def outcome(what: str, checks: list[Check]) -> str:
    """Say how the comparison of a run or a model ended."""
    wrong = [check for check in checks if check.decisive and not check.same]
    if any(check.what != SIGNED for check in wrong):
        return f"The {what} was NOT reproduced: see above."
    if wrong:
        return f"The {what} was reproduced, but not signed as asked for (signature: {wrong[0].found})."
    if any(check.what == RECORD and check.same is None for check in checks):
        return f"The {what} was reproduced; the run has no record of the decision."
    return f"The {what} was reproduced."


def agrees(checks: list[Check]) -> bool:
    """Tell whether all that decides is the same."""
    return all(check.same for check in checks if check.decisive)
