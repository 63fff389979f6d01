"""COMPAS (Broward County): two-year recidivism, or the degree of the charge."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..validation import check_choice
from .base import Dataset, register
from .origin import Folder, Origin, columns_of, published, table

FILE = "compas-scores-two-years.csv"
ORIGIN = Origin(
    name="compas",
    page="https://github.com/propublica/compas-analysis",
    rows=5278,
    terms="no licence: research, with attribution",
    target="two_year_recid",
    groups=("race", "sex"),
    files=published(
        "https://raw.githubusercontent.com/propublica/compas-analysis/bafff5da3f2e45eca6c2d5055faad269defd135a",
        (FILE, 2546489, "c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d"),
    ),
)
RACES = ("African-American", "Caucasian")
# The file also holds names, birth dates, case numbers and dates of real people: they are never kept.
NUMBERS = ("age", "juv_fel_count", "juv_misd_count", "juv_other_count", "priors_count", "decile_score")
TEXTS = ("age_cat", "c_charge_degree", "score_text", "race", "sex")
FILTERS = ("days_b_screening_arrest", "is_recid", "two_year_recid")
FEATURES = ("age", "age_cat", *NUMBERS[1:5], "c_charge_degree")
TARGETS = {
    "two_year_recid": ("two_year_recid", "no recidivism"),
    "charge_degree": ("c_charge_degree", "M"),
}


@register(ORIGIN)
def load_compas(
    folder: Folder = None, target: Literal["two_year_recid", "charge_degree"] = "two_year_recid"
) -> Dataset:
    """Load COMPAS after ProPublica's filter, African-American and Caucasian people only: 5 278 rows.

    Parameters
    ----------
    folder : path, optional
        Folder with ``compas-scores-two-years.csv``, or its parent; default: ``FAIRFRONT_DATA``, then the cache.
    target : {"two_year_recid", "charge_degree"}, default "two_year_recid"
        What is predicted. ``"two_year_recid"``: "no recidivism" (favourable, 2 795 rows) or "recidivism".
        ``"charge_degree"``: "M" (favourable, 1 838 rows) or "F".

    Returns
    -------
    Dataset
        Sensitive ``race`` and ``sex``. ``decile_score`` and ``score_text``, the COMPAS score itself, are
        columns and not features, so that the score can be audited.

    Notes
    -----
    Differs from the paper: its text describes recidivism, but the label counts of its table are those of the
    charge degree with M as +1, and the printed total 1 006 for label -1 should be 3 440. Use
    ``target="charge_degree"`` to compare with that table.
    """
    check_choice(target, "target", TARGETS)
    label, favourable = TARGETS[target]
    header, *rows = table(ORIGIN.read(folder)[FILE])
    # list.index finds the first of the duplicated names priors_count and decile_score.
    place = {name: header.index(name) for name in (*NUMBERS, *TEXTS, *FILTERS)}
    kept = [row for row in ({name: row[k] for name, k in place.items()} for row in rows) if _passes(row)]
    columns = columns_of({name: [row[name] for row in kept] for name in (*NUMBERS, *TEXTS)}, NUMBERS)
    again = np.array([row["two_year_recid"] == "1" for row in kept])
    columns["two_year_recid"] = np.where(again, "recidivism", "no recidivism")
    features = tuple(name for name in FEATURES if name != label)
    return Dataset.of(ORIGIN, columns, target=label, favourable=favourable, features=features, task="binary")


def _passes(row: dict[str, str]) -> bool:
    days = row["days_b_screening_arrest"]
    return (
        days != ""
        and abs(float(days)) <= 30
        and row["is_recid"] != "-1"
        and row["c_charge_degree"] != "O"
        and row["score_text"] != "N/A"
        and row["race"] in RACES
    )
