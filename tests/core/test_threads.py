"""Threads: the same bytes on any number of them, BLAS as it was afterwards, and never more than were given."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier, Event, get_ident
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_info, threadpool_limits

import fairfront as ff
from fairfront.objectives.losses import Logistic
from fairfront.problems import pieces, threads
from fairfront.problems.threads import in_threads, one_blas_thread, one_thread
from tests.support.searches import trace
from tests.support.waiting import PATIENCE


def blas() -> int:
    return max(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")


def drawn(kind: str) -> dict[str, Any]:
    rng = np.random.default_rng(5)
    n, group = 3000, rng.integers(3, size=3000)
    X = rng.normal(size=(n, 6)) - 0.4 * (group == 1)[:, None]
    found = {"X": X, "y": (X[:, 0] + rng.logistic(size=n) > 0).astype(int), "sensitive_features": group}
    if kind == "sparse":
        found["X"] = sparse.csr_array(np.where(np.abs(X) > 0.8, X, 0.0))
    elif kind == "classes":
        found["y"] = np.argmax(X[:, :4] + rng.gumbel(size=(n, 4)), axis=1)
    elif kind == "weights":
        found["sample_weight"] = rng.exponential(size=n)
    elif kind == "probabilities":
        shares = rng.dirichlet([1.0, 1.0], size=n)
        found["sensitive_features"] = ff.GroupProbabilities({"a": shares[:, 0], "b": shares[:, 1]})
    return found


def bytes_of(front: ff.Frontier) -> bytes:
    parts = (front.objectives, front.signed_gaps, front.multipliers, front.kkt, front.models.scores(np.eye(6)))
    return b"".join(np.ascontiguousarray(part).tobytes() for part in parts)


@contextmanager
def allowed(n: int) -> Iterator[None]:
    """Let a pass have n threads, whatever the machine has: as many as BLAS has outside of it."""
    with pytest.MonkeyPatch.context() as patch, threadpool_limits(n, user_api="blas"):
        patch.setattr(threads, "_cores", lambda: n)
        yield


@pytest.fixture
def many_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut few rows into segments, as many rows are."""
    monkeypatch.setattr(pieces, "SEGMENT", 1e3)
    monkeypatch.setattr(pieces, "SHARE", 1e3)


class TestSameBytes:
    @pytest.mark.slow
    @pytest.mark.usefixtures("many_segments")
    @pytest.mark.filterwarnings("ignore::fairfront.ProxyWarning")
    @pytest.mark.parametrize("kind", ["dense", "sparse", "classes", "weights", "probabilities"])
    def test_on_any_number_of_threads(self, kind: str) -> None:
        found = set()
        for n in (1, 2, 3):
            with allowed(n):
                found.add(bytes_of(ff.trace(**drawn(kind), n_points=3, progress=False)))
        assert len(found) == 1

    @pytest.mark.usefixtures("many_segments")
    @pytest.mark.parametrize("solver", ["pb_pdo", "newton"])
    def test_whatever_solves_and_judges(self, solver: str) -> None:
        found = set()
        for n in (1, 3):
            data = drawn("dense")
            with allowed(n):
                front = ff.trace(**data, solver=solver, preferences=2, random_state=0, progress=False).evaluate(**data)
            found.add(bytes_of(front) + front.column("auc").tobytes() + front.column("tpr_gap").tobytes())
        assert len(found) == 1

    @pytest.mark.usefixtures("many_segments")
    def test_of_a_hessian_that_is_never_formed(self) -> None:
        found = set()
        problem = ff.linear_problem(**drawn("classes"))
        V = np.random.default_rng(0).normal(size=(2, problem.K * problem.d))
        for n in (1, 2):
            with allowed(n):
                found.add(problem.conjugate(V[0].reshape(problem.K, -1), problem.algebra.p).solve(V).tobytes())
        assert len(found) == 1

    def test_segments_do_not_change_sums_beyond_rounding(self, monkeypatch: pytest.MonkeyPatch) -> None:
        problem = ff.linear_problem(**drawn("weights"))
        W = np.random.default_rng(0).normal(size=(1, 1, problem.d))
        whole = problem.cells(W), problem.hessian(W[0], problem.algebra.p)
        monkeypatch.setattr(pieces, "SEGMENT", 1e3)
        cut = problem.cells(W), problem.hessian(W[0], problem.algebra.p)
        np.testing.assert_allclose(cut[0].L, whole[0].L, rtol=1e-13)
        np.testing.assert_allclose(cut[1], whole[1], rtol=1e-11, atol=1e-15)

    @pytest.mark.slow
    def test_without_any_setting_of_the_environment(self) -> None:
        script = (
            "import hashlib, numpy as np, fairfront as ff\n"
            "rng = np.random.default_rng(0)\n"
            "X, g = rng.normal(size=(30_000, 60)), rng.integers(2, size=30_000)\n"
            "y = (X[:, 0] - 0.4 * g + rng.logistic(size=len(g)) > 0).astype(int)\n"
            "front = ff.trace(X, y, sensitive_features=g, n_points=3, progress=False)\n"
            "print(hashlib.sha256(front.models.coef.tobytes() + front.objectives.tobytes()).hexdigest())\n"
        )
        bare = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")}
        settings: list[dict[str, str]] = [{}, {"OMP_NUM_THREADS": "1"}]
        found = {
            subprocess.run([sys.executable, "-c", script], env=bare | given, capture_output=True, check=True).stdout
            for given in settings
        }
        assert len(found) == 1


class TestBlas:
    def test_is_limited_until_the_last_caller_leaves(self) -> None:
        with threadpool_limits(2, user_api="blas"):
            with one_blas_thread():
                with one_blas_thread():
                    assert blas() == 1
                assert blas() == 1
            assert blas() == 2

    def test_is_restored_where_callers_overlap(self) -> None:
        """The first to enter leaves first: what it found outside holds again only after the other."""
        inside, left, seen = Event(), Event(), []

        def second() -> None:
            with one_blas_thread():
                inside.set()
                left.wait(PATIENCE)
                seen.append(blas())

        with threadpool_limits(2, user_api="blas"), ThreadPoolExecutor(1) as pool:
            with one_blas_thread():
                job = pool.submit(second)
                inside.wait(PATIENCE)
            left.set()
            job.result()
            assert seen == [1]
            assert blas() == 2

    def test_has_one_thread_in_a_trace_and_its_own_again_after_an_error(self, monkeypatch: pytest.MonkeyPatch) -> None:
        seen = []

        def failing(self: Logistic, u: Any) -> Any:
            seen.append(blas())
            raise ZeroDivisionError

        monkeypatch.setattr(Logistic, "margin", failing)
        with threadpool_limits(2, user_api="blas"):
            with pytest.raises(ZeroDivisionError):
                ff.trace(**drawn("dense"), progress=False)
            assert set(seen) == {1}
            assert blas() == 2

    def test_a_learner_of_the_user_keeps_its_threads(self) -> None:
        from sklearn.linear_model import LogisticRegression

        seen = []

        class Watched(LogisticRegression):
            def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
                seen.append(blas())
                return super().fit(X, y, sample_weight)

        with threadpool_limits(2, user_api="blas"):
            trace(**drawn("dense"), estimator=Watched(), max_fits=2, cv=2, progress=False)
        assert set(seen) == {2}


class TestThreads:
    def used(self, want: int) -> int:
        """Return how many threads took part."""
        return len(set(in_threads(lambda _: get_ident(), range(64), want)))

    def test_work_at_once_and_answer_in_order(self) -> None:
        meeting = Barrier(2, timeout=PATIENCE)

        def met(item: int) -> int:
            meeting.wait()
            return item

        with allowed(2):
            assert in_threads(met, range(10), 2) == list(range(10))

    def test_are_never_more_than_allowed(self) -> None:
        with allowed(1):  # what joblib says to its workers
            assert self.used(8) == 1
        with allowed(3):
            assert self.used(8) <= 3
            assert self.used(1) == 1
            with one_thread():
                assert self.used(8) == 1

    def test_passes_inside_each_other_share_them(self) -> None:
        with allowed(2):
            assert in_threads(lambda _: self.used(8), range(2), 2) == [1, 1]

    def test_errors_and_what_floats_may_do_go_through_them(self) -> None:
        meeting = Barrier(2, timeout=PATIENCE)

        def divided(item: int) -> Any:
            meeting.wait()
            return np.array([1.0]) / item

        with allowed(2):
            with np.errstate(divide="ignore"):
                assert in_threads(divided, [0, 0], 2)[1][0] == np.inf
            with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
                in_threads(divided, [0, 0], 2)

    @pytest.mark.usefixtures("many_segments")
    def test_of_the_user_may_trace_side_by_side(self) -> None:
        with allowed(2), ThreadPoolExecutor(3) as pool:
            jobs = [pool.submit(ff.trace, **drawn("dense"), n_points=3, progress=False) for _ in range(6)]
            assert len({bytes_of(job.result()) for job in jobs}) == 1
            assert blas() == 2
            assert self.used(2) <= 2

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
    @pytest.mark.filterwarnings("ignore::DeprecationWarning")
    def test_a_forked_process_has_its_own(self) -> None:
        with allowed(2):
            self.used(2)
            with multiprocessing.get_context("fork").Pool(1) as pool:
                assert pool.apply_async(_counted).get(PATIENCE) == 64


def _counted() -> int:
    return len(in_threads(lambda item: item, range(64), 2))
