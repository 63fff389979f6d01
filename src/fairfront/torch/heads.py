"""The last layer alone: frozen features, and the Newton tracer on the head of any network."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..exceptions import InputError
from ..frontier import Frontier, LinearPoints
from ..objectives import Array
from ..tracing import trace as trace_linear
from ..validation import check_text
from .backend import Module, Tensor, torch
from .modules import check_devices, copied
from .points import CHUNK, TorchPoints
from .scoring import as_inputs, n_rows, take


def trace_head(
    module: Module, X: Any, y: Any, *, sensitive_features: Any, head: str | None = None, **options: Any
) -> Frontier:
    """Trace the exact frontier of a module's last linear layer on features that stay as they are.

    Parameters
    ----------
    module : nn.Module
        Trained; it is not changed.
    head : str, optional
        Name of the ``nn.Linear`` whose output the scores are, such as "fc"; by default the module's last one.
    **options
        As in `fairfront.trace`: notion, n_points, preferences, ridge, solver...

    Returns
    -------
    Frontier
        With Newton's certificates, which hold for the head on these features; ``select`` gives whole modules.
    """
    name, layer = _found(module, head)
    features = head_features(module, X, layer)
    front = trace_linear(
        features, y, sensitive_features=sensitive_features, fit_intercept=layer.bias is not None, **options
    )
    points = front.points
    assert isinstance(points, LinearPoints)
    if points.coef.shape[1] != layer.out_features:
        raise InputError(
            f"head {name!r} gives {layer.out_features} scores per row, expected {points.coef.shape[1]} for the labels."
        )
    states = tuple(_state(module, name, points, place) for place in range(len(points)))
    blank = copied(module).eval()
    made = TorchPoints(states, points.task, points.loss, layer.out_features, blank)
    words = f"Only the last layer ({name}) was solved; the features of {type(module).__name__} stayed as they were."
    facts = replace(front.facts, sentences=(*front.facts.sentences, words))
    return replace(front, points=made, facts=facts)


def _found(module: Module, head: str | None) -> tuple[str, Module]:
    """Return the name of the head and the layer itself."""
    check_devices(module)
    name = _last(module) if head is None else check_text(head, "head", "the name of an nn.Linear")
    layer = dict(module.named_modules()).get(name)
    if not isinstance(layer, torch.nn.Linear):
        raise InputError(
            f"head {name!r} is {type(layer).__name__}, expected the name of an nn.Linear of {type(module).__name__}."
        )
    return name, layer


def _last(module: Module) -> str:
    found = [name for name, part in module.named_modules() if isinstance(part, torch.nn.Linear)]
    if not found:
        raise InputError(f"{type(module).__name__} has no nn.Linear, expected one as its last layer.")
    return str(found[-1])


def head_features(module: Module, X: Any, layer: Module) -> Array:
    """Return what goes into a layer, (n, features), with the module as it predicts."""
    work = copied(module).eval()
    place = next(name for name, part in module.named_modules() if part is layer)
    seen: list[tuple[Tensor, Tensor]] = []
    hook = dict(work.named_modules())[place].register_forward_hook(lambda _, given, out: seen.append((given[0], out)))
    first = next(work.parameters())
    inputs = as_inputs(X, first.dtype, first.device)
    if not n_rows(inputs):
        raise InputError("X has 0 rows, expected at least one sample.")
    with torch.no_grad():
        for start in range(0, n_rows(inputs), CHUNK):
            part = take(inputs, slice(start, start + CHUNK))
            _check_last(_passed(work, part), seen, place)
    hook.remove()
    found = np.concatenate([each.double().cpu().numpy() for each, _ in seen])
    if found.shape != (n_rows(inputs), layer.in_features):
        raise InputError(f"the head's input has the shape {found.shape}, expected one row of features per row of X.")
    return np.asarray(found)


def _passed(module: Module, part: Any) -> Tensor:
    try:
        return module(*(part if isinstance(part, tuple) else (part,)))
    except (RuntimeError, TypeError, IndexError) as error:
        raise InputError(f"{type(module).__name__} cannot take X ({error}); expected rows as in training.") from error


def _check_last(scores: Tensor, seen: list[tuple[Tensor, Tensor]], name: str) -> None:
    """Refuse a head that is not called, or whose output is not what the module gives: its frontier is another one."""
    same = seen and scores.numel() == seen[-1][1].numel()
    if not same or not torch.allclose(scores.reshape(-1), seen[-1][1].reshape(-1), equal_nan=True):
        raise InputError(
            f"the scores of the module are not the output of head {name!r}, expected nothing after it; leave out what "
            "comes last (such as a sigmoid), or name another head."
        )


def _state(module: Module, name: str, points: LinearPoints, place: int) -> dict[str, Tensor]:
    """Return the module's state with the head of one point."""
    state = {key: value.detach().clone() for key, value in module.state_dict().items()}
    prefix = f"{name}." if name else ""
    for key, values in ((f"{prefix}weight", points.coef), (f"{prefix}bias", points.intercept)):
        if key in state:
            state[key] = torch.as_tensor(values[place], dtype=state[key].dtype, device=state[key].device)
    return state
