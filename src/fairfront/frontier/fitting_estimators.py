"""Running the search in weights: the bar, fits that fail in the middle, and the frontier so far."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from ..exceptions import FairfrontWarning, InputError
from ..objectives import Array
from ..objectives.small_counts import FEWEST
from ..problems import EstimatorProblem, PosteriorProblem, Reading, blas_threads
from ..problems.bounds import LEAST, check_time
from ..progress import progress_bar
from ..solvers import Weighting
from ..solvers.fingerprints import estimator_fingerprint
from ..solvers.resuming import Journal, open_journal
from ..solvers.weighting import StopSearch, met, search
from ..storage.checkpoints import Entry
from ..validation import check_positive
from .assembling_estimators import assemble_estimators
from .frontier import Frontier


@blas_threads()
def trace_estimator(
    problem: EstimatorProblem,
    config: Weighting,
    lazy: bool = False,
    progress: bool | Literal["auto"] = "auto",
    checkpoint: Any = None,
    resume: bool = False,
) -> Frontier:
    """Trace an estimator's frontier by weighted fits; every fit moves the bar, also those on all rows.

    A checkpoint keeps what fits were measured to be, not the models: those on all rows are fitted again.
    """
    if lazy and isinstance(problem, PosteriorProblem):
        raise InputError("lazy puts weighted fits off, found posteriors, which fit once; leave one of the two out.")
    fits_in_all = problem.fits(config.max_fits, lazy)
    check_time(LEAST * fits_in_all, 0.0, f"{fits_in_all:.3g} fits")
    done: list[int] = []
    with progress_bar(progress, "fitting", fits_in_all) as bar:

        def on_fit() -> None:
            done.append(1)
            bar.update(len(done), f"{len(done)} fits of {type(problem.estimator).__name__}")

        with open_journal(checkpoint, resume, lambda: estimator_fingerprint(problem, search=config)) as journal:
            fits = read_all(problem, config, None, on_fit, journal)
        return assemble_estimators(problem, fits, config, lazy, on_fit)


@blas_threads()
def fit_capped(problem: EstimatorProblem, config: Weighting, cap: float) -> tuple[Any, Reading, int]:
    """Return the estimator whose held-out gaps are at most the cap, its reading and the number of weightings tried.

    Where the cap cannot be met, it is the one that comes nearest.
    """
    fits = read_all(problem, config, check_positive(cap, "the largest gap", zero=True))
    found = fits[met(fits, problem.criterion.algebra, cap, config.tol)]
    model = found.model if found.model is not None else problem.refit(found.multipliers)
    return model, found, len(fits)


def read_all(
    problem: EstimatorProblem,
    config: Weighting,
    cap: float | None,
    on_fit: Callable[[], None] | None = None,
    journal: Journal | None = None,
) -> list[Reading]:
    """Run the search; a fit that fails ends it, and what was found so far is kept and the failure told."""
    kept = journal if journal is not None and _may_keep(problem, journal) else Journal()

    def read(multipliers: Array) -> Reading:
        known = kept.recall("fit", multipliers)
        try:
            found = problem.read(multipliers, on_fit) if known is None else _recalled(problem, known, on_fit)
        except InputError:
            raise
        except Exception as error:  # any learner, any error: the fits so far are worth keeping
            raise _stopped(problem, error, plain=not np.any(multipliers)) from error
        if known is None:
            arrays = {"gaps": found.gaps, "driven": found.driven}
            kept.note("fit", multipliers, arrays, loss=found.loss, heuristic=found.heuristic)
        return found

    return search(problem, config, read, cap)


def _recalled(problem: EstimatorProblem, known: Entry, on_fit: Callable[[], None] | None) -> Reading:
    """Return what a fit was measured to be; its model is fitted again when it is needed."""
    if on_fit is not None:
        for _ in range(problem.fits_per_reading):
            on_fit()
    numbers, arrays = known.numbers, known.arrays
    found = (float(numbers["loss"]), arrays["gaps"], arrays["driven"])
    return Reading(known.asked, *found, heuristic=bool(numbers["heuristic"]))


def _may_keep(problem: EstimatorProblem, journal: Journal) -> bool:
    """Tell whether gaps may be written: not where they are of so few people that counts could be read from them."""
    few = problem.smallest_held() < FEWEST
    if few and journal.keeps:
        warnings.warn(
            f"the checkpoint keeps no fits, because gaps are measured on a (group, label) cell of fewer than {FEWEST} "
            "held-out rows and would give them away; a resumed run fits again.",
            FairfrontWarning,
            stacklevel=5,
        )
    return not few


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
