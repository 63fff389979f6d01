"""An inquiry: a search for alternatives that is asked of a table, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..exceptions import InputError, spelled
from ..improvability.estimates import OUTCOMES
from ..measures.cutoffs import as_costs
from ..objectives import Groups
from ..tables.notation import number_of
from ..validation import check_names, check_text
from .settings import Settings

SPLIT = "80/20"


@dataclass(frozen=True)
class Inquiry:
    """What is asked: how the table is read (``table``), the incumbent, and what `alternatives` takes besides rows.

    ``score`` and ``decision`` are columns of what the incumbent said; ``labelled_only_if`` is a column and the value of
    it that rows with labels have. One at most of score, decision and a model, which is given beside it. ``prices`` are
    costs by outcome, a number or a column; ``candidates`` columns of scores of further models.
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
    prices: tuple[tuple[str, float | str], ...] | None = None
    candidates: tuple[str, ...] | None = None
    n_splits: int = 20
    max_fits: int | None = None
    max_seconds: float | None = None
    confidence: float = 0.95

    def __post_init__(self) -> None:
        if self.costs is not None and self.prices is not None:
            raise InputError(f"{spelled('costs')} and {spelled('prices')} are both given, expected one of them.")
        said = [("incumbent_score", self.score), ("incumbent_decision", self.decision)]
        for what, name in [*said, *(("candidates", each) for each in self.candidates or ())]:
            if name is not None and name in (self.table.target, *self.table.compared, self.table.weight):
                raise InputError(
                    f"{spelled(what)} is {name!r}, which is the target, a group column or the weight, expected another."
                )

    @classmethod
    def of(cls, table: Mapping[str, Any], **given: Any) -> Inquiry:
        """Return an inquiry as people write it: ``keep`` as texts name=number, ``labelled_only_if`` as column=value."""
        for name, read in (
            ("keep", _tolerances),
            ("costs", as_costs),
            ("prices", _prices),
            ("labelled_only_if", _flag),
        ):
            if given.get(name) is not None:
                given[name] = read(given[name])
        for name in ("improve", "families", "candidates"):
            if name in given:
                given[name] = check_names(given[name], name)
        return cls(Settings.of(split=SPLIT, **table), **given)

    @property
    def aside(self) -> tuple[str, ...]:
        """Return columns that are read beside the table and are no features."""
        flag = None if self.labelled_only_if is None else self.labelled_only_if[0]
        names = (self.score, self.decision, flag, *(self.candidates or ()))
        return tuple(dict.fromkeys(name for name in names if name is not None))

    @property
    def priced(self) -> tuple[str, ...]:
        """Return columns of costs, which alternatives may read too."""
        return tuple(dict.fromkeys(value for _, value in self.prices or () if isinstance(value, str)))

    @property
    def question(self) -> dict[str, Any]:
        """Return what `alternatives` is told besides rows and the incumbent."""
        table, asked = self.table, asdict(self)
        names = ("improve", "nobody_worse", "n_splits", "max_fits", "max_seconds", "confidence")
        return {name: asked[name] for name in names} | {
            "keep": None if self.keep is None else dict(self.keep),
            "families": None if self.families is None else list(self.families),
            "cutoff": table.cutoff,
            "approval_rate": table.approval_rate,
            "random_state": table.seed,
            "groups": Groups(dict(table.reference) or None, table.cross, table.min_size),
        }


def _tolerances(given: Any) -> tuple[tuple[str, float], ...]:
    found = []
    for text in check_names(given, "keep"):
        name, there, value = text.partition("=")
        number = number_of(value)
        if not (name and there and np.isfinite(number)):
            raise InputError(f"{spelled('keep')} is {text!r}, expected FIGURE=TOLERANCE such as auc=0.005.")
        found.append((name.strip(), float(number)))
    return tuple(found)


def _prices(given: Any) -> tuple[tuple[str, float | str], ...]:
    found = []
    for text in check_names(given, "prices"):
        name, there, value = text.partition("=")
        if name not in OUTCOMES or not (there and value):
            raise InputError(
                f"{spelled('prices')} is {text!r}, expected OUTCOME=NUMBER or OUTCOME=COLUMN, such as "
                f"false_positive=amount; outcomes are {', '.join(OUTCOMES)}."
            )
        number = number_of(value)
        found.append((name, float(number) if np.isfinite(number) else value))
    return tuple(found)


def _flag(given: Any) -> tuple[str, str]:
    name, there, value = check_text(given, "labelled_only_if").partition("=")
    if not (name and there and value):
        raise InputError(f"{spelled('labelled_only_if')} is {given!r}, expected COLUMN=VALUE such as approved=1.")
    return name, value
