"""AIF360's Reweighing (Kamiran and Calders 2012): weights that make group and label independent, then one fit."""

from __future__ import annotations

import numpy as np

from .base import Candidates, Fitting, Peer, base_learner, linear_candidates, weights_of


def fit(fitting: Fitting) -> Candidates:
    import pandas as pd
    from aif360.sklearn.preprocessing import Reweighing

    rows = fitting.train
    index = pd.Index(rows.groups, name="group")
    frame, labels = pd.DataFrame(rows.X, index=index), pd.Series(rows.y, index=index)
    _, weight = Reweighing("group").fit_transform(frame, labels)
    model = base_learner().fit(rows.X, rows.y, sample_weight=np.asarray(weight))
    return linear_candidates(weights_of([model]))


PEER = Peer("AIF360 Reweighing", fit, packages=("aif360.sklearn.preprocessing",), note="aims at equal approval rates")
