"""Details: what held-out rows say of some points of a frontier, aggregates that may be kept and shown."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from ..exceptions import InputError
from ..frontier import Frontier
from ..frontier.judgement import held_rows, is_test
from ..frontier.models import Models
from ..frontier.rule_models import RuleModels
from ..frontier.selection import plain_place, walk
from ..measures.paired import PairedRows
from ..objectives import LOSSES, Array, rates_of
from ..records import Record
from ..storage.documents import parse_json
from ..validation import check_confidence, check_count, check_text, shown
from ..validation.inputs import check_rows
from .comparison import Rows, describe

MOST_DETAILED = 150
"""Points that are described one by one; larger frontiers are thinned, evenly along the walk."""
DECISIONS = 20_000_000
"""Decisions that are held at once: on very many rows fewer points are described."""
VERSION = 3


@dataclass(frozen=True, repr=False)
class Details(Record):
    """Aggregates of held-out rows for some points of a frontier: exact counts, but no row and no label of one.

    Attributes
    ----------
    on : str
        Name of the rows, such as "validation".
    n : int
        Number of rows.
    confidence : float
        Of the intervals, each on its own.
    weighted : bool
        Whether rates are weighted by sample weights; counts are rows.
    plain : int
        The id that every point is compared with.
    ids : tuple of int
        The points described.
    overall : mapping
        ``error`` (``mse`` for regression): ``change``, ``lower``, ``upper`` against the unconstrained one, per id.
    attributes : tuple of mappings
        Per sensitive attribute: ``name``, ``levels``, ``n``, ``rates`` (per rate the change of every group and of its
        gap to the reference, and how many rows ``gained`` and ``lost``), ``calibration`` (bins per id and group, or
        None).
    told_apart : str
        Bits in base64, (ids, ids): whether two points differ significantly, in the error or in a gap of the notion.
    """

    on: str
    n: int
    confidence: float
    weighted: bool
    plain: int
    ids: tuple[int, ...]
    overall: Mapping[str, Any]
    attributes: tuple[Mapping[str, Any], ...]
    told_apart: str
    version: int = VERSION

    def to_json(self) -> str:
        return json.dumps(asdict(self), allow_nan=False)

    @classmethod
    def from_json(cls, text: str | bytes | Mapping[str, Any]) -> Details:
        record = dict(text) if isinstance(text, Mapping) else parse_json(text, "what describes the points")
        names = {each.name for each in fields(cls)}
        if not isinstance(record, dict) or set(record) != names or record["version"] != VERSION:
            raise InputError(f"details have other fields than version {VERSION} has, expected what to_json wrote.")
        return cls(**{**record, "ids": tuple(record["ids"]), "attributes": tuple(record["attributes"])})


def detailed(front: Frontier, ids: Iterable[int] = (), limit: int = MOST_DETAILED) -> NDArray[np.intp]:
    """At most ``limit`` places along the walk, always with the unconstrained model and the ids asked for."""
    wanted = {plain_place(front), *(front.place(i) for i in ids)}
    if limit < len(wanted):
        raise InputError(
            f"limit is {limit}, expected at least {len(wanted)}: the unconstrained model and the ids asked for."
        )
    along = [int(i) for i in walk(front) if int(i) not in wanted]
    room = limit - len(wanted)
    if len(along) > room:
        along = [along[i] for i in np.unique(np.linspace(0, len(along) - 1, room).round().astype(int))]
    return np.array(sorted(wanted | set(along)), dtype=np.intp)


def refuse_test(on: str) -> None:
    """Refuse rows that are called test: what was chosen on them could no longer be tested on them."""
    if is_test(check_text(on, "on", "the name of the rows")):
        raise InputError(
            f"on is {shown(on)}, expected rows to choose on, such as 'validation'; test rows stay out of the page, "
            "because what is chosen on them cannot be tested on them."
        )


def describe_points(
    front: Frontier,
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    on: str = "validation",
    ids: Iterable[int] = (),
    limit: int | None = None,
    confidence: float = 0.95,
    sample_weight: Any = None,
) -> Details:
    """Compare points with the unconstrained model on rows that tracing did not see, and keep aggregates only.

    Parameters
    ----------
    front : Frontier
    X, y, sensitive_features, sample_weight
        The rows, as for `Frontier.evaluate`; never the test rows.
    on : str
        Their name.
    ids : iterable of int
        Points that must be described, besides the unconstrained model.
    limit : int, optional
        The most points to describe, by default 150 and fewer on more than 130 000 rows; a larger frontier is thinned
        evenly along its walk.
    confidence : float
        Of each interval on its own.

    Returns
    -------
    Details
    """
    refuse_test(on)
    check_confidence(confidence)
    usual = min(MOST_DETAILED, max(12, DECISIONS // check_rows(X)))
    places = detailed(front, ids, usual if limit is None else check_count(limit, "limit"))
    if y is None or sensitive_features is None:
        raise InputError("details need X, y and sensitive_features, found one of them missing; pass all three.")
    held = held_rows(front, X, y, sensitive_features, sample_weight)
    n, task = len(held.labels), front.facts.task
    operating = front.operating(on if on in front.evaluations else None)
    models = front.models.take(places)
    scores, decided = models.decisions(held.X, None if operating is None else operating.take(places))
    plain = int(np.flatnonzero(places == plain_place(front))[0])
    known: dict[str, Any] = {"plain": plain, "confidence": confidence}
    paired = PairedRows.of(decided, held.labels, task, held.attributes, held.weight, **known)
    rows = Rows(paired, rates_of(front.facts.notions, task), _probability(models, held.X, scores))
    return Details(
        on=on,
        n=n,
        confidence=confidence,
        weighted=paired.record.weighted,
        plain=int(front.ids[places[plain]]),
        ids=tuple(int(i) for i in front.ids[places]),
        **describe(rows),
    )


def _probability(models: Models, X: Any, scores: Array) -> Array | None:
    """Of the favourable label, (k, n), that of all rules alike; None where the models give none."""
    if models.task.kind == "binary" and isinstance(models, RuleModels):
        return np.tile(models.probabilities(X)[:, models.task.favourable], (len(models), 1))
    if models.task.kind != "binary" or not models.probable.all():
        return None
    if models.loss not in LOSSES:  # scores of candidates are not log-odds
        return models.responses(X)[1]
    return np.asarray(expit(scores[:, 0] if models.task.favourable == 1 else -scores[:, 0]))
