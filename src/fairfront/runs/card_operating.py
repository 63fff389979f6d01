"""The cut-off of a model card: its value, how it came about, whom it approves, and how well scores rank people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..frontier.cutoffs import operating_words
from .markdown import code

if TYPE_CHECKING:
    from .run import Run


def cutoff(run: Run, id: int, tested: Mapping[str, Any]) -> str:
    """Return the section on the cut-off; nothing for several classes and for values."""
    front = run.frontier
    said = operating_words(front.record(), front.facts)
    if not said:
        return ""
    place, point = front.place(id), front.operating()
    lines = [said]
    if point is not None:
        what = "probability" if point.probability[place] else "score"
        good = code(str(front.facts.task.favourable_label))
        lines.append(
            f"The cut-off of this model is {point.cutoffs[place]:.4g} on the {what} of {good}, which is decided at or "
            "above it. It was applied to test unchanged."
        )
    approved = f"{front.column('approval_rate')[place]:.1%} of the validation rows"
    overall = _all_rows(tested)
    if "selection" in overall:
        approved += f" and {overall['selection']:.1%} of the test rows"
    lines.append(f"Decided favourably: {approved}.")
    if "auc" in overall:
        auc = overall["auc"]
        ks = f", KS {overall['ks']:.3f}" if "ks" in overall else ""
        lines.append(f"On test, whatever the cut-off: AUC {auc:.3f}{ks}, Gini {2.0 * auc - 1.0:.3f} (2 AUC - 1).")
    return "## Cut-off\n\n" + " ".join(lines)


def _all_rows(tested: Mapping[str, Any]) -> dict[str, float]:
    """Return the figures of all test rows that are numbers, from the last line of the first table."""
    tables: Mapping[str, Mapping[str, Any]] = tested.get("audit", {}).get("tables", {})
    table = next(iter(tables.values()), {})
    last = {name: table[name][-1] for name in ("selection", "auc", "ks") if name in table}
    return {name: float(value) for name, value in last.items() if isinstance(value, (int, float))}
