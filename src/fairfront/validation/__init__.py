"""Checks at the public edge: refusals in one sentence, and one function per kind of option; data are in `inputs`."""

from __future__ import annotations

import difflib
import math
import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..exceptions import InputError, spelled

T = TypeVar("T")
SHOWN = 80
FALSE_NUMBERS = (bool, np.bool_, np.timedelta64)
"""What Python or numpy count among numbers, and people do not."""
REMEDIES = {
    "c": ("complex numbers", "expected real ones; take .real or abs() of them"),
    "M": ("dates", "expected no dates; turn them into numbers such as days since a date"),
    "m": ("spans of time", "expected no spans; turn them into numbers such as days"),
    "S": ("bytes", "expected text or numbers; decode them first"),
}
"""What arrays of a kind hold that numpy would pass over in silence, as parts of numbers, and what to do about it."""
BACKENDS = ("pandas", "polars", "pyarrow")
MOST_POINTS = 10_000
"""Most points that a frontier is asked for: more than people, files and screens can take."""


def as_plain(value: Any) -> Any:
    """Return a value of numpy as Python's own, also in lists: 'a' and 1 for np.str_('a') and np.int64(1)."""
    if type(value) in (list, tuple):
        return type(value)(map(as_plain, value))
    return value.item() if isinstance(value, np.generic) else value


def as_tuples(value: Any) -> Any:
    """Return lists as tuples, also in lists: records are read from JSON, which has none."""
    return tuple(map(as_tuples, value)) if isinstance(value, (list, tuple)) else value


def shown(value: Any) -> str:
    """Return a value as it is found in a sentence: on one line, and not longer than people read."""
    text = " ".join(repr(as_plain(value)).split())
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 4]} ..."


def counted(n: float, noun: str) -> str:
    return f"{n:.0f} {noun}" if n == 1 else f"{n:.0f} {noun}s"


def exact_count(n: float) -> str:
    """Return a number of rows for a message, with a digit after the point where it is not whole."""
    return f"{n:.0f}" if n == int(n) else f"{n:.1f}"


def refuse(what: str, value: Any, expected: str) -> InputError:
    """Return the error, for the caller to raise."""
    return InputError(f"{spelled(what)} is {shown(value)}, expected {expected}.")


def _held(holds: bool, value: T, what: str, expected: str) -> T:
    if not holds:
        raise refuse(what, value, expected)
    return value


class Registry(dict[str, T]):
    """Items of one kind by name, in the order in which they were added."""

    def __init__(self, kind: str, *items: Any) -> None:
        """Begin with items that know their ``name``."""
        super().__init__((item.name, item) for item in items)
        self.kind = kind

    def add(self, name: str, item: T) -> T:
        if name in self:
            raise ValueError(f"{self.kind} {name!r} is registered already")
        self[name] = item
        return item

    def names(self) -> tuple[str, ...]:
        return tuple(self)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and super().__contains__(name)

    def __getitem__(self, name: str) -> T:
        if name in self:
            return super().__getitem__(name)
        near = difflib.get_close_matches(str(name), self, n=1, cutoff=0.5)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        raise InputError(f"unknown {self.kind} {shown(name)}, expected one of {', '.join(self)}{hint}")

    def made(self, given: Any, kind: type, expected: str = "") -> Any:
        """Return an instance of the kind as it is, and a new one of the class with a name."""
        if isinstance(given, str):
            named: Any = self[given]
            return named()
        if not isinstance(given, kind):
            raise refuse(self.kind, given, expected or f"a name or a {kind.__name__}")
        return given


def refuse_masked(values: Any, what: str) -> None:
    """Refuse an array with masked entries, which numpy and scikit-learn would read as if there were no mask."""
    masked = int(np.ma.getmaskarray(values).sum()) if isinstance(values, np.ma.MaskedArray) else 0
    if masked:
        raise InputError(
            f"{what} is a masked array with {masked} masked entries, expected none; fill them (values.filled(...)) or "
            "drop those rows."
        )


def refuse_kind(dtype: np.dtype[Any], what: str) -> None:
    if dtype.kind in REMEDIES:
        found, remedy = REMEDIES[dtype.kind]
        raise InputError(f"{what} has {found}, {remedy}.")


def is_whole(value: Any) -> bool:
    """Take neither True for a whole number nor numpy's span of time."""
    return isinstance(value, Integral) and not isinstance(value, FALSE_NUMBERS)


def check_count(value: Any, what: str, *, least: int = 1, most: int | None = None) -> int:
    if not is_whole(value) or value < least or (most is not None and value > most):
        bounds = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise refuse(what, value, f"a whole number {bounds}")
    return int(value)


def check_number(
    value: Any, what: str, expected: str = "a finite number", holds: Callable[[float], bool] = math.isfinite
) -> float:
    """Refuse True, and texts that read like numbers, too."""
    real = isinstance(value, Real) and not isinstance(value, FALSE_NUMBERS) and math.isfinite(value)
    return float(_held(real and holds(float(value)), value, what, expected))


def check_positive(value: Any, what: str, *, zero: bool = False) -> float:
    expected = f"a finite number {'of at least 0' if zero else 'above 0'}"
    return check_number(value, what, expected, lambda number: number > 0 or (zero and number == 0))


def check_share(value: Any, what: str, *, of: str = "", one: bool = False) -> float:
    """Take a share of at least 0, below 1 unless it may be ``one``."""
    expected = f"a share{of} between 0 and 1{'' if one else ', or 0'}"
    return check_number(value, what, expected, lambda number: 0 <= number < 1 or (one and number == 1))


def check_confidence(value: Any) -> float:
    return check_number(value, "confidence", "a number between 0 and 1, such as 0.95", lambda number: 0 < number < 1)


def check_flag(value: Any, what: str) -> bool:
    """Refuse what merely counts as True or False."""
    return bool(_held(isinstance(value, (bool, np.bool_)), value, what, "True or False"))


def check_seed(value: Any) -> int | None:
    known = value is None or (is_whole(value) and value >= 0)
    _held(known, value, "random_state", "a whole number of at least 0, or None")
    return None if value is None else int(value)


def check_progress(value: Any) -> Any:
    known = isinstance(value, (bool, np.bool_)) or (isinstance(value, str) and value == "auto")
    return _held(known, value, "progress", "True, False or 'auto'")


def check_text(value: Any, what: str, expected: str = "a text") -> str:
    """Refuse half of a pair of surrogates too: it is no character, and files cannot hold it."""
    whole = isinstance(value, str) and not any("\ud800" <= each <= "\udfff" for each in value)
    return str(_held(whole, value, what, expected))


def check_choice(value: T, what: str, known: Iterable[str]) -> T:
    names = tuple(known)
    listed = " or ".join(map(repr, names)) if len(names) == 2 else f"one of {', '.join(names)}"
    return _held(isinstance(value, str) and value in names, value, what, listed)


def check_instance(value: Any, kind: type[T], what: str, expected: str) -> T:
    known: T = _held(isinstance(value, kind), value, what, expected)
    return known


def check_mapping(value: Any, what: str, example: str) -> Mapping[str, Any]:
    named = isinstance(value, Mapping) and all(isinstance(key, str) for key in value)
    return _held(named, value, what, f"a mapping such as {example}")


def check_callable(value: T, what: str, expected: str) -> T:
    return _held(callable(value), value, what, expected)


def check_names(value: Any, what: str, expected: str = "a name or a list of names") -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    several = isinstance(value, Iterable) and not isinstance(value, (bytes, Mapping))
    names = tuple(value) if several else (None,)
    _held(all(isinstance(name, str) for name in names), value, what, expected)
    return names


def check_path(value: Any, what: str = "path", expected: str = "the name of a file or folder") -> Path:
    """Return the name of a file or folder, which may exist or not; the system tells when asked what no name can be."""
    given = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(given, str) or not given:
        raise refuse(what, value, expected)
    try:
        os.lstat(given)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        found = f"{spelled(what)} is {shown(given)}, which cannot be used ({why})"
        raise InputError(f"{found}, expected {expected}.") from error
    return Path(given)


def is_missing(value: Any) -> bool:
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA compares to NA, which has no truth value
        return True


def is_dask(value: Any) -> bool:
    """Look into mappings and lists too, without importing Dask."""
    if isinstance(value, Mapping):
        return any(is_dask(each) for each in value.values())
    if isinstance(value, (list, tuple)):
        return bool(value) and is_dask(value[0])
    return any(kind.__module__.partition(".")[0] in ("dask", "dask_expr") for kind in type(value).__mro__)


def pass_hint(what: str) -> str:
    return (
        f"pass them by keyword, fit(X, y, {what}=groups); through a Pipeline or a search, switch routing on with "
        "sklearn.set_config(enable_metadata_routing=True) and pass the same keyword to its fit."
    )


def check_favourable(favourable: Any, classes: Sequence[Any]) -> int:
    """Return the place of the favourable label among the classes, by default that of the second."""
    if favourable is None:
        return 1
    known = isinstance(favourable, Hashable) and not getattr(favourable, "ndim", 0) and favourable in classes
    if not known:
        labels = ", ".join(map(repr, classes[:20])) + (", ..." if len(classes) > 20 else "")
        raise refuse("favourable", favourable, f"one of the labels {labels}")
    return list(classes).index(favourable)
