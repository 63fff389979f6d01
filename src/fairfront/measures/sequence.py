"""Fixed sequences: the bounds that points of a path hold with a confidence, whatever their errors have in common.

A bound on the worst gap is one claim for every ordered pair of groups, "a is above b by at most u"; on a ratio of
rates "a over b is at least r"; on the error one. A walk starts at a point that no rate has chosen and goes on up to the
first point that fails. Before anything untrue is said on it, the first point with an untrue claim has to be passed,
and that claim's own end fails with half of the error that is allowed: at 95 % a one-sided end at z = 1.96 with 2.5 %.
There are two walks, so that nothing is corrected for points, pairs or bounds, and nothing is assumed of how errors are
correlated or of a path that is monotone: where it is not, points are lost and the promise holds (Maurer, Hothorn and
Lehmacher 1995; Berger 1982).

Two groups, one bound: along a path to a zero gap and past it one claim holds ever better and the other ever worse. So
each is walked from the end of the path where it is smaller. That this is read from the data costs nothing. Let U and V
be the points where the one and the other claim are untrue. In one pair of directions something untrue is said only if
the first claim is passed at the last of U or the second at the first of V; alone, the former needs that U begins before
V, the latter that V ends after U. In the other pair it is the first of U, if U ends after V, and the last of V, if V
begins before U. Two of the four can happen alone, with 2.5 % each; the others need errors of opposite sign at once.

More claims: as many directions could be read from the data, and there are paths of four groups whose promises would be
broken in 7 % of samples. So all claims are walked together, from two points fixed beforehand towards plain training:
that of a zero loss gap, and that of an eighth of the plain one. Walks of several bounds from there are one walk.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..objectives import Array
from .evaluation import Evaluation
from .figures import RATIO_OF, Column
from .intervals import gap_interval, mean_reach, ratio_ends
from .proportions import normal_quantile
from .rates import GroupRates


def claims(record: Evaluation, name: str, confidence: float) -> Array:
    """Return the ends of a column's claims, (N, claims), each on its own; NaN where a group has no rate.

    The worst of them is `Evaluation.figure` at this confidence.
    """
    found = [each for part in record.parts(name) for each in _claims(record, part, confidence)]
    return np.concatenate([each.reshape(record.n_models, -1) for each in found], axis=1)


def _claims(record: Evaluation, part: str, confidence: float) -> Iterator[Array]:
    column = Column.of(part)
    attribute = column.attribute or next(iter(record.groups))
    rates = record.groups.get(attribute)
    one, other = np.triu_indices(0 if rates is None else len(rates.levels), 1)
    if column.gap and (pairs := record.scored.get(attribute, {}).get(column.figure)) is not None:
        half = normal_quantile(confidence) * pairs.error
        yield from (pairs.gap + half, half - pairs.gap)
    elif isinstance(rates, GroupRates) and (of := RATIO_OF.get(column.figure)):
        low, high = ratio_ends(record.sample(attribute, of), one, other, confidence)
        with np.errstate(divide="ignore"):
            yield from (low, 1.0 / high)
    elif isinstance(rates, GroupRates) and column.gap:
        low, high = gap_interval(record.sample(attribute, column.figure), one, other, confidence, claimed=True)
        yield from (high, -low)
    elif rates is not None and column.gap and column.figure in (known := record.errors.get(attribute, {})):
        mean, reach = rates.rate(column.figure), mean_reach(known, column.figure, confidence)
        half = np.hypot(reach[:, one], reach[:, other])
        yield mean[:, one] - mean[:, other] + half
        yield mean[:, other] - mean[:, one] + half
    else:
        yield record.figure(part, confidence)


def reach(values: Array, starts: Sequence[int] = ()) -> Array:
    """Return the smallest bound at which each point of a path is passed, (N,), from values (N, claims) in its order.

    With ``starts``, the largest of any claim on the way back from one of them; it is infinite beyond the last. Without,
    each claim's largest on the way from the end of the path where it is smaller. NaN is no claim of that point, and
    where a point has none it is passed at no bound.
    """
    known = np.where(np.isnan(values), -np.inf, values)
    known[np.isnan(values).all(axis=1)] = np.inf
    if starts:
        worst, found = known.max(axis=1), np.full(len(known), np.inf)
        for start in starts:
            on = slice(0, start + 1)
            found[on] = np.minimum(found[on], np.maximum.accumulate(worst[on][::-1])[::-1])
        return found
    onward = np.maximum.accumulate(known, axis=0)
    back = np.maximum.accumulate(known[::-1], axis=0)[::-1]
    return np.asarray(np.where(known[-1] < known[0], back, onward).max(axis=1))
