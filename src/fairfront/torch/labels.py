"""Frontiers of several labels per row, one label at a time: then all that judges a single label serves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..exceptions import InputError
from ..frontier import Frontier
from ..validation import check_instance, is_whole, refuse
from .layouts import label_tag
from .points import TorchPoints


def of_label(front: Frontier, label: int) -> Frontier:
    """Return a frontier of several labels per row as seen by one of them, to evaluate, plot and select on.

    Models and loss (the mean over labels) stay; gaps are those of this label. ``select`` gives whole modules.

    Parameters
    ----------
    front : Frontier
        Of `trace` with several columns in y.
    label : int
        Which column of y, from 0.
    """
    points = check_instance(front, Frontier, "front", "a Frontier").points
    if not isinstance(points, TorchPoints) or not points.tasks:
        raise InputError("this frontier has a single label per row, expected several; use it as it is.")
    if not is_whole(label) or not 0 <= label < len(points.tasks):
        raise refuse("label", label, f"a column of y from 0 to {len(points.tasks) - 1}")
    tag = label_tag(label)
    own = np.array([name.startswith(tag) for name in front.objective_names[1:]])
    mine = np.array([name.startswith(tag) for name in front.facts.notions])
    wide = np.concatenate([[True], own])
    task = points.tasks[label]
    return replace(
        front,
        points=replace(points, task=task, tasks=(), column=label),
        objectives=front.objectives[:, wide],
        gaps=front.gaps[:, mine],
        signed_gaps=front.signed_gaps[:, own],
        objective_names=_without(tag, front.objective_names, wide),
        preferences=front.preferences[:, wide],
        facts=replace(front.facts, task=task, notions=_without(tag, front.facts.notions, mine)),
        evaluations={},
    )


def _without(tag: str, names: tuple[str, ...], which: np.ndarray) -> tuple[str, ...]:
    return tuple(name.removeprefix(tag) for name, kept in zip(names, which, strict=True) if kept)
