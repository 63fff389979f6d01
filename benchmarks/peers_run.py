"""The comparison with peers: every method on every case, resumed where it stopped, then the tables.

python -m benchmarks.peers_run            all of it, at most about 40 minutes on 2 cores
python -m benchmarks.peers_run --quick    few rows and splits, for development; writes no documents
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from . import peers_regression, peers_sweeps
from .peers import PEERS
from .peers_cases import CASES
from .peers_fit import RESULTS
from .peers_headline import short
from .peers_report import section
from .report import write_section

COMMAND = "python -m benchmarks.peers_run"
SPLITS, SPLITS_INSIDE, POINTS = 10, 5, 50
LEFT_OUT_INSIDE = ("torchjd_upgrad", "torchjd_mgda", "nsga2", "aif360_grid_search", "slsqp")
JOB_LIMIT = 1500


def jobs(quick: bool, cases: list[str]) -> list[list[str]]:
    """Return the arguments of peers_fit for every method, case and variant."""
    made = []
    for inside in (False, True):
        variant = ("quick" if quick else "full") + ("-sensitive" if inside else "")
        splits = 2 if quick else SPLITS_INSIDE if inside else SPLITS
        points = 12 if quick else POINTS
        for case in cases:
            for peer in PEERS:
                if not (inside and peer in LEFT_OUT_INSIDE):
                    few = min(splits, PEERS[peer].most_splits)
                    made.append([case, peer, f"--splits={few}", f"--points={points}", f"--variant={variant}"])
    return made


def run_job(arguments: list[str]) -> None:
    """Run one method on one case in a process of its own, with one thread, for at most JOB_LIMIT seconds."""
    alone = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    start = time.perf_counter()
    command = [sys.executable, "-m", "benchmarks.peers_fit", *arguments]
    try:
        done = subprocess.run(command, env={**os.environ, **alone}, capture_output=True, text=True, timeout=JOB_LIMIT)
        said = "" if done.returncode == 0 else f" FAILED: {done.stderr.strip().splitlines()[-1]}"
    except subprocess.TimeoutExpired:
        said = f" stopped after {JOB_LIMIT} s; finished splits are kept"
    print(f"{' '.join(arguments[:2])} {arguments[-1]}: {time.perf_counter() - start:.0f} s{said}", flush=True)


def worded(body: str) -> str:
    """Say in words where a figure has no value: the box of a split without area."""
    return re.sub(r"\+?nan( \(\+?nan to \+?nan\))?", "no box", body)


def page_of(title: str) -> str:
    """Return the page of a section."""
    if title.endswith("sensitive column in X"):
        return "peers-sensitive"
    return "peers-cases" if any(title == f"Peers: {case.title}" for case in CASES.values()) else "peers"


def write(quick: bool) -> None:
    """Write every section that has results: into the page, or beside the results for a quick run."""
    variant = "quick" if quick else "full"
    made = [section(v, case) for v in (variant, f"{variant}-sensitive") for case in CASES]
    sections = [short(variant), *[s for s in made if s], *peers_regression.sections(variant)]
    sections += peers_sweeps.sections(variant)
    sections = [(title, worded(body)) for title, body in sections]
    if not quick:
        for title, body in sections:
            write_section(page_of(title), title, COMMAND, body)
        return
    page = RESULTS / "quick" / "report.md"
    page.write_text("\n\n".join(f"## {title}\n\n{body}" for title, body in sections) + "\n")
    print(f"written: {page}")


def main(quick: bool = False, workers: int = 2, fresh: bool = False, cases: list[str] | None = None) -> None:
    """Run what is missing, then write."""
    if fresh:
        for folder in RESULTS.glob("quick*" if quick else "full*"):
            shutil.rmtree(folder)
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(run_job, jobs(quick, cases or list(CASES))))
    peers_regression.run("quick" if quick else "full")
    peers_sweeps.run("quick" if quick else "full")
    write(quick)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--fresh", action="store_true", help="forget earlier results")
    parser.add_argument("--cases", nargs="+", choices=CASES, help="only these, for development")
    given = parser.parse_args()
    main(given.quick, given.workers, given.fresh, given.cases)
