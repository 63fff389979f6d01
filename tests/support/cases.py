"""Small data sets of every task, problems on them, and plain numpy to check them by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy import sparse

from fairfront.objectives import GAPS, LOSSES, NOTIONS, GroupProbabilities, Groups, Objectives, Question, Task
from fairfront.objectives.groups import Copies
from fairfront.objectives.layout import build
from fairfront.problems import LinearProblem
from fairfront.problems.pieces import Piece

TASKS = {
    "binary": Task("binary", (0, 1), 1),
    "multiclass": Task("multiclass", ("a", "b", "c"), 1),
    "regression": Task("regression"),
}
LOSS_OF = {"binary": "logistic", "multiclass": "softmax", "regression": "squared"}
MARGIN_LOSSES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "logistic": lambda u: np.logaddexp(0.0, -u),
    "hinge": lambda u: np.maximum(0.0, 1.0 - u),
    "squared_hinge": lambda u: np.maximum(0.0, 1.0 - u) ** 2,
}
CASES: dict[str, dict[str, Any]] = {
    "two groups": {},
    "no intercept": {"intercept": False, "loss": "squared_hinge"},
    "five groups": {"sensitive": ("race",), "notions": ("equalized_odds",)},
    "missing groups": {
        "sensitive": ("region",),
        "notions": ("predictive_equality", "disparate_mistreatment"),
    },
    "several attributes": {"sensitive": ("sex", "race", "region")},
    "several notions": {"notions": ("equal_opportunity", "demographic_parity", "group_loss")},
    "weights": {"sensitive": ("sex", "race"), "notions": ("demographic_parity",), "weighted": True},
    "rates": {
        "notions": ("equalized_odds", "disparate_mistreatment", "demographic_parity"),
        "surrogate": "rate",
    },
    "classes": {
        "kind": "multiclass",
        "notions": ("equal_opportunity", "demographic_parity", "predictive_equality"),
    },
    "class rates": {
        "kind": "multiclass",
        "notions": ("equalized_odds", "disparate_mistreatment", "demographic_parity", "predictive_equality"),
        "surrogate": "rate",
        "weighted": True,
    },
    "regression": {
        "kind": "regression",
        "sensitive": ("race",),
        "notions": ("disparate_mistreatment", "demographic_parity", "group_loss"),
    },
    "probabilities": {"soft": True, "notions": ("equalized_odds", "demographic_parity"), "weighted": True},
    "class probabilities": {"soft": True, "kind": "multiclass", "notions": ("equal_opportunity",)},
}


def draw(kind: str = "binary", n: int = 260, d: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray, dict]:
    """Return features, labels (codes, or values) and sensitive columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    latent = X[:, 0] - 0.5 * X[:, 1] + rng.normal(size=n)
    y = {
        "binary": (latent > 0).astype(int),
        "multiclass": np.digitize(latent, [-0.6, 0.6]),
        "regression": latent,
    }
    columns = {
        "sex": rng.choice(np.array(["Female", "Male"], dtype=object), n, p=[0.35, 0.65]),
        "race": rng.choice(np.array(list("abcde"), dtype=object), n, p=[0.2, 0.35, 0.15, 0.15, 0.15]),
        "region": rng.choice(np.array(["north", "south", None], dtype=object), n, p=[0.5, 0.3, 0.2]),
    }
    return X, y[kind], columns


def assemble(
    X: Any,
    y: np.ndarray,
    sensitive: Any,
    kind: str = "binary",
    notions: tuple[Any, ...] = ("equal_opportunity",),
    loss: Any = None,
    surrogate: str = "loss",
    gap: Any = "squared",
    ridge: float = 0.1,
    weight: np.ndarray | None = None,
    intercept: bool = True,
    groups: Groups | None = None,
) -> LinearProblem:
    """Build a linear problem from parts that are named or given."""
    task = TASKS[kind]
    loss = LOSSES[loss or LOSS_OF[kind]]() if loss is None or isinstance(loss, str) else loss
    gap = GAPS[gap]() if isinstance(gap, str) else gap
    chosen = tuple(NOTIONS[notion]() if isinstance(notion, str) else notion for notion in notions)
    labels = np.zeros(len(y), dtype=np.intp) if kind == "regression" else y.astype(np.intp)
    attributes = (groups or Groups(min_size=1)).resolve(sensitive, len(y))
    question, copy_of = Question(chosen, surrogate, loss, gap, ridge, intercept), None
    if attributes[0].is_proxy:
        copies = Copies.of(attributes[0])
        copy_of, attributes = copies.row, (copies.attribute,)
        rows = sparse.csr_array(X) if sparse.issparse(X) else X
        X, y, labels = rows[copy_of], y[copy_of], labels[copy_of]
        weight = copies.probability * (1.0 if weight is None else weight[copy_of])
    layout, algebra = build(question, task, labels, attributes, weight)
    objectives = Objectives(question, task, attributes, layout, algebra, task.targets(y), copy_of)
    return LinearProblem(Piece.of(X, objectives), objectives)


@dataclass(frozen=True)
class Case:
    """A problem with the data it was made of, and per-sample values written out in plain numpy."""

    problem: LinearProblem
    kind: str
    loss: str
    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    columns: dict[str, np.ndarray]
    member: np.ndarray | None
    notions: tuple[str, ...]
    surrogate: str

    def weights(self, runs: int, seed: int = 1) -> np.ndarray:
        """Return random W (runs, K, d)."""
        return np.random.default_rng(seed).normal(size=(runs, self.problem.K, self.problem.d))

    def sample(self, quantity: str, label: int | None, W: np.ndarray) -> np.ndarray:
        """Return a measure of every row at weights (K, d)."""
        S = W[:, : self.X.shape[1]] @ self.X.T + (W[:, -1:] if self.problem.fit_intercept else 0.0)
        if self.kind == "regression":
            return S[0] if quantity in ("score", "prediction") else 0.5 * (S[0] - self.y) ** 2
        target = self.y if label is None else np.full(len(self.y), label)
        if self.kind == "multiclass":
            P = np.exp(S) / np.exp(S).sum(axis=0)
            own = P[target, np.arange(len(target))]
            value = own if quantity == "rate" else -np.log(own)
        else:
            u = (2 * target - 1) * S[0]
            value = 1.0 / (1.0 + np.exp(-u)) if quantity == "rate" else MARGIN_LOSSES[self.loss](u)
        return 1.0 - value if quantity == "rate" and label is None else value


@cache
def case_of(name: str) -> Case:
    """Build one of CASES."""
    spec = dict(CASES[name])
    kind, sensitive = spec.pop("kind", "binary"), spec.pop("sensitive", ("sex",))
    weighted, soft = spec.pop("weighted", False), spec.pop("soft", False)
    X, y, columns = draw(kind)
    rng = np.random.default_rng(5)
    weight = rng.uniform(0.2, 3.0, len(y)) if weighted else None
    member = rng.dirichlet([1.0, 2.0, 1.0], len(y)) if soft else None
    columns = {name: columns[name] for name in sensitive}
    given = columns if member is None else GroupProbabilities(member, levels=["p", "q", "r"])
    problem = assemble(X, y, given, kind, weight=weight, **spec)
    known = np.ones(len(y)) if weight is None else weight
    notions, surrogate = spec.get("notions", ("equal_opportunity",)), spec.get("surrogate", "loss")
    return Case(problem, kind, problem.loss.name, X, y, known, columns, member, notions, surrogate)


def central(f: Callable[[np.ndarray], np.ndarray], x: np.ndarray, step: float = 1e-5) -> np.ndarray:
    """Return the derivative of f at x by central differences: the shape of f(x), then the size of x."""
    columns = []
    for index in range(x.size):
        shift = np.zeros(x.size)
        shift[index] = step
        shift = shift.reshape(x.shape)
        columns.append((np.asarray(f(x + shift)) - np.asarray(f(x - shift))) / (2.0 * step))
    return np.stack(columns, axis=-1)
