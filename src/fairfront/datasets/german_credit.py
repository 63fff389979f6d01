"""German credit (Statlog): a small set for quick tests, with unreliable codes."""

from __future__ import annotations

import numpy as np

from .base import Dataset, register
from .origin import Folder, Origin, columns_of, published, table

FILE = "german.data"
ORIGIN = Origin(
    name="german_credit",
    page="https://archive.ics.uci.edu/dataset/144/statlog+german+credit+data",
    rows=1000,
    terms="CC BY 4.0",
    target="credit_risk",
    groups=("age_group", "sex", "foreign_worker"),
    files=published(
        "https://archive.ics.uci.edu/ml/machine-learning-databases/statlog/german",
        (FILE, 79793, "b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871"),
    ),
)
NUMBERS = (
    *("duration_months", "credit_amount", "instalment_rate", "residence_since", "age"),
    *("existing_credits", "dependants"),
)
NAMES = (
    *("checking_status", "duration_months", "credit_history", "purpose", "credit_amount", "savings"),
    *("employment_since", "instalment_rate", "personal_status_sex", "other_debtors", "residence_since"),
    *("property", "age", "other_instalment_plans", "housing", "existing_credits", "job", "dependants"),
    *("telephone", "foreign_worker", "credit_risk"),
)
FEATURES = tuple(name for name in NAMES[:-1] if name not in ("personal_status_sex", "age", "foreign_worker"))
FEMALE_CODES = ("A92", "A95")
CARD = (
    "German credit (Statlog), Hofmann 1994, UCI Machine Learning Repository, doi 10.24432/C5NC77, CC BY "
    "4.0. Task: good or bad credit risk ('good' is favourable) of 1 000 customers of a German bank in the "
    "1970s. Groups: age_group ('<=25' has 190 rows), sex (F 310, M 690) and foreign_worker (A201 963, A202 "
    "37). Known harms and limits: the published code table is wrong in many places (Groemping 2019), so "
    "categories keep their codes; sex is derived from personal_status_sex as most studies do, though by "
    "the corrected table code A92 also covers single men, so the sex column is unreliable and results by "
    "sex should not be trusted, and the published meaning of foreign_worker is reversed; bad risks were "
    "over-sampled (300 of 1 000); labels exist only for credits that were granted; with 190 or 37 rows in "
    "a group, gaps have wide intervals. Fit for quick tests, not for conclusions."
)


def load_german_credit(folder: Folder = None) -> Dataset:
    """Load German credit: 1 000 rows, no missing values.

    Parameters
    ----------
    folder : path, optional
        Folder with ``german.data``, or its parent; default: ``FAIRFRONT_DATA``, then the cache.

    Returns
    -------
    Dataset
        Target ``credit_risk`` ("good" is favourable, "bad"), sensitive ``age_group`` ("<=25", ">25"), ``sex``
        ("F", "M"; unreliable, see the card) and ``foreign_worker``. ``age`` and ``personal_status_sex``, of
        which the groups are made, are columns and not features.
    """
    rows = table(ORIGIN.read(folder)[FILE], delimiter=" ")
    columns = columns_of(dict(zip(NAMES, zip(*rows, strict=True), strict=True)), NUMBERS)
    columns["credit_risk"] = np.where(columns["credit_risk"] == "1", "good", "bad")
    columns["age_group"] = np.where(columns["age"] <= 25, "<=25", ">25")
    columns["sex"] = np.where(np.isin(columns["personal_status_sex"], FEMALE_CODES), "F", "M")
    return Dataset.of(ORIGIN, columns, favourable="good", features=FEATURES, task="binary", card=CARD)


register(ORIGIN, load_german_credit)
