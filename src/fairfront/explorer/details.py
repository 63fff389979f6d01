"""What rows say about each point against the plain model: who gains, who loses, how surely, how well calibrated."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from ..exceptions import InputError
from ..frontier import Frontier
from ..measures.disclosure import check_small
from ..storage.documents import parse_json
from ..validation import check_confidence, check_count, check_rows
from .comparison import describe
from .rows import detailed, most_detailed, refuse_test, rows_of

VERSION = 2


@dataclass(frozen=True)
class Details:
    """Aggregates of held-out rows for some points of a frontier; no row, label or small count is in them.

    Attributes
    ----------
    on : str
        Name of the rows, such as "validation".
    n : int
        Number of rows.
    confidence, small
        Of the intervals, each on its own; counts below ``small`` are rounded, 0 where they are exact.
    weighted : bool
        Whether rates are weighted by sample weights; counts are rows.
    plain : int
        The id that every point is compared with.
    ids : tuple of int
        The points described.
    overall : mapping
        ``error`` (``mse`` for regression): ``change``, ``lower``, ``upper`` against the plain model, one per id.
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
    small: int
    weighted: bool
    plain: int
    ids: tuple[int, ...]
    overall: Mapping[str, Any]
    attributes: tuple[Mapping[str, Any], ...]
    told_apart: str
    version: int = VERSION

    def to_json(self) -> str:
        """Return the record as JSON text."""
        return json.dumps(asdict(self), allow_nan=False)

    @classmethod
    def from_json(cls, text: str | bytes | Mapping[str, Any]) -> Details:
        """Read what `to_json` wrote."""
        record = dict(text) if isinstance(text, Mapping) else parse_json(text, "what describes the points")
        names = {each.name for each in fields(cls)}
        if not isinstance(record, dict) or set(record) != names or record["version"] != VERSION:
            raise InputError(f"details have other fields than version {VERSION} has, expected what to_json wrote.")
        return cls(**{**record, "ids": tuple(record["ids"]), "attributes": tuple(record["attributes"])})


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
    small: int = 10,
    sample_weight: Any = None,
) -> Details:
    """Compare points with the plain model on rows that tracing did not see, and keep aggregates only.

    Parameters
    ----------
    front : Frontier
    X, y, sensitive_features, sample_weight
        The rows, as for `Frontier.evaluate`; never the test rows.
    on : str
        Their name.
    ids : iterable of int
        Points that must be described, besides the plain model.
    limit : int, optional
        The most points to describe, by default 150 and fewer on more than 130 000 rows; a larger frontier is thinned
        evenly along its walk.
    confidence : float
        Of each interval on its own.
    small : int
        10: small groups are pooled and small counts rounded (`measures.disclosure`); 0: exact counts, for use where the
        rows are kept.

    Returns
    -------
    Details
    """
    refuse_test(on)
    check_confidence(confidence)
    check_small(small)
    n = check_rows(X)
    most = most_detailed(n) if limit is None else check_count(limit, "limit")
    places = detailed(front, ids, most)
    rows = rows_of(front, places, X, y, sensitive_features, sample_weight, on)
    found = describe(front, rows, confidence, small)
    return Details(
        on=on,
        n=rows.n,
        confidence=confidence,
        small=small,
        weighted=rows.record.weighted,
        plain=int(front.ids[rows.places[rows.plain]]),
        ids=tuple(int(i) for i in front.ids[places]),
        **found,
    )
