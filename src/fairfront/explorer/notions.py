"""What each notion leaves out, in a sentence."""

from __future__ import annotations

from ..objectives import NOTIONS, Task

ALWAYS = "Labels are taken as they are: what they carry from the past is not corrected."
OF_VALUES = "It does not compare single people, nor how predictions spread inside a group."


def not_compared(notion: str, task: Task) -> str:
    """Say what a notion does not compare."""
    if task.kind == "regression":
        return f"{OF_VALUES} {ALWAYS}"
    caveat = NOTIONS[notion].caveat if notion in NOTIONS else ""
    return f"{caveat} {ALWAYS}".strip().format(good=f"“{task.favourable_label}”")
