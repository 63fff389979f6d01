"""``fairfront alternatives``: a search for a fairer model than the one in use, and its dossier."""

from __future__ import annotations

import json
import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from ..exceptions import InputError
from ..names import FAMILIES
from .screen import (
    GROUPED,
    Allow,
    AsDates,
    AsJson,
    AsNumbers,
    AsText,
    Cross,
    Drop,
    Overwrite,
    Reference,
    Sign,
    TableFile,
    Trust,
    Weight,
    champion_at,
    path_option,
    reads,
    say,
    screen,
)
from .tables import print_table, table_of

if TYPE_CHECKING:
    from ..improvability import Alternatives

NOT_SHOWN = 4
LISTED = 10
LEFT = ("family",)


@reads
def alternatives(
    file: TableFile,
    target: Annotated[str, typer.Option(metavar="COLUMN", help="True outcomes.")],
    favourable: Annotated[str, typer.Option(metavar="VALUE", help="Favourable outcome: a value of the target.")],
    groups: Annotated[str, GROUPED],
    output: Annotated[Path, path_option("Folder to write the dossier to.", "--output", "-o")],
    incumbent_score: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Scores of the model in use: higher for whoever is more likely approved."),
    ] = None,
    incumbent_decision: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Its decisions, with the values of the target.")
    ] = None,
    incumbent: Annotated[
        Path | None, path_option("The model itself: a file of skops, or a folder written by fairfront select.")
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIGURE=NUMBER",
            help="What may be lost at most: auc, gini, ks, log_loss, error, bad_rate, cost or profit; may be repeated "
            "(default: auc=0.005; for decisions error=0.005).",
        ),
    ] = None,
    improve: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Gap or ratio of decisions that must be better, any of the audit: tpr_gap, odds_gap, npv_gap, "
            "selection_ratio or, of one column, sex.fpr_gap; may be repeated.",
        ),
    ] = None,
    cutoff: Annotated[
        float | None, typer.Option(metavar="NUMBER", help="Cut-off on the incumbent's scores (default: 0.5).")
    ] = None,
    approval_rate: Annotated[
        float | None, typer.Option(metavar="NUMBER", help="Share of favourable decisions; the cut-off follows.")
    ] = None,
    costs: Annotated[
        str | None,
        typer.Option(metavar="FP,FN", help="Costs of a false positive and a false negative, for --keep cost=NUMBER."),
    ] = None,
    cost: Annotated[
        list[str] | None,
        typer.Option(
            metavar="OUTCOME=VALUE",
            help="Cost of a true_positive, false_positive, false_negative or true_negative decision, a number or a "
            "column, below 0 for a profit; may be repeated.",
        ),
    ] = None,
    nobody_worse: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", help="How far the selection rate and the TPR of any group may fall."),
    ] = None,
    labelled_only_if: Annotated[
        str | None,
        typer.Option(metavar="COLUMN=VALUE", help="Rows whose outcome is known, such as approved=1; others need none."),
    ] = None,
    family: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help=f"Where alternatives come from: {', '.join(FAMILIES)}; may be repeated (default: linear and rates).",
        ),
    ] = None,
    candidate: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Scores of a further model to judge, as the incumbent's; may be repeated."),
    ] = None,
    splits: Annotated[int, typer.Option(metavar="N", help="How often rows are halved.", min=1, max=1000)] = 20,
    max_fits: Annotated[int | None, typer.Option(metavar="N", help="Most fits, over all splits.", min=2)] = None,
    max_seconds: Annotated[
        float | None, typer.Option(metavar="NUMBER", help="Seconds after which no further split is begun.")
    ] = None,
    confidence: Annotated[float, typer.Option(metavar="NUMBER", help="Confidence of what is claimed.")] = 0.95,
    weight: Weight = None,
    person: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Who a row is of: rows of one person stay in one half.")
    ] = None,
    cross: Cross = False,
    reference: Reference = None,
    min_size: Annotated[
        int, typer.Option(metavar="N", help="Groups with fewer rows to compare are in no gap.", min=1)
    ] = 30,
    drop: Drop = None,
    allow: Allow = None,
    text: AsText = None,
    numbers: AsNumbers = None,
    dates: AsDates = None,
    use_sensitive: Annotated[
        bool, typer.Option("--use-sensitive", help="Let alternatives use the group columns as features.")
    ] = False,
    seed: Annotated[int, typer.Option(metavar="N", help="Random seed.", min=0)] = 0,
    checkpoint: Annotated[Path | None, path_option("Checkpoint file, for --resume; it holds no data.")] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Resume from the checkpoint, or start if there is none yet.")
    ] = False,
    trust: Trust = None,
    json_output: AsJson = False,
    overwrite: Overwrite = False,
    sign: Sign = None,
    *,
    reading: dict[str, Any],
) -> None:
    """Search for a fairer alternative to the model in use.

    Rows are halved again and again: models are searched for on one half and tested on the other. The folder has a
    summary, the whole dossier as text and as a page, and its record.

    Exit codes: 0 an alternative was shown, 2 bad input, 4 none was shown, which does not show that there is none.

    Example: fairfront alternatives scored.csv --target repaid --favourable 1 --groups sex --incumbent-score p -o search
    """
    from ..improvability.dossier import INVENTORY, write_dossier
    from ..runs.decision_chain import check_kept
    from ..runs.inquiry import Inquiry
    from ..runs.inquiry_search import searched
    from ..runs.manifest import key_of
    from ..storage.places import check_new_folder
    from ..tables import MISSING
    from .trace import say_what_was_read

    given = {"--incumbent-score": incumbent_score, "--incumbent-decision": incumbent_decision, "--incumbent": incumbent}
    there = [name for name, value in given.items() if value is not None]
    if len(there) > 1:
        raise InputError(f"{' and '.join(there)} are both given, expected one of them, or none: plain training then.")
    check_new_folder(output, INVENTORY, overwrite)
    if output.exists():
        check_kept(output, 0, sign)
    key = key_of(sign)
    table: dict[str, Any] = {
        "target": target,
        "groups": groups,
        "favourable": favourable,
        "reference": reference,
        "cross": cross,
    }
    table |= {"min_size": min_size, "weight": weight, "drop": drop, "allow": allow, "text": text}
    table |= {"numbers": numbers, "dates": dates, "use_sensitive": use_sensitive, "seed": seed, "cutoff": cutoff}
    table |= {"person": person, "approval_rate": approval_rate, **reading, "missing": (*MISSING, *reading["missing"])}
    asked: dict[str, Any] = {"score": incumbent_score, "decision": incumbent_decision, "keep": keep, "improve": improve}
    asked |= {"nobody_worse": nobody_worse, "labelled_only_if": labelled_only_if, "families": family, "costs": costs}
    asked |= {"prices": cost, "candidates": candidate}
    asked |= {"n_splits": splits, "max_fits": max_fits, "max_seconds": max_seconds, "confidence": confidence}
    inquiry = Inquiry.of(_given(table), **_given(asked))
    champion = champion_at(incumbent, trust)
    console = screen(stderr=json_output)
    told = partial(say_what_was_read, console, split=False)
    try:
        found, _ = searched(file, inquiry, champion, checkpoint=checkpoint, resume=resume, on_read=told)
    except KeyboardInterrupt:
        if checkpoint is None or not checkpoint.exists():
            raise
        raise KeyboardInterrupt(f"{checkpoint} has what was found: go on with the same command and --resume") from None
    write_dossier(output, found.record, overwrite=overwrite, key=key)
    if json_output:
        typer.echo(json.dumps(found.record, indent=1, allow_nan=False))
    else:
        _show(console, found, file, output, incumbent)
    raise typer.Exit(0 if found.p_value <= found.record["alpha"] else NOT_SHOWN)


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value not in (None, [], ())}


def _show(console: Console, found: Alternatives, file: Path, output: Path, incumbent: Path | None) -> None:
    """Print the finding, the incumbent and the models that were tested, and what to do next."""
    from ..improvability.model_table import COARSE, head_words, line_cell

    record = found.record
    heads = [name for name in found.table[0] if name not in ("settings", "why")]
    table = table_of(
        "Judged on rows that were not searched on; id 0 is the incumbent",
        [head_words(record, name) for name in heads],
        left=LEFT,
    )
    tested = [line for line in found.table if line["id"] == 0 or line["p"] is not None][: 1 + LISTED]
    for line in tested:
        table.add_row(*(line_cell(record, line, name) for name in heads))
    if record["incumbent"]["kind"] != "none":  # a warning has said it
        say(console, record["incumbent"]["sentence"])
    print_table(console, table)
    say(
        console, *(f"id {line['id']} does not qualify: {line['why']}." for line in tested if line["qualified"] is False)
    )
    say(console, *([COARSE] if record["coarse"] else []))
    say(console, found.sentence, f"{record['covers']} Stopped: {record['stopped']}; {record['fits']} fits.")
    where, data = shlex.quote(str(output)), shlex.quote(str(file))
    more = "" if incumbent is None else f" --incumbent {shlex.quote(str(incumbent))}"
    say(console, f"Dossier: {output} (read {output / 'summary.md'}). Reproduce: fairfront verify {where} {data}{more}")
    if found.qualified:
        say(
            console,
            f"Choose: fairfront select {where} --id {found.qualified[0]} --data {data}{more} --by NAME -o model",
        )
