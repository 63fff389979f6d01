"""``fairfront demo``: the main job on embedded data, from rows to a chosen model."""

from __future__ import annotations

from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from ..exceptions import MissingExtraError
from .screen import checked, say, screen

if TYPE_CHECKING:
    from ..datasets import Dataset
    from ..frontier import Frontier

PAGE, PICTURE = "report.html", "frontier.png"
SOFTWARE = "fairfront"
GAP = "tpr_gap"
TOLERANCE = 0.005


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the picture and the page.", callback=checked)
    ] = Path("demo-output"),
    rows: Annotated[int, typer.Option(help="Number of synthetic loan applications.", min=600)] = 6000,
    seed: Annotated[int, typer.Option(help="Seed of the data and of the split.", min=0, max=2**32 - 1)] = 0,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the folder of an earlier demo.")] = False,
) -> None:
    """Go from embedded rows to a chosen model, and report it on test.

    The frontier of loan decisions is traced, shown in the terminal, drawn, and written as a page.

    Example: fairfront demo --rows 20000 --output pictures
    """
    from ..datasets import load_loans
    from ..explorer.page import is_page
    from ..frontier import LinearModels
    from ..frontier.judgement import operating_words
    from ..storage.folders import write_folder
    from ..storage.places import check_new_folder
    from ..storage.seals import Inventory
    from ..tracing import trace

    console = screen()
    shown = Inventory("folder of the demo", files={PAGE: is_page, PICTURE: _is_picture})
    check_new_folder(output, shown, overwrite)
    data = load_loans(n=rows, seed=seed)
    train, validation, test = _split(data, seed)
    X, names = data.matrix("one_hot", fit_on=train)
    y, groups = data.y, data.sensitive_features()
    console.print(f"[bold]Synthetic loans[/bold]: {rows} applications; 60 % train, 20 % validation, 20 % test.")

    front = trace(
        X[train],
        y[train],
        sensitive_features=_rows(groups, train),
        favourable=data.favourable,
        progress=True if console.is_terminal else "auto",
    )
    assert isinstance(front.models, LinearModels)
    front = replace(front, models=replace(front.models, feature_names=tuple(names)))  # which an array does not have
    front = front.evaluate(X[validation], y[validation], sensitive_features=_rows(groups, validation))
    for name, levels in front.facts.sensitive:
        console.print(f"Compared between groups {', '.join(levels)} of {name!r} (reference {levels[-1]}):")
    for sentence in front.facts.sentences:
        console.print(f"  {sentence}")
    console.print(f"The sensitive attribute is used for {front.facts.used_for}.")
    console.print(f"{operating_words(front.record(), front.facts)}\n")
    chosen = front.choose(least=GAP, within={"error": TOLERANCE})  # ids are places on a frontier just traced
    console.print(_table(front, chosen))
    _report(console, front, chosen, X[test], y[test], _rows(groups, test))

    def fill(folder: Path) -> None:
        _draw(console, front, chosen, folder)
        front.to_html(
            folder / PAGE,
            chosen=chosen,
            X=X[validation],
            y=y[validation],
            sensitive_features=_rows(groups, validation),
            title="Synthetic loans: the trade-off",
            small=0,  # no row describes a person, so no count is hidden
        )

    write_folder(output, fill, shown, overwrite=overwrite)
    if (output / PICTURE).exists():
        say(console, f"Picture: {output / PICTURE}")
    say(console, f"Explorer: {output / PAGE} (open it in a browser and choose)")
    console.print(
        "Next: [cyan]fairfront trace data.csv --target ... --favourable ... --groups ... -o run[/cyan] on your file, "
        "or ff.trace(X, y, sensitive_features=...) in Python."
    )


def _split(data: Dataset, seed: int) -> tuple[Any, Any, Any]:
    """Split 60 / 20 / 20, stratified by label and group."""
    import numpy as np
    from sklearn.model_selection import train_test_split

    from ..objectives.groups import FEWEST

    group = np.array([str(g) for g in data.sensitive_features()[data.sensitive[0]]])
    strata = np.char.add(data.y.astype(str), group)
    _, codes, counts = np.unique(strata, return_inverse=True, return_counts=True)
    groups, sizes = np.unique(group, return_counts=True)
    few = counts[codes] < FEWEST  # a handful of rows cannot be dealt to three parts: they go with the largest group's
    strata[few] = np.char.add(data.y[few].astype(str), groups[sizes.argmax()])
    everything = np.arange(len(data.y))
    train, rest = train_test_split(everything, test_size=0.4, random_state=seed, stratify=strata)
    validation, test = train_test_split(rest, test_size=0.5, random_state=seed, stratify=strata[rest])
    return train, validation, test


def _rows(columns: dict[str, Any], rows: Any) -> dict[str, Any]:
    return {name: values[rows] for name, values in columns.items()}


def _table(front: Frontier, chosen: int) -> Table:
    caption = (
        "loss and loss gap: training; the other figures: validation; "
        "at most: upper end of the TPR gap at 95 % confidence\n"
        f"chosen: smallest upper end of the TPR gap among models within {TOLERANCE} of the smallest error"
    )
    table = Table(title="The frontier", caption=caption, box=SIMPLE_HEAD, padding=(0, 0))
    loss = front.loss
    columns = {
        "loss": loss,
        "loss gap": front.gaps.max(axis=1),
        "error": front.column("error"),
        "approved": front.column("approval_rate"),
        "AUC": front.column("auc"),
        "TPR gap": front.column(GAP),
        "at most": front.column(GAP, confidence=0.95),
        "ratio": front.column("selection_ratio"),
    }
    for head in ("id", *columns, ""):
        table.add_column(head, justify="right" if head else "left")
    plain = int(loss.argmin())
    for i, status in enumerate(front.status):
        if status.solved or i in (chosen, plain):
            mark = "plain" if i == plain else "chosen" if i == chosen else ""
            cells = [f"{values[i]:.4f}" if "loss" in head else f"{values[i]:.3f}" for head, values in columns.items()]
            table.add_row(str(i), *cells, mark, style="bold" if mark else None)
    return table


def _report(console: Console, front: Frontier, chosen: int, X: Any, y: Any, groups: Any) -> None:
    """Report the plain and the chosen model on test, which nothing was chosen on."""
    from ..frontier.selection import plain_place
    from ..measures import GroupRates

    tested = front.evaluate(X, y, sensitive_features=groups, name="test")
    plain = plain_place(front)
    rates = next(iter(tested.evaluations["test"].groups.values()))
    assert isinstance(rates, GroupRates)
    table = Table(title="On test: share of those who repaid that is approved")
    for head in ("group", "repaid on test", "plain model", f"chosen (id {chosen})"):
        table.add_column(head, justify="right")
    for j, level in enumerate(rates.levels):
        shown = [f"{rates.rate('tpr')[i, j]:.3f}" for i in (plain, chosen)]
        table.add_row(level, f"{rates.positives[j]:.0f}", *shown)
    console.print(table)
    error = tested.column("error", "test")
    console.print(
        f"Error on test: plain {error[plain]:.3f}, chosen {error[chosen]:.3f}. "
        "Small groups give uncertain rates: read the counts next to them.\n"
    )


def _draw(console: Console, front: Frontier, chosen: int, folder: Path) -> None:
    from ..storage.folders import write_file

    try:
        from ..plots import plot_overview

        figure = plot_overview(front, gap=GAP, chosen=chosen)
    except MissingExtraError as error:
        say(console, f"No picture: {error}")
        return
    drawn = BytesIO()
    figure.savefig(drawn, dpi=130, format="png", metadata={"Software": SOFTWARE})
    write_file(folder / PICTURE, drawn.getvalue())


def _is_picture(data: bytes) -> bool:
    return data.startswith(b"\x89PNG") and f"Software\0{SOFTWARE}".encode() in data
