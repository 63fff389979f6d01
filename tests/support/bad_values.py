"""Values that are bad for nearly everything, and the kinds of parameters that take some of them all the same.

Kinds go by the parameter's name: one word means one thing in the whole package, and a call says where it does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from typing import Any

import numpy as np
from scipy import sparse

from tests.support.extras import optional

pd = optional("pandas")

VALUES: dict[str, Any] = {
    "object": object(),
    "text": "nonsense",
    "empty text": "",
    "long text": "x" * 300,
    "NUL": "a\0b",
    "bytes": b"nonsense",
    "dict": {"nonsense": 1},
    "empty dict": {},
    "list": ["nonsense"],
    "empty list": [],
    "None": None,
    "True": True,
    "function": repr,
    "class": int,
    "NaN": math.nan,
    "infinity": math.inf,
    "minus one": -1,
    "zero": 0,
    "half": 0.5,
    "huge": 10**9,
    "far": 1e308,
    "complex": 1j,
    "date": datetime(2020, 1, 1),
    "date of numpy": np.datetime64("2020-01-01"),
    "span of numpy": np.timedelta64(3, "D"),
    "empty array": np.empty(0),
    "array of NaN": np.full(3, np.nan),
    "complex array": np.full(3, 1j),
    "cube": np.zeros((2, 2, 2)),
}
N = 240


@dataclass(frozen=True)
class Kind:
    """Which of VALUES a parameter takes, and what else is bad for it."""

    takes: frozenset[str] = frozenset()
    more: Mapping[str, Any] = field(default_factory=dict)

    def __or__(self, names: str) -> Kind:
        return replace(self, takes=self.takes | {names})

    def bad(self) -> Iterator[tuple[str, Any]]:
        """Return the values to be refused, by name."""
        yield from ((name, value) for name, value in VALUES.items() if name not in self.takes)
        yield from self.more.items()


def kind(*takes: str, **more: Any) -> Kind:
    return Kind(frozenset(takes), more)


def entries(of: Kind, wrap: Callable[[Any], Any], *takes: str, **more: Any) -> Kind:
    """Return the kind of a container, each of whose entries is of a kind."""
    inside = {f"with {name}": wrap(value) for name, value in of.bad()}
    return Kind(frozenset(takes), {**inside, **more})


@cache
def rows() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features, labels and groups of a small problem."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 2))
    group = np.where(rng.random(N) < 0.5, "a", "b")
    y = (X[:, 0] + 0.4 * (group == "a") + rng.normal(size=N) > 0).astype(int)
    return X, y, group


def _out_of_range() -> Any:
    found = sparse.csr_array(rows()[0])
    found.indices = found.indices.copy()
    found.indices[3] = 99
    return found


X, Y, GROUP = rows()
FRAME = pd.DataFrame({"age": X[:, 0], "debt": X[:, 1], "sex": GROUP, "paid": np.where(Y, "yes", "no")})
TWICE = pd.DataFrame(X, columns=["a", "a"])
SPOILT = X.copy()
SPOILT[3, 1] = np.nan

POSITIVE = kind("half", "huge", "far")
NOT_NEGATIVE = POSITIVE | "zero"
COUNT = kind("huge")
WHOLE = COUNT | "zero"
NUMBER = kind("half", "zero", "minus one", "huge", "far")
SHARE = kind("half")
FLAG = kind("True")
TEXT = kind("text", "empty text", "long text", "NUL")
NAME = kind()
SEED = WHOLE | "None"
ID = kind("zero")
CALLABLE = kind("function", "class")
ANY = kind(*VALUES)
MATRIX = kind(
    flat=X[:, 0],
    short=X[:-1],
    narrow=X[:, :0],
    nothing=X[:0],
    holes=SPOILT,
    infinite=np.where(np.isnan(SPOILT), np.inf, SPOILT),
    complexes=X * 1j,
    words=np.full(X.shape, "x"),
    objects=np.full(X.shape, object()),
    dates=np.full(X.shape, np.datetime64("2020-01-01")),
    spans=np.full(X.shape, np.timedelta64(3, "D")),
    masked=np.ma.masked_array(X, mask=np.isnan(SPOILT)),
    flat_sparse=sparse.coo_array(X[:, 0]),
    complex_sparse=sparse.csr_array(X * 1j),
    sparse_holes=sparse.csr_array(SPOILT),
    out_of_range=_out_of_range(),
    twice=TWICE,
    dates_frame=pd.DataFrame({"a": X[:, 0], "b": pd.to_datetime(["2020-01-01"] * N)}),
)
LABELS = kind(
    short=Y[:-1],
    wide=np.zeros((N, 2)),
    constant=np.zeros(N),
    holes=np.where(Y > 0, 1.0, np.nan),
    infinite=np.where(Y > 0, 1.0, np.inf),
    missing=np.where(Y > 0, "a", None),
    fractions=X[:, 0],
    complexes=Y * 1j,
    bytes_each=np.where(Y > 0, b"a", b"b"),
    tuples=[(1, 2) if one else (2, 1) for one in Y],
    dicts=[{1: 2}] * N,
    dates=np.where(Y > 0, np.datetime64("2020-01-01"), np.datetime64("2021-01-01")),
    masked=np.ma.masked_array(Y, mask=X[:, 0] > 1),
    masked_labels=np.ma.masked_array(np.where(Y > 0, "a", "b"), mask=X[:, 0] > 1),
    sparse=sparse.csr_array(Y[:, None]),
    ragged=[[1], [1, 2]] * (N // 2),
)
GROUPS = kind(
    short=GROUP[:-1],
    constant=np.full(N, "a"),
    missing=np.full(N, None),
    numbers=X[:, 0],
    complexes=np.where(Y > 0, 1j, 2j),
    bytes_each=np.where(Y > 0, b"a", b"b"),
    cubes=np.zeros((N, 2, 2)),
    dicts=[{1: 2}] * N,
    dates=np.where(Y > 0, np.datetime64("2020-01-01"), np.datetime64("2021-01-01")),
    masked=np.ma.masked_array(GROUP, mask=X[:, 0] > 1),
    sparse=sparse.csr_array(Y[:, None]),
    twice=pd.DataFrame(np.column_stack([GROUP, GROUP]), columns=["a", "a"]),
    ragged=[["a"], ["a", "b"]] * (N // 2),
)
WEIGHTS = kind(
    "None",
    short=np.ones(N - 1),
    wide=np.ones((N, 2)),
    none=np.zeros(N),
    negative=-np.ones(N),
    holes=np.where(Y > 0, 1.0, np.nan),
    infinite=np.where(Y > 0, 1.0, np.inf),
    complexes=np.ones(N) * 1j,
    words=np.full(N, "1x"),
    dates=np.full(N, np.datetime64("2020-01-01")),
    masked=np.ma.masked_array(np.ones(N), mask=X[:, 0] > 1),
)


GROUP_NAME = kind(
    *("None", "text", "empty text", "long text", "NUL", "dict", "empty dict", "True", "NaN", "infinity", "minus one"),
    *("zero", "half", "huge", "far", "date of numpy", "span of numpy"),
)
OPTIONS: dict[str, Kind] = {
    # data
    "X": MATRIX,
    "y": LABELS,
    "y_true": LABELS,
    "sensitive_features": GROUPS,
    "control_features": replace(
        GROUPS,
        takes=frozenset({"None"}),
        more={k: v for k, v in GROUPS.more.items() if k not in ("constant", "missing")},
    ),
    "sample_weight": WEIGHTS | "half" | "huge",
    "person": replace(LABELS, more={k: v for k, v in LABELS.more.items() if k not in ("fractions", "constant")})
    | "None",
    "signs": entries(NAME, lambda each: {0: each}, "None", twice={0: "+", "0": "+"}, far={9: "+"}),
    "held_out": FLAG | "None",
    "scores_or_labels": replace(LABELS, more={k: v for k, v in LABELS.more.items() if k != "fractions"}),
    "scores": replace(LABELS, more={k: v for k, v in LABELS.more.items() if k not in ("fractions", "constant")}),
    "data": kind(),
    # what is asked
    "favourable": kind("None", "True", "zero"),
    "notion": entries(NAME | "empty list", lambda each: ["group_loss", each]),
    "surrogate": NAME,
    "units": NAME,
    "loss": NAME,
    "gap": NAME,
    "path": NAME,
    "strata": NAME,
    "compare": NAME,
    "task": NAME | "None",
    "criterion": NAME,
    "groups": kind("None"),
    "favourable_side": NAME | "None",
    # numbers
    "ridge": NOT_NEGATIVE | "None",
    "tol": NOT_NEGATIVE,
    "max_iter": WHOLE,
    "restarts": WHOLE,
    "overshoot": NOT_NEGATIVE,
    "no_group_worse": NOT_NEGATIVE | "None",
    "slide": POSITIVE,
    "line_tol": NOT_NEGATIVE,
    "band": NOT_NEGATIVE,
    "start_scale": POSITIVE,
    "T": WHOLE,
    "K": WHOLE,
    "eta": POSITIVE,
    "rho": POSITIVE | "None",
    "epsilon_1": NOT_NEGATIVE,
    "epsilon_2": NOT_NEGATIVE,
    "n_points": kind("None"),
    "max_fits": kind("huge"),
    "min_size": COUNT,
    "max_loss_gap": NOT_NEGATIVE | "None",
    "max_rate_gap": NOT_NEGATIVE | "None",
    "max_gap": NOT_NEGATIVE | "None",
    "cutoff": kind("None", "half", "zero", "minus one", "huge", "far"),
    "approval_rate": SHARE | "zero" | "None",
    "confidence": SHARE,
    "n_resamples": kind(),
    "validation_fraction": SHARE | "zero",
    "n_jobs": kind("None", "minus one", "huge"),
    "small": kind("zero"),
    "hide_below": kind("zero", "huge"),
    "n": kind(),
    "width": POSITIVE,
    "power": kind(),
    "floor": kind("half", "zero", "huge", "far", "minus one"),
    # names, flags, seeds
    "random_state": SEED,
    "seed": WHOLE,
    "fit_intercept": FLAG,
    "cross": FLAG,
    "polish": FLAG,
    "visited": FLAG,
    "warm_alpha": FLAG,
    "negative": FLAG,
    "overwrite": FLAG,
    "simultaneous": FLAG,
    "keep_equal": FLAG,
    "use_sensitive": FLAG,
    "bands": FLAG,
    "allow_group_at_prediction": FLAG,
    "progress": FLAG,
    "knee": FLAG,
    "inner": NAME,
    "gradients": NAME,
    "balance": NAME,
    "name": TEXT,
    "reason": TEXT,
    "by": TEXT,
    "title": TEXT | "None",
    "command": NAME | "None",
    "python": NAME,
    "on": NAME | "None",
    "like": NAME | "None",
    "backend": NAME,
    "attribute": NAME | "None",
    "requirement": NAME,
    "id": ID,
    "chosen": ID | "None",
    "before": ID,
    "after": ID,
    "rate": NAME,
    # places
    "memory": kind("None", "text"),
    # things
    "solver": NAME,
    "estimator": kind("None"),
    "fit_params": kind("None", "empty dict"),
    "about": kind("None", "empty dict"),
    "cv": kind("None", "half"),
    "choose": entries(NAME, lambda each: {"least": each}, "None"),
    "reference": GROUP_NAME,
    "preferences": entries(POSITIVE, lambda each: [1.0, each], "None"),
    "preference": entries(POSITIVE, lambda each: [1.0, each], "None"),
    "alpha0": entries(NOT_NEGATIVE, lambda each: [0.5, each], "None"),
    "costs": entries(NOT_NEGATIVE, lambda each: {"false_positive": each, "false_negative": 1.0}, "None"),
    "at_most": entries(NOT_NEGATIVE, lambda each: {"tpr_gap": each}, "None"),
    "at_least": entries(NUMBER, lambda each: {"selection_ratio": each}, "None"),
    "within": entries(NOT_NEGATIVE, lambda each: {"error": each}, "None"),
    "least": NAME | "None",
    "most": NAME | "None",
    "jac": CALLABLE | "None",
    "start": kind("None"),
    "bias": SHARE | "zero",
    "on_iterate": CALLABLE | "None",
    "ax": kind("None"),
    "details": kind("None"),
    "baselines": entries(kind(), lambda each: {"mine": each}, "None", "empty dict"),
    "trusted": kind("empty list", "list"),
    "levels": entries(TEXT, lambda each: ["p", each], "None"),
    "frame": kind(),
}
PLACE = kind("text", folder=".")
ROWS = entries(kind("zero", "minus one"), lambda each: [0, each], "empty list", "empty array")
COLUMNS = entries(kind(), lambda each: ["income", each], "empty list", "empty dict", "empty array")
BOUNDS = entries(kind("None", "huge", "far", "half", "infinity"), lambda each: [(0.0, each), (0.0, 1.0)], "None")
TARGETS = replace(LABELS, more={k: v for k, v in LABELS.more.items() if k not in ("fractions", "constant")})
