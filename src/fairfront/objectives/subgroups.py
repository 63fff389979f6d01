"""Subgroups: all combinations of groups of one or more sensitive columns, each compared with everyone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, spelled
from .cells import Atoms
from .groups import MISSING, Attribute
from .losses import Array
from .strata import Strata

COMBINED = -1
"""Place of the combinations among attributes, which have places from 0 on."""
MOST = 20_000  # combinations: seven columns of two groups have 2 186


@dataclass(frozen=True, eq=False)
class Subgroups:
    """Combinations by name, and the atoms of each, (combinations, a)."""

    names: tuple[str, ...]
    masks: NDArray[np.bool_]
    notes: tuple[str, ...]

    @classmethod
    def of(
        cls,
        atoms: Atoms,
        attributes: tuple[Attribute, ...],
        kinds: Iterable[tuple[int, ...] | None],
        min_size: int,
        counts: Array | None,
        strata: Strata | None,
    ) -> Subgroups:
        """Find combinations with ``min_size`` rows of every kind of labels that is compared."""
        if any(attribute.shares is not None for attribute in attributes):
            raise InputError("compare='subgroups' needs the group of every row, found probabilities; use 'pairs'.")
        if strata is not None:
            raise InputError("compare='subgroups' was given with control_features, expected one; leave one out.")
        if (total := prod(1 + len(each.levels) for each in attributes) - 1) > MOST:
            raise InputError(
                f"compare='subgroups' has {total} combinations of groups, expected at most {MOST}; give fewer columns, "
                "or columns with fewer groups."
            )
        rows, labels = atoms.rows(counts), atoms.keys[:, 0]
        sizes = np.stack([rows * (True if of is None else np.isin(labels, of)) for of in (None, *kinds)])
        names, masks = [], []
        for chosen in product(*(range(-1, len(each.levels)) for each in attributes)):
            if max(chosen) < 0:
                continue
            mask = np.all([atoms.keys[:, 1 + i] == c for i, c in enumerate(chosen) if c >= 0], axis=0)
            if (sizes @ mask).min() >= min_size:
                told = [f"{each.name}={each.levels[c]}" for each, c in zip(attributes, chosen, strict=True) if c >= 0]
                names.append(" & ".join(told))
                masks.append(mask & (atoms.weights > 0.0))
        if not names:
            raise InputError(
                f"no combination of groups has {min_size} rows to compare; lower "
                f"{spelled('min_size', 'groups=Groups(min_size=...)')}."
            )
        said = (
            f"{len(names)} combinations of groups are compared with everyone; {total - len(names)} with fewer than "
            f"{min_size} rows to compare are in no gap."
        )
        return cls(tuple(names), np.array(masks), (said,))

    def belongs(self, atoms: Atoms, level: int | None, labels: tuple[int, ...] | None) -> NDArray[np.bool_]:
        """Return atoms of a combination (None: everyone with a group) whose label is among ``labels`` (None: any)."""
        everyone = (atoms.keys[:, 1:] != MISSING).any(axis=1) & (atoms.weights > 0.0)
        mask = everyone if level is None else self.masks[level]
        return np.asarray(mask if labels is None else mask & np.isin(atoms.keys[:, 0], labels))
