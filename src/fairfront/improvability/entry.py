"""The entry function: search for a model that does the incumbent's job and treats groups less unequally."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from ..exceptions import InputError, Progress, progress_bar
from ..measures.cutoffs import Operating
from ..objectives import Groups
from ..validation import check_confidence, check_progress, check_seed
from ..validation.inputs import check_matrix, check_rows, check_weights
from .arguments import (
    FEWEST,
    named,
    read_attributes,
    read_budget,
    read_candidates,
    read_costs,
    read_families,
    read_flags,
    read_incumbent,
    read_labels,
    read_names,
    read_people,
    refuse_no_gap,
    refuse_reversed,
    texts_of,
)
from .estimates import Sample
from .families import FAMILIES, Data
from .record import Search
from .requirements import Requirements
from .result import Alternatives, result_of
from .split_search import Outcome, Plan, Split, atoms_of, search_split


def alternatives(
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    incumbent: Any = None,
    favourable: Any = None,
    keep: Mapping[str, float] | None = None,
    improve: str | Sequence[str] = "tpr_gap",
    approval_rate: float | None = None,
    cutoff: float | None = None,
    costs: Mapping[str, Any] | None = None,
    nobody_worse: float | None = None,
    labelled_only_if: Any = None,
    families: str | Sequence[str] | None = None,
    candidates: Mapping[str, Any] | None = None,
    groups: Groups | None = None,
    columns: Sequence[str] | None = None,
    sample_weight: Any = None,
    person: Any = None,
    n_splits: int = 20,
    max_fits: int | None = None,
    max_seconds: float | None = None,
    confidence: float = 0.95,
    random_state: int | None = 0,
    progress: bool | Literal["auto"] = "auto",
) -> Alternatives:
    """Search for a model that does the incumbent's job and treats groups less unequally, and test what is found.

    Rows are halved again and again. Families propose models from the one half; the most promising one there is tested
    on the other half, which nobody has looked at. The p-value is twice the median over the splits.

    Parameters
    ----------
    X : array, data frame or sparse matrix of shape (n, d)
        Features that alternatives may use; leave sensitive columns out unless you mean to use them.
    y : array of shape (n,) of two kinds of labels
    sensitive_features : array, series, frame or mapping
        The group of every row; several columns are taken each on its own unless ``groups`` crosses them.
    incumbent : scores, decisions, fitted model or None
        The model in use, by what it says of these rows, best ones that it was not trained on: on its own training rows
        it looks better than it is, and alternatives are harder to find. Scores are higher for whoever is more likely to
        be approved, whichever label is favourable. None: plain training stands in.
    favourable : the label that is good for the person; by default the second of the sorted classes
    keep : mapping of figures to tolerances
        What an alternative may lose against the incumbent: ``error``, ``auc``, ``gini``, ``ks``, ``log_loss``,
        ``bad_rate`` (among the approved), ``cost`` or ``profit``. By default ``{"auc": 0.005}``, of decisions
        ``{"error": 0.005}``.
    improve : str or list of str
        Gaps or ratios that must be better, any that `audit` gives of decisions: ``selection_gap``, ``tpr_gap``,
        ``fpr_gap``, ``fnr_gap``, ``odds_gap``, ``error_gap``, ``precision_gap``, ``npv_gap``,
        ``favourable_errors_gap``, ``f_score_gap``, ``balanced_accuracy_gap``, ``selection_ratio``, ``tpr_ratio``; of
        one attribute: ``sex.tpr_gap``.
    approval_rate, cutoff : float, optional
        Where an incumbent's scores decide; by default at 0.5 of probabilities, or as the model itself decides. All
        alternatives approve the share of people that the incumbent approves, but for the family "cutoffs".
    costs : mapping, optional
        Of outcomes (``false_positive``, ``false_negative``, ``true_positive``, ``true_negative``) to costs, a number or
        one per row, for ``cost`` and ``profit``.
    nobody_worse : float, optional
        By how much the selection rate and the TPR of any group may fall; unless given they may fall.
    labelled_only_if : array of shape (n,) of bool, optional
        Whose labels are known, such as those whom the incumbent approved. Labels of others are not read, and figures
        that need them are not given.
    families : str or list of str, optional
        Where alternatives come from: ``linear``, ``rates`` (both by default), ``boosting``, ``cutoffs``, ``features``,
        ``settings``, ``candidates``.
    candidates : mapping of names to fitted models or scores, optional
        Further alternatives, judged with the others; they should not have been trained on these rows.
    groups : Groups, optional
    columns : list of str, optional
        Of every column of X the column of your table that it codes, where indicators of levels are several.
    sample_weight : array of shape (n,) of weights, optional
    person : array of shape (n,), optional
        Whom each row is of, where people have several: their rows stay in one half, and are one draw in tests and
        bounds.
    n_splits : int, how often rows are halved
    max_fits, max_seconds : optional
        Budgets; a search that stops says why, and rests on the splits that were done.
    confidence : float, of the claims about single models
    random_state : int, seed of splits and fits
    progress : bool or "auto"

    Returns
    -------
    Alternatives
    """
    started = time.monotonic()
    check_progress(progress)
    seed, alpha = check_seed(random_state) or 0, 1.0 - check_confidence(confidence)
    budget = read_budget(n_splits, max_fits, max_seconds)
    n = check_rows(X)
    if n < FEWEST:
        raise InputError(f"X has {n} rows, expected at least {FEWEST}: one half is searched, the other judges.")
    labelled = None if labelled_only_if is None else read_flags(labelled_only_if, n)
    task, labels, codes = read_labels(y, n, favourable, labelled)
    weight = check_weights(sample_weight, n)
    attributes = read_attributes(sensitive_features, groups, n, codes == task.favourable, improve)
    prices = None if costs is None else read_costs(costs, n)
    people = None if person is None else read_people(person, n)
    share = np.ones(n) if weight is None else weight
    sample = Sample(codes == task.favourable, share, attributes, labelled, prices, people)
    operating = Operating(cutoff, approval_rate).check()
    here = read_incumbent(incumbent, X, labels, task, operating)
    wanted = Requirements.of(keep, improve, nobody_worse, attributes, scored=here.scored, costs=prices is not None)
    if labelled is not None:
        wanted.refuse_unlabelled()
    refuse_reversed(named(), here, sample)
    refuse_no_gap(wanted, sample, here)
    given = {} if candidates is None else read_candidates(candidates, X, labels, task, here, sample)
    names = read_families(families, bool(given))
    if here.answers is None or any(FAMILIES[name].numeric for name in names):
        check_matrix(X)
    texts = {each.name: texts_of(each) for each in attributes}
    reference = {each.name: each.reference for each in attributes}
    own = read_names(columns, X)
    data = Data(X, labels, texts, task, sample, wanted.notions, reference, here.answers, given, own)
    plan = Plan(wanted, names, budget, seed, approval_rate)

    with progress_bar(progress, "searching", budget.splits) as bar:
        first, splits, stopped = _searched(data, plan, started, bar)
    known: dict[str, Any] = {**vars(plan), "splits": splits, "stopped": stopped, "alpha": alpha}
    return result_of(Search(data=data, incumbent=here, outcome=first, **known))


def _searched(data: Data, plan: Plan, started: float, bar: Progress) -> tuple[Outcome, tuple[Split, ...], str]:
    """Return the first split whole, of all splits what the p-value rests on, and why the search stopped."""
    atoms, splits, fits, budget = atoms_of(data), list[Split](), 0, plan.budget
    first: Outcome | None = None
    for k in range(budget.splits):
        if first is not None and (why := budget.over(fits, started)):
            return first, tuple(splits), f"after {k} of {budget.splits} splits, {why}"
        found = search_split(data, plan, k, budget.left(fits), atoms)
        first = first or found
        splits.append(Split(found.p, found.fits, found.candidates[0].family if found.candidates else ""))
        fits += found.fits
        bar.update(k + 1, f"{k + 1} splits, {fits} fits")
    assert first is not None
    return first, tuple(splits), f"all {budget.splits} splits were done"
