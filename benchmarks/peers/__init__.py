"""Peers: one file per library or idea, with one line here; the order is that of the tables."""

from . import (
    aif360,
    baselines,
    bias_score,
    fairfront,
    fairlearn,
    ferm,
    linear_program,
    nsga2,
    oxonfair,
    slsqp,
    torchjd,
)
from .base import Candidates, Fitting, Peer

FILES = (fairfront, fairlearn, aif360, bias_score, ferm, slsqp, torchjd, nsga2, linear_program, oxonfair)
PEERS: dict[str, Peer] = {
    **{"plain": baselines.PEERS["plain"]},
    **{name: peer for file in FILES for name, peer in file.PEERS.items()},
    **baselines.PEERS,
}

__all__ = ["PEERS", "Candidates", "Fitting", "Peer"]
