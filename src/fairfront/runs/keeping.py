"""Keeping: what stays of a run after a decision; some houses must not store models that nobody chose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..exceptions import InputError
from ..frontier.subset import subset
from .run import Run


def keep_only(run: Run, ids: Sequence[int]) -> Run:
    """Rewrite a run so that only some models stay; decisions stay, the manifest says what was kept."""
    if run.path is None:
        raise InputError("the run has no folder yet, expected one that was saved; call run.save(path) first.")
    kept = sorted(set(ids))
    names = {str(id) for id in kept}
    smaller = replace(
        run,
        frontier=subset(run.frontier, kept),
        manifest={**run.manifest, "keep": "chosen", "kept_ids": kept, "shown": kept},
        tested={id: found for id, found in run.tested.items() if id in names},
        stability=_some(run, names),
        details=None,  # they compare points that are gone
    )
    smaller.save(run.path, overwrite=True)
    return smaller


def _some(run: Run, names: set[str]) -> dict[str, object]:
    found = dict(run.stability)
    if "points" in found:
        found["points"] = {id: values for id, values in found["points"].items() if id in names}
    return found
