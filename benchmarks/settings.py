"""The settings that the tracer is measured on: data, groups, notion, loss."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fairfront.datasets import (
    load_adult,
    load_communities_crime,
    load_compas,
    load_german_credit,
    load_oulad,
    paper_matrix,
)

from .adult import folder


@dataclass(frozen=True)
class Setting:
    name: str
    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray
    options: dict[str, Any] = field(default_factory=dict)


def settings() -> list[Setting]:
    """Return all settings; sensitive columns are not in X but for the paper's 13 columns."""
    adult, compas, german = load_adult(folder()), load_compas(folder()), load_german_credit(folder())
    oulad, crime = load_oulad(folder()), load_communities_crime(folder())
    train = adult.split[0]
    one_hot = adult.matrix("one_hot", fit_on=train)[0][train]
    paper = np.asarray(paper_matrix(adult)[0] if isinstance(paper_matrix(adult), tuple) else paper_matrix(adult))[train]
    y, sex, race = adult.y[train], adult.columns["sex"][train], adult.columns["race"][train]

    def plain(data: Any, group: str, name: str, **options: Any) -> Setting:
        return Setting(name, data.matrix("one_hot")[0], data.y, data.columns[group], options)

    return [
        Setting("Adult one-hot, sex", one_hot, y, sex),
        Setting("Adult 13 columns, sex", paper, y, sex),
        Setting("Adult one-hot, race (5 groups)", one_hot, y, race),
        plain(compas, "sex", "COMPAS, sex", favourable="no recidivism"),
        plain(compas, "race", "COMPAS, race", favourable="no recidivism"),
        Setting("Adult one-hot, sex, equalized odds", one_hot, y, sex, {"notion": "equalized_odds"}),
        Setting("Adult one-hot, sex, demographic parity", one_hot, y, sex, {"notion": "demographic_parity"}),
        Setting("Adult one-hot, sex, smoothed hinge", one_hot, y, sex, {"loss": "smoothed_hinge"}),
        plain(german, "age_group", "German credit, age", favourable="good"),
        plain(oulad, "disability", "OULAD, disability (4 classes)"),
        plain(
            crime, "black_share", "Communities and Crime (regression)", loss="squared", notion="disparate_mistreatment"
        ),
    ]
