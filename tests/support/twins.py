"""Small problems for the solvers' tests, written out a second time in plain numpy, and each theorem as one assert."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, partial
from itertools import combinations

import numpy as np
from scipy.optimize import minimize as scipy_minimize
from scipy.optimize import nnls
from scipy.special import expit

import fairfront as ff
from fairfront.problems import LinearProblem
from tests.support.points import TracedPoint

Function = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
PHI = {
    "squared": (lambda z: 0.5 * z**2, lambda z: z),
    "absolute": (np.abs, np.sign),
    "exponential": (lambda z: np.cosh(z) - 1.0, np.sinh),
}


@dataclass(frozen=True, eq=False)
class Twin:
    """Logistic regression on groups, in plain numpy: the loss, its signed gaps (or group losses), their gradients."""

    X: np.ndarray
    y: np.ndarray
    group: np.ndarray
    notion: str = "equal_opportunity"
    surrogate: str = "loss"
    ridge: float = 1e-2

    @property
    def d(self) -> int:
        return self.X.shape[1] + 1

    @property
    def two_sided(self) -> bool:
        return self.notion != "group_loss"

    @cached_property
    def design(self) -> np.ndarray:
        return np.column_stack([self.X, np.ones(len(self.X))])

    def losses(self, w: np.ndarray, target: np.ndarray | float) -> tuple[np.ndarray, np.ndarray]:
        u = target * (self.design @ w)
        return np.logaddexp(0.0, -u), (-target * expit(-u))[:, None] * self.design

    def rates(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        share = expit(self.design @ w)
        return share, (share * (1.0 - share))[:, None] * self.design

    def loss(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        values, slopes = self.losses(w, self.y)
        kept = np.append(w[:-1], 0.0)
        return values.mean() + 0.5 * self.ridge * kept @ kept, slopes.mean(axis=0) + self.ridge * kept

    def gaps(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the signed gaps of all pairs (or the groups' losses) and their gradients."""
        target = 1.0 if self.notion == "demographic_parity" else self.y
        values, slopes = self.rates(w) if self.surrogate == "rate" else self.losses(w, target)
        labels = {"equal_opportunity": [1], "equalized_odds": [1, -1]}.get(self.notion, [0])
        z, J = [], []
        for label in labels:
            rows = [(self.group == g) & ((self.y == label) | (label == 0)) for g in np.unique(self.group)]
            means = [(values[r].mean(), slopes[r].mean(axis=0)) for r in rows]
            pairs = combinations(means, 2) if self.two_sided else [(m, (0.0, 0.0)) for m in means]
            for (one, its_slope), (other, other_slope) in pairs:
                z.append(one - other)
                J.append(its_slope - other_slope)
        return np.array(z), np.array(J)

    def objectives(self, w: np.ndarray, gap: str = "squared") -> tuple[np.ndarray, np.ndarray]:
        (loss, g), (z, J) = self.loss(w), self.gaps(w)
        value, slope = PHI[gap]
        return np.append(loss, value(z)), np.vstack([g, slope(z)[:, None] * J])

    def capped(self, caps: np.ndarray) -> Function:
        """Return w -> caps minus gaps, on both sides unless the gaps are group losses, with its Jacobian."""
        sides = 2 if self.two_sided else 1

        def room(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            z, J = self.gaps(w)
            return np.concatenate([caps - z, caps + z][:sides]), np.vstack([-J, J][:sides])

        return room

    def best(self, caps: np.ndarray, *starts: np.ndarray) -> np.ndarray:
        """Return SLSQP's minimiser of the loss within caps on the gaps."""
        return slsqp(self.loss, self.capped(caps), starts or (self.plain_fit, np.zeros(self.d)))

    def chebyshev(self, pi: np.ndarray, *starts: np.ndarray) -> float:
        """Return SLSQP's smallest max_i pi_i h_i, with t = that maximum as one more unknown."""
        last = np.eye(self.d + 1)[-1]

        def room(v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            h, J = self.objectives(v[:-1])
            return v[-1] - pi * h, np.column_stack([-pi[:, None] * J, np.ones(len(pi))])

        lifted = [np.append(w, (pi * self.objectives(w)[0]).max()) for w in starts or (self.plain_fit,)]
        return float(slsqp(lambda v: (v[-1], last), room, lifted)[-1])

    def residual(self, w: np.ndarray, caps: np.ndarray, x: np.ndarray) -> float:
        """Return the KKT residual: stationarity, violation, complementarity and signs of the multipliers."""
        (_, g), (z, J) = self.loss(w), self.gaps(w)
        size, side = (np.abs(z), np.sign(x) * z) if self.two_sided else (z, z)
        wrong = 0.0 if self.two_sided else -x.min()
        return max(np.abs(g + x @ J).max(), (size - caps).max(), (np.abs(x) * (caps - side)).max(), wrong)

    @cached_property
    def plain_fit(self) -> np.ndarray:
        return scipy_minimize(self.loss, np.zeros(self.d), jac=True, options={"gtol": 1e-8}).x

    @cached_property
    def span(self) -> float:
        """Return the loss range of the front: least loss with all gaps zero, minus least loss."""
        none = np.zeros(len(self.gaps(self.plain_fit)[0]))
        return self.loss(self.best(none))[0] - self.loss(self.plain_fit)[0]

    def problem(self, **options: object) -> LinearProblem:
        groups = ff.Groups(reference=str(self.group.max()), min_size=1)
        given = {"notion": self.notion, "surrogate": self.surrogate, "ridge": self.ridge, "groups": groups, **options}
        return ff.linear_problem(self.X, self.y, sensitive_features=self.group.astype(str), **given)


def slsqp(function: Function, room: Function, starts: tuple[np.ndarray, ...] | list[np.ndarray]) -> np.ndarray:
    """Return the best of SciPy's answers to: minimise function subject to room >= 0."""
    limits = {"type": "ineq", "fun": lambda x: room(x)[0], "jac": lambda x: room(x)[1]}
    settings = {"jac": True, "method": "SLSQP", "constraints": limits, "options": {"maxiter": 500, "ftol": 1e-14}}
    found = [scipy_minimize(function, x, **settings).x for x in starts]
    return min((x for x in found if room(x)[0].min() >= -1e-8), key=lambda x: function(x)[0])


@cache
def cohort(
    seed: int,
    groups: int = 2,
    notion: str = "equal_opportunity",
    surrogate: str = "loss",
    n: int = 240,
    d: int = 4,
    apart: float = 0.3,
) -> Twin:
    """Draw features, labels and groups; the groups' labels depend on the features in different ways."""
    rng = np.random.default_rng(seed)
    group = rng.permutation(np.arange(n) % groups)
    X = rng.normal(size=(n, d)) + apart * rng.normal(size=(groups, d))[group]
    slopes = rng.normal(size=d) + 0.8 * rng.normal(size=(groups, d))
    score = (X * slopes[group]).sum(axis=1) + 0.7 * rng.normal(size=groups)[group]
    y = np.where(score + rng.logistic(size=n) > 0, 1.0, -1.0)
    for array in (X, y, group):
        array.setflags(write=False)  # tests share what is cached
    return Twin(X, y, group, notion, surrogate)


drawn = partial(cohort, apart=0.4)
"""Draw groups that lie further apart, for the Newton tracer."""


def flat(point: TracedPoint) -> np.ndarray:
    """Return the weights of a point of a path as one vector."""
    return point.W.reshape(-1)


def fair_rows(rng: np.random.Generator, groups: int, d: int) -> np.ndarray:
    """Return raw gradients as fairness makes them: the total, then (L_i - L_j)(g_i - g_j) for all pairs."""
    L, G = rng.uniform(0.1, 1.0, groups), rng.normal(size=(groups, d))
    pairs = [(L[i] - L[j]) * (G[i] - G[j]) for i, j in combinations(range(groups), 2)]
    return np.array([rng.dirichlet(np.ones(groups)) @ G, *pairs])


def smallest_in_hull(J: np.ndarray) -> np.ndarray:
    """Return the smallest vector in the hull of the rows by trying all faces (Caratheodory: rank + 1 rows at most)."""
    norms = np.linalg.norm(J, axis=1)
    unit, share = J / norms[:, None], norms.min() / norms
    best = J[norms.argmin()]
    for size in range(2, min(len(J), np.linalg.matrix_rank(unit) + 1) + 1):
        faces = np.array(list(combinations(range(len(J)), size)))
        kkt = np.zeros((len(faces), size + 1, size + 1))
        kkt[:, :-1, :-1] = unit[faces] @ unit[faces].transpose(0, 2, 1)
        kkt[:, :-1, -1] = kkt[:, -1, :-1] = share[faces]
        weights = np.linalg.pinv(kkt, rcond=1e-14, hermitian=True)[:, :-1, -1]
        inside = (weights >= -1e-12).all(axis=1) & ((weights * share[faces]).sum(axis=1) > 0)
        weights, faces = np.maximum(weights[inside], 0.0), faces[inside]
        alpha = weights * share[faces]
        found = np.einsum("fs,fsd->fd", alpha / alpha.sum(axis=1, keepdims=True), J[faces])
        best = min([best, *found], key=np.linalg.norm)
    return best


def assert_common_descent(J: np.ndarray, d: np.ndarray) -> None:
    """Lemma 1: d is zero, or -d raises no objective to first order."""
    norms, length = np.linalg.norm(J, axis=1), np.linalg.norm(d)
    assert length <= 1e-13 * norms.max() or (J @ d >= -1e-9 * norms * length).all()


def assert_smallest(J: np.ndarray, alpha: np.ndarray) -> None:
    """alpha solves the inner problem: in the simplex, with |d|^2 <= <d, g_i> for all i, which proves it."""
    d, norms = alpha @ J, np.linalg.norm(J, axis=1)
    assert alpha.min() >= 0.0
    np.testing.assert_allclose(alpha.sum(), 1.0, rtol=1e-12)
    assert (d @ d - J @ d <= 1e-13 * norms * norms.min()).all()


def assert_kkt(plain: Twin, w: np.ndarray, caps: np.ndarray, tol: float = 2e-5) -> None:
    """w minimises the loss within caps to first order: multipliers >= 0 on active caps balance its gradient."""
    room, slopes = plain.capped(caps)(w)
    assert room.min() >= -tol
    active = np.vstack([slopes[room <= tol], np.zeros(plain.d)])
    assert nnls(active.T, plain.loss(w)[1])[1] <= tol


def assert_on_line(pi: np.ndarray, h: np.ndarray, tol: float = 5e-3) -> None:
    """The paper's aim: pi_1 h_1 = ... = pi_m h_m."""
    assert (pi * h).min() >= (1.0 - tol) * (pi * h).max()


def assert_never_rises(history: np.ndarray, band: float = 0.0) -> None:
    """Every step lowers all objectives; gaps within the band around 0 stay there, and may cost a little loss."""
    old, new, inside = history[:-1], history[1:], 0.5 * band**2 * (1.0 + 1e-9)
    held = old[:, 1:] <= inside
    assert ((new[:, 1:] <= old[:, 1:]) | (held & (new[:, 1:] <= inside))).all()
    assert (new[:, 0] <= old[:, 0] + np.where(held.any(axis=1), 10.0 * band, 0.0)).all()
