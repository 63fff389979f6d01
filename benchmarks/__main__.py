"""Run benchmarks, all of them or those that are named, or only draw the pages again: python -m benchmarks [NAME ...]."""

from __future__ import annotations

import argparse
import importlib

from . import report

BENCHMARKS = {
    "engine": ("engine_speed", "engine_quality"),
    "threads": ("threads",),
    "newton": ("newton_quality",),
    "peers": ("peers_run",),
    "boosting": ("boosting",),
    "cheaper_trees": ("boosting_cheaper",),
    "networks": ("torch_adult",),
    "torch_steps": ("torch_steps",),
    "audit": ("audit",),
    "files": ("tables",),
    "trace_cost": ("trace_cost",),
    "explorer": ("explorer",),
    "startup": ("startup",),
    "dask": ("scale",),
    "parquet": ("out_of_core",),
}

parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Run benchmarks; all of them take hours.")
parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHMARKS))
parser.add_argument("--draw", action="store_true", help="draw the pages from stored results, run nothing")
asked = parser.parse_args()
for name in [] if asked.draw else asked.names or BENCHMARKS:
    for module in BENCHMARKS[name]:
        importlib.import_module(f"benchmarks.{module}").main()
report.draw()
