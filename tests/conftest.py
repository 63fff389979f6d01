"""What all tests share: how examples are drawn, and a problem of every kind."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

from tests.support.cases import CASES, Case, case_of

# The suite gives the same answer on every run, however slow the machine; `make fuzz` draws anew.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("fixed", settings.get_profile("patient"), derandomize=True)
settings.register_profile("fuzz", settings.get_profile("patient"), print_blob=True)
settings.load_profile(os.environ.get("FAIRFRONT_DRAWS", "fixed"))


@pytest.fixture(params=list(CASES), scope="session")
def case(request: pytest.FixtureRequest) -> Case:
    """Give every case in turn."""
    return case_of(request.param)
