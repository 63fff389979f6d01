"""What a rule says where no point meets it: the nearest one, and what these rows could support."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..exceptions import spelled
from ..measures.claims import worst_pair
from ..measures.figures import Column, larger_is_better
from ..measures.intervals import worst_gap_floor
from ..measures.promises import has_ends

if TYPE_CHECKING:
    from .frontier_figures import FrontierFigures
    from .selection import Rule

MOVED = "a bound that is moved until a model meets it was not set beforehand, and holds with less confidence"
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
    asked = _asked(rule, front)
    found = ", ".join(_told(rule, front, name, sign, place) for name, _, sign in bounds)
    said = [f"no point has {asked}", f"the nearest is id {front.ids[place]} with {found}"]
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
    less = "" if not _sure(rule, front) else f", or choose by expected gaps with {spelled('confidence=None')}"
    more = "evaluate on more rows"
    if front.evaluations and front.judged(rule.on).name == "validation":  # a shell can judge all but test
        more = spelled(more)
    return "; ".join([*said, f"{more}, or trace further{less}; {MOVED}."])


def _sure(rule: Rule, front: FrontierFigures) -> list[str]:
    """Return the figures that a rule bounds at an end of their interval."""
    return [] if rule.confidence is None else [name for name, *_ in rule.bounds() if _ends(rule, front, name)]


def _ends(rule: Rule, front: FrontierFigures, name: str) -> bool:
    known = name not in training_columns(front) and bool(front.evaluations)
    return known and has_ends(front.judged(rule.on), name)


def _asked(rule: Rule, front: FrontierFigures) -> str:
    """Say what was asked for, and of which figures with confidence: training has none, nor have AUC and others."""
    sure, bounds = _sure(rule, front), rule.bounds()
    surely = "" if not sure else f" at {rule.confidence:.0%} confidence"
    told = [(f"{n} {'<=' if s > 0 else '>='} {b:g}", n in sure) for n, b, s in bounds]
    if len(sure) == len(bounds):
        return ", ".join(text for text, _ in told) + surely
    return ", ".join(text + surely * end for text, end in told)


def _told(rule: Rule, front: FrontierFigures, name: str, sign: float, place: int) -> str:
    """Say what a point has: its bound or expected gap, called so, and what is observed where that is another."""
    value, seen = sign * rule.values(front, name, sign)[place], float(rule.column(front, name)[place])
    told = f"{_word(rule, front, name)} = {value:.4g}"
    return told if value == seen else f"{told} (observed: {seen:.4g})"


def _word(rule: Rule, front: FrontierFigures, name: str) -> str:
    """Say which of its figures a bound is put on."""
    if not _ends(rule, front, name):
        return name
    if rule.confidence is None:
        return name if Column.of(name).kind == "error" else f"expected {name}"
    return f"{'lower' if larger_is_better(name) else 'upper'} bound of {name}"


def _least_claim(rule: Rule, front: FrontierFigures, name: str, among: Places) -> str:
    """Say the smallest gap that the evaluation's rows could demonstrate at the rates of some points."""
    if rule.confidence is None or not _ends(rule, front, name) or not Column.of(name).gap:
        return ""
    record, confidence = front.judged(rule.on), rule.confidence
    if record.errors:  # means, whose units are the target's
        return ""
    parts = record.parts(name)
    floors = np.stack([record.figure(part, confidence, worst_gap_floor) for part in parts])
    floor = np.fmax.reduce(floors)
    if np.isnan(floor[among]).all():
        return ""
    place = int(among[np.nanargmin(floor[among])])
    pair = worst_pair(record, parts[int(np.nanargmax(floors[:, place]))], place, front.facts.task)
    if pair is None:
        return ""
    few = f"{pair.fewest[0]:.0f} and {pair.fewest[1]:.0f} people{pair.label}"
    unit = 10.0 ** (np.floor(np.log10(max(floor[place], 1e-12))) - 1)
    down = np.floor(floor[place] / unit + 1e-9) * unit  # towards 0, so that no upper end is below what is told
    return f"with {few} in the smallest groups, no gap below about {down:.2g} can be demonstrated"
