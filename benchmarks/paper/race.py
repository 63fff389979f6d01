"""Experiment 2: Adult by race, five groups, 11 objectives (Figure 8)."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from .. import judge
from ..report import Table
from .charts import draw_rates
from .choices import NEAREST, NORMAL
from .data import Spec
from .experiment import Claim, Experiment, Task
from .figures import picture
from .trial import LEAST, gather, spread, trial

EXPONENTIATED = "Minimax reduction: ExponentiatedGradient"
METHODS = (NORMAL, NEAREST.method, EXPONENTIATED, "PB-PDO (fairfront)", "Newton (fairfront)")
SPEC = Spec("adult", "race", "paper", "random")
SPLITS = 20
OWN = f"{NEAREST.method}: one run, not chosen"


def tasks(quick: bool) -> dict[str, Task]:
    """Return one task per random split."""
    budget = {"points": 5, "steps": 40, "rounds": 3} if quick else {}
    arguments = {"spec": asdict(SPEC), "loss": NEAREST.loss, "methods": list(METHODS), "budget": budget}
    return {f"split {seed}": Task(trial, {**arguments, "seed": seed}) for seed in range(1 if quick else SPLITS)}


def pooled(trials: list[dict[str, Any]], name: str) -> np.ndarray:
    """Return true positive rates per group, pooled over the test rows of all splits, with 95 % intervals, (groups, 3).

    Test rows of random splits overlap, so intervals are the corrected ones of the splits' rates.
    """
    made = [_rates(t, name, "test") for t in trials]
    count = np.array([t["positives"] for t in trials], dtype=float)
    rates = np.array([each[1][:-1] for each in made])
    centre = (rates * count).sum(axis=0) / count.sum(axis=0)
    spans = np.array([judge.paired_interval(rates[:, g]) for g in range(rates.shape[1])])
    ends = np.clip(centre[:, None] + spans[:, 1:] - spans[:, :1], 0.0, 1.0)
    return np.column_stack([centre, ends])


def _rates(trial: dict[str, Any], name: str, rows: str) -> Any:
    if name == OWN:
        return trial["methods"][NEAREST.method]["own"][rows]
    return trial["methods"][name]["chosen" if rows == "test" else "train"]


def page(results: dict[str, Any], folder: Path) -> str:
    """Draw the rates and write the page."""
    name, trials = "race.png", gather(results, SPEC, NEAREST.loss)
    levels, shown = trials[0]["levels"], (*METHODS[:2], OWN, *METHODS[2:])
    train = {each: np.mean([_rates(t, each, "train") for t in trials], axis=0)[1][:-1] for each in shown}
    test = {each: pooled(trials, each) for each in shown}
    draw_rates(levels, {each: {"train": train[each], "test": test[each]} for each in METHODS}, folder / name)
    counts = np.array([t["positives"] for t in trials]).mean(axis=0)
    sizes = ", ".join(f"{level} {n:.0f}" for level, n in zip(levels, counts, strict=True))
    body = [INTRODUCTION.format(least=LEAST, splits=len(trials), nearest=NEAREST.words, sizes=sizes)]
    body.append(picture(name, "True positive rates per race"))
    body.append(f"## Chosen models\n\n{_summary(trials, shown)}")
    body.append(
        f"## True positive rates on test rows\n\n{Table(['method', *levels], [[e, *map(_span, test[e])] for e in shown])}"
    )
    rows = [[each, *[f"{value:.3f}" for value in train[each]]] for each in shown]
    body.append(f"## True positive rates on training rows\n\n{Table(['method', *levels], rows)}")
    people = [np.mean([_rates(t, each, "test") for t in trials], axis=0)[1:, -1] for each in shown[:3]]
    return "\n\n".join([*body, DIFFERENCES.format(*(f"{tpr:.3f} / {fpr:.3f}" for tpr, fpr in people))])


def _span(rate: np.ndarray) -> str:
    return f"{rate[0]:.2f} ({rate[1]:.2f} to {rate[2]:.2f})"


def _summary(trials: list[dict[str, Any]], shown: tuple[str, ...]) -> str:
    rows = []
    for name in shown:
        test, train = (np.array([_rates(t, name, rows) for t in trials]) for rows in ("test", "train"))
        large = np.array(trials[0]["large"])
        worst = [np.ptp(each[:, 1, :-1], axis=1) for each in (train, test)]
        rows.append([name, spread(test[:, 0, -1].tolist()), f"{test[:, 2, -1].mean():.3f}", spread(worst[0].tolist()),
                     spread(worst[1].tolist()), spread(np.ptp(test[:, 1, :-1][:, large], axis=1).tolist()),
                     "" if name == OWN else f"{np.mean([t['methods'][name]['seconds'] for t in trials]):.1f} s"])  # fmt: skip
    head = ["method", "accuracy", "FPR", "worst DEO, 5 groups, training rows", "worst DEO, 5 groups, test rows",
            "worst DEO, large groups, test rows", "time"]  # fmt: skip
    return str(Table(head, rows))


def claims(results: dict[str, Any]) -> list[Claim]:
    """Return the row of the summary."""
    trials = gather(results, SPEC, NEAREST.loss)
    worst = [np.mean([np.ptp(_rates(t, name, "test")[1][:-1]) for t in trials]) for name in METHODS[:2]]
    ends = [np.ptp(pooled(trials, name)[:, 0]) for name in METHODS[:2]]
    here = f"range of pooled test rates {ends[0]:.2f} (Normal), {ends[1]:.2f} (PDO); per split {worst[0]:.2f}, {worst[1]:.2f}"
    verdict = "smaller range, not equal" if ends[1] < ends[0] else "range not smaller"
    return [Claim("Figure 8: equal true positive rates among five races", "bar chart", here, verdict)]


INTRODUCTION = """The paper's Figure 8: linear SVM, C = 0.1, equal opportunity between five groups, that is 10 fairness objectives and the
loss. The combination of open choices is the one nearest to Table 1 ({nearest}); [all eight](choices.md) are in the appendix.
{splits} random splits of all 45 222 rows of Adult, 60 % to fit, 20 % to choose, 20 % to judge: in the paper's own split the two
smallest groups have 16 and 21 test rows of label +1, which no rate can rest on. Test rows of label +1 per split, on average: {sizes}.

Models were chosen on validation rows as in [Figure 7](bars.md), by the worst DEO among groups with at least {least} validation
rows of label +1. *One run, not chosen* is Algorithm 1 with step 1 / L from a start of length 1, 5 000 steps, with nothing picked.
FERM is for two groups, and the grid of GridSearch grows exponentially with the groups; ExponentiatedGradient takes five
groups and decides at random between models. Test rates are pooled over splits; their 95 % intervals allow for splits
sharing rows. Whiskers in the figure are these intervals; AIE is Amer-Indian-Eskimo, API Asian-Pac-Islander."""

DIFFERENCES = """## Where this differs from the paper

- The paper states that equal opportunity is met among all five groups on test. With 16 and 21 test rows of label +1 in the two
  smallest groups of its split no model can show that: two equal rates of .5 differ by .13 on average by chance alone. Pooled
  over random splits the intervals of these two groups are still the widest.
- The paper reports higher true positive rates than plain training's at slightly higher false positive rates. Here these two rates of
  all people on test rows are {} in plain training, {} for the chosen models and {} for the one run without a choice.
- On training rows the gaps of all five groups are among the objectives, and *training rows* shows how far they were
  closed; choosing on validation rows looks at the large groups only, which is why the chosen model and the one run without a choice differ.
- ExponentiatedGradient has the smallest worst DEO on test rows on average, by a random choice between models at every decision;
  Newton and PB-PDO of fairfront keep the most accuracy of the methods that lower the gap of the large groups. Spreads over splits are larger than these differences.
- The smallest group has about 27 rows of label +1 to fit on. Closing a training gap that rests on so few rows is
  fitting noise in part: compare training and test rates.
- Pairwise gaps of five groups have rank 4, so the inner problem of Algorithm 1 is not strongly convex here, as the
  analysis assumes; its direction is unique all the same."""

EXPERIMENT = Experiment("race", "Figure 8: five groups, Adult by race, 11 objectives", tasks, page, claims)
