"""Write a linear model, with its preprocessing, as one ONNX graph that other runtimes read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.svm import LinearSVC

from ..exceptions import InputError
from ..objectives import Array, Task
from ..problems.learners import SURE
from ..problems.posteriors import RuleClassifier, Stack
from ..storage.folders import write_file
from ..storage.places import check_new_file
from ..tables.encoder import CategoryBlock, NumberBlock, TableEncoder
from ..validation import counted
from .onnx_graph import LABEL, PROBABILITIES, SCORES, Graph

CLASSIFIERS = (LogisticRegression, LinearSVC, RidgeClassifier)
REGRESSORS = (Ridge, LinearRegression)
DOC = (
    "A linear model made with fairfront. Inputs are columns of a table as they come: numbers as doubles (NaN is "
    "missing), categories as text without blanks around it (empty is missing)."
)
BARE = "A linear model made with fairfront. The input X is the matrix of encoded features, as doubles."


def export_onnx(
    encoder: TableEncoder | None, model: Any, task: Task, path: Any = None, *, overwrite: bool = False
) -> bytes:
    """Return a model as an ONNX graph, and write it where a path is given.

    Parameters
    ----------
    encoder : TableEncoder or None
        From columns to features. None: the graph reads the features themselves, as one input ``X`` (N, d).
    model : estimator
        Fitted LogisticRegression, LinearSVC, RidgeClassifier, Ridge or LinearRegression, a RuleClassifier on logistic
        posteriors, or a FixedThresholdClassifier around one, whose threshold the graph decides at.
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
    rule = model.posteriors if isinstance(model, RuleClassifier) else None
    coef, intercept = _weights(model, task) if rule is None else _guesses(rule)
    graph = Graph()
    if encoder is None:
        X = graph.input("X", "f", coef.shape[1])
        total, inputs = graph.node("MatMul", X, graph.constant(coef.T)), {X: "X"}
    else:
        total, inputs = _from_columns(graph, encoder, coef)
    scores = graph.node("Add", total, graph.constant(intercept))
    if rule is None:
        _answers(graph, scores, len(coef), task, isinstance(model, LogisticRegression), threshold)
    else:
        weights = model.weights[:, 1:] - model.weights[:, :1] if len(task.classes) == 2 else model.weights
        total = graph.node("MatMul", _pairs(graph, scores, rule), graph.constant(weights))
        _answers(graph, total, weights.shape[1], task, False, threshold)
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


def _guesses(rule: Stack) -> tuple[Array, Array]:
    """Return the coefficients of all guesses of a rule, one below the other, and their intercepts."""
    models = [guess.model for part in rule.parts for guess in part.guesses if guess.model is not None]
    strange = [type(model).__name__ for model in models if type(model) is not LogisticRegression]
    strange += ["a class that training lacks" for part in rule.parts for guess in part.guesses if not guess.is_plain]
    if strange:
        raise InputError(
            f"an ONNX export of a rule on posteriors of {strange[0]} is not supported, expected logistic ones: trace "
            "with units='rates' and no estimator."
        )
    coef = np.concatenate([np.asarray(model.coef_, dtype=np.float64) for model in models])
    return coef, np.concatenate([np.asarray(model.intercept_, dtype=np.float64) for model in models])


def _pairs(graph: Graph, scores: str, rule: Stack) -> str:
    """Add P(label, cell | x) (N, pairs) to the scores of all guesses, as `Stack.pairs` does in Python."""
    start, mixed = 0, []
    for share, part in zip(rule.shares, rule.parts, strict=True):
        found: list[str] = []  # empty where one class is sure
        for guess in part.guesses:
            size = 0 if guess.model is None else len(guess.model.coef_)
            if not size:
                found.append("")
                continue
            own = graph.node("Gather", scores, graph.constant(np.arange(start, start + size)), axis=1)
            if size == 1:
                own = graph.node("Concat", graph.node("Mul", own, graph.constant(0.0)), own, axis=1)
            found.append(graph.node("Softmax", own, axis=1))
            start += size
        label, *members = found
        joint = []
        for place, member in enumerate(members):
            one = graph.node("Gather", label, graph.constant([place]), axis=1)
            joint.append(graph.node("Mul", one, member) if member else one)
        mixed.append(graph.node("Mul", graph.node("Concat", *joint, axis=1), graph.constant(float(share))))
    total = mixed[0] if len(mixed) == 1 else graph.node("Sum", *mixed)
    logs = graph.node("Log", graph.node("Max", total, graph.constant(SURE)))
    scaled = graph.node("MatMul", logs, graph.constant(rule.scaling.slope))
    return graph.node("Softmax", graph.node("Add", scaled, graph.constant(rule.scaling.bias)), axis=1)


def _from_columns(graph: Graph, encoder: TableEncoder, coef: Array) -> tuple[str, dict[str, str]]:
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


def _numbers_term(graph: Graph, names: Sequence[str], blocks: Sequence[NumberBlock], parts: Sequence[Array]) -> str:
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


def _category_term(graph: Graph, name: str, block: CategoryBlock, part: Array, missing: Sequence[str]) -> str:
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


def _answers(graph: Graph, scores: str, K: int, task: Task, probable: bool, threshold: float | None) -> None:
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


def _decided(graph: Graph, scores: str, found: str, task: Task, threshold: float | None) -> str:
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
