"""``fairfront trace``: from a file of rows to a run with its frontier."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console

from ..names import LOSSES, NOTIONS
from .screen import (
    Allow,
    AsDates,
    AsJson,
    AsNumbers,
    AsText,
    Cross,
    Drop,
    Groups,
    Overwrite,
    Proxies,
    Reference,
    Sign,
    TableFile,
    Weight,
    path_option,
    reads,
    say,
    screen,
    tell,
)

if TYPE_CHECKING:
    from ..runs.preparation import Prepared

KINDS = ("noted", "read", "dropped", "flagged")


@reads
def trace(
    context: typer.Context,
    file: TableFile,
    target: Annotated[str, typer.Option(metavar="COLUMN", help="Column to predict.")],
    output: Annotated[Path, path_option("Folder to write the run to.", "--output", "-o")],
    groups: Groups = None,
    group_probabilities: Proxies = None,
    favourable: Annotated[
        str | None,
        typer.Option(metavar="VALUE", help="Favourable outcome: a value of the target; not for --loss squared."),
    ] = None,
    notion: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help=f"Fairness criterion; may be repeated: {', '.join(NOTIONS)}."),
    ] = None,
    loss: Annotated[str, typer.Option(metavar="NAME", help=f"Training loss: {', '.join(LOSSES)}.")] = "logistic",
    model: Annotated[
        Literal["linear", "boosting", "stacked"],
        typer.Option(help="Linear models, boosted trees, or both stacked (with --units rates)."),
    ] = "linear",
    surrogate: Annotated[
        Literal["loss", "rate"], typer.Option(help="Train on gaps of the loss, or of smooth rates.")
    ] = "loss",
    split: Annotated[
        str,
        typer.Option(
            metavar="RULE",
            help="Train, validation and test: 60/20/20, time:COLUMN:D1,D2 or by:ID; 80/20: train and test.",
        ),
    ] = "60/20/20",
    drop: Drop = None,
    allow: Allow = None,
    text: AsText = None,
    numbers: AsNumbers = None,
    dates: AsDates = None,
    weight: Weight = None,
    exposure: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Time or amount at risk, or trials: values are modelled per unit of it."),
    ] = None,
    offset: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Numbers added to the scores of values as they are (coefficient 1)."),
    ] = None,
    control: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Compare groups within the levels of this column; may be repeated."),
    ] = None,
    signs: Annotated[
        list[str] | None,
        typer.Option(
            "--monotone",
            metavar="COLUMN=+",
            help="More of this number is never worse (+), or never better (-), for a person; may be repeated.",
        ),
    ] = None,
    strata: Annotated[
        Literal["pooled", "each"], typer.Option(help="With --control: gaps pooled over levels, or of each level.")
    ] = "pooled",
    compare: Annotated[
        Literal["pairs", "overall", "subgroups"],
        typer.Option(help="Compare pairs of groups, each with everyone, or all combinations with everyone."),
    ] = "pairs",
    person: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Who a row is of: rows of one person stay in one part of the split."),
    ] = None,
    pairs: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Rows with the same value are people whose scores should be alike."),
    ] = None,
    use_sensitive: Annotated[
        bool, typer.Option("--use-sensitive", help="Use the group columns as features; every output says so.")
    ] = False,
    cross: Cross = False,
    reference: Reference = None,
    min_size: Annotated[
        int, typer.Option(metavar="N", help="Groups with fewer rows to compare are excluded from the gaps.", min=1)
    ] = 30,
    n_points: Annotated[
        int | None,
        typer.Option("--points", metavar="N", help="Number of models on the frontier (default: adaptive).", min=2),
    ] = None,
    max_fits: Annotated[int, typer.Option(metavar="N", help="Weighted fits of --model boosting.", min=3)] = 12,
    units: Annotated[
        Literal["losses", "rates"],
        typer.Option(help="Lower gaps of losses, or of decisions: models in rates guess the group."),
    ] = "losses",
    cutoff: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER", help="Cut-off on the probability of the favourable outcome, one for all groups."
        ),
    ] = None,
    approval_rate: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", help="Share of favourable decisions; cut-offs are set on validation."),
    ] = None,
    costs: Annotated[
        str | None,
        typer.Option(
            metavar="FP,FN",
            help="Costs of a false positive and a false negative, such as 5,1; cut-offs minimise the cost.",
        ),
    ] = None,
    ridge: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER[,NUMBER]",
            help="Ridge penalty (default: 1 / sum of weights); of several, the best held-out one at every gap.",
        ),
    ] = None,
    stability: Annotated[
        int | None,
        typer.Option(metavar="N", help="Number of bootstrap refits (default: 20 unless the data are large).", min=0),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Random seed.", min=0)] = 0,
    checkpoint: Annotated[Path | None, path_option("Checkpoint file, for --resume; it holds no data.")] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Resume from the checkpoint, or start if there is none yet.")
    ] = False,
    json_output: AsJson = False,
    overwrite: Overwrite = False,
    sign: Sign = None,
    *,
    reading: dict[str, Any],
) -> None:
    """Trace the trade-off between error and gaps between groups.

    Models are trained on the train part, compared on validation, and reported on test when one is chosen.

    Example: fairfront trace adult.csv --target income --favourable ">50K" --groups sex,race:ref=White -o run
    """
    from ..runs import Settings
    from ..runs.decision_chain import check_kept
    from ..runs.manifest import key_of
    from ..runs.pipeline import run_of
    from ..runs.run import RUN
    from ..storage.places import check_new_folder
    from ..tables import MISSING
    from .summary import options_json, print_compared, print_next, print_options

    check_new_folder(output, RUN, overwrite)
    if output.exists():
        check_kept(output, 0, sign)
    key = key_of(sign)  # read before the work
    given = {name: value for name, value in context.params.items() if name in Settings.__dataclass_fields__}
    given = {name: value for name, value in given.items() if value not in (None, [], ())}
    settings = Settings.of(**{**given, "missing": (*MISSING, *reading["missing"])})
    console = screen(stderr=json_output)
    told = partial(say_what_was_read, console)
    try:
        run = run_of(file, settings, checkpoint=checkpoint, resume=resume, on_read=told)
    except KeyboardInterrupt:
        if checkpoint is None or not checkpoint.exists():
            raise
        raise KeyboardInterrupt(f"{checkpoint} has what was found: go on with the same command and --resume") from None
    run.save(output, overwrite=overwrite, sign=key)
    if json_output:
        typer.echo(json.dumps(options_json(run), indent=1, allow_nan=False))
        return
    print_compared(console, run)
    print_options(console, run.frontier, run.options())
    print_next(console, run, output)


def say_what_was_read(console: Console, prepared: Prepared, split: bool = True) -> None:
    from ..objectives import count_in_words

    kinds = prepared.schema.kinds
    numbers = [name for name in prepared.encoder.columns if kinds[name] == "number"]
    texts = [name for name in prepared.encoder.columns if kinds[name] != "number"]
    rows = str(prepared.n) if prepared.n == sum(prepared.sizes.values()) else f"About {prepared.n}"
    lines = [
        f"{rows} rows. Numeric columns: {', '.join(numbers) or 'none'}.",
        f"Categorical columns: {', '.join(texts) or 'none'}.",
    ]
    if split:
        sizes = ", ".join(f"{part} {n}" for part, n in prepared.sizes.items())
        lines.append(f"{prepared.split_words} {sizes} rows.")
    said = {kind: [each.sentence for each in prepared.findings if each.kind == kind] for kind in KINDS}
    lines += [" ".join(said[kind]) for kind in KINDS[:-1] if said[kind]]
    if prepared.unlabelled:
        told = count_in_words(prepared.unlabelled)
        lines.append(f"Rows without {prepared.settings.target!r} were left out: {told}.")
    tell(console, *lines)
    say(console, *said["flagged"])  # with options to copy
