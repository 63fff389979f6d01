"""Held-out figures of rows on Dask: against folds that are refitted in memory, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fairfront as ff
from fairfront.problems import linear_problem
from fairfront.problems.dask.folds import FOLDS, fold_of
from fairfront.problems.samples import Samples
from fairfront.solvers.base import tops
from fairfront.solvers.refits import refit
from tests.support.dask_rows import dask, far, given

CHUNK = 900
NEAR: dict[str, Any] = {"progress": False, "n_points": 6}
JUDGED = ("equal opportunity", "two notions, two attributes", "weights", "no intercept", "classes", "regression")


def unequal(name: str, n: int) -> tuple[Any, Any, dict[str, Any], dict[str, Any]]:
    """Return the rows of a case with labels that differ by sex, more than by noise."""
    X, y, rows, asked = given(name, n)
    if (columns := rows["sensitive_features"]).keys() <= {"sex", "race"}:
        woman, rng = columns["sex"] == "Female", np.random.default_rng(5)
        X[:, 1] += 1.5 * woman
        latent = X[:, 0] - 0.6 * X[:, 1] + (1.0 + woman) * rng.logistic(size=n)
        cuts = {"classes": [-0.8, 0.8]}.get(name, [0.0])
        y = latent if name == "regression" else np.digitize(latent, cuts)
    return X, y, rows, asked


def on_dask(name: str, n: int = 9000, **options: Any) -> tuple[ff.Frontier, ff.Frontier, Any]:
    """Return the frontier with rows far away and judged, that in memory, and the rows."""
    X, y, rows, asked = unequal(name, n)
    known = {**asked, **NEAR, **options}
    with dask.config.set({"fairfront.small_bytes": 0}):
        there = ff.trace(far(X, CHUNK), far(y, CHUNK), **far(rows, CHUNK), held_out=True, **known)
    here = ff.trace(X, y, **rows, held_out=False, **known)
    return there, here, (X, y, rows, asked)


def refitted(front: ff.Frontier, X: Any, y: Any, rows: Any, asked: dict[str, Any], person: Any = None) -> Any:
    """Return the scores (N, K, n) of rows by points that are refitted without their folds, in memory."""
    problem = linear_problem(X, y, **rows, **asked).framed()
    weight = rows.get("sample_weight")
    busy = np.arange(len(y)) if weight is None else np.flatnonzero(weight)
    parts = [slice(a, min(a + CHUNK, len(y))) for a in range(0, len(y), CHUNK)]
    who = [None if person is None else person[part] for part in parts]
    folds = [fold_of(i, part.stop - part.start, who[i]) for i, part in enumerate(parts)]
    fold = np.concatenate(folds)[busy]
    order, solver = problem.layout.cells.order, ff.Newton()
    caps = np.stack([tops(problem.algebra, row, solver.path) for row in problem.algebra.violation(front.signed_gaps)])
    W = problem.from_user(front.models.weights)
    found = refit(problem, solver, Samples.without(problem, fold[order], FOLDS), W, caps, front.plain)
    scores = np.empty((len(W), problem.K, len(busy)))
    for f in range(FOLDS):
        left = problem.to_user(found.W[f])
        inside = np.flatnonzero(fold == f)
        features = (
            np.column_stack([X[busy[inside]], np.ones(len(inside))]) if problem.fit_intercept else X[busy[inside]]
        )
        scores[:, :, inside] = np.einsum("nkd,id->nki", left, features)
    return scores, busy


@pytest.mark.parametrize("name", JUDGED)
def test_one_step_leaves_a_fold_out_as_a_refit_does(name: str) -> None:
    there, here, (X, y, rows, asked) = on_dask(name)
    np.testing.assert_allclose(there.loss, here.loss, rtol=1e-6)
    record = there.evaluations["held_out"]
    assert record.made == "10 folds, one Newton step each"
    scores, busy = refitted(there, X, y, rows, asked)
    assert record.n == len(busy)
    w = rows.get("sample_weight", np.ones(len(y)))[busy]
    if name == "regression":
        mse = ((scores[:, 0] - y[busy]) ** 2) @ w / w.sum()
        np.testing.assert_allclose(record["mse"], mse, rtol=5e-3)
        return
    classes = np.unique(y)
    decided = classes[(scores[:, 0] > 0).astype(int)] if len(classes) == 2 else classes[scores.argmax(axis=1)]
    error = (decided != y[busy]) @ w / w.sum()
    solved = there.solved
    np.testing.assert_allclose(record["error"][solved], error[solved], atol=0.002)


def test_training_rows_are_not_judged_by_models_that_saw_them() -> None:
    there, here, (X, y, rows, _) = on_dask("equal opportunity", n=3000)
    seen = here.evaluate(X, y, sensitive_features=rows["sensitive_features"], name="training")
    record = there.evaluations["held_out"]
    assert not np.array_equal(record["error"], seen.evaluations["training"]["error"])
    assert there.choice(at_most={"tpr_gap": 0.9}).on == "held_out"
    again, _, _ = on_dask("equal opportunity", n=3000)
    for name, values in record.columns.items():
        np.testing.assert_array_equal(values, again.evaluations["held_out"][name])


def test_small_collections_are_judged_in_memory_by_leave_one_out() -> None:
    X, y, rows, asked = given(n=600)
    there = ff.trace(far(X), far(y), **far(rows), **asked, **NEAR, held_out=True)
    here = ff.trace(X, y, **rows, **asked, **NEAR, held_out=True)
    assert there.evaluations["held_out"].made == "leave-one-out in closed form"
    np.testing.assert_array_equal(there.evaluations["held_out"]["error"], here.evaluations["held_out"]["error"])
    assert not ff.trace(far(X), far(y), **far(rows), **asked, **NEAR).evaluations


@pytest.mark.parametrize(
    ("name", "options", "match"),
    [
        ("equal opportunity", {"person": np.arange(500)}, "person has 500 rows, expected 600"),
        ("hinge", {}, "expected a smooth loss"),
        ("curves", {}, "linear in it, without signs"),
        ("signs", {}, "linear in it, without signs"),
    ],
)
def test_what_one_step_cannot_do_is_refused(name: str, options: dict[str, Any], match: str) -> None:
    X, y, rows, asked = given(name, 600)
    known = {"held_out": True, **asked, **NEAR, **options}
    with dask.config.set({"fairfront.small_bytes": 0}), pytest.raises(ff.InputError, match=match):
        ff.trace(far(X), far(y), **far(rows), **known)


def people(n: int, seed: int = 4) -> Any:
    """Return who n rows are: some have many, all over the rows."""
    return np.random.default_rng(seed).integers(n // 6, size=n) ** 2 // (n // 6)


@pytest.mark.parametrize("stored", [str, float], ids=["text", "float"])
def test_a_person_is_left_out_whole_in_every_partition(stored: Any) -> None:
    person = people(9000)
    far_off = far(person.astype(stored), CHUNK)
    there, _, (X, y, rows, asked) = on_dask("equal opportunity", person=far_off)
    scores, busy = refitted(there, X, y, rows, asked, person)
    fold = fold_of(0, 9000, person)
    assert all(len(np.unique(fold[person == each])) == 1 for each in np.unique(person)[:50])
    error = ((scores[:, 0] > 0) != y[busy]).mean(axis=1)
    np.testing.assert_allclose(there.evaluations["held_out"]["error"], error, atol=0.002)


def test_intervals_of_people_in_many_partitions_are_those_of_people_in_memory() -> None:
    """Copies of rows: a person with four of them, far apart, is one; sets of people are known within a few percent."""
    X, y, rows, asked = unequal("equal opportunity", 1500)
    again, person = np.tile(np.arange(1500), 4), np.tile(np.arange(1500), 4)
    sex = rows["sensitive_features"]["sex"]
    here = ff.trace(X, y, **rows, **asked, **NEAR, held_out=False)
    near = here.evaluate(X[again], y[again], sensitive_features=sex[again], person=person)
    given = {"sensitive_features": {"sex": far(sex[again], CHUNK)}, "person": far(person, CHUNK)}
    there = here.evaluate(far(X[again], CHUNK), far(y[again], CHUNK), **given)
    one, two = (each.evaluations["validation"] for each in (near, there))
    np.testing.assert_array_equal(one["tpr_gap"], two["tpr_gap"])
    width = [each.figure("tpr_gap", 0.95) - each["tpr_gap"] for each in (one, two)]
    np.testing.assert_allclose(*width, rtol=0.1)
    rowwise = here.evaluate(far(X[again], CHUNK), far(y[again], CHUNK), sensitive_features=given["sensitive_features"])
    narrow = rowwise.evaluations["validation"]
    assert (width[1] > 1.7 * (narrow.figure("tpr_gap", 0.95) - narrow["tpr_gap"])).all()
    judged, _, _ = on_dask("equal opportunity", person=far(people(9000), CHUNK))
    assert judged.evaluations["held_out"].design["sex"]["tpr"].shape == (2,)


def test_cut_offs_are_placed_on_the_other_folds_of_partitions() -> None:
    asked: dict[str, Any] = {"approval_rate": 0.3}
    X, y, rows, known = unequal("equal opportunity", 9000)
    with dask.config.set({"fairfront.small_bytes": 0}):
        there = ff.trace(far(X, CHUNK), far(y, CHUNK), **far(rows, CHUNK), held_out=asked, **known, **NEAR)
        fixed = ff.trace(far(X, CHUNK), far(y, CHUNK), **far(rows, CHUNK), held_out={"cutoff": 0.6}, **known, **NEAR)
    here = ff.trace(X, y, **rows, held_out=asked, **known, **NEAR)
    one, two = there.evaluations["held_out"], here.evaluations["held_out"]
    assert one.made == "10 folds, one Newton step each; cut-offs placed without each of them"
    np.testing.assert_allclose(one.operating.cutoffs, two.operating.cutoffs, atol=0.005)
    np.testing.assert_allclose(one["approval_rate"], 0.3, atol=0.005)
    for name in ("error", "tpr_gap"):
        np.testing.assert_allclose(one[name], two[name], atol=0.01)
    scores, _ = refitted(fixed, X, y, rows, known)
    share = (scores[:, 0] >= np.log(0.6 / 0.4)).mean(axis=1)
    np.testing.assert_allclose(fixed.evaluations["held_out"]["approval_rate"], share, atol=0.002)


def test_a_path_that_is_no_minimum_past_zero_ends_there_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Past zero, points are taken to be no minima; the path itself ends where its smallest gap of rates is."""
    from fairfront.frontier import dask_held_out
    from fairfront.solvers import Newton

    steps = dask_held_out.fold_weights

    def rough(*given: Any) -> Any:
        found, bent = steps(*given)
        return found, bent | (np.arange(len(bent)) >= count)

    X, y, rows, asked = unequal("equal opportunity", 9000)
    known = {**asked, "progress": False}
    with dask.config.set({"fairfront.small_bytes": 0}):
        given = (far(X, CHUNK), far(y, CHUNK))
        count = len(ff.trace(*given, **far(rows, CHUNK), **known))
        monkeypatch.setattr(dask_held_out, "fold_weights", rough)
        monkeypatch.setattr("fairfront.frontier.held_out.HeldOut.beyond", always_on)
        there = ff.trace(*given, **far(rows, CHUNK), **known, held_out=True)
        assert len(there) == count
        assert "the path ends at zero, because points past it are no minima" in there.evaluations["held_out"].made
        asked_for = ff.trace(*given, **far(rows, CHUNK), **known, held_out=True, solver=Newton(overshoot=0.2))
    assert "no minima along their caps are rough" in asked_for.evaluations["held_out"].made


def always_on(held: Any, front: ff.Frontier, problem: Any, solved: Any, request: Any) -> Any:
    return held.solver.beyond(problem, solved, 0.5)
