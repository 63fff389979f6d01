"""The frontier as a widget of notebooks (extra ``notebook``): a slider chooses, and where it stops can be solved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..exceptions import FairfrontError, InputError, require
from ..frontier import Frontier
from ..frontier.selection import walk
from ..measures.cutoffs import Operating
from ..validation import refuse
from .notebook import Shared
from .page import asset

Rows = Sequence[Any]


def frontier_widget(front: Frontier, *, train: Rows | None = None, validation: Rows | None = None) -> Any:
    """Return a widget whose ``chosen`` is the id of the point that the slider is at, and ``front`` the frontier.

    Parameters
    ----------
    front : Frontier
        Figures are those of validation, or of the first evaluation that is not test, as they may be shared.
    train, validation : (X, y, sensitive_features), optional
        The rows that the frontier was traced and judged on: with both, a button solves a point between two others, and
        judges it by the same rule. They stay in Python.
    """
    if (train is None) != (validation is None):
        raise InputError("widget got one of train and validation, expected both, to solve further points, or none.")
    for name, rows in (("train", train), ("validation", validation)):
        if rows is not None and not isinstance(rows, tuple | list):
            raise refuse(name, rows, "a tuple of X, y and sensitive_features")
        if rows is not None and len(rows) != 3:
            raise InputError(f"{name} has {len(rows)} parts, expected 3: X, y and sensitive_features.")
    anywidget = require("anywidget", "notebook", "front.widget()")
    traitlets = require("traitlets", "notebook", "front.widget()")

    class FrontierWidget(anywidget.AnyWidget):  # type: ignore[misc, name-defined]  # an extra
        _esm = asset("widget.js")
        points = traitlets.Dict().tag(sync=True)
        chosen = traitlets.Int().tag(sync=True)
        said = traitlets.Unicode().tag(sync=True)
        solves = traitlets.Bool(train is not None).tag(sync=True)

        def __init__(self, given: Frontier) -> None:
            self.front = given
            first = points_of(given)
            super().__init__(points=first, chosen=first["ids"][0])
            self.on_msg(self._asked)

        def _asked(self, _: Any, message: Any, buffers: Any) -> None:
            """Solve between two ids that the page names; whatever is wrong with them is said, not raised."""
            try:
                one, two = (int(each) for each in message["between"])
                self.refine(one, two)
            except (FairfrontError, KeyError, TypeError, ValueError) as error:
                self.said = str(error)

        def refine(self, one: int, two: int) -> int:
            """Solve the point midway between two, choose it, and return its id."""
            if train is None or validation is None:
                raise InputError("this widget has no rows, expected those of training; pass train= and validation=.")
            known = set(self.front.ids.tolist())
            self.front = refined(self.front, (one, two), train, validation)
            self.points = points_of(self.front)
            (new,) = set(self.front.ids.tolist()) - known
            self.chosen, self.said = int(new), f"id {new} was solved."
            return int(new)

    return FrontierWidget(front)


def points_of(front: Frontier) -> dict[str, Any]:
    """Return what the page draws, from the largest gap to the smallest: numbers, or None where there are none."""
    shared = Shared.of(front)
    places = walk(shared.front)
    return {
        "head": shared.head,
        "sentence": shared.sentence,
        "ids": [int(front.ids[place]) for place in places],
        "marks": [shared.mark(place) for place in places],
        "across": shared.across,
        "up": shared.up,
        "columns": {
            name: [float(v) if np.isfinite(v) else None for v in shared.column(name)[places]] for name in shared.columns
        },
    }


def refined(front: Frontier, between: tuple[int, int], train: Rows, validation: Rows) -> Frontier:
    """Return the frontier with one point more, judged again by the rule that validation was judged by."""
    record = front.evaluations.get("validation")
    rule = Operating() if record is None or record.operating is None else record.operating.rule
    more = front.refine(train[0], train[1], sensitive_features=train[2], between=between, n=1)
    return more.evaluate(
        validation[0],
        validation[1],
        sensitive_features=validation[2],
        cutoff=rule.cutoff,
        approval_rate=rule.approval_rate,
        costs=rule.costs,
    )
