"""The audit on many rows, and many models judged at once against a loop over fairlearn's MetricFrame."""

from __future__ import annotations

import time
from importlib.metadata import version
from typing import Any

import numpy as np

from ..report import Section, Table, thousands
from .process import apart, peak

MODELS, ROWS, TIMED = 1000, 100_000, 5


def measure_rows(n: int) -> dict[str, float]:
    """Return seconds of an audit of scores, of one of decisions, and the peak memory of the process."""
    import fairfront as ff

    rng = np.random.default_rng(0)
    group = rng.integers(0, 5, n).astype(np.int8)
    score = rng.random(n)
    y = (rng.random(n) < score).astype(np.int8)
    decided = (score >= 0.5).astype(np.int8)
    seconds = {}
    for name, given in (("scored", score), ("decided", decided)):
        start = time.perf_counter()
        ff.audit(y, given, sensitive_features={"group": group})
        seconds[name] = time.perf_counter() - start
    return {**seconds, "peak": peak()}


def measure_models(models: int) -> dict[str, float]:
    """Return seconds for all models here, seconds of one MetricFrame (median), and the largest difference."""
    from fairlearn.metrics import MetricFrame, false_positive_rate, selection_rate, true_positive_rate
    from sklearn.metrics import zero_one_loss

    from fairfront.measures.counts import count
    from fairfront.measures.rates import rates_of

    rng = np.random.default_rng(0)
    codes, good = rng.integers(0, 5, ROWS), rng.random(ROWS) < 0.4
    decided = rng.random((models, ROWS), dtype=np.float32) < 0.5
    seconds, single, worst = [], [], 0.0
    for _ in range(3):
        start = time.perf_counter()
        rates = rates_of(count(decided, good.astype(np.intp), 2, codes, 5), [str(k) for k in range(5)], 1)
        seconds.append(time.perf_counter() - start)
    metrics: dict[str, Any] = {"selection": selection_rate, "tpr": true_positive_rate, "fpr": false_positive_rate}
    metrics["error"] = zero_one_loss
    for model in range(TIMED):
        start = time.perf_counter()
        asked = {"y_true": good.astype(np.int64), "y_pred": decided[model].astype(np.int64)}
        by_group = MetricFrame(metrics=metrics, sensitive_features=codes, **asked).by_group
        single.append(time.perf_counter() - start)
        for name in metrics:
            worst = max(worst, float(np.abs(by_group[name].to_numpy() - rates.rate(name)[model]).max()))
    return {"ours": float(np.median(seconds)), "single": float(np.median(single)), "worst": worst}


def sections(quick: bool) -> list[Section]:
    """Measure both."""
    rows, models = [], 10 if quick else MODELS
    sizes = (10_000, 100_000) if quick else (1_000_000, 10_000_000)
    for n in sizes:
        found = apart(measure_rows, n)
        rows.append(
            [thousands(n), *(f"{found[k]:.1f} s" for k in ("scored", "decided")), f"{found['peak'] / 2**30:.1f} GB"]
        )
    many = apart(measure_models, models)
    loop = many["single"] * models
    parts = [
        "### Many rows",
        "Five groups, every figure with its interval; groups and labels are integers. Peak memory is the whole process's, "
        "data included.",
        Table(["rows", "audit of scores", "audit of decisions", "peak memory"], rows),
        "### Many models",
        f"{models} models, {ROWS} rows, five groups: selection, TPR, FPR and error per group. The loop is {TIMED} calls of "
        f"MetricFrame of fairlearn {version('fairlearn')} (which finds overall figures too), their median times {models}. "
        f"Largest difference of any figure: {many['worst']:.0e}.",
        Table(
            ["way", "time", "ratio (at least 50)"],
            [
                ["group_rates", f"{many['ours']:.2f} s", "1"],
                ["loop over MetricFrame (scaled)", f"{loop:.0f} s", f"{loop / many['ours']:.0f}"],
            ],
        ),
    ]
    summary = (
        f"An audit of {thousands(sizes[-1])} rows takes {rows[-1][1]}; {models} models at once {many['ours']:.2f} s."
    )
    return [Section("tools", "Audit", parts, summary)]
