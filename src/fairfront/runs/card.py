"""The card's record: the facts that a person who answers for a model is asked for, as plain values for JSON.

Built once, from the run, the decision and the figures on rows that did not train the model; both pages are drawn from
it. An estimate is ``[value, lower, upper]``, with None where it is not known, or a text that says why there is none.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..exceptions import InputError
from ..frontier.cautions import notes_of
from ..frontier.judgement import operating_words
from ..frontier.linear_models import LinearModels
from ..frontier.rate_frontier import Rates
from ..frontier.rule_models import RuleModels
from ..objectives import Array, Task, is_likelihood
from ..storage.documents import read_bytes
from ..tables.encoder import NONE, OTHER, Block, NumberBlock, TableEncoder
from ..validation import check_mapping, check_text
from .card_data import data_of
from .decision import Decision
from .options import main_gaps, plain_id
from .parts import CALIBRATION, FIGURES, RATES, TOLD, estimate_of
from .settings import Settings
from .validation_part import of_evaluation

if TYPE_CHECKING:
    from .run import Run

FORMAT, SCHEMA = "fairfront card", 3
BEFORE = ("group", "status", "rows", "labelled_favourable", "base_rate", *RATES)
LINE = (*BEFORE, *CALIBRATION)
WORST = ("attribute", "figure", "of", *TOLD, "between", "people", "upper_between", "not_compared")


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
            "units": settings.get("units", "losses"),
            "measured_on": front.facts.measured_on,
            "notions": list(front.facts.notions),
            "gaps": list(main_gaps(front)),
            "compares": list(front.sentences[: len(front.facts.notions)]),
            "notes": list(notes_of(front, place)),
            "certified": bool(front.certified[place]),
            "training_gap": {"unit": front.facts.unit, "value": float(front.gaps[place].max())},
            "posteriors": _posteriors(front.models, place),
        },
        "about": {name: decision.about.get(name) for name in ABOUT},
        "decision": _decision(decision),
        "operating_point": _operating(run, decision),
        "data": data_of(run),
        "groups": _groups(run),
        "sensitive": dict(run.manifest["sensitive"]),
        "parts": {
            name: _part(run, decision.id, name, figures[str(decision.id)], figures[str(plain)])
            for name, figures in run.judged.items()
            if str(decision.id) in figures and str(plain) in figures
        },
        "coefficients": scorecard(run.encoder, front.models, place) if isinstance(front.models, LinearModels) else None,
        "estimator": None if linear else estimator_settings(front.models.build(place)),
        "versions": {name: value for name, value in run.manifest["versions"].items() if isinstance(value, str)},
    }


def _posteriors(models: Any, place: int) -> list[dict[str, Any]] | None:
    """Of rules, the rates that posteriors expect of every group, and those measured on rows left out."""
    if not isinstance(models, RuleModels):
        return None
    both = zip(models.rate_names, models.expected[place].tolist(), models.measured[place].tolist(), strict=True)
    return [{"of": name, "expected": expected, "measured": measured} for name, expected, measured in both]


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
        "promises": [dict(each) for each in decision.promises],
    }


def _operating(run: Run, decision: Decision) -> dict[str, Any] | None:
    """None for several classes and for values; rules that have the operating point inside have no cut-off."""
    front, own = run.frontier, decision.operating
    if front.facts.task.kind != "binary":
        return None
    if front.facts.rule:
        asked = Settings.from_json(run.manifest["settings"]).operating
        inside = Rates(asked.cutoff, asked.approval_rate, asked.costs).words
        return {"words": front.facts.rule, "rule": inside, "cutoff": None, "of": None, "placed_on": None}
    probable = is_likelihood(front.facts.loss)
    found = {"words": operating_words(front.record(), front.facts), "rule": None, "cutoff": 0.5 if probable else 0.0}
    point = front.operating()
    if own is None or point is None:
        return {**found, "of": "probability" if probable else "score", "placed_on": None}
    of = "probability" if point.probability[front.place(decision.id)] else "score"
    return {**found, "rule": own["rule"], "cutoff": own["cutoff"], "of": of, "placed_on": own["placed_on"]}


def _groups(run: Run) -> list[dict[str, Any]]:
    facts = run.frontier.facts
    left_out = dict(facts.left_out)
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
    periods = [dict(each) for each in found.periods]
    return {"name": found.file, "sha256": found.sha256, "at": found.at, "notes": list(found.notes), "periods": periods}


def _part(run: Run, decided: int, name: str, own: Mapping[str, Any], plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is known of one part: figures of all rows, groups in the order that the user gave, worst gaps."""
    if "groups" not in own:  # validation, whose evaluation has them
        places = (run.frontier.place(id) for id in (decided, plain_id(run.frontier)))
        own, plain = (
            {**each, **of_evaluation(run.frontier, at)} for each, at in zip((own, plain), places, strict=True)
        )
    names = [each for each, _ in run.frontier.facts.sensitive if each in own["groups"]]
    before = {(each["attribute"], each["figure"]): each for each in plain["worst"]}
    known = {key: own[key] for key in ("rows", "confidence", "weighted")}
    return {
        "source": _source(run, name),
        **known,
        "figures": {
            key: {
                "chosen": own["figures"][key]["value"],
                "unconstrained": plain["figures"][key]["value"],
                "difference": own["figures"][key]["difference"],
            }
            for key in FIGURES
            if key in own["figures"] and key in plain["figures"]
        },
        "groups": {each: [_taken(line, LINE) for line in own["groups"][each]] for each in names},
        "unconstrained": {each: [_taken(line, BEFORE) for line in plain["groups"][each]] for each in names},
        "worst": [
            {**_taken(each, WORST), "unconstrained": estimate_of(before[each["attribute"], each["figure"]])}
            for attribute in names
            for each in own["worst"]
            if each["attribute"] == attribute
        ],
        "moves": {each: _moved(own["moves"][each]) for each in names if each in own["moves"]},
        **({"bounds": own["bounds"]} if "bounds" in own else {}),
    }


def _taken(found: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return some entries, in an order that does not depend on that of files."""
    return {name: found[name] for name in names if name in found}


def _moved(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    names = ("group", "gained", "lost")
    return [dict(zip(names, line, strict=True)) for line in zip(*(columns[name] for name in names), strict=True)]


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
    return {
        "classes": classes,
        "intercept": intercept.tolist(),
        "ridge": models.ridge,
        "lines": lines,
    }


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


def estimator_settings(model: Any) -> dict[str, Any]:
    """Return the name of a learner and those of its settings that are plain values."""
    settings = model.get_params(deep=False) if hasattr(model, "get_params") else {}
    plain = {
        name: value
        for name, value in sorted(settings.items())
        if value is None or isinstance(value, (str, bool, int)) or (isinstance(value, float) and np.isfinite(value))
    }
    return {"name": type(model).__name__, "settings": plain}


ABOUT = {"owner": "Owner", "version": "Version", "use": "Intended use", "monitoring": "Monitoring plan"}
EXPECTED = f"expected texts under some of {', '.join(ABOUT)}"


def check_about(given: Any, where: str = "about") -> dict[str, str]:
    """Return the fields that are not empty, in the order of the card."""
    found = dict(check_mapping({} if given is None else given, where, "{'owner': 'Credit risk', 'version': '1.2'}"))
    for name, text in found.items():
        if name not in ABOUT:
            raise InputError(f"{where} has {name!r}, {EXPECTED}; leave it out.")
        check_text(text, f"{name} of {where}")
    return {name: found[name].strip() for name in ABOUT if found.get(name, "").strip()}


def read_about(file: Path) -> dict[str, str]:
    """Read the fields from a TOML file."""
    if not file.exists():
        raise InputError(f"{file} does not exist, {EXPECTED}; write it, or check the path.")
    try:
        found = tomllib.loads(read_bytes(file).decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{file} is not TOML ({error}), {EXPECTED}; fix it.") from error
    return check_about(found, str(file))
