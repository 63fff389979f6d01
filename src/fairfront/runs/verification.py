"""Verification of a run: made again from its manifest and rows, and compared in everything that is stored.

What is made again follows from the rows and the settings: encoder, points, figures, the parts of the manifest that
tracing finds, and of decision records all but who, when and why. Those three are people's words, as are the name of the
file and the versions of the time; they are taken over.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .. import __version__
from ..exceptions import ChangedError, FairfrontError, FairfrontWarning, InputError
from ..storage.differences import Difference, differences
from ..storage.foreign import SUFFIX, untrusted_types
from ..storage.packages import found_in, is_signed, read_checksums
from ..storage.places import CHECKSUMS, MANIFEST
from ..storage.seals import is_signature_of, public_key
from ..tables.source import fingerprint
from .archive import read_run
from .decision import Decision, candidates, decided, promises_of
from .decision_chain import pruned, stages, with_earlier
from .external import EVALUATIONS, added
from .manifest import versions
from .pipeline import FRAME, run_of, with_exact_counts
from .run import ENCODER, Run
from .settings import Settings

WRITER = "*:fairfront"
FREE = (WRITER, f"{MANIFEST}:earlier", "*:run", "*:previous")
"""What another version may write otherwise: its own number, and checksums of its files, which loading has checked."""
TAKEN_OVER = ("versions", "fairfront")
"""Parts of a manifest that say where and when, which another machine and day need not have."""
MIXED = (f"{ENCODER}.npz",)
"""Means and scales of columns, each in a unit of its own."""


def verify_run(
    run: Run, data: Any, progress: Any = "auto", key: Any = None, evaluated: Sequence[Any] = ()
) -> list[Check]:
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
    evaluated : sequence of paths
        Files of external evaluations, known by their sha256; evaluations whose file is not given are not made again.
    """
    files = evaluated_files(run, evaluated)
    signed = None if key is None else public_key(key)
    again = traced_again(run, data, progress)
    then = {"fairfront": run.manifest.get("fairfront"), **run.manifest["versions"]}
    now = {"fairfront": __version__, **versions()}
    names = [name for name in {**now, **then} if now.get(name) != then.get(name)]
    other = [f"{name} {then.get(name)} then, {now.get(name)} now" for name in names]
    if run.manifest["data"] == FRAME:
        found = "a data frame then, without a fingerprint: what follows from the rows is compared"
        rows = Check("data", None, found, decisive=False)
    else:
        sha, known = (each.manifest["data"].get("sha256") for each in (again, run))
        found = f"sha256 {first_digits(sha)}, the manifest has {first_digits(known)}"
        rows = Check("data", sha == known, found)
    with TemporaryDirectory(prefix="fairfront-") as home:
        stored = run.path or run.save(Path(home) / "stored")
        new = _write_replica(run, again, data, Path(home), files)
        compared = differences(stored, new, TOLERANCE if other else 0.0, FREE if other else (), MIXED)
        taken_over = [name for name, each in run.external.items() if each.sha256 not in files]
        gone = {f"{EVALUATIONS}/{name}{suffix}" for name in taken_over for suffix in (".json", ".npz")}
        compared = {name: found for name, found in compared.items() if name not in gone}
        return [
            signature_check(stored, signed),
            rows,
            Check("versions", not other, "; ".join(other) or "equal", decisive=False),
            *file_checks(compared, bool(other)),
            *(_not_again(run, name) for name in taken_over),
        ]


def traced_again(run: Run, data: Any, progress: Any) -> Run:
    """Under the name and the versions that the manifest has."""
    known = run.manifest
    try:
        again = run_of(data, Settings.from_json(known["settings"]), progress)
    except FairfrontError:
        raise
    except Exception as error:  # settings that were edited fail anywhere
        raise InputError(
            f"the run cannot be reproduced from {data} ({type(error).__name__}: {error}), expected the settings that "
            "fairfront trace wrote and their file; they were edited, or the file is another one."
        ) from error
    taken = {name: known[name] for name in TAKEN_OVER if name in known}
    origin = FRAME if known["data"] == FRAME else {**again.manifest["data"], "name": known["data"].get("name")}
    return replace(again, manifest={**again.manifest, **taken, "data": origin})


def evaluated_files(run: Run, evaluated: Sequence[Any]) -> dict[str | None, Path]:
    """Return files of external evaluations by their sha256, refusing those of none."""
    files: dict[str | None, Path] = {fingerprint(each): Path(each) for each in evaluated}
    for sha, file in files.items():
        if sha not in {each.sha256 for each in run.external.values()}:
            known = ", ".join(f"{name} ({each.file})" for name, each in run.external.items()) or "none"
            raise InputError(
                f"{file} is not the file of an external evaluation of the run (by its sha256), expected that of one of "
                f"these: {known}."
            )
    return files


def _not_again(run: Run, name: str) -> Check:
    file = run.external[name].file
    found = f"not reproduced: needs its file ({file}); give --evaluated FILE"
    if run.external[name].sha256 is None:
        found = "not reproduced: judged on a data frame"
    return Check(f"{EVALUATIONS}/{name}", None, found, decisive=False)


def with_external(run: Run, state: Run, names: Iterable[str], states: Sequence[Run], files: Mapping[Any, Path]) -> Run:
    """Add external evaluations of a run: judged again by the state they were of where files are given, or as stored."""
    known = stages(run.manifest, str(run.checksum))
    for name in names:
        each = run.external[name]
        record, about = run.frontier.evaluations[name], each
        if each.sha256 in files:
            later = run.decisions[each.after :]
            then = states[known.index(later[0]["run"]) if later else -1]
            with warnings.catch_warnings(action="ignore", category=FairfrontWarning):
                found = then.evaluate(files[each.sha256], name=name, progress=False, **each.reading)
                found = pruned(found, state.frontier.ids.tolist())
            record = found.frontier.evaluations[name]
            about = replace(found.external[name], file=each.file, at=each.at, after=each.after)
        state = added(state, record, about)
    return state


def _write_replica(run: Run, again: Run, data: Any, home: Path, files: Mapping[Any, Path]) -> Path:
    """With the stages, the records and the external evaluations that the stored run has."""
    states = states_of(run, again, home)
    known = stages(run.manifest, str(run.checksum))
    records: tuple[Mapping[str, Any], ...] = ()
    for record in run.decisions:
        state = replace(states[known.index(record["run"])], decisions=records)
        records = (*records, decided_again(state, record, data)[1].to_json())
    if not records and not run.external:
        return home / str(len(states) - 1)
    last = with_external(run, states[-1], run.external, states, files)
    return replace(last, decisions=records).save(home / "added")


def states_of(run: Run, again: Run, home: Path) -> list[Run]:
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
    told = None if record["small"] else state
    found = decided(judged, id, record["rule"], record["reason"], record["by"], record["about"], told)
    promised = promises_of(state, id, found.rule)
    return judged, replace(found, at=record["at"], candidates=candidates(state, id), promises=promised)


TOLERANCE = 1e-6
SIGNED = "signature"


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


def agrees(checks: list[Check]) -> bool:
    return all(check.same for check in checks if check.decisive)


def first_digits(digest: str | None) -> str:
    return "none" if digest is None else digest[:12]


def signature_check(folder: Path, key: Any) -> Check:
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


def file_checks(found: Mapping[str, list[Difference]], rounded: bool) -> list[Check]:
    equal = f"equal up to {TOLERANCE:g}" if rounded else "equal to the last bit"
    checks = []
    for name, said in found.items():
        words = f"{len(said)} {'field differs' if len(said) == 1 else 'fields differ'}" if said else equal
        checks.append(Check(name, not said, words, differences=tuple(said)))
    return checks
