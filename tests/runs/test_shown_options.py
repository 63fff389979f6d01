"""The decision record lists the options that the commands listed, and the chosen point beside them."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

import fairfront as ff
from fairfront.cli import app
from fairfront.cli.screen import print_table, table_of, tell
from fairfront.runs import Run
from fairfront.runs.card_exports import page_of
from fairfront.runs.options import pair_sentences

N = 24


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = ff.datasets.load_loans(n=3000, seed=2)
    options: dict[str, Any] = {"target": "outcome", "favourable": "repaid", "groups": "sex"}
    run = ff.trace_table(data.frame(), drop=["applied", "group"], n_points=N, progress=False, **options)
    path: Path = run.save(tmp_path_factory.mktemp("shown") / "run")
    return path


def listed(folder: Path) -> list[int]:
    """Return the ids that ``fairfront show`` lists."""
    done = CliRunner().invoke(app, ["show", str(folder), "--json"])
    assert done.exit_code == 0, done.output
    return [option["id"] for option in json.loads(done.stdout)["options"]]


def test_rates_of_several_points_fit_a_narrow_screen(folder: Path) -> None:
    run: Run = ff.load(folder)
    ids = run.frontier.ids.tolist()[:4]
    words = ["show", str(folder), *(word for id in ids for word in ("--id", str(id)))]
    done = CliRunner().invoke(app, words, env={"COLUMNS": "80"})
    assert done.exit_code == 0, done.output
    shown = done.stdout.partition("Rates per group of sex")[2]
    assert "\u2026" not in shown
    rates = run.frontier.record().groups["sex"]
    for id in ids:
        place = run.frontier.place(id)
        for rate in ("selection", "tpr", "fpr", "error"):
            assert all(f"{value:.3f}" in shown for value in rates.rate(rate)[place])


def test_the_group_below_is_named(folder: Path) -> None:
    front = ff.load(folder).frontier
    pair = front.worst_pair("tpr_gap", 0)
    assert pair is not None
    assert pair.gap == pytest.approx(front.column("tpr_gap")[0])
    assert pair_sentences(front, [0])[0].endswith(f"; {pair.groups[0]} has the lower rate.")


def test_the_record_of_every_choice_lists_what_was_listed(folder: Path) -> None:
    run: Run = ff.load(folder)
    known = listed(folder)
    assert list(run.listed) == known == [option.id for option in run.options()]
    for id in run.frontier.ids.tolist():
        record = run.select(id=id).decision
        assert record is not None
        assert [c["id"] for c in record["candidates"] if c["shown"]] == known
        assert [c["id"] for c in record["candidates"] if not c["shown"]] == ([] if id in known else [id])


def test_the_card_says_that_the_chosen_point_was_not_listed(folder: Path) -> None:
    run: Run = ff.load(folder)
    other = next(id for id in run.frontier.ids.tolist() if id not in run.listed)
    card = run.select(id=other).card
    assert f"{len(run.listed)} of {len(run.frontier)} models were listed when the run was traced, before " in card
    assert f"Id {other}, which was chosen, was not among them and is added here." in card
    assert "is added here" not in run.select(id=run.listed[0]).card


def printed(width: int, *, terminal: bool) -> str:
    """Return what a console of some width shows of a sentence and of a table that is wider than it."""
    console = Console(width=width, file=io.StringIO(), force_terminal=terminal, color_system=None)
    tell(console, "Sentences are broken between words where a terminal ends, and nowhere else.")
    table = table_of("rates", ["group", "share approved", "error (interval)"], left=["group"])
    table.add_row("a group (reference)", "0.765", "0.234 (0.205 to 0.256)")
    print_table(console, table)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_nothing_is_cut_on_a_narrow_terminal() -> None:
    shown = printed(44, terminal=True)
    assert max(map(len, shown.splitlines())) <= 44
    assert "where a\nterminal ends" in shown.replace(" \n", "\n")
    for whole in ("a group (reference)", "0.765", "0.234 (0.205 to 0.256)"):
        assert whole in shown
    assert shown.count("a group (reference)") == 2  # the columns below stand beside it too
    assert "words where a terminal ends, and nowhere else." in printed(44, terminal=False)
    assert printed(100, terminal=True).count("a group (reference)") == 1


def test_control_characters_of_names_are_written_out() -> None:
    console = Console(width=100, file=io.StringIO(), force_terminal=True, color_system=None)
    tell(console, "Groups of a: \x1b[31mred\nnext.")
    table = table_of("rates", ["group", "error"], left=["group"])
    table.add_row("\x1b]0;title\x07", "0.1")
    print_table(console, table)
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert r"\x1b[31mred\nnext." in shown


def test_ranges_and_intervals_are_whole_in_a_page(folder: Path) -> None:
    page = page_of(ff.load(folder).select(id=0).facts)
    assert re.search(r"<td>\d\.\d{3} <span>\(\d\.\d{3} to \d\.\d{3}\)</span></td>", page)
