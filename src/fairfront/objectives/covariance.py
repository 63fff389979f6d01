"""Covariance of score and group (Zafar et al. 2015) as a notion: mean scores of the groups are compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..exceptions import InputError
from .labels import Kind, Task
from .notions import NOTIONS, Comparison, Notion, Surrogate
from .surrogates import Quantity


@dataclass(frozen=True)
class ScoreCovariance(Notion):
    """Cov(group, score) is zero: the mean score is the same in every group (Zafar et al. 2015).

    For two groups with shares q and 1 - q the covariance is q (1 - q) times the gap of mean scores. The score is the
    signed distance to the boundary up to the length of w; it is linear in w, so the gap is too. Differs from
    demographic parity: a mean of scores is no share of decisions.
    """

    name: ClassVar[str] = "score_covariance"
    rates: ClassVar[tuple[str, ...]] = ("selection",)
    caveat: ClassVar[str] = "It does not compare decisions: equal mean scores may go with very different rates."
    kinds: ClassVar[tuple[Kind, ...]] = ("binary",)

    def comparisons(self, task: Task, surrogate: Surrogate) -> tuple[Comparison, ...]:
        """Compare the scores of all rows."""
        return (Comparison(Quantity("score"), None, "score"),)

    def sentence(self, task: Task) -> str:
        """Say in words what is compared."""
        return f"Among all people of a group, the mean score for {task.favourable_label!r}."

    def check(self, task: Task, surrogate: Surrogate) -> None:
        """Refuse the rate surrogate: a score is what this notion compares."""
        super().check(task, surrogate)
        if surrogate == "rate":
            raise InputError(
                "notion 'score_covariance' compares mean scores, found surrogate='rate'; "
                "use surrogate='loss', or notion='demographic_parity' for shares of decisions."
            )


NOTIONS.add(ScoreCovariance.name, ScoreCovariance)
