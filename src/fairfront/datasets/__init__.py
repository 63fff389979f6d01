"""Data sets: two embedded synthetic sets, and loaders for public files kept in a folder of yours.

No file of a public data set is part of the package. Each loader takes ``folder``, or the environment variable
``FAIRFRONT_DATA``, or what :func:`fetch` brought into the cache, checks the sha256 of every file, and returns a
:class:`Dataset` whose ``card`` names source, licence, groups, and the known harms and limits.
"""

from __future__ import annotations

from typing import Any

from ..validation import Registry
from .base import DATASETS, Dataset, encode
from .cache import Fetched, fetch
from .origin import ORIGINS, Origin, Patience
from .outcomes import load_compas, load_oulad
from .synthetic import load_loans, load_motor
from .uci import load_adult, load_communities_crime, load_german_credit, paper_matrix

__all__ = [
    "DATASETS",
    "ORIGINS",
    "Dataset",
    "Fetched",
    "Origin",
    "Patience",
    "encode",
    "fetch",
    "load",
    "load_adult",
    "load_communities_crime",
    "load_compas",
    "load_german_credit",
    "load_loans",
    "load_motor",
    "load_oulad",
    "paper_matrix",
]

REGISTRIES: tuple[Registry[Any], ...] = (DATASETS, ORIGINS)
for registry in REGISTRIES:  # listed by name, whichever file a data set is in
    by_name = sorted(registry.items())
    registry.clear()
    registry.update(by_name)


def load(name: str, **options: Any) -> Dataset:
    """Load a data set by its registered name.

    Parameters
    ----------
    name : str
        A key of `DATASETS`.
    **options
        Those of its loader.
    """
    return DATASETS[name](**options)
