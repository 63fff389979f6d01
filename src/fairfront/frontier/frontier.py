"""Frontier: the frozen result of tracing, its models, objectives and evaluations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import expit

from ..exceptions import InputError
from ..measures.calibration import Calibration, calibration_table
from ..measures.moves import flips
from ..objectives import warn_of_names
from .estimator_models import at_cutoff
from .explanation import Explanation
from .frontier_columns import FrontierColumns
from .judgement import held_rows
from .linear_models import LinearModels

ROUNDING = 1e-9
"""A coefficient that is smaller than this share of the other one has no sign of its own."""


class Frontier(FrontierColumns):
    """Models between accuracy and fairness, from the smallest loss to the smallest gap.

    Attributes
    ----------
    models : Models
        The N models; those of linear ones have ``coef`` and ``intercept``, all have ``scores(X)`` and ``build(place)``.
    points : Points
        What is known of each of them from training. Its columns are attributes of the frontier too.
    facts : Facts, what the frontier was made from
    evaluations : mapping of str to Evaluation
        Rates on other data, by the name that `evaluate` was given.
    visited : Visited or None
        With ``solver=ff.PBPDO(visited=True)`` and the like: the non-dominated points that runs passed on their way,
        any number, with ``loss``, ``gaps``, ``weights``, ``run`` and ``step``. They are not saved.
    source : Source or None
        Of a frontier just traced, its rows and path, which `at` needs. Files and copies leave it out.
    """

    @classmethod
    def from_models(
        cls, models: Mapping[str, Any], X: Any, y: Any, *, sensitive_features: Any, **options: Any
    ) -> Frontier:
        """Judge one's own models together; axes are the error and the worst rate gap.

        Parameters
        ----------
        models : fitted estimators, or functions of X that return labels, probabilities or predictions
        X, y, sensitive_features : the rows to judge on
        **options
            ``notion`` (of the second axis), ``name`` (of the evaluation), ``favourable``, ``groups``,
            ``sample_weight``, ``task``; ``cutoff``, ``approval_rate`` (one share of favourable decisions for all) or
            ``costs``, as in `evaluate`.
        """
        from .candidates import from_models

        return from_models(models, X, y, sensitive_features=sensitive_features, **options)

    @classmethod
    def from_scores(cls, scores: Any, y: Any, *, sensitive_features: Any, **options: Any) -> Frontier:
        """Judge scores or decisions of any origin, as `from_models` judges models.

        Parameters
        ----------
        scores : scores of the second label, or decisions, by name or as (N, n)
        y, sensitive_features, **options : as in `from_models`
        """
        from .candidates import from_scores

        return from_scores(scores, y, sensitive_features=sensitive_features, **options)

    def select(self, **rule: Any) -> Any:
        """Return the chosen model as a stock scikit-learn estimator that needs no fairfront.

        A model that was judged at an operating point decides at its cut-off: scikit-learn's `FixedThresholdClassifier`
        around the fitted model, whose probabilities stay as they were. Others decide at 0.5.

        Parameters
        ----------
        **rule
            ``id=17``; ``knee=True``; ``preference=[1, 50]``; or bounds on columns, ``at_most={"tpr_gap": 0.02}``,
            ``at_least={"selection_ratio": 0.8}``, ``within={"auc": 0.005}`` of the best, and what is best among those:
            ``least="tpr_gap"``, ``most="auc"``, by default the smallest error. Rates are of the evaluation ``on``, by
            default "validation"; bounds hold for the upper bounds of gaps and the lower bounds of ratios, unless
            ``confidence=None``. Points that decide nearly everyone alike are chosen by ``id`` alone.
        """
        if "id" not in rule:
            warn_of_names(self.proxies)
        place = self.place(self.choose(**rule))
        return at_cutoff(self.models.build(place), self.operating(rule.get("on")), place, self.facts.task)

    def at(self, *, gap: float | None = None, loss: float | None = None) -> Frontier:
        """Return the frontier's point at another gap or loss, as a frontier of one model, solved and certified anew.

        It takes a small share of a trace, because the points around it predict it. It is for frontiers just traced by
        Newton: they refer to their rows until they are saved or copied. Rules choose among the points of a frontier.

        Parameters
        ----------
        gap : float, optional
            Largest gap of any notion, in the unit of ``facts.unit``; caps of several notions shrink together.
        loss : float, optional
            Training loss with its ridge; give one of the two.

        Examples
        --------
        >>> import fairfront as ff
        >>> data = ff.datasets.load_loans()
        >>> front = ff.trace(data.matrix()[0], data.y, sensitive_features=data.columns["group"], held_out=False)
        >>> one = front.at(gap=0.05)
        >>> round(float(one.gaps.max()), 6), len(one)
        (0.05, 1)
        """
        from .linear_frontier import point_at

        return point_at(self, gap, loss)

    def explain(
        self, before: int, after: int, X: Any = None, y: Any = None, *, sensitive_features: Any = None
    ) -> Explanation:
        """Say how two points differ: coefficients that moved and, with data, who gains and who loses.

        Parameters
        ----------
        before, after : ids of two points
        X, y, sensitive_features : rows whose decisions are compared; all three or none
        """
        places, models, task = [self.place(before), self.place(after)], self.models, self.facts.task
        weights = models.weights[places]
        names = models.feature_names or tuple(f"x{j}" for j in range(models.n_features or 0))
        of_favourable = weights[:, task.favourable if task.kind == "multiclass" else 0, : len(names)]
        one, two = -of_favourable if task.kind == "binary" and task.favourable == 0 else of_favourable
        small, large = np.minimum(np.abs(one), np.abs(two)), np.maximum(np.abs(one), np.abs(two))
        crossed = (one * two < 0) & (small > ROUNDING * large)
        order = np.argsort(-np.abs(two - one), kind="stable")
        strength, moved = None, {}
        if X is not None:
            if y is None or sensitive_features is None:
                raise InputError("explain with data needs X, y and sensitive_features, found one of them missing.")
            held = held_rows(self, X, y, sensitive_features)
            strength = held.group_auc(order)
            if task.kind != "regression":
                decided = models.decisions(held.X, self.operating())[1][places] == task.favourable
                good = held.labels == task.favourable
                moved = {
                    a.name: flips(decided[0], decided[1], good, a.codes, a.levels)
                    for a in held.attributes
                    if a.codes is not None
                }
        return Explanation(tuple(names[i] for i in order), one[order], two[order], crossed[order], strength, moved)

    def calibration(
        self, id: int, X: Any, y: Any, *, sensitive_features: Any, sample_weight: Any = None
    ) -> dict[str, Calibration]:
        """Return per attribute how well a model's probabilities fit each group.

        Parameters
        ----------
        id : int
        X, y, sensitive_features, sample_weight : rows that the point was not trained on
        """
        models = self.models
        if not isinstance(models, LinearModels) or not models.probable.all():
            raise InputError("calibration is about probabilities, expected a frontier of binary logistic models.")
        held = held_rows(self, X, y, sensitive_features, sample_weight)
        probability = expit(models.scores(held.X)[self.place(id), 0])
        return {
            a.name: calibration_table(
                probability, held.labels == 1, a.membership() if a.codes is None else a.codes, a.levels, held.weight
            )
            for a in held.attributes
        }

    def postprocess(self, X: Any, y: Any, *, sensitive_features: Any, **options: Any) -> Frontier:
        """Return models with a threshold per group; they need the group at prediction, which has to be allowed.

        Parameters
        ----------
        X, y, sensitive_features
            Rows to place the thresholds on, best rows that the model was not trained on. One sensitive column. The
            evaluation "held_out", which rules read, judges each of ten folds of them by thresholds placed on the rest.
        **options
            ``allow_group_at_prediction`` has to be True: the models that come back decide by the group of the person.
            ``notion`` compares true or false positive rates or selection rates, by default as the frontier does. A gap
            of 0 is always reachable (decide alike for everybody), at some cost in error; for equalized odds one
            threshold per group brings two rates together, so points may be few and err as a constant does near 0.
            ``id`` is the point to post-process, by default the unconstrained one. At most ``n_points`` come back, by
            default 50, evenly in the gap; None: all. ``name`` is that of the evaluation; ``sample_weight`` of rows.
        """
        from .threshold_frontier import postprocess_frontier

        return postprocess_frontier(self, X, y, sensitive_features=sensitive_features, **options)

    def plot(self, **options: Any) -> Any:
        """Draw the frontier with matplotlib (extra ``plot``) and return the axes.

        Parameters
        ----------
        **options : those of `fairfront.plots.plot_frontier`
        """
        from ..plots import plot_frontier

        return plot_frontier(self, **options)

    def to_html(self, path: Any, **options: Any) -> Any:
        """Write the explorer, one self-contained page in which a person chooses, and return its path.

        Parameters
        ----------
        path, **options : the file to write, and options of `fairfront.explorer.write_explorer`
        """
        from ..explorer import write_explorer

        return write_explorer(self, path, **options)

    def _repr_html_(self) -> str:
        from ..explorer import frontier_fragment

        return frontier_fragment(self)

    def save(self, path: Any, *, overwrite: bool = False) -> Any:
        """Write a folder of arrays and JSON, which execute nothing when `fairfront.load` reads them; return its path.

        Parameters
        ----------
        path : a folder that does not exist yet; the one above it does
        overwrite : whether to replace a frontier that was saved there before; anything else stays
        """
        from .store import save_frontier

        return save_frontier(self, path, overwrite=overwrite)
