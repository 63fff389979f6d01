"""What all tests share: how examples are drawn, what a missing extra means, and a problem of every kind."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

from fairfront.exceptions import MissingExtraError
from tests.support.cases import CASES, Case, case_of

# The suite gives the same answer on every run, however slow the machine; `make fuzz` draws anew.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("fixed", settings.get_profile("patient"), derandomize=True)
settings.register_profile("fuzz", settings.get_profile("patient"), print_blob=True)
settings.load_profile(os.environ.get("FAIRFRONT_DRAWS", "fixed"))
os.environ.setdefault("MPLBACKEND", "Agg")


def _skipped_without_its_extra() -> Generator[None, object, object]:
    """Skip a test that asks for an extra that is not installed, with the sentence that its user would read."""
    try:
        return (yield)
    except MissingExtraError as error:
        pytest.skip(str(error))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Generator[None, object, object]:
    return (yield from _skipped_without_its_extra())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    return (yield from _skipped_without_its_extra())


@pytest.fixture(autouse=True)
def _figures_are_closed() -> Generator[None, None, None]:
    """Matplotlib warns of the twenty-first figure that stays open, in whichever test that happens to be."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


@pytest.fixture(params=list(CASES), scope="session")
def case(request: pytest.FixtureRequest) -> Case:
    """Give every case in turn."""
    return case_of(request.param)
