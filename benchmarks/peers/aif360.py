"""AIF360: its interface to the reductions that fairlearn implements, and Reweighing (Kamiran and Calders 2012)."""

from __future__ import annotations

import numpy as np

from .base import Candidates, Fitting, Peer, base_learner, linear_candidates, weights_of


def grid_search(fitting: Fitting) -> Candidates:
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
    made.fit(frame, pd.Series(rows.y))
    models = [model for model in made.model_.predictors_ if hasattr(model, "coef_")]
    return linear_candidates(weights_of(models), solved=len(made.model_.predictors_))


def reweighing(fitting: Fitting) -> Candidates:
    """Weigh rows so that group and label are independent, then fit once."""
    import pandas as pd
    from aif360.sklearn.preprocessing import Reweighing

    rows = fitting.train
    index = pd.Index(rows.groups, name="group")
    frame, labels = pd.DataFrame(rows.X, index=index), pd.Series(rows.y, index=index)
    _, weight = Reweighing("group").fit_transform(frame, labels)
    model = base_learner().fit(rows.X, rows.y, sample_weight=np.asarray(weight))
    return linear_candidates(weights_of([model]))


PEERS = {
    "aif360_grid_search": Peer(
        "AIF360 GridSearchReduction",
        grid_search,
        packages=("aif360.sklearn.inprocessing", "fairlearn.reductions"),
        note="wraps fairlearn",
        most_splits=3,
    ),
    "aif360_reweighing": Peer(
        "AIF360 Reweighing",
        reweighing,
        packages=("aif360.sklearn.preprocessing",),
        note="aims at equal approval rates",
    ),
}
