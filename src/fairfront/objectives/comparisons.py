"""Comparisons: what a notion of fairness is made of. They know nothing about weights."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, setting
from .losses import Kind, Task
from .surrogates import Quantity

Surrogate = Literal["loss", "rate"]
CLASSES: tuple[Kind, ...] = ("binary", "multiclass")
ALL: tuple[Kind, ...] = ("binary", "multiclass", "regression")


@dataclass(frozen=True)
class Comparison:
    """One average per group: ``quantity`` over the group's rows whose label is among ``labels`` (None: all).

    ``contrast`` says what is done with them: differences of all pairs of groups, or each on its own.
    """

    quantity: Quantity
    labels: tuple[int, ...] | None
    words: str = ""
    contrast: Literal["pairs", "each"] = "pairs"


class Notion(ABC):
    """What is compared between groups, stated for the favourable label.

    ``rates`` are the rates of decisions that the notion is about, ``means`` those of predicted values; outputs show
    their gaps first. ``words`` say for every kind of task what it compares, ``caveat`` what it does not, with
    ``{good}`` for the favourable label. ``no_rates`` is why the notion has no meaning for ``surrogate="rate"``, empty
    where it has, ``no_losses`` the same for ``surrogate="loss"``; ``unit`` names that of its gaps in training where it
    is another than that of a loss or a rate.
    """

    name: ClassVar[str]
    rates: ClassVar[tuple[str, ...]] = ("error",)
    means: ClassVar[tuple[str, ...]] = ("mse",)
    words: ClassVar[Mapping[str, str]] = {}
    caveat: ClassVar[str] = ""
    no_rates: ClassVar[str] = ""
    no_losses: ClassVar[str] = ""
    unit: ClassVar[str] = ""
    kinds: ClassVar[tuple[Kind, ...]] = CLASSES
    two_sided: ClassVar[bool] = True
    floor: float = 0.0

    @abstractmethod
    def comparisons(self, task: Task, surrogate: Surrogate) -> tuple[Comparison, ...]:
        """Return the averages to compare.

        Parameters
        ----------
        task : Task
            The kind of labels, their classes, and which of them is favourable.
        surrogate : {"loss", "rate"}
            Whether losses or smooth rates of decisions are averaged.
        """

    def sentence(self, task: Task) -> str:
        """Say in words what is compared; of a notion without words only its name is known.

        Parameters
        ----------
        task : Task
            Its kind chooses among ``words``, its favourable label is named in them.
        """
        name, words = self.name.replace("_", " ").capitalize(), self.words.get(task.kind, "")
        return f"{name} compares {words.format(good=task.favourable_label)}." if words else f"{name} is compared."

    def check(self, task: Task, surrogate: Surrogate) -> None:
        """Refuse a task or a surrogate that the notion has no meaning for.

        Parameters
        ----------
        task, surrogate
            As in `comparisons`.
        """
        if task.kind not in self.kinds:
            raise InputError(
                f"notion {self.name!r} compares decisions, expected class labels, found {task.kind}; "
                "use 'disparate_mistreatment', 'demographic_parity' or 'group_loss'."
            )
        for asked, why in (("rate", self.no_rates), ("loss", self.no_losses)):
            if surrogate == asked and why:
                words = {each: setting("surrogate", each) for each in ("rate", "loss")}
                raise InputError(f"notion {self.name!r} {why.format(**words)}")
        if surrogate == "rate" and task.kind == "regression":
            raise InputError(
                "surrogate 'rate' is a share of decisions, expected class labels, found regression; "
                f"use {setting('surrogate', 'loss')}."
            )


def compared_rows(
    notions: Sequence[Notion], task: Task, surrogate: Surrogate, labels: NDArray[Any]
) -> tuple[tuple[str, NDArray[np.bool_]], ...]:
    """Return, in words and as masks (n,), the rows that notions compare, where these are not all rows.

    With several classes a notion compares the rows of each class in turn, which together are all rows.
    """
    if task.kind != "binary":
        return ()
    compared = [comparison.labels for notion in notions for comparison in notion.comparisons(task, surrogate)]
    kinds = [of for of in dict.fromkeys(compared) if of is not None]
    named = [" or ".join(repr(task.classes[label]) for label in of) for of in kinds]
    return tuple((f"label {words}", np.isin(labels, of)) for words, of in zip(named, kinds, strict=True))
