"""Checkpoints: one file from which training goes on as if it had never stopped.

Tensors are stored by safetensors, all else as JSON in its header; nothing is executed when it is read, and the file is
replaced in one piece, so that a kill leaves the last whole one.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from ..exceptions import InputError
from ..storage.documents import read_bytes
from ..storage.encoding import decode, encode
from ..storage.folders import write_file
from .backend import Tensor, safetensors, torch

KIND = "fairfront torch checkpoint 1"


def write_checkpoint(path: Any, parts: dict[str, Any]) -> None:
    """Write nested mappings and lists of tensors, numbers and text."""
    tensors: dict[str, Tensor] = {}
    content = json.dumps(encode(_apart(parts, "", tensors)))
    write_file(
        path,
        safetensors().save(tensors, {"format": KIND, "content": content}),
        overwrite=True,
        own=_is_tensors,
        private=True,
    )


def _is_tensors(head: bytes) -> bool:
    return b'"__metadata__"' in head[:32]


def read_checkpoint(path: Any) -> dict[str, Any]:
    """Return what `write_checkpoint` was given, or say that the file is something else."""
    data = read_bytes(path)
    try:
        size = int.from_bytes(data[:8], "little")
        header = json.loads(data[8 : 8 + size]).get("__metadata__", {})
        tensors = safetensors().load(data)
        if header.get("format") != KIND:
            raise InputError(f"{path} holds {header.get('format')!r}, expected a {KIND}; choose another name.")
        found: dict[str, Any] = _joined(decode(json.loads(header["content"])), tensors)
    except InputError:
        raise
    except Exception as error:  # safetensors has errors of its own kinds
        raise InputError(f"{path} is no checkpoint or is damaged ({error}); delete it to start anew.") from error
    return found


def _apart(value: Any, name: str, tensors: dict[str, Tensor]) -> Any:
    """Take tensors and arrays out of nested values, leaving their names."""
    if isinstance(value, np.ndarray):
        value = torch.as_tensor(value)
    if isinstance(value, torch.Tensor):
        tensors[name] = value.detach().cpu().clone().contiguous()
        return {"tensor": name}
    if isinstance(value, dict):
        return {"items": [[key, _apart(each, f"{name}/{key}", tensors)] for key, each in value.items()]}
    if isinstance(value, (list, tuple)):
        return {"list": [_apart(each, f"{name}/{place}", tensors) for place, each in enumerate(value)]}
    if value is None or isinstance(value, (str, int, float)):
        return {"value": value}
    raise InputError(
        f"the state to be saved has {name.strip('/')} of type {type(value).__name__}, expected tensors, numbers and "
        "text; use another scheduler or optimiser, or no checkpoint."
    )


def _joined(value: Any, tensors: dict[str, Tensor]) -> Any:
    if "tensor" in value:
        return tensors[value["tensor"]]
    if "items" in value:
        return {key: _joined(each, tensors) for key, each in value["items"]}
    if "list" in value:
        return [_joined(each, tensors) for each in value["list"]]
    return value["value"]
