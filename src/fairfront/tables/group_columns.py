"""Columns of groups: texts as they are, or numbers cut into bands."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from ..exceptions import InputError
from ..objectives.bands import band_of
from .notation import number_of
from .roles import Codes
from .table import Table

MAX_GROUPS, MAX_NUMBERS = 50, 12


def read_groups(
    table: Table,
    names: Sequence[str],
    bands: Mapping[str, Sequence[float]] | None = None,
    allow: Collection[str] | None = None,
) -> dict[str, Codes]:
    """Return group columns as texts with None for missing ones; columns with too many values are refused.

    Numbers are cut at the edges of their ``bands``; without them, more than twelve are refused unless in ``allow``.
    """
    return {name: _group(table, name, (bands or {}).get(name), allow) for name in names}


def _group(table: Table, name: str, edges: Sequence[float] | None, allow: Collection[str] | None) -> Codes:
    column = table.column(name)
    codes, found = column.distinct()
    texts: Sequence[str | None] = column.texts(found) if column.named else []
    if edges is not None and column.named:
        bands = [band_of(text, edges, name) for text in texts]
        texts = list(dict.fromkeys(bands))
        codes = np.array([*(texts.index(band) for band in bands), -1], dtype=np.intp)[codes]
        found = np.arange(len(texts))
    numbers = edges is None and texts and all(np.isfinite(number_of(str(text))) for text in texts)
    most = MAX_NUMBERS if numbers and name not in (allow or ()) else MAX_GROUPS
    if len(found) > most or not column.named:
        remedy = "merge them into fewer groups, or choose another column"
        if numbers:
            remedy = f"cut the numbers into bands, such as {name}:bands=25,40,65"
            possible = allow is not None and len(found) <= MAX_GROUPS
            remedy += f", or keep codes with --allow {shlex.quote(name)}" if possible else ""
        raise InputError(
            f"group column {name!r} has {len(found) if column.named else column.n_levels} values in {table.n} rows, "
            f"expected at most {most} groups; {remedy}."
        )
    if len(found) < 2:
        what = f"one value only ({texts[0]!r})" if texts else "no value at all"
        raise InputError(f"group column {name!r} has {what}, expected 2 to {MAX_GROUPS} groups; choose another column.")
    return Codes.of(codes, np.array([*texts, None], dtype=object))
