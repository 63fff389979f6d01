"""Models that are rules of decisions: N weightings of one set of posteriors, and their files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from ..exceptions import InputError
from ..objectives import Array, Task
from ..problems.guesses import Guess, Posteriors, Scaling, logistic_model
from ..problems.posteriors import RuleClassifier, rule_scores
from ..problems.threads import one_blas_thread
from .estimator_models import read_estimators, write_estimators
from .models import Models, Places, Stored, read_known

PLAIN, FOREIGN, NONE = "logistic", "skops", "none"
"""How a guess is kept: as coefficients, as a user's estimator, or not at all where one class is sure."""


@dataclass(frozen=True, eq=False, repr=False)
class RuleModels(Models):
    """N rules (N, pairs, K) on one set of posteriors, and how far these were off on rows left out.

    ``expected`` and ``measured`` (N, a) are the rates of every group that is compared, named by ``rate_names``;
    ``duality_gap`` (N,) is how much smaller the expected loss of any other rule within the caps can be.
    """

    posteriors: Posteriors
    rules: Array
    expected: Array
    measured: Array
    duality_gap: Array
    rate_names: tuple[str, ...]
    task: Task
    loss: str
    feature_names: tuple[str, ...] | None = None
    n_features: int | None = None

    def __len__(self) -> int:
        return len(self.rules)

    def take(self, places: Places) -> RuleModels:
        rows = np.asarray(places, dtype=np.intp)
        some = {name: getattr(self, name)[rows] for name in ("rules", "expected", "measured", "duality_gap")}
        return replace(self, **some)

    def build(self, place: int) -> RuleClassifier:
        return RuleClassifier(self.posteriors, self.rules[place], self.task.classes)

    @one_blas_thread()
    def scores(self, X: Any) -> Array:
        pairs = self.posteriors.pairs(X)
        return np.stack([rule_scores(pairs, W) for W in self.rules])

    def probabilities(self, X: Any) -> Array:
        """Return P(label | x), (n, K), which all rules share and none decides by alone."""
        return self.posteriors.labels(self.posteriors.pairs(X))

    @property
    def probable(self) -> NDArray[np.bool_]:
        """Cut-offs are on the score of the rule."""
        return np.zeros(len(self), dtype=bool)

    @property
    def guesses(self) -> tuple[Guess, ...]:
        return self.posteriors.guesses

    def write(self, folder: Path) -> Stored:
        """Every classifier once: logistic regressions as coefficients, others as files of skops."""
        names = ("rules", "expected", "measured", "duality_gap")
        arrays: dict[str, NDArray[Any]] = {name: getattr(self, name) for name in names}
        scaling, kinds, foreign = self.posteriors.scaling, [], []
        arrays |= {"slope": scaling.slope, "bias": scaling.bias}
        for i, guess in enumerate(self.guesses):
            kind = NONE if guess.model is None else PLAIN if type(guess.model) is LogisticRegression else FOREIGN
            kinds.append(kind)
            arrays |= {f"seen_{i}": guess.seen, f"slope_{i}": guess.scaling.slope, f"bias_{i}": guess.scaling.bias}
            if kind == PLAIN:
                arrays |= {f"coef_{i}": guess.model.coef_, f"intercept_{i}": guess.model.intercept_}
            elif kind == FOREIGN:
                foreign.append(guess.model)
        named = any(hasattr(guess.model, "feature_names_in_") for guess in self.guesses)
        content = {**self._content("rate_names"), "guesses": kinds, "named": named}
        return Stored(content, arrays, write_estimators(foreign, folder))

    @classmethod
    def read(cls, stored: Stored, folder: Path, trusted: Sequence[str]) -> RuleModels:
        known, arrays = read_known(stored.content), stored.arrays
        foreign = iter(read_estimators(stored.files, folder, trusted))
        guesses, names = [], known["feature_names"] if known.pop("named") else None
        for i, kind in enumerate(known.pop("guesses")):
            model = next(foreign) if kind == FOREIGN else None
            if kind == PLAIN:
                model = logistic_model(arrays[f"coef_{i}"], arrays[f"intercept_{i}"], names)
            scaling = Scaling(arrays[f"slope_{i}"], arrays[f"bias_{i}"])
            guesses.append(Guess(model, arrays[f"seen_{i}"], scaling))
        posteriors = Posteriors(guesses[0], tuple(guesses[1:]), Scaling(arrays["slope"], arrays["bias"]))
        known |= {name: arrays[name] for name in ("rules", "expected", "measured", "duality_gap")}
        found = cls(posteriors, **{**known, "rate_names": tuple(known["rate_names"])})
        pairs, K = sum(posteriors.sizes), len(found.task.classes)
        if found.rules.shape[1:] != (pairs, K) or not np.isfinite(found.rules).all():
            raise InputError(
                f"rules have the shape {found.rules.shape}, expected (N, {pairs}, {K}) finite numbers; save it again."
            )
        return found
