"""Facts as JSON: names, words and settings; settings are found again by name in the registries.

Names of groups that were left out as too small are not written, only how many there were. A setting of a user's own
class has no name to be found by: then the recipe stays out, and with it what solves points again.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from ..exceptions import FairfrontWarning, InputError
from ..objectives import GAPS, LOSSES, NOTIONS, Groups
from ..registry import Registry
from ..solvers import Newton
from .candidate_points import CandidateFacts
from .estimator_points import EstimatorFacts
from .facts import Facts
from .saving_points import task_content, task_of

REGISTRIES: dict[str, Registry[Any]] = {"notion": NOTIONS, "loss": LOSSES, "gap": GAPS}
SETTINGS: dict[str, type] = {"groups": Groups, "newton": Newton}
FACTS: dict[str, type[Facts]] = {"traced": Facts, "candidates": CandidateFacts, "estimators": EstimatorFacts}
SPECIAL = ("task", "left_out", "unnamed", "recipe", "newton")


class _NamelessError(Exception):
    """A setting that no registry knows."""


def facts_content(facts: Facts) -> dict[str, Any]:
    """Return facts for JSON; warn where settings of a user's own keep the recipe out."""
    kind = next((name for name, known in FACTS.items() if known is type(facts)), None)
    if kind is None:
        raise InputError(f"facts of type {type(facts).__name__} cannot be saved, expected those of a frontier.")
    plain = {each.name: getattr(facts, each.name) for each in fields(facts) if each.name not in SPECIAL}
    return {
        "kind": kind,
        "task": task_content(facts.task),
        "left_out": facts.told_left_out,
        **_settings(facts),
        "plain": plain,
    }


def _settings(facts: Facts) -> dict[str, Any]:
    try:
        return {
            "recipe": {name: _setting(value) for name, value in facts.recipe.items()},
            "newton": _setting(facts.newton),
        }
    except _NamelessError as error:
        warnings.warn(
            f"{error} is not registered, so the settings are not saved: refine and stability will not be available "
            "after loading; register it to keep them.",
            FairfrontWarning,
            stacklevel=2,
        )
        return {"recipe": {}, "newton": _setting(Newton())}


def _setting(value: Any) -> Any:
    """Return a setting for JSON: what it is, its name, and its parameters."""
    if isinstance(value, (tuple, list)):
        return {"are": [_setting(each) for each in value]}
    for kind, registry in REGISTRIES.items():
        name = getattr(value, "name", None)
        if isinstance(name, str) and name in registry and type(value) is registry[name]:
            return {"is": kind, "name": name, "with": _parameters(value)}
    for kind, known in SETTINGS.items():
        if type(value) is known:
            return {"is": kind, "with": _parameters(value)}
    if value is None or isinstance(value, (str, int, float, np.generic)):
        return {"value": value}
    raise _NamelessError(type(value).__name__)


def _parameters(value: Any) -> dict[str, Any]:
    return {each.name: getattr(value, each.name) for each in fields(value) if each.init}


def facts_of_content(content: Mapping[str, Any]) -> Facts:
    """Return the facts that `facts_content` was given, without the names of groups of very few rows."""
    if content["kind"] not in FACTS:
        raise InputError(f"facts are of the kind {content['kind']!r}, which this version does not know; upgrade.")
    known = FACTS[content["kind"]]
    plain = {name: _tuples(value) for name, value in content["plain"].items()}
    unknown = set(plain) - {each.name for each in fields(known)}
    if unknown:
        raise InputError(f"facts have {min(unknown)!r}, which this version does not know; upgrade fairfront.")
    return known(
        task=task_of(content["task"]),
        left_out=_tuples(content["left_out"]),
        recipe={name: _of_setting(value) for name, value in content["recipe"].items()},
        newton=_of_setting(content["newton"]),
        **plain,
    )


def _tuples(value: Any) -> Any:
    return tuple(_tuples(each) for each in value) if isinstance(value, list) else value


def _of_setting(content: Mapping[str, Any]) -> Any:
    if "are" in content:
        return tuple(_of_setting(each) for each in content["are"])
    if "is" not in content:
        return content["value"]
    kind = content["is"]
    if kind in SETTINGS:
        return SETTINGS[kind](**content["with"])
    if kind not in REGISTRIES:
        raise InputError(f"a setting is a {kind!r}, which this version does not know; upgrade fairfront.")
    return REGISTRIES[kind][content["name"]](**content["with"])
