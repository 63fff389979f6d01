"""Options: the handful of points that are worth a person's time, out of all that were solved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..exceptions import InputError
from ..frontier import Frontier
from ..frontier.archive import spread
from ..frontier.candidates import CLASS_GAPS, VALUE_GAPS
from ..objectives import Array

TOLERANCE = 0.005
SHOWN = 7


@dataclass(frozen=True)
class Option:
    """One point as a person sees it: its id, what it is, and its figures on validation."""

    id: int
    mark: str
    figures: dict[str, float]


def main_error(front: Frontier) -> str:
    """Return the column of wrong decisions, or of squared errors for regression."""
    return "mse" if front.facts.task.kind == "regression" else "error"


def main_gap(front: Frontier, on: str | None = None) -> str:
    """Return the rate gap that the first notion is about, such as ``tpr_gap``; the worst over all attributes."""
    known = VALUE_GAPS if front.facts.task.kind == "regression" else CLASS_GAPS
    wanted = known.get(front.facts.notions[0], ("error_gap",))[0]
    if not any(name.rpartition(".")[2] == wanted for name in front.column_names(on)):
        raise InputError(
            f"no column {wanted} on {on or 'validation'}, expected one of {', '.join(front.column_names(on))}."
        )
    return wanted


def plain_id(front: Frontier) -> int:
    """Return the id of plain training: the smallest loss."""
    return int(front.ids[int(np.argmin(front.loss))])


def suggested_id(front: Frontier, tolerance: float = TOLERANCE) -> int:
    """Return the id with the least upper end of the gap among those within a tolerance of the smallest error."""
    error = main_error(front)
    if error == "mse":
        tolerance *= float(np.min(front.column("mse")))
    return front.choose(least=main_gap(front), within={error: tolerance})


def shortlist(front: Frontier, n: int = SHOWN, also: tuple[int, ...] = ()) -> list[Option]:
    """Return about n points that differ in what people see: plain, suggested, the smallest gap, and some between.

    Points whose error and gap are the same to three digits are one option: nobody could tell them apart.
    """
    plain, suggested = plain_id(front), suggested_id(front)
    fixed = list(dict.fromkeys([plain, suggested, *also]))
    solved, axes = front.solved, _axes(front)
    order = [int(solved[i]) for i in spread(axes[solved], min(len(solved), 4 * n))]
    chosen = [front.place(each) for each in fixed]
    seen = {_shown(axes[place]) for place in chosen}
    while len(chosen) < n:
        rest = [place for place in order if place not in chosen and _shown(axes[place]) not in seen]
        if not rest:
            break
        chosen.append(_farthest(axes, chosen, rest))
        seen.add(_shown(axes[chosen[-1]]))
    marks = {plain: "plain", suggested: "suggested"} if plain != suggested else {plain: "plain, suggested"}
    places = sorted(chosen, key=lambda place: (front.loss[place], place))
    return [_option(front, place, marks.get(int(front.ids[place]), "")) for place in places]


def _axes(front: Frontier) -> Array:
    columns = np.column_stack([front.column(main_error(front)), front.column(main_gap(front))])
    return np.nan_to_num(columns, nan=np.inf, posinf=1e9)


def _shown(axes: Array) -> tuple[str, str]:
    error, gap = axes
    return f"{error:.3g}" if error >= 1 else f"{error:.3f}", f"{gap:.3f}"


def _farthest(axes: Array, chosen: list[int], rest: list[int]) -> int:
    span = np.maximum(axes.max(axis=0) - axes.min(axis=0), 1e-12)
    scaled = axes / span
    distance = [min(float(np.abs(scaled[r] - scaled[c]).max()) for c in chosen) for r in rest]
    return rest[int(np.argmax(distance))]


def _option(front: Frontier, place: int, mark: str) -> Option:
    error, gap = main_error(front), main_gap(front)
    figures = {
        "loss": float(front.loss[place]),
        front.facts.gap_column: float(front.gaps[place].max()),
        error: float(front.column(error)[place]),
        gap: float(front.column(gap)[place]),
        f"{gap} at most": float(front.column(gap, confidence=0.95)[place]),
    }
    if front.facts.task.classes:
        figures["selection_ratio"] = float(front.column("selection_ratio")[place])
    return Option(int(front.ids[place]), mark, figures)
