"""OULAD (Open University): results of students, in four classes or two."""

from __future__ import annotations

import numpy as np

from ..validation import check_flag
from .base import Dataset, register
from .origin import Folder, Origin, PublicFile, columns_of, table

FILE = "studentInfo.csv"
ORIGIN = Origin(
    name="oulad",
    page="https://analyse.kmi.open.ac.uk/open_dataset",
    rows=32593,
    terms="CC BY 4.0",
    target="final_result",
    groups=("gender", "disability"),
    files=(PublicFile(FILE, 3461652, "7e6f3e474a5eee00639d2a414a6c7e928745823c2d2c2563ca1780145f99b0d6"),),
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
NUMBERS = ("num_of_prev_attempts", "studied_credits")
FEATURES = (
    *("code_module", "code_presentation", "region", "highest_education", "imd_band", "age_band"),
    *NUMBERS,
)
PASSED, NOT_PASSED = "Pass or Distinction", "Fail or Withdrawn"


@register(ORIGIN)
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
    header, *rows = table(ORIGIN.read(folder)[FILE])
    values = dict(zip(header, zip(*rows, strict=True), strict=True))
    _, codes = np.unique(values["id_student"], return_inverse=True)
    columns = columns_of({name: values[name] for name in (*FEATURES, *ORIGIN.groups, "final_result")}, NUMBERS)
    columns["imd_band"][columns["imd_band"] == "10-20"] = "10-20%"
    columns["passed"] = np.where(np.isin(columns["final_result"], ("Pass", "Distinction")), PASSED, NOT_PASSED)
    return Dataset.of(
        ORIGIN,
        columns,
        target="passed" if binary else "final_result",
        favourable=PASSED if binary else "Pass",
        features=FEATURES,
        task="binary" if binary else "multiclass",
        split_ids=codes.astype(np.int64),
    )
