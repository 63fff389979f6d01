"""Names of notions, losses and families of alternatives, without what they stand for.

A command lists them in its help and imports no room.

``tests/core/test_startup.py`` holds them equal to the registries in `objectives` and `improvability`.
"""

NOTIONS = (
    "equal_opportunity",
    "equalized_odds",
    "predictive_equality",
    "disparate_mistreatment",
    "demographic_parity",
    "group_loss",
    "score_covariance",
    "mean_score_parity",
    "positive_class_balance",
    "negative_class_balance",
    "link_scale_parity",
)
LOSSES = (
    "logistic",
    "hinge",
    "smoothed_hinge",
    "squared_hinge",
    "softmax",
    "squared",
    "poisson",
    "gamma",
    "tweedie",
)
FAMILIES = ("linear", "rates", "boosting", "cutoffs", "features", "settings")
"""Without candidates, which are handed in in Python."""
