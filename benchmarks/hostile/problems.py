"""Random problems over all scales: how they are drawn at scale 1, and how they are given to fairfront.

Scales are powers of two and offsets are taken off again after rounding, so that both sides see the same numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

import fairfront as ff

BINARY = ("logistic", "squared_hinge", "smoothed_hinge")
NOTIONS = {
    "binary": (
        "equal_opportunity",
        "equalized_odds",
        "predictive_equality",
        "disparate_mistreatment",
        "demographic_parity",
        "group_loss",
    ),
    "regression": ("disparate_mistreatment", "demographic_parity", "group_loss"),
}
NOTIONS["multiclass"] = NOTIONS["binary"]
LABELS = np.array(["bad", "good", "other"])
SHAPES = ("ordinary", "separable", "collinear", "tiny groups", "rare label")


@dataclass(frozen=True)
class Draw:
    """One problem at scale 1, and the units in which fairfront gets it.

    ``X`` (n, d), ``y`` (class codes or values), ``group`` (codes), ``weight`` (None: all 1) and ``ridge`` are those of
    scale 1; fairfront gets (X + offset) * scale, ridge * scale^2 (per column only where the ridge is 0),
    weight * weight_unit and, for regression, (y + target_offset) * target_unit.
    """

    seed: int
    shape: str
    kind: str
    loss: str
    notion: str
    X: np.ndarray
    y: np.ndarray
    group: np.ndarray
    weight: np.ndarray | None
    ridge: float
    intercept: bool
    favourable: int
    scale: np.ndarray
    offset: np.ndarray
    weight_unit: float = 1.0
    target_unit: float = 1.0
    target_offset: float = 0.0
    as_sparse: bool = False

    @property
    def classes(self) -> int:
        """Return the number of classes, 0 for regression."""
        return {"binary": 2, "multiclass": 3, "regression": 0}[self.kind]

    @property
    def loss_unit(self) -> float:
        """Return what a loss of 1 at scale 1 is for fairfront."""
        return self.target_unit**2

    @property
    def gap_unit(self) -> float:
        """Return what a gap of 1 at scale 1 is for fairfront: mean predictions are in the targets' unit."""
        means = self.kind == "regression" and self.notion == "demographic_parity"
        return self.target_unit if means else self.loss_unit

    def traced(self, n_points: int = 4) -> ff.Frontier:
        """Return fairfront's frontier, in its units."""
        X: Any = (self.X + self.offset) * self.scale
        y = (self.y + self.target_offset) * self.target_unit if self.kind == "regression" else LABELS[self.y]
        weight = None if self.weight is None else self.weight * self.weight_unit
        return ff.trace(
            sparse.csr_array(X) if self.as_sparse else X,
            y,
            sensitive_features=np.array(list("abcde"))[self.group],
            favourable=None if self.kind == "regression" else LABELS[self.favourable],
            notion=self.notion,
            loss=self.loss,
            ridge=self.ridge * float(self.scale[0]) ** 2,
            fit_intercept=self.intercept,
            sample_weight=weight,
            groups=ff.Groups(min_size=1),
            n_points=n_points,
            progress=False,
        )

    def at_scale_one(self, front: ff.Frontier, place: int) -> np.ndarray:
        """Return a point's coefficients and intercepts (K, d + 1) at scale 1."""
        coef = np.asarray(front.models.coef[place], dtype=np.longdouble) * self.scale
        shift = coef @ self.offset.astype(np.longdouble)
        b = np.asarray(front.models.intercept[place], dtype=np.longdouble) + shift
        theta = np.column_stack([coef, b]) / self.target_unit
        theta[:, -1] -= self.target_offset
        return theta.astype(float)

    def rounding(self, front: ff.Frontier, place: int) -> float:
        """Return how well scores at scale 1 are known from coefficients in fairfront's units."""
        coef = np.abs(np.asarray(front.models.coef[place]) * self.scale) / self.target_unit
        large = coef @ np.abs(self.offset) + abs(self.target_offset)
        return 1e-15 * float(np.max(large, initial=1.0))


def draw_problem(seed: int) -> Draw:
    """Return the problem with this number."""
    rng = np.random.default_rng([20260116, seed])
    kind = str(rng.choice(["binary", "multiclass", "regression"], p=[0.65, 0.15, 0.2]))
    loss = {"binary": str(rng.choice(BINARY, p=[0.6, 0.2, 0.2])), "multiclass": "softmax"}.get(kind, "squared")
    shape = str(rng.choice(SHAPES, p=[0.5, 0.1, 0.15, 0.15, 0.1]))
    notion = str(rng.choice(NOTIONS[kind]))
    n, d = int(rng.integers(40, 401)), int(rng.integers(1, 9))
    if kind == "multiclass":
        n, d = min(n, 200), min(d, 4)
    n_groups = int(rng.integers(2, 6))
    group = _groups(rng, n, n_groups, shape)
    X = _features(rng, n, d, group, shape)
    y = _labels(rng, X, group, kind, shape)
    weight = rng.lognormal(0.0, 1.0, n) if rng.random() < 0.3 else None
    ridge = float(rng.choice([0.0, 10.0 ** rng.uniform(-6, 0), 1.0 / n]))
    plain = Draw(seed, shape, kind, loss, notion, X, y, group, weight, ridge, bool(rng.random() < 0.8),
                 int(rng.integers(0, 2)), np.ones(d), np.zeros(d))  # fmt: skip
    return _in_units(rng, plain)


def _in_units(rng: np.random.Generator, at: Draw) -> Draw:
    """Draw the units: a common scale, one per column where the ridge is 0, offsets where there is an intercept."""
    d = at.X.shape[1]
    own = at.ridge == 0.0 and rng.random() < 0.7
    scale = np.full(d, 2.0 ** rng.integers(-40, 41)) if not own else 2.0 ** rng.integers(-40, 41, d)
    offset, X = np.zeros(d), at.X
    as_sparse = bool(rng.random() < 0.1)
    if at.intercept and not as_sparse and rng.random() < 0.5:
        offset = np.where(rng.random(d) < 0.5, rng.choice([-1.0, 1.0], d) * 10.0 ** rng.uniform(0, 9, d), 0.0)
        X = (X + offset) - offset
    units: dict[str, Any] = {"weight_unit": 2.0 ** int(rng.integers(-40, 41))}
    if at.kind == "regression":
        units["target_unit"] = 2.0 ** int(rng.integers(-40, 41))
        if at.intercept and rng.random() < 0.3:
            units["target_offset"] = float(10.0 ** rng.uniform(0, 6))
            units["target_offset"], y = _taken_off(at.y, units["target_offset"])
            at = replace(at, y=y)
    return replace(at, X=X, scale=scale, offset=offset, as_sparse=as_sparse, **units)


def _taken_off(values: np.ndarray, offset: float) -> tuple[float, np.ndarray]:
    return offset, (values + offset) - offset


def _groups(rng: np.random.Generator, n: int, count: int, shape: str) -> np.ndarray:
    """Return group codes; tiny groups have 3 to 6 rows, every other group a random share."""
    share = rng.dirichlet(np.full(count, 3.0))
    group = rng.choice(count, n, p=share)
    if shape == "tiny groups":
        group[group == count - 1] = 0
        group[rng.choice(n, int(rng.integers(3, 7)), replace=False)] = count - 1
    for code in range(count):  # every group has a row of every label
        group[3 * code : 3 * code + 3] = code
    return group


def _features(rng: np.random.Generator, n: int, d: int, group: np.ndarray, shape: str) -> np.ndarray:
    X = rng.normal(size=(n, d)) + rng.normal(size=(5, d))[group] * rng.choice([0.0, 0.3, 1.0])
    if rng.random() < 0.3:
        X[:, 0] = (X[:, 0] > 0.5).astype(float)
    if shape == "collinear" and d > 1:
        X[:, -1] = X[:, 0] + float(rng.choice([0.0, 1e-7, 1e-4])) * rng.normal(size=n)
        if d > 2 and rng.random() < 0.3:
            X[:, 1] = 1.0
    return X


def _labels(rng: np.random.Generator, X: np.ndarray, group: np.ndarray, kind: str, shape: str) -> np.ndarray:
    direction = rng.normal(size=X.shape[1])
    latent = X @ direction + rng.normal(size=5)[group] * rng.choice([0.0, 0.5, 1.5])
    if shape != "separable" or kind == "regression":
        latent = latent + rng.logistic(size=len(X)) * np.exp(0.5 * (group == 0) * rng.normal())
    else:
        latent = X @ direction
    if kind == "regression":
        return latent
    cuts = [0.95] if shape == "rare label" else [float(rng.uniform(0.2, 0.8))]
    cuts = cuts if kind == "binary" else [0.3, 0.7]
    y = np.digitize(latent, np.quantile(latent, cuts))
    if shape == "separable":
        return y
    for code in range(int(group.max()) + 1):
        y[3 * code : 3 * code + 3] = (
            rng.permutation(3) if kind == "multiclass" else rng.permutation([0, 1, y[3 * code]])
        )
    return y
