"""``fairfront audit``: how a model stands today, from a file of its scores or decisions."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..exceptions import InputError, ProxyWarning, spelling
from . import words
from .words import Number, Text, Texts, option, path_option, reads

if TYPE_CHECKING:
    from ..measures import Audit
    from ..measures.claims import Verdict

EXIT = {"met": 0, "not met": 3, "inconclusive": 4}
SIDES = ("above", "below")


@reads
def audit(
    file: words.TableFile,
    label: Annotated[str, option("COLUMN", "True outcomes.")],
    favourable: Annotated[
        list[str],
        option("LABEL", "Favourable outcome; or the side of the cut-off that is favourable, above or below; or both."),
    ],
    groups: words.Groups = None,
    group_probabilities: words.Proxies = None,
    score: Annotated[Text, option("COLUMN", "Scores.")] = None,
    decision: Annotated[Text, option("COLUMN", "Decisions, with the same values as the label.")] = None,
    cutoff: Annotated[Number, option("NUMBER", "Cut-off on scores, one for all groups.")] = None,
    approval_rate: words.Approved = None,
    costs: Annotated[
        Text,
        option(
            "FP,FN",
            "Costs of a false positive and a false negative, such as 5,1; the cut-off of the lowest cost is used.",
        ),
    ] = None,
    notion: Annotated[Texts, option("NAME", "Fairness criterion whose figures are added; may be repeated.")] = None,
    control: Annotated[Text, option("COLUMNS", "Compare groups within the levels of these columns.")] = None,
    weight: words.Weight = None,
    cross: words.Cross = False,
    reference: words.Reference = None,
    require: Annotated[
        Texts, option("RULE", 'Requirement such as "selection_ratio.lower>=0.80"; may be repeated.')
    ] = None,
    baseline: Annotated[Path | None, path_option("Earlier audit to compare with, written with --json.")] = None,
    json_output: words.AsJson = False,
    min_size: Annotated[int, option("N", "Groups with fewer rows are listed and not compared.", min=1)] = 30,
    confidence: Annotated[float, option("NUMBER", "Confidence level of intervals.")] = 0.95,
    simultaneous: Annotated[
        bool, typer.Option("--simultaneous", help="Intervals of gaps hold for all groups at once.")
    ] = False,
    *,
    reading: dict[str, Any],
) -> None:
    """Compare decisions between groups, with intervals and tests.

    Exit codes: 0 requirements met (or none given), 2 bad input, 3 not met, 4 inconclusive: the interval contains the
    bound, or groups are probabilities.

    Example: fairfront audit scored.csv --label repaid --score p --favourable 1 --groups sex,race:ref=White
    """
    from .. import measures, objectives
    from ..measures.claims import parse_requirement
    from ..measures.cutoffs import as_costs
    from ..runs.attributes import parse_attributes
    from ..tables import MISSING, read_groups
    from .audit_tables import as_label, labels_of, read_columns, show

    for text in require or ():
        parse_requirement(text)
    within = [part.strip() for part in (control or "").split(",") if part.strip()]
    if control is not None and not within:
        raise InputError(f"--control is {control!r}, expected columns such as region,year.")
    compared = parse_attributes(groups, group_probabilities, reference, cross)
    columns, proxies = compared.groups, compared.group_probabilities
    before = None if baseline is None else _read_baseline(baseline)
    one = {"--score": score, "--weight": weight, "--decision": decision}
    named = {option: [] if name is None else [name] for option, name in one.items()}
    texts = {"--label": [label], "--decision": named.pop("--decision"), "--control": within}
    texts["--groups"] = list(columns)
    numbers = {**named, "--group-probabilities": proxies}
    table = read_columns(file, texts, numbers, {**reading, "missing": (*MISSING, *reading["missing"])})
    if (score is None) == (decision is None):
        raise InputError("give exactly one of --score and --decision: what the model said about each row.")
    truth = labels_of(table, label)
    sides: list[Any] = [word for word in favourable if word in SIDES]
    values = [as_label(word, truth) for word in favourable if word not in SIDES]
    if len(sides) > 1 or len(values) > 1 or (sides and decision):
        raise InputError(f"--favourable is {', '.join(favourable)}, expected one label, and a side for scores only.")
    prices = as_costs(costs)
    names = {"scores_or_labels": f"column {score or decision!r}", "y_true": f"column {label!r}"}
    with warnings.catch_warnings(), spelling({**names, "sample_weight": "--weight", "control_features": "--control"}):
        warnings.simplefilter("ignore", ProxyWarning)  # the audit's sentences say it
        given = {name: table.complete(name).numbers for name in (score, weight, *proxies) if name is not None}
        people: Any = {name: each.take() for name, each in read_groups(table, columns).items()}
        if proxies:
            people = objectives.GroupProbabilities({name: given[name] for name in proxies})
        found = measures.audit(
            truth,
            given[score] if score is not None else labels_of(table, str(decision)),
            sensitive_features=people,
            favourable=values[0] if values else None,
            favourable_side=sides[0] if sides else None,
            cutoff=cutoff,
            approval_rate=approval_rate,
            costs=None if prices is None else {"false_positive": prices[0], "false_negative": prices[1]},
            notion=notion or None,
            control_features={name: table.texts(name) for name in within} or None,
            groups=objectives.Groups(reference=dict(compared.reference) or None, cross=cross, min_size=min_size),
            sample_weight=given[weight] if weight else None,
            confidence=confidence,
            simultaneous=simultaneous,
            task="classification",
        )
    verdicts = [verdict for text in require or () for verdict in found.check(text)]
    good = str(found.task.favourable_label)
    if before is not None and before.get("favourable") != good:
        raise InputError(
            f"the baseline's favourable label is {before.get('favourable')!r}, expected {good!r}, as here."
        )
    if json_output:
        _show_json(found, verdicts, before)
    else:
        show(found, compared, [verdict.sentence for verdict in verdicts], before)
    outcomes = {verdict.outcome for verdict in verdicts}
    raise typer.Exit(EXIT[next((each for each in ("not met", "inconclusive") if each in outcomes), "met")])


def _read_baseline(path: Path) -> dict[str, Any]:
    from ..measures.audit_record import EARLIER_FORMATS, FORMAT
    from ..storage.documents import read_json

    if not path.exists():
        raise InputError(f"baseline {path} cannot be read (no such file), expected a file written with --json.")
    found = read_json(path)
    kind = found.get("format") if isinstance(found, dict) else None
    if kind in EARLIER_FORMATS:
        raise InputError(
            f"baseline {path} is {kind!r}, whose counts may be rounded, expected {FORMAT!r}; write it again."
        )
    tables = found.get("tables") if isinstance(found, dict) and found.get("format") == FORMAT else None
    if not isinstance(tables, dict) or not all(_is_table(columns) for columns in tables.values()):
        raise InputError(f"baseline {path} is not an audit, expected a file written with fairfront audit --json.")
    return dict(found)


def _is_table(columns: Any) -> bool:
    lists = isinstance(columns, dict) and all(isinstance(values, list) for values in columns.values())
    return lists and "group" in columns and len({len(values) for values in columns.values()}) == 1


def _show_json(found: Audit, verdicts: list[Verdict], before: dict[str, Any] | None) -> None:
    from .audit_tables import changes_of

    names = ("requirement", "attribute", "outcome", "sentence")
    said = [{name: getattr(verdict, name) for name in names} for verdict in verdicts]
    shown = {**found.to_dict(), "requirements": said}
    if before is not None:
        changes: dict[str, Any] = {}
        for name, table in found.groups.items():
            changed = changes_of(table.cells, before["tables"].get(name, {}))
            changes[name] = {key: [cell.plain for cell in cells] for key, cells in changed.items()}
        shown |= {"changes": changes, "baseline": {key: before.get(key) for key in ("rule", "cutoff", "n")}}
    typer.echo(json.dumps(shown, indent=1, allow_nan=False))
