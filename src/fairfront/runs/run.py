"""Run: a frontier traced from a table, with all that is needed to show it, choose from it and make it again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..exceptions import InputError
from ..explorer import Details, write_explorer
from ..frontier import Frontier
from ..frontier.cutoffs import operating_words
from ..frontier.models import LinearModels
from ..frontier.selection import subset
from ..frontier.store import KIND as FRONTIER_KIND
from ..frontier.store import load_frontier, write_frontier
from ..measures.disclosure import LIMIT
from ..measures.figures import in_shell, marked_in_shell, reference_words
from ..storage.checksums import check_checksums, checksum_of, private_key, write_checksums, write_signature
from ..storage.documents import read_json
from ..storage.folders import make_folder, turn, write_file, write_folder
from ..storage.packages import parts_of, read_package, write_package
from ..storage.places import MANIFEST, SEALED, check_new_folder, read_folder
from ..tables.encoder import TableEncoder
from ..validation import check_choice, check_count, check_names, check_path, check_text, refuse
from . import decision as records
from .card import card_of
from .decision import DECISIONS, Decision, stages, with_earlier
from .manifest import SCHEMA, as_text, check_manifest, inventory, known_by, of_format
from .model import MODEL, TableModel, read_model
from .options import Option, options_of, plain_id, shortlist, suggested_id

FRONTIER, ENCODER, TEST, DETAILS = "frontier", "encoder", "test", "details.json"
KINDS = {ENCODER: "fairfront encoder", TEST: "fairfront test figures"}
RUN = inventory(
    "run",
    {f"{FRONTIER}/frontier": FRONTIER_KIND, **KINDS},
    {DETAILS: known_by(Details.from_json), f"{DECISIONS}/[0-9]*.json": of_format(records.FORMAT)},
    growing=DECISIONS,
)


@dataclass(frozen=True, eq=False)
class Run:
    """What `trace_table` found; made by it or read by `load`.

    Attributes
    ----------
    frontier : Frontier
        The traced points with their rates on validation.
    encoder : TableEncoder
        Preprocessing, learnt on train.
    manifest : mapping
        Data fingerprint, schema, split, settings and versions.
    details : Details or None
        Aggregates of validation rows that the explorer shows: who gains, who loses, how surely.
    path : Path or None
        The folder it was read from or written to.
    checksum : str or None
        One checksum of all its files in that folder but the decision records, which name it.
    """

    frontier: Frontier
    encoder: TableEncoder
    manifest: Mapping[str, Any]
    stability: Mapping[str, Any] = field(default_factory=dict)
    details: Details | None = None
    path: Path | None = None
    tested: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Figures on test of every point; only the card of a chosen model reads them."""
    decisions: tuple[Mapping[str, Any], ...] = ()
    """Records of what was chosen from this run; each of them opened the test part once."""
    checksum: str | None = None

    @property
    def shown(self) -> tuple[int, ...]:
        """Return the ids of the options that were listed when the run was traced, and are whenever it is shown.

        They were picked by rounded counts; a run with exact ones lists options that are picked by those.
        """
        return (() if self.exact else tuple(self.manifest.get("shown", ()))) or shortlist(self.frontier)

    def options(self, n: int | None = None) -> list[Option]:
        """Return the points that `shown` lists, or about n that differ in what people see; plain, suggested marked."""
        return options_of(self.frontier, self.shown if n is None else shortlist(self.frontier, check_count(n, "n")))

    def reference(self, attribute: str) -> str:
        """Name the reference group of an attribute; where none was given, say so and how to choose another."""
        facts, settings = self.frontier.facts, self.manifest["settings"]
        known = dict(facts.sensitive)
        levels = known[check_choice(attribute, "attribute", known)]
        another = in_shell(attribute, levels[0]) if attribute in settings["groups"] else ""
        if settings.get("group_probabilities"):
            another = marked_in_shell(attribute, levels[0])
        return reference_words(levels, attribute in facts.largest, another)

    def choose(self, **rule: Any) -> int:
        """Return the id that a rule picks on validation; rules as in `Frontier.select`."""
        return self.frontier.choose(**rule)

    def select(self, *, reason: str = "", by: str = "", **rule: Any) -> TableModel:
        """Return the chosen model with its card and a record of the decision; rules as in `Frontier.select`.

        The record is the model's own: only ``fairfront select`` adds it to the folder of the run too.
        """
        return self.decide(reason=reason, by=by, **rule)[0]

    def decide(self, *, reason: str = "", by: str = "", **rule: Any) -> tuple[TableModel, Decision]:
        """Return the chosen model as `select` does, and the record of the decision."""
        check_text(reason, "reason")
        check_text(by, "by")
        id = self.choose(**rule)
        decision = records.decided(self, id, rule, reason, by)
        return model_of(self, id, decision), decision

    def model(self, id: int) -> TableModel:
        """Return the model with an id, without a decision about it."""
        return model_of(self, id, None)

    def to_html(
        self, path: Any, *, chosen: int | None = None, title: str | None = None, overwrite: bool = False
    ) -> Path:
        """Write the explorer of this run, one page in which a person sees the trade-off and chooses."""
        where = shlex.quote(str(self.path or "run"))
        return write_explorer(
            self.frontier,
            path,
            chosen=suggested_id(self.frontier) if chosen is None else chosen,
            details=self.details,
            title=title if title is not None else f"{self.manifest['settings']['target']}: the trade-off",
            command=f"fairfront select {where} --id {{id}} -o model",
            python=f"model = ff.load({str(self.path or 'run')!r}).select(id={{id}})",
            small=0 if self.exact else LIMIT,
            overwrite=overwrite,
        )

    @property
    def exact(self) -> bool:
        """Tell whether counts are exact, small ones too; such a run is for use in memory and is not written."""
        return self.details is not None and self.details.small == 0

    def save(self, path: Any, *, overwrite: bool = False, sign: Any = None) -> Path:
        """Write the run as one folder of arrays and JSON, whole or not at all; ``sign`` is the PEM file of a key."""
        return self.write(path, overwrite=overwrite, key=None if sign is None else private_key(sign))

    def write(self, path: Any, *, overwrite: bool = False, key: Any = None) -> Path:
        """Write the run as `save` does, signed with a key that was read already."""
        if self.exact:
            raise InputError("this run has exact counts, which are not written; save the run that they were added to.")
        check_new_folder(path, RUN, overwrite)
        if overwrite:
            records.check_kept(path, len(self.decisions), key)
        return write_folder(path, lambda folder: self._fill(folder, key), RUN, overwrite=overwrite)

    def _fill(self, folder: Path, key: Any) -> None:
        write_frontier(self.frontier, folder / FRONTIER)
        encoding, arrays = self.encoder.to_content()
        write_package(folder, ENCODER, KINDS[ENCODER], encoding, arrays, SCHEMA)
        sealed = {"points": self.tested, "stability": self.stability}
        write_package(folder, TEST, KINDS[TEST], sealed, {}, SCHEMA)
        if self.details is not None:
            write_file(folder / DETAILS, self.details.to_json())
        write_file(folder / MANIFEST, as_text(self.manifest))
        records.write_records(folder, self.manifest, self.decisions)
        write_checksums(folder)
        if key is not None:
            write_signature(folder, key)


def read_run(folder: Path, trusted: tuple[str, ...] = ()) -> Run:
    """Read a run that `Run.save` wrote."""
    sums = check_checksums(folder, growing=DECISIONS)
    manifest = check_manifest(read_json(folder / MANIFEST), str(folder / MANIFEST))
    encoding, arrays = read_package(folder, ENCODER, KINDS[ENCODER], SCHEMA)
    tested, _ = read_package(folder, TEST, KINDS[TEST], SCHEMA)
    front = load_frontier(folder / FRONTIER, trusted=trusted)
    checksum, details = checksum_of(sums, DECISIONS), folder / DETAILS
    with parts_of(folder, "run"):
        return Run(
            frontier=front,
            encoder=TableEncoder.from_content(encoding, arrays),
            manifest=manifest,
            stability=dict(tested["stability"]),
            details=Details.from_json(read_json(details)) if details.exists() else None,
            path=folder,
            tested=dict(tested["points"]),
            decisions=records.read_records(folder, sums, stages(manifest, checksum)),
            checksum=checksum,
        )


def load(path: Any, *, trusted: Sequence[str] = ()) -> Any:
    """Read a `Frontier`, a `Run` or a `TableModel` from the folder it was saved to.

    Parameters
    ----------
    path : path
        A folder written by ``Frontier.save``, ``Run.save``, ``TableModel.save`` or the command line.
    trusted : sequence of str
        Types inside estimators that a user brought which may be loaded, after reading the list that the error shows.
        Models of fairfront itself are arrays and JSON: loading them executes nothing.
    """
    folder, expected = check_path(path), "a list of the names of types, such as those that an error has listed"
    if isinstance(trusted, str):
        raise refuse("trusted", trusted, expected)
    types = check_names(trusted, "trusted", expected)

    def read(place: Path) -> Any:
        if (place / "model.json").exists():
            return read_model(place, types)
        if any((place / name).exists() for name in SEALED):
            return read_run(place, types)
        return load_frontier(place, trusted=types)

    return read_folder(folder, read)


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
    never opened without a record. Of two choices at once, the second waits and counts the first. The rule reads the
    exact counts of ``judged`` where it is given. With ``keep="chosen"`` only points that a record names, and the plain
    model, stay in the run: some houses must not store models that nobody chose.
    """
    records.check_recordable(stored, key)
    assert stored.path is not None
    make_folder(stored.path / DECISIONS)  # copies may lack a folder that was empty
    with turn(stored.path / DECISIONS):
        now = records.records_now(stored)
        stored = replace(stored, decisions=now)
        model, decision = replace(judged or stored, decisions=now).decide(reason=reason, by=by, **rule)
        record = replace(decision, candidates=records.candidates(stored, decision.id))

        def fill(folder: Path) -> None:
            model.fill(folder, onnx=onnx, key=key)
            records.add_record(stored, record, key)

        write_folder(output, fill, MODEL, overwrite=overwrite)
        if keep == "chosen":
            stored = replace(stored, decisions=(*now, record.to_json()))
            chosen = [each["id"] for each in stored.decisions]
            smaller = pruned(stored, (*chosen, plain_id(stored.frontier)))
            smaller.write(stored.path, overwrite=True, key=key)
    return model, decision


def pruned(run: Run, ids: Sequence[int]) -> Run:
    """Return a run of some of its points, whose manifest names them and the run's checksum before."""
    kept = sorted(set(ids))
    names, stability = {str(id) for id in kept}, dict(run.stability)
    if "points" in stability:
        stability["points"] = {id: values for id, values in stability["points"].items() if id in names}
    return replace(
        run,
        frontier=subset(run.frontier, kept),
        manifest={**with_earlier(run.manifest, run.checksum), "keep": "chosen", "kept_ids": kept, "shown": kept},
        tested={id: found for id, found in run.tested.items() if id in names},
        stability=stability,
        details=None,  # they compare points that are gone
    )


def model_of(run: Run, id: int, decision: Decision | None) -> TableModel:
    """Return the model of a run with an id; with card and record where there is a decision."""
    front, place = run.frontier, run.frontier.place(id)
    about = {
        "id": id,
        "notions": list(front.facts.notions),
        "compares": list(front.sentences),
        "favourable": front.facts.task.favourable_label,
        "sensitive": dict(run.manifest["sensitive"]),
        "loss": front.facts.loss,
        "operating_point": operating_words(front.record(), front.facts),
    }
    point = front.operating()
    cutoff = None if point is None else float(point.cutoffs[place])
    if cutoff is not None:
        about["operating_point"] += f" The cut-off of this model is {cutoff:.4g}."
    known: dict[str, Any] = {"cutoff": cutoff}
    if decision is not None:
        known |= {"card": card_of(run, id, decision), "decision": decision.to_json(), "manifest": run.manifest}
    if isinstance(front.models, LinearModels):
        return TableModel(run.encoder, front.models.take([place]), front.facts.task, about, **known)
    return TableModel(run.encoder, None, front.facts.task, about, estimator=front.models.build(place), **known)
