"""Signs: features of which more is never worse, or never better, as bounds on weights or as a learner's own setting.

A sign is stated for the favourable label, or for the value that is predicted: "+" says that a larger feature never
makes it less likely, or smaller, all other features being equal. In linear models the coefficient is bound by 0.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import clone

from ..exceptions import InputError, spelled
from ..objectives import Task
from ..objectives.question import Signs
from ..validation import counted, refuse
from ..validation.inputs import shape_of
from .pieces import Names, feature_names

EXPECTED = "names or places of columns of X with '+' or '-', such as {'income': '+'}"
KEYWORDS = ("monotonic_cst", "monotone_constraints")
"""Parameters by which learners take signs: those of scikit-learn, and of LightGBM, XGBoost and CatBoost."""
UNLISTED = {("monotone_constraints", "lightgbm")}
"""Parameters that packages take without naming them in their signatures."""


def as_signs(signs: Any, X: Any, names: Names = None) -> Signs:
    """Return the place of each column with its sign, in the order of columns; none where none were given.

    Parameters
    ----------
    signs : mapping of names or places of columns to "+" or "-", or None
    X : array, data frame, sparse matrix or Dask collection of shape (n, d)
    names : of the columns, where X does not have them any more
    """
    if signs is None:
        return ()
    if not isinstance(signs, Mapping) or not signs:
        raise refuse("signs", signs, EXPECTED)
    names, width = names or feature_names(X), (*shape_of(X, "X"), 0)[1]
    found: dict[int, str] = {}
    for column, sign in signs.items():
        place = _place(column, names, int(width))
        if not isinstance(sign, str) or sign not in ("+", "-"):
            raise InputError(f"{spelled('signs')} has {sign!r} for {column!r}, expected '+' or '-'.")
        if place in found:
            raise InputError(f"{spelled('signs')} names column {place} twice, expected one sign each.")
        found[place] = sign
    return tuple(sorted(found.items()))


def read_signs(given: Any) -> tuple[tuple[str, str], ...]:
    """Return names of columns with their signs of a mapping, or of texts such as "income=+"."""
    if isinstance(given, Mapping):
        return tuple(given.items())
    found: list[tuple[str, str]] = []
    for each in (given,) if isinstance(given, str) else given:
        column, sign = each.rpartition("=")[::2] if isinstance(each, str) else each
        if not column or sign not in ("+", "-"):
            raise refuse("signs", each, "a column with '+' or '-', such as income=+")
        found.append((column, sign))
    return tuple(found)


def _place(column: Any, names: Names, width: int) -> int:
    if isinstance(column, str):
        if names is None or column not in names:
            known = "columns without names" if names is None else f"the columns {', '.join(names[:8])}"
            raise InputError(f"{spelled('signs')} names {column!r}, expected {EXPECTED}; found {known}.")
        return names.index(column)
    if isinstance(column, bool) or not isinstance(column, (int, np.integer)) or not 0 <= column < width:
        raise InputError(f"{spelled('signs')} has {column!r}, expected {EXPECTED}; X has {counted(width, 'column')}.")
    return int(column)


def upward(signs: Signs, task: Task) -> dict[int, int]:
    """Return +1 or -1 per place, for the score: that of two classes is of the second, favourable or not."""
    if task.kind == "multiclass":
        raise InputError(
            f"{spelled('signs')} is for one score, found {len(task.classes)} classes, each with its own; leave it out."
        )
    turned = -1 if task.kind == "binary" and task.favourable == 0 else 1
    return {place: turned if sign == "+" else -turned for place, sign in signs}


def _package(estimator: Any) -> str:
    return type(estimator).__module__.partition(".")[0]


def handed_on(estimator: Any, signs: Signs, task: Task, X: Any) -> Any:
    """Return a copy of a learner with signs in its own setting; a learner without one is refused."""
    if not signs:
        return estimator
    given = estimator.get_params(deep=False)
    takes = (*given, *inspect.signature(type(estimator).__init__).parameters)  # some list only what they were given
    known = [name for name in KEYWORDS if name in takes or (name, _package(estimator)) in UNLISTED]
    if not known:
        raise InputError(
            f"{spelled('signs')} needs a linear model or a learner with {' or '.join(KEYWORDS)}, found "
            f"{type(estimator).__name__}; leave it out, or use HistGradientBoosting."
        )
    name, turned = known[0], upward(signs, task)
    if given.get(name) is not None:
        raise InputError(
            f"{type(estimator).__name__} has {name}={given[name]!r} already, expected none beside "
            f"{spelled('signs')}; leave one of them out."
        )
    values = [turned.get(place, 0) for place in range(shape_of(X, "X")[1])]
    return clone(estimator).set_params(**{name: tuple(values) if _package(estimator) == "xgboost" else values})
