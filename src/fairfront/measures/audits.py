"""Audit: how the model that one has today stands, group by group, in people's units. Nothing is trained.

Dask collections are computed, because these columns are narrow.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from ..exceptions import FairfrontWarning, InputError, spelling
from ..objectives import Groups, check_groups, take_groups, warn_of_proxies
from ..objectives.strata import Strata
from ..problems.dask.passes import require_dask
from ..validation import check_confidence, check_count, check_flag, check_seed, is_dask
from ..validation.inputs import weighted_rows
from .audit_record import Audit, audited
from .cutoffs import Operating, Side
from .judged import read_judged
from .lines import lines_of
from .notion_figures import all_of, check_metrics
from .sentences import backward_sentences
from .table_columns import Settings

MOST_RESAMPLES = 100_000


def audit(
    y_true: Any,
    scores_or_labels: Any,
    *,
    sensitive_features: Any,
    favourable: Any = None,
    cutoff: float | None = None,
    approval_rate: float | None = None,
    costs: Mapping[str, float] | None = None,
    favourable_side: Side | None = None,
    notion: str | Sequence[str] | None = None,
    control_features: Any = None,
    groups: Groups | None = None,
    sample_weight: Any = None,
    task: Literal["classification", "regression"] | None = None,
    confidence: float = 0.95,
    simultaneous: bool = False,
    n_resamples: int = 500,
    random_state: int | None = 0,
) -> Audit:
    """Judge any model by its decisions, scores or predictions, group by group.

    Dask collections are computed, because these columns are narrow.

    Parameters
    ----------
    y_true : array of shape (n,)
        Labels, or values for regression (assumed where they have fractions).
    scores_or_labels : array of shape (n,) or (n, K)
        Decisions (values among the labels), or scores of two classes, or one column of scores per class.
    sensitive_features : frame, series, mapping, array or GroupProbabilities
        One attribute per column. Rows without a group and groups below ``groups.min_size`` are lines of their own.
    favourable : label, optional
        The label that is good for the person; by default the second of the sorted labels.
    cutoff, approval_rate, costs : optional
        How scores become decisions, one of: a fixed cut-off (default 0.5 for scores in [0, 1]), the share of
        favourable decisions, or ``{"false_positive": ..., "false_negative": ...}``. One cut-off for all groups.
    favourable_side : "above" or "below", optional
        The side of the cut-off that is favourable: scores at or above it, or below it. By default scores speak for
        the second label, as ``predict_proba(X)[:, 1]`` does.
    notion : str or sequence of str, optional
        Notions and metrics whose figures are given beyond those of every audit, such as ``"positive_class_balance"``,
        ``"npv"``, ``"f_score"`` or ``"xauc"``.
    control_features : optional
        Columns whose levels are compared within, and pooled.
    groups : Groups, optional
        Reference group, crossing, and the smallest group that is compared.
    sample_weight : array of shape (n,), optional
    task : "classification" or "regression", optional
    confidence : float
        Of every interval.
    simultaneous : bool
        Whether the gaps of an attribute hold together (Bonferroni).
    n_resamples, random_state : int
        Bootstrap of figures of scores.

    Examples
    --------
    >>> import fairfront as ff
    >>> y, p, sex = [0, 1, 1, 0] * 20, [0.2, 0.9, 0.4, 0.6] * 20, ["f", "f", "m", "m"] * 20
    >>> found = ff.audit(y, p, sensitive_features={"sex": sex})
    >>> round(found.worst["sex"]["tpr_gap"].value, 2)
    1.0
    """
    warn_of_proxies(sensitive_features)
    draws, seed = check_count(n_resamples, "n_resamples", most=MOST_RESAMPLES), check_seed(random_state)
    settings = Settings(check_confidence(confidence), check_flag(simultaneous, "simultaneous"), draws, seed)
    about = check_metrics(notion)
    check_groups(groups)
    if sensitive_features is None:
        raise InputError("sensitive_features is None, expected one value per row: the group of each.")
    with spelling({"X": "y_true"}):  # an audit has no X
        here = gathered(
            y_true=y_true,
            scores_or_labels=scores_or_labels,
            sensitive_features=sensitive_features,
            control_features=control_features,
            sample_weight=sample_weight,
        )
        judged = read_judged(
            here["y_true"],
            here["scores_or_labels"],
            favourable=favourable,
            operating=Operating(cutoff, approval_rate, costs, favourable_side),
            task=task,
            sample_weight=here["sample_weight"],
        )
        sensitive, control, n = here["sensitive_features"], here["control_features"], len(judged.truth)
        rows, idle = weighted_rows(judged.weight), list[str]()
        if rows is not None:  # rows of weight 0 are left out
            judged, idle = judged.take(rows), [f"Rows of weight 0 were excluded: {n - len(rows)}."]
            sensitive = take_groups(sensitive, rows, n)
            control = None if control is None else take_groups(control, rows, n)
            n = len(rows)
        lines = lines_of(sensitive, n, groups or Groups())
        levels = {} if control is None else Strata.of(control, n).rows
    settings = replace(settings, more=all_of(about, judged.task))
    found = audited(judged, [(each, None) for each in lines], settings, levels, idle)
    return _with_warning(found, backward_sentences(judged, next(iter(found.tables.values()))))


def _with_warning(found: Audit, said: tuple[str, ...]) -> Audit:
    for sentence in said:
        warnings.warn(sentence, FairfrontWarning, stacklevel=3)
    return replace(found, notions=(*found.notions, *said))


def gathered(**given: Any) -> dict[str, Any]:
    """Return what was given with Dask collections computed: these columns are narrow."""
    far = {what: value for what, value in given.items() if is_dask(value)}
    return given | require_dask().compute(far)[0] if far else given
