"""What users call is documented in full: every parameter of every public function, class and method has its entry."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import fairfront as ff
from fairfront import datasets, objectives, pareto, solvers
from tests.support.extras import optional

ROOMS = (ff, datasets, pareto, optional("fairfront.torch"))
CONTRACTS = (objectives.Loss, objectives.Notion, objectives.Gap, solvers.Solver)  # of those who add one of their own


def entries(text: str) -> set[str]:
    """Return the names that have an entry in blocks of parameters or attributes, as numpydoc writes them."""
    found = re.findall(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: :.*)?$", text, re.MULTILINE)
    return {name.lstrip("*") for each in found for name in each.split(", ")}


def methods(kind: type) -> Iterator[tuple[str, Any]]:
    parts = {"Frontier": kind.__mro__[:-1]}.get(kind.__name__, (kind,))  # it is written in several files
    for name, value in ((name, value) for part in parts for name, value in vars(part).items()):
        function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        if not name.startswith("_") and inspect.isfunction(function):
            yield name, function


def public() -> dict[str, tuple[Callable[..., Any], str]]:
    """Return every public callable with what is written about it, and about a method in the bases."""
    found = {}
    named = [(name, getattr(room, name)) for room in ROOMS for name in getattr(room, "__all__", ())]
    for name, value in (*named, *((kind.__name__, kind) for kind in CONTRACTS)):
        if not callable(value) or (isinstance(value, type) and issubclass(value, Exception | ff.Status)):
            continue
        found[f"{value.__module__}.{name}"] = value, inspect.getdoc(value) or ""
        for method, function in methods(value) if isinstance(value, type) else ():
            texts = [inspect.getdoc(vars(kind)[method]) or "" for kind in value.__mro__ if method in vars(kind)]
            found[f"{value.__module__}.{name}.{method}"] = function, "\n".join(texts)
    return found


PUBLIC = public()


@pytest.mark.parametrize("name", PUBLIC)
def test_every_parameter_has_its_entry(name: str) -> None:
    function, text = PUBLIC[name]
    assert text, "no docstring"
    missing = [each for each in inspect.signature(function).parameters if each not in {"self", "cls"} | entries(text)]
    assert not missing, f"parameters without an entry: {', '.join(missing)}"
