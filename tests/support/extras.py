"""Packages that need not be installed: where one is missing, the tests that call it are skipped, and no others."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any, NoReturn

import pytest


@dataclass(frozen=True)
class Missing:
    """A package that is not installed, or something in it."""

    name: str

    def __getattr__(self, attribute: str) -> Missing:
        if attribute.startswith("_"):
            raise AttributeError(attribute)
        return Missing(f"{self.name}.{attribute}")

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        pytest.skip(f"{self.name} is not installed", allow_module_level=True)


def need(*names: str) -> None:
    """Skip a test whose commands use packages that are not installed."""
    for name in names:
        pytest.importorskip(name, reason=f"{name} is not installed")


def optional(name: str) -> Any:
    """Return a module, or what stands in for it where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return Missing(name)
