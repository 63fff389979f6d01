"""Notions of ranking: whether scores put people in order as well in every group, and between groups.

Pairs are never formed: surrogates of the AUC are functions of four means, of scores and of their squares. ``normal``
is the AUC of normal scores with these means. ``quadratic`` is the mean of (1 - (s - t))^2 over pairs of scores s and t
that s should lead; it grows with the spread of scores, so that equal values of it may go with unequal AUCs. At
evaluation it is the AUC itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from ..validation import check_choice
from .comparisons import Comparison, Notion, Part, Surrogate
from .curves import Curve, NormalAuc, PairLoss
from .losses import Task
from .surrogates import Quantity

SCORE, SQUARE = Quantity("score"), Quantity("square")
CURVES: dict[str, Curve] = {"normal": NormalAuc(), "quadratic": PairLoss()}
Whose = Literal["group", "other"]


@dataclass(frozen=True)
class AucParity(Notion):
    """P(a person with the favourable label has a higher score than one without | group) is the same in every group."""

    name = "auc_parity"
    rates = ("auc",)
    words: ClassVar[Mapping[str, str]] = {
        "binary": "AUCs: how often, within a group, a person labelled {good!r} has the higher score for it"
    }
    caveat = "It does not compare decisions, nor people of one group with those of another."
    no_rates = "compares orders of scores, found {rate}; use {loss}."
    unit = "smooth AUC gap"
    kinds = ("binary",)
    others: ClassVar[Whose] = "group"
    by: Literal["normal", "quadratic"] = "normal"

    def __post_init__(self) -> None:
        check_choice(self.by, "by", CURVES)

    def comparisons(self, task: Task, surrogate: Surrogate) -> tuple[Comparison, ...]:
        labels = ((1,), (0,))  # scores speak for the second class: it is the one to be ranked above
        whose: tuple[Whose, Whose] = ("group", self.others) if task.favourable == 1 else (self.others, "group")
        parts = tuple(Part(q, of, whose=who) for of, who in zip(labels, whose, strict=True) for q in (SCORE, SQUARE))
        contrast: Literal["pairs", "crossed"] = "pairs" if self.others == "group" else "crossed"
        return (Comparison(SCORE, None, "", contrast, CURVES[self.by], parts),)


@dataclass(frozen=True)
class CrossAucParity(AucParity):
    """P(score of a person with the favourable label in one group > that of one with another label in the other group).

    It is the same both ways round: xAUC (Kallus and Zhou 2019).
    """

    name = "cross_auc_parity"
    rates = ("xauc",)
    words: ClassVar[Mapping[str, str]] = {
        "binary": "AUCs across groups: how often a person labelled {good!r} has a higher score for it than a person "
        "of the other group who is not"
    }
    caveat = "It does not compare decisions, nor how well it ranks people of the same group."
    others = "other"
