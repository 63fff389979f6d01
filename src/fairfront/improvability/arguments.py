"""What a person gives a search, read once: the incumbent, labels, groups, costs, families, candidates and budgets.

The incumbent is the model in use, given as scores, as decisions, as a fitted model, or not at all.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import FairfrontWarning, InputError, spelled, spelling
from ..frontier.candidates import judged_scores, scores_of
from ..measures.cutoffs import Operating
from ..measures.judged import read_judged
from ..objectives import Array, Attribute, GroupProbabilities, Groups, Task, check_groups
from ..objectives.question import read_classes
from ..problems.pieces import feature_names
from ..validation import check_count, check_names, check_number, check_positive, refuse
from ..validation.inputs import as_numbers, check_labels, check_rows, factorize, shape_of
from .estimates import JOBS, OUTCOMES, Answers, Sample
from .families import FAMILIES, USUAL
from .requirements import Requirements
from .split_search import Budget

Flags = NDArray[np.bool_]
FEWEST = 100
BOTH = ("odds", "balanced_accuracy")
"""Figures of groups that need rows of both labels."""
REVERSED = 4.0
"""Standard errors below one half at which an AUC is that of scores for the other label."""
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
    if said.scores is not None and said.scores.min() == said.scores.max():
        raise InputError(f"{what} has one score for every row ({said.scores[0]:g}), expected scores that differ.")
    if said.approved.all() or not said.approved.any():
        all_or_none = "everybody" if said.approved.all() else "nobody"
        raise InputError(
            f"{what} approves {all_or_none}, expected favourable decisions for some: no gap can be smaller; give "
            f"{spelled('cutoff= or approval_rate=')} where it is given by scores."
        )
    return replace(found, answers=said)


def read_budget(n_splits: Any, max_fits: Any, max_seconds: Any) -> Budget:
    fits = None if max_fits is None else check_count(max_fits, "max_fits", least=2)
    seconds = None if max_seconds is None else check_positive(max_seconds, "max_seconds")
    return Budget(check_count(n_splits, "n_splits", most=1000), fits, seconds)


def read_labels(y: Any, n: int, favourable: Any, labelled: Flags | None) -> tuple[Task, NDArray[Any], NDArray[np.intp]]:
    """Labels of rows that have none are those of the first class, and nothing reads them."""
    if labelled is not None:
        values = np.asarray(y, dtype=object).copy()
        if values.shape == (n,):
            values[~labelled] = values[labelled][0]
            y = values
    labels = check_labels(y, n)
    task, codes = read_classes(labels, favourable)
    if task.kind != "binary":
        raise InputError(f"y has {len(task.classes)} classes, expected two: approved or not.")
    return task, labels, codes


def read_names(columns: Any, X: Any) -> tuple[str, ...]:
    """Return the column of a person's table that each column of X codes; none where X has no number of columns."""
    shape: tuple[int, ...] = getattr(X, "shape", ())
    if len(shape) != 2:
        return ()
    if columns is None:
        return tuple(map(str, feature_names(X) or range(shape[1])))
    found = check_names(columns, "columns", "the name of a column per column of X")
    if len(found) != shape[1]:
        raise InputError(f"{spelled('columns')} has {len(found)} names, expected {shape[1]}, one per column of X.")
    return found


def read_flags(given: Any, n: int) -> Flags:
    values = np.asarray(given)
    if values.shape != (n,) or values.dtype != bool:
        raise refuse("labelled_only_if", given, f"True or False for each of {n} rows")
    if values.sum() < FEWEST:
        raise InputError(f"{spelled('labelled_only_if')} marks fewer than {FEWEST} rows, expected more with labels.")
    return values


def read_people(given: Any, n: int) -> NDArray[np.intp]:
    """Return whom rows are of, as codes."""
    codes, people = factorize(check_labels(given, n, spelled("person")))
    if len(people) < FEWEST:
        raise InputError(f"{spelled('person')} has fewer than {FEWEST} people, expected more: halves are of people.")
    return codes


def read_attributes(sensitive: Any, groups: Groups | None, n: int, good: Flags, improve: Any) -> tuple[Attribute, ...]:
    if isinstance(sensitive, GroupProbabilities):
        raise InputError("sensitive_features are probabilities, expected the group of every row.")
    labels = [("the favourable label", good)] if _about(improve, "tpr", "fnr", *BOTH) else []
    labels += [("another label", ~good)] if _about(improve, "fpr", *BOTH) else []
    return (check_groups(groups) or Groups()).resolve(sensitive, n, among=labels)


def _about(improve: Any, *rates: str) -> bool:
    return any(rate in str(improve) for rate in rates)


def texts_of(attribute: Attribute) -> NDArray[Any]:
    assert attribute.codes is not None
    return np.array([*attribute.levels, None], dtype=object)[attribute.codes]


def read_costs(costs: Any, n: int) -> dict[str, Array]:
    if not isinstance(costs, Mapping) or not costs or any(name not in OUTCOMES for name in costs):
        raise refuse("costs", costs, f"a mapping of outcomes ({', '.join(OUTCOMES)}) to costs")
    found = {}
    for name, given in costs.items():
        values = np.asarray(check_number(given, f"costs[{name!r}]")) if np.ndim(given) == 0 else _numbers(given, name)
        if values.shape not in ((), (n,)) or not np.isfinite(values).all():
            raise InputError(f"costs[{name!r}] has shape {values.shape}, expected one finite number, or one per row.")
        found[name] = np.broadcast_to(values, (n,)).astype(np.float64)
    return found


def _numbers(given: Any, name: str) -> Array:
    return as_numbers(given, f"costs[{name!r}]")


def read_families(families: Any, given: bool) -> tuple[str, ...]:
    names = USUAL if families is None else tuple(dict.fromkeys(check_names(families, "families")))
    for name in names:
        FAMILIES[name]
    if not names:
        raise InputError(f"{spelled('families')} is empty, expected some of {', '.join(FAMILIES)}.")
    return (*names, "candidates") if given and "candidates" not in names else names


def read_candidates(
    given: Any, X: Any, labels: Any, task: Task, here: Incumbent, sample: Sample
) -> dict[str, tuple[Any, Answers]]:
    if not isinstance(given, Mapping) or not given:
        raise refuse("candidates", given, "a mapping of names to fitted models or scores")
    if here.answers is None:
        raise InputError(f"{spelled('candidates')} need an incumbent to be compared with, found none; give it.")
    share = float(sample.weight @ here.answers.approved) / float(sample.weight.sum())
    found = {}
    for name, each in given.items():
        if each is None:
            raise refuse(f"candidate {str(name)!r}", each, "a fitted model or scores")
        try:
            read = read_incumbent(each, X, labels, task, Operating(approval_rate=share))
        except InputError as error:
            raise InputError(f"candidate {str(name)!r}: {error}") from error
        assert read.answers is not None
        refuse_reversed(f"candidate {str(name)!r}", read, sample)
        found[str(name)] = (each, read.answers)
    return found


def refuse_reversed(what: str, given: Incumbent, sample: Sample) -> None:
    """Refuse scores that are surely lower where the label is favourable: they speak for the other label."""
    if given.answers is None or given.kind != "scores":
        return
    area = JOBS["auc"].of(sample, given.answers)
    if area.plus(-0.5).z < -REVERSED:
        raise InputError(
            f"{what} has lower scores where the label is favourable (AUC {area.value:.2f}), expected higher ones; give "
            "1 - score, or minus the score, or name the other label as favourable."
        )


def refuse_no_gap(wanted: Requirements, sample: Sample, here: Incumbent) -> None:
    if here.answers is None:
        warnings.warn(STAND_IN, FairfrontWarning, stacklevel=3)
        return
    for each in wanted.improve:
        _, value = each.worst(sample, here.answers)
        if np.isnan(value):
            raise InputError(f"the incumbent's {each.name} is not defined on these rows, expected one to improve.")
        if value == (1.0 if each.ratio else 0.0):
            raise InputError(
                f"the incumbent's {each.name} is {value:g} on these rows, so that none can be better, expected a gap; "
                f"name another figure in {spelled('improve')}."
            )
