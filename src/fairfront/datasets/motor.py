"""A portfolio of motor policies that is wholly made up: claims, exposure and cost, with a bias whose cause is known."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..validation import check_count, check_share
from .base import Dataset, register
from .origin import Origin

ORIGIN = Origin(
    name="motor",
    page="",
    rows=20_000,
    terms="synthetic",
    target="claims",
    groups=("group", "sex"),
    csv_columns=("exposure",),
)
FEATURES = ("age", "claim_free_years", "kilometres", "power", "vehicle_age", "area")
AREAS = np.array(["rural", "town", "city"])
AREA_SHARES = {"A": (0.40, 0.40, 0.20), "B": (0.10, 0.30, 0.60)}
AREA_EFFECTS = np.array([0.0, 0.08, 0.18])
MOST = 10_000_000
"""Most policies that are drawn."""


@register(ORIGIN)
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
    check_count(n, "n", most=MOST)
    check_count(seed, "seed", least=0)
    check_share(bias, "bias", zero=True, one=True)
    rng = np.random.Generator(np.random.PCG64(seed))
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
    return Dataset.of(ORIGIN, columns, favourable=None, features=FEATURES, task="regression")
