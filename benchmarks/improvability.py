"""Size and power of the improvability test on drawn people, kept so that it goes on where it stopped.

A run ends when enough splits are done for its verdict: the p-value, twice the median of 20, is at most .05 if and only if
ten splits have at most .025.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from fairfront.improvability.arguments import read_attributes, read_labels, texts_of
from fairfront.improvability.estimates import Answers, Sample
from fairfront.improvability.families import Data
from fairfront.improvability.requirements import Requirements
from fairfront.improvability.split_search import Budget, Plan, atoms_of, search_split
from fairfront.measures import auc

from .report import RESULTS, Section, Table, commit, publish

RUNS = RESULTS / "improvability-runs.json"
BETA = np.array([1.2, 0.8, -0.5, 0.3])
PROXY = 0.5  # standard deviation of the noise with which a column tells the group
LARGE = 2_000_000
LEVEL, SPLITS = 0.05, 20
MAIN = "power_.03_10000"


@dataclass(frozen=True)
class Setting:
    """A law of people and an incumbent; ``exists`` says whether a fairer alternative does."""

    title: str
    draw: Callable[[int, np.random.Generator], tuple[np.ndarray, ...]]
    n: int
    tolerance: float
    exists: bool
    runs: int = 1000
    rival: float = 0.0
    """Weight of the proxy in a candidate that is handed in, in the place of the linear family."""
    noise: float = 0.0
    """Standard deviation of noise in such a candidate, and of other noise in the incumbent."""


def drawn(
    n: int, random: np.random.Generator, shift: float, weight: float, share: float = 0.5, odds: float = 0.0
) -> tuple[np.ndarray, ...]:
    """Return features, labels, groups (``share`` is that of "a") and the incumbent's scores.

    ``odds`` are the log-odds of the label where all columns are 0, without which the base rate is one half.

    Columns are four that the label depends on, the first of which has a mean that is ``shift`` higher in one group, and
    one that tells the group and nothing else of the label. The incumbent knows the best score and adds ``weight`` times
    the last column.
    """
    group = random.integers(0, 2, n) if share == 0.5 else (random.random(n) < share).astype(int)
    X = random.normal(size=(n, 5))
    X[:, 0] += shift * (group - 0.5)
    X[:, 4] = group - 0.5 + PROXY * X[:, 4]
    best = X[:, :4] @ BETA
    y = (random.random(n) < expit(best + odds)).astype(int)
    return X, y, np.where(group == 1, "a", "b"), best + weight * X[:, 4]


def gap_of(y: np.ndarray, group: np.ndarray, score: np.ndarray, rate: float = 0.5) -> float:
    """Return the TPR gap at an approval rate."""
    approved = score >= np.quantile(score, 1.0 - rate)
    return abs(float(approved[(group == "a") & (y == 1)].mean() - approved[(group == "b") & (y == 1)].mean()))


@cache
def law(base: float, gain: float, share: float = 0.5, odds: float = 0.0) -> tuple[float, float]:
    """Return shift and weight at which the best score has the TPR gap ``base`` and the incumbent ``base + gain``."""

    def gap(shift: float, weight: float) -> float:
        _, y, group, score = drawn(LARGE, np.random.default_rng(0), shift, weight, share, odds)
        return gap_of(y, group, score)

    shift = float(brentq(lambda x: gap(x, 0.0) - base, 0.0, 2.0, xtol=1e-3)) if base else 0.0
    weight = float(brentq(lambda x: gap(shift, x) - base - gain, 0.0, 2.0, xtol=1e-3)) if gain else 0.0
    return shift, weight


def _setting(
    base: float,
    gain: float,
    n: int,
    tolerance: float,
    runs: int = 1000,
    share: float = 0.5,
    odds: float = 0.0,
    also: str = "",
) -> Setting:
    title = f"gap {base + gain:g}, best score {base:g}" if gain else f"gap {base:g}, incumbent is the best score"
    people = {"share": share, "odds": odds}
    return Setting(
        title + also, lambda n, r: drawn(n, r, *law(base, gain, **people), **people), n, tolerance, gain > 0, runs
    )


SETTINGS = {
    "none_better": _setting(0.1, 0.0, 4000, 0.0),
    "power_.03_10000": _setting(0.07, 0.03, 10_000, 0.01),
    "no_gap": _setting(0.0, 0.0, 4000, 0.005),
    "boundary": Setting(
        "gap 0.1; the one candidate has less, and loses exactly the tolerance in AUC",
        lambda n, r: drawn(n, r, *law(0.1, 0.0)),
        4000,
        -1.0,
        False,
        rival=-0.35,
    ),
    "small_group": Setting(
        "gap 0.1, incumbent is the best score; one group has 5 % of the rows",
        lambda n, r: drawn(n, r, *law(0.1, 0.0), share=0.05),
        2000,
        0.005,
        False,
    ),
    "small_group_boundary": Setting(
        "one group has 5 % of the rows; the one candidate is the best score with other noise than the incumbent",
        lambda n, r: drawn(n, r, *law(0.1, 0.0), share=0.05),
        2000,
        0.05,
        False,
        noise=0.5,
    ),
    "power_.03_5000": _setting(0.07, 0.03, 5000, 0.01, 400),
    "power_.03_2500": _setting(0.07, 0.03, 2500, 0.01, 400),
    "power_.02_10000": _setting(0.07, 0.02, 10_000, 0.01, 400),
    "power_.02_5000": _setting(0.07, 0.02, 5000, 0.01, 400),
    "power_.01_10000": _setting(0.07, 0.01, 10_000, 0.01, 400),
    "power_.03_tolerance_.001": _setting(0.07, 0.03, 10_000, 0.001, 400),
    "power_unequal_.2": _setting(0.07, 0.03, 10_000, 0.01, 400, share=0.2, also="; one group has 20 % of the rows"),
    "power_unequal_.05": _setting(0.07, 0.03, 10_000, 0.01, 400, share=0.05, also="; one group has 5 % of the rows"),
    "power_base_.2": _setting(0.07, 0.03, 10_000, 0.01, 400, odds=-1.97, also="; base rate .2"),
    "power_to_zero_10000": _setting(0.0, 0.03, 10_000, 0.01, 400),
    "power_to_zero_.05": _setting(0.0, 0.05, 10_000, 0.01, 400),
    "power_to_zero_.1": _setting(0.0, 0.10, 10_000, 0.01, 400),
}


@cache
def loss_of(rival: float) -> float:
    """Return by how much the AUC of the rival is below the best score's, where that has a gap of 0.1."""
    X, y, _, score = drawn(2 * LARGE, np.random.default_rng(1), *law(0.1, 0.0))
    best, other = auc(np.stack([score, score + rival * X[:, 4]]), y)
    return float(best - other)


def p_values(setting: Setting, run: int) -> Iterator[float]:
    """Yield the p-values of splits of one draw of people, as `fairfront.alternatives` makes them."""
    random = np.random.default_rng([22, run])
    X, y, group, score = setting.draw(setting.n, random)
    given, approved = {}, lambda each: each >= np.quantile(each, 0.5)
    if setting.rival or setting.noise:
        mine, other = setting.noise * random.normal(size=(2, len(score)))
        rival, score = score + setting.rival * X[:, 4] + mine, score + other
        given = {"rival": (rival, Answers(approved(rival), rival))}
    task, labels, codes = read_labels(y, len(y), None, None)
    attributes = read_attributes({"group": group}, None, len(y), codes == 1, "tpr_gap")
    tolerance = setting.tolerance if setting.tolerance >= 0 else loss_of(setting.rival)
    wanted = Requirements.of({"auc": tolerance}, "tpr_gap", None, attributes, scored=True, costs=False)
    sample = Sample(codes == 1, np.ones(len(y)), attributes)
    texts, reference = {"group": texts_of(attributes[0])}, {"group": attributes[0].reference}
    data = Data(X, labels, texts, task, sample, wanted.notions, reference, Answers(approved(score), score), given)
    plan = Plan(wanted, ("candidates",) if given else ("linear",), Budget(SPLITS), run, 0.5)
    for k in range(SPLITS):
        yield search_split(data, plan, k, 1 << 30, atoms_of(data)).p


def one(setting: Setting, run: int) -> bool:
    """Return whether the p-value of one draw of people is at most the level."""
    small = large = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for p in p_values(setting, run):
            small, large = small + (2.0 * p <= LEVEL), large + (2.0 * p > LEVEL)
            if 2 * small >= SPLITS or 2 * large > SPLITS:
                break
    return 2 * small >= SPLITS


def go_on(names: list[str], most: int) -> None:
    """Make at most so many further runs of each setting, and keep how many there are with the commits that made them."""
    for name in names:
        setting, before = SETTINGS[name], _kept().get(name, {"runs": 0})
        claims = 0
        for run in range(before["runs"], last := min(setting.runs, before["runs"] + most)):
            claims += one(setting, run)
            if run % 20 == 19 or run == last - 1:
                kept = _kept()
                known = kept.get(name, {"runs": 0, "claims": 0, "commits": []})
                made = sorted({*known["commits"], commit()})
                kept[name] = {"runs": run + 1, "claims": known["claims"] + claims, "commits": made}
                RUNS.write_text(json.dumps(kept, indent=0) + "\n")
                claims = 0


def _kept() -> dict[str, Any]:
    return dict(json.loads(RUNS.read_text())) if RUNS.exists() else {}


def sections(quick: bool) -> list[Section]:
    """Return size and power of what has been run."""
    if quick:
        return [Section("alternatives", "Quick", [str(one(SETTINGS["no_gap"], 0))])]
    go_on(list(SETTINGS), 1000)
    return drawn_sections()


def drawn_sections() -> list[Section]:
    """Return the tables of stored runs."""
    done, rows = _kept(), []
    for name, setting in SETTINGS.items():
        if name in done:
            n, share = done[name]["runs"], done[name]["claims"] / done[name]["runs"]
            error = np.sqrt((share * (1 - share) if setting.exists else max(share, LEVEL) * (1 - LEVEL)) / n)
            kind = "power" if setting.exists else "size"
            told = setting.tolerance if setting.tolerance >= 0 else "what it loses"
            figures = [f"{share:.3f}", f"{error:.3f}", ", ".join(done[name]["commits"])]
            rows.append([setting.title, setting.n, told, n, kind, *figures])
    head = ["people", "rows", "AUC tolerance", "runs", "what", f"share of runs with p <= {LEVEL}", "standard error"]
    text = (
        f"Linear family, {SPLITS} splits, two equal groups and base rate one half unless said otherwise, approval rate one "
        "half. Size is the share of false claims where no alternative exists, power that of claims where one does. Splits "
        "are those of `fairfront.alternatives`; a run ends when the verdict cannot change any more. 1 000 runs of sizes and "
        "of the power asked for are meant and 400 of the others; the table says how many there are. Standard errors of "
        f"sizes are those of a share of at least {LEVEL}."
    )
    false = [done[name] for name, each in SETTINGS.items() if name in done and not each.exists]
    claims, runs = (sum(each[key] for each in false) for key in ("claims", "runs"))
    said = f"False claims of the improvability test: {claims} of {runs} runs where no alternative exists ({len(false)} settings)."
    if MAIN in done:
        share = done[MAIN]["claims"] / done[MAIN]["runs"]
        said += f" A gain of .03 at equal AUC, tolerance .01, 10 000 rows, is shown in {share:.1%} of {done[MAIN]['runs']} runs."
    parts: list[str | Table] = [text, Table([*head, "commits"], rows)]
    return [Section("alternatives", "The improvability test: size and power", parts, said)]


if __name__ == "__main__":  # some runs of some settings, which the benchmark then draws
    go_on(sys.argv[2:] or list(SETTINGS), int(sys.argv[1]))
    publish(drawn_sections(), "python -m benchmarks alternatives")
