"""Steps within caps against SciPy's quadratic programs: one gap and many, one side and both, caps at odds."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from fairfront.objectives import Algebra
from fairfront.objectives.gaps import SquaredGap
from fairfront.solvers.capped_step import LinearModel, capped_step, share_along
from fairfront.solvers.least_distance import least_distance
from tests.support.twins import slsqp

SHARES = (0.0, 0.5, 0.9, 1.0)
seeds = st.integers(0, 10**6)
few = settings(max_examples=40, deadline=None)


@dataclass(frozen=True)
class Case:
    """A random step: cells with gradients G (k, d), gaps z, caps on them, and the step size."""

    algebra: Algebra
    G: np.ndarray
    z: np.ndarray
    caps: np.ndarray
    eta: float

    @property
    def slopes(self) -> np.ndarray:
        return self.algebra.B @ self.G

    def step(self) -> np.ndarray:
        """Return the move of the weights."""
        taken = capped_step(self.algebra, self.Q, self.z[None], self.caps[None], np.array([self.eta]))
        move = -taken.beta[0] @ self.G
        np.testing.assert_allclose(taken.loss_change[0], self.algebra.p @ self.G @ move, atol=1e-9 * (1 + move @ move))
        np.testing.assert_allclose(taken.length2[0], move @ move, rtol=1e-6, atol=1e-12)
        return move

    @property
    def Q(self) -> np.ndarray:
        return (self.G @ self.G.T)[None]

    def cost(self, d: np.ndarray) -> tuple[float, np.ndarray]:
        g = self.eta * self.algebra.p @ self.G
        return g @ d + 0.5 * d @ d, g + d

    def room(self, d: np.ndarray, caps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what is left to the caps after the move d, and its derivative."""
        after, two = self.z + self.slopes @ d, self.algebra.two_sided
        return np.append(caps - after, (caps + after)[two]), np.vstack([-self.slopes, self.slopes[two]])

    def relaxed(self, share: float) -> np.ndarray:
        """Return the caps brought nearer to the gaps as they are."""
        size = np.where(self.algebra.two_sided, np.abs(self.z), self.z)
        return self.caps + share * np.maximum(size - self.caps, 0.0)

    def feasible(self, caps: np.ndarray) -> bool:
        """Ask a linear program whether any move keeps the caps, with a hair of slack."""
        left, slopes = self.room(np.zeros(self.G.shape[1]), caps + 1e-9)
        return linprog(np.zeros(slopes.shape[1]), -slopes, left, bounds=(None, None)).status == 0


def draw(seed: int, groups: int, d: int, two_sided: bool, pairs: bool = True) -> Case:
    rng = np.random.default_rng(seed)
    cells = np.eye(groups + 1)
    chosen = list(combinations(range(groups), 2)) if pairs else [(0, 1)]
    B = np.array([cells[i] - cells[j] for i, j in chosen])
    q = len(B)
    names = ("loss", *(f"gap {j}" for j in range(q)))
    p = np.append(rng.dirichlet(np.ones(groups)), 0.1)
    algebra = Algebra(p, B, np.zeros(q), np.full(q, two_sided), SquaredGap(), names)
    G = rng.normal(size=(groups + 1, d)) * 10.0 ** rng.uniform(-1, 0.5, size=(groups + 1, 1))
    caps = rng.uniform(0.0, 0.5, q) * rng.integers(0, 2, q)
    return Case(algebra, G, B @ rng.uniform(0.1, 1.0, groups + 1), caps, 10.0 ** rng.uniform(-2, 0))


def assert_best_step(case: Case, caps: np.ndarray) -> None:
    """The move keeps the caps to first order, and none that does costs less."""
    move = case.step()
    assert case.room(move, caps)[0].min() >= -1e-8
    best = slsqp(case.cost, lambda d: case.room(d, caps), [np.zeros(len(move)), move])
    assert case.cost(move)[0] <= case.cost(best)[0] + 1e-7 * (1.0 + abs(case.cost(best)[0]))


@few
@given(seeds, st.integers(1, 6), st.booleans())
def test_a_single_gap(seed: int, d: int, two_sided: bool) -> None:
    case = draw(seed, 2, d, two_sided, pairs=False)
    assert_best_step(case, case.caps)


@few
@given(seeds, st.integers(2, 5), st.integers(4, 7), st.booleans())
def test_all_pairs_of_groups(seed: int, groups: int, d: int, two_sided: bool) -> None:
    """With at least as many features as groups all gaps can be moved at will, though pairs depend on each other."""
    case = draw(seed, groups, d + 1, two_sided)
    assert_best_step(case, case.caps)


@pytest.mark.parametrize("two_sided", [True, False])
@pytest.mark.parametrize(("groups", "d"), [(3, 1), (4, 1), (5, 1), (4, 2), (5, 2), (5, 3)])
def test_contradictory_caps_are_relaxed(groups: int, d: int, two_sided: bool) -> None:
    """Fewer features than gaps: caps are moved towards the gaps as they are, by the least share that will do."""
    shares = []
    for seed in range(12):
        case = draw(seed, groups, d, two_sided)
        share = next(s for s in SHARES if case.feasible(case.relaxed(s)))
        shares.append(share)
        if share < 1.0:
            assert_best_step(case, case.relaxed(share))
        else:  # perhaps only the move 0 is left: the gaps may not grow
            assert case.room(case.step(), case.relaxed(1.0))[0].min() >= -1e-5
    assert max(shares) > 0.0


def test_caps_that_do_not_bind_leave_the_gradient_step() -> None:
    case = draw(0, 3, 5, True)
    free = Case(case.algebra, case.G, case.z, np.full(3, 1e3), case.eta)
    np.testing.assert_allclose(free.step(), -case.eta * case.algebra.p @ case.G, atol=1e-14)


def test_a_gap_without_gradient_cannot_be_moved() -> None:
    for pairs in (True, False):
        case = draw(1, 3, 4, True, pairs)
        same = np.vstack([np.tile(case.G[0], (3, 1)), case.G[-1:]])
        still = Case(case.algebra, same, case.z, np.zeros(len(case.z)), case.eta)
        np.testing.assert_allclose(still.step(), -case.eta * case.algebra.p @ same, atol=1e-12)


def test_a_batch_of_steps_equals_single_steps() -> None:
    cases = [draw(seed, 4, 6, True) for seed in range(5)]
    algebra = cases[0].algebra
    Q, z, caps, eta = (np.array([getattr(c, f) for c in cases]) for f in ("Q", "z", "caps", "eta"))
    batch = capped_step(algebra, Q[:, 0], z, caps, eta)
    for r, case in enumerate(cases):
        alone = capped_step(algebra, case.Q, z[r : r + 1], caps[r : r + 1], eta[r : r + 1])
        np.testing.assert_allclose(batch.beta[r], alone.beta[0], atol=1e-12)


@few
@given(seeds, st.integers(2, 6), st.integers(1, 8), st.booleans())
def test_least_distance_is_the_smallest_move(seed: int, q: int, r: int, two_sided: bool) -> None:
    rng = np.random.default_rng(seed)
    C, gaps, caps = rng.normal(size=(q, r)), rng.normal(size=q), rng.uniform(0.0, 0.3, q)
    sides = np.full(q, two_sided)
    x = least_distance(C, gaps, caps, sides)
    rows = np.vstack([C, -C[sides]])
    limits = np.append(caps - gaps, (caps + gaps)[sides])
    possible = linprog(np.zeros(r), rows, limits, bounds=(None, None)).status == 0
    assert (x is not None) == possible
    if x is None:
        return
    y = -C.T @ x
    assert (rows @ y <= limits + 1e-7 * (1.0 + np.abs(y).max())).all()
    best = slsqp(lambda v: (0.5 * v @ v, v), lambda v: (limits - rows @ v, -rows), [np.zeros(r), y])
    np.testing.assert_allclose(y, best, atol=2e-5 * (1.0 + np.linalg.norm(best)))


@few
@given(seeds, st.integers(2, 4))
def test_the_share_along_is_that_of_a_projection(seed: int, groups: int) -> None:
    """What moves the gaps at their caps is the projection of the step on their gradients."""
    case = draw(seed, groups, 6, True)
    model = LinearModel(case.algebra, case.z[None], case.Q)
    taken = capped_step(case.algebra, case.Q, case.z[None], case.caps[None], np.array([case.eta]))
    move = -taken.beta[0] @ case.G
    C = case.slopes[taken.x[0] != 0.0]
    along = C.T @ np.linalg.lstsq(C.T, move, rcond=1e-8)[0] if len(C) else 0.0 * move
    np.testing.assert_allclose(share_along(model, taken)[0], along @ along / (move @ move), atol=1e-6)


def test_caps_at_odds_are_told() -> None:
    case = draw(1, 3, 4, True)
    opposed = np.vstack([np.tile(case.G[0], (3, 1)), case.G[-1:]])
    still = Case(case.algebra, opposed, case.z, np.zeros(3), case.eta)
    assert capped_step(still.algebra, still.Q, still.z[None], still.caps[None], np.ones(1)).relaxed[0]
    assert not capped_step(case.algebra, case.Q, case.z[None], np.full((1, 3), 1e3), np.ones(1)).relaxed[0]
