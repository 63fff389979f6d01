"""Every public callable, with a bad value of every kind for every parameter: one sentence, and nothing else.

`tests.support.bad_calls` has a good call of each, `bad_values` the values. What is refused is refused by an error
of fairfront, or by scikit-learn's own checks where an estimator's contract asks for those. What is taken all the same
is listed here, with the reason.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fairfront as ff
import tests.support.bad_calls as walker
from tests.support.bad_calls import CALLS, Call, parameters, public

pytestmark = pytest.mark.hypothesis  # what `make fuzz` selects

TRUE_IS_ONE = "numpy reads True among numbers as 1"
ANY_ROWS = "any number of rows can be predicted"
MODULES_KNOW = "a module takes rows of any shape, missing values too, and its first pass says which it does not"
ONE_LABEL = "rows of one label can be judged, and rates of the other have no value"
ACCEPTED: dict[tuple[str, str, str], str] = {
    ("[!t]*", "preference", "with True"): TRUE_IS_ONE,
    ("torch.fit", "preference", "with True"): TRUE_IS_ONE,
    ("*", "preferences", "with True"): TRUE_IS_ONE,
    ("minimize", "x0", "*True"): TRUE_IS_ONE,
    ("pareto.*", "points", "with True"): TRUE_IS_ONE,
    ("pareto.*", "reference", "with True"): TRUE_IS_ONE,
    ("pareto.*", "bounds", "with True"): TRUE_IS_ONE,
    ("pareto.*", "x", "*True"): TRUE_IS_ONE,
    ("*", "rows", "with True"): TRUE_IS_ONE,
    ("*", "fit_on", "with True"): TRUE_IS_ONE,
    ("*.predict*", "X", "short"): ANY_ROWS,
    ("*.decision_function", "X", "short"): ANY_ROWS,
    ("reasons", "X", "short"): "any number of rows can have reasons",
    ("reasons", "reference", "with True"): TRUE_IS_ONE,
    ("Frontier.evaluate*", "y", "constant"): ONE_LABEL,
    ("Frontier.explain", "y", "constant"): ONE_LABEL,
    ("Frontier.calibration", "y", "constant"): ONE_LABEL,
    ("Frontier.to_html:rows", "y", "constant"): ONE_LABEL,
    ("audit", "y_true", "constant"): ONE_LABEL,
    ("audit", "y_true", "fractions"): "numbers to be predicted are audited as a regression",
    ("audit", "control_features", "constant"): "everybody is in one stratum",
    ("audit", "control_features", "missing"): "everybody is in the stratum of those whose value is missing",
    **{("torch.TorchProblem", "X", value): MODULES_KNOW for value in ("flat", "narrow", "holes", "infinite")},
    ("torch.trace_head", "head", "empty text"): "the name of a module that is a linear layer itself",
    ("load", "trusted", "empty array"): "no name is trusted, as by default",
}
"""Bad values that are taken: call, parameter and value (patterns), and why."""
RECORDS = {
    *("Alternatives", "Audit", "Frontier", "MinimizeResult", "Reasons", "Run", "TableModel"),
    *("datasets.Dataset", "datasets.Fetched", "datasets.Origin", "pareto.Efficiency"),
    *("torch.FitResult", "torch.StepRecord", "torch.TorchObjectives", "torch.TorchPoints", "torch.SlideRule"),
}
"""Made by fairfront and not by people, who call their methods."""
INSIDE = {
    *("beginning", "begin", "plan", "judge", "course", "finished", "traced_status", "solver", "target"),
    *("random_weights", "starts", "descent_direction"),  # between a solver and its loop
    *("stated", "working", "check_needs", "aim", "problem", "trace", "solve"),  # of solvers, for ff.trace
    *("merit", "weights", "caps", "missed"),  # between a rule and its step
    *("cells", "values", "move", "state", "tensors", "load", "of", "build", "scores", "take"),  # of problems and models
    *("judged", "responses", "decisions", "read", "beyond"),  # of models, files that were checked, and paths
    *("resolve", "outputs", "fill", "write", "published", "table"),  # for other rooms, or without any
}
"""Methods that other parts of fairfront call, with arrays and records that they have checked."""


def expected(call: Call, parameter: str, value: str) -> bool:
    """Tell whether a bad value is on the list of those that are taken."""
    return any(fnmatch(call.name, a) and parameter == b and fnmatch(value, c) for a, b, c in ACCEPTED)


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let whatever a call writes stay in a folder of the test's own, and draw on no screen."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")


@pytest.mark.slow
@pytest.mark.parametrize("group", CALLS)
def test_bad_values_are_refused_in_one_sentence(group: str) -> None:
    import matplotlib.pyplot as plt

    found = []
    for call in CALLS[group]():
        if call.works:
            call()
        for parameter, name, value in call.bad():
            said = walker.faults(call, **{parameter: value})
            plt.close("all")
            if expected(call, parameter, name):
                said = "" if said == "accepted" else f"is on the list of what is taken, and is not: {said}"
            if said:
                found.append(f"{call.name}({parameter}={name}): {said}")
    assert not found, f"{len(found)} faults:\n" + "\n".join(found)


@pytest.mark.slow
@pytest.mark.parametrize("group", CALLS)
def test_several_bad_values_are_refused_in_one_sentence(group: str) -> None:
    """Checks may not rely on each other: two values that are bad in different ways meet in one call."""
    calls = [call for call in CALLS[group]() if len(call.parameters) > 1]

    @settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.nested_given], max_examples=150)
    @given(st.data())
    def spoil(data: st.DataObject) -> None:
        call = data.draw(st.sampled_from(calls), label="call")
        bad = list(call.bad())
        one, other = (data.draw(st.sampled_from(bad), label="value") for _ in range(2))
        said = walker.faults(call, **{one[0]: one[2], other[0]: other[2]})
        assert said in ("", "accepted"), f"{call.name}({one[0]}={one[1]}, {other[0]}={other[1]}): {said}"

    spoil()


def public_callables() -> Iterator[str]:
    """Return the names of all that people can call."""
    rooms = {"": ff, "datasets.": ff.datasets, "pareto.": ff.pareto, "torch.": ff.torch}
    for prefix, room in rooms.items():
        for name in room.__all__:
            found = getattr(room, name)
            if inspect.isfunction(found) and parameters(found):
                yield prefix + name
            elif inspect.isclass(found) and not issubclass(found, (Exception, ff.Status)):
                yield from of_class(prefix + name, found)


def of_class(name: str, kind: type) -> Iterator[str]:
    """Return a class that people make, and its methods that they call with something."""
    if name not in RECORDS:
        yield name
    for method in dir(kind):
        known = inspect.getattr_static(kind, method)
        function = getattr(known, "__func__", known)
        home = getattr(function, "__module__", None) or ""
        ours = inspect.isfunction(function) and home.startswith("fairfront") and not method.startswith("_")
        if ours and method != "fit" and method not in INSIDE and parameters(function):
            yield f"{name}.{method}"


def test_every_public_callable_has_a_good_call() -> None:
    known: dict[str, set[str]] = {}
    for group in CALLS.values():
        for call in group():
            known.setdefault(call.name.partition(":")[0], set()).update(call.parameters)
    missing = [name for name in public_callables() if name not in known]
    assert not missing, f"give these a good call in tests/support/bad_calls.py: {', '.join(missing)}"
    for name, tried in known.items():
        left = set(parameters(public(name))) - tried
        assert not left, f"no call of {name} spoils {', '.join(sorted(left))}"
