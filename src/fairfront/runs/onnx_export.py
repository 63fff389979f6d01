"""Write a linear model, with its preprocessing, as one ONNX graph that other runtimes read."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.svm import LinearSVC

from ..exceptions import InputError, require
from ..objectives import Array, Task
from ..storage.folders import write_file
from ..storage.places import check_new_file
from ..tables.encoder import CategoryBlock, NumberBlock, TableEncoder
from ..validation import counted

CLASSIFIERS = (LogisticRegression, LinearSVC, RidgeClassifier)
REGRESSORS = (Ridge, LinearRegression)
LABEL, PROBABILITIES, SCORES = "label", "probabilities", "scores"
DOC = (
    "A linear model made with fairfront. Inputs are columns of a table as they come: numbers as doubles (NaN is "
    "missing), categories as text without blanks around it (empty is missing)."
)
BARE = "A linear model made with fairfront. The input X is the matrix of encoded features, as doubles."
OPSET, LABEL_OPSET, IR_VERSION = 17, 2, 8


def export_onnx(
    encoder: TableEncoder | None, model: Any, task: Task, path: Any = None, *, overwrite: bool = False
) -> bytes:
    """Return a model as an ONNX graph, and write it where a path is given.

    Parameters
    ----------
    encoder : TableEncoder or None
        From columns to features. None: the graph reads the features themselves, as one input ``X`` (N, d).
    model : estimator
        Fitted LogisticRegression, LinearSVC, RidgeClassifier, Ridge or LinearRegression, or a FixedThresholdClassifier
        around one, whose threshold the graph decides at.
    task : Task
        Classes of the labels.
    path : path, optional
        File to write, whole or not at all.
    overwrite : bool
        Replace a graph that fairfront wrote there before.

    Returns
    -------
    bytes
        Inputs with an encoder: one per column, (N, 1), doubles or text, named as the column is. A column that is named
        as an output is, gets a number behind its name; the metadata entry ``inputs`` has all names. Outputs:
        ``label`` (N,), in the type of the classes, and ``probabilities`` (N, K) for LogisticRegression, ``scores``
        (N, 1 or K) for the other classifiers. All arithmetic is in double precision, as in Python.

    Notes
    -----
    What Python refuses, the graph cannot: infinite numbers go through, and text with blanks around is another level.
    """
    if path is not None:
        check_new_file(path, overwrite, is_graph)
    threshold, facts = None, task
    if hasattr(model, "threshold"):
        place = 1 if model.pos_label is None else task.classes.index(model.pos_label)
        task, threshold, model = replace(task, favourable=place), float(model.threshold), model.estimator
    coef, intercept = _weights(model, task)
    graph = OnnxGraph((LABEL, PROBABILITIES, SCORES))
    if encoder is None:
        X = graph.input("X", np.float64, ("N", coef.shape[1]))
        total, inputs = graph.node("MatMul", X, graph.constant(coef.T)), {X: "X"}
    else:
        total, inputs = _from_columns(graph, encoder, coef)
    scores = graph.node("Add", total, graph.constant(intercept))
    _answers(graph, scores, len(coef), task, isinstance(model, LogisticRegression), threshold)
    content = graph.finish(BARE if encoder is None else DOC, _facts(inputs, facts))
    if path is not None:
        write_file(path, content, overwrite=overwrite, own=is_graph)
    return content


def _weights(model: Any, task: Task) -> tuple[Array, Array]:
    """Return coefficients (K, d) and intercepts (K,) of a model that fits the task."""
    supported = REGRESSORS if task.kind == "regression" else CLASSIFIERS
    if not isinstance(model, supported):
        names = ", ".join(kind.__name__ for kind in supported)
        raise InputError(
            f"an ONNX export of {type(model).__name__} for {task.kind} labels is not supported, expected {names}: "
            "choose a linear model, or convert this one with the tools of its own library."
        )
    if not hasattr(model, "coef_"):
        raise InputError(f"the {type(model).__name__} has no coefficients, expected a fitted one: call fit first.")
    coef = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
    K = 1 if len(task.classes) <= 2 else len(task.classes)
    if len(coef) != K:
        raise InputError(
            f"the model has {counted(len(coef), 'row')} of coefficients, expected {K} for this task; give its own."
        )
    intercept = np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64), (K,))
    return coef, intercept.copy()


def _from_columns(graph: OnnxGraph, encoder: TableEncoder, coef: Array) -> tuple[str, dict[str, str]]:
    """Add the inputs and what each column adds to the scores; return the sum (N, K) and the column of each input."""
    widths = [len(block.feature_names) for block in encoder.blocks]
    if sum(widths) != coef.shape[1]:
        raise InputError(
            f"the model reads {coef.shape[1]} features, expected {sum(widths)} as the encoder makes; "
            "give both of one run."
        )
    parts = np.split(coef, np.cumsum(widths)[:-1], axis=1)
    names = [
        graph.input(block.name, np.float64 if isinstance(block, NumberBlock) else np.str_, ("N", 1))
        for block in encoder.blocks
    ]
    named = list(zip(names, encoder.blocks, parts, strict=True))
    numbers = [(name, block, part) for name, block, part in named if isinstance(block, NumberBlock)]
    terms = [_numbers_term(graph, *zip(*numbers, strict=True))] if numbers else []
    for name, block, part in named:
        if isinstance(block, CategoryBlock):
            terms.append(_category_term(graph, name, block, part, encoder.missing))
    return graph.node("Sum", *terms), dict(zip(names, encoder.columns, strict=True))


def _numbers_term(graph: OnnxGraph, names: Sequence[str], blocks: Sequence[NumberBlock], parts: Sequence[Array]) -> str:
    """Add ((x or median) - mean) factor for all numbers at once, and the indicators of missing ones."""
    values = graph.node("Concat", *names, axis=1)
    absent = graph.node("IsNaN", values)
    median, mean, factor = (np.array([getattr(block, key) for block in blocks]) for key in ("median", "mean", "factor"))
    filled = graph.node("Where", absent, graph.constant(median), values)
    centred = graph.node("Sub", filled, graph.constant(mean))
    # The factor goes into the weights: onnxruntime turns a product with one number into a single-precision scale.
    weights = factor[:, None] * np.stack([part[:, 0] for part in parts])
    term = graph.node("MatMul", centred, graph.constant(weights))
    # A number without an indicator has weight 0 for being missing.
    marks = np.stack([part[:, 1] if part.shape[1] == 2 else np.zeros(len(part)) for part in parts])
    if not any(block.indicator for block in blocks):
        return term
    marked = graph.node("Cast", absent, to=graph.onnx.TensorProto.DOUBLE)
    return graph.node("Add", term, graph.node("MatMul", marked, graph.constant(marks)))


def _category_term(graph: OnnxGraph, name: str, block: CategoryBlock, part: Array, missing: Sequence[str]) -> str:
    """Add the coefficients of each row's level, looked up in a table whose last row is 0 for levels without any."""
    none = len(block.levels) + block.other + block.missing
    rest = len(block.levels) if block.other else none
    absent = none - 1 if block.missing else none
    places = dict.fromkeys(("", *missing), absent) | {level: code for code, level in enumerate(block.levels)}
    codes = graph.node(
        "LabelEncoder",
        name,
        domain="ai.onnx.ml",
        keys_strings=list(places),
        values_int64s=list(places.values()),
        default_int64=rest,
    )
    table = graph.constant(np.vstack([part.T, np.zeros((1, len(part)))]))
    return graph.node("Gather", table, graph.node("Squeeze", codes, graph.constant(np.array([1]))), axis=0)


def _answers(graph: OnnxGraph, scores: str, K: int, task: Task, probable: bool, threshold: float | None) -> None:
    """Add the outputs to the scores (N, K), as `predict` and `predict_proba` do in Python."""
    if task.kind == "regression":
        graph.output(LABEL, np.float64, ("N",), graph.node("Squeeze", scores, graph.constant(np.array([1]))))
        return
    found, outputs = scores, SCORES
    if probable and K == 1:
        p = graph.node("Sigmoid", scores)
        found = graph.node("Concat", graph.node("Sub", graph.constant(np.array(1.0)), p), p, axis=1)
    elif probable:
        found = graph.node("Softmax", scores, axis=1)
    if probable:
        outputs, K = PROBABILITIES, max(K, 2)
    place = _decided(graph, scores, found, task, threshold)
    labels: NDArray[Any] = label_array(task.classes)
    graph.output(LABEL, labels.dtype, ("N",), graph.node("Gather", graph.constant(labels), place, axis=0))
    graph.output(outputs, np.float64, ("N", K), found)


def _decided(graph: OnnxGraph, scores: str, found: str, task: Task, threshold: float | None) -> str:
    """Return the place of the class that is decided, (N,); a threshold is on what speaks for the favourable label."""
    if task.kind == "multiclass":
        return graph.node("ArgMax", scores, axis=1, keepdims=0)
    column = graph.constant(np.array([1]))
    if threshold is None:
        second = graph.node("Greater", scores, graph.constant(np.array(0.0)))
    else:
        response = scores if task.favourable == 1 else graph.node("Neg", scores)
        if found != scores:
            response = graph.node("Gather", found, graph.constant(np.array([task.favourable])), axis=1)
        second = graph.node("GreaterOrEqual", response, graph.constant(np.array(threshold)))
        second = second if task.favourable == 1 else graph.node("Not", second)
    return graph.node("Cast", graph.node("Squeeze", second, column), to=graph.onnx.TensorProto.INT64)


def _facts(inputs: dict[str, str], task: Task) -> dict[str, str]:
    """Return what a reader of the file should know: the column of each input, the classes, the favourable label."""
    facts = {"inputs": json.dumps(inputs, ensure_ascii=False)}
    if task.kind == "regression":
        return facts
    classes = json.dumps([str(label) for label in task.classes], ensure_ascii=False)
    return facts | {"classes": classes, "favourable": str(task.favourable_label)}


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
