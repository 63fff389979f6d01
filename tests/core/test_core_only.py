"""The core alone, as in a browser: no extra can be imported, and neither threads nor processes can be started."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.places import environment

CODE = """
import importlib.abc, os, subprocess, sys, threading

class Refuse(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {extras!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
        return None

def refuse(*args, **kwargs):
    raise RuntimeError("can't start new thread or process")

sys.meta_path.insert(0, Refuse())
threading.Thread.start = refuse
subprocess.Popen.__init__ = refuse
os.fork = os.posix_spawn = refuse

import fairfront as ff

data = ff.datasets.load_loans(n=3000, seed=0)
X, _ = data.matrix("one_hot")
group = data.columns["group"]
front = ff.trace(X[:2000], data.y[:2000], sensitive_features=group[:2000], favourable="repaid", n_points=4)
front = front.evaluate(X[2000:], data.y[2000:], sensitive_features=group[2000:], approval_rate=0.6)
model = front.select(least="tpr_gap", within={{"error": 0.05}}, confidence=None)
found = ff.audit(data.y, model.predict(X), sensitive_features=group, favourable="repaid")
front.to_html("report.html")
front.save("front")
print(len(ff.load("front")), type(model).__name__, len(found.sentences) > 0, "<svg" in front._repr_html_())
"""


def test_the_core_needs_no_extra_no_thread_and_no_process(tmp_path: Path) -> None:
    extras = {
        *("matplotlib", "pandas", "polars", "pyarrow", "moocore", "skops", "dask"),
        *("distributed", "torch", "safetensors", "lightgbm", "xgboost", "catboost", "fairlearn", "psutil"),
    }
    code = CODE.format(extras=extras)
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", "-c", code],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["4", "FixedThresholdClassifier", "True", "True"]
