"""What each notion leaves out, in a sentence, and the rates that it is about."""

from __future__ import annotations

from ..objectives import Task

NOT_COMPARED = {
    "equal_opportunity": "It does not compare people whose label is another, nor how many of a group receive {good}.",
    "predictive_equality": "It does not compare people whose label is {good}, nor how many of a group receive {good}.",
    "equalized_odds": "It does not compare how many of a group receive {good}: groups with other labels may differ.",
    "disparate_mistreatment": "It does not tell mistakes in a person's favour from mistakes against them.",
    "demographic_parity": "It does not look at the labels: nothing is said of mistakes in any group.",
    "group_loss": "It does not compare rates of decisions: a bounded loss may go with very different rates.",
}
ALWAYS = "Labels are taken as they are: what they carry from the past is not corrected."
RATES = {
    "equal_opportunity": ("tpr",),
    "predictive_equality": ("fpr",),
    "equalized_odds": ("tpr", "fpr"),
    "disparate_mistreatment": ("error",),
    "demographic_parity": ("selection",),
    "group_loss": ("error",),
}
MEANS = {"demographic_parity": ("prediction",)}
OF_VALUES = "It does not compare single people, nor how predictions spread inside a group."


def not_compared(notion: str, task: Task) -> str:
    """Say what a notion does not compare."""
    if task.kind == "regression":
        return f"{OF_VALUES} {ALWAYS}"
    return f"{NOT_COMPARED.get(notion, '')} {ALWAYS}".strip().format(good=f"“{task.favourable_label}”")


def rates_of(notions: tuple[str, ...], task: Task) -> tuple[str, ...]:
    """Return the rates of decisions (means for regression) that the notions are about, each once."""
    if task.kind == "regression":
        found = [rate for notion in notions for rate in MEANS.get(notion, ("mse",))]
    else:
        found = [rate for notion in notions for rate in RATES.get(notion, ("selection",))]
    if task.kind == "multiclass":
        found = ["recall" if rate == "tpr" else rate for rate in found]
    return tuple(dict.fromkeys(found))
