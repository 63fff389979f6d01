"""Traces: the frontier that settings ask for, of the training rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..exceptions import InputError, spelled, spelling
from ..frontier import Frontier
from ..frontier.linear_models import LinearModels
from ..frontier.rate_frontier import Rates
from ..frontier.rule_models import RuleModels
from ..objectives import Groups
from ..solvers import Weighting
from ..tracing import trace
from ..validation import is_dask
from .preparation import Prepared
from .settings import Settings

WORDS = {"min_size": "min_size (--min-size on the command line)"}
"""A table's groups are named by columns and have no Groups of their own to lower a size in."""


def traced(ready: Prepared, **kept: Any) -> Frontier:
    settings, rule, train = ready.settings, ready.settings.operating, ready.part("train")
    if rule.asked is not None and not is_dask(train.y) and (classes := len(np.unique(np.asarray(train.y)))) > 2:
        rule.refuse(f"{classes} classes of {settings.target!r}")  # Dask collections tell their classes later
    known: dict[str, Any] = {
        **train.people,
        **train.within,
        "favourable": ready.people.favourable,
        "notion": list(settings.notion),
        "surrogate": settings.surrogate,
        "loss": settings.loss,
        "groups": Groups(
            dict(settings.reference) or None,
            settings.cross,
            settings.min_size,
            strata=settings.strata,
            compare=settings.compare,
        ),
        "random_state": settings.seed,
        "person": train.person,
        **kept,
    }
    if settings.signs:
        known["signs"] = _signed(settings.signs, ready.encoder.feature_names)
    asked = {} if rule.asked is None else {rule.asked: getattr(rule, rule.asked)}
    with spelling(WORDS):
        if settings.units == "rates":
            return _ruled(ready, known)
        if settings.model == "boosting":
            known["solver"] = Weighting(max_fits=settings.max_fits)
            known["held_out"] = None if ready.sizes["validation"] else asked or True
            return trace(train.X, train.y, estimator=_boosted_trees(settings), **known)
        held: Any = None if rule.asked is None else False  # cut-offs are placed on validation
        known["held_out"] = held if ready.sizes["validation"] else asked or True
        front = trace(train.X, train.y, ridge=settings.ridge, n_points=settings.n_points, **known)
    assert isinstance(front.models, LinearModels)
    models = replace(front.models, feature_names=ready.encoder.feature_names)
    return replace(front, models=models, source=None)


def _signed(signs: tuple[tuple[str, str], ...], names: tuple[str, ...]) -> dict[str | int, str]:
    """Return places of features with their signs."""
    for column, _ in signs:
        if column not in names:
            raise InputError(
                f"{spelled('signs')} names {column!r}, expected a column of numbers that models read; leave it out, or "
                "read it as numbers."
            )
    return {names.index(column): sign for column, sign in signs}


def _ruled(ready: Prepared, known: dict[str, Any]) -> Frontier:
    """Trace in rates; the operating point is inside the rules, and training rows are judged by those left out."""
    settings, train = ready.settings, ready.part("train")
    learner = None if settings.model == "linear" else _boosted_trees(settings)
    asked = settings.operating
    known |= {
        "units": Rates(asked.cutoff, asked.approval_rate, asked.costs),
        "held_out": None if ready.sizes["validation"] else True,
    }
    known |= {"ridge": settings.ridge, "n_points": settings.n_points}
    front = trace(train.X, train.y, estimator=learner, **known)
    assert isinstance(front.models, RuleModels)
    models = replace(front.models, feature_names=ready.encoder.feature_names)
    return replace(front, models=models, source=None)


def _boosted_trees(settings: Settings) -> Any:
    """Scikit-learn's defaults and the run's seed, so that a rerun is the same."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    kind = HistGradientBoostingRegressor if settings.regression else HistGradientBoostingClassifier
    return kind(random_state=settings.seed)
