"""Frontiers in rates: error or cost against gaps of decisions, by rules that are optimal for posteriors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

import numpy as np

from ..exceptions import InputError, progress_bar, setting, spelled
from ..measures.cutoffs import Operating
from ..objectives import Array
from ..problems import RateProblem, Reading, one_blas_thread, rate_problem
from ..problems.weighted_fits import check_jobs
from ..solvers import Status
from ..solvers.rule_path import Rule, rule_path
from ..validation import MOST_POINTS, check_count, refuse
from .frontier import Frontier
from .held_out import Judge
from .points import Facts, Points, multipliers_of
from .rule_models import RuleModels

GUESSED = (
    "The models guess the group from the features and weigh the guess, so whoever has one can guess groups with it."
)
UNIT = "rate gap"
USED_FOR = "a guess of the group inside the model and evaluation; predictions do not need it"


@dataclass(frozen=True)
class Rates:
    """Settings of ``units="rates"``: where decisions are made, and on which rows they are measured.

    Parameters
    ----------
    cutoff : float, optional
        Decide favourably from this probability on where no gap is lowered, instead of 0.5: costs of ``cutoff`` for a
        false positive and 1 - ``cutoff`` for a false negative.
    approval_rate : float, optional
        Share of rows to be decided favourably, the same for every rule.
    costs : mapping, optional
        Costs of a ``false_positive`` and a ``false_negative``, whose mean is lowered instead of the error.
    cv : "auto", int, float, splitter, pairs of rows or "train"
        Rows that posteriors are scaled and rules measured on, as in `Weighting`; "auto": 3 folds.
    n_jobs : number of processes of joblib, optional
    """

    cutoff: float | None = None
    approval_rate: float | None = None
    costs: Mapping[str, float] | None = None
    cv: Any = field(default="auto", repr=False)
    n_jobs: int | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        check_jobs(self.n_jobs)
        self.operating.check()
        if self.cutoff is not None and not 0.0 < self.cutoff < 1.0:
            raise InputError(f"cutoff is {self.cutoff:g}, expected a probability between 0 and 1.")

    def __repr__(self) -> str:
        given = {each.name: getattr(self, each.name) for each in fields(self) if each.repr}
        return f"Rates({', '.join(f'{name}={value!r}' for name, value in given.items() if value is not None)})"

    @property
    def operating(self) -> Operating:
        return Operating(self.cutoff, self.approval_rate, self.costs)

    @property
    def loss(self) -> str:
        return "error" if self.costs is None and self.cutoff is None else "cost"

    @property
    def words(self) -> str:
        """Say where the rules decide."""
        asked = self.operating
        return "mistakes of both kinds cost the same" if asked.asked is None else asked.words

    def problem(self, X: Any, y: Any, **known: Any) -> RateProblem:
        """Return the problem of these rows.

        Parameters
        ----------
        X, y : rows and labels, as `fairfront.trace` takes them
        **known : the other parameters of `rate_problem`
        """
        costs = self.operating.check().costs
        if self.cutoff is not None:
            costs = {"false_positive": self.cutoff, "false_negative": 1.0 - self.cutoff}
        pair = None if costs is None else (costs["false_positive"], costs["false_negative"])
        asked: dict[str, Any] = {"costs": pair, "approval_rate": self.approval_rate}
        return rate_problem(X, y, cv=self.cv, n_jobs=self.n_jobs, **asked, **known)


def as_rates(units: Any) -> Rates | None:
    """Return the settings that ``units`` asks for, None for losses."""
    if isinstance(units, Rates):
        return units
    if not isinstance(units, str) or units not in ("losses", "rates"):
        raise refuse("units", units, "'losses', 'rates' or a Rates with other settings")
    return Rates() if units == "rates" else None


IDLE = {
    **{"surrogate": "loss", "solver": "newton"},
    **dict.fromkeys(("preferences", "preference", "max_loss_gap")),
}
"""What only a frontier in losses has, and what each of them is where nobody asked for it."""


def refuse_losses(given: Mapping[str, Any], estimator: Any) -> None:
    """Refuse in a sentence what units='rates' does not read."""
    for name, usual in IDLE.items():
        value = given.get(name, usual)
        if not (value is usual or (isinstance(value, str) and value == usual)):
            raise InputError(
                f"{spelled(name)} is for {setting('units', 'losses')}, found {setting('units', 'rates')}, whose rules "
                "lower gaps of decisions; leave one of the two out."
            )
    if estimator is not None and given.get("ridge") is not None:
        raise InputError(f"{spelled('ridge')} is for logistic posteriors, found an estimator; set its own penalty.")


@one_blas_thread()
def trace_rates(
    problem: RateProblem,
    rates: Rates,
    n_points: int | None = None,
    progress: bool | Literal["auto"] = "auto",
    judge: Judge | None = None,
) -> Frontier:
    """Trace the frontier of rules on posteriors; ``judge`` adds what they decide about rows left out."""
    if n_points is not None:
        check_count(n_points, "n_points", least=2, most=MOST_POINTS)
    done: list[int] = []
    with progress_bar(progress, "fitting", problem.fits) as bar:

        def on_fit() -> None:
            done.append(1)
            bar.update(len(done), f"{len(done)} fits")

        found = problem.rules(on_fit)
        none = np.zeros(len(found.offset))
        plain = found.gaps(found.measured(found.decide(found.weights(none))))
        sizes, of = np.where(found.two_sided, np.abs(plain), np.maximum(plain, 0.0)), found.asked.notion_of
        path = rule_path(found, np.array([sizes[of == notion].max() for notion in of]), n_points)
        readings = [problem.reading(found, rule.multipliers, rule.weights, judge is not None) for rule in path]
        kept = _kept(readings)
        front = _assemble(problem, rates, [path[i] for i in kept], [readings[i] for i in kept])
        return front if judge is None else judge(front, [readings[i] for i in kept])


def _kept(readings: list[Reading]) -> list[int]:
    """Return the places of rules that decide otherwise than the one before, by what is measured of them."""
    found = [0]
    for place, each in enumerate(readings):
        last = readings[found[-1]]
        if place and (each.loss != last.loss or not np.array_equal(each.gaps, last.gaps)):
            found.append(place)
    return found


def _assemble(problem: RateProblem, rates: Rates, path: list[Rule], readings: list[Reading]) -> Frontier:
    objectives, rules = problem.objectives, problem.rules()
    algebra, task = objectives.algebra, objectives.task
    decided = [rules.decide(rule.weights) for rule in path]
    tables = [rules.measured(each) for each in decided]
    z = np.stack([rules.gaps(table) for table in tables])
    loss, found = np.array([each.loss for each in readings]), np.stack([each.multipliers for each in readings])
    points = Points.of_gaps(algebra, loss, z, Status.POSTERIOR, **multipliers_of(algebra, found))
    points = replace(points, objective_names=(rates.loss, *algebra.names[1:]))
    expected = np.stack([rules.rates(rules.expected(each)) for each in decided])
    measured = np.stack([rules.rates(table) for table in tables])
    models = RuleModels(
        problem.learn()[0],
        np.stack([rule.weights for rule in path]),
        expected,
        measured,
        np.array([rule.duality_gap for rule in path]),
        algebra.mean_names,
        task,
        rates.loss,
        *problem.columns,
    )
    return Frontier(models, points, _facts(problem, rates, expected - measured, float(models.duality_gap.max())))


def _facts(problem: RateProblem, rates: Rates, off: Array, duality_gap: float) -> Facts:
    base, parts = Facts.of(problem.objectives, rates), len(problem.folds.pairs)
    held = "one held-out part of the rows" if parts == 1 else f"cross-fitted predictions, {parts} folds"
    measured = "training rows" if problem.folds.same else held
    worst = int(np.abs(off).max(axis=0).argmax())
    said = (
        f"Rules on posteriors of {type(problem.estimator).__name__}; {rates.loss}s and gaps are those of {measured}.",
        f"Optimal for these posteriors (duality gap at most {duality_gap:.1e}), which may be wrong: expected and "
        f"measured rates differ by up to {np.abs(off).max():.3f} ({problem.objectives.algebra.mean_names[worst]}).",
        GUESSED,
    )
    return replace(
        base,
        sentences=(*base.sentences, *said),
        loss=rates.loss,
        unit=UNIT,
        rule=f"Operating point: {rates.words}, inside the rules.",
        inside={name: getattr(rates.operating.check(), name) for name in ("cutoff", "approval_rate", "costs")},
        used_for=USED_FOR,
        measured_on=measured,
    )


def fit_rates(problem: RateProblem, rates: Rates, cap: float) -> tuple[Any, Frontier, int]:
    """Return the rule of least error whose measured gaps are at most the cap (else of the smallest), and its place."""
    front = trace_rates(problem, rates, progress=False)
    worst = front.gaps.max(axis=1)
    allowed = worst <= max(cap, float(worst.min()))
    place = int(np.argmin(np.where(allowed, front.loss, np.inf)))
    return front.models.build(place), front, place
