"""Verification: a run traced again from its rows, and a model made again from the run that it was chosen from.

Loading has checked the checksums of all files. What follows from the rows and the settings is made again here and
compared: floating-point numbers to `TOLERANCE`, everything else exactly.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import __version__
from ..exceptions import ChangedError, FairfrontError, InputError
from ..storage.documents import read_json
from ..storage.places import MANIFEST
from .archive import CARD, NAME, load
from .card import card_of
from .decision import Decision
from .external import EVALUATIONS
from .manifest import versions
from .model import TableModel
from .pipeline import FRAME, run_of
from .run import DETAILS, ENCODER, FRONTIER, TEST, Run
from .settings import Settings

TOLERANCE = 1e-6
"""Largest difference of numbers, relative to the largest of their array; in mixed units and in JSON to themselves."""
ENVIRONMENT = ("versions", "fairfront", "data")
"""Parts of a manifest that another machine and day need not have; the data are compared by their checksum."""


@dataclass(frozen=True)
class Check:
    """One comparison: of what, whether both agree (None where that does not decide), and what was found."""

    what: str
    same: bool | None
    found: str


def agrees(checks: Sequence[Check]) -> bool:
    """Tell whether no comparison found a difference."""
    return all(check.same is not False for check in checks)


def verify_run(run: Run, data: Any, progress: Any = "auto") -> list[Check]:
    """Trace a run again and compare models, figures, preprocessing and the choices of its rules with what is stored.

    Parameters
    ----------
    data : path or data frame
        The rows that the run was traced from.
    progress : bool or "auto"
    """
    again = traced_again(run, data, progress)
    checks = [_data_check(run, again), _versions_check(run)]
    with TemporaryDirectory(prefix="fairfront-") as home:
        stored, new = run.path or run.save(Path(home) / "stored"), again.save(Path(home) / "again")
        for package in (f"{FRONTIER}/frontier", ENCODER, TEST):
            checks.append(_package_check(stored, new, package, mixed_units=package == ENCODER))
        for name, ignored in ((DETAILS, ()), (MANIFEST, ENVIRONMENT)):
            if (stored / name).exists() or (new / name).exists():
                checks.append(_tree_check(name, _read(stored / name), _read(new / name), ignored))
    checks += [_choice_check(again, record) for record in run.decisions]
    return checks + [Check(f"{EVALUATIONS}/{name}", None, "rows of another file, not read") for name in run.external]


def traced_again(run: Run, data: Any, progress: Any) -> Run:
    """Return the run of the same settings on the rows given."""
    try:
        return run_of(data, Settings.from_json(run.manifest["settings"]), progress)
    except FairfrontError:
        raise
    except Exception as error:  # settings that were edited fail anywhere
        raise InputError(
            f"the run cannot be reproduced from {data} ({type(error).__name__}: {error}), expected the settings that "
            "fairfront trace wrote and their file; they were edited, or the file is another one."
        ) from error


def verify_model(path: Any, run: Run, trusted: Sequence[str] = ()) -> list[Check]:
    """Make a model again from the run that it was chosen from and compare coefficients, cut-off, record and card.

    That the run itself is right is what `verify_run` shows. Nothing is fitted.

    Parameters
    ----------
    path : path
        The folder of the model.
    run : Run
        The run that it was chosen from.
    trusted : sequence of str
        Types inside an estimator that may be loaded.
    """
    folder, model = Path(path), load(path, trusted=trusted)
    if not isinstance(model, TableModel):
        raise InputError(f"{folder} holds a {type(model).__name__}, expected a model written by fairfront select.")
    checks = [_record_check(run, model)]
    with TemporaryDirectory(prefix="fairfront-") as home:
        new = run.model(model.about["id"]).save(Path(home) / "model")
        checks.append(_package_check(folder, new, NAME, mixed_units=True))
    if model.decision is not None:
        checks.append(_tree_check(CARD, model.facts, _card_again(run, model.decision), ()))
    return checks


def _data_check(run: Run, again: Run) -> Check:
    if run.manifest["data"] == FRAME:
        return Check("data", None, "a data frame then, without a checksum: what follows from the rows is compared")
    stored, found = (each.manifest["data"].get("sha256") or "none" for each in (run, again))
    return Check("data", stored == found, f"sha256 {found[:12]}, the manifest has {stored[:12]}")


def _versions_check(run: Run) -> Check:
    then = {"fairfront": run.manifest.get("fairfront"), **run.manifest["versions"]}
    now = {"fairfront": __version__, **versions()}
    other = [
        f"{name} {then.get(name)} then, {now.get(name)} now"
        for name in {**now, **then}
        if now.get(name) != then.get(name)
    ]
    return Check("versions", None if other else True, "; ".join(other) or "equal")


def _record_check(run: Run, model: TableModel) -> Check:
    """Compare the decision of a model with the one of its number in the run."""
    if model.decision is None:
        return Check("record", None, "the model has none")
    number = model.decision.get("opened")
    if not isinstance(number, int) or not 0 < number <= len(run.decisions):
        return Check("record", None, f"not one of the {len(run.decisions)} in the run: Run.select in Python adds none")
    same = dict(model.decision) == dict(run.decisions[number - 1])
    return Check("record", same, f"decision {number} of the run" if same else f"not decision {number} of the run")


def _choice_check(again: Run, record: Mapping[str, Any]) -> Check:
    """Apply the rule of a decision to the run that was traced again."""
    what = f"decision {record['opened']}"
    try:
        id = again.choose(**record["rule"])
    except (FairfrontError, TypeError, ValueError, KeyError) as error:
        return Check(what, False, f"its rule cannot be applied: {error}")
    return Check(what, id == record["id"], f"the rule chooses id {id}, the record has id {record['id']}")


def _card_again(run: Run, record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the facts of the card of a decision, from the evaluations that the run had then."""
    try:
        decision = Decision(**record)
        earlier = {name: each for name, each in run.external.items() if each.after < decision.opened}
        state = replace(run, external=earlier, decisions=run.decisions[: decision.opened - 1])
        return card_of(state, decision)
    except InputError:
        raise
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        raise ChangedError(
            f"the decision record cannot be followed ({error}), expected one that was not edited."
        ) from error


def _package_check(stored: Path, new: Path, package: str, *, mixed_units: bool) -> Check:
    contents = [_read(folder / f"{package}.json")["content"] for folder in (stored, new)]
    differences = list(tree_differences(*contents))
    with np.load(stored / f"{package}.npz") as ours, np.load(new / f"{package}.npz") as theirs:
        differences += array_differences(dict(ours), dict(theirs), mixed_units)
    return _check(package, differences)


def _tree_check(name: str, stored: Any, again: Any, ignored: Collection[str]) -> Check:
    ours, theirs = (
        {key: value for key, value in (tree or {}).items() if key not in ignored} for tree in (stored, again)
    )
    return _check(name, list(tree_differences(ours, theirs)))


def _check(what: str, differences: Sequence[str]) -> Check:
    if not differences:
        return Check(what, True, f"equal to {TOLERANCE:g}")
    more = f" and {len(differences) - 1} more" if len(differences) > 1 else ""
    return Check(what, False, f"differs in {differences[0]}{more}")


def _read(file: Path) -> Any:
    return read_json(file) if file.exists() else None


def tree_differences(stored: Any, again: Any, place: str = "") -> Iterator[str]:
    """Yield the places where two JSON trees differ, such as ``split.rows.test``."""
    if isinstance(stored, Mapping) and isinstance(again, Mapping):
        for key in {**stored, **again}:
            inner = f"{place}.{key}" if place else str(key)
            if key in stored and key in again:
                yield from tree_differences(stored[key], again[key], inner)
            else:
                yield inner
    elif isinstance(stored, (list, tuple)) and isinstance(again, (list, tuple)):
        if len(stored) != len(again):
            yield place
        else:
            for i, (ours, theirs) in enumerate(zip(stored, again, strict=True)):
                yield from tree_differences(ours, theirs, f"{place}[{i}]")
    elif isinstance(stored, float) and isinstance(again, float):
        if not math.isclose(stored, again, rel_tol=TOLERANCE, abs_tol=TOLERANCE):
            yield place
    elif type(stored) is not type(again) or stored != again:
        yield place


def array_differences(
    stored: Mapping[str, NDArray[Any]], again: Mapping[str, NDArray[Any]], mixed_units: bool
) -> Iterator[str]:
    """Yield the names of arrays that differ; with mixed units each number is compared relative to itself."""
    for name in {**stored, **again}:
        ours, theirs = stored.get(name), again.get(name)
        if ours is None or theirs is None or ours.shape != theirs.shape or ours.dtype != theirs.dtype:
            yield name
        elif ours.dtype.kind != "f":
            if not np.array_equal(ours, theirs):
                yield name
        else:
            largest = float(np.abs(ours[np.isfinite(ours)]).max(initial=0.0))
            atol = 0.0 if mixed_units else TOLERANCE * largest
            if not np.allclose(ours, theirs, rtol=TOLERANCE, atol=atol, equal_nan=True):
                yield name
