"""Loan applications that are wholly made up, with a bias whose cause is known."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..validation import check_count, check_share
from .base import Dataset, register
from .origin import Origin

ORIGIN = Origin(
    name="loans",
    page="",
    rows=6000,
    terms="synthetic",
    target="outcome",
    groups=("group", "sex"),
    # As in a file of one's own: an identifier, which must not become a feature, and a month to split by.
    csv_id="applicant_id",
    csv_columns=("applied",),
)
FEATURES = ("income", "debt_ratio", "years_employed", "past_defaults", "loan_amount", "region")
REGIONS = np.array(["north", "east", "south", "west"])
REGION_SHARES = {"A": (0.42, 0.42, 0.08, 0.08), "B": (0.08, 0.08, 0.42, 0.42), "C": (0.25,) * 4}
MONTHS = np.array([f"{2024 + k // 12}-{k % 12 + 1:02d}" for k in range(24)])
MOST = 10_000_000
"""Most applications that are drawn, which is a gigabyte of them."""
TRUE_DEFAULTS = (0.62, 0.25, 0.09, 0.03, 0.01)
EXTRA_DEFAULTS = (0.62, 0.26, 0.12)


@register(ORIGIN)
def load_loans(n: int = 6000, seed: int = 0, bias: float = 1.0) -> Dataset:
    """Draw synthetic loan applications; the same arguments give the same bytes.

    Parameters
    ----------
    n : int, default 6000
        Number of applications.
    seed : int, default 0
        Seed of the random generator.
    bias : float in [0, 1], default 1.0
        Strength of the measurement bias: 0 records the truth for everyone.

    Returns
    -------
    Dataset
        Target ``outcome`` ("repaid" is favourable, "defaulted"), sensitive ``group`` and ``sex``. The month
        of application ``applied`` ("2024-01" to "2025-12") is a column and not a feature.

    Notes
    -----
    The story, in the order in which it is drawn:

    1. Applications arrive over 24 months, more of them later on. Group B's share grows from 34 to 42 %,
       group C has 3 %, the rest is group A. 45 % of B and 50 % of the others are women.
    2. Where people live depends on the group: 84 % of A live in the north or east, 84 % of B in the south or
       west. ``region`` is therefore a stand-in for the group.
    3. True income is log-normal, 5 % lower in group B and 8 % lower for women. Years employed, debt ratio,
       true past defaults and the loan as a share of income do not depend on the group.
    4. The log-odds to repay rise with true income and years employed, and fall with debt ratio, true past
       defaults, loan over income and, slightly, with the calendar month. Group and region play no part.
    5. **The bias**: in group B's records 38 % of people have one or two past defaults too many, and income is
       written down about 12 % too low. Everybody else's records are true.
    6. For 2 % of the rows the group is not recorded (``None``).

    With the defaults, plain logistic regression on the one-hot features (first 4 200 rows to train, cut-off
    0.5) errs on 23 % of the other rows and approves 93 % of the people who repay in group A, 80 % in group B.
    With ``bias=0`` these two shares are nearly equal. Moving weight from group A's repaid rows to group B's
    closes most of the gap at about the same error.
    """
    check_count(n, "n", most=MOST)
    check_count(seed, "seed", least=0)
    check_share(bias, "bias", zero=True, one=True)
    rng = np.random.Generator(np.random.PCG64(seed))
    month = np.floor(24 * rng.random(n) ** 0.8).astype(np.int64)
    draw, share_b = rng.random(n), 0.34 + 0.08 * month / 23
    group = np.select([draw < 0.03, draw < 0.03 + share_b], ["C", "B"], "A")
    wronged = group == "B"
    sex = np.where(rng.random(n) < np.where(wronged, 0.45, 0.50), "F", "M")
    shares = np.array([REGION_SHARES[name] for name in group])
    region = (rng.random(n)[:, None] > shares.cumsum(axis=1)[:, :-1]).sum(axis=1)

    shift = np.log(np.where(wronged, 0.95, 1.0) * np.where(sex == "F", 0.92, 1.0))
    income = np.exp(10.4 + shift + 0.45 * rng.standard_normal(n))
    debt_ratio = 1 / (1 + np.exp(0.7 - 0.7 * rng.standard_normal(n)))
    years_employed = np.abs(6 + 5 * rng.standard_normal(n))
    past_defaults = _draw(rng, TRUE_DEFAULTS, n)
    loan_amount = income * np.exp(-0.9 + 0.5 * rng.standard_normal(n))
    log_odds = (
        2.5
        + 2.0 * (np.log(income) - 10.4)
        + 0.14 * (years_employed - 6)
        - 3.5 * (debt_ratio - 0.33)
        - 1.7 * past_defaults
        - 2.3 * (loan_amount / income - 0.45)
        - 0.3 * month / 23
    )
    repaid = rng.random(n) < 1 / (1 + np.exp(-log_odds))

    extra = _draw(rng, EXTRA_DEFAULTS, n) * (wronged & (rng.random(n) < bias))
    factor = np.where(wronged, np.exp(bias * (np.log(0.88) + 0.1 * rng.standard_normal(n))), 1.0)
    recorded = group.astype(object)
    recorded[rng.random(n) < 0.02] = None
    columns: dict[str, NDArray[Any]] = {
        "income": _hundreds(income * factor),
        "debt_ratio": np.round(debt_ratio, 2),
        "years_employed": np.round(years_employed, 1),
        "past_defaults": past_defaults + extra,
        "loan_amount": _hundreds(loan_amount),
        "region": REGIONS[region],
        "applied": MONTHS[month],
        "group": recorded,
        "sex": sex,
        "outcome": np.where(repaid, "repaid", "defaulted"),
    }
    return Dataset.of(ORIGIN, columns, favourable="repaid", features=FEATURES, task="binary")


def _draw(rng: np.random.Generator, shares: tuple[float, ...], n: int) -> NDArray[np.int64]:
    return np.searchsorted(np.cumsum(shares)[:-1], rng.random(n)).astype(np.int64)


def _hundreds(values: NDArray[np.float64]) -> NDArray[np.int64]:
    return (np.round(values / 100) * 100).astype(np.int64)
