"""``fairfront trace``: from a file of rows to a run with its frontier."""

from __future__ import annotations

import json
import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console

from ..exceptions import ProxyWarning
from ..names import LOSSES, NOTIONS
from . import words
from .screen import check_new_run, given_of, say, screen, tell
from .words import Number, Text, Texts, option, path_option, reads

if TYPE_CHECKING:
    from ..runs.preparation import Prepared

KINDS = ("noted", "read", "dropped", "flagged")


@reads
def trace(
    context: typer.Context,
    file: words.TableFile,
    target: Annotated[str, option("COLUMN", "Column to predict.")],
    output: Annotated[Path, path_option("Folder to write the run to.", "--output", "-o")],
    groups: words.Groups = None,
    group_probabilities: words.Proxies = None,
    favourable: Annotated[
        Text, option("VALUE", "Favourable outcome: a value of the target; not for --loss squared.")
    ] = None,
    notion: Annotated[Texts, option("NAME", f"Fairness criterion; may be repeated: {', '.join(NOTIONS)}.")] = None,
    loss: Annotated[str, option("NAME", f"Training loss: {', '.join(LOSSES)}.")] = "logistic",
    model: Annotated[
        Literal["linear", "boosting"],
        typer.Option(help="Linear models, or boosted trees."),
    ] = "linear",
    surrogate: Annotated[
        Literal["loss", "rate"], typer.Option(help="Train on gaps of the loss, or of smooth rates.")
    ] = "loss",
    split: Annotated[
        str, option("RULE", "Train, validation and test: 60/20/20, time:COLUMN:D1,D2 or by:ID; 80/20: train and test.")
    ] = "60/20/20",
    drop: words.Drop = None,
    allow: words.Allow = None,
    text: words.AsText = None,
    numbers: words.AsNumbers = None,
    dates: words.AsDates = None,
    weight: words.Weight = None,
    control: Annotated[
        Texts, option("COLUMN", "Compare groups within the levels of this column; may be repeated.")
    ] = None,
    signs: Annotated[
        Texts,
        option(
            "COLUMN=+",
            "More of this number is never worse (+), or never better (-), for a person; may be repeated.",
            "--monotone",
        ),
    ] = None,
    strata: Annotated[
        Literal["pooled", "each"], typer.Option(help="With --control: gaps pooled over levels, or of each level.")
    ] = "pooled",
    compare: Annotated[
        Literal["pairs", "overall"], typer.Option(help="Compare pairs of groups, or each group with everyone.")
    ] = "pairs",
    person: Annotated[
        Text, option("COLUMN", "Who a row is of: rows of one person stay in one part of the split.")
    ] = None,
    use_sensitive: Annotated[
        bool, typer.Option("--use-sensitive", help="Use the group columns as features; every output says so.")
    ] = False,
    cross: words.Cross = False,
    reference: words.Reference = None,
    min_size: Annotated[int, option("N", "Groups with fewer rows to compare are excluded from the gaps.", min=1)] = 30,
    n_points: Annotated[
        int | None, option("N", "Number of models on the frontier (default: adaptive).", "--points", min=2)
    ] = None,
    max_fits: Annotated[int, option("N", "Weighted fits of --model boosting.", min=3)] = 12,
    units: Annotated[
        Literal["losses", "rates"],
        typer.Option(help="Lower gaps of losses, or of decisions: models in rates guess the group."),
    ] = "losses",
    cutoff: Annotated[
        Number, option("NUMBER", "Cut-off on the probability of the favourable outcome, one for all groups.")
    ] = None,
    approval_rate: Annotated[
        Number, option("NUMBER", "Share of favourable decisions; cut-offs are set on validation.")
    ] = None,
    costs: Annotated[
        Text,
        option("FP,FN", "Costs of a false positive and a false negative, such as 5,1; cut-offs minimise the cost."),
    ] = None,
    ridge: Annotated[Number, option("NUMBER", "Ridge penalty (default: 1 / sum of weights).")] = None,
    seed: words.Seed = 0,
    json_output: words.AsJson = False,
    overwrite: words.Overwrite = False,
    *,
    reading: dict[str, Any],
) -> None:
    """Trace the trade-off between error and gaps between groups.

    Models are trained on the train part, compared on validation, and reported on test when one is chosen.

    Example: fairfront trace adult.csv --target income --favourable ">50K" --groups sex,race:ref=White -o run
    """
    from ..runs import Settings
    from ..runs.pipeline import run_of
    from ..runs.run import RUN
    from ..tables import MISSING
    from .summary import options_json, print_compared, print_next, print_options

    check_new_run(output, RUN, overwrite)
    settings = Settings.of(**{**given_of(context, Settings), "missing": (*MISSING, *reading["missing"])})
    console = screen(stderr=json_output)
    told = partial(say_what_was_read, console)
    with warnings.catch_warnings():
        if not json_output:
            warnings.simplefilter("ignore", ProxyWarning)  # what is compared is told below
        run = run_of(file, settings, on_read=told)
    run.save(output, overwrite=overwrite)
    if json_output:
        typer.echo(json.dumps(options_json(run), indent=1, allow_nan=False))
        return
    print_compared(console, run)
    print_options(console, run.frontier, run.options())
    print_next(console, run, output)


def say_what_was_read(console: Console, prepared: Prepared, split: bool = True) -> None:
    kinds = prepared.schema.kinds
    numbers = [name for name in prepared.encoder.columns if kinds[name] == "number"]
    texts = [name for name in prepared.encoder.columns if kinds[name] != "number"]
    lines = [
        f"{prepared.schema.n} rows. Numeric columns: {', '.join(numbers) or 'none'}.",
        f"Categorical columns: {', '.join(texts) or 'none'}.",
    ]
    if split:
        sizes = ", ".join(f"{part} {n}" for part, n in prepared.sizes.items())
        lines.append(f"{prepared.split_words} {sizes} rows.")
    said = {kind: [each.sentence for each in prepared.findings if each.kind == kind] for kind in KINDS}
    lines += [" ".join(said[kind]) for kind in KINDS[:-1] if said[kind]]
    if prepared.people.unlabelled:
        lines.append(f"Rows without {prepared.settings.target!r} were left out: {prepared.people.unlabelled}.")
    tell(console, *lines)
    say(console, *said["flagged"])  # with options to copy
