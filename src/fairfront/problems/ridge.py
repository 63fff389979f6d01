"""The default ridge, and what to know of it where weights are in an unusual unit."""

from __future__ import annotations

import warnings

from ..exceptions import FairfrontWarning

USUAL = (0.1, 10.0)
"""Mean weights at which the default ridge needs no word."""


def default_ridge(total: float, rows: float) -> tuple[float, tuple[str, ...]]:
    """Return 1 / (sum of weights), scikit-learn's C = 1, with a sentence where the mean weight is far from 1.

    A weight of 2 is then the same as a row that is there twice, and the unit of the weights counts.
    """
    ridge, mean, usual = 1.0 / total, total / rows, f"{1.0 / rows:.3g}"
    if USUAL[0] <= mean <= USUAL[1]:
        return ridge, ()
    said = (
        f"The default ridge is 1 / (sum of weights) = {ridge:.3g}, because the mean weight is {mean:.3g}; to choose "
        f"another, give a ridge, such as that of weights of mean 1 (ridge={usual}, or --ridge {usual} in a shell)."
    )
    warnings.warn(said, FairfrontWarning, stacklevel=4)
    return ridge, (said,)
