"""Calls that would take very long, or more memory than there is, are refused before any work; large data are not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import rankdata
from sklearn.linear_model import LogisticRegression

import fairfront as ff
from fairfront.problems.resources import check_memory, check_points, check_steps, check_time, minutes
from fairfront.tables import ColumnSchema, Schema, open_source

RNG = np.random.default_rng(0)
X = RNG.normal(size=(240, 3))
A = np.tile(["a", "b"], 120)
Y = (X[:, 0] + (A == "a") + RNG.normal(size=240) > 0).astype(int)


def problem(n: int, d: int, K: int = 1, k: int = 5) -> Any:
    """Return what estimates read of a linear problem."""
    return SimpleNamespace(rows=SimpleNamespace(n=n), d=d, K=K, layout=SimpleNamespace(k=k))


def trace(**options: Any) -> ff.Frontier:
    return ff.trace(X, Y, sensitive_features=A, progress=False, **options)


def no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def fit(*_: Any) -> None:
        pytest.fail("work began before the refusal")

    monkeypatch.setattr("fairfront.problems.LinearProblem.fit", fit)


@pytest.mark.parametrize(
    "options",
    [
        {"solver": ff.Newton(overshoot=1e6)},
        {"solver": ff.Newton(restarts=10**9)},
        {"n_points": 9_999, "solver": ff.Newton(restarts=1_000)},
        {"solver": ff.PBPDO(max_iter=10**12)},
        {"solver": ff.PDO(max_iter=10**12)},
        {"solver": ff.PaperPDO(T=10**12)},
    ],
)
def test_options_beyond_reason_are_refused_before_any_work(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    no_work(monkeypatch)
    monkeypatch.setenv("FAIRFRONT_MEMORY", "1e9")
    with pytest.raises(ff.InputError, match=r"would take about .*, expected at most 10 minutes; .*FAIRFRONT_MINUTES="):
        trace(**options)


def test_fits_of_an_estimator_are_counted() -> None:
    with pytest.raises(ff.InputError, match="fits would take about"):
        trace(estimator=LogisticRegression(), solver=ff.Weighting(max_fits=10**9))


def test_the_variable_allows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ff.InputError, match=r"FAIRFRONT_MINUTES=24\b"):
        check_time(1200.0, 0.0, "this")
    with pytest.raises(ff.InputError, match=r"^this would take about 6.67 hours, .*FAIRFRONT_MINUTES=480\."):
        check_time(24000.0, 0.0, "this")
    with pytest.raises(ff.InputError, match=r"^2000000000 points would take .* [\d.]+ GB of memory"):
        check_points(SimpleNamespace(rows=SimpleNamespace(n=9), K=1, d=2, layout=SimpleNamespace(k=9)), 2e9, 1.0)
    for allowed in ("24", "inf"):
        monkeypatch.setenv("FAIRFRONT_MINUTES", allowed)
        check_time(1200.0, 0.0, "this")
    for bad in ("0", "-1", "nan", "x"):
        monkeypatch.setenv("FAIRFRONT_MINUTES", bad)
        with pytest.raises(ff.InputError, match="expected minutes as a number above 0"):
            minutes()


@pytest.mark.parametrize(("n", "d", "points"), [(10_000_000, 101, 30), (300_000_000, 51, 64), (50, 20_001, 64)])
def test_large_data_are_not_refused(n: int, d: int, points: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the defaults may solve is allowed on any data: whoever has them cannot ask for less."""
    monkeypatch.setenv("FAIRFRONT_MEMORY", "16")
    check_points(problem(n, d), points, 64)
    check_steps(problem(n, d), 12, 400, 400)
    if n > 1000:
        with pytest.raises(ff.InputError, match=r"^5000 points would take"):
            check_points(problem(n, d), 5000, 64)


def test_memory_is_counted_before_it_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRFRONT_MEMORY", "0.000001")
    trace(n_points=2)
    monkeypatch.setattr("fairfront.problems.resources.SMALL", 0.0)
    with pytest.raises(
        ff.InputError, match=r"240 rows and 3 columns would take about .* GB of memory.*FAIRFRONT_MEMORY"
    ):
        trace()
    monkeypatch.setenv("FAIRFRONT_MEMORY", "1")
    check_memory(0.8e9, "this")
    with pytest.raises(ff.InputError, match=r"this would take about 0.81 GB of memory, expected at most 0.8 GB \(80%"):
        check_memory(0.81e9, "this")


class Counted(str):
    """A name that counts how often it is compared."""

    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return str.__eq__(self, other)


def test_columns_are_found_without_a_walk_over_all(tmp_path: Any) -> None:
    """A file of 20 000 columns took 48 seconds to read, most of them to look names up in lists."""
    names = [f"c{i}" for i in range(2_000)]
    (tmp_path / "wide.csv").write_text(",".join(names) + "\n" + ",".join("1" for _ in names) + "\n")
    source = open_source(tmp_path / "wide.csv")
    source.names = tuple(map(Counted, source.names))
    schema = Schema(1, tuple(ColumnSchema(name, "number", 0, 1, True, True, True, False) for name in source.names), ())
    Counted.compared = 0
    for name in names:
        source.check_column(name)
        schema.column(name)
    assert list(next(iter(source.chunks(names)))) == names
    assert Counted.compared < 10 * len(names)


def test_the_area_under_the_curve_is_that_of_ranks() -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        scores, positive = rng.integers(0, 9 + 40 * seed, 300).astype(float), rng.random(300) < 0.4
        n, m = int(positive.sum()), int((~positive).sum())
        assert ff.measures.auc(scores, positive)[0] == (rankdata(scores)[positive].sum() - n * (n + 1) / 2) / (n * m)
