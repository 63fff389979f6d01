"""OxonFair: a frontier of group thresholds on the plain model, placed on validation rows."""

from __future__ import annotations

import numpy as np

from .base import Candidates, Fitting, Peer, plain_model

MOST_GROUPS = 4


def fit(fitting: Fitting) -> Candidates:
    import oxonfair
    from oxonfair.utils import group_metrics

    held = fitting.validation
    model = plain_model(fitting.train)
    data = {"data": held.X, "target": held.y, "groups": held.groups}
    made = oxonfair.FairPredictor(model, data)
    made.fit(group_metrics.accuracy, group_metrics.recall.max_diff, 0.02)
    offsets = np.asarray(made.frontier_thresholds(), dtype=np.float64).T  # (points, groups)

    def approve(X: np.ndarray, groups: np.ndarray) -> np.ndarray:
        odds = model.predict_proba(X) @ np.array([-1.0, 1.0])
        return (odds[None] + offsets[:, groups] > 0).astype(np.float64)

    return Candidates(approve, solved=1)


def limits(fitting: Fitting) -> str | None:
    """Say no beyond four groups: the cost grows with a power of their number (340 s for five, by its own docs)."""
    many = fitting.n_groups > MOST_GROUPS
    return f"{fitting.n_groups} groups: its cost grows with a power of the number of groups" if many else None


PEERS = {
    "oxonfair_frontier": Peer("OxonFair", fit, needs_group_at_prediction=True, packages=("oxonfair",), limits=limits)
}
