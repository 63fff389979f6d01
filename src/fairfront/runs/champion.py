"""The champion: a model in use that is given as a file of skops or as a folder of fairfront select."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, require, spelled
from ..objectives import Array
from ..storage.foreign import read_estimator
from ..storage.packages import digest_of
from ..storage.places import CHECKSUMS
from ..tables import Source, infer, load
from ..validation import check_path
from .archive import load as load_folder
from .model import TableModel
from .settings import Settings


@dataclass(frozen=True, eq=False)
class Champion:
    """A fitted model with the name of its file, by which outputs call it, and the checksum."""

    model: Any
    name: str
    sha256: str


def read_champion(path: Any, trusted: Sequence[str] = ()) -> Champion:
    """Read a model without executing anything; types of other packages are confirmed by name."""
    place = check_path(path, "incumbent")
    if not place.exists():
        raise InputError(
            f"{spelled('incumbent')} {place} cannot be read (no such file), expected a file of skops, or a folder "
            "written by fairfront select."
        )
    if not place.is_dir():
        return Champion(read_estimator(place, trusted), place.name, digest_of(place))
    found = load_folder(place, trusted=trusted)
    if not isinstance(found, TableModel):
        raise InputError(f"{place} holds a {type(found).__name__}, expected a model written by fairfront select.")
    return Champion(found, place.name, digest_of(Path(place) / CHECKSUMS))


@dataclass(frozen=True, eq=False)
class Known:
    """What a champion decided on fixed rows, in the form of a fitted model: it answers for these whatever X is."""

    title: str
    classes_: NDArray[Any]
    labels: NDArray[Any]

    def predict(self, X: Any) -> NDArray[Any]:
        return self.labels


@dataclass(frozen=True, eq=False)
class KnownShares(Known):
    """With probabilities."""

    shares: Array

    def predict_proba(self, X: Any) -> Array:
        return self.shares


def known_answers(champion: Champion, source: Source, used: NDArray[np.intp], settings: Settings) -> Known:
    """Return what a champion says of the rows of a file that are used."""
    model = champion.model
    if isinstance(model, TableModel):
        if source.path is None:
            raise InputError(f"{spelled('incumbent')} {champion.name} reads files, found a data frame; give a file.")
        labels, classes = model.predict(source.path)[used], np.asarray(model.task.classes)
        if not model.gives_probabilities:
            return Known(champion.name, classes, labels)
        return KnownShares(champion.name, classes, labels, model.predict_proba(source.path)[used])
    X = _frame(champion, source, settings, used)
    try:
        labels = np.asarray(model.predict(X)).ravel()
        classes = np.asarray(getattr(model, "classes_", np.unique(labels)))
        if not hasattr(model, "predict_proba"):
            return Known(champion.name, classes, labels)
        return KnownShares(champion.name, classes, labels, np.asarray(model.predict_proba(X), dtype=np.float64))
    except Exception as error:  # whatever a foreign model makes of columns that it does not know
        first = (str(error) or type(error).__name__).splitlines()[0]
        raise InputError(
            f"{spelled('incumbent')} {champion.name} cannot score the rows of {source.title} ({first}), expected a "
            "model of its columns; give its scores as a column instead."
        ) from error


def _frame(champion: Champion, source: Source, settings: Settings, used: NDArray[np.intp]) -> Any:
    """Return the columns that a model was fitted on, numbers as numbers and texts as they are."""
    names = [str(name) for name in getattr(champion.model, "feature_names_in_", ())]
    if not names:
        raise InputError(
            f"{spelled('incumbent')} {champion.name} does not say which columns it was fitted on, expected "
            "feature_names_in_, as of a data frame; give its scores as a column instead."
        )
    for name in names:
        source.check_column(name, f"column of the incumbent {champion.name}")
    text = [name for name in settings.text if name in names]
    numbers = [name for name in settings.numbers if name in names]
    table = load(source, infer(source, columns=names, text=text, numbers=numbers, decimal=settings.decimal)).take(used)
    columns = {name: table.columns[name] for name in names}
    pandas = require("pandas", "pandas", "scoring rows with a model of another package")
    return pandas.DataFrame(
        {name: each.numbers if each.numbers is not None else table.texts(name) for name, each in columns.items()}
    )
