"""``fairfront audit``: how a model stands today, from a file of its scores or decisions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from ..exceptions import InputError, spelling
from .screen import SMALL, checked

if TYPE_CHECKING:
    from ..measures import Audit
    from ..measures.audit_record import Verdict
    from .audit_tables import Columns
    from .files import ScoredFile

EXIT = {"met": 0, "not met": 3, "inconclusive": 4}
SIDES = ("above", "below")


def audit(
    file: Annotated[
        Path, typer.Argument(help="CSV, TSV, Parquet or Feather; CSV and TSV may be gzipped.", callback=checked)
    ],
    label: Annotated[str, typer.Option(help="Column of what turned out to be true.")],
    favourable: Annotated[
        list[str], typer.Option(help="The label that is good for the person, or 'above'/'below' for scores; or both.")
    ],
    groups: Annotated[str | None, typer.Option(help="Columns of groups: sex,race:ref=White.")] = None,
    group_probabilities: Annotated[
        str | None, typer.Option(help="Instead: columns of probabilities, one per group: p_black,p_white:ref.")
    ] = None,
    score: Annotated[str | None, typer.Option(help="Column of scores.")] = None,
    decision: Annotated[str | None, typer.Option(help="Column of decisions, in the words of the label.")] = None,
    cutoff: Annotated[float | None, typer.Option(help="Cut-off on scores, one for all groups.")] = None,
    approval_rate: Annotated[float | None, typer.Option(help="Share of favourable decisions.")] = None,
    costs: Annotated[str | None, typer.Option(help="Costs of a false positive and a false negative: 5,1.")] = None,
    control: Annotated[str | None, typer.Option(help="Columns whose levels are compared within.")] = None,
    weight: Annotated[str | None, typer.Option(help="Column of sample weights.")] = None,
    missing: Annotated[list[str] | None, typer.Option(help="Further text that is read as missing.")] = None,
    delimiter: Annotated[str | None, typer.Option(help="Character between columns (default: comma).")] = None,
    require: Annotated[
        list[str] | None, typer.Option(help='What must hold, such as "selection_ratio.lower>=0.80"; may be repeated.')
    ] = None,
    baseline: Annotated[
        Path | None, typer.Option(help="An earlier audit, written with --json.", callback=checked)
    ] = None,
    json_output: Annotated[bool, typer.Option("--json", help="Write JSON instead of tables.")] = False,
    min_size: Annotated[int, typer.Option(help="Smaller groups are listed and not compared.", min=1)] = 30,
    confidence: Annotated[float, typer.Option(help="Confidence of intervals.")] = 0.95,
    simultaneous: Annotated[bool, typer.Option(help="Intervals of gaps hold for all groups together.")] = False,
    small: Annotated[int, typer.Option(help=SMALL)] = 10,
) -> None:
    """Show how decisions differ between groups and how sure that is.

    Exit codes: 0 requirements met (or none asked), 2 bad input, 3 not met, 4 inconclusive: the interval straddles
    the bound, or groups are probabilities.

    Example: fairfront audit scored.csv --label repaid --score p --favourable 1 --groups sex,race:ref=White
    """
    from ..measures import audit as run_audit
    from ..measures.audit_record import parse_requirement
    from ..measures.disclosure import EXACT, check_small
    from ..objectives import GroupProbabilities, Groups
    from ..runs.settings import parse_attributes
    from .files import read_scored

    for text in require or ():
        parse_requirement(text)
    check_small(small)
    if control is not None and not _split(control):
        raise InputError(f"--control is {control!r}, expected columns such as region,year.")
    columns, proxies, references = parse_attributes(groups, group_probabilities)
    before = None if baseline is None else _read_baseline(baseline)
    cells = read_scored(
        file,
        {"--label": [label], "--groups": columns, "--decision": _given(decision), "--control": _split(control)},
        {"--score": _given(score), "--weight": _given(weight), "--group-probabilities": proxies},
        delimiter=delimiter,
        missing=missing or (),
    )
    truth, given, options = _what_is_judged(cells, label, score, decision, favourable)
    names = {"scores_or_labels": f"column {score or decision!r}", "y_true": f"column {label!r}"}
    with spelling({**names, "sample_weight": "--weight", "control_features": "--control"}):
        found = run_audit(
            truth,
            given,
            sensitive_features=GroupProbabilities({name: cells.numbers(name) for name in proxies})
            if proxies
            else cells.groups(columns),
            cutoff=cutoff,
            approval_rate=approval_rate,
            costs=_costs(costs),
            control_features=cells.groups(_split(control)) or None,
            groups=Groups(reference=dict(references) or None, min_size=min_size),
            sample_weight=cells.numbers(weight) if weight else None,
            confidence=confidence,
            simultaneous=simultaneous,
            task="classification",
            **options,
        )
    found = found.published() if small else replace(found, notions=(*found.notions, EXACT))
    _check_same(before, found)
    verdicts = [verdict for text in require or () for verdict in found.check(text)]
    _show_json(found, verdicts, before) if json_output else _show(found, verdicts, before)
    raise typer.Exit(_exit_code(verdicts))


def _given(name: str | None) -> list[str]:
    return [] if name is None else [name]


def _split(text: str | None) -> list[str]:
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def _what_is_judged(
    cells: ScoredFile, label: str, score: str | None, decision: str | None, favourable: list[str]
) -> tuple[Any, Any, dict[str, Any]]:
    """Return labels, scores or decisions, and which label and side are favourable."""
    from .files import as_label

    if (score is None) == (decision is None):
        raise InputError("give exactly one of --score and --decision: what the model said about each row.")
    truth = cells.labels(label)
    sides = [word for word in favourable if word in SIDES]
    values = [as_label(word, truth) for word in favourable if word not in SIDES]
    if len(sides) > 1 or len(values) > 1 or (sides and decision):
        raise InputError(f"--favourable is {', '.join(favourable)}, expected one label, and a side for scores only.")
    options = {"favourable": values[0] if values else None, "favourable_side": sides[0] if sides else None}
    if score is not None:
        return truth, cells.numbers(score), options
    assert decision is not None
    return truth, cells.labels(decision), options


def _costs(text: str | None) -> dict[str, float] | None:
    if text is None:
        return None
    try:
        false_positive, false_negative = (float(part) for part in text.split(","))
    except ValueError:
        raise InputError(
            f"--costs is {text!r}, expected two numbers: false positive, false negative, as 5,1."
        ) from None
    return {"false_positive": false_positive, "false_negative": false_negative}


def _read_baseline(path: Path) -> dict[str, Any]:
    from ..measures.audit_record import FORMAT
    from ..storage.documents import read_json

    if not path.exists():
        raise InputError(f"baseline {path} cannot be read (no such file), expected a file written with --json.")
    found = read_json(path)
    tables = found.get("tables") if isinstance(found, dict) and found.get("format") == FORMAT else None
    if not isinstance(tables, dict) or not all(_is_table(columns) for columns in tables.values()):
        raise InputError(f"baseline {path} is not an audit, expected a file written with fairfront audit --json.")
    return dict(found)


def _is_table(columns: Any) -> bool:
    """Tell whether columns of one length were read, with the groups among them."""
    lists = isinstance(columns, dict) and all(isinstance(values, list) for values in columns.values())
    return lists and "group" in columns and len({len(values) for values in columns.values()}) == 1


def _check_same(before: dict[str, Any] | None, found: Audit) -> None:
    """Refuse to compare audits with different favourable labels."""
    good = str(found.task.favourable_label)
    if before is not None and before.get("favourable") != good:
        raise InputError(
            f"the baseline's favourable label is {before.get('favourable')!r}, expected {good!r}, as here."
        )


def _exit_code(verdicts: list[Verdict]) -> int:
    found = {verdict.outcome for verdict in verdicts}
    worst = next((outcome for outcome in ("not met", "inconclusive") if outcome in found), "met")
    return EXIT[worst]


def _show_json(found: Audit, verdicts: list[Verdict], before: dict[str, Any] | None) -> None:
    from .audit_tables import changes_of

    said = [
        {"requirement": v.requirement, "attribute": v.attribute, "outcome": v.outcome, "sentence": v.sentence}
        for v in verdicts
    ]
    shown = {**found.to_dict(small=found.small), "requirements": said}
    if before is not None:
        changes = {
            name: changes_of(columns, before["tables"].get(name, {})) for name, columns in shown["tables"].items()
        }
        shown |= {"changes": changes, "baseline": {key: before.get(key) for key in ("rule", "cutoff", "n", "small")}}
    typer.echo(json.dumps(shown, indent=1, allow_nan=False))


def _show(found: Audit, verdicts: list[Verdict], before: dict[str, Any] | None) -> None:
    """Print what `Audit.to_dict` shows."""
    from ..measures.figures import in_shell, marked_in_shell, reference_sentences
    from .audit_tables import LEGEND, baseline_lines, console_for_output, ranking_lines

    console, shown = console_for_output(), found.to_dict(small=found.small)
    words = marked_in_shell if found.proxies else in_shell
    _say(console, (*found.notions, *reference_sentences(found.groups.values(), words)))
    for name, columns in shown["tables"].items():
        _show_table(console, name, columns, None if before is None else before["tables"].get(name, {}))
    for level, tables in shown.get("strata", {}).items():
        for name, columns in tables.items():
            _show_table(console, f"{name} within {level}", columns, None)
    ranked = ranking_lines(next(iter(shown["tables"].values())))
    _say(console, [LEGEND, *baseline_lines(shown, before), *ranked, *shown["found"], *(v.sentence for v in verdicts)])


def _show_table(console: Console, name: str, columns: Columns, before: Columns | None) -> None:
    from .audit_tables import missing_lines, rate_table, right_table

    console.print(rate_table(name, columns, before))
    console.print(right_table(f"{name}: how right decisions are", columns))
    _say(console, missing_lines(name, columns))


def _say(console: Console, sentences: Sequence[str]) -> None:
    for sentence in sentences:
        console.print(sentence, markup=False)
