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
from ..frontier.store import load_frontier, write_frontier
from ..measures.disclosure import LIMIT
from ..measures.figures import in_shell, marked_in_shell, reference_words
from ..storage.checksums import check_checksums, checksum_of, found_in, private_key, write_checksums, write_signature
from ..storage.documents import read_json
from ..storage.folders import make_folder, write_file, write_folder
from ..storage.packages import parts_of, read_package, write_package
from ..storage.places import MANIFEST, SEALED, check_new_folder, read_folder
from ..tables.encoder import TableEncoder
from ..validation import check_choice, check_count, check_names, check_path, check_text, refuse
from .card import card_of
from .decision import DECISIONS, Decision, check_kept, decided, read_records, stages, with_earlier
from .inventories import RUN
from .manifest import as_text, check_manifest
from .model import TableModel, read_model
from .options import Option, options_of, shortlist, suggested_id

KIND = "fairfront run"
FRONTIER, ENCODER, TEST, DETAILS = "frontier", "encoder", "test", "details.json"


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
        decision = decided(self, id, rule, reason, by)
        card = card_of(self, id, decision)
        model = replace(self.model(id), card=card, decision=decision.to_json(), manifest=self.manifest)
        return model, decision

    def model(self, id: int) -> TableModel:
        """Return the model with an id, without card or record."""
        front, place = self.frontier, self.frontier.place(id)
        about = {
            "id": id,
            "notions": list(front.facts.notions),
            "compares": list(front.sentences),
            "favourable": front.facts.task.favourable_label,
            "sensitive": dict(self.manifest["sensitive"]),
            "loss": front.facts.loss,
            "operating_point": self._operating_words(place),
        }
        point = front.operating()
        cutoff = None if point is None else float(point.cutoffs[place])
        if not isinstance(front.models, LinearModels):
            model = front.models.build(place)
            return TableModel(self.encoder, None, front.facts.task, about, estimator=model, cutoff=cutoff)
        return TableModel(self.encoder, front.models.take([place]), front.facts.task, about, cutoff=cutoff)

    def _operating_words(self, place: int) -> str:
        """Say how the cut-off of a point came about, and what it is."""
        front, point = self.frontier, self.frontier.operating()
        own = "" if point is None else f" The cut-off of this model is {point.cutoffs[place]:.4g}."
        return operating_words(front.record(), front.facts) + own

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
            check_kept(path, len(self.decisions), key)
        return write_folder(path, lambda folder: self._fill(folder, key), RUN, overwrite=overwrite)

    def _fill(self, folder: Path, key: Any) -> None:
        write_frontier(self.frontier, folder / FRONTIER)
        encoding, arrays = self.encoder.to_content()
        write_package(folder, ENCODER, "fairfront encoder", encoding, arrays)
        write_package(folder, TEST, "fairfront test figures", {"points": self.tested, "stability": self.stability}, {})
        if self.details is not None:
            write_file(folder / DETAILS, self.details.to_json())
        write_file(folder / MANIFEST, as_text(self.manifest))
        self._fill_decisions(folder)
        write_checksums(folder)
        if key is not None:
            write_signature(folder, key)

    def _fill_decisions(self, folder: Path) -> None:
        """Write the records; where they are of files that differ from those written now, the manifest says so."""
        if self.decisions:
            checksum, last = checksum_of(found_in(folder), DECISIONS), self.decisions[-1]["run"]
            if last not in stages(self.manifest, checksum):
                write_file(folder / MANIFEST, as_text(with_earlier(self.manifest, last)), overwrite=True)
        make_folder(folder / DECISIONS)
        for n, decision in enumerate(self.decisions, start=1):
            write_file(folder / DECISIONS / f"{n:04d}.json", as_text(decision))


def read_run(folder: Path, trusted: tuple[str, ...] = ()) -> Run:
    """Read a run that `Run.save` wrote."""
    sums = check_checksums(folder, growing=DECISIONS)
    manifest = check_manifest(read_json(folder / MANIFEST), str(folder / MANIFEST))
    encoding, arrays = read_package(folder, ENCODER, "fairfront encoder")
    tested, _ = read_package(folder, TEST, "fairfront test figures")
    front = load_frontier(folder / FRONTIER, trusted=trusted)
    checksum = checksum_of(sums, DECISIONS)
    with parts_of(folder, "run"):
        return Run(
            frontier=front,
            encoder=TableEncoder.from_content(encoding, arrays),
            manifest=manifest,
            stability=dict(tested["stability"]),
            details=_details(folder / DETAILS),
            path=folder,
            tested=dict(tested["points"]),
            decisions=read_records(folder, sums, stages(manifest, checksum)),
            checksum=checksum,
        )


def _details(file: Path) -> Details | None:
    """Return the explorer's aggregates where there are any."""
    return Details.from_json(read_json(file)) if file.exists() else None


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
    return read_folder(folder, lambda place: _read(place, types))


def _read(folder: Path, types: tuple[str, ...]) -> Any:
    if (folder / "model.json").exists():
        return read_model(folder, types)
    if any((folder / name).exists() for name in SEALED):
        return read_run(folder, types)
    return load_frontier(folder, trusted=types)
