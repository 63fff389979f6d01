"""Write a linear model, with its preprocessing, as one ONNX graph that other runtimes read."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
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
OPSET, LABEL_OPSET = 17, 2
IR_VERSION = 8
"""An early version of the format, which every runtime of the opset reads."""
TYPES = {"f": "DOUBLE", "i": "INT64", "U": "STRING"}
"""ONNX's names of numpy's kinds of arrays."""


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
    facts, threshold = task, None
    if hasattr(model, "threshold"):
        place = 1 if model.pos_label is None else task.classes.index(model.pos_label)
        task, threshold, model = replace(task, favourable=place), float(model.threshold), model.estimator
    coef, intercept = _weights(model, task)
    graph = _Graph()
    if encoder is None:
        X = graph.input("X", "f", coef.shape[1])
        total, inputs = graph.node("MatMul", X, graph.constant(coef.T)), {X: "X"}
    else:
        total, inputs = _from_columns(graph, encoder, coef)
    scores = graph.node("Add", total, graph.constant(intercept))
    _answers(graph, scores, len(coef), task, isinstance(model, LogisticRegression), threshold)
    known = {"inputs": json.dumps(inputs, ensure_ascii=False)}
    if task.kind != "regression":
        classes = json.dumps([str(label) for label in task.classes], ensure_ascii=False)
        known |= {"classes": classes, "favourable": str(facts.favourable_label)}
    content = graph.finish(BARE if encoder is None else DOC, known)
    if path is not None:
        write_file(path, content, overwrite=overwrite, own=is_graph)
    return content


def is_graph(head: bytes) -> bool:
    """Tell whether a file begins as an ONNX graph whose producer, its second field, is fairfront."""
    return b"\x12\x09fairfront" in head[:16]


def _weights(model: Any, task: Task) -> tuple[Array, Array]:
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
    return coef, np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64), (K,)).copy()


def _from_columns(graph: _Graph, encoder: TableEncoder, coef: Array) -> tuple[str, dict[str, str]]:
    """Add the inputs and what each column adds to the scores; return the sum (N, K) and the column of each input."""
    widths = [len(block.feature_names) for block in encoder.blocks]
    if sum(widths) != coef.shape[1]:
        raise InputError(
            f"the model reads {coef.shape[1]} features, expected {sum(widths)} as the encoder makes; "
            "give both of one run."
        )
    names = [graph.input(block.name, "f" if isinstance(block, NumberBlock) else "U", 1) for block in encoder.blocks]
    columns = list(zip(names, encoder.blocks, np.split(coef, np.cumsum(widths)[:-1], axis=1), strict=True))
    numbers = [(name, block, part) for name, block, part in columns if isinstance(block, NumberBlock)]
    terms = [_numbers_term(graph, *zip(*numbers, strict=True))] if numbers else []
    for name, block, part in columns:
        if isinstance(block, CategoryBlock):
            terms.append(_category_term(graph, name, block, part, encoder.missing))
    return graph.node("Sum", *terms), dict(zip(names, encoder.columns, strict=True))


def _numbers_term(graph: _Graph, names: Sequence[str], blocks: Sequence[NumberBlock], parts: Sequence[Array]) -> str:
    """Add ((x or median) - mean) factor for all numbers at once, and the indicators of missing ones."""
    values = graph.node("Concat", *names, axis=1)
    absent = graph.node("IsNaN", values)
    median, mean, factor = (np.array([getattr(block, key) for block in blocks]) for key in ("median", "mean", "factor"))
    filled = graph.node("Where", absent, graph.constant(median), values)
    centred = graph.node("Sub", filled, graph.constant(mean))
    # The factor goes into the weights: onnxruntime turns a product with one number into a single-precision scale.
    weights = factor[:, None] * np.stack([part[:, 0] for part in parts])
    term = graph.node("MatMul", centred, graph.constant(weights))
    if not any(block.indicator for block in blocks):
        return term
    # A number without an indicator has weight 0 for being missing.
    marks = np.stack([part[:, 1] if part.shape[1] == 2 else np.zeros(len(part)) for part in parts])
    marked = graph.node("Cast", absent, to=graph.onnx.TensorProto.DOUBLE)
    return graph.node("Add", term, graph.node("MatMul", marked, graph.constant(marks)))


def _category_term(graph: _Graph, name: str, block: CategoryBlock, part: Array, missing: Sequence[str]) -> str:
    """Add the coefficients of each row's level, looked up in a table whose last row is 0 for levels without any."""
    none = len(block.levels) + block.other + block.missing
    absent = none - 1 if block.missing else none
    places = dict.fromkeys(("", *missing), absent) | {level: code for code, level in enumerate(block.levels)}
    codes = graph.node(
        "LabelEncoder",
        name,
        domain="ai.onnx.ml",
        keys_strings=list(places),
        values_int64s=list(places.values()),
        default_int64=len(block.levels) if block.other else none,
    )
    table = graph.constant(np.vstack([part.T, np.zeros((1, len(part)))]))
    return graph.node("Gather", table, graph.squeezed(codes), axis=0)


def _answers(graph: _Graph, scores: str, K: int, task: Task, probable: bool, threshold: float | None) -> None:
    """Add the outputs to the scores (N, K), as `predict` and `predict_proba` do in Python."""
    if task.kind == "regression":
        graph.output(LABEL, "f", graph.squeezed(scores))
        return
    found = scores
    if probable and K == 1:
        p = graph.node("Sigmoid", scores)
        found = graph.node("Concat", graph.node("Sub", graph.constant(1.0), p), p, axis=1)
    elif probable:
        found = graph.node("Softmax", scores, axis=1)
    place = _decided(graph, scores, found, task, threshold)
    labels = np.asarray(task.classes)
    if labels.dtype.kind in "biu":
        labels = labels.astype(np.int64)
    elif labels.dtype.kind != "f":
        labels = np.asarray([str(label) for label in task.classes])
    graph.output(LABEL, labels.dtype.kind, graph.node("Gather", graph.constant(labels), place, axis=0))
    graph.output(PROBABILITIES if probable else SCORES, "f", found, max(K, 2) if probable else K)


def _decided(graph: _Graph, scores: str, found: str, task: Task, threshold: float | None) -> str:
    """Return the place of the class that is decided, (N,); a threshold is on what speaks for the favourable label."""
    if task.kind == "multiclass":
        return graph.node("ArgMax", scores, axis=1, keepdims=0)
    if threshold is None:
        second = graph.node("Greater", scores, graph.constant(0.0))
    else:
        response = scores if task.favourable == 1 else graph.node("Neg", scores)
        if found != scores:
            response = graph.node("Gather", found, graph.constant([task.favourable]), axis=1)
        second = graph.node("GreaterOrEqual", response, graph.constant(threshold))
        second = second if task.favourable == 1 else graph.node("Not", second)
    return graph.node("Cast", graph.squeezed(second), to=graph.onnx.TensorProto.INT64)


class _Graph:
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
