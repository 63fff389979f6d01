"""Frontier: the frozen result of tracing, its models, objectives and evaluations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..measures import Calibration
from ..objectives import warn_of_names
from ..validation import check_instance
from .estimator_models import at_cutoff
from .explanation import Explanation, calibration_of, explain_pair, overlaid, recalibrated
from .frontier_columns import FrontierColumns


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
    """

    @classmethod
    def from_models(
        cls, models: Mapping[str, Any], X: Any, y: Any, *, sensitive_features: Any, **options: Any
    ) -> Frontier:
        """Judge one's own models together; axes are the error and the worst rate gap.

        Parameters
        ----------
        models : mapping of str to model
            Fitted estimators, or functions of X that return labels, probabilities or predictions.
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

    def overlay(self, other: Frontier, *axes: str, on: str | None = None) -> dict[str, Any]:
        """Return both frontiers' points in one table with who dominates whom.

        Parameters
        ----------
        other : Frontier that was evaluated on the same rows by the same rule
        *axes, on : str
            Figures to compare on, by default ``error`` and ``tpr_gap``, and their evaluation, by default "validation".
        """
        check_instance(other, Frontier, "other", "a Frontier")
        return overlaid(self, other, axes or ("error", "tpr_gap"), on)

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
            default "validation"; bounds hold for the upper ends of gaps and the lower ends of ratios, unless
            ``confidence=None``. Points that decide nearly everyone alike are chosen by ``id`` alone.
        """
        if "id" not in rule:
            warn_of_names(self.proxies)
        place = self.place(self.choose(**rule))
        return at_cutoff(self.models.build(place), self.operating(rule.get("on")), place, self.facts.task)

    def refine(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any,
        between: tuple[int, int],
        n: int = 5,
        sample_weight: Any = None,
    ) -> Frontier:
        """Return this frontier with more solved points; evaluations cover the old points only and go.

        Parameters
        ----------
        X, y, sensitive_features, sample_weight
            The data of training; others are refused.
        between, n
            Ids of two points, and how many to add between them, with caps at even distances.
        """
        from .linear_frontier import refine_between

        return refine_between(self, (X, y, sensitive_features, sample_weight), between, n)

    def explain(
        self, before: int, after: int, X: Any = None, y: Any = None, *, sensitive_features: Any = None
    ) -> Explanation:
        """Say how two points differ: coefficients that moved and, with data, who gains and who loses.

        Parameters
        ----------
        before, after : ids of two points
        X, y, sensitive_features : rows whose decisions are compared; all three or none
        """
        return explain_pair(self, before, after, X, y, sensitive_features)

    def calibration(
        self, id: int, X: Any, y: Any, *, sensitive_features: Any, sample_weight: Any = None
    ) -> dict[str, Calibration]:
        """Return per attribute how well a model's probabilities fit each group; compare with `recalibrate`'s.

        Parameters
        ----------
        id : int
        X, y, sensitive_features, sample_weight
            Rows that the point was not trained on.
        """
        return calibration_of(self, id, X, y, sensitive_features, sample_weight)

    def recalibrate(self, X: Any, y: Any, *, sample_weight: Any = None) -> Frontier:
        """Return this frontier with probabilities fitted to held-out rows, the same map for every group.

        Every model's scores are scaled and shifted (Platt); decisions at one half move with them, so evaluations are
        dropped and have to be made again.

        Parameters
        ----------
        X, y, sample_weight : the held-out rows
        """
        return recalibrated(self, X, y, sample_weight)

    def postprocess(self, X: Any, y: Any, *, sensitive_features: Any, **options: Any) -> Frontier:
        """Return models with a threshold per group; they need the group at prediction, which has to be allowed.

        Parameters
        ----------
        X, y, sensitive_features
            Rows to place the thresholds on, best rows that the model was not trained on. One sensitive column.
        **options
            ``allow_group_at_prediction`` has to be True: the models that come back decide by the group of the person.
            ``notion`` compares true or false positive rates or selection rates, by default as the frontier does. A gap
            of 0 is always reachable (decide alike for everybody), at some cost in error; for equalized odds one
            threshold per group brings two rates together, so points may be few and err as a constant does near 0.
            ``id`` is the point to post-process, by default plain training. At most ``n_points`` come back, by default
            50, spaced evenly in the gap; None: all. ``name`` is that of the evaluation; ``sample_weight`` of the rows.
        """
        from .group_thresholds import postprocess_frontier

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
        path, **options
            The file to write, and options of `fairfront.explorer.write_explorer`.
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
        path : path
            A folder that does not exist yet; the one above it does.
        overwrite : whether to replace a frontier that was saved there before; anything else stays
        """
        from .store import save_frontier

        return save_frontier(self, path, overwrite=overwrite)
