"""Every public callable with one good call, or several: the calls that `test_bad_calls` spoils."""

from __future__ import annotations

import inspect
import re
import signal
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

import fairfront as ff
from fairfront.exceptions import FairfrontError
from fairfront.objectives import GAPS, LOSSES, NOTIONS
from tests.support.bad_values import (
    ANY,
    BOUNDS,
    CALLABLE,
    COLUMNS,
    COUNT,
    FLAG,
    FRAME,
    GROUP,
    ID,
    LABELS,
    MATRIX,
    NAME,
    NOT_NEGATIVE,
    NUMBER,
    OPTIONS,
    PLACE,
    POSITIVE,
    ROWS,
    SHARE,
    TARGETS,
    TEXT,
    WHOLE,
    Kind,
    N,
    X,
    Y,
    entries,
    kind,
)
from tests.support.extras import optional

torch = optional("torch")

SECONDS = 20
"""Of the processor, for one call: what takes longer hangs."""
SENTENCE_ENDS = re.compile(r"[a-z)\"'][.!?] [A-Z]")


@dataclass(frozen=True)
class Call:
    """A good call of a public callable, which the part of ``name`` before a colon names.

    ``kinds`` are those of parameters that differ from OPTIONS, ``only`` the parameters to spoil (all by default);
    ``works`` is False where the good call needs what tests do not have, such as files of public data sets.
    """

    name: str
    function: Callable[..., Any]
    good: Mapping[str, Any] = field(default_factory=dict)
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    only: tuple[str, ...] = ()
    works: bool = True

    @property
    def parameters(self) -> tuple[str, ...]:
        """Return the names of what is spoilt: those of the signature and of the good call."""
        return self.only or tuple(dict.fromkeys((*parameters(public(self.name)), *self.good)))

    def bad(self) -> Iterator[tuple[str, str, Any]]:
        """Return every bad value of every parameter: parameter, name of the value, value."""
        for parameter in self.parameters:
            known = self.kinds[parameter] if parameter in self.kinds else OPTIONS[parameter]
            for name, value in known.bad():
                yield parameter, name, value

    def __call__(self, **changed: Any) -> Any:
        return self.function(**{**self.good, **changed})


def public(name: str) -> Any:
    """Return what a public name stands for."""
    found: Any = ff
    for part in name.partition(":")[0].split("."):
        found = getattr(found, part)
    return found


def parameters(function: Any) -> tuple[str, ...]:
    """Return the parameters of a callable that have a name; of an estimator those of fit as well."""
    if inspect.isclass(function) and hasattr(function, "fit"):
        return (*parameters(function.__init__), *parameters(function.fit))
    unnamed = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    known = inspect.signature(function).parameters
    return tuple(name for name, each in known.items() if each.kind not in unnamed and name != "self")


def fitted(estimator: Any) -> Callable[..., Any]:
    """Return a function that makes an estimator and fits it: parameters are checked in fit."""

    def call(**given: Any) -> Any:
        rows = {name: given.pop(name) for name in parameters(estimator.fit) if name in given}
        return estimator(**given).fit(rows.pop("X"), rows.pop("y"), **rows)

    return call


class HangError(BaseException):
    """A call took longer than SECONDS of the processor."""


@contextmanager
def patience() -> Iterator[None]:
    """Raise inside a call that does not come back."""

    def hang(*_: Any) -> None:
        raise HangError

    before = signal.signal(signal.SIGPROF, hang)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def faults(call: Call, **bad: Any) -> str:
    """Return what is wrong with how a call takes bad values: "accepted", another fault, or nothing."""
    try:
        with patience(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call(**bad)
    except FairfrontError as error:
        said = re.sub(r"\(.*\)", "", str(error))  # in brackets may stand what another library said
        return f"several sentences: {error}" if "\n" in said or SENTENCE_ENDS.search(said) else ""
    except HangError:
        return "hangs"
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        own = isinstance(error, (ValueError, TypeError)) and "sklearn/utils" in Path(last.filename).as_posix()
        unknown = isinstance(error, TypeError) and "unexpected keyword argument" in str(error)
        return "" if own or unknown else f"{type(error).__name__}: {error} ({Path(last.filename).name}:{last.lineno})"
    return "accepted"


DATA: dict[str, Any] = {"X": X, "y": Y, "sensitive_features": GROUP}
VALUES = X[:, 0] + X[:, 1]
SMALL: dict[str, Any] = {"progress": False, "n_points": 4, "min_size": 20}
FITS = ("cv", "fit_params")
"""What a search may be given depends on the rows and on the learner."""


@cache
def front() -> Any:
    return ff.trace(**DATA, n_points=4, held_out=True, progress=False).evaluate(**DATA)


@cache
def run() -> Any:
    return ff.trace_table(FRAME, target="paid", groups="sex", favourable="yes", **SMALL)


def of_settings() -> Iterator[Call]:
    """Return calls of what holds settings, and no data."""
    for name in ("PDO", "PBPDO", "PaperPDO", "PaperPBPDO"):
        yield Call(name, public(name))
    yield Call("Groups", ff.Groups)
    searched = [name for name in parameters(ff.Weighting) if name not in FITS]
    yield Call("Weighting", ff.Weighting, {}, {}, tuple(searched))
    share = SHARE | "None"
    names = ("cutoff", "approval_rate", "costs", "n_jobs")
    yield Call("Rates", ff.Rates, {}, {"cutoff": share}, names)
    yield Call("Newton", ff.Newton, kinds={"tol": POSITIVE, "max_iter": COUNT})
    yield Call("scorer", ff.scorer, {"name": "tpr_gap"}, {"name": NAME, "favourable": ANY})
    for registry in (LOSSES, GAPS, NOTIONS):
        for made in (registry[name] for name in registry):
            if parameters(made):
                name = f"{made.__module__.removeprefix('fairfront.')}.{made.__name__}"
                yield Call(name, made)
    patience = {"timeout": POSITIVE, "tries": COUNT, "pause": NOT_NEGATIVE, "redirects": WHOLE}
    yield Call("datasets.Patience", ff.datasets.Patience, {}, patience)
    training = {"epochs": WHOLE, "batch_size": COUNT | "None", "lr": POSITIVE, "memory": SHARE | "zero"}
    training |= {"two_batches": FLAG, "patience": COUNT | "None"}
    yield Call("torch.Training", ff.torch.Training, {}, training)
    yield Call("torch.PlainRule", ff.torch.PlainRule)
    yield Call("torch.DescentRule", ff.torch.DescentRule, {}, {"pull": NOT_NEGATIVE})
    yield Call("torch.SumRule", ff.torch.SumRule, {"penalty": 1.0}, {"penalty": NOT_NEGATIVE})
    yield Call("torch.WeightingRule", ff.torch.WeightingRule, {"weighting": repr}, {"weighting": CALLABLE})


def of_tracing() -> Iterator[Call]:
    """Return calls of the entry functions."""
    yield Call("linear_problem", ff.linear_problem, DATA)
    yield Call("trace", ff.trace, {**DATA, "n_points": 3, "progress": False})
    learner = {**DATA, "estimator": LogisticRegression(), "solver": ff.Weighting(max_fits=2), "progress": False}
    spoilt = ("estimator", "random_state", *DATA, "sample_weight")
    yield Call("trace:estimator", ff.trace, learner, {}, spoilt)
    yield Call("Weighting:fits", trace_fits, {"cv": 2, "fit_params": None}, {}, FITS)
    rates = {**DATA, "units": "rates", "n_points": 3, "progress": False}
    yield Call("trace:rates", ff.trace, rates, {}, ("estimator", "ridge", "random_state", *DATA, "sample_weight"))
    yield Call("Rates:fits", trace_rules, {"cv": 2}, {}, ("cv",))
    yield Call("solve", ff.solve, {"problem": ff.linear_problem(**DATA)}, {"problem": kind()})
    several = {"functions": CALLABLE, "x0": entries(NUMBER, lambda each: [0.5, each], *NUMBER.takes, "far")}
    start = {"x0": [0.3, 0.1], "functions": squares, "jac": slopes}
    yield Call("minimize", ff.minimize, start, several | {"solver": NAME | "None", "bounds": BOUNDS})


def trace_fits(cv: Any, fit_params: Any) -> Any:
    search = ff.Weighting(max_fits=2, cv=cv, fit_params=fit_params)
    return ff.trace(**DATA, estimator=LogisticRegression(), solver=search, progress=False)


def trace_rules(cv: Any) -> Any:
    return ff.trace(**DATA, units=ff.Rates(cv=cv), n_points=3, progress=False)


def squares(w: Any) -> Any:
    return np.array([(w**2).sum(), ((w - 1.0) ** 2).sum()])


def slopes(w: Any) -> Any:
    return np.stack([2.0 * w, 2.0 * (w - 1.0)])


def of_estimators() -> Iterator[Call]:
    """Return calls of fit with all parameters of an estimator, and of what fitted ones do."""
    for name in ("ParetoFairClassifier", "FrontierClassifier", "ParetoFairRegressor", "FrontierRegressor"):
        made, classifies = fitted(public(name)), name.endswith("Classifier")
        good = {**DATA, **({} if classifies else {"y": VALUES}), **({"n_points": 3} if "Frontier" in name else {})}
        yield Call(name, made, good, {} if classifies else {"y": TARGETS})
        model = made(**good)
        for method in ("predict", *(("predict_proba", "decision_function") if classifies else ())):
            yield Call(f"{name}.{method}", getattr(model, method), {"X": X})
        if "Frontier" in name:
            yield Call(f"{name}.use", model.use, {"id": 0})
        if classifies:
            learner = {**DATA, "estimator": LogisticRegression(), "solver": ff.Weighting(max_fits=2)}
            yield Call(f"{name}:estimator", made, learner, {}, ("estimator",))


RULES: dict[str, Any] = {
    "id": 0,
    "knee": True,
    "preference": [1.0, 5.0],
    "at_most": {"tpr_gap": 1.0},
    "at_least": {"selection_ratio": 0.0},
    "least": "tpr_gap",
    "most": "selection_ratio",
}


def of_frontier() -> Iterator[Call]:
    """Return calls of the methods of a frontier."""
    f, sure = front(), {"confidence": SHARE | "None"}
    yield Call("Frontier.column", f.column, {"name": "tpr_gap"}, {"name": NAME, **sure})
    for method in ("column_names", "record", "operating", "to_frame"):
        yield Call(f"Frontier.{method}", getattr(f, method))
    yield Call("Frontier.place", f.place, {"id": 0})
    traced = ff.trace(**DATA, n_points=3, held_out=False, progress=False)
    yield Call(
        "Frontier.at", traced.at, {"gap": 0.5 * float(traced.gaps[0, 0])}, {"gap": NOT_NEGATIVE, "loss": kind("None")}
    )
    yield Call(
        "Frontier.at:loss",
        traced.at,
        {"loss": float(traced.loss[:2].mean())},
        {"loss": NOT_NEGATIVE, "gap": kind("None")},
    )
    yield Call("Frontier.worst_pair", f.worst_pair, {"name": "tpr_gap", "id": 0}, {"name": NAME})
    for method in ("choose", "select"):
        for rule, value in RULES.items():
            given = {rule: value, "on": "validation", "confidence": None}
            yield Call(f"Frontier.{method}:{rule}", getattr(f, method), given, sure, tuple(given))
        given = {"at_most": {"tpr_gap": 1.0}, "within": {"error": 0.5}}
        yield Call(f"Frontier.{method}:within", getattr(f, method), given, {}, ("within",))
    yield Call("Frontier.evaluate", f.evaluate, DATA, {"notion": OPTIONS["notion"] | "None"})
    yield Call("Frontier.explain", f.explain, {"before": 0, "after": 1, **DATA}, {"X": MATRIX | "None"})
    yield Call("Frontier.calibration", f.calibration, {"id": 0, **DATA})
    given = {**DATA, "allow_group_at_prediction": True, "n_points": 3, "notion": None, "id": 0, "name": "t"}
    optional = {"notion": NAME | "None", "id": ID | "None"}
    yield Call("Frontier.postprocess", f.postprocess, given | {"sample_weight": None}, optional)
    yield Call("Frontier.evaluate:thresholds", f.postprocess(**given).evaluate, DATA, {}, tuple(DATA))
    yield Call("Frontier.save", f.save, {"path": "saved", "overwrite": True}, {"path": PLACE})
    given = {"model": f.select(id=0), "X": X, "reference": X.mean(axis=0), "favourable": None}
    means = entries(NUMBER, lambda each: [0.5, each])
    yield Call("reasons", ff.reasons, given, {"model": kind(), "reference": means, "k": COUNT, "side": NAME})


def of_pages() -> Iterator[Call]:
    """Return calls of pictures and pages."""
    f = front()
    for how in ("points", "panels", "groups"):
        given = {"kind": how, "chosen": 0, "on": "validation"} | ({} if how == "panels" else {"confidence": 0.9})
        given |= {"rate": "tpr", "attribute": None} if how == "groups" else {"bands": True}
        given |= {"x": "tpr_gap", "y": "error"} if how == "points" else {}
        different = {"kind": NAME, "x": NAME | "None", "y": NAME, "chosen": ID if how == "groups" else ID | "None"}
        yield Call(f"Frontier.plot:{how}", f.plot, given, different)
    page = dict.fromkeys(("title", "command", "details", "baselines")) | {"path": "page.html", "chosen": 0}
    page |= {"python": "front.select(id={id})", "hide_below": 10, "overwrite": True, "on": "validation"}
    yield Call("Frontier.to_html", f.to_html, page, {"path": PLACE, "on": NAME})
    rows = {"path": "page.html", "overwrite": True, "sample_weight": None, **DATA}
    yield Call("Frontier.to_html:rows", f.to_html, rows, {"X": MATRIX | "None"}, (*DATA, "sample_weight"))
    r = run()
    yield Call("Run.to_html", r.to_html, {"path": "run.html", "overwrite": True}, {"path": PLACE})


def of_judging() -> Iterator[Call]:
    """Return calls that judge candidates and audits."""
    model, scores = LogisticRegression().fit(X, Y), 1.0 / (1.0 + np.exp(-X[:, 0]))
    given = {"cutoff": None, "approval_rate": None, "costs": None, "notion": "equal_opportunity", "name": "validation"}
    given |= {"favourable": None, "groups": None, "sample_weight": None, "task": "classification", **DATA}
    different = {"models": entries(kind("function"), lambda each: {"a": each}), "task": NAME}
    yield Call("Frontier.from_models", ff.Frontier.from_models, {"models": {"a": model}, **given}, different)
    del given["X"]
    different = {"scores": entries(kind(), lambda each: {"a": each}), "task": NAME}
    yield Call("Frontier.from_scores", ff.Frontier.from_scores, {"scores": {"a": scores}, **given}, different)
    given = {"y_true": Y, "scores_or_labels": np.where(X[:, 0] > 0, 1, 0), "sensitive_features": GROUP}
    yield Call("audit", ff.audit, given, {"notion": OPTIONS["notion"] | "None"})
    found = ff.audit(**given)
    given = given | {"scores_or_labels": X[:, 0], "cutoff": 0.0}
    yield Call("audit:scores", ff.audit, given, {}, ("cutoff", "approval_rate", "costs", "favourable_side"))
    yield Call("Audit.check", found.check, {"requirement": "tpr_gap<=0.5"})
    yield Call("Audit.to_frame", found.to_frame)
    yield Call("Audit.to_dict", found.to_dict)
    search = {"X": X, "y": Y, "sensitive_features": GROUP, "incumbent": scores, "n_splits": 1}
    search |= {"families": ["linear", "cutoffs"], "max_fits": 2}
    search |= {"keep": {"error": 0.5}, "improve": "tpr_gap", "labelled_only_if": None, "progress": False}
    search |= {"candidates": {"a": X[:, 1]}, "groups": ff.Groups(min_size=5)}
    tolerances = entries(NOT_NEGATIVE, lambda each: {"error": each}, "None")
    gaps = entries(NAME, lambda each: ["tpr_gap", each])
    different = {"keep": tolerances, "improve": gaps, "families": entries(NAME, lambda each: ["linear", each], "None")}
    different |= {"incumbent": OPTIONS["scores"] | "None" | "function", "nobody_worse": NOT_NEGATIVE | "None"}
    different |= {"costs": entries(NUMBER, lambda each: {"false_positive": each}, "None"), "n_splits": kind("huge")}
    different |= {
        "candidates": entries(kind("function"), lambda each: {"a": each}, "None"),
        "max_seconds": POSITIVE | "None",
    }
    named = entries(TEXT, lambda each: ["age", each], "None")
    different |= {"labelled_only_if": kind("None"), "max_fits": kind("huge", "None"), "columns": named}
    yield Call("alternatives", ff.alternatives, search, different)
    sought = ff.alternatives(**search)
    yield Call("Alternatives.select", sought.select, {"id": 1}, {"id": kind()})
    yield Call("Alternatives.to_frame", sought.to_frame)
    yield Call("Alternatives.save", sought.save, {"path": "search"}, {"path": PLACE})
    shares = np.column_stack([np.where(Y, 0.75, 0.5), np.where(Y, 0.25, 0.5)])
    yield Call("GroupProbabilities", ff.GroupProbabilities, {"frame": shares, "levels": ["p", "q"]})
    yield Call("GroupProbabilities.take", ff.GroupProbabilities(shares).take, {"rows": np.arange(3)}, {"rows": ROWS})


def of_tables() -> Iterator[Call]:
    """Return calls of tables, runs and models, and of what reads them."""
    table = {"data": FRAME, "target": "paid", "groups": "sex", "favourable": "yes", **SMALL}
    table |= {"split": "60/20/20", "seed": 0, "ridge": None, "loss": "logistic", "model": "linear", "surrogate": "loss"}
    table |= {"notion": "equal_opportunity", "weight": None, "missing": ("NA",), "delimiter": None, "cross": False}
    table |= dict.fromkeys(("drop", "allow", "text", "numbers"), ()) | {"use_sensitive": False, "units": "losses"}
    table |= {"cutoff": None, "approval_rate": None, "costs": None, "max_fits": 12}
    table |= {"encoding": None, "decimal": None, "dates": {}, "reference": None}
    columns = entries(kind(), lambda each: ["age", each], "empty list", "empty array")
    texts = ("text", "empty text", "long text", "NUL", "list", "empty list", "empty array")
    different = {"groups": entries(kind("empty text"), lambda each: ["sex", each]), "group_probabilities": kind("None")}
    different |= dict.fromkeys(("drop", "allow", "text", "numbers"), columns) | {"target": NAME, "split": NAME}
    different |= {"missing": entries(TEXT, lambda each: ["NA", each], *texts), "delimiter": NAME | "None"}
    different |= {
        "encoding": NAME | "None",
        "decimal": NAME | "None",
        "reference": NAME | "None",
        "dates": kind("empty dict", "empty list", "empty array"),
    }
    different |= {"weight": NAME | "None", "favourable": kind(), "model": NAME}
    different |= {"notion": entries(NAME, lambda each: ["group_loss", each], "empty list", "empty array")}
    yield Call("trace_table", ff.trace_table, table, different)
    r = run()
    yield Call("Run.options", r.options, {"n": 3}, {"n": COUNT | "None"})
    yield Call("Run.reference", r.reference, {"attribute": "sex"}, {"attribute": NAME})
    yield Call("Run.model", r.model, {"id": 0})
    yield Call("Run.choose", r.choose, {"id": 0})
    for method in ("select", "decide"):
        yield Call(f"Run.{method}", getattr(r, method), {"id": 0, "reason": "", "by": "", "about": None})
    other = {"data": FRAME, "name": "oot", "delimiter": None, "encoding": None, "missing": ("NA",), "decimal": None}
    other |= {"overwrite": False}
    named = {
        "name": kind("text"),
        **{name: different[name] for name in ("delimiter", "encoding", "missing", "decimal")},
    }
    yield Call("Run.evaluate", r.evaluate, other, named)
    yield Call("Run.save", r.save, {"path": "run", "overwrite": True}, {"path": PLACE})
    model = r.select(id=0)
    for method in ("predict", "predict_proba"):
        yield Call(f"TableModel.{method}", getattr(model, method), {"data": FRAME})
    yield Call("TableModel.reasons", model.reasons, {"data": FRAME}, {"k": COUNT, "side": NAME})
    yield Call("TableModel.part_rows", model.part_rows, {"data": FRAME}, {"part": NAME})
    yield Call("TableModel.score", model.score, {"data": FRAME, "y": FRAME["paid"], "sample_weight": None})
    yield Call("TableModel.get_params", model.get_params, {"deep": True}, {"deep": FLAG})
    given = {"path": "model", "overwrite": True}
    yield Call("TableModel.save", model.save, given, {"path": PLACE})
    if not Path("read").exists():
        front().save("read")
    yield Call("load", ff.load, {"path": "read"}, {"path": kind()})


def of_data() -> Iterator[Call]:
    """Return calls of data sets and of Pareto's functions."""
    several = {"points": entries(NUMBER, lambda each: [[0.5, each]]), "reference": entries(NUMBER, lambda e: [1, e])}
    values, front, volume, check = [[0.1, 0.2]], ff.pareto.nondominated, ff.pareto.hypervolume, ff.pareto.is_efficient
    yield Call("pareto.nondominated", lambda points, **more: front(points, **more), {"points": values}, several)
    given = {"points": values, "reference": [1.0, 1.0]}
    yield Call("pareto.hypervolume", lambda points, reference: volume(points, reference), given, several)
    given = {"functions": squares, "x": [0.5, 0.5], "jac": slopes}
    point = entries(NUMBER, lambda each: [0.5, each], *NUMBER.takes, "far")
    different = {"functions": CALLABLE, "x": point, "bounds": BOUNDS, "tol": POSITIVE}
    yield Call("pareto.is_efficient", lambda functions, x, **more: check(functions, x, **more), given, different)
    for name in ("load_loans", "load_motor"):
        yield Call(f"datasets.{name}", public(f"datasets.{name}"), {"n": 50})
    yield Call("datasets.load", ff.datasets.load, {"name": "loans"}, {"name": NAME})
    files = {"folder": kind("None"), "paper_split": FLAG, "binary": FLAG, "target": NAME}
    for name in ("adult", "communities_crime", "compas", "german_credit", "oulad"):
        reader = public(f"datasets.load_{name}")
        yield Call(f"datasets.load_{name}", reader, {"folder": "."}, files, works=False)
    bringing = {"name": NAME, "patience": kind(), "progress": FLAG}
    yield Call("datasets.fetch", ff.datasets.fetch, {"name": "loans"}, bringing, works=False)
    data = ff.datasets.load_loans(n=60)
    different = {"fit_on": ROWS | "None", "rows": ROWS, "include": COLUMNS, "encoding": NAME, "names": COLUMNS}
    yield Call("datasets.Dataset.as_csv", data.as_csv)
    yield Call("datasets.Dataset.frame", data.frame)
    yield Call("datasets.Dataset.matrix", data.matrix, {}, different)
    yield Call("datasets.Dataset.subset", data.subset, {"rows": np.arange(3)}, different)
    asked, name = data.sensitive_features, "datasets.Dataset.sensitive_features"
    yield Call(name, lambda name: asked(name), {"name": "sex"}, {"name": NAME}, ("name",))
    given = {"columns": data.columns, "names": ["income"]}
    yield Call("datasets.encode", ff.datasets.encode, given, different | {"columns": kind()})
    paper = {"dataset": kind(), "drop": COLUMNS}
    yield Call("datasets.paper_matrix", ff.datasets.paper_matrix, {"dataset": data}, paper, works=False)


def of_torch() -> Iterator[Call]:
    """Return calls of modules' objectives, steps and traces."""
    module = torch.nn.Linear(2, 1)
    several = ("wide", "tuples")  # several labels per row
    labels = replace(LABELS, more={name: value for name, value in LABELS.more.items() if name not in several})
    given = {"y": Y, "sensitive_features": GROUP}
    yield Call("torch.objectives", ff.torch.objectives, given, {"ridge": NOT_NEGATIVE, "y": labels})
    laid = ff.torch.objectives(**given)
    rows = {"module": kind(), "y": labels, "device": kind("None"), "training": kind("None")}
    rows |= {
        "rule": kind("None"),
        "optimizer": CALLABLE | "None",
        "scheduler": kind("None", "class"),
        "on_epoch": CALLABLE | "None",
    }
    rows |= {"validation": kind("None"), "slide": kind("None"), "stack": FLAG | "None", "head": NAME | "None"}
    short = ff.torch.Training(epochs=1)
    given = {"module": module, **DATA, "training": short, "progress": False}
    yield Call("torch.fit", ff.torch.fit, given, rows)
    yield Call("torch.trace", ff.torch.trace, {**given, "preferences": 2}, rows | {"solver": kind("None")})
    yield Call("torch.trace_head", ff.torch.trace_head, {"module": module, **DATA, "n_points": 3}, rows)
    sizes = {"objectives": kind(), "batch_size": COUNT | "None", "least": COUNT | "None"}
    yield Call("torch.CellSampler", ff.torch.CellSampler, {"objectives": laid}, sizes)
    sampler = ff.torch.CellSampler(laid)
    batches = {"epoch": WHOLE, "stream": WHOLE}
    yield Call("torch.CellSampler.batches", lambda **g: list(sampler.batches(**g)), {"epoch": 0}, batches)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    given = {"module": module, "optimizer": optimizer, "objectives": laid, "rule": ff.torch.DescentRule()}
    step = {"module": kind(), "optimizer": kind(), "objectives": kind(), "rule": kind("None"), "memory": SHARE | "zero"}
    step |= {"joint": FLAG | "None", "refresh": COUNT, "stacked": kind("None")}
    yield Call("torch.FairStep", ff.torch.FairStep, given, step)
    made = ff.torch.FairStep(module, optimizer, laid)
    batch = {"inputs": torch.as_tensor(X, dtype=torch.float32), "rows": np.arange(N)}
    several = {"inputs": kind(), "rows": kind(), "second": kind("None")}
    yield Call("torch.FairStep.backward", made.backward, batch, several)
    problem = {"module": kind(), "objectives": kind(), "chunk": COUNT}
    yield Call("torch.TorchProblem", ff.torch.TorchProblem, {"module": module, "X": X, "objectives": laid}, problem)
    yield Call("torch.pdo_weights", ff.torch.pdo_weights, {"gramian": torch.eye(2)}, {"gramian": kind()})
    where = {"path": kind(), "module": kind()}
    yield Call("torch.load", ff.torch.load, {"path": "nothing", "module": module}, where, works=False)


CALLS: dict[str, Callable[[], Iterator[Call]]] = {
    "settings": of_settings,
    "tracing": of_tracing,
    "estimators": of_estimators,
    "frontier": of_frontier,
    "pages": of_pages,
    "judging": of_judging,
    "tables": of_tables,
    "data": of_data,
    "torch": of_torch,
}
