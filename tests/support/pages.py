"""Pages of the explorer: a frontier to draw, and what a page holds."""

from __future__ import annotations

import base64
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import fairfront as ff

HOSTILE = '</script><img src=x onerror="window.hacked=1">\u2028\u202e&amp;'


@cache
def loans(second: str = "B") -> tuple[ff.Frontier, Any, Any, Any]:
    """Return a frontier on two groups, evaluated, and its validation rows."""
    data = ff.datasets.load_loans(n=3000, seed=1)
    keep = data.columns["group"] != "C"
    X, _ = data.matrix("one_hot")
    X, y, group = X[keep], data.y[keep], data.columns["group"][keep]
    group = np.array([second if g == "B" else "A" for g in group], dtype=object)
    train, rest = np.arange(1500), np.arange(1500, len(y))
    front = ff.trace(
        X[train], y[train], sensitive_features={"group": group[train]}, favourable="repaid", n_points=10
    ).evaluate(X[rest], y[rest], sensitive_features={"group": group[rest]})
    return front, X[rest], y[rest], {"group": group[rest]}


def record_of(path: Path) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', path.read_text(), re.DOTALL)
    assert found
    return dict(json.loads(found[1]))


def unpacked(packed: dict[str, str]) -> np.ndarray:
    ((kind, text),) = packed.items()
    return np.frombuffer(base64.b64decode(text), dtype=f"<{kind}")
