"""Parts of the file that a run was traced from: drawn again by its rule and seed, as no file keeps who is in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, spelled
from ..tables import Source, infer, load, open_source
from ..tables.split import PARTS, parse_split
from ..validation import check_choice
from .manifest import check_origin, opening_of
from .rows import atoms, digest_of, people_of
from .settings import Settings


def check_part(manifest: Mapping[str, Any] | None, source: Source, data: Any, part: str) -> Mapping[str, Any]:
    """Return the manifest of a run that has the part; refuse another file than that of the run, where it had one."""
    what = spelled("part")
    if manifest is None:
        raise InputError(
            f"{what} is {part!r}, expected a model that was chosen from a run, found one without a run's manifest."
        )
    check_choice(part, "part", [name for name in PARTS if manifest["split"]["rows"].get(name)])
    if manifest["data"].get("sha256") is not None:  # a data frame has none
        check_origin(source, data, manifest["data"], f"{what} {part}")
    return manifest


def rows_of_part(manifest: Mapping[str, Any] | None, data: Any, part: str) -> NDArray[np.intp]:
    """Return the places of a part's rows in the file, from 0, in its order; another file is refused."""
    known = check_part(manifest, open_source(data, **opening_of(manifest)), data, part)
    settings = Settings.from_json(known["settings"])
    place = _places(open_source(data, **settings.opening), settings)
    if digest_of(place) != known["split"]["sha256"]:
        raise InputError(
            "the split of these rows comes out otherwise than that of the run (by its sha256), expected the rows that "
            f"it was traced from; leave {spelled('part')} out to predict all rows."
        )
    return np.flatnonzero(place == PARTS.index(part))


def _places(source: Source, settings: Settings) -> NDArray[np.int8]:
    """Return the part of every row, -1 for those that were not used; columns are read as those of the run were."""
    split = parse_split(settings.split, settings.person)
    named = (settings.target, *settings.compared, *settings.aside, *split.columns, *settings.control)
    columns = tuple(dict.fromkeys(named))
    for name in columns:
        source.check_column(name, "data")
    numbers, text = (*settings.numbers, *settings.group_probabilities), (*settings.text, *settings.groups)
    schema = infer(
        source,
        text=[name for name in columns if name in text],
        numbers=[name for name in columns if name in numbers],
        columns=columns,
        dates={name: form for name, form in settings.dates if name in columns},
        decimal=settings.decimal,
    )
    table, used, people = people_of(load(source, schema, times=split.times), settings)
    groups = people.groups if isinstance(people.groups, dict) else {}
    place = np.full(schema.n, -1, dtype=np.int8)
    place[used] = split.codes(table, atoms(people.labels, groups), settings.seed)
    return place
