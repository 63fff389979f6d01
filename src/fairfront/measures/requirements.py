"""Requirements of an audit, such as ``selection_ratio.lower>=0.80``, and what becomes of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from ..exceptions import InputError
from ..validation import check_text
from .figures import RATIOS
from .group_table import GroupTable

Outcome = Literal["met", "not met", "inconclusive"]
FORM = re.compile(
    r"^\s*(?P<name>(?:[^<>=\[]|\[[^\]]*\])*?[a-z\]])\s*(?P<sign><=|>=)\s*"
    r"(?P<bound>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*$"
)
DOT = re.compile(r"\.(?![^\[]*\])")  # not those in a class: recall[a.b]_gap


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
    """What became of a requirement for one attribute; ``sentence`` gives the figures."""

    requirement: str
    attribute: str
    outcome: Outcome
    sentence: str


def parse_requirement(text: str) -> Requirement:
    """Read ``[attribute.]figure[.lower|.upper](<=|>=)number``; the end is the one that has to hold."""
    found = FORM.match(check_text(text, "requirement", 'a text such as "selection_ratio.lower>=0.80"'))
    if found is None:
        raise InputError(
            f"requirement {text!r} cannot be read, expected [attribute.]figure[.lower|.upper]>=number or <=number, "
            'such as "selection_ratio.lower>=0.80".'
        )
    *words, sign = *DOT.split(found["name"]), found["sign"]
    end = words.pop() if len(words) > 1 and words[-1] in ("lower", "upper", "value") else "value"
    if (end, sign) in (("lower", "<="), ("upper", ">=")):
        other = "upper" if end == "lower" else "lower"
        raise InputError(f"requirement {text!r} uses the bound that is easier to meet, expected .{other} with {sign}.")
    return Requirement(text.strip(), ".".join(words[:-1]) or None, words[-1], end, sign, float(found["bound"]))


def verdict_of(table: GroupTable, asked: Requirement) -> Verdict:
    attribute, contrasts = table.lines.attribute, {worst.figure: worst for worst in table.worst}
    if asked.figure in contrasts:
        worst = contrasts[asked.figure]
        value, lower, upper = worst.value, worst.lower, worst.upper
        claim = worst.pair_lower if asked.figure in RATIOS else lower  # all pairs have to hold: each on its own
    else:
        there = table.columns
        overall = [name for name in there if f"{name}_lower" in there and f"{name}_gap" in there]
        if asked.figure not in overall:
            known = ", ".join([*contrasts, *overall])
            raise InputError(f"requirement {asked.text!r} names {asked.figure!r}, expected one of {known}.")
        value, lower, upper = (float(there[asked.figure + end][-1]) for end in ("", "_lower", "_upper"))
        claim = lower
    if value != value or lower != lower or upper != upper:
        said = f"{attribute}: {asked.figure} is not defined on these rows; {asked.text} is inconclusive."
        return Verdict(asked.text, attribute, "inconclusive", said)
    outcome: Outcome = "inconclusive"
    if table.lines.is_proxy and asked.figure in contrasts:
        judged = "that is between groups given as probabilities, not between people; "
    else:
        sure, possible = {"value": (value, value), "lower": (claim, upper), "upper": (upper, claim)}[asked.end]
        sign = 1.0 if asked.sign == ">=" else -1.0
        if sign * sure >= sign * asked.bound:
            outcome = "met"
        elif sign * possible < sign * asked.bound:
            outcome = "not met"
        alone = asked.figure in RATIOS and asked.end == "lower"
        judged = f"the lower bound of each single pair of groups is {claim:.4g} or more; " if alone else ""
    figures = f"{asked.figure} is {value:.4g} ({lower:.4g} to {upper:.4g})"
    return Verdict(asked.text, attribute, outcome, f"{attribute}: {figures}; {judged}{asked.text} is {outcome}.")
