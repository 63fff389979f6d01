"""Models of a dossier: one that is chosen, fitted again from the file that was searched, its record, verification."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .. import __version__
from ..exceptions import ChangedError, FairfrontWarning, InputError, spelled
from ..frontier.linear_models import LinearModels
from ..frontier.rule_models import RuleModels
from ..improvability import Alternatives
from ..improvability.dossier import DECISIONS, read_dossier, write_dossier
from ..storage.differences import differences
from ..storage.folders import make_folder, turn, write_folder
from ..storage.packages import digest, found_in
from ..storage.seals import public_key
from ..tables.source import fingerprint
from ..validation import check_text
from . import decision_chain as chain
from .archive import MODEL, fill_model, load
from .champion import Champion
from .decision import Decision
from .decision_chain import read_records
from .inquiry import Inquiry
from .inquiry_search import Asked, searched
from .manifest import as_text, now, versions
from .model import TableModel
from .verification import TAKEN_OVER, TOLERANCE, WRITER, Check, file_checks, first_digits, signature_check

SAME = ("family", "settings", "approval_rate", "error", "auc")


@dataclass(frozen=True)
class Dossier:
    """A dossier as it is stored, with the choices made from it."""

    path: Path
    record: Mapping[str, Any]
    checksum: str
    decisions: tuple[Mapping[str, Any], ...]


def dossier_at(path: Any) -> Dossier:
    folder = Path(path)
    record, checksum = read_dossier(folder)
    return Dossier(folder, record, checksum, chain.read_records(folder, found_in(folder), [checksum]))


def write_alternative(
    stored: Dossier,
    id: int,
    data: Any,
    output: Path,
    champion: Champion | None = None,
    *,
    reason: str = "",
    by: str = "",
    overwrite: bool = False,
    key: Any = None,
) -> tuple[TableModel, Decision]:
    """Write a model of the first split to a folder and the record to the dossier, and return both.

    The first split is searched again, with all families, and has to give the model that the dossier tells of.
    """
    check_text(reason, "reason")
    check_text(by, "by")
    chain.check_recordable(stored, key)
    model = alternative_of(stored, id, data, champion)
    with turn(stored.path / DECISIONS):
        stored = dossier_at(stored.path)
        decision = _decision(stored, id, float(model.cutoff or 0.0), reason, by)
        model = replace(model, decision=decision.to_json())

        def fill(folder: Path) -> None:
            fill_model(model, folder, key=key)
            chain.add_record(stored, decision, key)

        make_folder(stored.path / DECISIONS)
        write_folder(output, fill, MODEL, overwrite=overwrite)
    return model, decision


def alternative_of(stored: Dossier, id: int, data: Any, champion: Champion | None = None) -> TableModel:
    """Fit a model of the first split again from the file that was searched; without a record of its choice."""
    _check_asked(stored, id, data)
    inquiry = replace(Inquiry.from_json(stored.record["settings"]), n_splits=1, max_seconds=None)
    with warnings.catch_warnings(action="ignore", category=FairfrontWarning):
        found, rows = searched(data, inquiry, champion)
    line = stored.record["table"][id]
    if len(found.table) <= id or any(found.table[id].get(name) != line.get(name) for name in SAME):
        raise ChangedError(f"model {id} came out otherwise than {stored.path} has it; see fairfront verify.")
    return _model(found, rows, id)


def _check_asked(stored: Dossier, id: int, data: Any) -> None:
    if "settings" not in stored.record:
        raise InputError(f"{stored.path} was made in Python from arrays, expected one of fairfront alternatives.")
    last = len(stored.record["table"]) - 1
    if not 1 <= id <= last:
        raise InputError(f"{spelled('id')} is {id}, expected a model of the dossier, from 1 to {last}.")
    if fingerprint(data) != stored.record["data"]["sha256"]:
        raise InputError(
            f"{data} is not the file that was searched ({stored.record['data']['name']}, by its sha256), expected that "
            "file: the model is fitted again from it."
        )


def _model(found: Alternatives, rows: Asked, id: int) -> TableModel:
    chosen, task = found.outcome.candidates[id - 1], found.outcome.task
    if chosen.models is None:
        raise InputError(
            f"model {id} is of the family {chosen.family!r}, which fits nothing that can be written, expected a model "
            "of another; use the incumbent at the cut-off that the dossier has."
        )
    ours = isinstance(chosen.models, (LinearModels, RuleModels))
    points: Any = chosen.models.take([chosen.place]) if ours else None
    if ours:
        points = replace(points, feature_names=rows.encoder.feature_names)
    about = {
        "id": id,
        "favourable": task.favourable_label,
        "family": chosen.family,
        "settings": dict(chosen.settings),
        "operating_point": f"Alternative {id} of a search; its cut-off is {chosen.cutoff:.4g}.",
    }
    estimator = None if ours else chosen.models.build(chosen.place)
    return TableModel(rows.encoder, points, task, about, estimator=estimator, cutoff=chosen.cutoff)


def _decision(stored: Dossier, id: int, cutoff: float, reason: str, by: str) -> Decision:
    record = stored.record
    told = tuple(each for each in record["table"] if each["id"] in (0, id) or each["p"] is not None)
    line = record["table"][id]
    notes = () if line["qualified"] else (f"id {id} does not qualify: {line['why']}",)
    return Decision(
        id=id,
        rule={"id": id},
        reason=reason,
        by=by,
        at=now(),
        opened=1 + len(stored.decisions),
        points=len(record["table"]) - 1,
        candidates=told,
        data=record["data"]["sha256"],
        run=stored.checksum,
        previous=digest(as_text(stored.decisions[-1])) if stored.decisions else None,
        operating={"rule": "the incumbent's approval rate", "cutoff": cutoff, "placed_on": "search rows"},
        notes=(record["finding"], *notes),
    )


def verify_search(path: Any, data: Any, champion: Champion | None, key: Any) -> list[Check]:
    """Search again and compare every field of every file with the one stored.

    With the versions of the dossier everything must be equal to the last bit; with others, which are told, numbers may
    differ by a millionth. A search that ran out of time is made again with as many splits as it had. ``key`` is the PEM
    file of the public key that must have signed the dossier.
    """
    signed, folder = None if key is None else public_key(key), Path(path)
    stored, checksum = read_dossier(folder)
    if "settings" not in stored:
        raise InputError(f"{folder} was made in Python from arrays, expected one of fairfront alternatives.")
    read_records(folder, found_in(folder), [checksum])
    file = stored["incumbent"].get("file")
    if (file is None) != (champion is None):
        found = "none was given then" if file is None else f"it was {file}; give --incumbent"
        raise InputError(f"{folder}: the incumbent as a model: {found}.")
    again = _searched_again(stored, data, champion)
    then, now = ({"fairfront": each["fairfront"], **each["versions"]} for each in (stored, again))
    other = [f"{name} {then.get(name)} then, {now.get(name)} now" for name in now if now.get(name) != then.get(name)]
    sha, known = again["data"]["sha256"], stored["data"]["sha256"]
    again |= {name: stored[name] for name in TAKEN_OVER}
    again["data"] = {**again["data"], "name": stored["data"]["name"]}
    with TemporaryDirectory(prefix="fairfront-") as home:
        new = write_dossier(Path(home) / "again", again)
        compared = differences(folder, new, TOLERANCE if other else 0.0, (WRITER,) if other else ())
        compared = {name: each for name, each in compared.items() if not name.startswith(f"{DECISIONS}/")}
        return [
            signature_check(folder, signed),
            Check("data", sha == known, f"sha256 {first_digits(sha)}, the dossier has {first_digits(known)}"),
            Check("versions", not other, "; ".join(other) or "equal", decisive=False),
            *file_checks(compared, bool(other)),
        ]


def verify_alternative(
    path: Any, dossier: Any, data: Any, champion: Champion | None = None, key: Any = None, trusted: Sequence[str] = ()
) -> list[Check]:
    """Fit a model that was chosen from a dossier again, and compare every file of it, the decision record included.

    That the dossier itself is right is what `verify_search` shows. ``key`` is that of `verify_search`, for the model.
    """
    signed, folder = None if key is None else public_key(key), Path(path)
    model, stored = load(folder, trusted=trusted), dossier_at(dossier)
    if not isinstance(model, TableModel) or model.decision is None or model.decision["run"] != stored.checksum:
        raise InputError(f"{folder} was not chosen from {stored.path}, expected a model of this dossier; give its own.")
    number = model.decision["opened"]
    kept = stored.decisions[number - 1] if number <= len(stored.decisions) else None
    again = replace(alternative_of(stored, model.decision["id"], data, champion), decision=kept)
    with TemporaryDirectory(prefix="fairfront-") as home:
        new = write_folder(Path(home) / "again", lambda place: fill_model(again, place), MODEL)
        free = () if stored.record["versions"] == versions() else (WRITER,)
        compared = differences(folder, new, TOLERANCE if free else 0.0, free)
        return [
            signature_check(folder, signed),
            Check("record", kept is not None, f"decision {number} of the dossier"),
            *file_checks(compared, bool(free)),
        ]


def _searched_again(stored: Mapping[str, Any], data: Any, champion: Champion | None) -> dict[str, Any]:
    try:
        inquiry = Inquiry.from_json(stored["settings"])
        done = len(stored["split_p_values"])
    except (KeyError, TypeError) as error:
        raise ChangedError(
            f"the dossier's settings cannot be used ({error}); they were edited: search again."
        ) from error
    timed = inquiry.max_seconds is not None
    asked = replace(inquiry, n_splits=done, max_seconds=None) if timed else inquiry
    with warnings.catch_warnings(action="ignore", category=FairfrontWarning):
        found = dict(searched(data, asked, champion, progress=False)[0].record)
    if timed:
        found |= {name: stored[name] for name in ("settings", "budget", "stopped")}
    if champion is not None:
        found["incumbent"] = {**found["incumbent"], "file": stored["incumbent"]["file"]}
    return {**found, "versions": versions(), "fairfront": __version__}
