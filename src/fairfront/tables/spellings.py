"""Spellings: texts that often stand for a missing value, and one value that is written in several ways."""

from __future__ import annotations

from collections.abc import Collection, Iterable

WRITTEN = """
    - -- --- \N{EN DASH} \N{EM DASH} . .. ... * / # n.a. n.a k.a. k.a n.d. n/d n.v. s.o. nil missing (blank) (empty)
    (leer) n._a. k._a. not_available not_applicable keine_angabe #null! #value! #ref! #div/0!
"""
"""Texts, in lower case, that often stand for a missing value and are not read as one unless somebody says so."""
MARKS = frozenset(WRITTEN.split())
BOTH = "0 1 y n yes no true false t f j ja nein o oui non s si sí wahr falsch vrai faux"
YES_NO = frozenset(BOTH.split())


def marks_in(texts: Iterable[str]) -> list[str]:
    return sorted(text for text in texts if text.strip().casefold().replace(" ", "_") in MARKS)


def several_spellings(texts: Collection[str]) -> str:
    """Say how values are written in several ways, if they are."""
    folded = {text.strip().casefold() for text in texts}
    if len(folded) > 2 and folded <= YES_NO and max(map(len, folded)) > 1:
        return f"has yes and no in several ways ({', '.join(map(repr, sorted(texts)))})"
    return "has values that differ in upper and lower case only" if len(folded) < len(texts) else ""
