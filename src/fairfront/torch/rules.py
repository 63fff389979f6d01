"""Rules: from the cells of a batch to the weights of the cell gradients, by the code that NumPy problems use.

A rule answers with beta (R, k): the gradient that the optimiser receives is G^T beta. PDO's common direction and
PB-PDO's capped step come from `solvers`; here they are written as gradients, without a step size of their own. A bridge
to TorchJD makes PDO one of its weightings, and its weightings rules (package torchjd).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from ..exceptions import InputError, require
from ..objectives import Algebra, Array
from ..solvers.base import TINY, Target
from ..solvers.capped_step import capped_step
from ..solvers.pdo import common_direction
from ..solvers.simplex import factor
from ..validation import check_callable, check_positive, refuse
from ..validation.inputs import as_numbers, check_preferences
from .modules import Tensor, torch


@dataclass(frozen=True, eq=False)
class Pace:
    """How far a step goes along the gradient, ``length``, and the share ``fresh`` of a batch in the averages.

    For runs that slide, ``size`` (R,) is the usual length of a batch's loss gradient, its noise included, and
    ``missed`` (R, q) by how much they should aim past the caps, as they fell short of them so far.
    """

    length: float
    fresh: float
    size: Array | None = None
    missed: Array | None = None


class Rule(Protocol):
    """Decides how much every cell gradient counts.

    A rule with an attribute ``by_values = True`` looks at cell values only and is never given inner products: its steps
    cost what ordinary training does.
    """

    def weights(self, algebra: Algebra, L: Array, Q: Array, pace: Pace) -> Array:
        """Return the weights beta (R, k) of the cell gradients.

        Parameters
        ----------
        algebra : Algebra
            From cell values to loss and gaps.
        L : array of shape (R, k)
            Cell values.
        Q : array of shape (R, k, k)
            Inner products of cell gradients.
        pace : Pace
            How far a step goes.
        """
        ...

    def merit(self, algebra: Algebra, L: Array) -> Array:
        """Return what early stopping watches on held-out rows, (R,), smaller is better: loss plus worst gap.

        Parameters
        ----------
        algebra, L
            As in `weights`.
        """
        return np.asarray(algebra.loss(L) + algebra.worst(L).max(axis=1))


@dataclass(frozen=True)
class PlainRule(Rule):
    """Ordinary training: the loss alone."""

    by_values: ClassVar[bool] = True

    def weights(self, algebra: Algebra, L: Array, Q: Array, pace: Pace) -> Array:
        return np.broadcast_to(algebra.p, L.shape).copy()

    def merit(self, algebra: Algebra, L: Array) -> Array:
        return algebra.loss(L)


@dataclass(frozen=True)
class SumRule(Rule):
    """A weighted sum of the objectives h, the usual way.

    Parameters
    ----------
    penalty : float
        Weight of every gap's objective; that of the loss is 1.
    """

    by_values: ClassVar[bool] = True
    penalty: float

    def __post_init__(self) -> None:
        check_positive(self.penalty, "penalty", zero=True)

    def weights(self, algebra: Algebra, L: Array, Q: Array, pace: Pace) -> Array:
        """Return A^T (1, penalty, ..., penalty)."""
        A = algebra.jacobian(L)
        return np.asarray(A[:, 0] + self.penalty * A[:, 1:].sum(axis=1))

    def merit(self, algebra: Algebra, L: Array) -> Array:
        h = algebra.objectives(L)
        return np.asarray(h[:, 0] + self.penalty * h[:, 1:].sum(axis=1))


@dataclass(frozen=True)
class DescentRule(Rule):
    """PDO: the common descent direction of loss and gaps (Algorithm 1).

    Parameters
    ----------
    band : float
        Gaps within it, in their own unit, are held there.
    pull : float
        This times what is fresh in the averages is the share of a held gap that a step takes back.
    """

    band: float = 1e-3
    pull: float = 0.25

    def __post_init__(self) -> None:
        check_positive(self.band, "band", zero=True)
        check_positive(self.pull, "pull", zero=True)

    def weights(self, algebra: Algebra, L: Array, Q: Array, pace: Pace) -> Array:
        F, z, A = factor(Q), algebra.gaps(L), algebra.jacobian(L)
        found = np.zeros_like(L)
        for r in range(len(L)):
            held = np.asarray(algebra.gap.even & algebra.two_sided & (np.abs(z[r]) <= self.band))
            direction = common_direction(A[r], algebra.B, F[r], z[r], held)
            found[r] = direction.down + self.pull * pace.fresh / pace.length * direction.back
        return found


@dataclass(frozen=True, eq=False)
class SlideRule(Rule):
    """PB-PDO: down the loss, and along to where caps or preferences want the gaps (Algorithm 2, case II).

    Differs from the paper as `solvers.PBPDO` does. The gradient is (p + B^T x / length) G, where a step of that length
    would bring every gap above its cap nearer to it. Every gap has its own way to go: were all led down level with the
    worst one, as `solvers.PBPDO` does on all rows at once, the noise of the smallest cell would decide for the others
    too. Noise in the inner products and optimisers with a metric of their own make real moves smaller than predicted,
    so that gaps would stay above their caps; runs therefore aim past a cap by what they missed.

    Parameters
    ----------
    target : Target
        Caps or preferences of R runs.
    pull : float
        This times what is fresh in the averages is the share of the way to its cap that a step takes a gap: at 1 gaps
        move as fast as the averages that watch them can follow, and more would make them swing.
    reach : float
        What moves gaps is at most this many times as long as a batch's loss gradient, so that noise cannot take over.
    insist : float
        How fast misses add up, in units of what is fresh.
    """

    target: Target
    pull: float = 1.0
    reach: float = 5.0
    insist: float = 0.125

    def _caps(self, algebra: Algebra, L: Array) -> Array:
        level = np.where(self.target.by_preference, self.target.pi[:, 0] * algebra.loss(L), np.nan)
        return self.target.caps_at(algebra, level)

    def weights(self, algebra: Algebra, L: Array, Q: Array, pace: Pace) -> Array:
        """Return p plus the multipliers of the gaps."""
        z, caps = algebra.gaps(L), self._caps(algebra, L)
        z = z if pace.missed is None else z + pace.missed
        size = np.where(algebra.two_sided, np.abs(z), z)
        near = caps + (1.0 - self.pull * pace.fresh) * np.maximum(size - caps, 0.0)
        eta = np.full(len(L), pace.length)
        x = capped_step(algebra, Q, z, near, eta).x / pace.length
        along = x @ algebra.B
        length = np.sqrt(np.maximum(np.einsum("rk,rkl,rl->r", along, Q, along), 0.0))
        longest = np.full(len(L), np.inf) if pace.size is None else self.reach * pace.size
        return np.asarray(algebra.p + np.minimum(1.0, longest / np.maximum(length, TINY))[:, None] * along)

    def missed(self, algebra: Algebra, L: Array, before: Array | None, fresh: float) -> Array:
        """Return by how much to aim past the caps, (R, q): it grows while a gap is above its cap and fades below.

        Parameters
        ----------
        algebra, L
            As in `weights`.
        before : array of shape (R, q) or None
            What was missed so far; None at the first step.
        fresh : float
            Share of a batch in the averages.
        """
        z = algebra.gaps(L)
        side = np.where(algebra.two_sided, np.sign(z), 1.0)
        so_far = np.zeros_like(z) if before is None else np.maximum(side * before, 0.0)
        return np.asarray(side * np.maximum(so_far + self.insist * fresh * (side * z - self._caps(algebra, L)), 0.0))

    def merit(self, algebra: Algebra, L: Array) -> Array:
        """Return the largest pi_i h_i of preferences, and loss plus worst excess of caps."""
        h, z = algebra.objectives(L), algebra.gaps(L)
        over = np.maximum(np.where(algebra.two_sided, np.abs(z), z) - self._caps(algebra, L), 0.0).max(axis=1)
        return np.asarray(np.where(self.target.by_preference, (self.target.pi * h).max(axis=1), h[:, 0] + over))


@dataclass(frozen=True, eq=False)
class WeightingRule(Rule):
    """A weighting of TorchJD, or any function of a Gramian (m, m), as the rule of a `FairStep`.

    It sees the Gramian A Q A^T of loss and gaps, and its weights alpha become beta = A^T alpha.

    Parameters
    ----------
    weighting : function
        From a tensor (m, m) to one of m weights, the loss first.
    """

    weighting: Any

    def __post_init__(self) -> None:
        check_callable(self.weighting, "weighting", "a weighting of TorchJD, or a function of a Gramian")

    def weights(self, algebra: Algebra, L: Array, Q: Array, pace: Pace) -> Array:
        """Return A^T alpha of every run."""
        A = algebra.jacobian(L)
        values, vectors = np.linalg.eigh(Q)  # products of different batches need not be positive semi-definite
        nearest = np.einsum("rij,rj,rkj->rik", vectors, np.maximum(values, 0.0), vectors)
        gramians = np.einsum("rmk,rkl,rnl->rmn", A, nearest, A)
        with torch.no_grad():
            alpha = np.stack([self.weighting(torch.as_tensor(each)).double().cpu().numpy() for each in gramians])
        return np.asarray(np.einsum("rm,rmk->rk", alpha, A))


def pdo_weights(gramian: Tensor) -> Tensor:
    """Return PDO's m weights for gradients with this Gramian.

    The smallest vector in the hull of the unit gradients, solved exactly, with the length of the loss gradient's; rows
    of length 0 have weight 0.

    Parameters
    ----------
    gramian : tensor of shape (m, m)
        Inner products of the gradients, the loss's first.
    """
    if not isinstance(gramian, torch.Tensor) or gramian.ndim != 2 or len(set(gramian.shape)) != 1:
        raise refuse("gramian", gramian, "a tensor of shape (m, m)")
    F = factor(np.asarray(gramian.detach().double().cpu().numpy())[None])[0]
    m = len(F)
    no_gaps = np.zeros(m - 1)
    direction = common_direction(np.eye(m), np.zeros((m - 1, m)), F, no_gaps, no_gaps > 0)
    return torch.as_tensor(direction.down, dtype=gramian.dtype, device=gramian.device)


def pdo_weighting() -> Any:
    """Return PDO as a `torchjd.aggregation.Weighting`, for TorchJD's own engines."""
    base = require("torchjd.aggregation", "torchjd", "pdo_weighting").Weighting

    class PDOWeighting(base):  # type: ignore[misc, valid-type]
        """Weights of the common descent direction with unit gradients (Algorithm 1)."""

        def forward(self, gramian: Tensor, /) -> Tensor:
            return pdo_weights(gramian)

    return PDOWeighting()


def rule_for(algebra: Algebra, runs: int, max_gap: Any, preference: Any, rule: Rule | None) -> Rule:
    if sum(each is not None for each in (max_gap, preference, rule)) > 1:
        raise InputError("expected at most one of max_gap, preference and rule, found more; leave the others out.")
    if rule is None and not algebra.gap.even:
        raise InputError(f"gap {algebra.gap.name!r} exists in paper mode only; use gap='squared' with modules.")
    if preference is not None:
        rule = SlideRule(Target.from_preferences(check_preferences(preference, algebra.names)))
    elif max_gap is not None:
        caps = np.atleast_1d(as_numbers(max_gap, "max_gap"))
        if isinstance(max_gap, bool) or caps.ndim > 1 or not caps.size:
            raise refuse("max_gap", max_gap, "a number of at least 0, or one per run")
        for cap in caps:
            check_positive(float(cap), "max_gap", zero=True)
        rule = SlideRule(Target.from_caps(np.repeat(caps[:, None], len(algebra.b), axis=1)))
    elif rule is None:
        rule = DescentRule()
    if isinstance(rule, type) or not all(callable(getattr(rule, name, None)) for name in ("weights", "merit")):
        raise refuse("rule", rule, "a rule such as fairfront.torch.PlainRule()")
    if isinstance(rule, SlideRule) and len(rule.target.pi) != runs:
        raise InputError(
            f"there are caps or preferences for {len(rule.target.pi)} runs, expected {runs}, one for each module; use "
            "fairfront.torch.trace for several."
        )
    return rule
