"""Notation: how people write numbers, amounts of money, percentages and dates, and which of these a text is.

And texts that often stand for a missing value, and one value that is written in several ways.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal, get_args

import numpy as np

from ..exceptions import InputError, spelled
from ..validation import check_choice, check_names

ISO = "ISO"
MONTH = re.compile(r"\d{4}-\d{2}")
DAYS = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d", "%d %b %Y", "%d-%b-%Y")
SHORT = ("%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d-%m-%y", "%m-%d-%y", "%d-%b-%y")
LETTERS = {
    "%d": "DD",
    "%m": "MM",
    "%Y": "YYYY",
    "%y": "YY",
    "%b": "Mon",
    "%B": "Month",
    "%H": "hh",
    "%M": "mm",
    "%S": "ss",
}
FORMATS = (*DAYS, *SHORT, "%b %d, %Y", "%B %d, %Y", "%d %B %Y")
CLOCKS = (" %H:%M", " %H:%M:%S")
PERCENT = "%"
SIGNS = {"EUR": "€", "USD": "$", "GBP": "£", "JPY": "¥", "INR": "₹"}
CODES = "AUD BGN BRL CAD CHF CNY CZK DKK HKD HUF ILS KRW MXN NOK NZD PLN RON SEK SGD TRY ZAR"
UNIT = "|".join([*map(re.escape, SIGNS.values()), *SIGNS, *CODES.split()])
BLANKS = " \u00a0\u202f"
LONGEST = 40
MONTHS = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}"
LIKELY = re.compile(rf"(?:[\d{BLANKS}.,'’:/%()+−TZEe-]|{UNIT}|{MONTHS})+")  # noqa: RUF001
DECIMALS = re.compile(r"\n[ \t]*[-+]?(?:0?\.|\d{4,}\.|\d{1,3}\.(?!\d{3}(?:\.\d{3})*[ \t]*(?:\n|$)))")
"""A point that separates no thousands."""
ZEROS = re.compile(r"\n[ \t]*[-+]?0\d+(?:\.\d+)?[ \t]*(?=\n|$)")
Decimal = Literal["point", "comma"]


def _pattern(mark: str, thousands: str) -> re.Pattern[str]:
    grouped = rf"[1-9]\d{{0,2}}(?P<sep>[{thousands}{BLANKS}'’])\d{{3}}(?:(?P=sep)\d{{3}})*(?:{mark}\d+)?"  # noqa: RUF001
    bare = rf"\d+(?:{mark}\d*)?(?:[eE][-+]?\d+)?|{mark}\d+"
    blank, sign = f"[{BLANKS}]*", "[-+−]?"  # noqa: RUF001
    head = rf"(?P<outer>{sign}){blank}(?P<before>{UNIT})?{blank}(?P<inner>{sign}){blank}"
    return re.compile(rf"{head}(?P<body>{grouped}|{bare})(?P<last>[-−]?){blank}(?P<after>{UNIT}|%)?")  # noqa: RUF001


PATTERNS: dict[str, re.Pattern[str]] = {"point": _pattern(r"\.", ","), "comma": _pattern(",", r"\.")}


def number_of(text: str) -> float:
    """Return the number that a text stands for, infinity for a word."""
    try:
        value = float(text)
    except ValueError:
        return np.inf
    return value if np.isfinite(value) and "_" not in text else np.inf


def seconds_of(text: str, form: str = ISO) -> float:
    """Return the seconds since 1970 (UTC where no zone is given) of a date or time; else infinity.

    ISO takes dates, months and times of ISO 8601; other forms are those of Python's ``strptime``.
    """
    plain = text.strip()
    try:
        if form == ISO:
            found = datetime.fromisoformat(f"{plain}-01" if MONTH.fullmatch(plain) else plain)
        else:
            found = datetime.strptime(plain, form)
    except ValueError:
        return np.inf
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def time_words(seconds: float) -> str:
    """Return the ISO date of seconds since 1970, with the time of the day where it is not midnight."""
    found = datetime.fromtimestamp(seconds, UTC)
    return f"{found:%Y-%m-%d}" if seconds % 86_400 == 0 else f"{found:%Y-%m-%dT%H:%M:%SZ}"


def _amount_of(text: str, decimal: str, unit: str | None) -> float:
    """Return a number with separators, a currency or a percent sign; below zero in brackets or before a minus."""
    plain, bracketed = _bare(text)
    found = PATTERNS[decimal].fullmatch(plain)
    signs = [bracketed, *(found[each] for each in ("outer", "inner", "last"))] if found else []
    if found is None or (found["before"] and found["after"]) or sum(map(bool, signs)) > 1:
        return np.inf
    if unit is not None and _unit(found) not in ("", unit):
        return np.inf
    body = re.sub(rf"[{BLANKS}'’{',' if decimal == 'point' else '.'}]", "", found["body"])  # noqa: RUF001
    value = number_of(body.replace(",", "."))
    return -value if any(sign in (True, "-", "−") for sign in signs) else value  # noqa: RUF001


def _bare(text: str) -> tuple[str, bool]:
    """Take the brackets of accounts off, (1,200) or $ (1,200), and tell whether there were any."""
    plain = text.strip()
    before, there, inside = plain.partition("(")
    if not there or not plain.endswith(")") or any(map(str.isdigit, before)):
        return plain, False
    return f"{before}{inside[:-1].strip()}", True


def _unit(found: re.Match[str]) -> str:
    written = found["before"] or found["after"] or ""
    return SIGNS.get(written, written)


def unit_of(text: str) -> str:
    """Return the currency of an amount, "%" for a percentage, "" for a bare number."""
    found = [pattern.fullmatch(_bare(text)[0]) for pattern in PATTERNS.values()]
    return next((_unit(each) for each in found if each is not None), "")


@dataclass(frozen=True)
class Notation:
    """How the texts of a column are written.

    ``kind`` is "plain" (as Python writes numbers, or words), "point" or "comma" (numbers with that decimal mark, which
    may have separators of thousands and a ``unit``: a currency, or "%" where 12.5 % is 12.5), "code" (leading zeros),
    "date" (in the form of ``strptime``, or "ISO"), "amounts" (numbers that can be read in two ways, or have several
    units) or "dates" (which can be read in two ways).
    """

    kind: Literal["plain", "point", "comma", "code", "date", "amounts", "dates"] = "plain"
    unit: str = ""
    form: str = ""

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> Notation:
        found = cls(**content)
        if not all(isinstance(part, str) for part in (found.kind, found.unit, found.form)):
            raise ValueError(f"the notation {content!r}")
        return found

    @property
    def form_words(self) -> str:
        """Return the form of dates as people write it: DD.MM.YYYY."""
        found = self.form
        for code, letters in LETTERS.items():
            found = found.replace(code, letters)
        return found

    @property
    def read(self) -> Callable[[str], float]:
        """Return the function from a text to a number, seconds since 1970 for dates; infinity for another text."""
        if self.kind == "date":
            return partial(seconds_of, form=self.form)
        if self.kind in ("point", "comma"):
            return partial(_amount_of, decimal=self.kind, unit=self.unit or None)
        return number_of

    @property
    def is_date(self) -> bool:
        return self.kind in ("date", "dates")

    @property
    def has_century(self) -> bool:
        """Tell whether dates are known to the year; those of two digits leave the century open."""
        return self.kind == "date" and "%y" not in self.form

    @property
    def expected(self) -> str:
        """Say what a text should be, and how to fix another; of an unclear column, what it has and how to say more."""
        if self.kind == "amounts":
            if self.unit:
                found = "with and without %" if self.unit == PERCENT else f"in {self.unit}"
                return f"has numbers {found}, expected one unit; convert them in the file"
            ways = "numbers that can be read in two ways (1,234 as 1234 or as 1.234)"
            return f"has {ways}, expected one; give --decimal point or --decimal comma"
        if self.is_date:
            how = "an ISO date such as 2024-01-31" if self.form == ISO else f"a date written as {self.form}"
            return f"{how}; write it that way, give --date COLUMN=FORMAT"
        if self.kind in ("point", "comma"):
            example = "1,234.50" if self.kind == "point" else "1.234,50"
            return f"a number written as {example}{self.unit and f' {self.unit}'}; fix it"
        return "a number; fix it"


PLAIN = Notation()
ISO_DATES = Notation("date", form=ISO)
AMOUNTS = (Notation("point"), Notation("comma"))
DATES = (ISO_DATES, *(Notation("date", form=f"{day}{clock}") for clock in ("", *CLOCKS) for day in FORMATS))


def looks_written(text: str) -> bool:
    """Tell whether a text may be a number or a date in some notation: short, with a digit, and without other words."""
    return len(text) <= LONGEST and LIKELY.fullmatch(text) is not None and any(map(str.isdigit, text))


def has_leading_zeros(lines: str) -> bool:
    """Tell whether a text, on a line of its own, is digits after a zero, as codes are: 00614, and neither 0 nor 0.5."""
    return ZEROS.search(lines) is not None


def has_decimal_points(lines: str) -> bool:
    """Tell whether a text, on a line of its own, has a point that cannot separate thousands: 12.5, and not 1.234."""
    return DECIMALS.search(lines) is not None


def check_decimal(given: Any) -> Decimal | None:
    found: Decimal | None = None if given is None else check_choice(given, "decimal", get_args(Decimal))
    return found


def check_form(form: Any, column: str) -> str:
    """Return a form of dates that can be written and read again to the day."""
    try:
        if form == ISO or datetime.strptime(datetime(2024, 11, 28).strftime(form), form).date().day == 28:
            return str(form)
    except (TypeError, ValueError):
        pass
    raise InputError(
        f"{spelled('dates')} has {form!r} for {column!r}, expected a format of dates as in Python's strptime, such as "
        "%d.%m.%Y."
    )


def as_dates(given: Any) -> tuple[tuple[str, str], ...]:
    """Return columns with the format of their dates, from a mapping or from texts such as ``applied=%d.%m.%Y``."""
    if isinstance(given, Mapping):
        return tuple((str(name), form) for name, form in given.items())
    parts = [each.rpartition("=") for each in check_names(given, "dates", "COLUMN=FORMAT, or a mapping of such")]
    return tuple((name, form) for name, _, form in parts)


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
