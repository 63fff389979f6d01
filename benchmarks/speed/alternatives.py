"""From a file to a search: Adult with the scores of a LightGBM model, 20 splits, the linear and the rate family."""

from __future__ import annotations

import csv
import os
import resource
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from sklearn.model_selection import cross_val_predict

from ..cases import loaded
from ..report import Section

QUICK, SPLITS = 2, 20


def scored(path: Path) -> int:
    """Write Adult with cross-fitted scores of LightGBM as a column, and return the number of rows."""
    from lightgbm import LGBMClassifier

    data = loaded("adult")
    learner = LGBMClassifier(n_estimators=100, random_state=0, n_jobs=1, verbose=-1)
    X, _ = data.matrix("one_hot")
    p = cross_val_predict(learner, X, np.asarray(data.y) == ">50K", cv=3, method="predict_proba")[:, 1]
    names = list(data.columns)
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow([*names, "p"])
        writer.writerows(zip(*(data.columns[name] for name in names), np.round(p, 5), strict=True))
    return len(p)


def sections(quick: bool) -> list[Section]:
    """Time the command in a process of its own."""
    splits = QUICK if quick else SPLITS
    with TemporaryDirectory() as home:
        n = scored(Path(home) / "adult.csv")
        words = ["alternatives", "adult.csv", "--target", "income", "--favourable", ">50K", "--groups", "sex"]
        words += ["--incumbent-score", "p", "--splits", str(splits), "-o", "search"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        code = "from fairfront.cli import main; main()"
        done = subprocess.run(
            [sys.executable, "-c", code, *words], cwd=home, env=os.environ, capture_output=True, check=False
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode in (0, 4), done.stderr
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    said = f"From a file of Adult ({n} rows) to the summary with {splits} splits: {seconds:.0f} s of processor time."
    told = [said, "LightGBM's scores are the incumbent, `keep` and `improve` the defaults, families linear and rates."]
    return [Section("alternatives", "From a file to a tested alternative", told, said)]
