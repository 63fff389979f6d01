"""Run benchmarks, all of them or those that are named, or only draw the pages again: python -m benchmarks [NAME ...]."""

from __future__ import annotations

import argparse
from importlib import import_module

from . import report

BENCHMARKS = {
    "peers": "contests:peers",
    "rates": "rates:sections",
    "sizes": "peers.sizes:sections",
    "promises": "promises.page:sections",
    "promise_causes": "promises.causes:sections",
    "alternatives": "improvability:sections",
    "incumbents": "incumbents:sections",
    "boosting": "contests:boosting_lightgbm",
    "networks": "contests:networks_traced",
    "torch_steps": "speed.torch_steps:sections",
    "engine": "speed.engine:sections",
    "preferences": "speed.engine:preferences",
    "newton": "speed.newton:sections",
    "hinges": "speed.hinge:sections",
    "held_out": "speed.held_out:sections",
    "threads": "speed.threads:sections",
    "poisson": "speed.poisson:sections",
    "notions": "speed.notions:sections",
    "audit": "speed.audit:sections",
    "files": "speed.files:sections",
    "search": "speed.alternatives:sections",
    "trace_cost": "speed.trace_cost:sections",
    "explorer": "speed.explorer:sections",
    "startup": "speed.startup:sections",
    "dask": "speed.dask:sections",
    "parquet": "speed.parquet:sections",
}
MORE = {"boosting_hist": "contests:boosting_hist"}
"""Run only when they are named."""


def main() -> None:
    """Run what is asked for; quick runs print their sections and write nothing."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Run benchmarks; all of them take hours.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join([*BENCHMARKS, *MORE]))
    parser.add_argument("--quick", action="store_true", help="small versions, printed and not kept")
    parser.add_argument("--draw", action="store_true", help="draw the pages from stored results, run nothing")
    asked = parser.parse_args()
    for name in [] if asked.draw else asked.names or BENCHMARKS:
        module, function = {**BENCHMARKS, **MORE}[name].split(":")
        sections = getattr(import_module(f"benchmarks.{module}"), function)(asked.quick)
        print(*sections, sep="\n\n", flush=True)
        if not asked.quick:
            report.save(sections, f"python -m benchmarks {name}")
    if not asked.quick:
        report.draw()


if __name__ == "__main__":
    main()
