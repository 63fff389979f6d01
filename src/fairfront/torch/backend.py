"""The one place where PyTorch is imported, and what the room calls its things."""

from __future__ import annotations

from typing import Any, TypeAlias

from ..exceptions import require

PURPOSE = "fairfront.torch"
Tensor: TypeAlias = Any
Module: TypeAlias = Any
Optimizer: TypeAlias = Any

torch: Any = require("torch", "torch", PURPOSE)


def safetensors() -> Any:
    """Return safetensors' module for tensors, needed only to write and read files."""
    return require("safetensors.torch", "torch", "writing or reading weights of modules")
