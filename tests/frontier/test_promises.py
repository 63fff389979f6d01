"""Expected gaps, ends for all points at once and the fixed sequence: against closed forms, covariances and coverage."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import fairfront as ff
from fairfront.frontier.selection import promised, starts, walk
from fairfront.measures import Evaluation
from fairfront.measures.counts import sums_of
from fairfront.measures.decisions import evaluate_scores
from fairfront.measures.moments import critical_values, spreads_of
from fairfront.measures.promises import Normals, critical, expected, folded, shown_by_test, together
from fairfront.measures.proportions import normal_quantile
from fairfront.measures.sequence import claims, reach
from fairfront.objectives import Attribute, Task

TASK = Task("binary", ("no", "yes"), 1)


def attribute(codes: np.ndarray, c: int = 2) -> Attribute:
    return Attribute("group", tuple("abcdef"[:c]), codes.astype(np.intp))


def drawn(seed: int, N: int = 12, n: int = 1200, c: int = 2, gap: float = 0.1) -> tuple[np.ndarray, ...]:
    """Draw scores (N, n) of models side by side on a path, labels and groups; and the models' true rates (N, c)."""
    rng = np.random.default_rng(seed)
    group, y, luck = rng.integers(c, size=n), rng.integers(2, size=n), rng.random(n)
    rates = 0.6 + np.linspace(gap, -gap, N)[:, None] * np.linspace(0.5, -0.5, c)
    return (luck < rates[:, group]).astype(float) - 0.5, y, group, rates


def record_of(scores: np.ndarray, y: np.ndarray, group: np.ndarray, **more: np.ndarray) -> Evaluation:
    c = int(group.max()) + 1
    return evaluate_scores(scores[:, None], y, TASK, [attribute(group, c)], name="validation", **more)


def test_the_covariance_is_that_of_rows_people_and_weights() -> None:
    scores, y, group, _ = drawn(0, N=4, n=300)
    decided, rng = scores > 0, np.random.default_rng(1)
    weight, person = rng.integers(1, 4, 300).astype(float), rng.integers(0, 90, 300)
    for w, who in ((None, None), (weight, None), (None, person), (weight, person)):
        spreads = spreads_of(decided, y, TASK, [attribute(group)], w, who)
        assert spreads is not None
        v, p = np.ones(300) if w is None else w, np.arange(300) if who is None else who
        for name, rows in (("tpr", y == 1), ("fpr", y == 0), ("selection", y >= 0), ("error", y >= 0)):
            values = (decided != (y == 1)) if name == "error" else decided
            for g in range(2):
                kept = rows & (group == g)
                T = values[:, kept] @ v[kept] / v[kept].sum()
                away = (values - T[:, None]) * np.where(kept, v, 0.0)
                each = np.stack([away[:, p == one].sum(axis=1) for one in np.unique(p)])
                found = spreads[0][name].covariance[g]
                np.testing.assert_allclose(found, each.T @ each / v[kept].sum() ** 2, atol=1e-12)


def test_moments_add_up_and_weights_are_repeated_rows() -> None:
    scores, y, group, _ = drawn(2, N=3, n=200)
    weight = np.random.default_rng(3).integers(1, 4, 200)
    rows = np.repeat(np.arange(200), weight)

    def sums(some: np.ndarray, **known: np.ndarray) -> dict[str, np.ndarray]:
        found = sums_of(scores[:, some] > 0, y[some], TASK, [attribute(group[some])], known.pop("w", None),
                        together=True, **known).spreads  # fmt: skip
        assert found is not None
        return {name: each.covariance for name, each in found[0].items()}

    one, two = np.arange(80), np.arange(80, 200)
    parts = [
        sums_of(scores[:, some] > 0, y[some], TASK, [attribute(group[some])], None, together=True)
        for some in (one, two)
    ]
    whole, joined = sums(np.arange(200)), (parts[0] + parts[1]).spreads
    assert joined is not None
    for name, each in joined[0].items():
        np.testing.assert_allclose(each.covariance, whole[name], atol=1e-14)
    # a row that stands for one person with several equal rows is those rows left together
    repeated, weighted = sums(rows, person=rows), sums(np.arange(200), w=weight.astype(float))
    for name in repeated:
        np.testing.assert_allclose(repeated[name], weighted[name], atol=1e-12)


def test_expected_gaps_are_means_over_draws() -> None:
    rng = np.random.default_rng(0)
    for mean, s in ((0.0, 0.03), (0.02, 0.03), (0.1, 0.01)):
        drawn_gaps = np.abs(mean + s * rng.standard_normal(400_000))
        assert folded(np.array(mean), np.array(s**2)) == pytest.approx(drawn_gaps.mean(), abs=2e-4)
    rates, spread = np.array([[0.5, 0.55, 0.6]]), np.array([[0.02, 0.03, 0.04]])
    noisy = rates + spread * rng.standard_normal((400_000, 3))
    found = Normals(rates, spread**2).worst[0]
    assert found == pytest.approx(np.ptp(noisy, axis=1).mean(), abs=2e-3)
    pair = Normals(rates[:, :2], spread[:, :2] ** 2)
    assert pair.worst[0] == pytest.approx(np.abs(noisy[:, 0] - noisy[:, 1]).mean(), abs=2e-4)
    assert pair.ratio[0] == pytest.approx((noisy[:, :2].min(axis=1) / noisy[:, :2].max(axis=1)).mean(), abs=2e-3)


def test_critical_values_of_one_and_of_independent_models() -> None:
    scores, y, group, _ = drawn(5, N=1, n=4000)
    one = record_of(np.repeat(scores, 9, axis=0), y, group)  # nine times the same model is one
    assert critical(one, "tpr_gap", 0.95) == pytest.approx(1.96, abs=0.08)
    rng = np.random.default_rng(6)
    many = record_of(rng.random((9, 4000)) - 0.5, y, group)
    assert critical(many, "tpr_gap", 0.95) == pytest.approx(normal_quantile(0.95 ** (1 / 9)), abs=0.12)
    spread = many.sums.spreads[0]["tpr"] if many.sums and many.sums.spreads else None
    assert spread is not None
    parts, levels = [(spread, np.zeros((1, 1)), True)], (0.9, 0.95, 0.99)
    again = critical_values(parts, levels)
    np.testing.assert_array_equal(again, critical_values(parts, levels))
    assert (np.diff(again) > 0).all()


def test_coverage_of_expected_and_of_ends_for_all_points() -> None:
    failed, some, errors = 0, 0, []
    for seed in range(200):
        scores, y, group, rates = drawn(seed)
        record, gap = record_of(scores, y, group), np.ptp(rates, axis=1)
        failed += bool((gap > together(record, "tpr_gap", 0.95)).any())
        some += bool((gap > record.figure("tpr_gap", 0.95)).any())
        errors.append(record["tpr_gap"] - gap)
    assert failed <= 200 * 0.05 + 2 * np.sqrt(200 * 0.05 * 0.95)
    assert some > failed
    assert np.sqrt(np.mean(np.square(errors))) < 0.06


@cache
def traced(points: int) -> ff.Frontier:
    rng = np.random.default_rng(0)
    X, a = rng.normal(size=(300, 2)), rng.choice(["a", "b"], 300)
    y = (X[:, 0] + 0.8 * (a == "a") + rng.normal(size=300) > 0).astype(int)
    return ff.trace(X, y, sensitive_features=a, n_points=points, held_out=False, progress=False)


def path_of(record: Evaluation, rates: np.ndarray) -> ff.Frontier:
    """Return a frontier in whose order the models stand, with an evaluation of its own."""
    return replace(traced(len(rates)), evaluations={"validation": record})


def test_the_fixed_sequence_keeps_its_promise_and_pointwise_choice_need_not() -> None:
    u, runs, broken, made = 0.12, 300, 0, 0
    for seed in range(runs):
        scores, y, group, rates = drawn(seed, gap=0.3)
        record = record_of(scores, y, group)
        record = replace(record, columns={**record.columns, "error": 0.4 - 0.001 * np.arange(12)})
        front = path_of(record, rates)
        try:
            place = front.place(front.choose(at_most={"tpr_gap": u}))
        except ff.InputError:
            continue
        made += 1
        broken += bool(np.ptp(rates[place]) > u)
        own, bound = record.figure("tpr_gap", 0.95), promised(front, record, "tpr_gap", 0.95)
        assert own[place] <= bound[place] + 1e-12 <= u + 2e-12
    assert made > runs / 4
    assert broken <= runs * 0.05 + 2 * np.sqrt(runs * 0.05 * 0.95)


def test_a_point_beyond_one_that_fails_is_not_taken() -> None:
    values = np.array([[0.3, -0.2], [0.2, -0.1], [0.04, 0.0], [0.06, 0.02], [0.0, 0.04], [-0.1, 0.12], [-0.2, 0.03]])
    # the first claim holds better at the far end and is walked from there, the second from the near one
    assert reach(values).tolist() == [0.3, 0.2, 0.06, 0.06, 0.04, 0.12, 0.12]
    assert (reach(values) <= 0.05).tolist() == [False, False, False, False, True, False, False]
    some = np.where(np.arange(14).reshape(7, 2) == 3, np.nan, values)
    some[2] = np.nan  # a point without any claim is never passed, nor one behind it
    assert reach(some).tolist()[2] == np.inf
    assert reach(np.full((3, 2), np.nan)).tolist() == [np.inf] * 3
    # from fixed starts all claims go together, towards the first point
    worst = values.max(axis=1)
    assert reach(values, (4,)).tolist() == [0.3, 0.2, 0.06, 0.06, 0.04, np.inf, np.inf]
    assert reach(values, (2, 4)).tolist() == [0.3, 0.2, 0.04, 0.06, 0.04, np.inf, np.inf]
    assert reach(values, (2, 6)).tolist() == [*np.maximum.accumulate(worst[2::-1])[::-1], 0.12, 0.12, 0.12, 0.03]


def test_claims_are_those_of_ordered_pairs_and_their_worst_is_the_end() -> None:
    scores, y, group, _ = drawn(1, c=3, n=900)
    record = record_of(scores, y, group)
    for name in ("tpr_gap", "fpr_gap", "selection_gap", "error_gap", "error"):
        found = claims(record, name, 0.95)
        assert found.shape == (12, 1 if name == "error" else 6)
        np.testing.assert_allclose(found.max(axis=1), record.figure(name, 0.95), rtol=1e-12)
    ratio = claims(record, "selection_ratio", 0.95)
    np.testing.assert_allclose(ratio.min(axis=1), record.figure("selection_ratio", 0.95), rtol=1e-12)
    np.testing.assert_allclose(claims(record, "tpr_gap", 0.9).max(axis=1), record.figure("tpr_gap", 0.9), rtol=1e-12)


N, U = 30, 3.0  # points of a path, and a bound in units of which the standard error of a gap is 0.71
PATHS = {
    "flat": np.full(N, U),
    "valley": np.where(np.abs(np.arange(N) - 15) < 5, 0.98 * U, U),
    "tent": U + np.abs(np.arange(N) - 15) / 10,
    "slow": np.linspace(1.02, 0.98, N) * U,
    "through zero": np.linspace(2.0, -2.0, N) * U,
    "to and fro": np.where(np.arange(N) % 2, U, -U),
}


@pytest.mark.parametrize("shared", [0.0, 0.9, 0.99])
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("groups", [2, 3])
def test_whatever_errors_share_at_most_five_in_a_hundred_promises_are_broken(path, shared, groups) -> None:
    runs, rng = 1000, np.random.default_rng([20, groups])
    error = rng.standard_normal((runs, N, groups))
    for j in range(1, N):  # neighbours are correlated by what they share
        error[:, j] = shared * error[:, j - 1] + np.sqrt(1.0 - shared**2) * error[:, j]
    above = PATHS[path] * (1.0 + 1e-9)  # what is at the bound is above it
    rates = np.stack([above, 0.0 * above, 0.5 * above], axis=1)[:, :groups]
    gaps = np.concatenate([rates[:, [i]] - np.delete(rates, i, axis=1) for i in range(groups)], axis=1)
    seen = rates + 0.5 * error
    seen = np.concatenate([seen[..., [i]] - np.delete(seen, i, axis=2) for i in range(groups)], axis=2)
    starts = () if groups == 2 else (N // 2, N - 3)
    passed = np.stack([reach(each + 1.96 * np.sqrt(0.5), starts) <= U for each in seen])
    untrue = gaps.max(axis=1) > U
    broken = passed[:, untrue].any(axis=1).sum()
    assert broken <= runs * 0.05 + 2 * np.sqrt(runs * 0.05 * 0.95)


@pytest.mark.parametrize("shared", [0.0, 0.9, 0.99])
def test_claims_that_are_untrue_at_different_points_break_no_more(shared) -> None:
    runs, rng = 2000, np.random.default_rng(21)
    error = rng.standard_normal((runs, N))
    for j in range(1, N):
        error[:, j] = shared * error[:, j - 1] + np.sqrt(1.0 - shared**2) * error[:, j]
    rates = np.column_stack([0.0 * np.ones(N), np.linspace(0.0, 1.8, N), np.full(N, 0.2), np.linspace(1.8, 0.0, N)])
    for group, point in ((1, 1), (2, N // 2), (3, N - 2)):  # the first group is at the bound above one other at a time
        rates[point] = np.where(np.arange(4) == group, -U, -0.001 * (np.arange(4) > 0))
    one, other = np.nonzero(~np.eye(4, dtype=bool))
    noisy = ((one == 0) * 1.0 - (other == 0)) * 0.25  # only the first group's rate has an error
    untrue = (rates[:, one] - rates[:, other]).max(axis=1) >= U
    ends = rates[:, one] - rates[:, other] + error[..., None] * noisy + 1.96 * np.abs(noisy)
    most, broken = runs * 0.05 + 2 * np.sqrt(runs * 0.05 * 0.95), {}
    for name, where in (("directions read from the data", ()), ("fixed", (N - 3, N - 1)), ("middle", (8, 22))):
        broken[name] = sum(bool((reach(each, where) <= U + 1e-12)[untrue].any()) for each in ends)
    assert max(broken["fixed"], broken["middle"]) <= most
    if shared == 0.9:  # what the starts are for
        assert broken["directions read from the data"] > most


def test_walks_of_more_than_one_pair_start_where_no_rate_is_looked_at() -> None:
    scores, y, group, rates = drawn(3, c=3, n=3000)
    record = record_of(scores, y, group)
    front = path_of(record, rates)
    path = walk(front)
    gaps = front.gaps[path].max(axis=1)
    eighth, none = starts(front, path)
    assert none == len(path) - 1  # this one ends at a zero gap
    assert abs(gaps[eighth] - gaps[0] / 8) == np.abs(gaps - gaps[0] / 8).min()
    own = claims(record, "tpr_gap", 0.95)[path]
    np.testing.assert_array_equal(promised(front, record, "tpr_gap", 0.95)[path], reach(own, (eighth, none)))
    two, y, group, rates = drawn(3, n=3000)
    record = record_of(two, y, group)
    front, own = path_of(record, rates), claims(record, "tpr_gap", 0.95)[path]
    np.testing.assert_array_equal(promised(front, record, "tpr_gap", 0.95)[path], reach(own))
    again = promised(front, record, "tpr_gap", 0.95, alone=False)[path]
    np.testing.assert_array_equal(again, reach(own, (eighth, none)))
    # several bounds are walked as one: a point passes where all its claims do, from one of the starts
    both = np.concatenate([own, claims(record, "fpr_gap", 0.95)[path]], axis=1)
    for u in (0.05, 0.1, 0.2):
        passed = np.all(
            [promised(front, record, n, 0.95, alone=False)[path] <= u for n in ("tpr_gap", "fpr_gap")], axis=0
        )
        np.testing.assert_array_equal(passed, reach(both, (eighth, none)) <= u)


def test_a_choice_says_what_was_asked_observed_expected_and_promised(tmp_path) -> None:
    rng = np.random.default_rng(0)
    a = rng.choice(["a", "b"], 3000)
    X = rng.normal(size=(3000, 3)) + 0.5 * (a == "a")[:, None]
    y = (X[:, 0] + rng.normal(size=3000) > 0).astype(int)
    front = ff.trace(X[:2400], y[:2400], sensitive_features=a[:2400], progress=False)
    assert front.judged().name == "held_out"
    choice = front.choice(at_most={"tpr_gap": 0.1})
    assert choice is not None
    (told,) = choice.promises
    place = front.place(choice.id)
    assert (told.asked, told.promised, told.confidence) == (0.1, 0.1, 0.95)
    assert told.observed == front.record()["tpr_gap"][place]
    assert told.expected == expected(front.record(), "tpr_gap")[place]
    assert "asked at most 0.1" in choice.words[0]
    assert "leave-one-out" in choice.words[0]
    none, own = choice.test(600)["tpr_gap"]
    assert 0.0 < none < own + 0.05
    more = choice.test(2400)["tpr_gap"][0]
    assert more == pytest.approx(none / 2, rel=1e-6)
    assert "no gap at all" in choice.test_words(600)[0]
    held = front.evaluate(X[2400:], y[2400:], sensitive_features=a[2400:])
    assert held.judged().name == "held_out and validation"
    assert held.judged().n == 3000
    assert held.record().name == "validation"
    assert held.choice(knee=True).promises[0].asked is None  # type: ignore[union-attr]
    held.save(tmp_path / "front")
    again = ff.load(tmp_path / "front")
    for name, record in again.evaluations.items():
        assert critical(record, "tpr_gap", 0.95) == critical(held.evaluations[name], "tpr_gap", 0.95)
    for on in (None, "held_out"):
        rule = {"at_most": {"tpr_gap": 0.1}, "on": on}
        assert again.choose(**rule) == held.choose(**rule)


def test_noise_of_test_rows_is_that_of_equal_rates() -> None:
    scores, y, group, _ = drawn(3, N=2, n=4000, gap=0.0)
    record, rng, seen = record_of(scores, y, group), np.random.default_rng(9), []
    for _ in range(2000):
        sizes = [((group == g) & (y == 1)).sum() // 4 for g in range(2)]
        one, two = (rng.binomial(n, 0.6) / n for n in sizes)
        seen.append(abs(one - two))
    assert shown_by_test(record, "tpr_gap", 0, 1000)[0] == pytest.approx(np.mean(seen), rel=0.1)


def test_people_with_several_rows_make_ends_wider() -> None:
    scores, y, group, _ = drawn(4, n=400)
    rows = np.repeat(np.arange(400), 3)
    apart, people = (record_of(scores[:, rows], y[rows], group[rows], **more) for more in ({}, {"person": rows}))
    single = record_of(scores, y, group)
    np.testing.assert_allclose(people.figure("tpr_gap", 0.95), single.figure("tpr_gap", 0.95), rtol=0.03)
    assert (people.figure("tpr_gap", 0.95) > apart.figure("tpr_gap", 0.95)).all()


def test_a_rule_that_nothing_meets_claims_confidence_only_where_there_are_intervals() -> None:
    scores, y, group, _ = drawn(0)
    front = path_of(record_of(scores, y, group), scores)
    with pytest.raises(ff.InputError, match=r"no point has approval_rate >= 0\.9999; ") as found:
        front.choose(at_least={"approval_rate": 0.9999})
    assert "confidence=" not in str(found.value)
    with pytest.raises(ff.InputError, match=r"tpr_gap <= 0 at 95% confidence, approval_rate >= 0\.9999; ") as found:
        front.choose(at_most={"tpr_gap": 0.0}, at_least={"approval_rate": 0.9999})
    assert "would take it" not in str(found.value)
    assert "was not set beforehand" in str(found.value)
