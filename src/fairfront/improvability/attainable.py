"""What is attainable: the limit of rules that do not see the group, learnt from rows, and models' distances to it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import FairfrontError, FairfrontWarning
from ..measures.disclosure import FEW, LIMIT
from ..objectives import Array, Groups
from ..problems.decision_rules import Rules
from ..problems.rate_problem import rate_problem
from ..validation.inputs import check_matrix, take_rows
from .dossier_layout import Part
from .limit import EXACT, Limit, limit_of, residuals
from .requirements import NOTION_OF
from .sections import Search, Section

FOLDS, CORRECTED, MOST = 5, 3, 50_000
"""Folds that posteriors and their corrections are crossed over, and most rows, drawn at random, that learn them."""
POINTS = 11
NOTIONS = {rate: NOTION_OF[rate] for rate in ("selection", "tpr", "fpr", "error")}
"""Rates that are linear in decisions, by notion."""
CAVEAT = (
    "It is the limit of what logistic regression and boosted trees, stacked, see in these columns: interactions that "
    "they miss could allow less. Extremely randomised trees look for some in what is left over; no test rules out that "
    "there are others."
)
UNCALIBRATED = (
    " The posteriors are poorly calibrated: their rules do otherwise on rows left out than they expect, so the band "
    "may be too narrow."
)
BEATEN = (
    " The posteriors miss what these columns tell: rules that extremely randomised trees correct do better on rows "
    "left out, so the limit is lower than the estimate, and the band may not hold."
)


def learners(seed: int) -> list[Any]:
    """Return what posteriors are stacked of: logistic regression, and as many boosted trees as help."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    return [
        None,
        HistGradientBoostingClassifier(
            max_iter=200,
            max_leaf_nodes=15,
            learning_rate=0.15,
            early_stopping=True,
            n_iter_no_change=5,
            random_state=seed,
        ),
    ]


def learn_rules(
    X: Any,
    y: NDArray[Any],
    group: NDArray[Any],
    reference: str,
    rate: str,
    *,
    favourable: Any,
    approval_rate: float | None = None,
    sample_weight: Array | None = None,
    estimators: Sequence[Any] | None = None,
    seed: int = 0,
) -> Rules:
    """Return cross-fitted posteriors of rows, for the gap of a rate; the group of rows of neither is None."""
    with warnings.catch_warnings(action="ignore", category=FairfrontWarning):
        return rate_problem(
            X,
            y,
            estimator=learners(seed) if estimators is None else list(estimators),
            sensitive_features={"group": group},
            groups=Groups(reference={"group": reference}, min_size=2),
            notion=NOTIONS[rate],
            favourable=favourable,
            sample_weight=sample_weight,
            approval_rate=approval_rate,
            cv=FOLDS,
            random_state=seed,
        ).rules()


def corrections(X: Any, rules: Rules, seed: int) -> Array:
    """Return what extremely randomised trees expect of the residuals of posteriors, of rows that they have not seen."""
    from sklearn.ensemble import ExtraTreesRegressor
    from sklearn.model_selection import KFold

    left = residuals(rules)
    unit, found = np.maximum(left.std(axis=0), EXACT), np.zeros_like(left)
    for some, held in KFold(CORRECTED, shuffle=True, random_state=seed).split(left):
        trees = ExtraTreesRegressor(n_estimators=20, min_samples_leaf=20, max_features=0.3, random_state=seed)
        trees.fit(take_rows(X, some), left[some] / unit, sample_weight=rules.share[some])
        found[held] = unit * trees.predict(take_rows(X, held))
    return found


class Attainable(Section):
    """The least error of any rule that does not see the group, at every gap, and how far models are from it."""

    name = "limit"

    def find(self, search: Search) -> Mapping[str, Any]:
        rate = search.outcome.pairs[0].rate
        if not search.limit:
            return {"limit": None}
        if rate not in NOTIONS:
            return {"limit": {"why_not": f"it is made for gaps of {', '.join(NOTIONS)}, found {rate}"}}
        if search.data.sample.labelled is not None:
            return {"limit": {"why_not": "labels do not cover everybody"}}
        if search.data.sample.person is not None:
            return {"limit": {"why_not": "its band takes rows as independent, found several of one person"}}
        if _few(search):
            return {"limit": {"why_not": f"a label of a group has {FEW}"}}
        try:
            return {"limit": _found(search)}
        except FairfrontError as error:
            return {"limit": {"why_not": str(error)}}

    def parts(self, record: Mapping[str, Any]) -> Iterator[Part]:
        found = record["limit"]
        if found is None:
            return
        if "why_not" in found:
            yield Part("The limit of rules that do not see the group", [f"Not given: {found['why_not']}"])
            return
        heads = [f"{found['gap']} at most", "least error", f"{found['level']:.0%} band, low", "high"]
        ends = ("gaps", "error", "low", "high")
        rows = [[f"{value:.4f}" for value in line] for line in zip(*(found[each] for each in ends), strict=True)]
        yield Part("The limit of rules that do not see the group", [found["sentence"], CAVEAT], heads, rows)
        told = (
            "Distance is a model's error less the least error at its gap, judge rows; the ends are those of the band "
            "and leave out the noise of the model's own figures."
        )
        keys = ("error", "gap", "distance", "least", "most")
        rows = [[str(line["id"]), *(f"{line[key]:.4f}" for key in keys)] for line in found["models"]]
        yield Part("Distance of every model to the limit", [told], ["id", *keys], rows)


def _found(search: Search) -> dict[str, Any]:
    data, outcome = search.data, search.outcome
    which, a, b, compared = outcome.pairs[0]
    attribute, sample = data.sample.attributes[which], data.sample
    rate = float(sample.weight @ outcome.incumbent.approved / sample.weight.sum())
    n = len(sample.good)
    rows = np.sort(np.random.default_rng(search.seed).permutation(n)[:MOST])
    assert attribute.codes is not None
    levels = np.array([attribute.levels[a], attribute.levels[b], None], dtype=object)
    group = levels[np.where(attribute.codes == a, 0, np.where(attribute.codes == b, 1, 2))]
    weight = None if (sample.weight == 1.0).all() else sample.weight[rows]
    known = {"favourable": data.task.favourable_label, "approval_rate": rate, "sample_weight": weight}
    X = check_matrix(take_rows(data.X, rows))
    rules = learn_rules(X, data.y[rows], group[rows], str(levels[1]), compared, **known, seed=search.seed)
    level, seed = 1.0 - search.alpha, search.seed
    limit = limit_of(rules, level, seed, corrections(X, rules, seed))
    gap = f"{attribute.name}.{compared}_gap" if len(sample.attributes) > 1 else f"{compared}_gap"
    gaps = np.linspace(0.0, abs(limit.plain), POINTS)
    value, low, high = limit.error(gaps)
    doubt = ("" if limit.calibrated else UNCALIBRATED) + (BEATEN if limit.beaten else "")
    return {
        "gap": gap,
        "groups": [attribute.levels[a], attribute.levels[b]],
        "approval_rate": round(rate, 3),
        "level": round(level, 6),
        "rows": len(rows),
        "calibrated": limit.calibrated,
        "beaten": limit.beaten,
        "sentence": (
            f"Any rule that approves {rate:.1%} and does not see the group, at best, of {attribute.levels[a]!r} and "
            f"{attribute.levels[b]!r}; from posteriors of {len(rows)} rows, crossed over {FOLDS} folds, with a band "
            f"for all gaps at once.{doubt}"
        ),
        "gaps": _short(gaps),
        "error": _short(value),
        "low": _short(np.floor(1e4 * low) / 1e4),
        "high": _short(np.ceil(1e4 * high) / 1e4),
        "models": _distances(search, limit, gap),
    }


def _few(search: Search) -> bool:
    """Tell whether a label of one of the two groups has few people."""
    sample, pair = search.data.sample, search.outcome.pairs[0]
    codes = sample.attributes[pair.attribute].codes
    return min(int((label & (codes == k)).sum()) for label in (sample.good, ~sample.good) for k in pair.groups) < LIMIT


def _distances(search: Search, limit: Limit, name: str) -> list[dict[str, Any]]:
    error, gaps = search.judged.figure("error"), np.abs(search.judged.figure(name))
    value, low, high = limit.error(gaps)
    found = []
    for i in np.flatnonzero(np.isfinite(error) & np.isfinite(gaps)):
        apart = {"distance": value, "least": high, "most": low}
        line = {"error": float(error[i]), "gap": float(gaps[i])} | {
            key: float(error[i] - end[i]) for key, end in apart.items()
        }
        found.append({"id": int(i), **{key: round(each, 4) for key, each in line.items()}})
    return found


def _short(values: Array) -> list[float]:
    return [round(float(each), 4) for each in values]
