"""What a dossier says where nothing was found: what no linear model does, and what further random draws could find."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from scipy import sparse as sp

from ..exceptions import InputError
from ..measures.disclosure import FEW, LIMIT
from ..validation.inputs import check_matrix, take_rows
from .dossier_layout import Part
from .estimates import JOBS, shares_behind
from .refutation import LinearLoss, further_draws, refute
from .sections import Search, Section
from .verdicts import contrast_figures

ABOVE = np.array([0.001, 0.005, 0.02])
"""How much more than the least training loss a model may have, for each of which a bound is given."""
COMPARED = {
    "tpr": "rows with the favourable label",
    "fnr": "rows with the favourable label",
    "fpr": "rows without the favourable label",
    "error": "all rows",
}
"""Rates whose gaps of loss have a convex Lagrangian, and the rows that they compare."""
WIDEST, LARGEST = 1000, 40_000_000
"""Most columns, and most entries of the matrix, for a bound."""
MANY = 100


class NullResult(Section):
    """The refutation, where the search as a whole shows nothing; and the stopping bound of models drawn at random."""

    name = "refutation"

    def find(self, search: Search) -> Mapping[str, Any]:
        return {"refutation": _refuted(search) if search.p > search.alpha else None, "further": _further(search)}

    def parts(self, record: Mapping[str, Any]) -> Iterator[Part]:
        found, further = record["refutation"], record["further"]
        if found is not None:
            title = "What no linear model does"
            if "why_not" in found:
                yield Part(title, [f"Not shown: {found['why_not']}"])
            else:
                yield Part(title, list(_sentences(found)))
        if further is not None:
            yield Part("What further random draws could find", [_further_words(further)])


def _sentences(found: Mapping[str, Any]) -> Iterator[str]:
    one, two = found["groups"]
    yield (
        f"Training loss is the mean logistic loss on the {found['rows']} search rows of the first split plus "
        f"{found['ridge']:.3g} / 2 times the squared coefficients; the least of linear models on these columns is "
        f"{found['least']:.6f}. The loss gap is the absolute difference of the mean losses of {one!r} and "
        f"{two!r} among {found['compared']}. Bounds are dual values, within 1e-6 of a model that is known; they say "
        "nothing of other models, of rates, or of other rows."
    )
    for line in found["lines"]:
        what = f"a training loss of at most {line['loss']:.6f}{line['words']}"
        if not line["shown"]:
            yield f"With {what}: not shown, for the Lagrangian is convex only up to a looser bound."
        elif line["gap"] is None:
            yield f"No linear model on these columns has {what}."
        else:
            yield f"No linear model on these columns has {what} and a loss gap below {line['gap']:.6f}."


def _further_words(found: Mapping[str, Any]) -> str:
    return (
        f"{found['draws']} models were drawn at random (settings and seeds); the smallest {found['gap']} on the judge "
        f"rows, of the incumbent and of those that keep the job there, is {found['best']:.4f}. If draws are "
        f"independent and from one law, with {found['level']:.0%} confidence a further draw has a smaller one with a "
        f"chance of at most {found['chance']:.1%}, one of {MANY} further draws with at most "
        f"{found['chance_of_many']:.1%}, and the expected gain of one is at most {found['gain']:.4f}. This is about "
        "figures on these rows."
    )


def _refuted(search: Search) -> dict[str, Any]:
    data, (which, a, b, rate) = search.data, search.outcome.pairs[0]
    if rate not in COMPARED:
        return {"why_not": f"no loss gap with a convex Lagrangian stands for {rate}."}
    places = search.outcome.search[data.sample.known[search.outcome.search]]
    rows, said = data.sample.take(places), search.outcome.incumbent.take(places)
    codes = rows.attributes[which].codes
    try:
        X = check_matrix(take_rows(data.X, places))
    except InputError:
        return {"why_not": "columns are not numbers."}
    if X.shape[1] > WIDEST or X.shape[0] * X.shape[1] > LARGEST:
        return {"why_not": f"there are {X.shape[1]} columns and {X.shape[0]} rows, more than bounds are made for."}
    ((_, whole),) = shares_behind(rate, rows, said)
    one, two = (whole & (codes == group) for group in (a, b))
    if min(one.sum(), two.sum()) < LIMIT:
        return {"why_not": f"a group has {FEW} to compare."}
    total = float(rows.weight.sum())
    dense = np.asarray(X.todense() if sp.issparse(X) else X, dtype=np.float64)
    loss = LinearLoss(dense, np.where(rows.good, 1.0, -1.0), rows.weight / total, 1.0 / total, one, two)
    own = None
    if said.scores is not None and said.probability:
        own = JOBS["log_loss"].of(rows, said).value + float(search.wanted.keep.get("log_loss", 0.0))
    try:
        least, bounds = refute(loss, ABOVE, own)
    except np.linalg.LinAlgError:
        return {"why_not": "columns depend on each other too closely for Newton's method."}
    words = [f", {each:g} above the least" for each in ABOVE] + [", that of the incumbent with its tolerance"]
    lines = [
        {
            "loss": round(each.loss, 6),
            "gap": float(np.floor(1e6 * each.gap) / 1e6) if np.isfinite(each.gap) else None,
            "shown": each.shown,
            "words": said_of,
        }
        for each, said_of in zip(bounds, words, strict=False)
    ]
    attribute = rows.attributes[which]
    return {
        "rows": len(places),
        "ridge": 1.0 / total,
        "least": round(least, 6),
        "groups": [attribute.levels[a], attribute.levels[b]],
        "compared": COMPARED[rate],
        "lines": lines,
    }


def _further(search: Search) -> dict[str, Any] | None:
    """Return the stopping bound of models that were drawn with a seed, None where there are none."""
    outcome, contrast = search.outcome, search.wanted.improve[0]
    drawn = [i for i, each in enumerate(outcome.candidates) if "random_state" in each.settings]
    if not drawn:
        return None
    rows, before = search.data.sample.take(outcome.judge), outcome.incumbent.take(outcome.judge)
    figure = contrast_figures(search.judged, contrast)
    values = 1.0 - figure if contrast.ratio else np.abs(figure)
    found = []
    for i in drawn:
        after = outcome.candidates[i].answers
        worse = (
            JOBS[name].better * (JOBS[name].of(rows, before).value - JOBS[name].of(rows, after).value) - tolerance
            for name, tolerance in search.wanted.keep.items()
        )
        found.append(float(values[i + 1] if all(each <= 0.0 for each in worse) else values[0]))
    best = float(np.nanmin(np.append(found, values[0])))
    chance, gain = further_draws(np.full(len(drawn), best), search.alpha)
    return {
        "gap": f"distance of {contrast.name} from 1" if contrast.ratio else contrast.name,
        "draws": len(drawn),
        "best": round(best, 4),
        "level": round(1.0 - search.alpha, 6),
        "chance": round(chance, 4),
        "chance_of_many": round(1.0 - (1.0 - chance) ** MANY, 4),
        "gain": round(gain, 4),
    }
