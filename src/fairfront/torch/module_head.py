"""trace_head: the frontier of a module's last layer on features that stay as they are, a linear model for Newton."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..exceptions import InputError
from ..frontier import Frontier, LinearModels
from ..objectives import Array
from ..tracing import trace as trace_linear
from ..validation import check_text
from .layers import heard
from .module_points import TorchPoints
from .modules import Module, Tensor, called, check_devices, chunks, copied, inputs_of, torch


def trace_head(
    module: Module, X: Any, y: Any, *, sensitive_features: Any, head: str | None = None, **options: Any
) -> Frontier:
    """Trace the exact frontier of a module's last linear layer on features that stay as they are.

    Parameters
    ----------
    module : nn.Module
        Trained; it is not changed.
    X : tensor, array, or tuple of them
        What the module takes.
    y, sensitive_features
        As in `fairfront.trace`.
    head : str, optional
        Name of the ``nn.Linear`` whose output the scores are, such as "fc"; by default the module's last one.
    **options
        As in `fairfront.trace`: notion, n_points, preferences, ridge, solver...

    Returns
    -------
    Frontier
        With Newton's certificates, which hold for the head on these features; ``select`` gives whole modules.
    """
    check_devices(module)
    parts, kind = dict(module.named_modules()), type(module).__name__
    linear = [each for each, part in parts.items() if isinstance(part, torch.nn.Linear)]
    if head is None and not linear:
        raise InputError(f"{kind} has no nn.Linear, expected one as its last layer.")
    name = linear[-1] if head is None else check_text(head, "head", "the name of an nn.Linear")
    if name not in linear:
        found = type(parts.get(name)).__name__
        raise InputError(f"head {name!r} is {found}, expected the name of an nn.Linear of {kind}.")
    layer, features = parts[name], _features(module, X, name)
    given = {"sensitive_features": sensitive_features, "fit_intercept": layer.bias is not None}
    front = trace_linear(features, y, **given, **options)
    points = front.models
    assert isinstance(points, LinearModels)
    if points.coef.shape[1] != layer.out_features:
        raise InputError(
            f"head {name!r} gives {layer.out_features} scores per row, expected {points.coef.shape[1]} for the labels."
        )
    states: list[dict[str, Tensor]] = []
    for coef, intercept in zip(points.coef, points.intercept, strict=True):
        state = {key: value.detach().clone() for key, value in module.state_dict().items()}
        for key, values in (("weight", coef), ("bias", intercept)):
            full = f"{name}.{key}" if name else key
            if full in state:
                state[full] = torch.as_tensor(values, dtype=state[full].dtype, device=state[full].device)
        states.append(state)
    made = TorchPoints(tuple(states), points.task, points.loss, layer.out_features, copied(module).eval())
    words = f"Only the last layer ({name}) was solved; the features of {kind} stayed as they were."
    facts = replace(front.facts, sentences=(*front.facts.sentences, words))
    return replace(front, models=made, facts=facts)


def _features(module: Module, X: Any, name: str) -> Array:
    """Return (n, features), with the module as it predicts."""
    work, inputs = copied(module).eval(), inputs_of(module, X)
    layer = work.get_submodule(name)
    if not len(inputs[0]):
        raise InputError("X has 0 rows, expected at least one sample.")
    with torch.no_grad(), heard([layer]) as (calls,):
        for part in chunks(inputs):
            scores, out = called(work, part), calls[-1][1] if calls else torch.empty(0)
            same = scores.numel() == out.numel() and torch.allclose(scores.reshape(-1), out.reshape(-1), equal_nan=True)
            if not same:
                raise InputError(
                    f"the scores of the module are not the output of head {name!r}, expected nothing after it; leave "
                    "out what comes last (such as a sigmoid), or name another head."
                )
    found = np.concatenate([given.double().cpu().numpy() for given, _, _ in calls])
    if found.shape != (len(inputs[0]), layer.in_features):
        raise InputError(f"the head's input has the shape {found.shape}, expected one row of features per row of X.")
    return np.asarray(found)
