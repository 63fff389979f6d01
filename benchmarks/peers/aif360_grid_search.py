"""AIF360's GridSearchReduction, its interface to the reductions that fairlearn implements."""

from __future__ import annotations

import warnings

from .base import Candidates, Fitting, Peer, base_learner, linear_candidates, weights_of


def fit(fitting: Fitting) -> Candidates:
    import pandas as pd
    from aif360.sklearn.inprocessing import GridSearchReduction

    rows = fitting.train
    frame = pd.DataFrame(rows.X, columns=[f"x{j}" for j in range(rows.X.shape[1])])
    frame["group"] = rows.groups
    made = GridSearchReduction(
        prot_attr="group",
        estimator=base_learner(),
        constraints="TruePositiveRateParity",
        grid_size=fitting.n_points,
        drop_prot_attr=True,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made.fit(frame, pd.Series(rows.y))
    models = [model for model in made.model_.predictors_ if hasattr(model, "coef_")]
    return linear_candidates(weights_of(models), solved=len(made.model_.predictors_))


PEER = Peer(
    "AIF360 GridSearchReduction",
    fit,
    packages=("aif360.sklearn.inprocessing", "fairlearn.reductions"),
    note="wraps fairlearn",
    most_splits=3,
)
