"""Held-out figures of training rows: when they are made, what they say, and evaluations that are pooled."""

from __future__ import annotations

import warnings
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import fairfront as ff
from fairfront.frontier import held_out
from fairfront.frontier.folds import FOLDS, deal_folds
from fairfront.frontier.held_out import HeldOut, within_reach
from fairfront.frontier.judgement import HeldRows
from fairfront.frontier.pooled_rows import pool_evaluations
from fairfront.measures import auc
from fairfront.measures.cutoffs import Operating
from fairfront.measures.promises import widened
from fairfront.solvers.leave_one_out import LeaveOneOut
from fairfront.tracing import trace_problem
from tests.support.extras import optional

N = 600


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    group = rng.choice(["A", "B"], size=N, p=[0.6, 0.4])
    X = rng.normal(size=(N, 6)) + 0.5 * (group == "B")[:, None]
    return X, np.where(X[:, 0] + X[:, 1] + rng.logistic(size=N) > 0, "yes", "no"), group


def traced(rows: tuple[Any, ...], **options: Any) -> ff.Frontier:
    X, y, group = rows
    known = {"favourable": "yes", "n_points": 5, "progress": False, "held_out": None, **options}
    return ff.trace(X, y, sensitive_features=group, **known)


def test_rows_that_lie_elsewhere_are_judged_on_request(rows) -> None:
    array = optional("dask.array")
    X, y, group = (array.from_array(each, chunks=(100, *each.shape[1:])) for each in rows)
    known = {"sensitive_features": group, "favourable": "yes", "n_points": 3, "progress": False}
    assert not ff.trace(X, y, **known, held_out=None).evaluations
    assert ff.trace(X, y, **known, held_out=True).evaluations["held_out"].n == len(rows[1])  # small, so brought here
    with pytest.raises(ff.InputError, match="is for data in memory, found Dask collections"):
        ff.trace(X, y, **known, units="rates", held_out=True)


def test_the_plain_point_is_judged_as_by_leaving_out_every_row(rows) -> None:
    X, y, _ = rows
    found = traced(rows, ridge=1.0 / N).evaluations["held_out"]
    exact = np.empty(N)
    for i in range(N):
        kept = np.arange(N) != i
        exact[i] = LogisticRegression(tol=1e-10, max_iter=1000).fit(X[kept], y[kept]).decision_function(X[i : i + 1])[0]
    assert found.n == N
    assert found["error"][0] == pytest.approx(np.mean((exact > 0) != (y == "yes")), abs=1e-12)
    assert found["auc"][0] == pytest.approx(auc(exact, y == "yes")[0], abs=2e-5)
    assert found.made == "leave-one-out in closed form"


def test_it_is_made_where_it_costs_little_and_otherwise_on_request(rows) -> None:
    X, y, group = rows
    assert list(traced(rows).evaluations) == ["held_out"]
    assert not traced(rows, held_out=False).evaluations
    for other in ({"loss": "hinge"}, {"solver": "pb_pdo", "n_points": None, "preferences": 2}):
        assert not traced(rows, **other).evaluations
    assert not traced((sparse.csr_array(X), y, group)).evaluations
    assert not traced(rows, estimator=DecisionTreeClassifier(max_depth=2), n_points=None).evaluations
    with pytest.raises(ff.InputError, match="solved to tolerance, found solver 'pb_pdo'; use solver='newton'"):
        traced(rows, solver="pb_pdo", held_out=True)
    with pytest.raises(ff.InputError, match="held_out is 'yes', expected True or False"):
        traced(rows, held_out="yes")


def test_folds_are_as_many_as_there_are_people_and_fewer_than_ten_are_less_sure(rows) -> None:
    """Standard errors of three folds are 1.4 times as large, as those of learners are."""
    X, y, group = rows
    known = {"held_out": True, "person": np.arange(N) % 3}
    record = traced((sparse.csr_array(X), y, group), **known).evaluations["held_out"]
    assert record.made == "3 folds, standard errors times 1.4"
    alone = traced((sparse.csr_array(X), y, group), held_out=True).evaluations["held_out"]
    assert alone.made == "10 folds"
    assert record.design[""]["folds"] == pytest.approx(1.4**2)
    closed = traced(rows, held_out={"approval_rate": 0.5}, person=np.arange(N) % 3).evaluations["held_out"]
    assert closed.made == "leave-one-out in closed form; cut-offs placed without each of 3 folds"


def test_learners_are_fitted_without_as_many_people_as_there_are(rows) -> None:
    X, y, group = rows
    for more in ({"units": "rates"}, {"estimator": LogisticRegression()}):
        with pytest.raises(ff.InputError, match="person is the same in all rows, expected two people or more"):
            ff.trace(X, y, sensitive_features=group, person=np.zeros(N), **more)
    front = ff.trace(X, y, sensitive_features=group, person=np.arange(N) % 2, units="rates", held_out=True)
    assert front.evaluations["held_out"].made == "predictions of 2 folds, standard errors times 1.4"


@pytest.mark.parametrize(
    "options", [{"loss": "hinge", "n_points": 3}, {"sparse": True}, {"sparse": True, "person": True}]
)
def test_folds_serve_where_the_closed_form_does_not_apply(rows, options: dict[str, Any]) -> None:
    X, y, group = rows
    given = (sparse.csr_array(X) if options.get("sparse") else X, y, group)
    asked = {name: value for name, value in options.items() if name not in ("sparse", "person")}
    found = traced(given, held_out=True, person=np.arange(N) // 2 if options.get("person") else None, **asked)
    record = found.evaluations["held_out"]
    assert record.made == ("5 folds" if "loss" in options else "10 folds")
    closed = traced(rows, **({} if options.get("sparse") else {"loss": "squared_hinge", "n_points": 3}))
    np.testing.assert_allclose(record["error"], closed.column("error", "held_out"), atol=0.03)
    with pytest.raises(ff.InputError, match="goes on past zero; leave it out"):
        traced(given, held_out=True, **{**asked, "solver": ff.Newton(overshoot=0.2)})


def test_folds_are_dealt_evenly_and_keep_people_together() -> None:
    cell, person = np.repeat([0, 1], [205, 95]), np.random.default_rng(0).integers(80, size=300)
    alone, together = deal_folds(cell, None), deal_folds(cell, np.unique(person, return_inverse=True)[1])
    for part in (alone[:205], alone[205:]):
        counts = np.bincount(part, minlength=FOLDS)
        assert counts.max() - counts.min() <= 1
    assert all(len(set(together[person == each])) == 1 for each in np.unique(person))


def test_folds_of_groups_that_are_probabilities(rows) -> None:
    X, y, group = rows
    sure = ff.GroupProbabilities({"A": (group == "A") * 1.0, "B": (group == "B") * 1.0})
    soft = ff.GroupProbabilities({"A": 0.1 + 0.8 * (group == "A"), "B": 0.1 + 0.8 * (group == "B")})
    for given, like in ((sure, group), (soft, soft)):
        with pytest.warns(ff.ProxyWarning):
            folds = traced((sparse.csr_array(X), y, given), held_out=True).evaluations["held_out"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            closed = traced((X, y, like)).evaluations["held_out"]
        assert folds.made == "10 folds"
        np.testing.assert_allclose(folds["error"], closed["error"], atol=0.02)
        np.testing.assert_allclose(folds["tpr_gap"], closed["tpr_gap"], atol=0.04)


def test_folds_never_judge_points_past_zero() -> None:
    rng = np.random.default_rng(10)
    group = rng.choice(["a", "b"], 600, p=[0.6, 0.4])
    X = rng.normal(size=(600, 4)) + 0.6 * (group == "b")[:, None]
    score = X[:, 0] - 0.5 * X[:, 1] + 0.3 * X[:, 2] ** 2 - 0.5 * (group == "b")
    y = (score + rng.logistic(size=600) > 0).astype(int)
    known: dict[str, Any] = {"sensitive_features": group, "held_out": True, "progress": False}
    dense, thin = ff.trace(X, y, **known), ff.trace(sparse.csr_matrix(X), y, **known)
    past = [status is ff.solvers.Status.PAST for status in dense.status]
    assert any(past)  # the smallest gap of rates is at the end of the path, which goes on by leave-one-out
    assert thin.evaluations["held_out"].made == "10 folds"
    assert [status for status, far in zip(dense.status, past, strict=True) if not far] == list(thin.status)
    both = [front.evaluations["held_out"].signed["tpr_gap"][: len(thin), 0] for front in (dense, thin)]
    np.testing.assert_allclose(*both, atol=0.03)


def test_rows_of_a_person_are_left_out_together(rows) -> None:
    """Each row twice: one of the twins tells all of the other, unless they are the same person."""
    X, y, group = (np.concatenate([each, each]) for each in rows)
    person = np.tile(np.arange(N), 2)
    known = {"ridge": 1.0 / N, "groups": ff.Groups(min_size=1)}
    once, twice = (
        traced(rows, **known),
        traced((X, y, group), person=person, **known),
    )
    np.testing.assert_allclose(twice.column("error", "held_out"), once.column("error", "held_out"), atol=1.5 / N)
    strings = traced((X, y, group), person=[f"p{each}" for each in person], ridge=1.0 / N)
    np.testing.assert_array_equal(strings.column("error", "held_out"), twice.column("error", "held_out"))
    with pytest.raises(ff.InputError, match=r"person has 600 rows, expected 1200"):
        traced((X, y, group), person=person[:N])
    with pytest.raises(ff.InputError, match="person has missing labels"):
        traced((X, y, group), person=[None, *person[1:].tolist()])


def test_rows_of_no_weight_are_not_judged(rows) -> None:
    weight = np.where(np.arange(N) < 500, 1.0, 0.0)
    some = tuple(each[:500] for each in rows)
    found = traced(rows, sample_weight=weight, person=np.arange(N)).evaluations["held_out"]
    expected = traced(some).evaluations["held_out"]
    assert found.n == 500
    np.testing.assert_allclose(found["error"], expected["error"], atol=1e-12)


@pytest.mark.parametrize("solver", [ff.Weighting(max_fits=3, cv=5), ff.Weighting(max_fits=3, cv=0.25), None])
def test_learners_are_judged_on_the_folds_that_they_are_measured_on(rows, solver: Any) -> None:
    how = {"units": "rates"} if solver is None else {"solver": solver}
    found = traced(
        rows, n_points=None, estimator=DecisionTreeClassifier(max_depth=3), held_out=True, random_state=0, **how
    )
    record = found.evaluations["held_out"]
    assert record.n_models == len(found)
    part = isinstance(solver, ff.Weighting) and solver.cv == 0.25
    assert abs(record.n - N / 4) <= 3 if part else record.n == N
    folds = f"predictions of {3 if solver is None else 5} folds, standard errors times 1.4"
    assert record.made == ("one held-out part" if part else folds)
    with pytest.raises(ff.InputError, match="rows that fits have not seen, found cv='train'"):
        traced(rows, n_points=None, estimator=DecisionTreeClassifier(), solver=ff.Weighting(cv="train"), held_out=True)


def test_folds_of_learners_keep_people_together(rows) -> None:
    """A tree that knows every row by heart gets the twin of a row right, and a new person half the time."""
    rng = np.random.default_rng(1)
    X, y, group = (
        np.concatenate([each, each]) for each in (rng.normal(size=(N, 2)), rng.choice(["no", "yes"], N), rows[2])
    )
    known = {"n_points": None, "estimator": DecisionTreeClassifier(), "solver": ff.Weighting(max_fits=2, cv=5)}
    error = [
        traced((X, y, group), held_out=True, random_state=0, person=person, **known).column("error", "held_out")[0]
        for person in (None, np.tile(np.arange(N), 2))
    ]
    assert error[0] < 0.2
    assert error[1] > 0.4


def test_pooled_counts_add_up(rows) -> None:
    X, y, group = rows
    one, two = slice(0, 400), slice(400, N)
    front = traced((X[one], y[one], group[one]), sample_weight=np.linspace(0.5, 2.0, 400))
    front = front.evaluate(X[two], y[two], sensitive_features=group[two])
    pooled, parts = front.judged(), [front.evaluations[name] for name in ("held_out", "validation")]
    weights = [each.sums.weight for each in parts]
    assert pooled.n == N
    np.testing.assert_allclose(pooled["error"], np.average([each["error"] for each in parts], axis=0, weights=weights))
    positives = [each.sums.everyone.weight[0, 0].sum(axis=1)[1] for each in parts]
    tpr = [each.sums.everyone.weight[:, 0, 1, 1] for each in parts]
    np.testing.assert_allclose(sum(tpr) / sum(positives), pooled.sums.everyone.weight[:, 0, 1, 1] / sum(positives))
    np.testing.assert_array_equal(pooled.groups["group"].n, sum(each.groups["group"].n for each in parts))
    assert (pooled["auc"] <= np.maximum(*(each["auc"] for each in parts))).all()
    assert pooled.made == "held_out: leave-one-out in closed form"
    assert front.choose(least="tpr_gap", on=pooled.name) in front.ids


@pytest.mark.filterwarnings("ignore:groups of 'group' that training did not have")
def test_pooling_is_for_rows_to_choose_on(rows, tmp_path: Path) -> None:
    X, y, group = rows
    front = traced(rows).evaluate(X, y, sensitive_features=group)
    cases = [
        (front.evaluate(X, y, sensitive_features=group, name="test"), ("held_out", "test"), "rows for testing"),
        (front.evaluate(X, y, sensitive_features=group, approval_rate=0.3), ("held_out", "validation"), "cut-offs"),
        (
            front.evaluate(X, y, sensitive_features=np.where(np.arange(N) < 60, "C", group)),
            ("held_out", "validation"),
            "different groups",
        ),
    ]
    for each, names, said in cases:
        with pytest.raises(ff.InputError, match=said):
            pool_evaluations([each.record(name) for name in names], each.facts, "pooled")
    front.save(tmp_path / "front")
    loaded = ff.load(tmp_path / "front")
    assert loaded.evaluations["held_out"].made == front.evaluations["held_out"].made
    one, two = (pool_evaluations(list(each.evaluations.values()), each.facts, "pooled") for each in (front, loaded))
    np.testing.assert_array_equal(one.figure("tpr_gap", 0.95), two.figure("tpr_gap", 0.95))


def test_nothing_that_is_kept_has_as_many_entries_as_there_are_rows(rows) -> None:
    front = traced(rows, person=np.arange(N))

    def arrays(value: Any, depth: int = 0) -> list[np.ndarray]:
        if isinstance(value, np.ndarray):
            return [value]
        inside = (
            vars(value).values() if hasattr(value, "__dict__") else value.values() if isinstance(value, dict) else ()
        )
        inside = value if isinstance(value, (tuple, list)) else inside
        return [found for each in inside for found in arrays(each, depth + 1)] if depth < 8 else []

    assert all(N not in each.shape for each in arrays(copy(front)))  # one just traced refers to its rows


def test_regressions_are_judged_by_their_held_out_residuals() -> None:
    rng = np.random.default_rng(0)
    X, group = rng.normal(size=(80, 30)), rng.choice(["A", "B"], 80)
    y = X[:, 0] + rng.normal(size=80)
    front = ff.trace(
        X,
        y,
        sensitive_features=group,
        loss="squared",
        notion="demographic_parity",
        groups=ff.Groups(min_size=1),
        n_points=3,
        held_out=True,
    )
    residual = y - X @ front.models.coef[0, 0] - front.models.intercept[0, 0]
    assert front.column("mse", "held_out")[0] > 1.5 * np.mean(residual**2)


def test_cut_offs_are_placed_where_something_is_decided() -> None:
    rng = np.random.default_rng(1)
    X, group = rng.normal(size=(200, 2)), rng.choice(["a", "b"], 200)
    known = {"sensitive_features": group, "held_out": {"approval_rate": 0.3}, "progress": False}
    with pytest.raises(ff.InputError, match="approval_rate is for scores of two classes, found values"):
        ff.trace(X, X[:, 0], loss="squared", notion="disparate_mistreatment", **known)
    with pytest.raises(ff.InputError, match="approval_rate is for scores of two classes, found 3 classes"):
        ff.trace(X, rng.integers(3, size=200), loss="softmax", **known)


@pytest.mark.parametrize("rule", [{"approval_rate": 0.3}, {"costs": {"false_positive": 2.0, "false_negative": 1.0}}])
def test_cut_offs_decide_about_rows_of_a_fold_that_did_not_place_them(
    rows, rule: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y, group = rows
    front = traced(rows, held_out=rule, n_points=3)
    record, held = front.evaluations["held_out"], traced(rows, n_points=3).evaluations["held_out"]
    assert record.made == "leave-one-out in closed form; cut-offs placed without each of 10 folds"
    box: list[Any] = []
    problem = ff.problems.linear_problem(X, y, sensitive_features=group, favourable="yes", ridge=1.0 / N)
    judge = HeldOut.of(problem, ff.Newton(), (y, group, None))
    monkeypatch.setattr(held_out, "judged_scores", lambda front, rows, scores, *_, **__: box.append(scores) or front)
    trace_problem(problem, "newton", n_points=3, held_out=judge, progress=False)
    chance, good = 1.0 / (1.0 + np.exp(-box[0][:, 0])), y == "yes"
    fold, decided = deal_folds(good.astype(np.intp), None), np.empty(chance.shape, dtype=bool)
    for f in range(FOLDS):
        for model in range(len(chance)):
            seen, label = np.sort(chance[model, fold != f])[::-1], good[fold != f]
            between = (np.r_[2.0, seen] + np.r_[seen, -1.0]) / 2.0
            if "costs" in rule:
                there = chance[model, fold != f] >= between[:, None]
                value = 2.0 * (there & ~label).sum(axis=1) + (~there & label).sum(axis=1)
            else:
                value = np.abs(np.arange(len(seen) + 1) - 0.3 * len(seen))
            decided[model, fold == f] = chance[model, fold == f] >= between[np.argmin(value)]
    np.testing.assert_allclose(record["error"], (decided != good).mean(axis=1), atol=1e-12)
    assert np.abs(held["error"] - record["error"]).max() > 0.0
    assert record.operating.placed_on == "held_out"


def test_cut_offs_of_least_cost_are_not_judged_on_the_noise_that_they_fit() -> None:
    rng, found = np.random.default_rng(3), []
    task = ff.objectives.Task("binary", (0, 1), 1)
    for _ in range(300):
        held = HeldRows(np.empty((60, 0)), rng.permutation(60) % 2, (), None)
        scores, rule = rng.normal(size=(1, 1, 60)), Operating(costs={"false_positive": 1.0, "false_negative": 1.0})
        known = (task, "held_out", scores, scores[:, 0], rule, np.array([False]))
        found.append([held.judge_at(*known, apart=apart)["error"][0] for apart in (False, True)])
    same, apart = np.mean(found, axis=0)
    assert same < 0.45
    assert abs(apart - 0.5) < 0.015


def test_few_folds_widen_every_figure_and_stay_so_when_pooled() -> None:
    rng = np.random.default_rng(2)
    X, group, person = rng.normal(size=(400, 2)), rng.choice(["a", "b"], 400), np.arange(400) // 2
    y = (X[:, 0] + rng.logistic(size=400) > 0).astype(int)
    known = {"sensitive_features": group}
    front = ff.trace(X, y, estimator=LogisticRegression(), held_out=True, person=person, progress=False, **known)
    front = front.evaluate(X, y, **known, person=person)
    known_folds = [float(each.design[""]["folds"]) for each in (front.record("held_out"), front.judged())]
    assert known_folds == pytest.approx([1.4**2, (1.4**2 + 1.0) / 2])  # as many rows of each
    traced = ff.trace(X, y, n_points=2, progress=False, **known).evaluate(X, y, **known, notion="auc")
    record = traced.evaluations["validation"]
    wide = widened(record, 4.0)
    far = [each.figure("auc_gap", 0.95) - each["auc_gap"] for each in (record, wide)]
    np.testing.assert_allclose(far[1], 2.0 * far[0])


def test_two_evaluations_are_pooled_once_and_after_loading_too(rows, tmp_path: Path) -> None:
    X, y, a = rows
    front = ff.trace(X, y, sensitive_features=a, n_points=4, progress=False)
    front = front.evaluate(X[:150], y[:150], sensitive_features=a[:150])
    assert front.judged() is replace(front).judged()
    assert front.judged().name == "held_out and validation"
    rule: dict[str, Any] = {"at_most": {"tpr_gap": 0.9}}
    assert front.choice(**rule).note == ""
    again = ff.load(front.save(tmp_path / "front"))
    assert again.judged().name == "held_out and validation"
    assert again.choice(**rule).words == front.choice(**rule).words
    assert again.choice(**rule, on="held_out").note == ""


def test_scores_far_beyond_all_rows_are_clipped_and_counted() -> None:
    scores = np.array([[[0.5, -1.0, 210.0]], [[-150.0, 3.0, 90.0]]])
    clipped, n_far = within_reach(scores, np.array([1.0, 4.0]))
    np.testing.assert_array_equal(clipped, [[[0.5, -1.0, 3.0]], [[-6.0, 3.0, 6.0]]])
    assert n_far == 2


def test_a_group_of_few_people_does_not_throw_left_out_scores_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps without a row of a group of six lead 200 logits away, where models solved again without it move by 1."""
    rng = np.random.default_rng([5, 0])
    n = 110
    group = (np.arange(n) < 6).astype(int)
    X = rng.normal(size=(n, 3)) + 0.7 * group[:, None] * [1, -1, 0]
    y = (rng.random(n) < 1 / (1 + np.exp(group - X @ [1.2, 0.8, -0.6]))).astype(int)
    y[[0, 1, 2]] = 1, 0, 1
    judged: list[np.ndarray] = []

    def record(front: ff.Frontier, rows: Any, predictions: np.ndarray, *_: Any, **__: Any) -> ff.Frontier:
        judged.append(predictions)
        return front

    monkeypatch.setattr(held_out, "judged_scores", record)
    front = ff.trace(
        X, y, sensitive_features=group.astype(str), favourable=1, groups=ff.Groups(min_size=1), n_points=4,
        held_out=True, progress=False,
    )  # fmt: skip
    largest = np.abs(X @ front.models.coef[:, 0].T + front.models.intercept[:, 0]).max(axis=0)
    (scores,) = judged
    assert (np.abs(scores[:, 0]).max(axis=1) <= np.maximum(largest, 1.0) + 2.0).all()


def test_a_path_that_is_no_minimum_past_zero_ends_there_and_says_so(rows, monkeypatch: pytest.MonkeyPatch) -> None:
    """Points past zero are taken to be no minima along their caps: they are left out, and all before them stays."""
    kept, step = traced(rows), LeaveOneOut.scores

    def rough(self: Any, W: Any, multipliers: Any) -> Any:
        left = step(self, W, multipliers)
        return replace(left, rough=left.rough | (np.arange(len(left.rough)) >= len(kept)))

    def farther(self: Any, front: Any, problem: Any, solved: Any, request: Any) -> Any:
        return self.solver.beyond(problem, solved, held_out.FARTHER)

    monkeypatch.setattr(HeldOut, "beyond", farther)
    assert len(traced(rows)) > len(kept)
    monkeypatch.setattr(LeaveOneOut, "scores", rough)
    front = traced(rows)
    np.testing.assert_array_equal(front.objectives, kept.objectives)
    said = "; the path ends at zero, because points past it are no minima along their caps"
    assert front.evaluations["held_out"].made == kept.evaluations["held_out"].made + said
