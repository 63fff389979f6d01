"""The search of an inquiry: its rows read, screened and encoded, what was found in them, and its model.

Encoder and screening are learnt on a random four fifths of the rows, as of a run without a validation part; the halves
of a search are drawn from all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, spelled, spelling
from ..frontier.linear_models import LinearModels
from ..frontier.rule_models import RuleModels
from ..improvability import Alternatives, alternatives
from ..objectives import Array
from ..tables import Source, Table, infer, load, open_source, read_groups, read_target
from ..tables.encoder import TableEncoder
from .champion import Champion, known_answers
from .inquiry import Inquiry
from .manifest import versions
from .model import TableModel
from .preparation import Prepared, prepare


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
    person: NDArray[np.intp] | None = None

    def numbers(self, name: str) -> Array:
        """Return a column that was read beside the table, which has a number in every row."""
        assert self.beside is not None
        found = self.beside.complete(name).numbers
        assert found is not None
        return found

    @property
    def encoder(self) -> TableEncoder:
        return self.ready.encoder


def rows_of(source: Source, inquiry: Inquiry, progress: Any = "auto") -> Asked:
    """Read, screen and encode; rows without a label are used where ``labelled_only_if`` says whose are known."""
    flag = None if inquiry.labelled_only_if is None else inquiry.labelled_only_if[0]
    said = {"incumbent_score": inquiry.score, "incumbent_decision": inquiry.decision, "labelled_only_if": flag}
    said["person"] = inquiry.table.person
    several = (("candidates", inquiry.candidates or ()), ("prices", inquiry.priced))
    for what, name in (*said.items(), *((what, each) for what, names in several for each in names)):
        if name is not None:
            source.check_column(name, what)
    table = inquiry.table
    ready = prepare(source, replace(table, drop=tuple(dict.fromkeys((*table.drop, *inquiry.aside)))), progress)
    if not isinstance(ready.rows, Table):
        raise InputError(f"{source.title} is too large to be searched in memory, expected fewer rows; take a sample.")
    beside = None
    if inquiry.aside or inquiry.priced:
        scores = () if inquiry.score is None else (inquiry.score,)
        numbers = tuple(dict.fromkeys((*scores, *(inquiry.candidates or ()), *inquiry.priced)))
        words = [name for name in inquiry.aside if name not in numbers]
        schema = infer(source, columns=[*words, *numbers], text=words, numbers=numbers, decimal=table.decimal)
        beside = load(source, schema)
    if inquiry.labelled_only_if is not None:
        assert beside is not None
        return _partly_labelled(source, inquiry, ready, beside)
    used = np.flatnonzero(ready.place >= 0)
    groups: Any = ready.people.groups
    X, people = ready.encoder.transform(ready.rows), {name: each.take() for name, each in groups.items()}
    known = (ready.people.weight, used, None, ready, beside and beside.take(used), ready.person)
    return Asked(X, ready.people.labels.take(), people, *known)


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
    groups = read_groups(table, settings.groups, settings.allow)
    people = {name: each.take() for name, each in groups.items()}
    weights = None if weight is None else weight[used]
    owner = None if settings.person is None else table.complete(settings.person).distinct()[0]
    return Asked(ready.encoder.transform(table), labels, people, weights, used, marked, ready, beside, owner)


def searched(
    data: Any,
    inquiry: Inquiry,
    champion: Champion | None = None,
    *,
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
    column = inquiry.score or inquiry.decision
    words["incumbent_given"] = spelled("incumbent") if column is None else f"column {column!r}"
    with spelling(words):
        found = alternatives(
            rows.X,
            rows.y,
            sensitive_features=dict(rows.groups),
            incumbent=_incumbent(source, inquiry, rows, champion),
            favourable=rows.ready.people.favourable,
            sample_weight=rows.weight,
            labelled_only_if=rows.labelled,
            person=rows.person,
            costs=_costs(inquiry, rows),
            candidates=None
            if inquiry.candidates is None
            else {name: rows.numbers(name) for name in inquiry.candidates},
            columns=[block.name for block in rows.encoder.blocks for _ in block.feature_names],
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


def _costs(inquiry: Inquiry, rows: Asked) -> dict[str, Any] | None:
    if inquiry.prices is not None:
        return {name: rows.numbers(value) if isinstance(value, str) else value for name, value in inquiry.prices}
    if inquiry.costs is None:
        return None
    return dict(zip(("false_positive", "false_negative"), inquiry.costs, strict=True))


def _incumbent(source: Source, inquiry: Inquiry, rows: Asked, champion: Champion | None) -> Any:
    if champion is not None:
        return known_answers(champion, source, rows.used, inquiry.table)
    if inquiry.score is not None:
        return rows.numbers(inquiry.score)
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


def alternative_model(found: Alternatives, rows: Asked, id: int = 1) -> TableModel | None:
    """Return a model of the table with its preprocessing; None of families that fit nothing of their own."""
    chosen, task = found.outcome.candidates[id - 1], found.outcome.task
    if chosen.models is None:
        return None
    about = {
        "id": id,
        "favourable": task.favourable_label,
        "family": chosen.family,
        "settings": dict(chosen.settings),
        "operating_point": f"Alternative {id} of a search; its cut-off is {chosen.cutoff:.4g}.",
    }
    if not isinstance(chosen.models, (LinearModels, RuleModels)):
        estimator = chosen.models.build(chosen.place)
        return TableModel(rows.encoder, None, task, about, estimator=estimator, cutoff=chosen.cutoff)
    points: Any = chosen.models.take([chosen.place])
    points = replace(points, feature_names=rows.encoder.feature_names)
    return TableModel(rows.encoder, points, task, about, cutoff=chosen.cutoff)
