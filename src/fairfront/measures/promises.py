"""What an evaluation lets one expect and promise of every model: expected gaps, ends for all models, and test noise.

Three figures of a gap. *Observed* is that of the rows. *Expected* is E max |gap + e| over pairs of groups, e the noise
of their rates: what other rows of the same population would show of the population's gap as these rows know it. The
*upper end* is what may be claimed, of one model (`Evaluation.figure`) or of all at once (`together`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from ..objectives import Array
from ..validation import check_confidence
from .evaluation import Evaluation
from .figures import Column, larger_is_better
from .intervals import SKEW, bonferroni, rows_behind
from .moments import Moments, critical_values, least_variance
from .proportions import normal_quantile
from .rates import GroupRates
from .score_gaps import PairGaps

DRAWS = 1_000
FOLDS = "folds"
"""Name of the factor by which an evaluation of folds was widened, among its design effects."""
MANY, WIDER, WIDEST = 10, 1.25, 1.4
"""How much less sure figures of so many folds or more are than counts say, and those of fewer: learners that are fitted
without a fold keep their weights and not the gap, so that where a path is steep they lie on both sides of it."""
BLOCK = 1 << 22


def level_of(z: float) -> float:
    """Return the confidence whose normal quantile is z."""
    return float(2.0 * ndtr(z) - 1.0)


def has_ends(record: Evaluation, name: str) -> bool:
    """Tell whether a column is a figure with confidence ends: a gap, the selection ratio or the error."""
    column = Column.of(name)
    if not record.parts(name) or column.end:
        return False
    if not column.gap:
        return column.figure in ("error", "selection_ratio") and record.labels is not None
    if record.errors:
        return all(column.figure in known for known in record.errors.values())
    return all(isinstance(rates, GroupRates) for rates in record.groups.values())


def together(record: Evaluation, name: str, confidence: float) -> Array:
    """Return the end of a column, (N,), that holds for all models at once: by max-t over models and pairs."""
    if not has_ends(record, name):
        return record.figure(name, confidence)
    return record.figure(name, level_of(critical(record, name, confidence)))


def critical(record: Evaluation, name: str, confidence: float) -> float:
    """Return z such that a column's ends at z hold for all models and pairs of groups with this confidence.

    From covariances where they are there, else Bonferroni's.
    """
    least = normal_quantile(check_confidence(confidence))
    if moments := _moments(record, name):
        found = critical_values(moments, [confidence], relative=Column.of(name).kind == "selection_ratio")
        return max(least, float(found[0]))
    pairs = 1
    for part in record.parts(name):
        if Column.of(part).kind != "error":
            c = len(_groups(record, part)[1].levels)
            pairs += c * (c - 1) // 2
    return normal_quantile(bonferroni(confidence, pairs * record.n_models))


def _groups(record: Evaluation, part: str) -> tuple[str, GroupRates]:
    attribute = Column.of(part).attribute or next(iter(record.groups))
    return attribute, record.groups[attribute]  # type: ignore[return-value]


def _moments(record: Evaluation, name: str) -> list[tuple[Moments, Array, bool]]:
    """Return moments of what a column is made of, their least variances, and whether groups are compared.

    None where covariances are not known: of many models, of gaps of scores, and of shares of decisions.
    """
    return [] if record.sums is None or record.sums.spreads is None else list(_known_moments(record, name))


def _known_moments(record: Evaluation, name: str) -> Iterator[tuple[Moments, Array, bool]]:
    assert record.sums is not None
    assert record.sums.spreads is not None
    spreads = dict(zip((*record.groups, ""), record.sums.spreads, strict=True))
    for part in record.parts(name):
        column = Column.of(part)
        if column.figure == "error" and not column.gap:
            moments = spreads[""]["error"]
            yield moments, least_variance(moments.means, np.array([[record.n]])), False
            continue
        attribute, rates = _groups(record, part)
        rate = "selection" if column.figure == "selection_ratio" else column.figure
        for label, moments in spreads[attribute].items():
            if label.partition("[")[0] == rate:
                least: Array = np.zeros((1, 1))
                if isinstance(rates, GroupRates):
                    size = rows_behind(rates, rate, record.sizes.get(attribute))
                    size = size if size.ndim == 1 else size[:, int(label[len(rate) + 1 : -1])]
                    least = least_variance(moments.means, size[:, None])
                yield moments, least, True


def widened(record: Evaluation, factor: float) -> Evaluation:
    """Return an evaluation whose variances are so many times as large, as if people had as many rows more."""
    sizes, design = dict(record.sizes), dict(record.design)
    for name, rates in record.groups.items():
        if isinstance(rates, GroupRates):
            behind = {rate: rows_behind(rates, rate, record.sizes.get(name)) for rate in rates.names}
            sizes[name] = {rate: size / factor for rate, size in behind.items()}
            known = record.design.get(name, {})
            design[name] = {rate: known.get(rate, np.ones(size.shape)) * factor for rate, size in behind.items()}
    if design:
        known = {"error": np.array(1.0)} | {k: v for k, v in record.design.get("", {}).items() if k != FOLDS}
        design[""] = {rate: np.asarray(each * factor) for rate, each in known.items()} | {FOLDS: np.array(factor)}
    errors = {
        name: {mean: each * (1.0 if mean.endswith(SKEW) else np.sqrt(factor)) for mean, each in found.items()}
        for name, found in record.errors.items()
    }
    further = {
        name: {rate: size / factor for rate, size in known.items()} for name, known in record.further_sizes.items()
    }
    scored = {
        name: {figure: replace(each, error=each.error * np.sqrt(factor)) for figure, each in known.items()}
        for name, known in record.scored.items()
    }
    return replace(record, sizes=sizes, design=design, errors=errors, further_sizes=further, scored=scored)


def less_sure(record: Evaluation, folds: int) -> Evaluation:
    """Widen figures of a learner that was fitted again without each of some folds, and say so."""
    if folds < 2:
        return record
    factor = WIDER if folds >= MANY else WIDEST
    return replace(widened(record, factor**2), made=f"{record.made}, standard errors times {factor}")


class Normals(NamedTuple):
    """Rates of groups, (N, c), and the variance of each."""

    mean: Array
    variance: Array

    @property
    def worst(self) -> Array:
        """Return E max |T_a - T_b + e_a - e_b| over pairs of groups, (N,); NaN with fewer than two groups."""
        known = ~np.isnan(self.mean)
        found = np.full(len(self.mean), np.nan)
        for row in np.unique(known, axis=0):
            models = np.flatnonzero((known == row).all(axis=1))
            if row.sum() >= 2:
                found[models] = self._of(models, np.flatnonzero(row))._worst()
        return found

    def _of(self, models: NDArray[np.intp], groups: NDArray[np.intp]) -> Normals:
        return Normals(*(each[np.ix_(models, groups)] for each in self))

    def _worst(self) -> Array:
        if self.mean.shape[1] == 2:
            return folded(np.abs(self.mean[:, 0] - self.mean[:, 1]), self.variance.sum(axis=1))
        return self._drawn(lambda rates: np.asarray(rates.max(axis=2) - rates.min(axis=2)))

    @property
    def ratio(self) -> Array:
        """Return E of the lowest rate over the highest, (N,)."""
        absent = np.isnan(self.mean)  # groups without a rate take no part
        whole = Normals(np.nan_to_num(self.mean), np.nan_to_num(self.variance))

        def ratio(rates: Array) -> Array:
            least = np.where(absent, np.inf, np.clip(rates, 0.0, 1.0)).min(axis=2)
            most = np.where(absent, 0.0, np.clip(rates, 1e-9, 1.0)).max(axis=2)
            return np.asarray(np.minimum(least / most, 1.0))

        return whole._drawn(ratio, every=True)

    def _drawn(self, figure: Callable[[Array], Array], every: bool = False) -> Array:
        """Return the mean of a figure of rates (draws, N, c) over draws with a fixed seed."""
        noise = np.random.default_rng(0).standard_normal((DRAWS, 1, self.mean.shape[1]))
        step = len(self.mean) if every else max(1, BLOCK // (DRAWS * self.mean.shape[1]))
        parts = []
        for start in range(0, len(self.mean), step):
            at = slice(start, start + step)
            parts.append(figure(self.mean[at] + noise * np.sqrt(self.variance[at])).mean(axis=0))
        return np.concatenate(parts)


def folded(mean: Array, variance: Array) -> Array:
    """Return E|N(mean, variance)|."""
    s = np.sqrt(np.maximum(variance, 1e-300))
    return np.asarray(s * np.sqrt(2.0 / np.pi) * np.exp(-0.5 * (mean / s) ** 2) + mean * (1.0 - 2.0 * ndtr(-mean / s)))


def _scored(record: Evaluation, name: str) -> list[PairGaps]:
    """Return the gaps of scores that a column stands for, of each attribute; none where it is of shares or means."""
    columns = [Column.of(part) for part in record.parts(name) if Column.of(part).gap]
    known = [record.scored.get(each.attribute or next(iter(record.groups)), {}).get(each.figure) for each in columns]
    return [each for each in known if each is not None]


def _mean_worst(gap: Array, variance: Array) -> Array:
    """Return E max |N(gap, variance)| over pairs, (N,), as if their errors were independent: at least what it is."""
    if gap.shape[1] == 1:
        return folded(np.abs(gap[:, 0]), variance[:, 0])
    noise = np.random.default_rng(0).standard_normal((DRAWS, gap.shape[1]))
    return np.array([np.abs(g + noise * np.sqrt(v)).max(axis=1).mean() for g, v in zip(gap, variance, strict=True)])


def expected(record: Evaluation, name: str) -> Array:
    """Return the expected value of a gap or of the selection ratio, (N,).

    Of several attributes (and classes) it is the largest, of ratios the smallest; other columns are as observed.
    """
    column = Column.of(name)
    if not has_ends(record, name) or column.kind == "error":
        return record.figure(name)
    if scored := _scored(record, name):
        return np.asarray(np.fmax.reduce([_mean_worst(each.gap, each.error**2) for each in scored]))
    best = np.fmin if larger_is_better(name) else np.fmax
    found = [each.ratio if larger_is_better(name) else each.worst for each in _normals(record, name)]
    return np.asarray(best.reduce(found))


def shown_by_test(record: Evaluation, name: str, place: int, n: float) -> tuple[float, float]:
    """Return the gap that a model without any, and that this one, show on average on n other rows like these."""
    none, own = [], []
    for pairs in (each.take([place]) for each in _scored(record, name)):
        noise = pairs.error**2 * (record.n / n)
        none.append(_mean_worst(0.0 * pairs.gap, noise)[0])
        own.append(_mean_worst(pairs.gap, pairs.error**2 + noise)[0])
    for each in () if none else _normals(record, name, place):
        middle = np.nanmean(each.mean, axis=1, keepdims=True) + 0.0 * each.mean
        noise = each.variance * (record.n / n)
        none.append(Normals(middle, noise).worst[0])
        own.append(Normals(each.mean, each.variance + noise).worst[0])
    return float(np.max(none)), float(np.max(own))


def _normals(record: Evaluation, name: str, place: int | None = None) -> Iterator[Normals]:
    """Yield rates and variances behind a column, per attribute and class; of one model where its place is given."""
    models = slice(None) if place is None else slice(place, place + 1)
    for part in record.parts(name):
        column = Column.of(part)
        attribute, rates = _groups(record, part)
        rate = "selection" if column.figure == "selection_ratio" else column.figure
        if not isinstance(rates, GroupRates):
            yield Normals(rates.rate(rate)[models], record.errors[attribute][rate][models] ** 2)
            continue
        sample = record.sample(attribute, rate).take(models)
        mean, size = sample.value, sample.size
        if mean.ndim == 2:
            mean, size = mean[:, :, None], size[..., None]  # sizes are those of groups, or of models too
        few = np.where(size > 0, size, 1.0)
        variance = np.maximum(mean * (1.0 - mean) / few, least_variance(mean, few))
        for k in range(mean.shape[2]):
            yield Normals(mean[:, :, k], variance[:, :, k])
