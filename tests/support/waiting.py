"""How tests wait: for something that can be seen, and so long that only what would never come is missed."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from typing import Any

PATIENCE = 300.0  # seconds; a busy machine is slow, not wrong


def until(found: Callable[[], Any]) -> Any:
    """Return the first answer that is true; a test that would wait for ever fails."""
    end = time.monotonic() + PATIENCE
    while not (value := found()):
        if time.monotonic() > end:
            raise TimeoutError(f"waited {PATIENCE:g} s in vain")
        time.sleep(0.01)
    return value


def heed_interrupts() -> None:
    """Let a process that is about to start be interrupted, though a shell in the background told its own not to be."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
