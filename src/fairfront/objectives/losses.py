"""Tasks, losses and measures: what labels are, and functions of (score, target) that are averaged over rows.

Scores have the shape (..., K, n): K = 1 for binary and regression, one row per class for softmax.
Values have the shape (..., n), slopes (..., K, n), curvatures (..., K, K, n).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from ..validation import Registry, check_positive
from .stock_models import linear_svc, logistic_regression, ridge

Array = NDArray[np.float64]
Kind = Literal["binary", "multiclass", "regression"]
Stock = Callable[["Task", float, bool], Any]
"""From task, strength (ridge times the sum of weights: alpha, or 1 / C) and intercept to a model of scikit-learn."""


@dataclass(frozen=True)
class Task:
    """The kind of prediction, its classes (none for regression), and the index of the one that is good for a person."""

    kind: Kind
    classes: tuple[Any, ...] = ()
    favourable: int = 0

    @property
    def favourable_label(self) -> Any:
        return self.classes[self.favourable] if self.classes else None

    @property
    def label_codes(self) -> tuple[int, ...]:
        """Return the codes that distinguish atoms: one per class, a single one for regression."""
        return tuple(range(max(1, len(self.classes))))

    def targets(self, y: Any) -> Array:
        """Return what losses read of class indices: -1 and +1 for two classes, the index for more; or of values."""
        values = np.asarray(y, dtype=np.float64)
        return np.asarray(2.0 * values - 1.0 if self.kind == "binary" else values)


class Measure(ABC):
    """A per-sample function of (score, own target): a loss, or a smooth rate; knows nothing about groups or data."""

    convex: ClassVar[bool] = True
    linear: ClassVar[bool] = False

    @abstractmethod
    def value_slope(self, score: Array, target: Array) -> tuple[Array, Array]:
        """Return value and derivative with respect to the score (a subgradient at a kink), in new arrays.

        Parameters
        ----------
        score : array of shape (..., K, n)
        target : array of shape (n,)
            What `Task.targets` gives: -1 and +1, class indices, or values.
        """

    @abstractmethod
    def curvature(self, score: Array, target: Array) -> Array:
        """Return the second derivative with respect to the score."""


class Loss(Measure):
    """A per-sample training loss.

    ``kinds`` are the labels that it is for, the first of them what labels are taken to be. ``smooth`` losses have no
    kink. Of a ``likelihood`` the scores are log-odds, so that they give probabilities. ``stock`` makes the linear model
    of scikit-learn, not yet fitted, whose plain fit minimises this loss. It is not inherited, because a loss that is
    made of another one is another loss; models of a loss without it are coefficients alone. ``of_mean`` says that its
    penalty is one on the mean loss, not on the sum. A regression's loss with a ``link`` has scores that are that
    function of the mean, and predicts `mean` of them.
    """

    name: ClassVar[str]
    kinds: ClassVar[tuple[Kind, ...]]
    smooth: ClassVar[bool] = True
    likelihood: ClassVar[bool] = False
    stock: ClassVar[Stock | None] = None
    of_mean: ClassVar[bool] = False
    link: ClassVar[str] = ""

    def mean(self, score: Array) -> Array:
        """Return predictions: the scores, unless there is a link.

        Parameters
        ----------
        score : array of any shape
        """
        return score

    def begin(self, mean: float) -> float:
        """Return the score to start from.

        Parameters
        ----------
        mean : float, that of the targets
        """
        return 0.0

    def size(self, mean: float, variance: float) -> float:
        """Return the order of magnitude of losses, in their unit, which is 1 where losses have none.

        Parameters
        ----------
        mean, variance : float, of the targets
        """
        return 1.0

    def of_values(self, values: Array) -> Loss:
        """Return the loss for these targets, and refuse those that it has no value for.

        Parameters
        ----------
        values : array of shape (n,)
        """
        return self

    def n_scores(self, task: Task) -> int:
        """Return K, the number of scores per sample.

        Parameters
        ----------
        task : Task
            The kind of labels and their classes.
        """
        return 1

    def smoothed(self, width: float) -> Loss:
        """Return a smooth loss near this one; a smooth loss is its own.

        Parameters
        ----------
        width : float
            Width, in units of the score, over which kinks are rounded.
        """
        return self


class MarginLoss(Loss):
    """A loss of the margin ``u = target * score`` with targets -1 and +1."""

    kinds = ("binary",)

    def value_slope(self, score: Array, target: Array) -> tuple[Array, Array]:
        value, slope = self.margin(score[..., 0, :] * target)
        slope *= target
        return value, slope[..., None, :]

    def curvature(self, score: Array, target: Array) -> Array:
        return self.margin_curvature(score[..., 0, :] * target)[..., None, None, :]

    @abstractmethod
    def margin(self, u: Array) -> tuple[Array, Array]:
        """Return value and derivative in the margin (new arrays)."""

    @abstractmethod
    def margin_curvature(self, u: Array) -> Array:
        """Return the second derivative in the margin."""


@dataclass(frozen=True)
class Logistic(MarginLoss):
    """log(1 + exp(-u)), the negative log-likelihood of a logistic model."""

    name = "logistic"
    likelihood = True
    stock: ClassVar[Stock | None] = logistic_regression

    def margin(self, u: Array) -> tuple[Array, Array]:
        """Without overflow for any u."""
        small = np.abs(u)
        np.negative(small, out=small)
        np.exp(small, out=small)
        value = np.log1p(small)
        value -= np.minimum(u, 0.0)
        slope = np.where(u >= 0.0, small, 1.0)
        small += 1.0
        slope /= small
        np.negative(slope, out=slope)
        return value, slope

    def margin_curvature(self, u: Array) -> Array:
        small = np.exp(-np.abs(u))
        return np.asarray(small / (1.0 + small) ** 2)


@dataclass(frozen=True)
class Hinge(MarginLoss):
    """max(0, 1 - u), the support vector machine's loss; its slope at the kink is taken as 0."""

    name = "hinge"
    smooth = False
    stock: ClassVar[Stock | None] = partial(linear_svc, "hinge")

    def margin(self, u: Array) -> tuple[Array, Array]:
        return np.maximum(0.0, 1.0 - u), -(u < 1.0).astype(np.float64)

    def margin_curvature(self, u: Array) -> Array:
        return np.zeros_like(u)

    def smoothed(self, width: float) -> Loss:
        return SmoothedHinge(width=width)


@dataclass(frozen=True)
class SmoothedHinge(MarginLoss):
    """Hinge whose kink is a parabola over the band 1 - width < u < 1; it is below the hinge by at most width / 2."""

    name = "smoothed_hinge"
    stock: ClassVar[Stock | None] = partial(linear_svc, "hinge")
    width: float = 0.5

    def __post_init__(self) -> None:
        check_positive(self.width, "width")

    def margin(self, u: Array) -> tuple[Array, Array]:
        """Return 0, (1 - u)^2 / (2 width) or 1 - u - width / 2, and its derivative."""
        short = np.clip(1.0 - u, 0.0, self.width)
        value = short * (1.0 - u - short / 2.0) / self.width
        return np.where(u >= 1.0, 0.0, value), -short / self.width

    def margin_curvature(self, u: Array) -> Array:
        return np.where((u < 1.0) & (u > 1.0 - self.width), 1.0 / self.width, 0.0)

    def smoothed(self, width: float) -> Loss:
        return replace(self, width=max(width, self.width))


@dataclass(frozen=True)
class SquaredHinge(MarginLoss):
    """max(0, 1 - u)^2, the default loss of scikit-learn's LinearSVC."""

    name = "squared_hinge"
    stock: ClassVar[Stock | None] = partial(linear_svc, "squared_hinge")

    def margin(self, u: Array) -> tuple[Array, Array]:
        short = np.maximum(0.0, 1.0 - u)
        return short**2, -2.0 * short

    def margin_curvature(self, u: Array) -> Array:
        return np.where(u < 1.0, 2.0, 0.0)


@dataclass(frozen=True)
class Squared(Loss):
    """(score - target)^2 / 2."""

    name = "squared"
    kinds = ("regression", "binary")
    stock: ClassVar[Stock | None] = ridge

    def value_slope(self, score: Array, target: Array) -> tuple[Array, Array]:
        residual = score - target
        return 0.5 * residual[..., 0, :] ** 2, residual

    def curvature(self, score: Array, target: Array) -> Array:
        return np.ones_like(score)[..., None, :]

    def size(self, mean: float, variance: float) -> float:
        return 0.5 * variance


@dataclass(frozen=True)
class Softmax(Loss):
    """Negative log-likelihood of a multinomial model; the target is the class index."""

    name = "softmax"
    kinds = ("multiclass",)
    likelihood = True
    stock: ClassVar[Stock | None] = logistic_regression

    def n_scores(self, task: Task) -> int:
        return len(task.classes)

    def value_slope(self, score: Array, target: Array) -> tuple[Array, Array]:
        """Return logsumexp(score) - score[target] and softmax(score) - onehot(target)."""
        hot = one_hot(target, score.shape[-2])
        top = score.max(axis=-2, keepdims=True)
        exped = np.exp(score - top)
        total = exped.sum(axis=-2, keepdims=True)
        value = np.log(total[..., 0, :]) + top[..., 0, :] - (score * hot).sum(axis=-2)
        exped /= total
        exped -= hot
        return value, exped

    def curvature(self, score: Array, target: Array) -> Array:
        """Return diag(s) - s s^T with s = softmax(score, axis=-2)."""
        s: Array = softmax(score, axis=-2)
        block = -s[..., :, None, :] * s[..., None, :, :]
        index = np.arange(s.shape[-2])
        block[..., index, index, :] += s
        return block


def one_hot(target: Any, width: int) -> Array:
    return np.asarray(np.arange(width)[:, None] == target, dtype=np.float64)


LOSSES: Registry[type[Loss]] = Registry("loss", Logistic, Hinge, SmoothedHinge, SquaredHinge, Softmax, Squared)
