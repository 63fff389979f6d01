"""Contrasts: the averages that comparisons need, and the gaps between these.

Inside strata each group has an average per stratum, and a gap is that of one stratum or a weighted sum over strata.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, spelled
from ..validation import exact_count
from .cells import Ints, find_atoms
from .comparisons import Comparison, Notion
from .groups import Attribute, Groups
from .losses import Array
from .strata import Strata
from .surrogates import Quantity

Mask = NDArray[np.bool_]
Terms = tuple[tuple[int, float], ...]
"""Averages with their weights in a gap."""
Pair = tuple[int, int | None]
Stratum = int | None


@dataclass(frozen=True, eq=False)
class Planned:
    """An average that comparisons need: a quantity over the atoms ``inside`` (a,), those with these labels."""

    inside: Mask
    quantity: Quantity
    labels: tuple[int, ...] | None
    name: str


@dataclass(frozen=True)
class Contrast:
    """One gap: a sum of averages times their weights, such as the first minus the second."""

    terms: tuple[tuple[int, float], ...]
    name: str
    notion: int
    two_sided: bool
    floor: float


class Plan:
    """Averages (masks of atoms) and contrasts, as one comparison after the other asks for them."""

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
        self.averages: list[Planned] = []
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
        overall = self._overall(comparison)
        pairs = _pairs(len(levels), kind == "each" or overall, self.even)
        found: dict[Pair, list[tuple[Terms, float, Stratum]]] = {pair: [] for pair in pairs}
        for stratum in (None,) if self.strata is None else range(len(self.strata.levels)):
            usable = self._usable(comparison, attribute, stratum)
            some = [pair for pair in pairs if all(each is None or each in usable for each in pair)]
            if not some:
                assert self.strata is not None
                assert stratum is not None
                self.small[self.strata.levels[stratum]] = None
                continue
            names = {level: f"{prefix}{levels[level]}{suffix}{self._inside(stratum)}" for level in usable}
            of = {level: self._average(comparison, place, level, stratum, name) for level, name in names.items()}
            weight = {level: float(self.atoms.weights[self.averages[of[level]].inside].sum()) for level in usable}
            _check_weights(weight, attribute, comparison, notion)
            everyone: Terms = ()
            if overall:
                name = f"everyone{suffix}{self._inside(stratum)}"
                everyone = ((self._average(comparison, place, None, stratum, name), -1.0),)
            for i, j in some:
                terms = ((of[i], 1.0), *everyone) if j is None else ((of[i], 1.0), (of[j], -1.0))
                pooled = _mantel_haenszel([weight[each] for each in (i, j) if each is not None])
                found[i, j].append((terms, pooled, stratum))
        self._contrast(found, levels, (prefix, f"{' - everyone' * overall}{suffix}"), notion, index)

    def _overall(self, comparison: Comparison) -> bool:
        """Tell whether each group is compared with everyone; refuse gaps that have both orders of a pair."""
        if self.groups.compare == "pairs" or comparison.contrast == "each":
            return False
        if not self.even:
            raise InputError(
                f"compare={self.groups.compare!r} needs a gap that is the same both ways, found one that rewards one "
                "sign; use compare='pairs' or gap='squared'."
            )
        return True

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
        """Make gaps of the averages of each pair: one per stratum, or one that pools them."""
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
                pooled = tuple((average, sign * w / total) for terms, w, _ in some for average, sign in terms)
                self.contrasts.append(Contrast(pooled, f"{name} | within {self.strata.name}", *known))

    def _usable(self, comparison: Comparison, attribute: Attribute, stratum: Stratum) -> tuple[int, ...]:
        """Return the groups with enough rows of the kind that is compared; all of them where there are no strata."""
        if stratum is None or self.strata is None:
            return tuple(range(len(attribute.levels)))
        rows, labels = self.strata.codes == stratum, comparison.labels
        kept = rows if labels is None else rows & np.isin(self.labels, labels)
        return tuple(np.flatnonzero(attribute.sizes(kept) >= self.groups.min_size).tolist())

    def _average(self, comparison: Comparison, place: int, level: int | None, stratum: Stratum, name: str) -> int:
        """Add the average of a level, or of all levels (None), and return its place."""
        inside = self.atoms.belongs(place, level, comparison.labels)
        if stratum is not None:
            inside = inside & (self.atoms.keys[:, 1 + len(self.attributes)] == stratum)
        self.averages.append(Planned(inside, comparison.quantity, comparison.labels, name))
        return len(self.averages) - 1


def _mantel_haenszel(weights: list[float]) -> float:
    """Return what a stratum counts where two groups have these weights in it, or one group alone."""
    total = sum(weights)
    return total if len(weights) == 1 else weights[0] * weights[1] / max(total, 1e-300)


def _check_weights(weight: dict[int, float], attribute: Attribute, comparison: Comparison, notion: Notion) -> None:
    if min(weight.values()) <= 0.0:
        empty = ", ".join(repr(attribute.levels[i]) for i, w in weight.items() if w <= 0.0)
        found = ", ".join(f"{attribute.levels[i]} {exact_count(w)}" for i, w in weight.items())
        which = (
            "" if comparison.labels is None else f" with {comparison.words}" if comparison.words else " of every label"
        )
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
