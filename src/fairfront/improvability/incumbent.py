"""The incumbent: the model in use, given as scores, as decisions, as a fitted model, or not at all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, spelled, spelling
from ..frontier.candidates import judged_scores, scores_of
from ..measures.cutoffs import Operating
from ..measures.judged import read_judged
from ..objectives import Task
from ..validation import refuse
from ..validation.inputs import check_rows, shape_of
from .estimates import Answers

Ints = NDArray[np.intp]
STAND_IN = (
    "No incumbent was given: plain logistic regression, fitted on each split's search rows, stands in for it, and "
    "every figure of the incumbent is that of this stand-in."
)


def named() -> str:
    """Return what callers call the incumbent: a column, where it is given by one."""
    return spelled("incumbent_given", "incumbent")


@dataclass(frozen=True, eq=False)
class Incumbent:
    """What the model in use says of all rows; None of a stand-in, which each split fits anew."""

    kind: str
    words: str
    answers: Answers | None
    model: Any = None
    cutoff: float | None = None

    @property
    def scored(self) -> bool:
        return self.answers is None or self.answers.scores is not None


def read_incumbent(given: Any, X: Any, labels: Any, task: Task, operating: Operating) -> Incumbent:
    """``labels`` are those of y, as a person gave them."""
    if given is None:
        if operating.asked == "cutoff":
            raise InputError(f"{spelled('cutoff')} is for an incumbent, found none; give {spelled('approval_rate=')}.")
        return Incumbent("none", STAND_IN, None)
    if hasattr(given, "predict") or callable(given):
        if isinstance(given, type):
            raise refuse("incumbent", given, "a fitted model, not a class")
        return _of_model(given, X, labels, task, operating)
    if isinstance(given, (str, bytes, dict)) or not (shape := shape_of(given, named())):
        raise refuse("incumbent", given, "scores, decisions, a fitted model, or None")
    operating = replace(operating, side="above") if len(shape) == 1 else operating
    with spelling({"scores_or_labels": named(), "y_true": "y"}):
        judged = read_judged(labels, given, favourable=task.favourable_label, operating=operating)
    approved = judged.decided == task.favourable
    if judged.scores is None:
        return _checked(Incumbent("decisions", "The incumbent was given as decisions.", Answers(approved)))
    scores = judged.scores if judged.scores.ndim == 1 else judged.scores[:, 1]
    if judged.side == "below":
        scores = 1.0 - scores if judged.probability else -scores
    words = f"The incumbent was given as scores: {judged.rule}."
    return _checked(Incumbent("scores", words, Answers(approved, scores, judged.probability), cutoff=judged.cutoff))


def _of_model(model: Any, X: Any, labels: Any, task: Task, operating: Operating) -> Incumbent:
    name = getattr(model, "title", type(model).__name__)
    try:
        found, cut = scores_of(model, X, task, named())
        _, deciding = judged_scores(model, X, task, named())
    except (TypeError, ValueError, AttributeError) as error:
        if isinstance(error, InputError):
            raise
        first = str(error).partition(".")[0].partition("\n")[0] or type(error).__name__
        raise InputError(
            f"{named()} ({name}) cannot score X ({first}), expected a fitted model of these columns."
        ) from error
    scores, approved = found[0], deciding[0] > 0
    if len(scores) != check_rows(X):
        raise InputError(f"{named()} gives {len(scores)} scores, expected one per row of X.")
    if not np.isfinite(scores).all():
        raise InputError(f"{named()} ({name}) gives NaN or infinite scores, expected numbers.")
    probability = bool(scores.min() >= 0.0 and scores.max() <= 1.0)
    if operating.asked is not None:
        whole = read_judged(labels, scores.astype(np.float64), favourable=task.favourable_label, operating=operating)
        approved, words = whole.decided == task.favourable, whole.rule
        cut = float("nan") if whole.cutoff is None else whole.cutoff
    else:
        approved = approved if task.favourable == 1 else ~approved
        words = "the decisions are its own"
    if task.favourable == 0:
        scores = 1.0 - scores if probability else -scores
    bare = hasattr(model, "predict_proba") or hasattr(model, "decision_function") or not np.isin(scores, (0, 1)).all()
    answers = Answers(approved, scores if bare else None, probability and bare)
    return _checked(Incumbent("model", f"The incumbent is a {name}: {words}.", answers, model, float(cut)))


def _checked(found: Incumbent) -> Incumbent:
    assert found.answers is not None
    said, what = found.answers, named()
    if said.approved.all() or not said.approved.any():
        all_or_none = "everybody" if said.approved.all() else "nobody"
        raise InputError(
            f"{what} approves {all_or_none}, expected favourable decisions for some: no gap can be smaller; give "
            f"{spelled('cutoff= or approval_rate=')} where it is given by scores."
        )
    if said.scores is not None and said.scores.min() == said.scores.max():
        raise InputError(f"{what} has one score for every row ({said.scores[0]:g}), expected scores that differ.")
    return replace(found, answers=said)
