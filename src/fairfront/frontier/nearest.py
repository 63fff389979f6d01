"""What a rule says where no point meets it: the nearest one, what would take it, and what these rows could support."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..exceptions import spelled
from ..measures.claims import worst_pair
from ..measures.figures import MORE, Column, larger_is_better
from ..measures.intervals import worst_gap_floor
from ..measures.notion_figures import SCORES
from ..measures.promises import has_ends

if TYPE_CHECKING:
    from .frontier_figures import FrontierFigures
    from .selection import Rule

GAPS = tuple(f"{rate}_gap" for rate in ("tpr", "fpr", "selection", "error", "recall", "precision", *MORE, *SCORES))
"""Gaps of shares, which have intervals."""
Places = NDArray[np.intp]


def training_columns(front: FrontierFigures) -> tuple[str, ...]:
    """Return the names of what is known of training rows."""
    return ("loss", front.facts.gap_column, *front.facts.gap_columns)


def nothing_found(rule: Rule, front: FrontierFigures, among: Places) -> str:
    """Say that nothing meets the bounds, which point comes nearest, and what these rows could support at best."""
    over, bounds = np.zeros(len(front)), rule.bounds()
    for name, bound, sign in bounds:
        over += np.maximum(rule.values(front, name, sign) - sign * bound, 0.0)
    place = int(among[np.argmin(over[among])])
    asked = ", ".join(f"{n} {'<=' if s > 0 else '>='} {b:g}" for n, b, s in bounds)
    found = ", ".join(_told(rule, front, name, sign, place) for name, _, sign in bounds)
    surely = "" if rule.confidence is None else f" at {rule.confidence:.0%} confidence"
    said = [f"no point has {asked}{surely}", f"the nearest is id {front.ids[place]} with {found}"]
    idle = [i for i in front.solved if over[i] < over[place] and i not in among]
    for some, what in (
        ([i for i in idle if over[i] == 0], "would"),
        ([i for i in idle if over[i] > 0], "comes nearer"),
    ):
        if some:
            named = ", ".join(str(front.ids[i]) for i in some)
            said.append(f"id {named} {what}, but gives nearly everyone the same decision, or is no better than chance")
    claims = (_least_claim(rule, front, name, among) for name, _, _ in bounds)
    said += [text for text in claims if text]
    less = "" if rule.confidence is None else f", or take expected gaps with {spelled('confidence=None (0)')}"
    enough = " ".join(_enough(rule, front, *each, place) for each in bounds)
    return "; ".join([*said, f"{enough} would take it; or evaluate on more rows or trace further{less}."])


def _enough(rule: Rule, front: FrontierFigures, name: str, bound: float, sign: float, place: int) -> str:
    """Return the bound that a point meets, as it is asked for."""
    needed = max(float(rule.values(front, name, sign)[place]), sign * bound)
    kind, value = "at_most" if sign > 0 else "at_least", f"{sign * np.ceil(1e3 * needed - 1e-9) / 1e3:g}"
    asked = spelled(kind)
    return f"{kind}={{{name!r}: {value}}}" if asked == kind else f"{asked} {shlex.quote(f'{name}={value}')}"


def _told(rule: Rule, front: FrontierFigures, name: str, sign: float, place: int) -> str:
    """Say what a point has: its bound or expected gap, called so, and what is observed where that is another."""
    value, seen = sign * rule.values(front, name, sign)[place], float(rule.column(front, name)[place])
    told = f"{_word(rule, front, name)} = {value:.4g}"
    return told if value == seen else f"{told} (observed: {seen:.4g})"


def _word(rule: Rule, front: FrontierFigures, name: str) -> str:
    """Say which of its figures a bound is put on."""
    if name in training_columns(front) or not front.evaluations or not has_ends(front.judged(rule.on), name):
        return name
    if rule.confidence is None:
        return name if Column.of(name).kind == "error" else f"expected {name}"
    return f"{'lower' if larger_is_better(name) else 'upper'} bound of {name}"


def _least_claim(rule: Rule, front: FrontierFigures, name: str, among: Places) -> str:
    """Say the smallest gap that the evaluation's rows could demonstrate at the rates of some points."""
    if rule.confidence is None or name in training_columns(front) or Column.of(name).kind not in GAPS:
        return ""
    record, confidence = front.judged(rule.on), rule.confidence
    parts = record.parts(name)
    floors = np.stack([record.figure(part, confidence, worst_gap_floor) for part in parts])
    floor = np.fmax.reduce(floors)
    if np.isnan(floor[among]).all():
        return ""
    place = int(among[np.nanargmin(floor[among])])
    pair = worst_pair(record, parts[int(np.nanargmax(floors[:, place]))], place, front.facts.task)
    assert pair is not None
    few = f"{pair.fewest[0]:.0f} and {pair.fewest[1]:.0f} people{pair.label}"
    unit = 10.0 ** (np.floor(np.log10(max(floor[place], 1e-12))) - 1)
    down = np.floor(floor[place] / unit + 1e-9) * unit  # towards 0, so that no upper end is below what is told
    return f"with {few} in the smallest groups, no gap below about {down:.2g} can be demonstrated"
