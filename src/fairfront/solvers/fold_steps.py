"""Folds in one step: the models that points would be without each fold of the rows, with their gaps kept.

From a solved point w with multipliers lambda, a fold is left out by one Newton step on the conditions that the point
without it meets, with the Hessian bordered by the gaps that bind as in `leave_one_out`:

    [ H   A^T ] [ dw      ]     [ gradient of loss + lambda.z ]
    [ A    0  ] [ dlambda ] = - [ z - z of the point          ]

all of the other folds' rows, where every cell has the weight that it has in the problem, as in `problems.samples`. The
Hessian alone is that of all rows less the fold's, without making up for single cells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..objectives import Algebra, Array
from ..problems.point import Bordered
from .leave_one_out import ACTIVE

if TYPE_CHECKING:
    from ..problems.dask.folds import Source
    from ..problems.dask.problem import DaskProblem


def fold_weights(
    problem: DaskProblem, source: Source, rows: Algebra, W: Array, multipliers: Array
) -> tuple[Array, NDArray[np.bool_]]:
    """Return weights (F, N, K, d) of points W (N, K, d), framed, without each of F folds of a source.

    And which points are no minima along their caps, (N,). ``rows`` is the algebra of all constraints, guards included.
    """
    omega, k = rows.p + multipliers @ rows.B, problem.layout.k
    factors = [problem.factors(each) for each in omega]
    L, G, H, weight = source.fold_sums(problem.measures, k, W, factors)
    used = np.concatenate([np.flatnonzero(where >= 0) for _, where in problem.measures])  # the cells behind L
    total = weight.sum(axis=0)
    if (weight >= total).any():
        raise InputError(
            "held_out leaves out one of ten folds of the rows, expected rows of every group and label in two of them "
            "or more; leave it out, or merge small groups."
        )
    G = np.moveaxis(G.reshape(len(G), k, *W.shape[:1], -1), 1, 2)  # (F, N, k, K d)
    L[..., -1], G[:, :, -1] = 0.0, 0.0
    whole = [each.sum(axis=0) for each in (L, G, H)]
    found, bent = np.empty((len(weight), *W.shape)), np.zeros(len(W), dtype=bool)
    for f, own in enumerate(weight):
        scale = 1.0 / np.append((total - own)[used], 1.0)
        for j, w in enumerate(W):
            values, slopes = (whole[0] - L[f])[j] * scale, (whole[1][j] - G[f, j]) * scale[:, None]
            slopes[-1] = (w * problem.penalised).reshape(-1)
            bend = problem.unfolded(whole[2][j] - H[f, j]) * (total.sum() / (total - own).sum())
            bend[np.diag_indices(len(bend))] += omega[j, -1] * np.tile(problem.penalised, problem.K)
            binds = np.abs(multipliers[j]) > ACTIVE * np.abs(multipliers[j]).max(initial=0.0)
            B, there = rows.B[binds], whole[0][j] / np.append(total[used], 1.0)
            inverse = Bordered.of(bend, B @ slopes)
            bent[j] |= inverse.bent
            move = inverse.T @ (inverse.T.T @ (omega[j] @ slopes)) + inverse.Q @ (B @ (values - there))
            found[f, j] = w - move.reshape(w.shape)
    return found, bent
