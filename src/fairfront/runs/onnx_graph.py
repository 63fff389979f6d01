"""The graph of an ONNX export: inputs, constants, nodes and outputs, with names that are free."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from ..exceptions import require

LABEL, PROBABILITIES, SCORES = "label", "probabilities", "scores"
OPSET, LABEL_OPSET = 17, 2
IR_VERSION = 8
"""An early version of the format, which every runtime of the opset reads."""
TYPES = {"f": "DOUBLE", "i": "INT64", "U": "STRING"}
"""ONNX's names of numpy's kinds of arrays."""


class Graph:
    """Inputs, constants, nodes and outputs of one graph; no input has the name of an output."""

    def __init__(self) -> None:
        self.onnx = require("onnx", "onnx", "an ONNX export")
        self._names = {"", LABEL, PROBABILITIES, SCORES}
        self._counts: Counter[str] = Counter()
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def input(self, name: str, kind: str, *shape: int) -> str:
        """An input (N, *shape), whose name gets a number where it is taken."""
        given = self._unique(name)
        self._inputs.append(self._value(given, kind, shape))
        return given

    def output(self, name: str, kind: str, source: str, *shape: int) -> None:
        self._nodes.append(self.onnx.helper.make_node("Identity", [source], [name]))
        self._outputs.append(self._value(name, kind, shape))

    def constant(self, values: Any) -> str:
        name, array = self._unique("constant"), np.asarray(values)
        if array.dtype.kind == "U":
            array = array.astype(object)
        self._constants.append(self.onnx.numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def node(self, kind: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        name = self._unique(kind.lower())
        self._nodes.append(self.onnx.helper.make_node(kind, list(inputs), [name], domain=domain, **attributes))
        return name

    def squeezed(self, source: str) -> str:
        """From (N, 1) to (N,)."""
        return self.node("Squeeze", source, self.constant([1]))

    def finish(self, doc: str, facts: dict[str, str]) -> bytes:
        helper = self.onnx.helper
        graph = helper.make_graph(self._nodes, "fairfront", self._inputs, self._outputs, self._constants)
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", LABEL_OPSET)]
        model = helper.make_model(
            graph, producer_name="fairfront", opset_imports=opsets, ir_version=IR_VERSION, doc_string=doc
        )
        helper.set_model_props(model, facts)
        self.onnx.checker.check_model(model, full_check=True)
        return bytes(model.SerializeToString(deterministic=True))

    def _value(self, name: str, kind: str, shape: tuple[int, ...]) -> Any:
        code = getattr(self.onnx.TensorProto, TYPES[kind])
        return self.onnx.helper.make_tensor_value_info(name, code, ["N", *shape])

    def _unique(self, name: str) -> str:
        given = name
        while given in self._names:
            self._counts[name] += 1
            given = f"{name}_{self._counts[name]}"
        self._names.add(given)
        return given
