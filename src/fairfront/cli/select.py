"""``fairfront select``: choose a point of a run and write it as a model with its card."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..exceptions import InputError
from .screen import DATA, SMALL, say, screen

if TYPE_CHECKING:
    from ..runs import Run


def select(
    run: Annotated[Path, typer.Argument(help="Folder written by fairfront trace.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write the model to.")],
    least_gap: Annotated[
        str | None, typer.Option(help="Smallest gap: tpr, fpr, selection, error, or a column such as sex.tpr_gap.")
    ] = None,
    within: Annotated[
        list[str] | None, typer.Option(help="With --least-gap: how much worse than the best, as error:0.005.")
    ] = None,
    at_most: Annotated[
        list[str] | None, typer.Option(help="Cap such as tpr_gap=.02; the smallest error among those. Repeatable.")
    ] = None,
    id: Annotated[int | None, typer.Option(help="The point with this id.")] = None,
    knee: Annotated[bool, typer.Option("--knee", help="The knee of the training frontier.")] = False,
    confidence: Annotated[
        float, typer.Option(help="Gaps are upper ends at this confidence; 0 takes them as observed.")
    ] = 0.95,
    reason: Annotated[str, typer.Option(help="Why this point; goes into the record and the card.")] = "",
    by: Annotated[str, typer.Option(help="Who decides.")] = "",
    onnx: Annotated[bool, typer.Option("--onnx", help="Write model.onnx too.")] = False,
    keep: Annotated[str, typer.Option(help="What stays in the run: all, or chosen (with the plain model).")] = "all",
    trust: Annotated[list[str] | None, typer.Option(help="Type inside an estimator that may be loaded.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the output folder.")] = False,
    small: Annotated[int, typer.Option(help=SMALL)] = 10,
    data: Annotated[Path | None, typer.Option(help=DATA)] = None,
) -> None:
    """Choose a point of a run and write it as a model with its card.

    The rule is applied on validation, and a record of the decision is kept.

    Example: fairfront select run --least-gap tpr --within error:0.005 --by "A. Smith" -o model
    """
    from ..runs.decision import candidates, check_recordable
    from ..runs.keeping import keep_only
    from ..runs.options import pair_sentences, plain_id
    from ..runs.run import record_decision
    from ..runs.tracing_tables import with_exact_counts
    from ..storage.folders import check_new_folder
    from .reading_runs import check_data, run_at

    if keep not in ("all", "chosen"):
        raise InputError(f"--keep is {keep!r}, expected all or chosen.")
    check_new_folder(output, overwrite=overwrite)
    check_data(small, data)
    stored = run_at(run, trust)
    check_recordable(stored)
    found = stored if data is None or small else with_exact_counts(stored, data)
    rule = _rule(found, least_gap, within, at_most, id, knee, confidence)
    model, decision = found.decide(reason=reason, by=by, **rule)
    model.save(output, overwrite=overwrite, onnx=onnx)
    stored = record_decision(stored, replace(decision, candidates=candidates(stored, decision.id)))
    if keep == "chosen":
        keep_only(stored, (decision.id, plain_id(stored.frontier)))
    console = screen()
    say(console, f"id {decision.id}: {decision.rule_words}.")
    for sentence in (*decision.notes, *pair_sentences(found.frontier, [decision.id])):
        say(console, sentence)
    say(console, f"Model, card and decision record: {output} (read {output / 'card.md'}).")
    say(console, f"Predictions read {_listed(model.columns)}.")


def _listed(names: tuple[str, ...], most: int = 20) -> str:
    shown = f"the columns {', '.join(names[:most])}"
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more, which the card lists"


def _rule(
    run: Run,
    least_gap: str | None,
    within: list[str] | None,
    at_most: list[str] | None,
    id: int | None,
    knee: bool,
    confidence: float,
) -> dict[str, Any]:
    """Return the rule in the words of `Frontier.select`."""
    sure = None if confidence == 0 else confidence
    names = (*run.frontier.column_names(), run.frontier.facts.gap_column)
    rule: dict[str, Any] = {"id": id, "knee": knee or None}
    if least_gap is not None:
        rule |= {
            "least": column(least_gap, names, first="_gap"),
            "within": _pairs(within, ":", names, "--within"),
            "confidence": sure,
        }
    elif within:
        raise InputError("--within goes with --least-gap: how much worse than the best the least gap may be.")
    if at_most:
        rule |= {"at_most": _pairs(at_most, "=", names, "--at-most"), "confidence": sure}
    return {name: value for name, value in rule.items() if value is not None or name == "confidence"}


def column(name: str, names: tuple[str, ...], first: str = "") -> str:
    """Return the column that a short name such as ``tpr`` stands for; ``first`` is the ending that is tried first."""
    known = {*names, *(each.rpartition(".")[2] for each in names), "loss"}
    for each in (f"{name}{first}", name, f"{name}_gap"):
        if each in known:
            return each
    raise InputError(f"{name!r} is no column, expected one of {', '.join(sorted(known))}.")


def _pairs(texts: list[str] | None, sign: str, names: tuple[str, ...], option: str) -> dict[str, float]:
    found = {}
    for text in texts or []:
        name, there, value = text.rpartition(sign)
        try:
            found[column(name, names)] = float(value)
        except ValueError:
            there = ""
        if not there or not name:
            raise InputError(f"{option} is {text!r}, expected NAME{sign}NUMBER such as error{sign}0.005.")
    return found
