"""One setting for threads: BLAS of this process, and never more than was given."""

from __future__ import annotations

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from fairfront.exceptions import InputError
from fairfront.problems.threads import blas_threads, threads_setting


class TestThreads:
    def blas(self) -> int:
        return max(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")

    def test_the_smallest_limit_holds_and_the_first_is_restored(self) -> None:
        with threadpool_limits(2, user_api="blas"):
            with blas_threads(2):
                with blas_threads(1):
                    assert self.blas() == 1
                assert self.blas() == 2
                with blas_threads(3):
                    assert self.blas() == 2
            assert self.blas() == 2

    def test_the_setting_of_the_environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("FAIRFRONT_THREADS", raising=False)
        assert threads_setting() is None
        monkeypatch.setenv("FAIRFRONT_THREADS", "1")
        with threadpool_limits(2, user_api="blas"):
            with blas_threads():
                assert self.blas() == 1
            assert self.blas() == 2
        for wrong in ("0", "two", "-1"):
            monkeypatch.setenv("FAIRFRONT_THREADS", wrong)
            with pytest.raises(InputError, match="FAIRFRONT_THREADS"):
                threads_setting()
