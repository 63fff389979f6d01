"""Regenerate the paper's experiments: python -m benchmarks.paper [--quick] [--only NAME] [--appendix] [--fresh] [--draw]."""

from __future__ import annotations

import argparse
import time

from .. import report
from . import (
    ablations,
    appendix,
    bars,
    convergence,
    counts,
    example,
    extraction,
    frontiers,
    geometry,
    named_methods,
    race,
    reproduction,
    splits,
    summary,
    table1,
)
from .experiment import Experiment, Made, Store, run_all, stamp, write_index, write_page

EXPERIMENTS: tuple[Experiment, ...] = tuple(
    part.EXPERIMENT
    for part in (
        *(extraction, bars, race, table1, splits, frontiers, example, convergence, named_methods, geometry),
        *(ablations, counts, appendix),
    )
)


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.paper", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small version, in build/paper-quick")
    parser.add_argument("--only", choices=[e.name for e in EXPERIMENTS], action="append", help="one experiment")
    parser.add_argument("--appendix", action="store_true", help="run the appendix instead of the main text")
    parser.add_argument("--fresh", action="store_true", help="run all tasks anew, and compare with what was stored")
    parser.add_argument("--draw", action="store_true", help="redraw pages from kept results, run nothing")
    parser.add_argument("--jobs", type=int, default=2, help="processes, one BLAS thread each (default 2)")
    return parser.parse_args()


def main() -> None:
    """Run what is missing, then write the pages and the index."""
    given = arguments()
    results = report.ROOT / "build" / "paper-quick" / "results" if given.quick else report.RESULTS / "paper"
    pages = report.ROOT / "build" / "paper-quick" if given.quick else report.DOCS / "paper"
    stamp()  # of the commit that is running, whatever is committed meanwhile
    begun, spent, made = time.perf_counter(), 0.0, []
    agreed: dict[str, reproduction.Agreement] = {}
    for experiment in EXPERIMENTS:
        tasks = experiment.tasks(given.quick)
        store = Store(results / experiment.file)
        named = given.only is None or experiment.name in given.only
        if named and not given.draw and experiment.appendix is given.appendix:
            before, again = store.kept, given.fresh and store.path.stem not in agreed
            if again:
                store.kept, store.stamps = {}, []
            store.prune(tasks)
            run_all(tasks, store, given.jobs, lambda words, name=experiment.name: _say(begun, name, words))
            if again:
                agreed[store.path.stem] = reproduction.agreement(before, store.kept)
                _say(begun, experiment.name, str(agreed[store.path.stem]))
                spent += store.seconds(tasks)
                if given.only is None:
                    took = reproduction.Took((time.perf_counter() - begun) / 60.0, spent / 60.0, given.jobs)
                    ended = experiment is [each for each in EXPERIMENTS if each.appendix is given.appendix][-1]
                    part = "appendix" if given.appendix else "main text"
                    reproduction.keep(part, agreed, stamp(), took, results, ended)
        found = experiment.known(results, given.quick)
        if found is not None:
            seconds = store.seconds(tasks)
            write_page(experiment, experiment.page(found, pages), seconds, store.made, pages)
            made.append(Made(experiment, seconds, len(tasks), experiment.claims(found)))
    write_index(made, pages)
    summary.append(pages, reproduction.section(results))


def _say(begun: float, name: str, words: str) -> None:
    print(f"{time.perf_counter() - begun:7.0f} s  {name}: {words}", flush=True)


if __name__ == "__main__":
    main()
