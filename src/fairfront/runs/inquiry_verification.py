"""Verification of a dossier, searched again from its settings and rows, and of a model that was chosen from it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .. import __version__
from ..exceptions import ChangedError, FairfrontWarning, InputError
from ..improvability.dossier import DECISIONS, read_dossier, write_dossier
from ..storage.differences import differences
from ..storage.folders import write_folder
from ..storage.packages import found_in
from ..storage.seals import public_key
from .archive import MODEL, fill_model, load
from .champion import Champion
from .decision_chain import read_records
from .inquiry import Inquiry
from .inquiry_choice import alternative_of, dossier_at
from .inquiry_search import searched
from .manifest import versions
from .model import TableModel
from .verification import TOLERANCE, WRITER, Check, file_checks, first_digits, signature_check

TAKEN_OVER = ("versions", "fairfront")


def verify_search(
    path: Any, data: Any, champion: Champion | None = None, key: Any = None, progress: Any = "auto"
) -> list[Check]:
    """Search again and compare every field of every file with the one stored.

    With the versions of the dossier everything must be equal to the last bit; with others, which are told, numbers may
    differ by a millionth. A search that ran out of time is made again with as many splits as it had.

    Parameters
    ----------
    path : path
        The folder of the dossier.
    data : path
        The file that was searched.
    champion : Champion
        The incumbent, where it was given as a model.
    key : path
        PEM file of the public key that must have signed the dossier.
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

    That the dossier itself is right is what `verify_search` shows.

    Parameters
    ----------
    path : path
        The folder of the model.
    dossier : path
        The dossier that it was chosen from.
    data : path
        The file that was searched.
    champion : Champion
        The incumbent, where it was given as a model.
    key : path
        PEM file of the public key that must have signed the model.
    trusted : sequence of str
        Types inside an estimator that may be loaded.
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
