"""Run: a frontier traced from a table, with all that is needed to show it, choose from it and make it again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..explorer import Details, frontier_fragment, write_explorer
from ..frontier import Frontier
from ..frontier.judgement import operating_words
from ..frontier.linear_models import LinearModels
from ..frontier.rule_models import RuleModels
from ..frontier.store import KIND as FRONTIER_KIND
from ..frontier.store import write_frontier
from ..measures.sentences import reference_words
from ..storage.folders import make_folder, write_file, write_folder
from ..storage.packages import write_checksums, write_package
from ..storage.places import MANIFEST, check_new_folder
from ..tables.encoder import TableEncoder
from ..validation import check_choice, check_count, check_text, counted
from .card import card_of, check_about
from .decision import FORMAT, Decision, decided
from .decision_records import DECISIONS, check_kept, write_records
from .external import EVALUATIONS, External, added, check_name, judged_rows, own_frontier, write_external
from .external import KIND as EVALUATION_KIND
from .manifest import SCHEMA, as_text, inventory, known_by, of_format
from .model import TableModel
from .options import Option, options_of, shortlist, suggested_id
from .settings import Settings

FRONTIER, ENCODER, TEST, DETAILS = "frontier", "encoder", "test", "details.json"
KINDS = {ENCODER: "fairfront encoder", TEST: "fairfront test figures"}
RUN = inventory(
    "run",
    {f"{FRONTIER}/frontier": FRONTIER_KIND, **KINDS},
    {
        DETAILS: known_by(Details.from_json),
        f"{DECISIONS}/[0-9]*.json": of_format(FORMAT),
        f"{EVALUATIONS}/*.json": of_format(EVALUATION_KIND),
        f"{EVALUATIONS}/*.npz": lambda data: data.startswith(b"PK"),
    },
    growing=DECISIONS,
)


@dataclass(frozen=True, eq=False, repr=False)
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
    validated, tested : mapping
        Figures of every point on validation and on test, by id; only the card of a chosen model reads those of test.
    decisions : tuple of mappings
        Records of what was chosen from this run; each of them opened the test part once.
    external : mapping
        What is known of evaluations on other files, by name; their rates are in ``frontier.evaluations``.
    path : Path or None
        The folder it was read from or written to.
    checksum : str or None
        One checksum of all its files in that folder but external evaluations and decision records, which name it.
    """

    frontier: Frontier
    encoder: TableEncoder
    manifest: Mapping[str, Any]
    details: Details | None = None
    path: Path | None = None
    validated: Mapping[str, Any] = field(default_factory=dict, repr=False)
    tested: Mapping[str, Any] = field(default_factory=dict, repr=False)
    decisions: tuple[Mapping[str, Any], ...] = ()
    checksum: str | None = None
    external: Mapping[str, External] = field(default_factory=dict)

    def __repr__(self) -> str:
        settings, data = self.manifest.get("settings", {}), self.manifest.get("data", {})
        groups = ", ".join(name for name, _ in self.frontier.facts.sensitive)
        lines = [
            f"{settings.get('target')!r} of {data.get('name')!r}, groups of {groups}",
            repr(self.frontier),
            f"judged on {', '.join(self.frontier.evaluations) or 'nothing yet'}",
            f"{counted(len(self.decisions), 'decision')}; {f'in {self.path}' if self.path else 'not saved'}",
        ]
        return "Run(" + ";\n  ".join(lines) + ")"

    def _repr_html_(self) -> str:
        return frontier_fragment(self.frontier, "Run", "run.select(...) gives a model with its card.")

    @property
    def listed(self) -> tuple[int, ...]:
        """Return the ids that were listed when the run was traced, which records and cards name."""
        return tuple(self.manifest.get("shown", ())) or shortlist(self.frontier)

    @property
    def judged(self) -> Mapping[str, Mapping[str, Any]]:
        """Return what the card says of points on rows that did not train them: figures by part and then by id."""
        every = ({"validation": self.validated} if self.validated else {}) | {"test": self.tested}
        return every | {name: each.points for name, each in self.external.items()}

    def options(self, n: int | None = None) -> list[Option]:
        """Return points as people see them, the plain and the suggested one marked.

        Parameters
        ----------
        n : int, optional
            About how many, which differ in what people see; by default those that were listed when the run was traced.
        """
        return options_of(self.frontier, self.listed if n is None else shortlist(self.frontier, check_count(n, "n")))

    def reference(self, attribute: str) -> str:
        """Name a reference group; where none was given, say so and how to choose another.

        Parameters
        ----------
        attribute : str
            The sensitive column.
        """
        facts, compared = self.frontier.facts, Settings.from_json(self.manifest["settings"]).attributes
        known = dict(facts.sensitive)
        levels = known[check_choice(attribute, "attribute", known)]
        return reference_words(levels, attribute in facts.largest, compared.choosing(attribute, levels[0]))

    def choose(self, **rule: Any) -> int:
        """Return the id that a rule picks on validation.

        Parameters
        ----------
        **rule : as in `Frontier.select`
        """
        return self.frontier.choose(**rule)

    def select(self, *, reason: str = "", by: str = "", about: Any = None, **rule: Any) -> TableModel:
        """Return the chosen model with its card and a record of the decision.

        The record is the model's own: only ``fairfront select`` adds it to the folder of the run too.

        Parameters
        ----------
        reason, by : why, and who chose; both are written in the record
        about : mapping of "owner", "version", "use" (intended use) and "monitoring" (plan) to texts for the card
        **rule : as in `Frontier.select`
        """
        return self.decide(reason=reason, by=by, about=about, **rule)[0]

    def decide(self, *, reason: str = "", by: str = "", about: Any = None, **rule: Any) -> tuple[TableModel, Decision]:
        """Return the chosen model as `select` does, and the record of the decision.

        Parameters
        ----------
        reason, by, about, **rule : as in `select`
        """
        check_text(reason, "reason")
        check_text(by, "by")
        fields, id = check_about(about), self.choose(**rule)
        decision = decided(self, id, rule, reason, by, fields)
        return model_of(self, id, decision), decision

    def evaluate(
        self,
        data: Any,
        *,
        name: str,
        delimiter: str | None = None,
        encoding: str | None = None,
        missing: Sequence[str] = (),
        decimal: str | None = None,
        overwrite: bool = False,
        progress: Any = "auto",
    ) -> Run:
        """Return this run with its points judged on another file: of a later time, or another branch.

        Cut-offs are those of validation, and nothing is chosen on these rows. The target, the columns of groups and
        the weights have to be there; groups and values that training did not have are judged too, with a warning.

        Parameters
        ----------
        data : path or data frame
        name : what the rows are, such as ``"oot"``; rates are in ``frontier.evaluations[name]``
        delimiter, encoding, missing, decimal : how the file differs from the one that the run was traced from
        overwrite : whether to replace an evaluation of that name
        progress : bool or "auto"
        """
        reading: dict[str, Any] = {"delimiter": delimiter, "encoding": encoding, "missing": missing, "decimal": decimal}
        return added(self, *judged_rows(self, data, check_name(self, name, overwrite), reading, progress))

    def model(self, id: int) -> TableModel:
        """Return a model without a decision about it.

        Parameters
        ----------
        id : int
        """
        return model_of(self, id, None)

    def to_html(
        self, path: Any, *, chosen: int | None = None, title: str | None = None, overwrite: bool = False
    ) -> Path:
        """Write the explorer of this run, one page in which a person sees the trade-off and chooses.

        Parameters
        ----------
        path, chosen, title, overwrite
            As in `fairfront.explorer.write_explorer`; the page opens on the suggested point by default.
        """
        where = shlex.quote(str(self.path or "run"))
        return write_explorer(
            self.frontier,
            path,
            chosen=suggested_id(self.frontier) if chosen is None else chosen,
            details=self.details,
            title=title if title is not None else f"{self.manifest['settings']['target']}: the trade-off",
            command=f"fairfront select {where} --id {{id}} -o model",
            python=f"model = ff.load({str(self.path or 'run')!r}).select(id={{id}})",
            overwrite=overwrite,
        )

    def save(self, path: Any, *, overwrite: bool = False) -> Path:
        """Write the run as one folder of arrays and JSON, whole or not at all; small counts in it are exact.

        Parameters
        ----------
        path : a folder that does not exist yet; the one above it does
        overwrite : whether to replace a run that was saved there before; anything else stays
        """
        check_new_folder(path, RUN, overwrite)
        if overwrite:
            check_kept(path, len(self.decisions))
        return write_folder(path, self._fill, RUN, overwrite=overwrite)

    def _fill(self, folder: Path) -> None:
        own = own_frontier(self.frontier, self.external) if self.external else self.frontier
        write_frontier(own, folder / FRONTIER)
        write_package(folder, ENCODER, KINDS[ENCODER], *self.encoder.to_content(), SCHEMA)
        sealed = {"validation": self.validated, "points": self.tested}
        write_package(folder, TEST, KINDS[TEST], sealed, {}, SCHEMA)
        if self.details is not None:
            write_file(folder / DETAILS, self.details.to_json())
        write_file(folder / MANIFEST, as_text(self.manifest))
        make_folder(folder / DECISIONS)
        if self.external:
            write_external(folder, self.frontier, self.external)
        if self.decisions:
            write_records(folder, self.decisions)
        write_checksums(folder)


def model_of(run: Run, id: int, decision: Decision | None) -> TableModel:
    """With card and record where there is a decision."""
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
    cutoff = None if (point := front.operating()) is None else float(point.cutoffs[place])
    about["operating_point"] += "" if cutoff is None else f" The cut-off of this model is {cutoff:.4g}."
    ours = isinstance(front.models, (LinearModels, RuleModels))
    known: dict[str, Any] = {"cutoff": cutoff, "estimator": None if ours else front.models.build(place)}
    if decision is not None:
        known |= {"facts": card_of(run, decision), "decision": decision.to_json(), "manifest": run.manifest}
    points: Any = front.models.take([place]) if ours else None
    return TableModel(run.encoder, points, front.facts.task, about, **known)
