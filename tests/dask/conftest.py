"""How tests of Dask compute."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture
def on_dask() -> Iterator[None]:
    """Take Dask for small data too, one task after the other."""
    dask = pytest.importorskip("dask", reason="the extra dask is not installed")
    with dask.config.set({"fairfront.small_bytes": 0, "scheduler": "synchronous"}):
        yield
