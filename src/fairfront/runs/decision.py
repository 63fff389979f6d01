"""Decision records: who chose which point, among what, by which rule and why; and their chain.

Each names the checksum of the one before it and that of the run. A record that was edited, left out or moved breaks
the chain. That the last one was deleted cannot be seen in the chain itself; the list of checksums misses it, unless
that was written again too, which only a signature prevents.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..exceptions import ChangedError, InputError
from ..frontier.choice import choice_of
from ..frontier.frontier_columns import subset
from ..frontier.selection import GAPS, Rule
from ..measures.disclosure import LIMIT
from ..measures.figures import Column, larger_is_better
from ..records import Record
from ..storage.documents import read_json
from ..storage.folders import write_file, write_numbered
from ..storage.packages import SIGNATURE, check_checksums, checksum_of, digest, found_in, is_signed
from ..storage.places import MANIFEST
from .external import EVALUATIONS, own_frontier, read_external
from .manifest import as_text, now, seal
from .options import indistinct_words, mark_words, options_of

if TYPE_CHECKING:
    from .run import Run

DECISIONS = "decisions"
"""Folder of a run in which decisions are kept."""
ADDED = (DECISIONS, EVALUATIONS)
"""What is added to a run after it was traced, and is not in its checksum."""
FORMAT, SCHEMA = "fairfront decision", 4
BROKEN = "it was edited, deleted or added by something else than fairfront select: copy the run again."


@dataclass(frozen=True, repr=False)
class Decision(Record):
    """One choice, as it is written beside the model.

    ``candidates`` are the options that the commands listed, with their figures on validation, and the chosen point
    where it was not one of them (``shown`` is then False); ``opened`` counts how many times the test part has been
    looked at in this run, this time included. ``run`` is the checksum of the run's other files and ``previous`` that of
    the record before this one (None for the first, and for a run that was not saved); ``small`` is 0 where the rule
    read exact counts. ``operating`` is the rule and the cut-off of the model, None at 0.5; ``notes`` say what else has
    to be known to read the figures and what speaks against the choice, ``footnotes`` what marks mean; ``about`` are the
    fields of the card that people fill.
    """

    id: int
    rule: Mapping[str, Any]
    reason: str
    by: str
    at: str
    opened: int
    points: int
    candidates: tuple[Mapping[str, Any], ...]
    data: str | None
    run: str | None = None
    previous: str | None = None
    small: int = LIMIT
    operating: Mapping[str, Any] | None = None
    notes: tuple[str, ...] = ()
    footnotes: tuple[str, ...] = ()
    about: Mapping[str, str] = field(default_factory=dict)
    promises: tuple[Mapping[str, Any], ...] = ()
    format: str = FORMAT
    schema: int = SCHEMA

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def rule_words(self) -> str:
        rule, sure = self.rule, self.rule.get("confidence", 0.95)
        if "id" in rule:
            return "selected by id"
        if rule.get("knee"):
            return "the knee of the training frontier"
        if "preference" in rule:
            return f"nearest to the preference {list(rule['preference'])}"
        conditions = [
            f"{name} {words} {value:g} ({_end(name, sure)})"
            for words, key in (("at most", "at_most"), ("at least", "at_least"))
            for name, value in (rule.get(key) or {}).items()
        ]
        for name, value in (rule.get("within") or {}).items():
            conditions.append(f"{name} within {value:g} of the {'highest' if larger_is_better(name) else 'lowest'}")
        for word, key in (("smallest", "least"), ("largest", "most")):
            if rule.get(key):
                return ", ".join([f"the {word} {rule[key]} ({_end(rule[key], sure)})", *conditions])
        best = f"the lowest {next((n for n in ('error', 'mse') if n in self.candidates[0]), 'training loss')}"
        return f"{best} with {', '.join(conditions)}" if conditions else best


def _end(name: str, confidence: float | None) -> str:
    """Say which bound of an interval a rule used; losses, AUC and gaps of predicted values have none."""
    if Column.of(name).kind not in {*GAPS, "error", "selection_ratio"}:
        return "as observed"
    if confidence is None:
        return "as observed" if Column.of(name).kind == "error" else "expected"
    return f"{confidence:.0%} {'lower' if larger_is_better(name) else 'upper'} bound"


def candidates(run: Run, id: int) -> tuple[dict[str, Any], ...]:
    """With their figures on validation."""
    listed = run.listed
    options = options_of(run.frontier, dict.fromkeys((*listed, id)))
    return tuple(each.to_json(shown=each.id in listed) for each in options)


def decided(
    run: Run, id: int, rule: Mapping[str, Any], reason: str, by: str, about: Mapping[str, str], published: Run | None
) -> Decision:
    front, point = run.frontier, run.frontier.operating()
    options = options_of(front, dict.fromkeys((*run.listed, id)))
    own = [option for option in options if option.id == id]
    unsure = [said for gap in _gaps_of(rule) if (said := indistinct_words(front, gap, rule.get("confidence", 0.95)))]
    unsure += [] if published is None else _other_choice(published, id, rule)
    given = {name: value for name, value in rule.items() if value is not None or name == "confidence"}
    operating = None
    if point is not None:
        cutoff = float(point.cutoffs[front.place(id)])
        operating = {"rule": point.rule.words, "cutoff": cutoff, "placed_on": point.placed_on}
    return Decision(
        id=id,
        rule=json.loads(json.dumps(given, default=lambda value: value.tolist())),  # arrays become lists
        reason=reason,
        by=by,
        at=now(),
        opened=1 + len(run.decisions),
        points=len(front),
        candidates=candidates(run, id),
        data=run.manifest["data"].get("sha256"),
        run=run.checksum,
        previous=digest(as_text(run.decisions[-1])) if run.decisions else None,
        small=0 if run.exact else LIMIT,
        operating=operating,
        about=dict(about),
        promises=_promises(run, id, rule),
        footnotes=(*mark_words(front, options), *unsure),
        notes=(
            *front.sentences[len(front.facts.notions) :],
            *(f"id {id} is marked as {said}" for said in mark_words(front, own)),
            *unsure,
        ),
    )


def _promises(run: Run, id: int, rule: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
    """Return what is said of the choice, with the noise of the run's test part."""
    found = choice_of(run.frontier, Rule.of(rule), run.frontier.place(id))
    rows = run.manifest["split"]["rows"].get("test")
    told = () if found is None else tuple(found.to_json(rows))
    return tuple({name: _plain(value) for name, value in each.items()} for each in told)


def _plain(value: Any) -> Any:
    """JSON has no word for numbers that are not defined."""
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _gaps_of(rule: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the gaps that a rule is about."""
    return tuple(filter(None, (rule.get("least"), *(rule.get("at_most") or {}))))


def _other_choice(published: Run, id: int, rule: Mapping[str, Any]) -> list[str]:
    """Say that a rule took another model by exact counts than it does by the rounded ones of the run."""
    if "confidence" not in rule:  # not a rule on columns
        return []
    try:
        other = f"takes id {published.choose(**rule)}"
    except InputError:
        other = "finds no model"
    told = f"By exact counts the rule takes id {id}; by the rounded counts of the run, which others see, it {other}."
    return [] if other == f"takes id {id}" else [told]


def stages(manifest: Mapping[str, Any], checksum: str) -> list[str]:
    """Return the checksums that a run has had, oldest first: records name the one that they were made at."""
    earlier, kept = manifest.get("earlier", []), manifest.get("kept_ids", "all")
    if not isinstance(earlier, list) or not all(_is_stage(each) for each in earlier) or not _are_points(kept):
        raise ChangedError(f"the manifest says {earlier} and {kept} of points that were removed; {BROKEN}")
    return [*(each["checksum"] for each in earlier), checksum]


def _is_stage(found: Any) -> bool:
    return isinstance(found, dict) and set(found) == {"checksum", "kept"} and _are_points(found["kept"])


def _are_points(found: Any) -> bool:
    return found == "all" or (isinstance(found, list) and all(type(each) is int for each in found))


def with_earlier(manifest: Mapping[str, Any], checksum: str | None) -> dict[str, Any]:
    """Return a manifest that keeps a run's checksum, and which points it had, before its files are written anew."""
    before = {"checksum": checksum, "kept": manifest.get("kept_ids", "all")}
    return {**manifest, "earlier": [*manifest.get("earlier", ()), before]}


def pruned(run: Run, ids: Sequence[int]) -> Run:
    """The manifest names the points that are left, and the run's checksum before."""
    kept = sorted(set(ids))
    names, stability = {str(id) for id in kept}, dict(run.stability)
    if "points" in stability:
        stability["points"] = {id: values for id, values in stability["points"].items() if id in names}
    return replace(
        run,
        frontier=subset(run.frontier, kept),
        manifest={**with_earlier(run.manifest, run.checksum), "keep": "chosen", "kept_ids": kept, "shown": kept},
        validated={id: found for id, found in run.validated.items() if id in names},
        tested={id: found for id, found in run.tested.items() if id in names},
        external={name: each.taken(kept) for name, each in run.external.items()},
        stability=stability,
        details=None,  # they compare points that are gone
    )


def read_records(folder: Path, sums: Mapping[str, str], known: Sequence[str]) -> tuple[Mapping[str, Any], ...]:
    """Return the records of a run whose files have these checksums, or say where their chain breaks.

    ``known`` are the checksums that the run has had, oldest first.
    """
    names = [name for name in sums if name.startswith(f"{DECISIONS}/")]
    found: list[Mapping[str, Any]] = []
    previous, stage = None, 0
    for number, name in enumerate(sorted(names, key=lambda each: (len(each), each)), start=1):
        expected, where = f"{DECISIONS}/{number:04d}.json", folder / name
        if name != expected:
            raise ChangedError(
                f"{folder / expected} is missing, expected records numbered from 1 without a gap; {BROKEN}"
            )
        record = read_json(where)
        if not isinstance(record, dict) or record.get("format") != FORMAT:
            raise ChangedError(f"{where} is not a decision record, expected one written by fairfront select; {BROKEN}")
        if record.get("schema") != SCHEMA:
            raise InputError(f"{where} has schema {record.get('schema')!r}, expected {SCHEMA}; trace and select again.")
        if set(record) != set(Decision.__dataclass_fields__) or record["opened"] != number:
            raise ChangedError(f"{where} does not have the fields of record {number}; {BROKEN}")
        if where.read_bytes() != as_text(record).encode():
            raise ChangedError(f"{where} is not formatted as fairfront writes it; {BROKEN}")
        if record["previous"] != previous:
            raise ChangedError(f"{where} does not follow the record before it (its checksum differs); {BROKEN}")
        if record["run"] not in known[stage:]:
            raise ChangedError(
                f"{where} is a record of other files than this run has (their checksum differs); {BROKEN}"
            )
        previous, stage = sums[name], known.index(record["run"], stage)
        found.append(record)
    return tuple(found)


def write_records(folder: Path, manifest: Mapping[str, Any], records: Sequence[Mapping[str, Any]]) -> None:
    """Write the records of a run beside its other files; where they are of other files, the manifest says so."""
    checksum, last = checksum_of(found_in(folder), ADDED), records[-1]["run"]
    if last not in stages(manifest, checksum):
        write_file(folder / MANIFEST, as_text(with_earlier(manifest, last)), overwrite=True)
    for n, record in enumerate(records, start=1):
        write_file(folder / DECISIONS / f"{n:04d}.json", as_text(record))


def check_recordable(run: Run, key: Any = None) -> None:
    """Refuse a run to which nothing can be added, before its test part is opened or other rows are judged."""
    if run.path is None:
        raise InputError("the run has no folder yet, expected one that was saved; call run.save(path) first.")
    place = run.path / DECISIONS
    if not os.access(place if place.exists() else run.path, os.W_OK):
        raise InputError(f"{run.path} is read-only, expected a run to which can be added; copy it and work there.")
    if key is None and is_signed(run.path):
        raise InputError(
            f"{run.path} is signed, and what is added without a signature would break it, expected the key too; give "
            f"--sign KEY, or work in a copy of it without {SIGNATURE}."
        )


def check_kept(path: Any, records: int, key: Any) -> None:
    """Refuse to replace a run whose records the new one lacks, or a signed one without a key."""
    there = len(list((Path(path) / DECISIONS).glob("*.json")))
    if there > records:
        raise InputError(
            f"{path} holds {there} decision record(s), which replacing it would lose, expected none or all of them; "
            "move it away, or choose another name."
        )
    if key is None and is_signed(Path(path)):
        raise InputError(f"{path} is signed, expected a key to sign what replaces it; give one, or move it away.")


def current(run: Run) -> Run:
    """Return a run with what was added to its folder since it was read, refusing one that another run replaced."""
    assert run.path is not None
    sums = check_checksums(run.path, growing=DECISIONS)
    if checksum_of(sums, ADDED) != run.checksum:
        raise InputError(f"{run.path} was rewritten while it was being read, expected the run as it was; start again.")
    front, external = read_external(run.path, own_frontier(run.frontier, run.external))
    known = read_records(run.path, sums, stages(run.manifest, str(run.checksum)))
    return replace(run, frontier=front, external=external, decisions=known)


def add_record(run: Run, decision: Decision, key: Any = None) -> None:
    """Write the next record of a run, list it, and sign the list.

    A kill before the list is written leaves a record that continues the chain, and the next one lists it.
    """
    assert run.path is not None
    place = write_numbered(run.path / DECISIONS, as_text(decision.to_json()))
    if int(place.stem) != decision.opened:  # only where the system keeps no locks
        place.unlink()
        raise InputError(f"another model was chosen from {run.path} at this moment; select again.")
    seal(run.path, key)
