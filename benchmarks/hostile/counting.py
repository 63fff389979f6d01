"""A plugin of pytest that counts the bad calls of a walker, which makes each through its function ``faults``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

SAID = "bad calls made: "
made = [0]


def counted(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function, counting its calls."""

    def call(*args: Any, **kwargs: Any) -> Any:
        made[0] += 1
        return function(*args, **kwargs)

    return call


def pytest_collection_finish(session: Any) -> None:
    """Count from now on."""
    helpers = [module for name, module in sys.modules.items() if name.startswith("tests.support.")]
    for module in (*{item.module for item in session.items}, *helpers):
        if "faults" in vars(module):
            module.faults = counted(module.faults)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say the number at the end."""
    terminalreporter.write_line(f"{SAID}{made[0]}")
