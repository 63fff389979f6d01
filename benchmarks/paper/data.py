"""The data of the paper's experiments, split into a part to fit on, a part to choose on, and a part to judge on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from fairfront.datasets import Dataset, encode, load_adult, load_compas, paper_matrix
from fairfront.datasets.uci import PAPER_COLUMNS

from ..cases import Rows, Split, folder

ZAFAR = ("age_cat", "race", "sex", "priors_count", "c_charge_degree")
REFERENCE = {"sex": "Male", "race": "Caucasian"}


@dataclass(frozen=True)
class Spec:
    """Which data, compared by what, encoded how.

    ``data``: adult, compas (two-year recidivism) or compas_charge (the label that the paper's table counts).
    ``encoding``: paper (Adult: 13 integer-coded columns; COMPAS: Zafar's features; sensitive columns among them) or
    one_hot (sensitive columns left out). ``split``: paper, or random for shuffled rows of Adult.
    """

    data: str
    attribute: str
    encoding: str = "paper"
    split: str = "paper"

    @property
    def title(self) -> str:
        """Name the setting in words."""
        name = {"adult": "Adult", "compas": "COMPAS", "compas_charge": "COMPAS, charge degree"}[self.data]
        attribute = "gender" if (self.data, self.attribute) == ("adult", "sex") else self.attribute
        return f"{name} ({attribute})"


@cache
def dataset(name: str) -> Dataset:
    """Read one data set once per process."""
    if name == "adult":
        return load_adult(folder())
    return load_compas(folder(), target="two_year_recid" if name == "compas" else "charge_degree")


def parts(spec: Spec, seed: int) -> Split:
    """Split and encode: scaling is fitted on training rows only; a fifth of them is kept to choose on."""
    data = dataset(spec.data)
    rng = np.random.default_rng(seed)
    if spec.data == "adult" and spec.split == "paper":
        assert data.split is not None
        train, test = rng.permutation(data.split[0]), data.split[1]
    else:
        order = rng.permutation(len(data))
        held = int((0.2 if spec.data == "adult" else 0.3) * len(data))
        train, test = order[held:], order[:held]
    X = _matrix(data, spec, train)
    cut = len(train) // (4 if spec.split == "random" else 5)
    levels = _levels(data, spec.attribute)
    codes = np.array([levels.index(value) for value in data.columns[spec.attribute]])
    whole = Rows(X, (data.y == data.favourable).astype(int), codes)
    return Split(*(whole.take(part) for part in (train[cut:], train[:cut], test)), levels=levels)


def joined(made: Split) -> Split:
    """Return the split with fit and validation rows together as the training rows."""
    both = (made.train, made.validation)
    fit = Rows(*(np.concatenate([getattr(rows, name) for rows in both]) for name in ("X", "y", "groups")))
    return replace(made, train=fit)


def _levels(data: Dataset, attribute: str) -> tuple[str, ...]:
    found = np.unique(data.columns[attribute]).tolist()
    last = "White" if data.name == "adult" and attribute == "race" else REFERENCE[attribute]
    return (*(level for level in found if level != last), last)


def _matrix(data: Dataset, spec: Spec, train: np.ndarray) -> np.ndarray:
    if spec.encoding == "one_hot":
        return data.matrix("one_hot", fit_on=train)[0]
    if data.name == "adult":
        fixed = spec.split == "paper"
        return paper_matrix(data)[0] if fixed else encode(data.columns, PAPER_COLUMNS, "integer", train)[0]
    return encode(data.columns, [name for name in ZAFAR if name != data.target], "one_hot", train)[0]
