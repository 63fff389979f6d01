"""Requirements on an audit's figures: met, not met, or not to be told from these rows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ..exceptions import InputError
from ..validation import check_text
from .figures import RATIOS

if TYPE_CHECKING:
    from .audit import Audit

Outcome = Literal["met", "not met", "inconclusive"]
FORM = re.compile(
    r"^\s*(?P<name>(?:[^<>=\[]|\[[^\]]*\])*?[a-z\]])\s*(?P<sign><=|>=)\s*"
    r"(?P<bound>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*$"
)
DOT = re.compile(r"\.(?![^\[]*\])")  # not those in a class: recall[a.b]_gap
ENDS = ("lower", "upper", "value")


@dataclass(frozen=True)
class Requirement:
    """``figure`` of an attribute (all where it is None) at most or at least ``bound``, at an end of its interval."""

    text: str
    attribute: str | None
    figure: str
    end: str
    sign: str
    bound: float


@dataclass(frozen=True)
class Verdict:
    """What became of a requirement for one attribute.

    ``sentence`` gives the figures.
    """

    requirement: str
    attribute: str
    outcome: Outcome
    sentence: str


def parse_requirement(text: str) -> Requirement:
    """Read ``[attribute.]figure[.lower|.upper](<=|>=)number``.

    ``.lower`` goes with ``>=`` and ``.upper`` with ``<=``: the end that has to hold.
    """
    found = FORM.match(check_text(text, "requirement", 'a text such as "selection_ratio.lower>=0.80"'))
    if found is None:
        raise InputError(
            f"requirement {text!r} cannot be read, expected [attribute.]figure[.lower|.upper]>=number or <=number, "
            'such as "selection_ratio.lower>=0.80".'
        )
    *words, sign = *DOT.split(found["name"]), found["sign"]
    end = words.pop() if len(words) > 1 and words[-1] in ENDS else "value"
    if (end, sign) in (("lower", "<="), ("upper", ">=")):
        other = "upper" if end == "lower" else "lower"
        raise InputError(f"requirement {text!r} asks for the easy end of the interval, expected .{other} with {sign}.")
    attribute = ".".join(words[:-1]) or None
    return Requirement(text.strip(), attribute, words[-1], end, sign, float(found["bound"]))


def judge(audit: Audit, text: str) -> tuple[Verdict, ...]:
    """Judge a requirement for its attribute, or for every one."""
    asked = parse_requirement(text)
    if asked.attribute is not None and asked.attribute not in audit.groups:
        names = ", ".join(audit.groups)
        raise InputError(f"requirement {text!r} names {asked.attribute!r}, expected one of {names}.")
    chosen = [asked.attribute] if asked.attribute is not None else list(audit.groups)
    return tuple(_verdict(audit, asked, name) for name in chosen)


def _verdict(audit: Audit, asked: Requirement, attribute: str) -> Verdict:
    value, lower, upper, claim = _figure(audit, asked, attribute)
    if value != value or lower != lower or upper != upper:
        said = f"{attribute}: {asked.figure} is not defined on these rows; {asked.text} is inconclusive."
        return Verdict(asked.text, attribute, "inconclusive", said)
    table = audit.groups[attribute]
    contrasts = {worst.figure: worst for worst in table.worst}
    figures = f"{asked.figure} is {value:.4g} ({lower:.4g} to {upper:.4g})"
    if table.lines.is_proxy and asked.figure in contrasts:
        outcome: Outcome = "inconclusive"
        judged = "that is between groups given as probabilities, not between people; "
    else:
        outcome = _outcome(asked, value, claim, upper)
        alone = asked.figure in RATIOS and asked.end == "lower"
        judged = f"the lower end of each pair of groups on its own is {claim:.4g} or more; " if alone else ""
    return Verdict(asked.text, attribute, outcome, f"{attribute}: {figures}; {judged}{asked.text} is {outcome}.")


def _outcome(asked: Requirement, value: float, lower: float, upper: float) -> Outcome:
    sure, possible = {"value": (value, value), "lower": (lower, upper), "upper": (upper, lower)}[asked.end]
    if asked.sign == ">=":
        return "met" if sure >= asked.bound else "not met" if possible < asked.bound else "inconclusive"
    return "met" if sure <= asked.bound else "not met" if possible > asked.bound else "inconclusive"


def _figure(audit: Audit, asked: Requirement, attribute: str) -> tuple[float, float, float, float]:
    """Return value, ends, and the least that may be claimed of a worst contrast, or of the figure of all rows.

    The last is the lower end, but for a ratio that of each pair on its own, because all pairs have to hold.
    """
    table = audit.groups[attribute]
    contrasts = {worst.figure: worst for worst in table.worst}
    if asked.figure in contrasts:
        worst = contrasts[asked.figure]
        return worst.value, worst.lower, worst.upper, worst.pair_lower if asked.figure in RATIOS else worst.lower
    overall = [name for name in table.columns if f"{name}_lower" in table.columns and f"{name}_gap" in table.columns]
    if asked.figure not in overall:
        known = ", ".join([*contrasts, *overall])
        raise InputError(f"requirement {asked.text!r} names {asked.figure!r}, expected one of {known}.")
    value, lower, upper = (float(table.columns[asked.figure + end][-1]) for end in ("", "_lower", "_upper"))
    return value, lower, upper, lower
