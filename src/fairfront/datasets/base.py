"""The record of one data set (columns, target, groups, a card with its limits) and its columns as a matrix."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import Any, Literal, TypeVar

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..exceptions import InputError, require
from ..validation import Registry, check_choice, check_mapping, check_names, refuse, shown
from ..validation.inputs import shape_of
from .origin import ORIGINS, Origin

Column = NDArray[Any]
Encoding = Literal["one_hot", "integer"]
Task = Literal["binary", "multiclass", "regression"]
Backend = Literal["pandas", "polars"]
Loader = TypeVar("Loader", bound="Callable[..., Dataset]")
ENCODINGS = ("one_hot", "integer")
MISSING = "missing"  # the category of rows without one


@dataclass(frozen=True, eq=False)
class Dataset:
    """Hold one data set by columns; treat every array as read-only.

    Parameters
    ----------
    name : str
        Name in the registry.
    columns : dict of str to ndarray of shape (n,)
        Every usable column. Numbers are ``int64`` or ``float64`` (missing: NaN); text is a string array,
        or an object array with ``None`` where a value is missing.
    target : str
        The column to predict.
    favourable : str, int, float or None
        The label that is good for the person; ``None`` for regression.
    sensitive : tuple of str
        Columns that say who is compared with whom; the first is the default.
    features : tuple of str
        Columns a model sees by default. No sensitive column and never the target is among them.
    task : {"binary", "multiclass", "regression"}
        Kind of target.
    card : str
        One paragraph: source, licence, task, groups, known harms and limits.
    split : tuple of two index arrays, optional
        Rows for training and for testing, where the literature has a fixed split.
    split_ids : ndarray of shape (n,), optional
        Rows with the same code belong to one person and should stay on one side of a split.

    Notes
    -----
    Leaving the sensitive columns out of the features does not make a model fair: other columns can stand in
    for them. It keeps the model from reading the group directly, no more.
    """

    name: str
    columns: dict[str, Column] = field(repr=False)
    target: str
    favourable: str | int | float | None
    sensitive: tuple[str, ...]
    features: tuple[str, ...] = field(repr=False)
    task: Task
    card: str = field(repr=False)
    split: tuple[NDArray[np.intp], NDArray[np.intp]] | None = field(default=None, repr=False)
    split_ids: NDArray[np.int64] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        named = (self.target, *self.sensitive, *self.features)
        _require_known(named, self.columns, f"column named by the data set {self.name}")
        if not self.sensitive:
            raise InputError(f"{self.name} has no sensitive column, expected at least 1: name who is compared.")
        barred = [name for name in self.features if name in self.sensitive or name == self.target]
        if barred:
            raise InputError(
                f"features of {self.name} contain {', '.join(barred)}, expected neither the target nor a "
                "sensitive column: leave it out here and ask for it with matrix(include=...)."
            )
        for name, values in self.columns.items():
            if values.shape != (len(self),):
                raise InputError(
                    f"column {name} of {self.name} has shape {values.shape}, expected ({len(self)},) as the "
                    f"target {self.target}: give one value per row."
                )

    @classmethod
    def of(cls, origin: Origin, columns: dict[str, Column], *, target: str | None = None, **facts: Any) -> Dataset:
        """Make the data set of an origin.

        Parameters
        ----------
        origin : Origin
            Names the data set, its groups and by default its target.
        columns, target, **facts : as in the class
            The card of a data set of this package is in ``cards``, by its name.
        """
        if "card" not in facts:
            text = files(__package__).joinpath("cards", f"{origin.name}.md").read_text(encoding="utf-8")
            facts["card"] = " ".join(text.split())
        return cls(origin.name, columns, target or origin.target, sensitive=origin.groups, **facts)

    def __len__(self) -> int:
        return len(self.columns[self.target])

    @property
    def y(self) -> Column:
        """Return the target column."""
        return self.columns[self.target]

    def sensitive_features(self, *names: str) -> dict[str, Column]:
        """Return sensitive columns by name.

        Parameters
        ----------
        *names : str
            Those asked for; by default the first.
        """
        asked = names or self.sensitive[:1]
        _require_known(asked, self.sensitive, f"sensitive column of {self.name}")
        return {name: self.columns[name] for name in asked}

    def frame(self, backend: Backend = "pandas") -> Any:
        """Return all columns as a data frame.

        Parameters
        ----------
        backend : {"pandas", "polars"}
        """
        _require_known((backend,), ("pandas", "polars"), "backend")
        require(backend, backend, f"a data frame of {self.name}")
        data = {name: v.tolist() if v.dtype.kind in "OU" else v for name, v in self.columns.items()}
        return nw.from_dict(data, backend=backend).to_native()

    def matrix(
        self, encoding: Encoding = "one_hot", include: Sequence[str] = (), fit_on: ArrayLike | None = None
    ) -> tuple[NDArray[np.float64], list[str]]:
        """Return the features as numbers, with the name of each column of the matrix.

        Parameters
        ----------
        encoding, fit_on : as in :func:`fairfront.datasets.encode`
            Give the training rows to ``fit_on``, so that nothing is learned from the rows kept for testing.
        include : sequence of str
            Columns to add after the features, such as sensitive ones.

        Returns
        -------
        X : ndarray of shape (n, d), float64
        names : list of str
            ``"age"`` for a number, ``"education=Masters"`` for the indicator of a category.
        """
        extra = check_names(include, "include")
        choices = [name for name in self.columns if name != self.target]
        _require_known(extra, choices, f"column of {self.name} to include")
        return encode(self.columns, tuple(dict.fromkeys((*self.features, *extra))), encoding=encoding, fit_on=fit_on)

    def subset(self, rows: ArrayLike) -> Dataset:
        """Return the data set of some rows; a fixed split is carried over.

        Parameters
        ----------
        rows : array of row indices or boolean mask
        """
        index = row_index(rows, len(self))
        columns = {name: values[index] for name, values in self.columns.items()}
        ids, split = (None if self.split_ids is None else self.split_ids[index]), None
        if self.split is not None:
            train, test = (np.flatnonzero(np.isin(index, part)) for part in self.split)
            split = train, test
        return replace(self, columns=columns, split=split, split_ids=ids)

    def as_csv(self) -> str:
        """Return features, sensitive columns and target as text, with what the origin adds; empty cells are missing.

        Other columns stay out: some of them hold the target or the group in other words.
        """
        origin = ORIGINS[self.name]
        names = (*self.features, *origin.csv_columns, *self.sensitive, self.target)
        columns = {name: self.columns[name].tolist() for name in names}
        if origin.csv_id:
            columns = {origin.csv_id: [f"ID-{k + 1:06d}" for k in range(len(self))], **columns}
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        rows = zip(*columns.values(), strict=True)
        writer.writerows(["" if value is None or value != value else value for value in row] for row in rows)
        return text.getvalue()


DATASETS: Registry[Callable[..., Dataset]] = Registry("data set")


def register(origin: Origin) -> Callable[[Loader], Loader]:
    """Return a decorator that makes a loader that of the origin's name."""

    def kept(loader: Loader) -> Loader:
        ORIGINS.add(origin.name, origin)
        DATASETS.add(origin.name, loader)
        return loader

    return kept


def _require_known(names: Iterable[str], known: Collection[str], what: str) -> None:
    for name in names:
        if not isinstance(name, str) or name not in known:
            raise InputError(f"unknown {what} {shown(name)}, expected one of: {', '.join(known)}.")


def encode(
    columns: Mapping[str, NDArray[Any]],
    names: Sequence[str],
    encoding: Encoding = "one_hot",
    fit_on: ArrayLike | None = None,
) -> tuple[NDArray[np.float64], list[str]]:
    """Encode the named columns as one matrix.

    Parameters
    ----------
    columns : mapping of str to ndarray of shape (n,)
        Data by column; must hold all ``names``.
    names : sequence of str
        Columns to encode, in this order.
    encoding : {"one_hot", "integer"}, default "one_hot"
        ``"one_hot"``: numbers are standardised, and each category of the data gets an indicator, in sorted
        order. ``"integer"``: categories become 0, 1, 2, ... in sorted order, then every column is
        standardised. Integer codes put an arbitrary order on categories; they are there for comparison with
        published results that use them.
    fit_on : array of row indices or boolean mask, optional
        Rows on which means, standard deviations (divided by n) and medians are computed; default: all rows.

    Returns
    -------
    X : ndarray of shape (n, d), float64
    feature_names : list of str

    Notes
    -----
    A missing number becomes the median of the ``fit_on`` rows and adds an indicator ``"name=missing"``. A
    missing category is a category of its own, ``"missing"``. A column that is constant on the ``fit_on`` rows
    is centred and not scaled.
    """
    check_choice(encoding, "encoding", ENCODINGS)
    if not check_mapping(columns, "columns", "{'age': ages}"):
        raise refuse("columns", columns, "at least one column")
    for name in check_names(names, "names"):
        check_choice(name, "names", columns)
    n = len(np.atleast_1d(next(iter(columns.values()))))
    rows = np.arange(n) if fit_on is None else row_index(fit_on, n)
    if rows.size == 0:
        raise InputError("fit_on selects 0 rows, expected at least 1: give the training rows, or None for all.")
    parts = [part for name in names for part in _encoded(name, columns[name], encoding == "one_hot", rows)]
    X = np.column_stack([values for _, values in parts]) if parts else np.empty((n, 0))
    return X, [name for name, _ in parts]


def row_index(rows: ArrayLike, n: int) -> NDArray[np.intp]:
    array = np.asarray(rows) if shape_of(rows, "rows") else np.empty(())
    mask = array.dtype.kind == "b"
    whole = array.dtype.kind in "iu" or not array.size
    fits = array.shape == (n,) if mask else array.ndim == 1 and whole and np.isin(array, np.arange(-n, n)).all()
    if not fits:
        raise InputError(
            f"rows have shape {array.shape} and type {array.dtype}, expected a boolean mask of shape ({n},) "
            f"or row numbers from 0 to {n - 1}: give one of the two."
        )
    index: NDArray[np.intp] = np.flatnonzero(array) if mask else array.astype(np.intp) % max(n, 1)
    return index


def _encoded(
    name: str, values: NDArray[Any], one_hot: bool, rows: NDArray[np.intp]
) -> list[tuple[str, NDArray[np.float64]]]:
    def scaled(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        spread = float(numbers[rows].std())
        centred: NDArray[np.float64] = numbers - numbers[rows].mean()
        return centred / spread if spread > 0 else centred

    if values.dtype.kind in "biuf":
        numbers = values.astype(np.float64)
        absent = np.isnan(numbers)
        if not absent.any():
            return [(name, scaled(numbers))]
        seen = numbers[rows][~absent[rows]]
        filled = np.where(absent, np.median(seen) if seen.size else 0.0, numbers)
        indicator = absent.astype(np.float64)
        return [(name, scaled(filled)), (f"{name}={MISSING}", indicator if one_hot else scaled(indicator))]
    if values.dtype.kind != "U":
        values = np.array([MISSING if value is None or value != value else str(value) for value in values])
    levels, codes = np.unique(values, return_inverse=True)
    if not one_hot:
        return [(name, scaled(codes.astype(np.float64)))]
    return [(f"{name}={level}", (codes == k).astype(np.float64)) for k, level in enumerate(levels)]
