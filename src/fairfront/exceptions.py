"""Errors and warnings that users see, how they name parameters, and the one way to ask for an optional part."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType, ModuleType

_SPELLING: ContextVar[Mapping[str, str]] = ContextVar("spelling", default=MappingProxyType({}))


@contextmanager
def spelling(words: Mapping[str, str]) -> Iterator[None]:
    """Name parameters in other words inside; where two callers have words for one, those of the outer one hold."""
    token = _SPELLING.set({**words, **_SPELLING.get()})
    try:
        yield
    finally:
        _SPELLING.reset(token)


def spelled(name: str, python: str | None = None) -> str:
    """Return a parameter as the caller writes it; ``python`` is what is said in Python where that is not its name."""
    return _SPELLING.get().get(name, name if python is None else python)


class FairfrontError(Exception):
    """Base of all errors raised by fairfront."""


class InputError(FairfrontError, ValueError):
    """Input that cannot be used: the message says what, expected, found and remedy, on one line."""

    def __init__(self, message: object = "") -> None:
        super().__init__(" ".join(line.strip() for line in str(message).splitlines()))


class ChangedError(InputError):
    """A stored file that is not as fairfront wrote it: edited, damaged or missing."""


class UnboundedError(FairfrontError, ArithmeticError):
    """Objectives that fall without bound, so that no efficient point exists."""


class MissingExtraError(FairfrontError, ImportError):
    """An optional part was asked for and its extra is not installed."""


class FairfrontWarning(UserWarning):
    """Base of all warnings given by fairfront."""


class GroupWarning(FairfrontWarning):
    """A group is too small, missing or unseen, and was left out of the gaps."""


class ProxyWarning(GroupWarning):
    """Groups are given as probabilities, and gaps between them are not gaps between people."""


def require(module: str, extra: str, purpose: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"{purpose} needs the package {module.split('.')[0]}, which is not installed; "
            f'install it with: pip install "fairfront[{extra}]"'
        ) from error
