"""Data sets of the UCI Machine Learning Repository: Adult, German credit, Communities and Crime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..validation import check_flag, check_instance, check_names
from .base import Dataset, encode, register
from .origin import Folder, Origin, columns_of, number_column, published, table

UCI = "https://archive.ics.uci.edu"


def _origin(name: str, page: str, folder: str, *files: tuple[str, int, str], **facts: Any) -> Origin:
    address = f"{UCI}/ml/machine-learning-databases/{folder}"
    return Origin(name, f"{UCI}/dataset/{page}", terms="CC BY 4.0", files=published(address, *files), **facts)


ADULT = _origin(
    "adult",
    "2/adult",
    "adult",
    ("adult.data", 3974305, "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d"),
    ("adult.test", 2003153, "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05"),
    rows=45222,
    target="income",
    groups=("sex", "race"),
)
ADULT_NAMES = (
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation"),
    *("relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country"),
    "income",
)
ADULT_NUMBERS = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
PAPER_COLUMNS = ADULT_NAMES[:13]
N_TRAIN = 32561


@register(ADULT)
def load_adult(folder: Folder = None, paper_split: bool = True) -> Dataset:
    """Load Adult (census income): the paper's rows and split, or the original files.

    Parameters
    ----------
    folder : path, optional
        Folder with ``adult.data`` and ``adult.test``, or its parent; default: ``FAIRFRONT_DATA``, then the cache.
    paper_split : bool, default True
        True: the rows of both files in order, without those that miss a value (45 222), and of these the
        first 32 561 for training and the last 12 661 for testing. False: all 48 842 rows, missing categories
        kept as ``None``, and the split of the original files.

    Returns
    -------
    Dataset
        Target ``income`` (">50K" is favourable, "<=50K"), sensitive ``sex`` and ``race``.

    Notes
    -----
    The paper's training rows hold 2 399 rows of the test file: rows were dropped after the length of the
    training file was taken. The split is kept as it is, because published figures rest on it.
    """
    check_flag(paper_split, "paper_split")
    rows = [row for text in ADULT.read(folder).values() for row in table(text) if len(row) == len(ADULT_NAMES)]
    if paper_split:
        rows = [row for row in rows if "?" not in row]
    cells = dict(zip(ADULT_NAMES, zip(*rows, strict=True), strict=True))
    cells["income"] = tuple(label.rstrip(".") for label in cells["income"])  # those of the test file end with a dot
    order = np.arange(len(rows))
    columns, split = columns_of(cells, ADULT_NUMBERS), (order[:N_TRAIN], order[N_TRAIN:])
    features = tuple(name for name in ADULT_NAMES[:-1] if name not in ADULT.groups)
    return Dataset.of(ADULT, columns, favourable=">50K", features=features, task="binary", split=split)


def paper_matrix(dataset: Dataset, drop: Sequence[str] = ()) -> tuple[NDArray[np.float64], list[str]]:
    """Return Adult as the paper encoded it: 13 columns, categories as integers, scaled on the train rows.

    Parameters
    ----------
    dataset : Dataset
        What :func:`load_adult` returned.
    drop : sequence of str
        Columns to leave out, such as ``("sex", "race")``: the paper's encoding keeps both.

    Returns
    -------
    X : ndarray of shape (n, 13 - len(drop)), float64
    feature_names : list of str

    Notes
    -----
    The columns are those of the FERM loader, which loses native-country; categories are numbered in
    alphabetical order. Differs from that loader: scaling is fitted on the training rows only.
    """
    check_instance(dataset, Dataset, "dataset", "one from load_adult()")
    if dataset.name != "adult" or dataset.split is None:
        raise InputError(f"paper_matrix got the data set {dataset.name!r}, expected one from load_adult().")
    dropped = check_names(drop, "drop")
    unknown = [name for name in dropped if name not in PAPER_COLUMNS]
    if unknown:
        raise InputError(f"cannot drop {unknown[0]!r}, expected some of: {', '.join(PAPER_COLUMNS)}.")
    names = [name for name in PAPER_COLUMNS if name not in dropped]
    return encode(dataset.columns, names, encoding="integer", fit_on=dataset.split[0])


GERMAN = _origin(
    "german_credit",
    "144/statlog+german+credit+data",
    "statlog/german",
    ("german.data", 79793, "b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871"),
    rows=1000,
    target="credit_risk",
    groups=("age_group", "sex", "foreign_worker"),
)
GERMAN_NAMES = (
    *("checking_status", "duration_months", "credit_history", "purpose", "credit_amount", "savings"),
    *("employment_since", "instalment_rate", "personal_status_sex", "other_debtors", "residence_since"),
    *("property", "age", "other_instalment_plans", "housing", "existing_credits", "job", "dependants"),
    *("telephone", "foreign_worker", "credit_risk"),
)
GERMAN_NUMBERS = (
    *("duration_months", "credit_amount", "instalment_rate", "residence_since", "age"),
    *("existing_credits", "dependants"),
)
FEMALE_CODES = ("A92", "A95")


@register(GERMAN)
def load_german_credit(folder: Folder = None) -> Dataset:
    """Load German credit (Statlog): 1 000 rows for quick tests, no missing values, and unreliable codes.

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
    rows = table(GERMAN.read(folder)["german.data"], delimiter=" ")
    columns = columns_of(dict(zip(GERMAN_NAMES, zip(*rows, strict=True), strict=True)), GERMAN_NUMBERS)
    columns["credit_risk"] = np.where(columns["credit_risk"] == "1", "good", "bad")
    columns["age_group"] = np.where(columns["age"] <= 25, "<=25", ">25")
    columns["sex"] = np.where(np.isin(columns["personal_status_sex"], FEMALE_CODES), "F", "M")
    aside = ("personal_status_sex", "age", "foreign_worker")
    features = tuple(name for name in GERMAN_NAMES[:-1] if name not in aside)
    return Dataset.of(GERMAN, columns, favourable="good", features=features, task="binary")


COMMUNITIES = _origin(
    "communities_crime",
    "183/communities+and+crime",
    "communities",
    ("communities.data", 1102815, "09e0b5c07eae24c1efab19b2edee05e160e7f5743b6f31e31eec3d73624da2ea"),
    ("communities.names", 27701, "f71e9049d2a8efe566e41be59cae27c84282a8d9d5c4bce4861490227f42c429"),
    rows=1994,
    target="ViolentCrimesPerPop",
    groups=("black_share",),
)
IDENTIFIERS = ("state", "county", "community", "communityname", "fold")
RACE_SHARES = ("racepctblack", "racePctWhite", "racePctAsian", "racePctHisp")


@register(COMMUNITIES)
def load_communities_crime(folder: Folder = None) -> Dataset:
    """Load Communities and Crime: 1 994 communities, a regression target in [0, 1], and groups of places.

    Parameters
    ----------
    folder : path, optional
        Folder with ``communities.data`` and ``communities.names``, or its parent; default:
        ``FAIRFRONT_DATA``, then the cache.

    Returns
    -------
    Dataset
        Target ``ViolentCrimesPerPop``, sensitive ``black_share`` ("above 0.06", "at most 0.06", on the file's
        normalised scale). Of the 99 predictors without missing values 95 are features: ``racepctblack``,
        ``racePctWhite``, ``racePctAsian`` and ``racePctHisp`` are columns and not features. The 23
        predictors with missing values are columns too, with NaN.
    """
    texts = COMMUNITIES.read(folder)
    lines = [line.split() for line in texts["communities.names"].splitlines()]
    names = [words[1] for words in lines if words and words[0] == "@attribute"]
    columns: dict[str, NDArray[Any]] = {
        name: number_column(values).astype(np.float64)
        for name, values in zip(names, zip(*table(texts["communities.data"]), strict=True), strict=True)
        if name not in IDENTIFIERS
    }
    others = (COMMUNITIES.target, *RACE_SHARES)
    features = tuple(name for name in columns if name not in others and not np.isnan(columns[name]).any())
    columns["black_share"] = np.where(columns["racepctblack"] > 0.06, "above 0.06", "at most 0.06")
    return Dataset.of(COMMUNITIES, columns, favourable=None, features=features, task="regression")
