"""Whole frontiers by Newton: what they are indifferent to, where their points are, and what they offer then."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import roc_auc_score

import fairfront as ff
from fairfront.measures.promises import expected
from tests.support.extras import optional
from tests.support.points import newton_path, point_solver, solve_caps

pd = optional("pandas")

N = 700
NAMES = ["income", "debt", "years", "noise"]


def draw(seed: int, n: int = N) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    group = rng.choice(["A", "B", "C"], size=n, p=[0.5, 0.3, 0.2])
    X = rng.normal(size=(n, 4))
    X[:, 0] += 0.9 * (group == "A") - 0.4 * (group == "C")
    score = X @ [1.0, -0.6, 0.4, 0.0] + 0.5 * (group == "B")
    return pd.DataFrame(X, columns=NAMES), np.where(rng.random(n) < expit(score), "yes", "no"), group


@pytest.fixture(scope="module")
def data() -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    return draw(0)


@pytest.fixture(scope="module")
def front(data) -> ff.Frontier:
    X, y, group = data
    return ff.trace(X, y, sensitive_features=group, groups=ff.Groups(reference="A"))


@pytest.mark.filterwarnings("ignore::fairfront.ProxyWarning")
@pytest.mark.parametrize("labels", [2, 3])
def test_weights_are_repeated_rows_and_certain_probabilities_are_groups(data, labels) -> None:
    X, y, group = data
    y = y if labels == 2 else np.where(X["debt"] > 0.8, "maybe", y)
    count = np.random.default_rng(2).integers(0, 3, size=N)
    notion = ["equal_opportunity", "demographic_parity"]
    given = {"notion": notion, "n_points": 5, "ridge": 1e-2, "groups": ff.Groups(reference="A", min_size=1)}
    weighted = ff.trace(X, y, sensitive_features=group, sample_weight=count, **given)
    rows = np.repeat(np.arange(N), count)
    repeated = ff.trace(X.iloc[rows], y[rows], sensitive_features=group[rows], **given)
    np.testing.assert_allclose(weighted.objectives, repeated.objectives, atol=1e-7)
    np.testing.assert_allclose(weighted.models.coef, repeated.models.coef, atol=1e-5)
    member = pd.DataFrame({level: (group == level).astype(float) for level in "BCA"})
    given["groups"] = None
    soft = ff.trace(X, y, sensitive_features=ff.GroupProbabilities(member), sample_weight=count, **given)
    np.testing.assert_allclose(np.sort(soft.objectives), np.sort(weighted.objectives), atol=1e-7)
    assert max(weighted.kkt.max(), soft.kkt.max()) <= 1e-8


@pytest.mark.parametrize("notion", ["equal_opportunity", "group_loss"])
def test_points_lie_where_the_curve_bends(data, notion) -> None:
    X, y, group = data
    problem = ff.linear_problem(X, y, sensitive_features=group, notion=notion)
    points, p = newton_path(problem, ff.Newton()), problem.algebra.p
    solver = point_solver(ff.Newton(), problem, points[0].W)
    active = np.array([np.abs(point.multipliers) > 1e-9 for point in points])
    step = -np.diff([point.caps.max() for point in points])
    switch = (active[1:] != active[:-1]).any(axis=1)[1:]
    assert switch.any()
    assert step[1:][switch].max() < 0.6 * step.max()
    span = p @ (points[-1].L - points[0].L)
    for one, two in pairwise(points):
        L = problem.values(np.stack([(1 - t) * one.W + t * two.W for t in (0.2, 0.4, 0.6, 0.8)]))
        for cells, worst in zip(L, problem.algebra.worst(L), strict=True):
            best = solve_caps(solver, one, np.full(3, worst.max()))
            assert p @ (cells - best.L) <= 1e-3 * span
    for count in (2, 5, 9):
        assert len(ff.trace(X, y, sensitive_features=group, notion=notion, n_points=count)) == count


def test_hinges_are_solved_by_rounding_and_judged_as_they_are(data) -> None:
    X, y, group = data
    front = ff.trace(X, y, sensitive_features=group, loss="hinge", ridge=1e-2, n_points=5)
    sign = np.where(y == "yes", 1.0, -1.0)
    hinge = np.maximum(0.0, 1.0 - sign * front.models.scores(X.to_numpy())[:, 0])
    ridge = 0.5e-2 * (front.models.coef**2).sum(axis=(1, 2))
    np.testing.assert_allclose(front.loss, hinge.mean(axis=1) + ridge, rtol=1e-12)
    means = np.stack([hinge[:, (group == g) & (sign > 0)].mean(axis=1) for g in "ABC"])
    np.testing.assert_allclose(front.gaps[:, 0], np.ptp(means, axis=0), atol=1e-12)
    assert front.gaps[-1, 0] < 0.1 * front.gaps[0, 0]


@pytest.mark.parametrize("favourable", ["yes", "no"])
def test_explain_says_what_moved_and_whom(data, favourable) -> None:
    X, y, group = data
    front = ff.trace(X, y, sensitive_features=group, favourable=favourable, groups=ff.Groups(reference="A"), n_points=5)
    first, last = int(front.ids[0]), int(front.ids[-1])
    told = front.explain(first, last, X, y, sensitive_features=group)
    sign = 1.0 if favourable == "yes" else -1.0
    coef = {i: dict(zip(NAMES, sign * front.models.coef[front.place(i), 0], strict=True)) for i in (first, last)}
    move = [abs(coef[last][name] - coef[first][name]) for name in told.features]
    assert move == sorted(move, reverse=True)
    np.testing.assert_array_equal(told.before, [coef[first][name] for name in told.features])
    np.testing.assert_array_equal(told.after, [coef[last][name] for name in told.features])
    np.testing.assert_array_equal(told.changed_sign, told.before * told.after < 0)
    assert told.features[0] in told.sentence()

    both = np.isin(group, ["A", "C"])  # the reference and the smallest group
    strength = [roc_auc_score(group[both] == "C", X.loc[both, name]) for name in told.features]
    np.testing.assert_allclose(told.group_auc, np.maximum(strength, 1.0 - np.array(strength)))

    decided = [front.select(id=i).predict(X) == favourable for i in (first, last)]
    (flips,) = told.flips.values()
    for moves, rows in ((flips.among_all, np.ones(N, dtype=bool)), (flips.among_favourable, y == favourable)):
        for j, level in enumerate(moves.levels):
            mine = rows & ((group == level) | (level == "overall"))
            assert moves.n_gained[0, j] == (mine & ~decided[0] & decided[1]).sum()
            assert moves.n_lost[0, j] == (mine & decided[0] & ~decided[1]).sum()
    alone = front.explain(first, last)
    assert (alone.group_auc, alone.flips) == (None, {})
    with pytest.raises(ff.InputError, match="needs X, y and sensitive_features"):
        front.explain(first, last, X)


def test_selection_takes_the_upper_end_of_what_rows_show(front) -> None:
    X, y, group = draw(6, 4000)
    held = front.evaluate(X, y, sensitive_features=group)
    record, on = held.judged("validation"), {"on": "validation"}
    plain, every, upper = (
        held.column("tpr_gap"),
        held.column("tpr_gap", confidence=0.95),
        record.figure("tpr_gap", 0.95),
    )
    assert (every >= upper).all()
    assert (upper > plain).all()
    assert (held.column("tpr_gap", confidence=0.99) > every).all()
    cap, mean = float(np.median(upper)), expected(record, "tpr_gap")
    sure = held.choose(at_most={"tpr_gap": cap}, **on)
    loose = held.choose(at_most={"tpr_gap": cap}, confidence=None, **on)
    error = held.column("error")
    assert upper[held.place(sure)] <= cap
    assert error[held.place(sure)] == error[upper <= cap].min()  # which lie side by side on this path
    assert error[held.place(loose)] == error[mean <= cap].min()
    assert error[held.place(loose)] <= error[held.place(sure)]
    tight, nearest = float((mean.min() + upper.min()) / 2), held.ids[np.argmin(upper)]
    assert mean[held.place(held.choose(at_most={"tpr_gap": tight}, confidence=None, **on))] <= tight
    with pytest.raises(
        ff.InputError, match=rf"at 95% confidence; the nearest is id {nearest} with .*can be demonstrated"
    ):
        held.choose(at_most={"tpr_gap": tight}, **on)
    least = held.place(held.choose(least="tpr_gap", within={"error": 0.02}, **on))
    assert every[least] == every[error <= error.min() + 0.02].min()


def test_a_bare_name_is_the_worst_over_attributes_and_its_end_holds_for_all() -> None:
    X, y, group = draw(3, 1500)
    sex = np.random.default_rng(4).choice(["f", "m"], len(y))
    both = {"group": group, "sex": sex}
    front = ff.trace(X, y, sensitive_features=both, n_points=4).evaluate(X, y, sensitive_features=both)
    one, two = front.column("group.tpr_gap"), front.column("sex.tpr_gap")
    np.testing.assert_array_equal(front.column("tpr_gap"), np.maximum(one, two))
    record = front.record()
    ends = [record.figure(f"{name}.tpr_gap", 0.95) for name in both]
    np.testing.assert_allclose(record.figure("tpr_gap", 0.95), np.maximum(*ends))
    assert (front.column("tpr_gap", confidence=0.95) > np.maximum(*ends)).all()
    ratios = [front.column(f"{name}.selection_ratio") for name in both]
    np.testing.assert_array_equal(front.column("selection_ratio"), np.minimum(*ratios))
    assert front.choose(least="tpr_gap", within={"error": 0.05}) in front.ids
    with pytest.raises(ff.InputError, match="no column 'nonsense_gap'"):
        front.column("nonsense_gap")
