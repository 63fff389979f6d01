"""The record of an audit, what may be required of it, and how it is written: frames, JSON, tables for notebooks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any, Literal

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, require
from ..objectives import Groups, Task, proxy_sentences, warn_of_proxies
from ..objectives.proxies import PROXY_NOTE
from ..validation import BACKENDS, check_choice, counted
from .claims import Verdict, parse_requirement, verdict_of
from .counts import Counts
from .figures import Column
from .group_table import GroupTable, tabulate
from .judged import Judged
from .lines import ALL, Lines, lines_of
from .pooled_levels import pooled_columns
from .proxy_bounds import ProxyBound, bound_sentences, bounds_of
from .sentences import found_sentences, notion_sentences, pooled_sentences, reference_sentences
from .table_columns import Settings
from .worst_contrasts import Worst

FORMAT = "fairfront audit 3"
EARLIER_FORMATS = ("fairfront audit 1", "fairfront audit 2")
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
    n : int, number of rows
    groups : dict of attribute to `GroupTable`
        Every figure of every group.
    strata : dict of level to dict of attribute to `GroupTable`
        The same within each level of the control features.
    pooled : dict of attribute to dict of columns
        Mantel and Haenszel's gaps over those levels.
    confidence : float
        Of every interval.
    notions : tuple of str
        Sentences: how decisions were made, and what each notion compares.
    weighted : bool
        Whether rates are weighted by unequal sample weights; counts are rows all the same.
    bounds : dict of attribute to tuple of bounds
        Of groups given as probabilities: what gaps can be if these are right.
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
    bounds: dict[str, tuple[ProxyBound, ...]] = field(default_factory=dict)

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
        bounds = [bound_sentences(*each) for each in self.bounds.items()]
        return tuple(sentence for sentences in (*found, *bounds, *pooled) for sentence in sentences)

    def check(self, requirement: str) -> tuple[Verdict, ...]:
        """Judge a requirement: met, not met or inconclusive, a verdict per attribute.

        Gaps and the ratio are the worst over pairs of groups, with ends that hold for all of them at once; the lower
        end of the ratio is that of each pair on its own, because all pairs have to hold. Other figures, such as
        ``error``, are those of all rows.

        Parameters
        ----------
        requirement : str
            Such as ``"selection_ratio.lower>=0.80"``; ``"sex.tpr_gap.upper<=0.05"`` asks for one attribute.
        """
        asked = parse_requirement(requirement)
        if asked.attribute is not None and asked.attribute not in self.groups:
            raise InputError(
                f"requirement {requirement!r} names {asked.attribute!r} before a dot, expected one of "
                f"{', '.join(self.groups)}; a figure is followed by .lower, .upper or nothing."
            )
        chosen = self.groups if asked.attribute is None else [asked.attribute]
        return tuple(verdict_of(self.groups[name], asked) for name in chosen)

    def to_frame(self, attribute: str | None = None, backend: Literal["pandas", "polars", "pyarrow"] = "pandas") -> Any:
        """Return one attribute's table as a data frame, with a column that gives the reason of every missing value.

        Parameters
        ----------
        attribute : str, optional
            By default the only one; to be named where there are several.
        backend : "pandas", "polars" or "pyarrow"
            Library of the frame, which has to be installed.
        """
        require(check_choice(backend, "backend", BACKENDS), backend, f"to_frame(backend={backend!r})")
        if attribute is None and len(self.groups) == 1:
            (attribute,) = self.groups
        table = self.groups[str(check_choice(attribute, "attribute", self.groups))]
        columns = {k: [None if v != v else v for v in values.tolist()] for k, values in table.columns.items()}
        plain, notes = {name: cells for name, cells in table.cells.items() if not Column.of(name).end}, []
        for i, status in enumerate(table.lines.status):  # why gaps have no value is said by the status
            found = [f"{name}: {cells[i].plain}" for name, cells in plain.items() if cells[i].reason and cells[i].meant]
            notes.append("; ".join([PROXY_NOTE, *found] if table.lines.is_proxy and status != ALL else found))
        return nw.from_dict({**columns, "notes": notes}, backend=backend).to_native()

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values for JSON, with words where there is no value."""
        groups = self.groups.items()
        result: dict[str, Any] = {
            "format": FORMAT,
            "task": self.task.kind,
            "favourable": None if self.task.favourable_label is None else str(self.task.favourable_label),
            "rule": self.rule,
            "cutoff": self.cutoff,
            "n": self.n,
            "weighted": self.weighted,
            "proxies": list(self.proxies),
            "confidence": self.confidence,
            "references": {
                name: {"group": table.lines.names[table.lines.reference], "largest": table.lines.largest}
                for name, table in groups
            },
            "tables": {name: table.readable for name, table in groups},
            "worst": {name: [worst.plain for worst in table.worst] for name, table in groups},
            "sentences": [*self.notions, *self.found],
            "found": list(self.found),
        }
        if self.strata:
            strata = {k: {name: table.readable for name, table in some.items()} for k, some in self.strata.items()}
            result |= {"strata": strata, "pooled": self.pooled}
        if any(self.bounds.values()):
            result["proxy_bounds"] = {name: [each.plain for each in some] for name, some in self.bounds.items()}
        return result

    def __repr__(self) -> str:
        names = [f"{name} (probabilities)" if name in self.proxies else name for name in self.groups]
        return f"Audit({counted(self.n, 'row')}, {self.task.kind}, groups of {', '.join(names)}; {self.rule})"

    def _repr_html_(self) -> str:
        """Show the audit in a notebook: plain tables."""
        from .evaluation_html import html_of_groups

        references = reference_sentences(self.groups.values())
        before, after = (
            [f"<p>{escape(each)}</p>" for each in said] for said in ((*self.notions, *references), self.found)
        )
        return f"<div>{''.join([*before, *map(html_of_groups, self.groups.values()), *after])}</div>"


def audits(
    models: Sequence[Judged],
    sensitive_features: Any,
    groups: Groups,
    *,
    n_resamples: int = 500,
    random_state: int | None = 0,
    left_out: Mapping[str, Sequence[str]] | None = None,
    more: tuple[str, ...] = (),
) -> Iterator[Audit]:
    """Audit several models on the same rows: groups are resolved once, and all decisions are counted in one pass.

    Groups that are ``left_out`` by attribute are shown and not compared; ``more`` figures are those of `figures.MORE`.
    """
    if not models:
        return
    warn_of_proxies(sensitive_features)
    settings = Settings(n_resamples=n_resamples, random_state=random_state, more=more, tests=False)
    first = models[0]
    lines = lines_of(sensitive_features, len(first.truth), groups, left_out)
    counts: list[Counts | None] = [None] * len(lines)
    if first.task.kind != "regression" and all(each.task == first.task for each in models):
        decided, K = np.stack([each.decided for each in models]), len(first.task.classes)
        counts = [each.counts(decided, first.truth, K, first.weight) for each in lines]
    for place, judged in enumerate(models):
        known = [None if each is None else each.take(place) for each in counts]
        yield audited(judged, list(zip(lines, known, strict=True)), settings)


def audited(
    judged: Judged,
    counted: Sequence[tuple[Lines, Counts | None]],
    settings: Settings,
    levels: Mapping[str, NDArray[np.intp]] | None = None,
    idle: Sequence[str] = (),
) -> Audit:
    """``levels`` are rows by level of the control features."""
    found = {lines.attribute: tabulate(judged, lines, settings, counts) for lines, counts in counted}
    proxies = tuple(lines.attribute for lines, _ in counted if lines.is_proxy)
    weighted = judged.weight is not None and bool((judged.weight != 1.0).any())
    said = (
        *notion_sentences(judged, settings.more),
        *idle,
        *proxy_sentences(proxies),
        *([WEIGHTED] if weighted else []),
    )
    about = (judged.task, judged.rule, judged.cutoff, len(judged.truth))
    bounds = bounds_of(judged, [each for each, _ in counted])
    result = Audit(*about, found, settings.confidence, said, weighted=weighted, bounds=bounds)
    if not levels:
        return result
    strata: dict[str, dict[str, GroupTable]] = {}
    for level, rows in levels.items():
        inside = judged.take(rows)
        strata[level] = {lines.attribute: tabulate(inside, lines.take(rows), settings) for lines, _ in counted}
    pooled = {
        name: pooled_columns([tables[name] for tables in strata.values()], judged.task.favourable, settings.confidence)
        for name in found
    }
    return replace(result, strata=strata, pooled=pooled)
