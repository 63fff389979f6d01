"""Entry functions: trace a frontier, of a linear model, of any learner, or of rules on posteriors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from .exceptions import InputError, progress_bar
from .frontier import Frontier, assemble
from .frontier.estimator_frontier import trace_estimator
from .frontier.held_out import HELD_OUT, ROUGH, HeldOut, readings_judge, refuse_operating
from .frontier.rate_frontier import Rates, as_rates, refuse_losses, trace_rates
from .frontier.source import Source
from .objectives import Gap, Groups, Loss, Notion, Within, warn_of_proxies
from .objectives.comparisons import Surrogate
from .problems import LinearProblem, linear_problem, one_blas_thread
from .problems.point import decomposable
from .problems.signs import as_signs
from .solvers import Newton, Solver, Weighting, as_solver
from .solvers.base import Request
from .solvers.newton import trace_newton
from .solvers.search import as_search, refuse_linear
from .solvers.trajectory import Trajectory
from .validation import check_flag, check_progress, check_seed


def trace(
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    control_features: Any = None,
    favourable: Any = None,
    notion: str | Notion | tuple[str | Notion, ...] | list[str | Notion] = "equal_opportunity",
    surrogate: Surrogate = "loss",
    loss: str | Loss = "logistic",
    gap: str | Gap = "squared",
    solver: str | Solver = "newton",
    preferences: Any = None,
    n_points: int | None = None,
    ridge: float | None = None,
    fit_intercept: bool = True,
    sample_weight: Any = None,
    signs: Mapping[str | int, str] | None = None,
    groups: Groups | None = None,
    estimator: Any = None,
    units: Literal["losses", "rates"] | Rates = "losses",
    random_state: int | None = None,
    held_out: bool | Mapping[str, Any] | None = None,
    person: Any = None,
    progress: bool | Literal["auto"] = "auto",
) -> Frontier:
    """Trace the frontier between loss and worst gap.

    Parameters
    ----------
    X : array, data frame or sparse matrix of shape (n, d)
        Features; leave sensitive columns out unless you mean to use them at prediction time.
    y : array of shape (n,) of labels of any kind, or of numbers for a regression's loss, such as ``loss="squared"``
    sensitive_features : array, series, frame, mapping or GroupProbabilities
        The group of every row; several columns are taken each on its own unless ``groups`` crosses them.
    control_features : optional
        Columns inside whose levels groups are compared, such as departments: gaps are pooled over levels, or each of
        them counts (``groups=Groups(strata="each")``).
    favourable : the label that is good for the person; by default the second of the sorted classes
    notion, surrogate, loss, gap : what is compared, by loss or by smooth rate, the training loss, and the gap function
    solver : str or solver
        ``"newton"`` (default: every point solved exactly), ``"pb_pdo"``, ``"pdo"``, or the printed algorithms
        ``"paper_pdo"``, ``"paper_pb_pdo"``; or an instance with other parameters, such as ``ff.PBPDO(visited=True)``,
        which keeps what runs pass on their way (``front.visited``). With an estimator, a `Weighting`.
    preferences : None, int or array of shape (R, m)
        Preference vectors, or how many targets to place evenly between unconstrained training and the smallest gap.
    n_points : int, optional
        Newton: how many points to solve, evenly from unconstrained training to the smallest gap; by default as many
        as the curve bends. In rates: how many rules, by default 50 for one gap and 20 for several. First-order
        solvers give the unconstrained model and one point per preference or start.
    ridge : float, optional
        Penalty on the squared weights; by default 1 / (sum of weights), scikit-learn's C = 1, so that a weight of 2 is
        a row that is there twice.
    fit_intercept : bool, whether there is an intercept, which is not penalised
    sample_weight : array of shape (n,) of weights of at least 0, optional
    signs : mapping of columns of X, by name or place, to "+" or "-", optional
        Features of which more never makes the favourable label less likely, or a value smaller ("+"), or never more
        likely, or larger ("-"), all others being equal: bounds on coefficients, or the constraint of an estimator that
        has one.
    groups : Groups, which says reference groups, crossed columns and the smallest size of a group, optional
    estimator : estimator, optional
        Any classifier or regressor whose fit takes sample_weight, instead of a linear model: points are then weighted
        fits of it, not certified, and X is whatever it takes. ``solver`` is then a `Weighting`, which says how many
        weightings are tried, which gap is lowered, and on which rows it is measured. In rates: any classifier with
        probabilities, or None for logistic regression.
    units : {"losses", "rates"} or Rates
        Gaps of training losses, or of decisions: "rates" fits labels and groups once and traces the rules that are
        optimal for these posteriors; they guess the group. A `Rates` says where they decide.
    random_state : int, seed of random starts, folds and fits, optional
    held_out : bool, mapping or None
        Whether all points are also judged on the training rows, by the scores that each row gets from the point solved
        without it, with its caps kept: the evaluation "held_out", which rules choose on. None makes it where it is a
        Newton step in closed form that costs less than the trace (smooth losses, dense rows in memory, at most 500
        weights and about half a million rows), and goes on past zero where the smallest gap of rates is at the end.
        True makes it elsewhere too, from 10 folds (5 of a hinge), or those of an estimator; {"approval_rate": 0.7} at
        that rate.
    person : array of shape (n,), optional
        Who each row is, where people have several: held-out scores are those without all rows of the person, folds
        of an estimator keep people together, and intervals are those of people. It is not kept.
    progress : bool or "auto", whether to draw a bar on standard error; "auto": where that is a terminal

    Returns
    -------
    Frontier
    """
    check_progress(progress)
    check_seed(random_state)
    check_flag(fit_intercept, "fit_intercept")
    if held_out is not None and not isinstance(held_out, Mapping):
        check_flag(held_out, "held_out")
    warn_of_proxies(sensitive_features)
    sensitive_features = Within.of(sensitive_features, control_features)
    rows: dict[str, Any] = {"sensitive_features": sensitive_features, "sample_weight": sample_weight, "groups": groups}
    question: dict[str, Any] = {"favourable": favourable, "notion": notion, "loss": loss, "gap": gap}
    if signs is not None and units != "losses":
        raise InputError("signs is for units of losses, found rates, whose rules guess the group; leave it out.")
    linear: dict[str, Any] = {"surrogate": surrogate, "ridge": ridge, "fit_intercept": fit_intercept}
    asked: dict[str, Any] = {"preferences": preferences, "n_points": n_points}
    labelled = (y, sensitive_features, sample_weight)
    if (rates := as_rates(units)) is not None:
        refuse_losses({**linear, **asked, "solver": solver}, estimator)
        if isinstance(held_out, Mapping):
            raise InputError(
                "held_out is True, False or None for units='rates', found an operating point: say Rates(...)."
            )
        learnt = {"estimator": estimator, "random_state": random_state, "person": person}
        posed = rates.problem(X, y, **learnt, ridge=ridge, fit_intercept=fit_intercept, **rows, **question)
        unasked = held_out is False or (held_out is None and posed.folds.same)
        judge = None if unasked else readings_judge(posed.folds, labelled, person=person)
        return trace_rates(posed, rates, n_points, progress, judge)
    if estimator is not None:
        refuse_linear(trace, {**linear, **asked})
        search = as_search(solver, Weighting())
        learner: dict[str, Any] = {"estimator": estimator, "random_state": random_state, "person": person}
        fits = search.problem(X, y, **learner, **rows, **question, signs=as_signs(signs, X))
        fits = replace(fits, keeps_scores=True) if held_out else fits
        refuse_operating(held_out, fits.objectives.task)
        judge = readings_judge(fits.folds, labelled, person, held_out) if held_out else None
        return trace_estimator(fits, search, progress, judge)
    chosen = as_solver(solver)
    problem = linear_problem(X, y, **rows, **question, **linear, signs=signs)
    held = HeldOut.of(problem, chosen, labelled, person, held_out)
    return trace_problem(problem, chosen, **asked, random_state=random_state, held_out=held, progress=progress)


@one_blas_thread()
@decomposable()
def trace_problem(
    problem: LinearProblem,
    solver: str | Solver,
    *,
    preferences: Any = None,
    n_points: int | None = None,
    random_state: int | None = None,
    held_out: HeldOut | None = None,
    progress: bool | Literal["auto"] = "auto",
) -> Frontier:
    """Trace the frontier of a linear problem; parameters as in `trace`, but for rows that are to be judged."""
    check_seed(random_state)
    chosen = as_solver(solver, problem.algebra)
    stated = chosen.stated(problem)
    trajectory = Trajectory(stated.algebra) if chosen.visited else None
    request = Request(preferences, n_points, random_state, trajectory)
    with progress_bar(progress, "tracing") as bar:
        source = None
        if isinstance(chosen, Newton):
            traced = trace_newton(chosen, stated, request, bar.update)
            points = traced.solved
            source = None if traced.path is None else Source(stated, chosen, traced.path)
        else:
            points = chosen.trace(stated, request, bar.update)
        held_out = None if held_out is None else replace(held_out, on_fold=bar.update)
        front = assemble(stated, chosen, points, held_out)
        if trajectory is not None:
            front = replace(front, visited=trajectory.visited())
        more = [] if held_out is None else held_out.beyond(front, stated, points, request)
        farther = assemble(stated, chosen, [*points, *more], held_out) if more else front
        told = farther.evaluations.get(HELD_OUT)
        front = _ended(front) if more and (told is None or ROUGH in told.made) else farther
        return replace(front, source=source)


def _ended(front: Frontier) -> Frontier:
    """Say that a path does not go on past zero, although its smallest gap of rates is at its end."""
    record = front.evaluations[HELD_OUT]
    made = f"{record.made}; the path ends at zero, because points past it are no minima along their caps"
    return replace(front, evaluations={**front.evaluations, HELD_OUT: replace(record, made=made)})
