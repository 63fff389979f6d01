"""``fairfront alternatives``: a search for a fairer model than the one in use."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from ..exceptions import InputError
from ..names import FAMILIES
from . import words
from .screen import champion_at, given_of, print_table, say, screen, table_of
from .words import Number, Text, Texts, option, path_option, reads

if TYPE_CHECKING:
    from ..improvability import Alternatives

NOT_SHOWN = 4
LISTED = 5
LEFT = ("family",)


@reads
def alternatives(
    context: typer.Context,
    file: words.TableFile,
    target: Annotated[str, option("COLUMN", "True outcomes.")],
    favourable: Annotated[str, option("VALUE", "Favourable outcome: a value of the target.")],
    groups: Annotated[str, words.GROUPED],
    output: Annotated[Path, path_option("Folder to write to.", "--output", "-o")],
    score: Annotated[
        Text,
        option(
            "COLUMN",
            "Scores of the model in use: higher for whoever is more likely approved.",
            "--incumbent-score",
        ),
    ] = None,
    decision: Annotated[
        Text, option("COLUMN", "Its decisions, with the values of the target.", "--incumbent-decision")
    ] = None,
    incumbent: Annotated[
        Path | None, path_option("The model itself: a file of skops, or a folder written by fairfront select.")
    ] = None,
    keep: Annotated[
        Texts,
        option(
            "FIGURE=NUMBER",
            "What may be lost at most: auc, gini, ks, log_loss, error, bad_rate, cost or profit; may be repeated "
            "(default: auc=0.005; for decisions error=0.005).",
        ),
    ] = None,
    improve: Annotated[
        Texts,
        option(
            "NAME",
            "Gap or ratio of decisions that must be better, any of the audit: tpr_gap, odds_gap, npv_gap, "
            "selection_ratio or, of one column, sex.fpr_gap; may be repeated.",
        ),
    ] = None,
    cutoff: Annotated[Number, option("NUMBER", "Cut-off on the incumbent's scores (default: 0.5).")] = None,
    approval_rate: words.Approved = None,
    costs: Annotated[
        Text, option("FP,FN", "Costs of a false positive and a false negative, for --keep cost=NUMBER.")
    ] = None,
    prices: Annotated[
        Texts,
        option(
            "OUTCOME=VALUE",
            "Cost of a true_positive, false_positive, false_negative or true_negative decision, a number or a "
            "column, below 0 for a profit; may be repeated.",
            "--cost",
        ),
    ] = None,
    nobody_worse: Annotated[
        Number, option("NUMBER", "How far the selection rate and the TPR of any group may fall.")
    ] = None,
    labelled_only_if: Annotated[
        Text, option("COLUMN=VALUE", "Rows whose outcome is known, such as approved=1; others need none.")
    ] = None,
    families: Annotated[
        Texts,
        option(
            "NAME",
            f"Where alternatives come from: {', '.join(FAMILIES)}; may be repeated (default: linear and rates).",
            "--family",
        ),
    ] = None,
    candidates: Annotated[
        Texts,
        option("COLUMN", "Scores of a further model to judge, as the incumbent's; may be repeated.", "--candidate"),
    ] = None,
    n_splits: Annotated[int, option("N", "How often rows are halved.", "--splits", min=1, max=1000)] = 20,
    max_fits: Annotated[int | None, option("N", "Most fits, over all splits.", min=2)] = None,
    max_seconds: Annotated[Number, option("NUMBER", "Seconds after which no further split is begun.")] = None,
    confidence: Annotated[float, option("NUMBER", "Confidence of what is claimed.")] = 0.95,
    weight: words.Weight = None,
    person: Annotated[Text, option("COLUMN", "Who a row is of: rows of one person stay in one half.")] = None,
    cross: words.Cross = False,
    reference: words.Reference = None,
    min_size: Annotated[int, option("N", "Groups with fewer rows to compare are in no gap.", min=1)] = 30,
    drop: words.Drop = None,
    allow: words.Allow = None,
    text: words.AsText = None,
    numbers: words.AsNumbers = None,
    dates: words.AsDates = None,
    use_sensitive: Annotated[
        bool, typer.Option("--use-sensitive", help="Let alternatives use the group columns as features.")
    ] = False,
    seed: words.Seed = 0,
    trust: words.Trust = None,
    json_output: words.AsJson = False,
    overwrite: words.Overwrite = False,
    *,
    reading: dict[str, Any],
) -> None:
    """Search for a fairer alternative to the model in use.

    Rows are halved again and again: models are searched for on one half and tested on the other. The folder has
    summary.md, one page, alternatives.json, its record, and model, the alternative that was found.

    Exit codes: 0 an alternative was shown, 2 bad input, 4 none was shown, which does not show that there is none.

    Example: fairfront alternatives scored.csv --target repaid --favourable 1 --groups sex --incumbent-score p -o search
    """
    from ..improvability.summary import INVENTORY, write_search
    from ..runs import Settings
    from ..runs.archive import fill_model
    from ..runs.inquiry import Inquiry
    from ..runs.inquiry_search import alternative_model, searched
    from ..storage.places import check_new_folder
    from ..tables import MISSING
    from .trace import say_what_was_read

    given = {"--incumbent-score": score, "--incumbent-decision": decision, "--incumbent": incumbent}
    there = [name for name, value in given.items() if value is not None]
    if len(there) > 1:
        raise InputError(f"{' and '.join(there)} are both given, expected one of them, or none: plain training then.")
    check_new_folder(output, INVENTORY, overwrite)
    asked = given_of(context, Inquiry)
    table = {name: value for name, value in given_of(context, Settings).items() if name not in asked}
    inquiry = Inquiry.of({**table, "missing": (*MISSING, *reading["missing"])}, **asked)
    champion = champion_at(incumbent, trust)
    console = screen(stderr=json_output)
    told = partial(say_what_was_read, console, split=False)
    found, rows = searched(file, inquiry, champion, on_read=told)
    model = alternative_model(found, rows) if len(found.table) > 1 else None
    fill = None if model is None else partial(fill_model, model)
    write_search(output, found.record, overwrite=overwrite, fill_model=fill)
    if json_output:
        typer.echo(json.dumps(found.record, indent=1, allow_nan=False))
    else:
        _show(console, found, output, model is not None)
    raise typer.Exit(0 if found.p_value <= found.record["alpha"] else NOT_SHOWN)


def _show(console: Console, found: Alternatives, output: Path, has_model: bool) -> None:
    """Print the finding, the incumbent and the most promising models, and what to do next."""
    from ..improvability.summary import MODEL, SUMMARY, change_sentences, column_words, figure_words

    record = found.record
    heads = [name for name in found.table[0] if name != "settings"]
    table = table_of(
        "Judged on rows that were not searched on; id 0 is the incumbent",
        [column_words(record, name) for name in heads],
        left=LEFT,
    )
    for line in found.table[: 1 + LISTED]:
        table.add_row(*(figure_words(line[name]) for name in heads))
    if record["incumbent"]["kind"] != "none":  # a warning has said it
        say(console, record["incumbent"]["sentence"])
    print_table(console, table)
    say(console, *change_sentences(record))
    if record["why_not"]:
        say(console, f"Model 1 does not qualify: {record['why_not']}.")
    say(console, found.sentence, f"{record['covers']} Stopped: {record['stopped']}; {record['fits']} fits.")
    more = f"; model 1 is {output / MODEL}" if has_model else ""
    say(console, f"Summary: {output / SUMMARY}{more}.")
