"""fairfront's Newton tracer, gaps between losses."""

from __future__ import annotations

import fairfront as ff

from .base import Candidates, Fitting, Peer, linear_candidates
from .fairfront_weights import frontier_weights


def fit(fitting: Fitting) -> Candidates:
    rows = fitting.train
    front = ff.trace(rows.X, rows.y, sensitive_features=rows.groups, n_points=fitting.n_points, progress=False)
    return linear_candidates(frontier_weights(front))


PEER = Peer("fairfront Newton", fit)
