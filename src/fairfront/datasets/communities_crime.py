"""Communities and Crime: a regression task about places, with groups of places."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .base import Dataset, register
from .origin import Folder, Origin, number_column, published, table

DATA, NAMES = "communities.data", "communities.names"
TARGET, GROUP = "ViolentCrimesPerPop", "black_share"
ORIGIN = Origin(
    name="communities_crime",
    page="https://archive.ics.uci.edu/dataset/183/communities+and+crime",
    rows=1994,
    terms="CC BY 4.0",
    target=TARGET,
    groups=(GROUP,),
    files=published(
        "https://archive.ics.uci.edu/ml/machine-learning-databases/communities",
        (DATA, 1102815, "09e0b5c07eae24c1efab19b2edee05e160e7f5743b6f31e31eec3d73624da2ea"),
        (NAMES, 27701, "f71e9049d2a8efe566e41be59cae27c84282a8d9d5c4bce4861490227f42c429"),
    ),
)
IDENTIFIERS = ("state", "county", "community", "communityname", "fold")
RACE_SHARES = ("racepctblack", "racePctWhite", "racePctAsian", "racePctHisp")
CUT, ABOVE, BELOW = 0.06, "above 0.06", "at most 0.06"
CARD = (
    "Communities and Crime (normalised), Redmond 2002, UCI Machine Learning Repository, doi "
    "10.24432/C53W3X, CC BY 4.0. Task: predict violent crimes per head, scaled to [0, 1], of 1 994 "
    "communities of the United States, from the census of 1990, a police survey of 1990 and reported crime "
    "of 1995. Groups: black_share, racepctblack above 0.06 (970 communities) or not (1 024); 0.06 is the "
    "median on the file's normalised scale, so 6 % of that scale and not 6 % of the inhabitants. The four "
    "race shares are left out of the features because they define the group; incomes by race, language and "
    "immigration stay in and stand in for it. Known harms and limits: rows are places, so nothing here is "
    "about a person; reported crime reflects reporting and policing; communities with disputed rape "
    "counts, many of them in the Midwest, are left out; values beyond three standard deviations are cut "
    "off. Crime forecasts for places have been used to send police where police already were: not for "
    "deployment."
)


def load_communities_crime(folder: Folder = None) -> Dataset:
    """Load Communities and Crime: 1 994 communities, a regression target in [0, 1].

    Parameters
    ----------
    folder : path, optional
        Folder with ``communities.data`` and ``communities.names``, or its parent; default:
        ``FAIRFRONT_DATA``, then the cache.

    Returns
    -------
    Dataset
        Target ``ViolentCrimesPerPop``, sensitive ``black_share`` ("above 0.06", "at most 0.06", on the file's
        normalised scale). Of the 99 predictors without missing values 95 are features: ``racepctblack``,
        ``racePctWhite``, ``racePctAsian`` and ``racePctHisp`` are columns and not features. The 23
        predictors with missing values are columns too, with NaN.
    """
    texts = ORIGIN.read(folder)
    lines = [line.split() for line in texts[NAMES].splitlines()]
    names = [words[1] for words in lines if words and words[0] == "@attribute"]
    columns: dict[str, NDArray[Any]] = {
        name: number_column(values).astype(np.float64)
        for name, values in zip(names, zip(*table(texts[DATA]), strict=True), strict=True)
        if name not in IDENTIFIERS
    }
    others = (TARGET, *RACE_SHARES)
    features = tuple(name for name in columns if name not in others and not np.isnan(columns[name]).any())
    columns[GROUP] = np.where(columns["racepctblack"] > CUT, ABOVE, BELOW)
    return Dataset.of(ORIGIN, columns, favourable=None, features=features, task="regression", card=CARD)


register(ORIGIN, load_communities_crime)
