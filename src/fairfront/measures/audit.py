"""Audit: how the model that one has today stands, group by group, in people's units. Nothing is trained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, require, spelling
from ..objectives import Groups, Task, check_groups, proxy_sentences, take_groups, warn_of_proxies
from ..validation import (
    BACKENDS,
    check_choice,
    check_confidence,
    check_count,
    check_flag,
    check_seed,
    counted,
    weighted_rows,
)
from .disclosure import LIMIT, ROUNDED, check_small
from .group_table import GroupTable, Settings, tabulate
from .lines import Lines, lines_of
from .operating_points import Operating, Side
from .published_tables import published_strata, published_table
from .requirements import Verdict, judge
from .rows import Judged, gathered, read_judged
from .scores import Resampling
from .sentences import (
    audit_html,
    audit_record,
    found_sentences,
    idle_sentence,
    notes_of,
    notion_sentences,
    pooled_sentences,
    reference_sentences,
)
from .strata import levels_of, pooled_columns
from .worst import Worst

MOST_RESAMPLES = 100_000
WEIGHTED = "Rates are weighted by the sample weights, and intervals rest on effective rows (Kish); counts are rows."


@dataclass(frozen=True, eq=False)
class Audit:
    """What an audit found; made by `audit`.

    Attributes
    ----------
    task : Task
        Classes and the favourable label.
    rule : str
        How scores became decisions.
    cutoff : float or None
        The one cut-off of all groups, where scores were given.
    n : int
        Number of rows.
    groups : dict of attribute to `GroupTable`
        Every figure of every group.
    strata : dict of level to dict of attribute to `GroupTable`
        The same within each level of the control features.
    pooled : dict of attribute to dict of columns
        Mantel and Haenszel's gaps over those levels.
    confidence : float
    weighted : bool
        Whether rates are weighted by unequal sample weights; counts are rows all the same.
    small : int
        Counts below it are rounded; 0 for exact counts. `published` gives the audit with rounded ones.
    """

    task: Task
    rule: str
    cutoff: float | None
    n: int
    groups: dict[str, GroupTable]
    confidence: float
    notions: tuple[str, ...]
    strata: dict[str, dict[str, GroupTable]] = field(default_factory=dict)
    pooled: dict[str, dict[str, list[Any]]] = field(default_factory=dict)
    weighted: bool = False
    small: int = 0
    shown: Audit | None = field(default=None, repr=False)

    @property
    def proxies(self) -> tuple[str, ...]:
        """Return the attributes whose groups are given as probabilities."""
        return tuple(name for name, table in self.groups.items() if table.lines.is_proxy)

    @property
    def tables(self) -> dict[str, dict[str, NDArray[Any]]]:
        """Return the columns of each attribute's table, one entry per line; NaN has its reason in `to_frame`."""
        return {name: table.columns for name, table in self.groups.items()}

    @property
    def worst(self) -> dict[str, dict[str, Worst]]:
        """Return, per attribute, the worst gap of every notion and the selection ratio, by figure."""
        return {name: {found.figure: found for found in table.worst} for name, table in self.groups.items()}

    @property
    def sentences(self) -> tuple[str, ...]:
        """Say how decisions were made, what each notion compares, and what was found."""
        return (*self.notions, *reference_sentences(self.groups.values()), *self.found)

    @property
    def found(self) -> tuple[str, ...]:
        """Say the worst contrast of every notion, and what is pooled over control features."""
        found = [found_sentences(table, self.confidence) for table in self.groups.values()]
        pooled = [pooled_sentences(self.groups[name].lines, columns) for name, columns in self.pooled.items()]
        return tuple(sentence for sentences in (*found, *pooled) for sentence in sentences)

    def published(self) -> Audit:
        """Return the audit as it may be shared: groups of a few people pooled, small counts rounded.

        Every figure is computed from the published counts; see `fairfront.measures.disclosure`.
        """
        return self if self.shown is None else self.shown

    def check(self, requirement: str) -> tuple[Verdict, ...]:
        """Judge a requirement such as ``"selection_ratio.lower>=0.80"``: met, not met or inconclusive.

        Gaps and the ratio are the worst over pairs of groups, with ends that hold for all of them at once; the lower
        end of the ratio is that of each pair on its own, because all pairs have to hold. Other figures, such as
        ``error``, are those of all rows. ``sex.tpr_gap.upper<=0.05`` asks for one attribute.
        """
        return judge(self, requirement)

    def to_frame(self, attribute: str | None = None, backend: Literal["pandas", "polars", "pyarrow"] = "pandas") -> Any:
        """Return one attribute's table as a data frame, with a column that gives the reason of every missing value.

        Counts are exact, small ones too; use `to_dict`, or the frame of `published()`, for anything you share.
        """
        require(check_choice(backend, "backend", BACKENDS), backend, f"to_frame(backend={backend!r})")
        table = self._table(attribute)
        columns = {name: values.tolist() for name, values in table.columns.items()}
        numbers = {k: [None if v != v else v for v in values] for k, values in columns.items()}
        return nw.from_dict({**numbers, "notes": notes_of(table)}, backend=backend).to_native()

    def _table(self, attribute: str | None) -> GroupTable:
        if attribute is None and len(self.groups) == 1:
            return next(iter(self.groups.values()))
        return self.groups[str(check_choice(attribute, "attribute", self.groups))]

    def to_dict(self, *, small: int = LIMIT) -> dict[str, Any]:
        """Return everything as plain values for JSON, with words where there is no value.

        It is what `published` gives, unless ``small`` is 0: exact counts, for use where the rows are kept.
        """
        return audit_record(self.published() if check_small(small) else self)

    def __repr__(self) -> str:
        names = [f"{name} (probabilities)" if name in self.proxies else name for name in self.groups]
        return f"Audit({counted(self.n, 'row')}, {self.task.kind}, groups of {', '.join(names)}; {self.rule})"

    def _repr_html_(self) -> str:
        """Show the audit in a notebook: plain tables as they are published, because notebooks are files too."""
        return audit_html(self.to_dict(), reference_sentences(self.groups.values()))


def audit(
    y_true: Any,
    scores_or_labels: Any,
    *,
    sensitive_features: Any,
    favourable: Any = None,
    cutoff: float | None = None,
    approval_rate: float | None = None,
    costs: Mapping[str, float] | None = None,
    favourable_side: Side | None = None,
    control_features: Any = None,
    groups: Groups | None = None,
    sample_weight: Any = None,
    task: Literal["classification", "regression"] | None = None,
    confidence: float = 0.95,
    simultaneous: bool = False,
    n_resamples: int = 500,
    random_state: int | None = 0,
) -> Audit:
    """Judge any model by its decisions, scores or predictions, group by group.

    Dask collections are brought here, because these columns are narrow: 8 bytes per value and 120 per row, which must
    be at most half of the memory.

    Parameters
    ----------
    y_true : array of shape (n,)
        Labels, or values for regression (assumed where they have fractions).
    scores_or_labels : array of shape (n,) or (n, K)
        Decisions (values among the labels), or scores of two classes, or one column of scores per class.
    sensitive_features : frame, series, mapping, array or GroupProbabilities
        One attribute per column. Rows without a group and groups below ``groups.min_size`` are lines of their own.
    favourable : label, optional
        The label that is good for the person; by default the second of the sorted labels.
    cutoff, approval_rate, costs : optional
        How scores become decisions, one of: a fixed cut-off (default 0.5 for scores in [0, 1]), the share of
        favourable decisions, or ``{"false_positive": ..., "false_negative": ...}``. One cut-off for all groups.
    favourable_side : "above" or "below", optional
        The side of the cut-off that is favourable: scores at or above it, or below it. By default scores speak for
        the second label, as ``predict_proba(X)[:, 1]`` does.
    control_features : optional
        Columns whose levels are compared within, and pooled.
    groups : Groups, optional
        Reference group, crossing, and the smallest group that is compared.
    sample_weight : array of shape (n,), optional
    task : "classification" or "regression", optional
    confidence : float
        Of every interval; ``simultaneous`` makes the gaps of an attribute hold together (Bonferroni).
    n_resamples, random_state : int
        Bootstrap of figures of scores.

    Examples
    --------
    >>> import fairfront as ff
    >>> y, p, sex = [0, 1, 1, 0] * 20, [0.2, 0.9, 0.4, 0.6] * 20, ["f", "f", "m", "m"] * 20
    >>> found = ff.audit(y, p, sensitive_features={"sex": sex})
    >>> round(found.worst["sex"]["tpr_gap"].value, 2)
    1.0
    """
    warn_of_proxies(sensitive_features)
    resampling = Resampling(check_count(n_resamples, "n_resamples", most=MOST_RESAMPLES), check_seed(random_state))
    settings = Settings(check_confidence(confidence), check_flag(simultaneous, "simultaneous"), resampling)
    check_groups(groups)
    if sensitive_features is None:
        raise InputError("sensitive_features is None, expected one value per row: the group of each.")
    with spelling({"X": "y_true"}):  # an audit has no X
        here = gathered(
            y_true=y_true,
            scores_or_labels=scores_or_labels,
            sensitive_features=sensitive_features,
            control_features=control_features,
            sample_weight=sample_weight,
        )
        judged = read_judged(
            here["y_true"],
            here["scores_or_labels"],
            favourable=favourable,
            operating=Operating(cutoff, approval_rate, costs, favourable_side),
            task=task,
            sample_weight=here["sample_weight"],
        )
        columns = {name: here[name] for name in ("sensitive_features", "control_features")}
        judged, columns, idle = _without_idle(judged, columns)
        n = len(judged.truth)
        lines = lines_of(columns["sensitive_features"], n, groups or Groups())
        levels = {} if control_features is None else levels_of(columns["control_features"], n)
    found = {each.attribute: tabulate(judged, each, settings) for each in lines}
    proxies = tuple(each.attribute for each in lines if each.is_proxy)
    said = (*notion_sentences(judged), *idle, *proxy_sentences(proxies))
    weighted = judged.weight is not None and bool((judged.weight != 1.0).any())
    said = (*said, *([WEIGHTED] if weighted else []))
    result = Audit(judged.task, judged.rule, judged.cutoff, n, found, confidence, said, weighted=weighted)
    result = _within(result, judged, lines, settings, levels) if levels else result
    return replace(result, shown=_published(result, judged, settings, levels))


def _without_idle(judged: Judged, columns: dict[str, Any]) -> tuple[Judged, dict[str, Any], tuple[str, ...]]:
    """Leave out rows of weight 0, and say how many there were."""
    rows, n = weighted_rows(judged.weight), len(judged.truth)
    if rows is None:
        return judged, columns, ()
    some = {name: None if each is None else take_groups(each, rows, n) for name, each in columns.items()}
    return judged.take(rows), some, (idle_sentence(n - len(rows)),)


def _published(result: Audit, judged: Judged, settings: Settings, levels: dict[str, NDArray[np.intp]]) -> Audit:
    """Return the audit as it may be shared."""
    tables = {name: published_table(judged, table, settings) for name, table in result.groups.items()}
    shown = replace(result, groups=tables, small=LIMIT, notions=(*result.notions, ROUNDED))
    if not levels:
        return shown
    parts = {level: judged.take(rows) for level, rows in levels.items()}
    return _pooled(replace(shown, strata=published_strata(parts, tables, levels, settings)))


def _within(
    result: Audit, judged: Judged, lines: tuple[Lines, ...], settings: Settings, levels: dict[str, NDArray[np.intp]]
) -> Audit:
    """Add the tables within each level of the control features."""
    strata = {}
    for level, rows in levels.items():
        some = judged.take(rows)
        strata[level] = {each.attribute: tabulate(some, each.take(rows), settings) for each in lines}
    return _pooled(replace(result, strata=strata))


def _pooled(result: Audit) -> Audit:
    """Add gaps that are pooled over the levels of the control features."""
    by_name = {name: {level: tables[name] for level, tables in result.strata.items()} for name in result.groups}
    pooled = {name: pooled_columns(tables, result.confidence) for name, tables in by_name.items()}
    return replace(result, pooled=pooled)
