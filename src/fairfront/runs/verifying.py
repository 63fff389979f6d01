"""Verifying: make a run again from its manifest and compare, step by step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..frontier.points import LinearPoints
from .manifest import versions
from .run import Run
from .settings import Settings
from .tracing_tables import run_of

TOLERANCE = 1e-6


@dataclass(frozen=True)
class Check:
    """One comparison: what was compared, whether it agrees, and what was found."""

    what: str
    same: bool
    found: str
    decisive: bool = True


def verify_run(run: Run, data: Any, progress: Any = "auto") -> list[Check]:
    """Refit a run on data and compare: fingerprint, schema, split, losses, models, figures on validation and test.

    Other versions or another BLAS are told and decide nothing; figures may then differ in the last digits, which is
    why models count as equal up to 1e-6 of their largest coefficient.
    """
    settings = Settings.from_json(run.manifest["settings"])
    again = run_of(data, settings, progress)
    sha, known = again.manifest["data"].get("sha256"), run.manifest["data"].get("sha256")
    checks = [
        Check("data", sha == known, f"sha256 {short(sha)}, the manifest has {short(known)}"),
        _versions(run),
    ]
    for what in ("columns", "features", "split"):
        same = again.manifest[what] == run.manifest[what]
        checks.append(Check(what, same, "equal" if same else "differ"))
    return [*checks, *_frontiers(run, again), _tested(run, again)]


def short(digest: str | None) -> str:
    """Return the first digits of a fingerprint."""
    return "none" if digest is None else digest[:12]


def _versions(run: Run) -> Check:
    here, there = versions(), run.manifest["versions"]
    other = [f"{name} {there.get(name)} then, {here.get(name)} now" for name in here if here[name] != there.get(name)]
    return Check("versions", not other, "; ".join(other) or "equal", decisive=False)


def _frontiers(run: Run, again: Run) -> list[Check]:
    """Compare the points that were kept, by id."""
    old, new = run.frontier, again.frontier
    kept = [i for i in old.ids.tolist() if i in set(new.ids.tolist())]
    if len(kept) < len(old):
        return [Check("points", False, f"{len(kept)} of {len(old)} ids were found again")]
    places = [new.place(i) for i in kept]
    checks = [
        _close("training loss", old.loss, new.loss[places]),
        _close(f"training {old.facts.unit}", old.gaps, new.gaps[places]),
    ]
    if isinstance(old.points, LinearPoints) and isinstance(new.points, LinearPoints):
        checks.append(_close("coefficients", old.points.coef, new.points.coef[places]))
    return [*checks, *_figures(run, again, places)]


def _figures(run: Run, again: Run, places: list[int]) -> list[Check]:
    names = [name for name in run.frontier.column_names() if name in again.frontier.column_names()]
    one = np.column_stack([run.frontier.column(name) for name in names])
    two = np.column_stack([again.frontier.column(name)[places] for name in names])
    there = ~np.isnan(one)  # a figure that was hidden when the run was written cannot be compared
    return [_close("figures on validation", one[there], two[there])]


def _close(what: str, one: Any, two: Any) -> Check:
    if np.shape(one) != np.shape(two):
        return Check(what, False, f"shape {np.shape(two)}, the run has {np.shape(one)}")
    far = float(np.max(np.abs(np.asarray(one) - two), initial=0.0))
    scale = max(1.0, float(np.max(np.abs(one), initial=0.0)))
    return Check(
        what, far <= TOLERANCE * scale, "equal to the last bit" if far == 0 else f"differ by at most {far:.3g}"
    )


def _tested(run: Run, again: Run) -> Check:
    far = max((_distance(found, again.tested.get(id)) for id, found in run.tested.items()), default=0.0)
    words = "equal" if far == 0 else f"differ by at most {far:.3g}" if far < np.inf else "differ"
    return Check("figures on test", far <= TOLERANCE, words)


def _distance(one: Any, two: Any) -> float:
    """Return the largest relative difference of two records of figures; infinite where words or keys differ."""
    if isinstance(one, Mapping) and isinstance(two, Mapping) and one.keys() == two.keys():
        return max((_distance(one[key], two[key]) for key in one), default=0.0)
    if isinstance(one, (list, tuple)) and isinstance(two, (list, tuple)) and len(one) == len(two):
        return max((_distance(a, b) for a, b in zip(one, two, strict=True)), default=0.0)
    if isinstance(one, float) and isinstance(two, float):
        return 0.0 if one == two else abs(one - two) / max(1.0, abs(one))
    return 0.0 if one == two else float("inf")
