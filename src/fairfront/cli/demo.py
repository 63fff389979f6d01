"""``fairfront demo``: the main job on embedded data, from rows to a chosen model."""

from __future__ import annotations

from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.console import Console

from ..exceptions import MissingExtraError
from . import words
from .screen import say, screen, table_of, tell
from .words import option, path_option

if TYPE_CHECKING:
    from ..datasets import Dataset
    from ..frontier import Frontier

PAGE, PICTURE = "report.html", "frontier.png"
SOFTWARE = "fairfront"
HANDFUL = 10
GAP = "tpr_gap"


def demo(
    output: Annotated[Path, path_option("Folder to write the picture and the page to.", "--output", "-o")] = Path(
        "demo-output"
    ),
    rows: Annotated[int, option("N", "Number of synthetic loan applications.", min=600, max=10_000_000)] = 6000,
    seed: Annotated[int, option("N", "Seed of the data and of the split.", min=0, max=2**32 - 1)] = 0,
    overwrite: words.Overwrite = False,
) -> None:
    """Run the whole workflow on embedded data, to a chosen model.

    The frontier of loan decisions is traced, shown in the terminal, drawn, and written as a page.

    Example: fairfront demo --rows 20000 --output pictures
    """
    from ..datasets import load_loans
    from ..explorer.page import is_page
    from ..frontier import LinearModels
    from ..runs.options import TOLERANCE, options_of
    from ..storage.folders import write_folder
    from ..storage.inventory import Inventory
    from ..storage.places import check_new_folder
    from ..tracing import trace
    from .summary import print_options

    console = screen()
    shown = Inventory("folder of the demo", files={PAGE: is_page, PICTURE: _is_picture})
    check_new_folder(output, shown, overwrite)
    data = load_loans(n=rows, seed=seed)
    train, validation, test = _split(data, seed)
    X, names = data.matrix("one_hot", fit_on=train)
    y, groups = data.y, data.sensitive_features()
    tell(console, f"Synthetic loans: {rows} applications. Random split: 60 % train, 20 % validation, 20 % test.")

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
        say(console, f"Groups of {name}: {', '.join(levels)} (reference: {levels[-1]}).")
    tell(console, *front.sentences, f"The sensitive attribute is used for {front.facts.used_for}.")
    chosen = front.choose(least=GAP, within={"error": TOLERANCE})
    print_options(console, front, options_of(front, front.ids[front.solved].tolist()))
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
        )

    write_folder(output, fill, shown, overwrite=overwrite)
    say(
        console,
        *([f"Picture: {output / PICTURE}"] if (output / PICTURE).exists() else []),
        f"Explorer: {output / PAGE} (open it in a browser and choose)",
        "Next: fairfront trace data.csv --target ... --favourable ... --groups ... -o run",
        "or, in Python: ff.trace(X, y, sensitive_features=...)",
    )


def _split(data: Dataset, seed: int) -> tuple[Any, Any, Any]:
    """Split 60 / 20 / 20, stratified by label and group."""
    import numpy as np
    from sklearn.model_selection import train_test_split

    group = np.array([str(g) for g in data.sensitive_features()[data.sensitive[0]]])
    strata = np.char.add(data.y.astype(str), group)
    _, codes, counts = np.unique(strata, return_inverse=True, return_counts=True)
    groups, sizes = np.unique(group, return_counts=True)
    few = counts[codes] < HANDFUL  # a handful of rows cannot be dealt to three parts: they go with the largest group's
    strata[few] = np.char.add(data.y[few].astype(str), groups[sizes.argmax()])
    everything = np.arange(len(data.y))
    train, rest = train_test_split(everything, test_size=0.4, random_state=seed, stratify=strata)
    validation, test = train_test_split(rest, test_size=0.5, random_state=seed, stratify=strata[rest])
    return train, validation, test


def _rows(columns: dict[str, Any], rows: Any) -> dict[str, Any]:
    return {name: values[rows] for name, values in columns.items()}


def _report(console: Console, front: Frontier, chosen: int, X: Any, y: Any, groups: Any) -> None:
    """Report the plain and the chosen model on test, which nothing was chosen on."""
    from ..frontier.selection import plain_place
    from ..measures import GroupRates

    tested = front.evaluate(X, y, sensitive_features=groups, name="test")
    plain = plain_place(front)
    rates = next(iter(tested.evaluations["test"].groups.values()))
    assert isinstance(rates, GroupRates)
    heads = ("group", "repaid on test", "unconstrained", f"chosen (id {chosen})")
    table = table_of("On test: share of those who repaid that is approved", heads, left=["group"])
    for j, level in enumerate(rates.levels):
        shown = [f"{rates.rate('tpr')[i, j]:.3f}" for i in (plain, chosen)]
        table.add_row(level, f"{rates.positives[j]:.0f}", *shown)
    console.print(table)
    error = tested.column("error", "test")
    said = f"Error on test: unconstrained {error[plain]:.3f}, chosen {error[chosen]:.3f}."
    tell(console, f"{said} Rates of small groups are uncertain: read them with their counts.")


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
