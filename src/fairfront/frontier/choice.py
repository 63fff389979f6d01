"""A choice in words: what was asked for, what its rows show, what is expected of other rows, and what is promised."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from ..measures import Evaluation
from ..measures.figures import Column, larger_is_better
from ..measures.promises import expected, has_ends, shown_by_test, together
from ..objectives import rates_of
from ..records import Record
from ..validation import check_positive
from .pooled_rows import kept_apart

if TYPE_CHECKING:
    from .frontier_figures import FrontierFigures
    from .selection import Rule

USUAL = 0.95


@dataclass(frozen=True)
class Promise:
    """One figure of a chosen point.

    ``asked`` is the bound that it was to keep, None where there was none. ``expected`` is what other rows of the same
    population would show of its gap as these rows know it. ``promised`` holds with this ``confidence``: the bound that
    was asked for, where the point was found by it, else the end that holds for all points at once. ``most`` tells
    whether these are upper bounds.
    """

    figure: str
    asked: float | None
    observed: float
    expected: float
    promised: float
    confidence: float
    most: bool

    @property
    def words(self) -> str:
        bound = "at most" if self.most else "at least"
        asked = "" if self.asked is None else f"asked {bound} {self.asked:g}, "
        known = f"observed {self.observed:.3g}, expected {self.expected:.3g}"
        return f"{self.figure}: {asked}{known}, promised {bound} {self.promised:.3g} ({self.confidence:.0%})"


@dataclass(frozen=True, repr=False)
class Choice(Record):
    """The point that a rule picked, and what its rows let one say of it.

    Attributes
    ----------
    id : int
    on : str
        The evaluation that the rule read; ``n`` are its rows, ``made`` says how scores of training rows were made.
    promises : tuple of Promise
        Of every figure that the rule bounds, or takes the least or most of; else of the gaps of the notion.
    note : str
        Says that held-out rows were judged too and not read, as in saved runs; empty elsewhere.
    """

    id: int
    on: str
    n: int
    made: str
    promises: tuple[Promise, ...]
    record: Evaluation = field(repr=False)
    place: int = field(repr=False)
    note: str = ""

    @property
    def words(self) -> tuple[str, ...]:
        """Return one sentence per figure, and the note."""
        made = f", {self.made}" if self.made else ""
        said = tuple(f"{each.words}; on {self.on} ({self.n} rows{made})." for each in self.promises)
        return (*said, self.note) if self.note else said

    def test(self, n: float) -> dict[str, tuple[float, float]]:
        """Return what n other rows of the same population will show, by noise alone and of this point.

        Parameters
        ----------
        n : number of rows

        Returns
        -------
        dict of gap to (mean gap shown by a model that has none, mean gap shown by this one)
        """
        check_positive(n, "n")
        gaps = [each.figure for each in self.promises if Column.of(each.figure).gap]
        return {name: shown_by_test(self.record, name, self.place, n) for name in gaps}

    def test_words(self, n: float, what: str = "test rows") -> tuple[str, ...]:
        """Say what `test` returns.

        Parameters
        ----------
        n, what : number of rows, and what they are called
        """
        return tuple(
            f"{name}: a model with no gap at all shows about {none:.3f} on {n:.0f} {what}, by noise alone; this one is "
            f"expected to show about {own:.3f}."
            for name, (none, own) in self.test(n).items()
        )

    def to_json(self, n: float | None = None) -> list[dict[str, Any]]:
        """Return its figures as plain values, with what n test rows will show.

        Parameters
        ----------
        n : number of rows, optional
        """
        shown = {} if not n else self.test(n)
        found = []
        for each in self.promises:
            noise = dict(zip(("noise", "predicted"), shown[each.figure], strict=True)) if each.figure in shown else {}
            found.append({**asdict(each), "on": self.on, "rows": self.n, **noise})
        return found


def choice_of(front: FrontierFigures, rule: Rule, place: int) -> Choice | None:
    """Return what can be said of a point that a rule picked; None where no rates are known."""
    if not front.evaluations:
        return None
    record = front.judged(rule.on)
    bounds = {name: bound for name, bound, _ in rule.bounds()}
    names = [*bounds, *(name for name in (rule.least, rule.most) if name)]
    names = [name for name in names if has_ends(record, name)]
    if not names:
        wanted = [f"{rate}_gap" for rate in rates_of(front.facts.notions, front.facts.task)]
        names = [name for name in wanted if record.parts(name) and has_ends(record, name)]
    sure, found = rule.confidence or USUAL, []
    for name in dict.fromkeys(names):
        kept = name in bounds and rule.confidence is not None
        end = bounds[name] if kept else float(together(record, name, sure)[place])
        shown, mean = float(record.figure(name)[place]), float(expected(record, name)[place])
        found.append(Promise(name, bounds.get(name), shown, mean, end, sure, not larger_is_better(name)))
    known = (record.n, record.made, tuple(found), record, place, unread_words(front, rule.on))
    return Choice(int(front.ids[place]), record.name, *known)


def unread_words(front: FrontierFigures, on: str | None) -> str:
    """Say that a rule which names no evaluation reads validation alone, where held-out rows were judged too."""
    held = front.evaluations.get("held_out")
    if on is not None or held is None or front.judged().name != "validation":
        return ""
    why = kept_apart([held, front.judged()])
    said = f"This is the choice on validation alone, without the {held.n} held-out rows: {why}"
    return f"{said} In Python, select(on='held_out') reads them instead."
