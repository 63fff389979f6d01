"""Contrasts: the averages that comparisons need, the figures made of them, and the gaps between these.

Inside strata each group has an average per stratum, and a gap is that of one stratum or a weighted sum over strata.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, spelled
from .cells import Ints, find_atoms
from .comparisons import Comparison, Notion, Part
from .curves import Curve
from .groups import Attribute, Groups
from .losses import Array
from .people import counts_in_words
from .strata import Strata

Mask = NDArray[np.bool_]
Terms = tuple[tuple[int, float], ...]
"""Figures with their weights in a gap."""
Pair = tuple[int, int | None]
Stratum = int | None


@dataclass(frozen=True)
class Figure:
    """What contrasts compare: a curve of some averages, or one average itself."""

    curve: Curve | None
    averages: tuple[int, ...]
    name: str


@dataclass(frozen=True)
class Contrast:
    """One gap: a sum of figures times their weights, such as the first minus the second."""

    terms: tuple[tuple[int, float], ...]
    name: str
    notion: int
    two_sided: bool
    floor: float


class Plan:
    """Averages (masks of atoms), figures and contrasts, as one comparison after the other asks for them."""

    def __init__(
        self,
        labels: Ints,
        attributes: tuple[Attribute, ...],
        sample_weight: Array | None,
        even: bool,
        strata: Strata | None,
        groups: Groups,
    ) -> None:
        within = () if strata is None else (Attribute(strata.name, strata.levels, strata.codes),)
        self.atoms = find_atoms(labels, (*attributes, *within), sample_weight)
        self.labels, self.attributes, self.even, self.strata, self.groups = labels, attributes, even, strata, groups
        self.averages: list[tuple[Mask, tuple[Part, str], Mask | None]] = []
        self.figures: list[Figure] = []
        self.contrasts: list[Contrast] = []
        self.small: dict[str, None] = {}

    def notes(self) -> tuple[str, ...]:
        """Say what groups are compared with and within, and what is not compared."""
        if self.strata is None:
            return ("Each group is compared with everyone.",) * (self.groups.compare == "overall")
        how = "gaps are pooled over its levels" if self.groups.strata == "pooled" else "the gap of each level counts"
        said = [f"Groups are compared within {self.strata.name}: {how}."]
        if self.small:
            said.append(
                f"Levels of {self.strata.name} in which fewer than two groups have {self.groups.min_size} rows to "
                f"compare are in no gap: {', '.join(self.small)}."
            )
        return tuple(said)

    def compare(
        self, comparison: Comparison, notion: Notion, index: int, place: int, attribute: Attribute, prefix: str
    ) -> None:
        levels, kind = attribute.levels, comparison.contrast
        suffix = f" | {comparison.words}" if comparison.words else ""
        parts = comparison.parts or (Part(comparison.quantity, comparison.labels),)
        overall = self._overall(comparison, notion)
        pairs = _pairs(len(levels), kind == "each" or overall, self.even and kind != "both orders")
        found: dict[Pair, list[tuple[Terms, float, Stratum]]] = {pair: [] for pair in pairs}
        for stratum in (None,) if self.strata is None else range(len(self.strata.levels)):
            usable = self._usable(parts, attribute, stratum)
            some = [pair for pair in pairs if all(each is None or each in usable for each in pair)]
            if not some:
                assert self.strata is not None
                assert stratum is not None
                self.small[self.strata.levels[stratum]] = None
                continue
            names = {level: f"{prefix}{levels[level]}{suffix}{self._inside(stratum)}" for level in usable}
            of_level = [self._averages(part, place, names, stratum) for part in parts]
            for part, averages in zip(parts, of_level, strict=True):
                weights = [self._weight(averages[level]) for level in usable]
                _check_weights(weights, attribute, usable, part, comparison.words, notion)
            terms = self._figures(comparison, parts, of_level, names, levels, some)
            if overall:
                terms = self._less_everyone(comparison, parts, place, terms, stratum)
            rows = self._averages(Part(comparison.quantity, comparison.labels), place, names, stratum, count=True)
            for pair in some:
                found[pair].append((terms[pair], _mantel_haenszel([rows[i] for i in pair if i is not None]), stratum))
        self._contrast(found, levels, (prefix, f"{' - everyone' * overall}{suffix}"), notion, index)

    def _overall(self, comparison: Comparison, notion: Notion) -> bool:
        """Tell whether each group is compared with everyone; refuse notions that compare two groups otherwise."""
        if self.groups.compare == "pairs" or comparison.contrast == "each":
            return False
        if comparison.contrast != "pairs" or not self.even:
            raise InputError(
                f"compare={self.groups.compare!r} needs differences of each group from everyone, which {notion.name!r} "
                "has none of, or a gap that rewards one sign; use compare='pairs'."
            )
        return True

    def _less_everyone(
        self, comparison: Comparison, parts: tuple[Part, ...], place: int, terms: dict[Pair, Terms], stratum: Stratum
    ) -> dict[Pair, Terms]:
        """Add the figure of everyone, and return what each group has more of than that."""
        name = f"everyone{f' | {comparison.words}' if comparison.words else ''}{self._inside(stratum)}"
        whole = [self._averages(replace(part, whose="everyone"), place, {0: name}, stratum)[0] for part in parts]
        self.figures.append(Figure(comparison.curve, tuple(whole), name))
        return {pair: (*each, (len(self.figures) - 1, -1.0)) for pair, each in terms.items()}

    def _inside(self, stratum: Stratum) -> str:
        assert self.strata is not None or stratum is None
        return "" if stratum is None or self.strata is None else f" | {self.strata.name}={self.strata.levels[stratum]}"

    def _contrast(
        self,
        found: dict[Pair, list[tuple[Terms, float, Stratum]]],
        levels: tuple[str, ...],
        around: tuple[str, str],
        notion: Notion,
        index: int,
    ) -> None:
        """Make gaps of the figures of each pair: one per stratum, or one that pools them."""
        if not any(found.values()):
            assert self.strata is not None
            raise InputError(
                f"{spelled('control_features')}: no level of {self.strata.name!r} has two groups with at least "
                f"{self.groups.min_size} rows to compare, expected one at least; take fewer levels, or lower "
                f"{spelled('min_size', 'groups=Groups(min_size=...)')}."
            )
        known = (index, notion.two_sided, notion.floor)
        for (i, j), some in found.items():
            name = f"{around[0]}{levels[i] if j is None else f'{levels[i]} - {levels[j]}'}{around[1]}"
            if self.strata is None or self.groups.strata == "each":
                for terms, _, stratum in some:
                    self.contrasts.append(Contrast(terms, f"{name}{self._inside(stratum)}", *known))
            elif some:
                total = sum(weight for _, weight, _ in some)
                pooled = tuple((figure, sign * w / total) for terms, w, _ in some for figure, sign in terms)
                self.contrasts.append(Contrast(pooled, f"{name} | within {self.strata.name}", *known))

    def _usable(self, parts: tuple[Part, ...], attribute: Attribute, stratum: Stratum) -> tuple[int, ...]:
        """Return the groups with enough rows of every kind that is compared; all of them where there are no strata."""
        if stratum is None or self.strata is None:
            return tuple(range(len(attribute.levels)))
        rows, enough = self.strata.codes == stratum, np.ones(len(attribute.levels), dtype=bool)
        for labels in {part.labels for part in parts}:
            kept = rows if labels is None else rows & np.isin(self.labels, labels)
            enough &= attribute.sizes(kept) >= self.groups.min_size
        return tuple(np.flatnonzero(enough).tolist())

    def _averages(
        self, part: Part, place: int, names: dict[int, str], stratum: Stratum, count: bool = False
    ) -> dict[int, Any]:
        """Add the average of each level, or one of all levels that is the same for each; or ``count`` their weights."""
        atoms = self.atoms
        inner = np.ones(len(atoms.weights), dtype=bool)
        if stratum is not None:
            inner = atoms.keys[:, 1 + len(self.attributes)] == stratum
        if count:
            return {i: float(atoms.weights[atoms.belongs(place, i, part.labels) & inner].sum()) for i in names}
        every = atoms.belongs(place, None, part.labels) & inner
        found: dict[int, int] = {}
        for level, name in names.items():
            if part.whose == "everyone" and found:
                found[level] = next(iter(found.values()))
                continue
            inside = every if part.whose == "everyone" else atoms.belongs(place, level, part.labels) & inner
            whole = None if part.whose == "everyone" else level
            of = atoms.belongs(place, whole, None) & inner if part.joint else None
            found[level] = len(self.averages)
            self.averages.append((inside, (part, name), of))
        return found

    def _weight(self, average: int) -> float:
        return float(self.atoms.weights[self.averages[average][0]].sum())

    def _figures(
        self,
        comparison: Comparison,
        parts: tuple[Part, ...],
        of_level: list[dict[int, int]],
        names: dict[int, str],
        levels: tuple[str, ...],
        pairs: list[Pair],
    ) -> dict[Pair, Terms]:
        """Add the figures of all levels, or of both orders of each pair, and return what each pair compares."""
        curve = comparison.curve
        if comparison.contrast != "crossed":
            place = {}
            for level, name in names.items():
                place[level] = len(self.figures)
                self.figures.append(Figure(curve, tuple(each[level] for each in of_level), name))
            return {(i, j): ((place[i], 1.0),) if j is None else ((place[i], 1.0), (place[j], -1.0)) for i, j in pairs}
        found: dict[Pair, Terms] = {}
        for i, j in pairs:
            assert j is not None
            for one, other in ((i, j), (j, i)):
                of = (a[other if part.whose == "other" else one] for part, a in zip(parts, of_level, strict=True))
                self.figures.append(Figure(curve, tuple(of), f"{levels[one]} above {levels[other]}"))
            found[i, j] = ((len(self.figures) - 2, 1.0), (len(self.figures) - 1, -1.0))
        return found


def _mantel_haenszel(weights: list[float]) -> float:
    """Return what a stratum counts where two groups have these weights in it, or one group alone."""
    total = sum(weights)
    return total if len(weights) == 1 else weights[0] * weights[1] / max(total, 1e-300)


def _check_weights(
    weights: list[float], attribute: Attribute, usable: tuple[int, ...], part: Part, words: str, notion: Notion
) -> None:
    if min(weights) <= 0.0:
        levels = [attribute.levels[i] for i in usable]
        empty = ", ".join(f"{level!r}" for level, w in zip(levels, weights, strict=True) if w <= 0.0)
        found = ", ".join(counts_in_words(levels, weights))
        which = "" if part.labels is None else f" with {words}" if words else " of every label"
        raise InputError(
            f"notion {notion.name!r} needs rows{which} in every group of {attribute.name!r}, "
            f"found none in {empty} (weight per group: {found}); merge groups, or leave small ones out "
            f"with {spelled('min_size', 'groups=Groups(min_size=...)')}."
        )


def _pairs(n: int, each: bool, even: bool) -> list[Pair]:
    """Each of n groups by itself, or all pairs, in both orders where phi is not even."""
    if each:
        return [(i, None) for i in range(n)]
    return [pair for i, j in combinations(range(n), 2) for pair in ((i, j), (j, i))[: 1 if even else 2]]
