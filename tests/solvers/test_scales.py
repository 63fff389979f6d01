"""Units: what is found does not depend on those of columns, weights and targets, and what has none is refused."""

from __future__ import annotations

import warnings
from contextlib import suppress

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

import fairfront as ff
from fairfront.exceptions import FairfrontWarning
from fairfront.problems.point import decomposable
from fairfront.solvers import Status
from tests.support.extras import optional

dask = optional("dask")
da = optional("dask.array")


def drawn(n: int = 150, d: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features, labels and groups of a problem whose smallest gaps are not certified."""
    rng = np.random.default_rng(seed)
    X, group = rng.normal(size=(n, d)), rng.integers(0, 2, n)
    y = (X[:, 0] * (1.0 - 1.6 * group) + 0.5 * X[:, 1] + rng.normal(scale=0.7, size=n) > 0).astype(int)
    return X, y, group.astype(str)


def traced(X, y, group, **options):
    options = {"notion": "equalized_odds", "groups": ff.Groups(min_size=1), "n_points": 5, **options}
    return ff.trace(X, y, sensitive_features=group, progress=False, **options)


class TestCertificates:
    @pytest.mark.parametrize("scale", [1e-7, 1e5, 1e7, 1e12])
    def test_the_ridge_has_no_part_in_them(self, scale: float) -> None:
        """The tolerance had the ridge in it, so that a certified point had twice the loss that is possible."""
        X, y, group = drawn()
        one, other = traced(X, y, group, ridge=1e-2), traced(scale * X, y, group, ridge=1e-2 * scale**2)
        assert not one.certified.all()
        np.testing.assert_array_equal(other.certified, one.certified)
        np.testing.assert_allclose(other.loss, one.loss, rtol=1e-6)

    @pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
    @pytest.mark.parametrize("rows", ["all", "one category"])
    def test_there_is_none_without_an_optimum(self, rows: str, scale: float) -> None:
        """Weights grow without end where a column separates labels, be it those of one category alone."""
        X, y, group = drawn()
        more = X[:, 0] * (2 * y - 1) < 0.0 if rows == "all" else (X[:, 2] > 0.8) & (y == 1)
        X = X * np.where(more, -1.0, 1.0)[:, None] if rows == "all" else np.column_stack([X, more])
        y = (X[:, 0] > 0).astype(int) if rows == "all" else y
        with pytest.warns(
            FairfrontWarning, match="unconstrained training has no certain optimum at ridge 0: labels can be"
        ):
            front = traced(scale * X, y, group, ridge=0.0)
        assert not front.certified.any()
        assert traced(scale * X, y, group, ridge=1e-3 * scale**2).certified[0]

    @pytest.mark.slow
    @pytest.mark.parametrize("apart", [1e-3, 1e-6, 1e-7, 1e-8, 1e-9, 1e-11, 0.0])
    @pytest.mark.parametrize(("kind", "least"), [("dense", 1e-10), ("sparse", 1e-5)])
    def test_columns_that_are_nearly_collinear(self, kind: str, least: float, apart: float) -> None:
        """Certified points had losses of .527 where .516 is possible, and a gap of .041 was called the smallest."""
        for seed in range(3):
            X, y, group = drawn(seed=seed)
            noise = np.random.default_rng(seed).normal(size=len(y))
            near = np.column_stack([X, X[:, 0] + apart * noise])
            truth = traced(np.column_stack([X, noise]) if apart else X, y, group, ridge=0.0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FairfrontWarning)
                front = traced_as(kind, near, y, group, ridge=0.0)
            known = np.interp(-front.gaps[:, 0], -truth.gaps[:, 0], truth.loss)
            assert (front.loss <= known + 1e-6)[front.certified].all()
            if apart == 0.0 or apart > least:
                np.testing.assert_array_equal(front.certified, truth.certified)
                np.testing.assert_allclose(front.loss[truth.certified], truth.loss[truth.certified], rtol=1e-6)
            ends = zip(front.status, front.gaps[:, 0], strict=True)
            assert all(status is not Status.FLOOR or gap < 1e-6 for status, gap in ends)


def far(*arrays):
    """Return arrays as Dask collections in five partitions that stay where they are."""
    return [da.from_array(each, chunks=(-(-len(each) // 5), *each.shape[1:])) for each in arrays]


KINDS = ("dense", "single", "sparse", "dask", "source", "thin dask")


def traced_as(kind: str, X, y, group, **options):
    """Trace the same rows in another form."""
    if kind in ("dense", "single", "sparse"):
        form = {"dense": np.asarray, "single": np.float32, "sparse": sparse.csr_array}[kind]
        return traced(form(X), y, group, **options)
    keep = "source" if kind == "source" else "memory"
    with dask.config.set({"fairfront.small-bytes": 0, "fairfront.keep": keep, "scheduler": "synchronous"}):
        rows, *others = far(X, y, group)
        return traced(rows.map_blocks(sparse.csr_array) if kind == "thin dask" else rows, *others, **options)


class TestColumns:
    @pytest.mark.parametrize("offset", [1e6, 1e8, 1e9])
    @pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "single"])
    def test_an_offset_is_the_intercepts(self, kind: str, offset: float) -> None:
        """An offset of 1e8 gave a certified loss of .62144 where .47178 is possible."""
        X, y, group = drawn()
        X, moved = np.round(X, 6), np.array([offset, 0.0, -offset])
        one, other = traced(X, y, group, ridge=0.0), traced_as(kind, X + moved, y, group, ridge=0.0)
        np.testing.assert_array_equal(other.certified, one.certified)
        np.testing.assert_allclose(other.loss, one.loss, atol=offset * 1e-15)
        np.testing.assert_allclose(other.gaps, one.gaps, atol=offset * 1e-15)
        np.testing.assert_allclose(other.models.coef, one.models.coef, rtol=1e-5, atol=1e-5)
        at = other.models.intercept + other.models.coef @ moved
        np.testing.assert_allclose(at, one.models.intercept, atol=1e-5 + offset * 1e-15)

    @pytest.mark.parametrize("kind", KINDS)
    def test_each_may_have_its_unit_without_a_ridge(self, kind: str) -> None:
        X, y, group = drawn()
        units = np.array([2.0**-40, 2.0**37, 3e-12])
        X = X.astype(np.float32).astype(float)
        one, other = traced(X, y, group, ridge=0.0), traced_as(kind, X * units, y, group, ridge=0.0)
        np.testing.assert_array_equal(other.certified, one.certified)
        np.testing.assert_allclose(other.loss, one.loss, rtol=1e-6)
        np.testing.assert_allclose(other.models.coef * units, one.models.coef, rtol=1e-4, atol=1e-5)

    @pytest.mark.parametrize("kind", KINDS)
    def test_the_ridge_is_on_the_weights_in_their_own_units(self, kind: str) -> None:
        X, y, group = drawn()
        X = (X * [1.0, 8.0, 0.1] + [0.0, 40.0, 3.0]).astype(np.float32)
        front = traced_as(kind, X, y, group, ridge=0.02)
        model = LogisticRegression(C=1.0 / (0.02 * len(y)), tol=1e-10, max_iter=10_000).fit(np.float64(X), y)
        np.testing.assert_allclose(front.models.coef[0], model.coef_, atol=1e-5)
        np.testing.assert_allclose(front.models.intercept[0], model.intercept_, atol=1e-4)

    @pytest.mark.parametrize("size", [1e60, 1e300, 1e-60, 1e-300])
    @pytest.mark.parametrize("kind", ["dense", "sparse", "dask"])
    def test_whose_powers_are_not_numbers_are_refused(self, kind: str, size: float) -> None:
        X, y, group = drawn()
        with pytest.raises(ff.InputError, match=r"column 1 of X has values up to .* give it in another unit"):
            traced_as(kind, X * [1.0, size, 1.0], y, group)
        if size > 1.0:
            X[7, 1] = 1e308
            with pytest.raises(ff.InputError, match=r"column 1 of X has values up to 1e\+308"):
                traced_as(kind, X, y, group)

    @pytest.mark.parametrize("kind", ["dense", "sparse", "dask"])
    def test_next_to_an_intercept_are_not_too_close(self, kind: str) -> None:
        """Their weights are right, and yet scores in the users' units are differences of numbers near 1e16."""
        X, y, group = drawn()
        X[:, 1] = 2.0**52 + y + np.arange(len(y)) % 3
        with pytest.raises(ff.InputError, match=r"column 1 of X has values near 4.5036e\+15 that differ by 3 at most"):
            traced_as(kind, X, y, group)
        assert len(traced_as(kind, X - [0.0, 2.0**52, 0.0], y, group))
        X[:, 1] = 0.1
        assert traced_as(kind, X, y, group).certified[0]

    def test_certificates_are_those_of_the_weights_returned(self) -> None:
        X, y, group = drawn()
        far = X + np.array([3e9, 0.0, 0.0])
        one, other = traced(X, y, group, ridge=0.0), traced(far, y, group, ridge=0.0)
        assert other.certified.any()
        scores = far @ other.models.coef[0, 0] + other.models.intercept[0]
        assert np.logaddexp(0.0, -(2 * y - 1) * scores).mean() == pytest.approx(one.loss[0], rel=2e-6)

    @pytest.mark.parametrize("ridge", [0.0, 0.01])
    @pytest.mark.parametrize("kind", ["dense", "sparse", "dask"])
    def test_a_constant_one_has_no_weight(self, kind: str, ridge: float) -> None:
        X, y, group = drawn()
        wide = np.column_stack([X, np.full(len(X), 12345.678)])
        one, other = traced(X, y, group, ridge=ridge), traced_as(kind, wide, y, group, ridge=ridge)
        np.testing.assert_allclose(other.models.coef[:, 0, :-1], one.models.coef[:, 0], atol=1e-6)
        assert not other.models.coef[:, 0, -1].any()

    @pytest.mark.parametrize("solver", ["pb_pdo", "pdo"])
    def test_first_order_solvers_find_the_same_in_other_units(self, solver: str) -> None:
        X, y, group = drawn()
        given = {"solver": solver, "preferences": 3, "n_points": None, "random_state": 0}
        one = traced(X, y, group, ridge=0.01, **given)
        other = traced(X * 2.0**20, y, group, ridge=0.01 * 2.0**40, **given)
        np.testing.assert_array_equal(other.models.coef * 2.0**20, one.models.coef)
        np.testing.assert_array_equal(other.gaps, one.gaps)

    def test_printed_algorithms_step_in_the_units_given(self) -> None:
        X, y, group = drawn()
        X = X * [1.0, 3.0, 1.0] + [0.0, 1.0, 5.0]
        problem = ff.linear_problem(X, y, sensitive_features=group, ridge=0.1, groups=ff.Groups(min_size=1))
        start = np.array([[0.1, -0.2, 0.05, 0.3]])
        found = ff.solve(problem, ff.PaperPDO(T=1, eta=0.1, inner="exact"), start)
        point, A = problem.cells(start[None]), problem.algebra.jacobian(problem.cells(start[None]).L)
        G = A[0] @ point.D[0]
        step = (start - found.W[0])[0] / 0.1
        shares = np.linalg.lstsq(G.T, step, rcond=None)[0]
        np.testing.assert_allclose(shares @ G, step, atol=1e-9)
        assert shares.sum() == pytest.approx(1.0)


class TestWeights:
    @pytest.mark.parametrize("size", [1e308, 1e-320, 1e51, 1e-51])
    def test_whose_sums_are_not_numbers_are_refused(self, size: float) -> None:
        X, y, group = drawn()
        with pytest.raises(ff.InputError, match=r"sample_weight has positive entries .* divide them all by their mean"):
            traced(X, y, group, sample_weight=np.full(len(y), size), ridge=0.1)

    @pytest.mark.parametrize("size", [2.0**-160, 2.0**-40, 2.0**40, 2.0**160])
    def test_rescaling_them_changes_nothing_at_a_given_ridge(self, size: float) -> None:
        X, y, group = drawn()
        weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
        one, other = (traced(X, y, group, sample_weight=s * weight, ridge=0.01) for s in (1.0, size))
        np.testing.assert_array_equal(other.models.coef, one.models.coef)
        np.testing.assert_array_equal(other.loss, one.loss)
        np.testing.assert_array_equal(other.certified, one.certified)

    @pytest.mark.parametrize("mean", [1 / 150, 0.09, 11.0])
    def test_far_from_1_have_a_default_ridge_that_is_said(self, mean: float) -> None:
        X, y, group = drawn()
        with pytest.warns(FairfrontWarning, match=r"default ridge is 1 / \(sum of weights\).*give a ridge"):
            front = traced(X, y, group, sample_weight=np.full(len(y), mean))
        assert front.facts.ridge == pytest.approx(1.0 / (mean * len(y)))
        assert f"{front.facts.ridge:.3g}" in front.facts.sentences[-1]
        assert f"--ridge {1 / len(y):.3g}" in front.facts.sentences[-1]

    @pytest.mark.parametrize("mean", [0.2, 1.0, 9.0])
    def test_near_1_need_no_word(self, mean: float) -> None:
        X, y, group = drawn()
        front = traced(X, y, group, sample_weight=np.full(len(y), mean))
        assert len(front.facts.sentences) == 1


class TestTargets:
    @pytest.mark.parametrize("kind", ["dense", "dask"])
    def test_an_offset_is_the_intercepts_unless_it_takes_their_digits(self, kind: str) -> None:
        X, _, group = drawn()
        y = X[:, 0] * (1.0 + (group == "1")) + np.random.default_rng(2).normal(size=len(X))
        given = {"loss": "squared", "notion": "disparate_mistreatment", "ridge": 0.01}
        one, other = traced(X, y, group, **given), traced_as(kind, X, y + 1e7, group, **given)
        np.testing.assert_array_equal(other.certified, one.certified)
        np.testing.assert_allclose(other.loss, one.loss, rtol=1e-6)
        with pytest.raises(
            ff.InputError, match=r"y has values near 1e\+10 that differ by about .* subtract a constant"
        ):
            traced_as(kind, X, y + 1e10, group, **given)

    @pytest.mark.parametrize("size", [1e300, 1e200, 1e-200])
    @pytest.mark.parametrize("kind", ["dense", "dask"])
    def test_whose_squares_are_not_numbers_are_refused(self, kind: str, size: float) -> None:
        X, _, group = drawn()
        y = size * (X[:, 0] + np.random.default_rng(2).normal(size=len(X)))
        with pytest.raises(ff.InputError, match=r"y has values up to .* give them in another unit"):
            traced_as(kind, X, y, group, loss="squared", notion="disparate_mistreatment")


@pytest.mark.parametrize("call", ["trace", "solve"])
@pytest.mark.parametrize("loss", ["logistic", "squared"])
@pytest.mark.parametrize(
    "solver",
    [
        ff.PaperPDO(eta=1e300, T=20, inner="exact"),
        ff.PaperPDO(eta=1e100, T=50, inner="exact", gradients="normalised"),
        ff.PDO(start_scale=1e200),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_is_not_finite_is_never_returned(solver, loss: str, call: str) -> None:
    """Steps that are far too long ended in LinAlgError, or in objectives of infinity."""
    X, y, group = drawn()
    y = y if loss == "logistic" else X[:, 0] + y
    given = {"sensitive_features": group, "loss": loss, "notion": "disparate_mistreatment", "ridge": 0.1}
    with suppress(ff.InputError, ff.FairfrontWarning):
        if call == "trace":
            front = ff.trace(X, y, solver=solver, random_state=0, progress=False, **given)
            found = (front.models.coef, front.objectives, front.gaps)
        else:
            outcome = ff.solve(ff.linear_problem(X, y, **given), solver, random_state=0)
            found = (outcome.W, outcome.L, outcome.objectives)
        assert all(np.isfinite(each).all() for each in found)


def test_a_matrix_that_cannot_be_decomposed_is_told_as_that() -> None:
    """It was said not to be finite, which a singular one is."""
    with (
        pytest.raises(ff.InputError, match=r"cannot be decomposed \(Singular matrix\), expected .*; give X"),
        decomposable(),
    ):
        np.linalg.solve(np.zeros((2, 2)), np.ones(2))


def test_scores_that_the_users_units_cannot_hold_are_not_certified() -> None:
    """Two columns that differ by 1e-9 at an offset of 1e7: coefficients are so large that X @ coef loses its digits."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(160, 3))
    Z[:, 1] = Z[:, 0] + 1e-9 * rng.normal(size=160)
    y = ((Z[:, 1] - Z[:, 0]) / 1e-9 + Z[:, 2] + rng.logistic(size=160) > 0).astype(int)
    group = rng.choice(["a", "b"], 160)
    with pytest.warns(ff.FairfrontWarning, match="scores computed from the coefficients may be off by up to"):
        front = ff.trace(Z + 5e6, y, sensitive_features=group, notion="group_loss", ridge=0.0, n_points=2)
    assert not front.certified.any()


def test_a_loose_tolerance_gives_no_loose_certificate() -> None:
    rng = np.random.default_rng(1)
    X, group = rng.normal(size=(200, 3)), rng.choice(["a", "b"], 200)
    y = (X[:, 0] + rng.logistic(size=200) > 0).astype(int)
    with pytest.warns(ff.FairfrontWarning, match="different ones were solved"):
        front = ff.trace(X, y, sensitive_features=group, n_points=4, solver=ff.Newton(tol=0.05))
    assert (front.kkt[front.certified] <= 1e-7).all()


def test_points_past_zero_are_not_certified() -> None:
    rng = np.random.default_rng(1)
    X, group = rng.normal(size=(300, 3)), rng.choice(["a", "b"], 300)
    y = (X[:, 0] + (group == "a") + rng.logistic(size=300) > 0).astype(int)
    front = ff.trace(X, y, sensitive_features=group, n_points=4, solver=ff.Newton(overshoot=1.0))
    past = np.array([status is ff.Status.PAST for status in front.status])
    assert past.any()
    assert not front.certified[past].any()


@pytest.mark.parametrize("notion", ["equal_opportunity", "group_loss"])
@pytest.mark.parametrize("tol", [1e-3, 1e-4, 1e-9])
@pytest.mark.filterwarnings("ignore::fairfront.exceptions.FairfrontWarning")
def test_what_is_not_solved_to_the_tolerance_is_not_called_efficient(notion: str, tol: float) -> None:
    """Residuals up to 1000 times the tolerance were, and certificates were refused at a tenth of that."""
    rng = np.random.default_rng(0)
    X, group = rng.normal(size=(200, 3)), rng.integers(0, 2, 200)
    X[:, 0] += group
    y = (2 * X[:, 0] + rng.logistic(size=200) > 0).astype(int)
    for max_iter in (1, 2, 3, 4):
        solver = ff.Newton(tol=tol, max_iter=max_iter)
        front = ff.trace(X, y, sensitive_features=group, notion=notion, n_points=4, solver=solver)
        solved = np.array([status.solved for status in front.status])
        assert (front.kkt[solved] <= max(tol, 1e-7)).all()
