"""The command ``fairfront``: one file per command.

A command imports the rooms that it works with when it runs, so that help and mistakes in options are answered at once.
"""

from __future__ import annotations

from functools import partial

import typer

from .alternatives import alternatives
from .audit import audit
from .data import data_app
from .demo import demo
from .screen import interruptible, options, run_app
from .select import predict, select
from .show import evaluate, report, show, verify
from .trace import trace

PURPOSE = "Models that are Pareto efficient between accuracy and fairness."

app = typer.Typer(
    name="fairfront",
    help=PURPOSE,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # help is text: markup would turn "by:ID:" into a picture
    context_settings={"default_map": {"help": False, "data": {"help": False}}},  # typer loads pydantic to read None
)
for command in (trace, show, report, select, predict, evaluate, verify, audit, alternatives, demo):
    app.command()(interruptible(command))
app.add_typer(data_app, name="data")
app.callback(help=PURPOSE)(options)

main = partial(run_app, app)
"""Run the command; an error that fairfront foresaw is one sentence and exit code 2."""
