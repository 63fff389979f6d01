"""Points between those of a frontier: solved anew at a gap or a loss, certified, and refused without the rows."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import fairfront as ff


def rows(n: int = 1500, groups: int = 2) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    group = rng.integers(groups, size=n)
    X = rng.normal(size=(n, 5)) + 0.4 * group[:, None] * (np.arange(5) % 2)
    y = (X[:, 0] + 0.5 * X[:, 1] + rng.logistic(size=n) > 0.3 * group).astype(int)
    return X, y, group.astype(str)


def traced(groups: int = 2, **options: object) -> ff.Frontier:
    X, y, group = rows(groups=groups)
    known = {"sensitive_features": group, "held_out": False, "progress": False, "n_points": 9, **options}
    return ff.trace(X, y, **known)


@pytest.mark.parametrize("groups", [2, 4])
@pytest.mark.parametrize("notion", ["equal_opportunity", "demographic_parity"])
def test_a_point_at_a_gap_is_that_of_a_finer_trace(groups: int, notion: str) -> None:
    front, finer = traced(groups, notion=notion), traced(groups, notion=notion, n_points=17)
    for i in range(1, 16, 2):
        one = front.at(gap=float(finer.gaps[i, 0]))
        assert len(one) == 1
        assert one.loss[0] == pytest.approx(finer.loss[i], abs=1e-8)
        assert one.gaps[0, 0] == pytest.approx(finer.gaps[i, 0], abs=1e-8)
        assert bool(one.certified[0]) == bool(finer.certified[i])
        assert one.kkt[0] <= 1e-7
        np.testing.assert_allclose(one.models.coef[0], finer.models.coef[i], atol=1e-5)


def test_a_point_at_a_loss_has_that_loss() -> None:
    front = traced()
    wanted = float(0.3 * front.loss[0] + 0.7 * front.loss[-1])
    one = front.at(loss=wanted)
    assert one.loss[0] == pytest.approx(wanted, rel=1e-6)
    assert front.gaps[-1, 0] < one.gaps[0, 0] < front.gaps[0, 0]


def test_caps_of_several_notions_shrink_together() -> None:
    front = traced(notion=["equal_opportunity", "predictive_equality"])
    one = front.at(gap=0.5 * float(front.gaps[0].max()))
    np.testing.assert_array_less(one.gaps[0], 0.5 * front.gaps[0] + 1e-8)


def test_what_lies_beyond_the_frontier_is_refused() -> None:
    front = traced()
    for asked in (
        {"gap": 2.0 * float(front.gaps[0, 0])},
        {"loss": 0.5 * float(front.loss[0])},
        {},
        {"gap": 0.1, "loss": 0.5},
    ):
        with pytest.raises(ff.InputError):
            front.at(**asked)


def test_copies_files_and_fitted_objects_carry_no_rows(tmp_path) -> None:
    front = traced()
    front.save(tmp_path / "front")
    X, y, group = rows()
    fitted = ff.FrontierClassifier(n_points=5).fit(X, y, sensitive_features=group).frontier_
    for other in (pickle.loads(pickle.dumps(front)), copy.copy(front), ff.load(tmp_path / "front"), fitted):
        with pytest.raises(ff.InputError, match="trace it again"):
            other.at(gap=0.5 * float(front.gaps[0, 0]))
    assert len(pickle.dumps(front)) < 0.5 * X.nbytes
