"""One named judgement of many models on one data set: the columns that people choose on, and what they may claim.

All gaps here are gaps of rates on hard decisions (or of means of predictions, for regression), in the units of those
rates. They are never loss gaps, the surrogate that models are trained on.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..exceptions import InputError
from ..objectives import Array, Attribute, Task
from ..records import Record
from .contrasts import gaps, selection_ratio, worst_gap
from .counts import Counts, Overall, Sums
from .cutoffs import NONE_GIVEN, OperatingPoint
from .figures import RATIO_OF, Column, larger_is_better
from .intervals import (
    Sizes,
    mean_reach,
    means_gap_upper,
    rows_behind,
    sample_rates,
    selection_ratio_lower,
    share_interval,
    worst_gap_upper,
)
from .moments import Spread, design_effects
from .rates import GroupRates, Margins, PerGroup, SampleRates, effective_sizes, rates_of
from .score_gaps import ENDS, PairGaps

End = Callable[[GroupRates, str, float, Sizes | None], Array]


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(Record):
    """N models judged on the n rows of one data set.

    Attributes
    ----------
    name : str
        What the data set is for, such as "validation".
    n : int, number of rows
    columns : dict of name to array (N,)
        ``error``, ``approval_rate`` (the share of favourable decisions) and, for two classes, ``auc`` (``mse`` for
        regression); then, per attribute, the worst gap between any two groups: ``tpr_gap``, ``fpr_gap``,
        ``selection_gap``, ``error_gap``, for several classes ``recall_gap`` (worst over classes as well), and
        ``selection_ratio``, the lowest rate over the highest; for regression ``prediction_gap``, ``residual_gap``,
        ``mse_gap``. With several attributes each name starts with the attribute's, as in ``sex.tpr_gap``.
    signed : dict of name to array (N, c - 1)
        The same gaps with their sign, group minus reference; ``recall_gap[label]`` per class.
    groups : dict of attribute name to `GroupRates`, `ClassRates` or `GroupMeans`
        Rates, rows and weights of every group.
    sizes : dict of attribute name to effective sizes per rate (c,)
        Kish's effective numbers of rows, kept only for unequal sample weights; ``effective_n`` of all rows.
    proxies : tuple of str
        Attributes whose groups are probabilities: rates are weighted means, gaps usually understate those of people.
    further_sizes : dict of attribute name to effective sizes per rate (N, c)
        The same of rates that are there because a notion is about them, such as ``precision``.
    sums : Sums or None
        Counts behind the figures, and how models vary together.
    scored : dict of attribute name to gaps of scores per figure
        Where a notion is about scores: ``auc_gap``, ``xauc_gap``, ``mean_score_gap`` and others.
    operating : OperatingPoint or None
        The rule and the cut-offs (N,) that decisions were made at; None at 0.5 (or a score of 0), which nobody gave.
    labels : array of shape (K,) or None
        The shares of rows with each label; None for regression.
    alike : array of shape (N,) or None
        The share of rows that get each model's most frequent decision.
    made : str, how scores of training rows were made without the row; empty where rows were not trained on
    design : dict of attribute name to design effects per rate (c,)
        Where people have several rows, or weights: how much less sure rates are than of as many people, or than Kish's
        number says where some weigh more; "" has those of all rows. ``sizes`` are divided by them.
    errors : dict of attribute name to standard errors per mean (N, c), of regression; ``mse_skew`` how skewed it is
    """

    name: str
    n: int
    columns: dict[str, Array]
    signed: dict[str, Array]
    groups: dict[str, PerGroup]
    sizes: dict[str, dict[str, Array]] = field(default_factory=dict)
    effective_n: float | None = None
    proxies: tuple[str, ...] = ()
    further_sizes: dict[str, dict[str, Array]] = field(default_factory=dict)
    scored: dict[str, dict[str, PairGaps]] = field(default_factory=dict)
    sums: Sums | None = field(default=None, repr=False)
    operating: OperatingPoint | None = None
    labels: Array | None = None
    alike: Array | None = None
    made: str = ""
    design: dict[str, dict[str, Array]] = field(default_factory=dict)
    errors: dict[str, dict[str, Array]] = field(default_factory=dict)

    @property
    def weighted(self) -> bool:
        return self.effective_n is not None

    @property
    def rule(self) -> str:
        return NONE_GIVEN if self.operating is None else self.operating.rule.words

    @property
    def cutoffs(self) -> Array | None:
        """Return the cut-off of each model, (N,), None where no operating point was given."""
        return None if self.operating is None else self.operating.cutoffs

    @property
    def n_models(self) -> int:
        return len(next(iter(self.columns.values())))

    def _repr_html_(self) -> str:
        from .evaluation_html import notebook_form

        return notebook_form(self)

    def __getitem__(self, column: str) -> Array:
        if column in self.columns:
            return self.columns[column]
        near = difflib.get_close_matches(str(column), self.columns, n=1, cutoff=0.5)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        known = ", ".join(self.columns)
        raise InputError(f"evaluation {self.name!r} has no column {column!r}, expected one of {known}{hint}")

    def take(self, places: Sequence[int]) -> Evaluation:
        """Return the judgement of some of the models, in the order of ``places``."""
        return replace(
            self,
            columns={name: values[places] for name, values in self.columns.items()},
            signed={name: values[places] for name, values in self.signed.items()},
            groups={name: rates.take(places) for name, rates in self.groups.items()},
            further_sizes={
                name: {rate: size[places] for rate, size in sizes.items()} for name, sizes in self.further_sizes.items()
            },
            scored={name: {key: each.take(places) for key, each in some.items()} for name, some in self.scored.items()},
            operating=None if self.operating is None else self.operating.take(places),
            alike=None if self.alike is None else self.alike[places],
            errors={
                name: {mean: each[places] for mean, each in errors.items()} for name, errors in self.errors.items()
            },
            sums=None if self.sums is None else self.sums.take(places),
        )

    def parts(self, name: str) -> list[str]:
        """Return the columns that a name stands for: its own, or with several attributes that of each."""
        return [name] if name in self.columns else [each for each in self.columns if Column.of(each).kind == name]

    def figure(self, name: str, confidence: float | None = None, end: End = worst_gap_upper) -> Array:
        """Return a column, (N,), as the end of its interval that has to hold when a confidence is given.

        That is the upper end of an error and of a gap, the lower end of a ratio, for each model on its own
        (`promises.together` has ends that hold for all). Of a worst gap each pair is taken at its own end: the claim
        fails only if that of the worst pair does, of several attributes too. ``end`` takes another end.
        """
        parts = self.parts(name)
        if parts and parts != [name]:
            best: Any = np.fmin if larger_is_better(name) else np.fmax
            return np.asarray(best.reduce([self.figure(part, confidence, end) for part in parts]))
        values, column = self[name], Column.of(name)
        if confidence is None or column.end:  # bounds under probabilities have no sampling error
            return values
        if name == "error":
            return share_interval(self.sample("", name), confidence)[1]
        attribute = column.attribute or next(iter(self.groups))
        rates, sizes = self.groups.get(attribute), self.all_sizes(attribute)
        if column.gap and (pairs := self.scored.get(attribute, {}).get(column.figure)) is not None:
            return ENDS[end](pairs, confidence)
        if isinstance(rates, GroupRates) and (of := RATIO_OF.get(column.figure)):
            return selection_ratio_lower(rates, confidence, sizes, of)
        if isinstance(rates, GroupRates) and column.gap:
            return end(rates, column.figure, confidence, sizes)
        if rates is not None and column.gap and column.figure in (known := self.errors.get(attribute, {})):
            return means_gap_upper(rates.rate(column.figure), mean_reach(known, column.figure, confidence))
        return values

    def all_sizes(self, attribute: str) -> Sizes:
        """Return the effective sizes that are known of an attribute's rates, by rate."""
        return self.sizes.get(attribute, {}) | self.further_sizes.get(attribute, {})

    def sample(self, attribute: str, rate: str) -> SampleRates:
        """Return a rate of an attribute's groups, (N, c), with the rows behind it.

        Of all rows, (N,), where the attribute is "".
        """
        if not attribute:
            n = (self.effective_n or self.n) / self.design.get("", {}).get(rate, 1.0)
            return SampleRates(self[rate], np.array(n))
        rates: Any = self.groups[attribute]
        return sample_rates(rates, rate, self.all_sizes(attribute))


def judgement_of(sums: Sums, task: Task, attributes: Sequence[Attribute], name: str, area: Array | None) -> Evaluation:
    """``area`` (N,) is the AUC."""
    good, pairs = task.favourable, list(zip(attributes, sums.groups, strict=True))
    groups = {each.name: rates_of(counts, each.levels, good) for each, counts in pairs}
    record = evaluation_of(name, task, sums.overall, groups, area)
    record = replace(record, sums=sums, proxies=tuple(each.name for each in attributes if each.is_proxy))
    if sums.effective_n is not None:
        sizes = {
            each.name: effective_sizes(*(Margins.of(cells[:, :-1], good) for cells in (counts.weight, counts.squared)))
            for each, counts in pairs
            if isinstance(counts, Counts)
        }
        record = replace(record, sizes=sizes, effective_n=sums.effective_n)
    uneven = sums.clustered or record.weighted
    return record if sums.spreads is None else _with_spreads(record, sums.spreads, good, uneven)


def _with_spreads(record: Evaluation, spreads: tuple[Spread, ...], favourable: int, uneven: bool) -> Evaluation:
    """Add what follows of how models vary: standard errors of means, and how unsure shares are of uneven people."""
    errors, design, sizes = {}, {}, dict(record.sizes)
    for (name, rates), spread in zip(record.groups.items(), spreads, strict=False):
        if not isinstance(rates, GroupRates):
            there = rates.weight > 0
            errors[name] = {k: np.where(there, np.sqrt(each.variance).T, np.nan) for k, each in spread.items()}
        elif uneven:
            behind = {rate: rows_behind(rates, rate, sizes.get(name)) for rate in rates.names}
            design[name] = design_effects(spread, behind)
            sizes[name] = {rate: size / design[name].get(rate, 1.0) for rate, size in behind.items()}
    if design and record.labels is not None:
        n, good = np.array([record.effective_n or record.n]), record.labels[favourable]
        behind = {"error": n, "selection": n, "tpr": n * good, "fpr": n * (1.0 - good)}
        design[""] = {rate: np.array(each[0]) for rate, each in design_effects(spreads[-1], behind).items()}
    return replace(record, errors=errors, design=design, sizes=sizes)


def evaluation_of(
    name: str, task: Task, overall: Overall, groups: dict[str, PerGroup], area: Array | None
) -> Evaluation:
    mean, shares = np.asarray(overall.wrong / overall.weight), overall.decided / overall.weight
    columns, signed, known = {"mse": mean}, dict[str, Array](), dict[str, Array]()
    if task.kind != "regression":
        columns = {"error": np.clip(mean, 0.0, 1.0), "approval_rate": np.clip(shares[:, task.favourable], 0.0, 1.0)}
        known = {"labels": overall.labels / overall.weight, "alike": np.minimum(shares.max(axis=1), 1.0)}
    columns |= {} if area is None else {"auc": area}
    for attribute, rates in groups.items():
        prefix = f"{attribute}." if len(groups) > 1 else ""
        for rate in (each for each in rates.names if each != "accuracy"):  # its gap is minus that of the error
            columns[f"{prefix}{rate}_gap"] = worst_gap(rates, rate)
            gap = gaps(rates, rate)
            if gap.ndim == 3:
                signed |= {f"{prefix}{rate}_gap[{label}]": gap[:, :, k] for k, label in enumerate(task.classes)}
            else:
                signed[f"{prefix}{rate}_gap"] = gap
        if "selection" in rates.names:
            columns[f"{prefix}selection_ratio"] = selection_ratio(rates)
    return Evaluation(name, overall.n, columns, signed, groups, **known)  # type: ignore[arg-type]
