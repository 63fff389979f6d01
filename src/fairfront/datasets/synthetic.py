"""Data that are wholly made up, with a bias whose cause is known: loan applications, and motor policies."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..validation import check_count, check_share
from .base import Dataset, register
from .origin import Origin

LOANS = Origin(
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
LOAN_FEATURES = ("income", "debt_ratio", "years_employed", "past_defaults", "loan_amount", "region")
REGIONS = np.array(["north", "east", "south", "west"])
REGION_SHARES = {"A": (0.42, 0.42, 0.08, 0.08), "B": (0.08, 0.08, 0.42, 0.42), "C": (0.25,) * 4}
MONTHS = np.array([f"{2024 + k // 12}-{k % 12 + 1:02d}" for k in range(24)])
TRUE_DEFAULTS = (0.62, 0.25, 0.09, 0.03, 0.01)
EXTRA_DEFAULTS = (0.62, 0.26, 0.12)


MOTOR = Origin(
    name="motor",
    page="",
    rows=20_000,
    terms="synthetic",
    target="claims",
    groups=("group", "sex"),
    csv_columns=("exposure", "frequency"),
)
MOTOR_FEATURES = ("age", "claim_free_years", "kilometres", "power", "vehicle_age", "area")
AREAS = np.array(["rural", "town", "city"])
AREA_SHARES = {"A": (0.40, 0.40, 0.20), "B": (0.10, 0.30, 0.60)}
AREA_EFFECTS = np.array([0.0, 0.08, 0.18])
MOST = 10_000_000
"""Most rows that are drawn, which is a gigabyte of them."""


@register(LOANS)
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
    rng = _generator(n, seed, bias)
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
    return Dataset.of(LOANS, columns, favourable="repaid", features=LOAN_FEATURES, task="binary")


@register(MOTOR)
def load_motor(n: int = 20_000, seed: int = 0, bias: float = 1.0) -> Dataset:
    """Draw a synthetic portfolio of motor policies; the same arguments give the same bytes.

    Parameters
    ----------
    n : int, default 20 000
        Number of policies.
    seed : int, default 0
        Seed of the random generator.
    bias : float in [0, 1], default 1.0
        Share of group B's policies whose records lack years without claims: 0 records the truth for everyone.

    Returns
    -------
    Dataset
        Target ``claims``, their number; ``exposure`` (years), ``cost`` (of all claims of a policy) and ``frequency``
        (claims per year) are columns and not features. Sensitive ``group`` and ``sex``.

    Notes
    -----
    The story, in the order in which it is drawn:

    1. 30 % of policies are of group B; half of all drivers are women. Six policies in ten run for a whole year, the
       others for 0.05 to 1 year.
    2. Where a car is garaged depends on the group: 60 % of B and 20 % of A in a city. ``area`` is a stand-in for the
       group, and cities have 20 % more claims, whoever drives.
    3. Age, years without claims (at most age - 18), kilometres, power and age of the car do not depend on the group.
    4. Claims are Poisson with a rate per year that falls with years without claims and rises for the young, with
       kilometres and area. Group and sex play no part. A claim costs a gamma amount that rises with power.
    5. **The bias**: in group B's records 60 % of the years without claims are missing. Everybody else's are true.

    A Poisson model of the records expects more claims of group B than happen: actual over expected is below 1 there,
    and above 1 in group A. With ``bias=0`` both are near 1.
    """
    rng = _generator(n, seed, bias)
    wronged = rng.random(n) < 0.30
    group, sex = np.where(wronged, "B", "A"), np.where(rng.random(n) < 0.5, "F", "M")
    exposure = np.where(rng.random(n) < 0.6, 1.0, np.round(0.05 + 0.95 * rng.random(n), 2))
    shares = np.array([AREA_SHARES[name] for name in group])
    area = (rng.random(n)[:, None] > shares.cumsum(axis=1)[:, :-1]).sum(axis=1)
    age = np.clip(np.round(45 + 15 * rng.standard_normal(n)), 18, 90)
    free = np.round((age - 18) * rng.random(n) ** 2).clip(0, 25)
    kilometres = np.exp(9.3 + 0.5 * rng.standard_normal(n))
    power = np.round(np.exp(4.5 + 0.3 * rng.standard_normal(n)))
    vehicle_age = np.floor(12 * rng.random(n) ** 1.3)
    rate = np.exp(
        -1.9
        + 0.5 * (age < 25)
        - 0.07 * free
        + 0.35 * (np.log(kilometres) - 9.3)
        + AREA_EFFECTS[area]
        - 0.01 * vehicle_age
    )
    claims = rng.poisson(rate * exposure)
    each = 1500.0 * np.exp(0.4 * (np.log(power) - 4.5))
    cost = np.where(claims > 0, each / 2.0 * rng.standard_gamma(2.0 * np.maximum(claims, 1)), 0.0)
    lost = wronged & (rng.random(n) < bias)
    columns: dict[str, NDArray[Any]] = {
        "age": age.astype(np.int64),
        "claim_free_years": np.where(lost, np.round(0.4 * free), free).astype(np.int64),
        "kilometres": (np.round(kilometres / 500) * 500).astype(np.int64),
        "power": power.astype(np.int64),
        "vehicle_age": vehicle_age.astype(np.int64),
        "area": AREAS[area],
        "exposure": exposure,
        "claims": claims.astype(np.float64),
        "cost": np.round(cost, 2),
        "group": group,
        "sex": sex,
        "frequency": claims / exposure,
    }
    return Dataset.of(MOTOR, columns, favourable=None, features=MOTOR_FEATURES, task="regression")


def _generator(n: int, seed: int, bias: float) -> np.random.Generator:
    check_count(n, "n", most=MOST)
    check_count(seed, "seed", least=0)
    check_share(bias, "bias", one=True)
    return np.random.Generator(np.random.PCG64(seed))


def _draw(rng: np.random.Generator, shares: tuple[float, ...], n: int) -> NDArray[np.int64]:
    return np.searchsorted(np.cumsum(shares)[:-1], rng.random(n)).astype(np.int64)


def _hundreds(values: NDArray[np.float64]) -> NDArray[np.int64]:
    return (np.round(values / 100) * 100).astype(np.int64)
