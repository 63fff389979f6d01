"""fairfront's Newton tracer past a loss gap of 0, because a loss gap of 0 is not a rate gap of 0."""

from __future__ import annotations

import fairfront as ff

from .base import Candidates, Fitting, Peer, linear_candidates
from .fairfront_weights import frontier_weights

OVERSHOOT = 0.5


def fit(fitting: Fitting) -> Candidates:
    rows = fitting.train
    front = ff.trace(
        rows.X,
        rows.y,
        sensitive_features=rows.groups,
        n_points=fitting.n_points,
        solver=ff.Newton(overshoot=OVERSHOOT),
        progress=False,
    )
    return linear_candidates(frontier_weights(front))


PEER = Peer("fairfront Newton, overshoot", fit, note="goes on to half the plain gap on the other side")
