"""The card's record: the facts that a person who answers for a model is asked for, as plain values for JSON.

Built once, from the run, the decision and the figures on rows that did not train the model. Pages and the formats of
others are drawn from it; `card.schema.json` describes it. An estimate is ``[value, lower, upper]``, with None where it
is not known, or a text that says why there is none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..frontier.judgement import operating_words
from ..frontier.models import LinearModels
from ..objectives import Array, Task, is_likelihood
from ..tables.encoder import NONE, OTHER, Block, NumberBlock, TableEncoder
from .decision import Decision
from .manifest import ABOUT
from .options import main_gaps, plain_id

if TYPE_CHECKING:
    from .run import Run

FORMAT, SCHEMA = "fairfront card", 1
FIGURES = ("auc", "ks", "gini", "error", "selection", "mse")
RATES = ("selection", "tpr", "fpr", "error", "prediction", "residual", "mse")
CALIBRATION = ("mean_score", "in_the_large", "slope", "brier")
GAPS = (
    *("tpr_gap", "fpr_gap", "selection_gap", "error_gap", "precision_gap", "selection_ratio", "odds_gap", "recall_gap"),
    *("prediction_gap", "residual_gap", "mse_gap"),
)


def card_of(run: Run, decision: Decision) -> dict[str, Any]:
    """Return the record of the chosen model; this opens the test part, and the card says how often that was done."""
    front, settings = run.frontier, run.manifest["settings"]
    place, plain = front.place(decision.id), plain_id(front)
    linear = isinstance(front.models, LinearModels)
    return {
        "format": FORMAT,
        "schema": SCHEMA,
        "fairfront": run.manifest["fairfront"],
        "model": {
            "id": decision.id,
            "points": decision.points,
            "unconstrained": plain,
            "target": settings["target"],
            "favourable": None if settings["favourable"] is None else str(front.facts.task.favourable_label),
            "task": front.facts.task.kind,
            "kind": settings["model"],
            "loss": front.facts.loss,
            "notions": list(front.facts.notions),
            "gaps": list(main_gaps(front)),
            "compares": list(front.sentences[: len(front.facts.notions)]),
            "notes": list(front.sentences[len(front.facts.notions) :]),
            "certified": bool(front.certified[place]),
            "training_gap": {"unit": front.facts.unit, "value": float(front.gaps[place].max())},
        },
        "about": {name: decision.about.get(name) for name in ABOUT},
        "decision": _decision(decision),
        "operating_point": _operating(run, decision),
        "data": _data(run),
        "groups": _groups(run),
        "sensitive": dict(run.manifest["sensitive"]),
        "parts": {
            name: {"source": _source(run, name), **_part(run, figures[str(decision.id)], figures[str(plain)])}
            for name, figures in run.judged.items()
            if str(decision.id) in figures and str(plain) in figures
        },
        "coefficients": scorecard(run.encoder, front.models, place) if isinstance(front.models, LinearModels) else None,
        "estimator": None if linear else estimator_settings(front.models.build(place)),
        "stability": _stability(run, decision.id),
        "versions": {name: value for name, value in run.manifest["versions"].items() if isinstance(value, str)},
    }


def _decision(decision: Decision) -> dict[str, Any]:
    return {
        "at": decision.at,
        "by": decision.by,
        "reason": decision.reason,
        "rule": dict(decision.rule),
        "rule_words": decision.rule_words,
        "opened": decision.opened,
        "listed": [each["id"] for each in decision.candidates if each["shown"]],
        "alternatives": [dict(each) for each in decision.candidates],
        "footnotes": list(decision.footnotes),
        "notes": list(decision.notes),
    }


def _operating(run: Run, decision: Decision) -> dict[str, Any] | None:
    """None for several classes and for values."""
    front, own = run.frontier, decision.operating
    if front.facts.task.kind != "binary":
        return None
    probable = is_likelihood(front.facts.loss)
    found = {"words": operating_words(front.record(), front.facts), "rule": None, "cutoff": 0.5 if probable else 0.0}
    point = front.operating()
    if own is None or point is None:
        return {**found, "of": "probability" if probable else "score", "placed_on": None}
    of = "probability" if point.probability[front.place(decision.id)] else "score"
    return {**found, "rule": own["rule"], "cutoff": own["cutoff"], "of": of, "placed_on": own["placed_on"]}


def _data(run: Run) -> dict[str, Any]:
    manifest, found = run.manifest, run.manifest["findings"]
    return {
        "name": manifest["data"]["name"],
        "sha256": manifest["data"].get("sha256"),
        "rows": dict(manifest["split"]["rows"]),
        "rows_without_target": manifest.get("rows_without_target", 0),
        "split": manifest["split"]["rule"],
        "period": manifest["split"].get("period"),
        "weight": manifest["settings"].get("weight"),
        "features": list(manifest["features"]),
        "treatments": treatments(run.encoder),
        "missing_marks": list(run.encoder.missing),
        "left_out": [*manifest["settings"].get("drop", ())],
        "findings": [{name: each[name] for name in ("column", "kind", "sentence")} for each in found],
    }


def _groups(run: Run) -> list[dict[str, Any]]:
    facts = run.frontier.facts
    left_out = dict(facts.told_left_out)
    return [
        {
            "attribute": name,
            "levels": list(levels),
            "reference": levels[-1],
            "reference_is_largest": name in facts.largest,
            "probabilities": name in run.frontier.proxies,
            "left_out": list(left_out.get(name, ())),
            "rows_without_group": name in facts.missing,
        }
        for name, levels in facts.sensitive
    ]


def _source(run: Run, name: str) -> dict[str, Any] | None:
    """Return the file that a named evaluation is of; None for the parts of the run's own rows."""
    found = run.external.get(name)
    if found is None:
        return None
    return {"name": found.file, "sha256": found.sha256, "at": found.at, "notes": list(found.notes)}


def _part(run: Run, own: Mapping[str, Any], plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is known of one part: figures of all rows, groups in the order that the user gave, worst gaps."""
    audit, tables = own["audit"], own["audit"]["tables"]
    names = [name for name, _ in run.frontier.facts.sensitive if name in tables]
    ending = f"[{audit['favourable']}]" if audit["task"] == "multiclass" else ""
    rows, old = tables[names[0]], plain["audit"]["tables"][names[0]]
    before = {name: {each["figure"]: each for each in found} for name, found in plain["audit"]["worst"].items()}
    figures = {}
    for figure in FIGURES:
        key = figure if figure in rows else figure + ending
        if key in rows and key in old:
            one, two = (_estimate(columns, key, -1) for columns in (rows, old))
            figures[figure] = {"chosen": one, "unconstrained": two, "difference": own["against"].get(figure)}
    shifts = {"prediction", "mse"} if audit["task"] == "regression" else set()
    return {
        "rows": audit["n"],
        "confidence": audit["confidence"],
        "rounded_below": audit["small"],
        "weighted": audit["weighted"],
        "figures": figures,
        "groups": {name: _lines(tables[name], ending) for name in names},
        "unconstrained": {name: _lines(plain["audit"]["tables"][name], ending, shifts) for name in names if shifts},
        "worst": [
            {"attribute": name, **_worst(each), "unconstrained": _ends(before[name].get(each["figure"], {}))}
            for name in names
            for each in audit["worst"][name]
            if each["figure"] in GAPS
        ],
        "moves": {name: _moved(own["moves"][name]) for name in names if name in own["moves"]},
    }


def _worst(found: Mapping[str, Any]) -> dict[str, Any]:
    value, lower, upper = _ends(found)
    names = {name: list(found.get(name, ())) for name in ("between", "people", "not_compared")}
    ends = {"value": value, "rounding": found.get("rounding", 0.0), "lower": lower, "upper": upper}
    return {"figure": found["figure"], **ends, **names}


def _ends(found: Mapping[str, Any]) -> list[Any]:
    known = (found.get(name) for name in ("value", "lower", "upper"))
    return [each if isinstance(each, (int, float)) else None for each in known]


def _lines(columns: Mapping[str, Any], ending: str, wanted: Any = None) -> list[dict[str, Any]]:
    found = []
    for i, group in enumerate(columns["group"]):
        status = columns["status"][i]
        line: dict[str, Any] = {"group": group, "status": status, "rows": columns["n"][i]}
        if "positives" in columns:
            n, good = columns["n"][i], columns["positives"][i]
            known = all(isinstance(each, (int, float)) for each in (n, good)) and n
            line |= {"labelled_favourable": good, "base_rate": good / n if known else None}
        for figure in (*RATES, *CALIBRATION):
            key = figure if figure in columns else figure + ending
            if key in columns and (not wanted or figure in wanted):
                line[figure] = _estimate(columns, key, i)
        found.append(line)
    return found


def _estimate(columns: Mapping[str, Any], key: str, i: int) -> Any:
    """Return ``[value, lower, upper]``, or the text that stands in the place of a value."""
    value = columns[key][i]
    if not isinstance(value, (int, float)):
        return str(value)
    ends = [columns[f"{key}_{end}"][i] if f"{key}_{end}" in columns else None for end in ("lower", "upper")]
    return [value, *(end if isinstance(end, (int, float)) else None for end in ends)]


def _moved(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    names = ("group", "gained", "lost")
    return [dict(zip(names, line, strict=True)) for line in zip(*(columns[name] for name in names), strict=True)]


def _stability(run: Run, id: int) -> dict[str, Any]:
    found = run.stability
    if "points" not in found:
        return {"why_not": found.get("why_not", "no refits were made")}
    point = found["points"].get(str(id))
    if point is None:
        return {"why_not": "the point is not one of those that were trained again"}
    return {"refits": found["refits"], "confidence": found["confidence"], "gap": point["gap"], "flips": point["flips"]}


def scorecard(encoder: TableEncoder, models: LinearModels, place: int) -> dict[str, Any]:
    """Return intercepts and coefficients, one per class (one in all for two classes and for values).

    Of two classes they speak for the favourable one. ``per_unit`` is in units of the column, ``per_spread`` in standard
    deviations of it on train; an indicator (a level, a missing value) has the first alone. The intercept is that of a
    row with the mean of every number and no indicator.
    """
    sign = _sign(models.task)
    coef, intercept = sign * models.coef[place], sign * models.intercept[place]
    lines, start = [], 0
    for block in encoder.blocks:
        width = len(block.feature_names)
        lines += list(_coefficients(block, coef[:, start : start + width]))
        start += width
    classes = [str(each) for each in models.task.classes] if models.task.kind == "multiclass" else []
    return {"classes": classes, "intercept": intercept.tolist(), "ridge": models.ridge, "lines": lines}


def _sign(task: Task) -> float:
    return -1.0 if task.kind == "binary" and task.favourable == 0 else 1.0


def _coefficients(block: Block, coef: Array) -> Iterator[dict[str, Any]]:
    for k, feature in enumerate(block.feature_names):
        line: dict[str, Any] = {"feature": feature, "column": block.name}
        if isinstance(block, NumberBlock) and k == 0:
            spread = 1.0 / block.factor if block.factor else None
            per_unit = (coef[:, k] * block.factor).tolist()
            line |= {"encoding": "number", "level": None, "mean": block.mean, "spread": spread}
            yield line | {"per_unit": per_unit, "per_spread": coef[:, k].tolist() if spread else None}
        else:
            level = NONE if isinstance(block, NumberBlock) else (*block.levels, *_rest(block))[k]
            line |= {"encoding": "indicator", "level": level, "mean": None, "spread": None}
            yield line | {"per_unit": coef[:, k].tolist(), "per_spread": None}


def _rest(block: Any) -> list[str]:
    return [label for label, there in ((OTHER, block.other), (NONE, block.missing)) if there]


def treatments(encoder: TableEncoder) -> list[dict[str, Any]]:
    """Return, by column, what stands for missing cells and for rare or new levels."""
    found: list[dict[str, Any]] = []
    for block in encoder.blocks:
        if isinstance(block, NumberBlock):
            known = {"used": bool(block.factor), "median": block.median, "indicator": block.indicator}
            found.append({"column": block.name, "kind": "number", **known})
        else:
            own = {"levels": len(block.levels), "other": block.other, "missing": block.missing}
            found.append({"column": block.name, "kind": "category", **own})
    return found


def estimator_settings(model: Any) -> dict[str, Any]:
    """Return the name of a learner and those of its settings that are plain values."""
    settings = model.get_params(deep=False) if hasattr(model, "get_params") else {}
    plain = {
        name: value
        for name, value in sorted(settings.items())
        if value is None or isinstance(value, (str, bool, int)) or (isinstance(value, float) and np.isfinite(value))
    }
    return {"name": type(model).__name__, "settings": plain}
