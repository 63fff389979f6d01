"""An inquiry: a search for alternatives that is asked of a table, as plain values, and the rows that it is asked of.

Encoder and screening are learnt on a random four fifths of the rows, as of a run without a validation part; the halves
of a search are drawn from all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, spelled, spelling
from ..improvability import Alternatives, alternatives
from ..measures.cutoffs import as_costs
from ..objectives import Groups
from ..tables import Source, Table, infer, load, open_source, read_groups, read_target
from ..tables.encoder import TableEncoder
from ..tables.notation import number_of
from ..validation import check_names, check_text
from .champion import Champion, known_answers
from .manifest import versions
from .preparation import Prepared, prepare
from .settings import Settings

SPLIT = "80/20"


@dataclass(frozen=True)
class Inquiry:
    """What is asked: how the table is read (``table``), the incumbent, and what `alternatives` takes besides rows.

    ``score`` and ``decision`` are columns of what the incumbent said; ``labelled_only_if`` is a column and the value of
    it that rows with labels have. One at most of score, decision and a model, which is given beside it.
    """

    table: Settings
    score: str | None = None
    decision: str | None = None
    keep: tuple[tuple[str, float], ...] | None = None
    improve: tuple[str, ...] = ("tpr_gap",)
    nobody_worse: float | None = None
    labelled_only_if: tuple[str, str] | None = None
    families: tuple[str, ...] | None = None
    costs: tuple[float, float] | None = None
    n_splits: int = 20
    max_fits: int | None = None
    max_seconds: float | None = None
    confidence: float = 0.95

    def __post_init__(self) -> None:
        for what, name in (("incumbent_score", self.score), ("incumbent_decision", self.decision)):
            if name is not None and name in (self.table.target, *self.table.compared, self.table.weight):
                raise InputError(
                    f"{spelled(what)} is {name!r}, which is the target, a group column or the weight, expected another."
                )

    @classmethod
    def of(cls, table: Mapping[str, Any], **given: Any) -> Inquiry:
        """Return an inquiry as people write it: ``keep`` as texts name=number, ``labelled_only_if`` as column=value."""
        for name, read in (("keep", _tolerances), ("costs", as_costs), ("labelled_only_if", _flag)):
            if given.get(name) is not None:
                given[name] = read(given[name])
        for name in ("improve", "families"):
            if name in given:
                given[name] = check_names(given[name], name)
        return cls(Settings.of(split=SPLIT, **table), **given)

    @classmethod
    def from_json(cls, found: Any) -> Inquiry:
        strange = sorted(set(found) - {each.name for each in fields(cls)})
        if strange:
            raise InputError(
                f"the dossier has the unknown setting {strange[0]!r}; a newer fairfront wrote it: upgrade."
            )
        known = {name: _tuples(value) for name, value in found.items() if name != "table"}
        return cls(Settings.from_json(found["table"]), **known)

    @property
    def aside(self) -> tuple[str, ...]:
        """Return columns that are read beside the table and are no features."""
        flag = None if self.labelled_only_if is None else self.labelled_only_if[0]
        return tuple(dict.fromkeys(name for name in (self.score, self.decision, flag) if name is not None))

    @property
    def question(self) -> dict[str, Any]:
        """Return what `alternatives` is told besides rows and the incumbent."""
        table, asked = self.table, asdict(self)
        names = ("improve", "nobody_worse", "n_splits", "max_fits", "max_seconds", "confidence")
        costs = None if self.costs is None else dict(zip(("false_positive", "false_negative"), self.costs, strict=True))
        return {name: asked[name] for name in names} | {
            "keep": None if self.keep is None else dict(self.keep),
            "families": None if self.families is None else list(self.families),
            "costs": costs,
            "cutoff": table.cutoff,
            "approval_rate": table.approval_rate,
            "random_state": table.seed,
            "groups": Groups(dict(table.reference) or None, table.cross, table.min_size),
        }


def _tuples(value: Any) -> Any:
    return tuple(_tuples(each) for each in value) if isinstance(value, list) else value


def _tolerances(given: Any) -> tuple[tuple[str, float], ...]:
    found = []
    for text in check_names(given, "keep"):
        name, there, value = text.partition("=")
        number = number_of(value)
        if not (name and there and np.isfinite(number)):
            raise InputError(f"{spelled('keep')} is {text!r}, expected FIGURE=TOLERANCE such as auc=0.005.")
        found.append((name.strip(), float(number)))
    return tuple(found)


def _flag(given: Any) -> tuple[str, str]:
    name, there, value = check_text(given, "labelled_only_if").partition("=")
    if not (name and there and value):
        raise InputError(f"{spelled('labelled_only_if')} is {given!r}, expected COLUMN=VALUE such as approved=1.")
    return name, value


@dataclass(frozen=True, eq=False)
class Asked:
    """The rows of an inquiry: ``used`` are their places in the file, ``labelled`` marks those with a label."""

    X: Any
    y: NDArray[Any]
    groups: Mapping[str, NDArray[Any]]
    weight: Any
    used: NDArray[np.intp]
    labelled: NDArray[np.bool_] | None
    ready: Prepared
    beside: Table | None

    @property
    def encoder(self) -> TableEncoder:
        return self.ready.encoder


def rows_of(source: Source, inquiry: Inquiry, progress: Any = "auto") -> Asked:
    """Read, screen and encode; rows without a label are used where ``labelled_only_if`` says whose are known."""
    flag = None if inquiry.labelled_only_if is None else inquiry.labelled_only_if[0]
    aside = {"incumbent_score": inquiry.score, "incumbent_decision": inquiry.decision, "labelled_only_if": flag}
    for what, name in aside.items():
        if name is not None:
            source.check_column(name, what)
    table = inquiry.table
    ready = prepare(source, replace(table, drop=tuple(dict.fromkeys((*table.drop, *inquiry.aside)))), progress)
    if not isinstance(ready.rows, Table):
        raise InputError(f"{source.title} is too large to be searched in memory, expected fewer rows; take a sample.")
    beside = None
    if inquiry.aside:
        numbers = [] if inquiry.score is None else [inquiry.score]
        words = [name for name in inquiry.aside if name not in numbers]
        schema = infer(source, columns=inquiry.aside, text=words, numbers=numbers, decimal=table.decimal)
        beside = load(source, schema)
    if inquiry.labelled_only_if is not None:
        assert beside is not None
        return _partly_labelled(source, inquiry, ready, beside)
    used = np.flatnonzero(ready.place >= 0)
    groups: Any = ready.groups
    X, people = ready.encoder.transform(ready.rows), {name: each.take() for name, each in groups.items()}
    return Asked(X, ready.labels.take(), people, ready.weight, used, None, ready, beside and beside.take(used))


def _partly_labelled(source: Source, inquiry: Inquiry, ready: Prepared, beside: Table) -> Asked:
    table, settings = load(source, ready.schema), inquiry.table
    weight = None if settings.weight is None else table.complete(settings.weight).numbers
    used = np.arange(table.n) if weight is None else np.flatnonzero(weight)
    table, beside = table.take(used), beside.take(used)
    column, value = inquiry.labelled_only_if or ("", "")
    marked = np.asarray([text == value for text in beside.texts(column)], dtype=bool)
    target = read_target(table, settings.target, settings.favourable)
    there = np.zeros(table.n, dtype=bool)
    there[target.rows] = True
    if (marked & ~there).any():
        raise InputError(
            f"{settings.target!r} is missing in rows with {column}={value}, expected a label of every one of them; "
            f"fill it, or name another column in {spelled('labelled_only_if')}."
        )
    labels = np.full(table.n, target.labels[0], dtype=target.labels.dtype)
    labels[target.rows] = target.labels
    groups = read_groups(table, settings.groups, dict(settings.bands), settings.allow)
    people = {name: each.take() for name, each in groups.items()}
    weights = None if weight is None else weight[used]
    return Asked(ready.encoder.transform(table), labels, people, weights, used, marked, ready, beside)


def searched(
    data: Any,
    inquiry: Inquiry,
    champion: Champion | None = None,
    *,
    checkpoint: Any = None,
    resume: bool = False,
    progress: Any = "auto",
    on_read: Any = None,
) -> tuple[Alternatives, Asked]:
    """Search for alternatives in a table; the record says of which file, by which settings and versions.

    ``on_read`` is told what was read before the search begins.
    """
    source = open_source(data, **inquiry.table.opening)
    rows = rows_of(source, inquiry, progress)
    if on_read is not None:
        on_read(rows.ready)
    words = {"X": source.title, "y": f"target {inquiry.table.target!r}"}
    if inquiry.score or inquiry.decision:
        words["incumbent"] = f"column {inquiry.score or inquiry.decision!r}"
    with spelling(words):
        found = alternatives(
            rows.X,
            rows.y,
            sensitive_features=dict(rows.groups),
            incumbent=_incumbent(source, inquiry, rows, champion),
            favourable=rows.ready.favourable,
            sample_weight=rows.weight,
            labelled_only_if=rows.labelled,
            columns=[block.name for block in rows.encoder.blocks for _ in block.feature_names],
            checkpoint=checkpoint,
            resume=resume,
            progress=progress,
            **inquiry.question,
        )
    sha = source.sha256()
    record = {
        **found.record,
        "data": {"name": "data frame" if sha is None else Path(data).name, "sha256": sha},
        "settings": asdict(inquiry),
        "features": list(rows.encoder.columns),
        "findings": [each.sentence for each in rows.ready.findings],
        "versions": versions(),
    }
    if champion is not None:
        record["incumbent"] = {**record["incumbent"], "file": champion.name, "sha256": champion.sha256}
    return replace(found, record=record), rows


def _incumbent(source: Source, inquiry: Inquiry, rows: Asked, champion: Champion | None) -> Any:
    if champion is not None:
        return known_answers(champion, source, rows.used, inquiry.table)
    if inquiry.score is not None:
        assert rows.beside is not None
        return rows.beside.complete(inquiry.score).numbers
    if inquiry.decision is None:
        return None
    assert rows.beside is not None
    rows.beside.complete(inquiry.decision)
    return read_labels(rows.beside, inquiry.decision, rows.y)


def read_labels(table: Table, name: str, like: NDArray[Any]) -> NDArray[Any]:
    """Return decisions in the type of the labels; those that are no label are refused."""
    known = {str(label): label for label in np.unique(like).tolist()}
    texts = table.texts(name)
    strange = sorted({str(text) for text in texts} - set(known))
    if strange:
        raise InputError(
            f"column {name!r} has {strange[0]!r}, expected decisions with the values of the target: {', '.join(known)}."
        )
    return np.array([known[str(text)] for text in texts], dtype=like.dtype)
