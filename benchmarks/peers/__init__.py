"""Peers: one file each, one line here."""

from . import (
    aif360_grid_search,
    aif360_reweighing,
    bias_score,
    boosted_thresholds,
    dropping_columns,
    fairfront_newton,
    fairfront_overshoot,
    fairfront_pb_pdo,
    fairfront_rate,
    fairfront_thresholds,
    fairlearn_exponentiated_gradient,
    fairlearn_grid_search,
    fairlearn_threshold_optimizer,
    ferm,
    linear_program,
    nsga2,
    oxonfair_frontier,
    plain,
    seeds_and_settings,
    slsqp,
    torchjd_mgda,
    torchjd_upgrad,
)
from .base import Candidates, Fitting, Peer, Rows

PEERS: dict[str, Peer] = {
    module.__name__.rpartition(".")[2]: module.PEER
    for module in (
        plain,
        fairfront_newton,
        fairfront_overshoot,
        fairfront_rate,
        fairfront_pb_pdo,
        fairlearn_grid_search,
        fairlearn_exponentiated_gradient,
        aif360_grid_search,
        aif360_reweighing,
        bias_score,
        ferm,
        slsqp,
        torchjd_upgrad,
        torchjd_mgda,
        nsga2,
        dropping_columns,
        seeds_and_settings,
        fairfront_thresholds,
        linear_program,
        fairlearn_threshold_optimizer,
        oxonfair_frontier,
        boosted_thresholds,
    )
}

__all__ = ["PEERS", "Candidates", "Fitting", "Peer", "Rows"]
