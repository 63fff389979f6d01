"""A bridge to TorchJD: PDO as one of its weightings, and its weightings as our inner rule (package torchjd)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..exceptions import require
from ..objectives import Algebra, Array
from ..solvers.simplex import factor, min_norm
from ..validation import check_callable, refuse
from .averaging import positive
from .backend import Tensor, torch
from .pacing import Pace


@dataclass(frozen=True, eq=False)
class WeightingRule:
    """A weighting of TorchJD, or any function of a Gramian (m, m), as the rule of a `FairStep`.

    It sees the Gramian A Q A^T of loss and gaps, and its weights alpha become beta = A^T alpha.
    """

    weighting: Any

    def __post_init__(self) -> None:
        check_callable(self.weighting, "weighting", "a weighting of TorchJD, or a function of a Gramian")

    def weights(self, algebra: Algebra, L: Array, Q: Array, pace: Pace) -> Array:
        """Return A^T alpha of every run."""
        A = algebra.jacobian(L)
        gramians = np.einsum("rmk,rkl,rnl->rmn", A, positive(Q), A)
        alpha = np.stack([self._alpha(each) for each in gramians])
        return np.asarray(np.einsum("rm,rmk->rk", alpha, A))

    def _alpha(self, gramian: Array) -> Array:
        with torch.no_grad():
            found = self.weighting(torch.as_tensor(gramian))
        return np.asarray(found.double().cpu().numpy())

    def merit(self, algebra: Algebra, L: Array) -> Array:
        """Return loss plus worst gap."""
        return np.asarray(algebra.loss(L) + algebra.worst(L).max(axis=1))


def pdo_weights(gramian: Tensor) -> Tensor:
    """Return PDO's weights for gradients with this Gramian (m, m), the loss first.

    The smallest vector in the hull of the unit gradients, solved exactly, with the length of the loss gradient's; rows
    of length 0 have weight 0.
    """
    if not isinstance(gramian, torch.Tensor) or gramian.ndim != 2 or len(set(gramian.shape)) != 1:
        raise refuse("gramian", gramian, "a tensor of shape (m, m)")
    M = np.asarray(gramian.detach().double().cpu().numpy())
    J = factor(M[None])[0]
    norms = np.linalg.norm(J, axis=1)
    used = norms > 1e-14 * max(float(norms.max()), 1e-300)
    found = np.zeros(len(M))
    if used.any():
        length = norms[0] if used[0] else norms[used].max()
        found[used] = length * min_norm((J[used] / norms[used, None])[None])[0] / norms[used]
    return torch.as_tensor(found, dtype=gramian.dtype, device=gramian.device)


def pdo_weighting() -> Any:
    """Return PDO as a `torchjd.aggregation.Weighting`, for TorchJD's own engines."""
    base = require("torchjd.aggregation", "torchjd", "pdo_weighting").Weighting

    class PDOWeighting(base):  # type: ignore[misc, valid-type]
        """Weights of the common descent direction with unit gradients (Algorithm 1)."""

        def forward(self, gramian: Tensor, /) -> Tensor:
            """Return the weights of the objectives' gradients."""
            return pdo_weights(gramian)

    return PDOWeighting()
