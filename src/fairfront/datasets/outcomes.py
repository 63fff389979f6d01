"""What became of people: COMPAS (Broward County), recidivism or the charge; OULAD, results of students."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..validation import check_choice, check_flag
from .base import Dataset, register
from .origin import Folder, Origin, PublicFile, columns_of, published, table

COMPAS_FILE = "compas-scores-two-years.csv"
COMPAS_ORIGIN = Origin(
    name="compas",
    page="https://github.com/propublica/compas-analysis",
    rows=5278,
    terms="no licence: research, with attribution",
    target="two_year_recid",
    groups=("race", "sex"),
    files=published(
        "https://raw.githubusercontent.com/propublica/compas-analysis/bafff5da3f2e45eca6c2d5055faad269defd135a",
        (COMPAS_FILE, 2546489, "c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d"),
    ),
)
RACES = ("African-American", "Caucasian")
# The file also holds names, birth dates, case numbers and dates of real people: they are never kept.
COMPAS_NUMBERS = ("age", "juv_fel_count", "juv_misd_count", "juv_other_count", "priors_count", "decile_score")
TEXTS = ("age_cat", "c_charge_degree", "score_text", "race", "sex")
FILTERS = ("days_b_screening_arrest", "is_recid", "two_year_recid")
COMPAS_FEATURES = ("age", "age_cat", *COMPAS_NUMBERS[1:5], "c_charge_degree")
TARGETS = {
    "two_year_recid": ("two_year_recid", "no recidivism"),
    "charge_degree": ("c_charge_degree", "M"),
}


@register(COMPAS_ORIGIN)
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
    header, *rows = table(COMPAS_ORIGIN.read(folder)[COMPAS_FILE])
    # list.index finds the first of the duplicated names priors_count and decile_score.
    place = {name: header.index(name) for name in (*COMPAS_NUMBERS, *TEXTS, *FILTERS)}
    kept = [row for row in ({name: row[k] for name, k in place.items()} for row in rows) if _passes(row)]
    columns = columns_of({name: [row[name] for row in kept] for name in (*COMPAS_NUMBERS, *TEXTS)}, COMPAS_NUMBERS)
    again = np.array([row["two_year_recid"] == "1" for row in kept])
    columns["two_year_recid"] = np.where(again, "recidivism", "no recidivism")
    features = tuple(name for name in COMPAS_FEATURES if name != label)
    return Dataset.of(COMPAS_ORIGIN, columns, target=label, favourable=favourable, features=features, task="binary")


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


OULAD_FILE = "studentInfo.csv"
OULAD_ORIGIN = Origin(
    name="oulad",
    page="https://analyse.kmi.open.ac.uk/open_dataset",
    rows=32593,
    terms="CC BY 4.0",
    target="final_result",
    groups=("gender", "disability"),
    files=(PublicFile(OULAD_FILE, 3461652, "7e6f3e474a5eee00639d2a414a6c7e928745823c2d2c2563ca1780145f99b0d6"),),
    archive=PublicFile(
        "anonymisedData.zip",
        46750706,
        "90dda45037939953f979072fa70a809ebe07e90ec783c408762af7698a3825ec",
        # The university's file, then the authors' deposit of the same bytes.
        (
            "https://schools.stem.open.ac.uk/cdn/files/anonymisedData.zip",
            "https://ndownloader.figshare.com/files/8606371",
        ),
    ),
)
OULAD_NUMBERS = ("num_of_prev_attempts", "studied_credits")
OULAD_FEATURES = (
    *("code_module", "code_presentation", "region", "highest_education", "imd_band", "age_band"),
    *OULAD_NUMBERS,
)
PASSED, NOT_PASSED = "Pass or Distinction", "Fail or Withdrawn"


@register(OULAD_ORIGIN)
def load_oulad(folder: Folder = None, binary: bool = False) -> Dataset:
    """Load OULAD's student table: 32 593 enrolments of 28 785 students.

    Parameters
    ----------
    folder : path, optional
        Folder with ``studentInfo.csv``, or its parent; default: ``FAIRFRONT_DATA``, then the cache.
    binary : bool, default False
        False: target ``final_result`` with four classes, favourable "Pass". True: target ``passed``, "Pass or
        Distinction" (favourable) against "Fail or Withdrawn".

    Returns
    -------
    Dataset
        Sensitive ``gender`` and ``disability``. Student numbers are not kept; ``split_ids`` has a code per
        student, counted from 0, so that a split can keep all rows of a student on one side. The deprivation
        band written "10-20" in the file is read as "10-20%", like the others.
    """
    check_flag(binary, "binary")
    header, *rows = table(OULAD_ORIGIN.read(folder)[OULAD_FILE])
    values = dict(zip(header, zip(*rows, strict=True), strict=True))
    _, codes = np.unique(values["id_student"], return_inverse=True)
    columns = columns_of(
        {name: values[name] for name in (*OULAD_FEATURES, *OULAD_ORIGIN.groups, "final_result")}, OULAD_NUMBERS
    )
    columns["imd_band"][columns["imd_band"] == "10-20"] = "10-20%"
    columns["passed"] = np.where(np.isin(columns["final_result"], ("Pass", "Distinction")), PASSED, NOT_PASSED)
    return Dataset.of(
        OULAD_ORIGIN,
        columns,
        target="passed" if binary else "final_result",
        favourable=PASSED if binary else "Pass",
        features=OULAD_FEATURES,
        task="binary" if binary else "multiclass",
        split_ids=codes.astype(np.int64),
    )
