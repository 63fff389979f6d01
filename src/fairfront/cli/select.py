"""``fairfront select`` and ``fairfront predict``: from a run to a model with its card, from a model to predictions."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..exceptions import InputError
from . import words
from .screen import run_at, screen, stored_at, tell
from .words import Text, Texts, checked, option, path_option, reads

if TYPE_CHECKING:
    from ..runs import Run

LISTED = 20


def select(
    run: words.RunFolder,
    output: Annotated[Path, path_option("Folder to write the model to.", "--output", "-o")],
    least_gap: Annotated[
        Text, option("NAME", "Smallest gap: tpr, fpr, selection, error, or a column such as sex.tpr_gap.")
    ] = None,
    most: Annotated[
        Text, option("NAME", "Largest value of a column that is better when larger: auc, selection_ratio.")
    ] = None,
    within: Annotated[
        Texts,
        option("NAME=NUMBER", "How much worse than the best a column may be, such as error=0.005; may be repeated."),
    ] = None,
    at_most: Annotated[Texts, option("NAME=NUMBER", "Upper limit, such as tpr_gap=.02; may be repeated.")] = None,
    at_least: Annotated[
        Texts, option("NAME=NUMBER", "Lower limit, such as selection_ratio=.8; may be repeated.")
    ] = None,
    id: Annotated[int | None, option("N", "The model with this id.")] = None,
    knee: Annotated[bool, typer.Option("--knee", help="The knee of the training frontier.")] = False,
    confidence: Annotated[float, option("NUMBER", "Rules hold with this confidence; 0 uses expected gaps.")] = 0.95,
    reason: Annotated[str, option("TEXT", "Why this model; goes into the record and the card.")] = "",
    by: Annotated[str, option("TEXT", "Who decides.")] = "",
    about: Annotated[Path | None, path_option("TOML file for the card: owner, version, use, monitoring.")] = None,
    trust: words.Trust = None,
    overwrite: words.Overwrite = False,
) -> None:
    """Choose a model of a run and write it with its card.

    The rule reads validation and the training rows, each of these judged without itself, as far as the run has both, at
    its operating point, and a record of the decision is kept. Among the models that meet the rules, the one with the
    lowest error is taken, unless --least-gap or --most is given.

    Example: fairfront select run --least-gap tpr --within error=0.005 --by "A. Smith" -o model
    """
    from ..runs.archive import MODEL
    from ..runs.card import read_about
    from ..runs.decision_records import check_recordable
    from ..runs.options import pair_sentences, promise_words
    from ..runs.pipeline import write_choice
    from ..storage.places import check_new_folder
    from ..validation import check_confidence

    if confidence:
        check_confidence(confidence)
    fields = read_about(about) if about else {}
    check_new_folder(output, MODEL, overwrite)
    stored = run_at(run, trust)
    check_recordable(stored)
    asked = {"within": within, "at_most": at_most, "at_least": at_least}
    rule = _rule(stored, least_gap, most, asked, id, knee, confidence)
    known: dict[str, Any] = {"reason": reason, "by": by, "about": fields, "overwrite": overwrite}
    try:
        model, decision = write_choice(stored, output, rule, **known)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"{output} is complete or as it was before; the run's records say which") from None
    said = [f"id {decision.id}: {decision.rule_words}.", model.about["operating_point"], *decision.notes]
    said += pair_sentences(stored.frontier, [decision.id])
    said += promise_words(decision.promises, stored.manifest["split"]["rows"].get("test", 0))
    said.append(f"Model, card and decision record: {output} (read {output / 'card.md'}).")
    names, more = model.columns, len(model.columns) - LISTED
    rest = f" and {more} more, which the card lists" if more > 0 else ""
    tell(screen(), *filter(None, said), f"Predictions read the columns {', '.join(names[:LISTED])}{rest}.")


@reads
def predict(
    model: Annotated[Path, typer.Argument(help="Folder written by fairfront select.", callback=checked)],
    file: Annotated[
        Path, typer.Argument(help="CSV, TSV, Parquet or Feather with the columns of training.", callback=checked)
    ],
    output: Annotated[Path, path_option("CSV file to write.", "--output", "-o")],
    keep: Annotated[Texts, option("COLUMN", "Column of the input to copy; may be repeated.")] = None,
    reasons: Annotated[int, option("K", "Name the K columns that speak most against each person (linear models).")] = 0,
    part: Annotated[
        Text, option("NAME", "Only rows of this part of the run's file (train, validation, test), with their numbers.")
    ] = None,
    trust: words.Trust = None,
    overwrite: words.Overwrite = False,
    *,
    reading: dict[str, Any],
) -> None:
    """Write predictions and probabilities for the rows of a file.

    Rows keep their order; group columns are not needed. Files larger than memory are read in chunks. Who is in a part
    is drawn again from the seed of the run, with its file, because nothing of it is kept.

    Example: fairfront predict model new.csv --keep id -o decided.csv
    """
    from ..runs import TableModel, predict_file
    from ..validation import counted

    found = stored_at(model, TableModel, "a model written by fairfront select", trust)

    def note(unknown: Mapping[str, int]) -> None:
        told = ", ".join(f"{name!r} in {counted(rows, 'row')}" for name, rows in unknown.items())
        tell(screen(stderr=True), f"note: values that were rare or unknown in training: {told}.")

    known: dict[str, Any] = {"keep": keep or (), "overwrite": overwrite, "on_unknown": note}
    known |= {"reasons": reasons, "part": part, **reading}
    n = predict_file(found, file, output, progress="auto", **known)
    typer.echo(f"{counted(n, 'row')}{'' if part is None else f' of the {part} part'}: {output}")


def _rule(
    run: Run,
    least_gap: str | None,
    most: str | None,
    asked: dict[str, list[str] | None],
    id: int | None,
    knee: bool,
    confidence: float,
) -> dict[str, Any]:
    names = (*run.frontier.column_names(), run.frontier.facts.gap_column)
    rule: dict[str, Any] = {"id": id, "knee": knee or None}
    rule["least"] = None if least_gap is None else _column(least_gap, names, "--least-gap", first="_gap")
    rule["most"] = None if most is None else _column(most, names, "--most")
    rule |= {name: _pairs(texts, names, f"--{name.replace('_', '-')}") for name, texts in asked.items() if texts}
    given = {name: value for name, value in rule.items() if value is not None}
    if set(given) == {"within"}:
        raise InputError("--within goes with --least-gap, --most, --at-most or --at-least; give one of them too.")
    alone = {"id", "knee"} & set(given)
    if not given or (alone and len(given) > 1) or {"least", "most"} <= set(given):
        options = [{"least": "--least-gap"}.get(name, f"--{name.replace('_', '-')}") for name in given]
        raise InputError(
            "give exactly one rule of --id and --knee, or of columns (--at-most, --at-least, --within, and one of "
            f"--least-gap and --most), found {' and '.join(options) or 'none'}."
        )
    return given if alone else {**given, "confidence": None if confidence == 0 else confidence}


def _column(name: str, names: tuple[str, ...], option: str, first: str = "") -> str:
    """Return the column that a short name such as ``tpr`` stands for; ``first`` is the ending that is tried first."""
    known = {*names, *(each.rpartition(".")[2] for each in names), "loss"}
    for each in (f"{name}{first}", name, f"{name}_gap"):
        if each in known:
            return each
    short = {each.removesuffix("_gap") for each in known} if first else set()
    near = difflib.get_close_matches(name, sorted(known | short), n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    raise InputError(f"{option} names {name!r}, expected one of {', '.join(sorted(known))}{hint}")


def _pairs(texts: list[str] | None, names: tuple[str, ...], option: str) -> dict[str, float]:
    from ..measures.figures import is_share

    found = {}
    for text in texts or []:
        name, there, value = text.rpartition("=")
        try:
            number = float(value)
        except ValueError:
            there = ""
        if not there or not name:
            raise InputError(f"{option} is {text!r}, expected NAME=NUMBER such as error=0.005.")
        column = _column(name, names, option)
        if is_share(column) and not 0 <= number <= 1:
            raise InputError(f"{option} is {text!r}, expected a number from 0 to 1, such as {name}=0.05.")
        found[column] = number
    return found
