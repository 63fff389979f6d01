"""Cut-offs of a frontier's models: placed on the rows that choosing looks at, applied unchanged everywhere else."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import is_classifier

from ..exceptions import FairfrontWarning, InputError
from ..measures import Evaluation
from ..measures.evaluation import decide
from ..measures.operating_points import NONE_GIVEN, Operating, OperatingPoint
from ..objectives import Array, Attribute, Task, is_likelihood
from ..validation import check_text
from .models import Models

if TYPE_CHECKING:
    from .frontier import Frontier
    from .points import Facts


def is_test(name: str) -> bool:
    return name.strip().casefold().startswith("test")


def asked_of(
    rule: Operating, evaluations: Mapping[str, Evaluation], name: str, like: str | None, models: Models
) -> Operating | OperatingPoint | None:
    """Return the rule to place cut-offs by, the ones placed before that hold here too, or None for 0.5.

    Rows for testing never place a cut-off: that would look at their labels, or at how many of them are approved.
    """
    if rule.asked is not None and like is not None:
        raise InputError(f"{rule.asked} and like={like!r} were given, expected one: a rule, or cut-offs placed before.")
    given, task = rule.asked or ("like" if like is not None else None), models.task
    if models.by_group and given is not None:
        raise InputError(f"{given} was given, expected none: these models have one cut-off per group already.")
    if task.kind != "binary":
        rule.refuse(f"{task.kind} labels")
        return None
    known = {key: record.operating for key, record in evaluations.items() if record.operating is not None}
    if like is not None:
        if check_text(like, "like", "the name of an evaluation") not in known:
            raise InputError(
                f"like is {like!r}, expected an evaluation with an operating point "
                f"({', '.join(known) or 'none has one'}); evaluate with cutoff=, approval_rate= or costs= first."
            )
        return known[like]
    if rule.asked is None:
        others = {key: point for key, point in known.items() if key != name}
        return others.get("validation") or next(iter(others.values()), None)
    if is_test(name) and rule.asked != "cutoff":
        raise InputError(
            f"{rule.asked} would place cut-offs on the rows {name!r}, expected rows to choose on; evaluate those with "
            f"{rule.asked}=... and name='validation' first, then {name!r} without it: the cut-offs are kept."
        )
    return rule.check()


def responses_of(models: Models, X: Any) -> tuple[Array, Array]:
    """Responses (N, n) are the favourable label's probability where a model gives one, else its score."""
    scores, second = models.responses(X)
    return scores, for_favourable(second, models.task, models.probable)


def responses_at(front: Frontier, X: Any) -> tuple[Array, Array | None]:
    """Scores (N, K, n), and what cut-offs are on, (N, n), where an operating point was given."""
    if front.operating() is None:
        return front.models.scores(X), None
    return responses_of(front.models, X)


def for_favourable(second: Array, task: Task, probability: NDArray[np.bool_]) -> Array:
    """Responses (N, n) of the second class turned to the favourable label."""
    if task.favourable == 1:
        return second
    return np.where(probability[:, None], 1.0 - second, -second)


def second_class(operating: OperatingPoint, responses: Array, task: Task) -> NDArray[np.bool_]:
    favoured = operating.favoured(responses)
    return favoured if task.favourable == 1 else ~favoured


def decisions(
    models: Models, X: Any, operating: OperatingPoint | None, attributes: Sequence[Attribute] = ()
) -> tuple[Array, NDArray[Any]]:
    """Scores (N, K, n) and what models decide at their cut-offs, (N, n), as `evaluation.decide` does."""
    if operating is None:
        return models.judged(X, attributes)
    scores, responses = responses_of(models, X)
    return scores, second_class(operating, responses, models.task)


def decide_at(scores: Array, task: Task, operating: OperatingPoint | None) -> NDArray[Any]:
    """Decisions (N, n) of scores (N, K, n), at 0.5 or at an operating point's cut-offs."""
    if operating is None:
        return decide(scores, task)
    known = operating.probability
    second = np.where(known[:, None], expit(scores[:, 0]), scores[:, 0])
    return second_class(operating, for_favourable(second, task, known), task)


def at_cutoff(model: Any, operating: OperatingPoint | None, place: int, task: Task) -> Any:
    """Return a fitted model that decides at its cut-off: scikit-learn's own wrapper, its probabilities as they were.

    The model comes back as it is without an operating point and, with a warning, where it is a module that gives
    scores and decides nothing.
    """
    if operating is None:
        return model
    from sklearn.model_selection import FixedThresholdClassifier  # a large module, needed here alone

    cutoff = float(operating.cutoffs[place])
    what, method = ("probability", "predict_proba") if operating.probability[place] else ("score", "decision_function")
    if not hasattr(model, "predict"):
        warnings.warn(
            f"{type(model).__name__} gives scores and decides nothing: compare the {what} of "
            f"{task.favourable_label!r} with the cut-off {cutoff:.6g} yourself.",
            FairfrontWarning,
            stacklevel=4,
        )
        return model
    if not is_classifier(model) or not hasattr(model, method):
        raise InputError(
            f"{type(model).__name__} has no {method}, or is not a classifier of scikit-learn, expected one that can "
            "decide at another cut-off; wrap it in one, or evaluate without an operating point."
        )
    found = FixedThresholdClassifier(model, threshold=cutoff, pos_label=task.favourable_label, response_method=method)
    found.estimator_ = model  # as after fit, which would train the model again
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(model, name):
            setattr(found, name, getattr(model, name))
    return found


def operating_words(record: Evaluation | None, facts: Facts) -> str:
    if facts.task.kind != "binary":
        return ""
    if record is not None and record.operating is not None:
        return f"Operating point: {record.operating.words}."
    default = "0.5" if is_likelihood(facts.loss) or not facts.trained else "0 (scores)"
    return f"Cut-off {default}: {NONE_GIVEN}."
