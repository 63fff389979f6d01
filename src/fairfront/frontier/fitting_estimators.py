"""Running the search in weights: the bar, fits that fail in the middle, and the frontier so far."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from ..exceptions import FairfrontWarning, InputError
from ..objectives import Array
from ..problems import EstimatorProblem, Reading
from ..progress import progress_bar
from ..solvers import Weighting
from ..solvers.weighting import StopSearch, met, search
from ..validation import check_positive
from .assembling_estimators import assemble_estimators
from .frontier import Frontier


def trace_estimator(
    problem: EstimatorProblem, config: Weighting, lazy: bool = False, progress: bool | Literal["auto"] = "auto"
) -> Frontier:
    """Trace an estimator's frontier by weighted fits; every fit moves the bar, also those on all rows."""
    parts = len(problem.folds.pairs)
    final = 0 if lazy or problem.folds.same else 1
    done: list[int] = []
    with progress_bar(progress, "fitting", config.max_fits * (parts + final)) as bar:

        def on_fit() -> None:
            done.append(1)
            bar.update(len(done), f"{len(done)} fits of {type(problem.estimator).__name__}")

        fits = read_all(problem, config, None, on_fit)
        return assemble_estimators(problem, fits, config, lazy, on_fit)


def fit_capped(problem: EstimatorProblem, config: Weighting, cap: float) -> tuple[Any, Reading, int]:
    """Return the estimator whose held-out gaps are at most the cap, its reading and the number of weightings tried.

    Where the cap cannot be met, it is the one that comes nearest.
    """
    fits = read_all(problem, config, check_positive(cap, "the largest gap", zero=True))
    found = fits[met(fits, problem.driven, cap, config.tol)]
    model = found.model if found.model is not None else problem.refit(found.multipliers)
    return model, found, len(fits)


def read_all(
    problem: EstimatorProblem, config: Weighting, cap: float | None, on_fit: Callable[[], None] | None = None
) -> list[Reading]:
    """Run the search; a fit that fails ends it, and what was found so far is kept and the failure told."""

    def read(multipliers: Array) -> Reading:
        try:
            return problem.read(multipliers, on_fit)
        except InputError:
            raise
        except Exception as error:  # any learner, any error: the fits so far are worth keeping
            raise _stopped(problem, error, plain=not np.any(multipliers)) from error

    return search(problem, config, read, cap)


def _stopped(problem: EstimatorProblem, error: Exception, plain: bool) -> Exception:
    name, told = type(problem.estimator).__name__, f"{type(error).__name__}: {error}"
    if plain:
        return InputError(f"{name} could not be fitted with sample_weight ({told}).")
    warnings.warn(
        f"a weighted fit of {name} failed ({told}); the frontier ends with the fits before it.",
        FairfrontWarning,
        stacklevel=6,
    )
    return StopSearch(str(error))
