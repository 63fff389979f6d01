"""One judge for all methods: the same rows, the same measures, models chosen on validation and reported on test rows.

Random decisions are judged by their expectation. Figures are shares: error, approval rate, and the worst difference
between the true positive rates of two groups; of a regression, the mean squared error and its worst difference.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import t as student

from fairfront.measures.cutoffs import cutoffs_for_costs, cutoffs_for_rate
from fairfront.pareto import hypervolume, nondominated

from .cases import Rows

if TYPE_CHECKING:
    from .peers.base import Candidates

TEST_SHARE = 1.0 / 3.0
"""Test rows over training rows of all splits (20 % and 60 %), for the corrected interval."""


@dataclass(frozen=True)
class Figures:
    """Error (N,), worst gap (N,) and approval rate, or mean prediction, (N,) of N candidates on some rows."""

    error: np.ndarray
    gap: np.ndarray
    approval: np.ndarray

    def as_lists(self) -> dict[str, list[float]]:
        """Return plain lists, rounded to what such rows can tell."""
        return {name: np.round(values, 6).tolist() for name, values in asdict(self).items()}

    @classmethod
    def from_lists(cls, lists: dict[str, list[float]]) -> Figures:
        """Read what `as_lists` wrote."""
        return cls(**{name: np.array(values) for name, values in lists.items()})


def rates(approve: np.ndarray, rows: Rows, groups: int | None = None) -> np.ndarray:
    """Return accuracy, true and false positive rate, (N, 3, groups + 1), of probabilities of approval (N, n).

    The last column is the total. A group without rows of a label has no rate there, NaN.
    """
    right = np.where(rows.good, approve, 1.0 - approve)
    codes = range(int(rows.groups.max()) + 1 if groups is None else groups)
    found = np.full((len(approve), 3, len(codes) + 1), np.nan)
    for place, members in enumerate([*(rows.groups == g for g in codes), np.ones(len(rows.y), dtype=bool)]):
        kinds = ((right, members), (approve, members & rows.good), (approve, members & ~rows.good))
        for kind, (values, cell) in enumerate(kinds):
            if cell.any():
                found[:, kind, place] = values[:, cell].mean(axis=1)
    return found


def deo(found: np.ndarray, counted: np.ndarray | None = None) -> np.ndarray:
    """Return the difference in true positive rates of `rates`, (N,): signed (first minus last) for two groups.

    For more groups it is the largest difference of any two; ``counted`` (groups,) says which groups take part.
    """
    tpr = found[:, 1, :-1]
    if tpr.shape[1] == 2:
        return tpr[:, 0] - tpr[:, 1]
    tpr = tpr if counted is None else tpr[:, counted]
    return np.nanmax(tpr, axis=1) - np.nanmin(tpr, axis=1)


def figures(approve: np.ndarray, rows: Rows, labels: np.ndarray | None = None) -> Figures:
    """Judge probabilities of a favourable decision, (N, n), or predictions of a regression.

    ``labels`` (N, n) are the decisions where there are several labels; the error then counts all of them.
    """
    if rows.is_regression:
        wrong = (approve - rows.y) ** 2
        each = np.stack([wrong[:, rows.groups == g].mean(axis=1) for g in np.unique(rows.groups)], axis=1)
        return Figures(wrong.mean(axis=1), np.ptp(each, axis=1), approve.mean(axis=1))
    found = rates(approve, rows)
    error = 1.0 - found[:, 0, -1] if labels is None else (labels != rows.y).mean(axis=1)
    return Figures(error, np.abs(deo(found)), approve.mean(axis=1))


def judged(candidates: Candidates, rows: Rows) -> Figures:
    """Judge what candidates decide about some rows."""
    if candidates.labels is None:
        return figures(candidates.approve(rows.X, rows.groups), rows)
    labels = candidates.labels(rows.X)
    return figures((labels == rows.favourable).astype(np.float64), rows, labels)


def signed(candidates: Candidates, rows: Rows) -> dict[str, list[float]]:
    """Return error and signed gap (first group minus last) of candidates on some rows, and the gap's standard error."""
    if rows.is_regression:
        wrong = (candidates.approve(rows.X, rows.groups) - rows.y) ** 2
        parts = [wrong[:, rows.groups == g] for g in range(2)]
        gap = parts[0].mean(axis=1) - parts[1].mean(axis=1)
        noise = np.sqrt(sum(part.var(axis=1, ddof=1) / part.shape[1] for part in parts))
        values = {"error": wrong.mean(axis=1), "gap": gap, "noise": noise}
        return {name: np.round(each, 8).tolist() for name, each in values.items()}
    found = rates(candidates.approve(rows.X, rows.groups), rows)
    tpr, sizes = found[:, 1, :-1], [int((rows.good & (rows.groups == g)).sum()) for g in range(2)]
    noise = np.sqrt((tpr * (1.0 - tpr) / np.array(sizes)).sum(axis=1))
    values = {"error": 1.0 - found[:, 0, -1], "gap": deo(found), "noise": noise}
    return {name: np.round(each, 6).tolist() for name, each in values.items()}


def at_equal_gap(train: dict[str, list[float]], held: dict[str, list[float]], gap: float) -> float:
    """Return the held-out error where the held-out gap first is ``gap``, NaN where it never is.

    Candidates are walked in the order of their gap on training rows, from the one of least training error towards zero
    and past it; errors are interpolated between the two candidates of the crossing.
    """
    error, known = np.array(train["error"]), np.array(train["gap"])
    plain = int(np.argmin(error))
    side = 1.0 if known[plain] >= 0.0 else -1.0
    order = np.argsort(-side * known, kind="stable")
    order = order[side * known[order] <= side * known[plain]]
    z, wrong = side * np.array(held["gap"])[order], np.array(held["error"])[order]
    below = np.flatnonzero(z <= gap)
    if not len(below):
        return float("nan")
    k = int(below[0])
    if k == 0:
        return float(wrong[0])
    share = (z[k - 1] - gap) / (z[k - 1] - z[k])
    return float(wrong[k - 1] + share * (wrong[k] - wrong[k - 1]))


def at_approval(candidates: Candidates, held: Rows, others: Rows, rate: float) -> tuple[Figures, Figures] | None:
    """Judge all candidates at one approval rate, cut-offs placed on the first rows; None where there are no scores."""
    if candidates.scores is None:
        return None
    scores = candidates.scores(held.X)
    cut = cutoffs_for_rate(scores, rate)[:, None]
    return (
        figures((scores >= cut).astype(np.float64), held),
        figures((candidates.scores(others.X) >= cut).astype(np.float64), others),
    )


def unprocessed_error(candidates: Candidates, held: Rows, others: Rows) -> float | None:
    """Return the test error after unprocessing (Cruz and Hardt 2024): the best threshold for every group.

    What is left shows how good the underlying scores are once no constraint binds; the candidate is chosen on the
    validation rows.
    """
    if candidates.scores is None:
        return None
    here, there = candidates.scores(held.X), candidates.scores(others.X)
    wrong_here, wrong_there = np.zeros(len(here)), np.zeros(len(here))
    costs = {"false_positive": 1.0, "false_negative": 1.0}
    for g in np.unique(held.groups):
        mine, theirs = held.groups == g, others.groups == g
        cut = cutoffs_for_costs(here[:, mine], held.good[mine], costs)[:, None]
        wrong_here += ((here[:, mine] >= cut) != held.good[mine]).sum(axis=1)
        wrong_there += ((there[:, theirs] >= cut) != others.good[theirs]).sum(axis=1)
    return float(wrong_there[np.argmin(wrong_here)] / len(others.y))


def chosen(validation: Figures, cap: float) -> int:
    """Return the candidate with the least error among those within the cap, or the smallest gap where none is."""
    size = np.abs(validation.gap)
    allowed = np.flatnonzero(size <= max(cap, float(size.min())))
    return int(allowed[np.argmin(validation.error[allowed])])


def paired_interval(
    differences: np.ndarray, share: float = TEST_SHARE, confidence: float = 0.95
) -> tuple[float, float, float]:
    """Return the mean of paired differences and its interval.

    Random splits share rows, so the variance is enlarged as Nadeau and Bengio (2003) advise: ``share`` is the number
    of test rows over the number of training rows.
    """
    d = np.asarray(differences, dtype=np.float64)
    if len(d) < 2:
        return float(d.mean()), -np.inf, np.inf
    width = float(student.ppf(0.5 + confidence / 2.0, len(d) - 1) * np.sqrt((1.0 / len(d) + share) * d.var(ddof=1)))
    return float(d.mean()), float(d.mean() - width), float(d.mean() + width)


def largest_hole(gaps: np.ndarray, widest: float) -> float:
    """Return the widest stretch of gap without a model, as a share of the range from 0 to ``widest``."""
    inside = np.clip(np.sort(gaps), 0.0, widest)
    return float(np.diff(np.concatenate([[0.0], inside, [widest]])).max() / widest)


def box_share(judged: Figures, front: np.ndarray, majority: float, plain: tuple[float, float]) -> float:
    """Return the hypervolume in the tight box (majority error, plain model's gap) as a share of the box.

    ``front`` marks the candidates that are offered; ``plain`` is the plain model's (error, gap). The box ends at the
    plain model's error, so a method with a smaller error may exceed 1.
    """
    box = (majority - plain[0]) * plain[1]
    points = np.column_stack([judged.error, judged.gap])[front]
    return hypervolume(points, [majority, plain[1]]) / box if box > 0 else float("nan")


def offered(validation: Figures) -> np.ndarray:
    """Mark the candidates that no other beats on the validation rows, (N,)."""
    return nondominated(np.column_stack([validation.error, validation.gap]))


def shortfall(value: np.ndarray, gap: np.ndarray, caps: np.ndarray, best: np.ndarray, most: float) -> float:
    """Return how far the best model within each cap stays behind what is reachable, averaged over caps.

    ``best`` (caps,) is what is reachable; nothing within a cap counts as ``most``.
    """
    lacking = []
    for cap, target in zip(caps, best, strict=True):
        allowed = gap <= cap + 1e-9
        lacking.append(min(most, float(value[allowed].min() - target)) if allowed.any() else most)
    return float(np.mean(lacking))
