"""Keeping: what stays of a run after a decision; some houses must not store models that nobody chose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..exceptions import InputError
from ..frontier.selection import subset
from .records import with_earlier
from .run import Run


def keep_only(run: Run, ids: Sequence[int], key: Any = None) -> Run:
    """Rewrite a run so that only some models stay; decisions stay, the manifest says what was kept."""
    if run.path is None:
        raise InputError("the run has no folder yet, expected one that was saved; call run.save(path) first.")
    smaller = pruned(run, ids)
    smaller.write(run.path, overwrite=True, key=key)
    return smaller


def pruned(run: Run, ids: Sequence[int]) -> Run:
    """Return a run of some of its points, whose manifest names them and the run's checksum before."""
    kept = sorted(set(ids))
    names = {str(id) for id in kept}
    return replace(
        run,
        frontier=subset(run.frontier, kept),
        manifest={**with_earlier(run.manifest, run.checksum), "keep": "chosen", "kept_ids": kept, "shown": kept},
        tested={id: found for id, found in run.tested.items() if id in names},
        stability=_some(run, names),
        details=None,  # they compare points that are gone
    )


def _some(run: Run, names: set[str]) -> dict[str, object]:
    found = dict(run.stability)
    if "points" in found:
        found["points"] = {id: values for id, values in found["points"].items() if id in names}
    return found
