"""Build an ONNX graph node by node: names that never clash, constants, and the finished model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import require

OPSET, LABEL_OPSET, IR_VERSION = 17, 2, 8


def is_graph(head: bytes) -> bool:
    """Tell whether a file begins as an ONNX graph whose producer, its second field, is fairfront."""
    return b"\x12\x09fairfront" in head[:16]


class OnnxGraph:
    """Collect inputs, constants, nodes and outputs of one graph.

    Parameters
    ----------
    taken : sequence of str
        Names of the outputs, which no input may have.
    """

    def __init__(self, taken: Sequence[str]) -> None:
        self.onnx = require("onnx", "onnx", "an ONNX export")
        self._names = {"", *taken}
        self._counts: Counter[str] = Counter()
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def input(self, name: str, dtype: Any, shape: Sequence[Any]) -> str:
        """Add an input and return its name, which gets a number where it is taken."""
        given = self._unique(name)
        self._inputs.append(self._value(given, dtype, shape))
        return given

    def output(self, name: str, dtype: Any, shape: Sequence[Any], source: str) -> None:
        """Add an output that passes on the tensor ``source``."""
        self._nodes.append(self.onnx.helper.make_node("Identity", [source], [name]))
        self._outputs.append(self._value(name, dtype, shape))

    def constant(self, values: Any) -> str:
        """Add a constant tensor: text, whole numbers or doubles, as the values are."""
        name, array = self._unique("constant"), np.asarray(values)
        if array.dtype.kind in "US":
            texts = [text.encode("utf-8") for text in array.ravel().tolist()]
            tensor = self.onnx.helper.make_tensor(name, self.onnx.TensorProto.STRING, array.shape, texts)
        else:
            tensor = self.onnx.numpy_helper.from_array(np.ascontiguousarray(array), name)
        self._constants.append(tensor)
        return name

    def node(self, kind: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """Add a node with one output and return its name."""
        name = self._unique(kind.lower())
        self._nodes.append(self.onnx.helper.make_node(kind, list(inputs), [name], domain=domain, **attributes))
        return name

    def finish(self, doc: str, facts: dict[str, str]) -> bytes:
        """Return the checked model as bytes."""
        helper = self.onnx.helper
        graph = helper.make_graph(self._nodes, "fairfront", self._inputs, self._outputs, self._constants)
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", LABEL_OPSET)]
        # An early version of the format, which every runtime of the opset reads.
        model = helper.make_model(
            graph, producer_name="fairfront", opset_imports=opsets, ir_version=IR_VERSION, doc_string=doc
        )
        helper.set_model_props(model, facts)
        self.onnx.checker.check_model(model, full_check=True)
        return bytes(model.SerializeToString(deterministic=True))

    def _value(self, name: str, dtype: Any, shape: Sequence[Any]) -> Any:
        return self.onnx.helper.make_tensor_value_info(name, onnx_type(self.onnx, dtype), list(shape))

    def _unique(self, name: str) -> str:
        """Return the name, with a number where it is taken."""
        given = name
        while given in self._names:
            self._counts[name] += 1
            given = f"{name}_{self._counts[name]}"
        self._names.add(given)
        return given


def onnx_type(onnx: Any, dtype: Any) -> int:
    """Return ONNX's code of a numpy type."""
    kind = np.dtype(dtype).kind
    if kind in "US":
        return int(onnx.TensorProto.STRING)
    return int(onnx.TensorProto.INT64 if kind in "iu" else onnx.TensorProto.DOUBLE)


def label_array(classes: Sequence[Any]) -> NDArray[Any]:
    """Return classes as text, whole numbers or doubles, whichever fits them all."""
    array = np.asarray(classes)
    if array.dtype.kind in "biu":
        return array.astype(np.int64)
    return array if array.dtype.kind == "f" else np.asarray([str(label) for label in classes])
