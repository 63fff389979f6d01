"""The audit on many rows, and many models judged at once against a loop over fairlearn's MetricFrame.

python -m benchmarks.audit
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from importlib.metadata import version

import numpy as np

from .report import table, write_section

MODELS, ROWS, TIMED = 1000, 100_000, 5


def measure_rows(n: int) -> tuple[float, float, float]:
    """Return seconds of an audit of scores, of one of decisions, and peak memory of the process in GB."""
    import fairfront as ff

    rng = np.random.default_rng(0)
    group = rng.integers(0, 5, n).astype(np.int8)
    score = rng.random(n)
    y = (rng.random(n) < score).astype(np.int8)
    decided = (score >= 0.5).astype(np.int8)
    seconds = []
    for given in (score, decided):
        start = time.perf_counter()
        ff.audit(y, given, sensitive_features={"group": group})
        seconds.append(time.perf_counter() - start)
    return seconds[0], seconds[1], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2


def measure_models() -> tuple[float, float, float]:
    """Return seconds for all models here, seconds of one MetricFrame (median), and the largest difference."""
    from fairlearn.metrics import MetricFrame, false_positive_rate, selection_rate, true_positive_rate
    from sklearn.metrics import zero_one_loss

    from fairfront.measures import group_rates

    rng = np.random.default_rng(0)
    codes = rng.integers(0, 5, ROWS)
    good = rng.random(ROWS) < 0.4
    decided = rng.random((MODELS, ROWS), dtype=np.float32) < 0.5
    levels = [str(k) for k in range(5)]
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        rates = group_rates(decided, good, codes, levels)
        seconds.append(time.perf_counter() - start)
    metrics = {
        "selection": selection_rate,
        "tpr": true_positive_rate,
        "fpr": false_positive_rate,
        "error": zero_one_loss,
    }
    truth, single, worst = good.astype(np.int64), [], 0.0
    for model in range(TIMED):
        start = time.perf_counter()
        frame = MetricFrame(
            metrics=metrics, y_true=truth, y_pred=decided[model].astype(np.int64), sensitive_features=codes
        )
        by_group = frame.by_group
        single.append(time.perf_counter() - start)
        for name in metrics:
            worst = max(worst, float(np.abs(by_group[name].to_numpy() - rates.rate(name)[model]).max()))
    return float(np.median(seconds)), float(np.median(single)), worst


def in_a_process(call: str) -> list[float]:
    """Run one measurement in a fresh process."""
    command = [sys.executable, "-c", f"from benchmarks.audit import *; print(*{call})"]
    return [float(word) for word in subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()]


def main() -> None:
    """Measure both and write the section."""
    rows = []
    for n in (1_000_000, 10_000_000):
        scored, decided, memory = in_a_process(f"measure_rows({n})")
        rows.append([f"{n:,}".replace(",", " "), f"{scored:.1f} s", f"{decided:.1f} s", f"{memory:.1f} GB"])
    ours, single, worst = in_a_process("measure_models()")
    loop = single * MODELS
    body = (
        "### Many rows\n\nFive groups, every figure with its interval; groups and labels are integers. Peak memory is the "
        "whole process's, data included.\n\n"
        + table(["rows", "audit of scores", "audit of decisions", "peak memory"], rows)
        + f"\n\n### Many models\n\n{MODELS} models, {ROWS} rows, five groups: selection, TPR, FPR and error per group. "
        f"The loop is {TIMED} calls of MetricFrame of fairlearn {version('fairlearn')} (which finds overall figures too), "
        f"their median times {MODELS}. Largest difference of any figure: "
        f"{worst:.0e}.\n\n"
        + table(
            ["way", "time", "ratio (at least 50)"],
            [
                ["group_rates", f"{ours:.2f} s", "1"],
                ["loop over MetricFrame (scaled)", f"{loop:.0f} s", f"{loop / ours:.0f}"],
            ],
        )
    )
    write_section("tools", "Audit", "python -m benchmarks.audit", body)


if __name__ == "__main__":
    main()
