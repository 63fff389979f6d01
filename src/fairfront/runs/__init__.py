"""From a table to a decision: runs, chosen models, cards and evidence that can be made again."""

from .model import TableModel, predict_file
from .pipeline import trace_table
from .run import Run, load
from .settings import Settings, parse_groups
from .verification import verify_model, verify_run

__all__ = [
    "Run",
    "Settings",
    "TableModel",
    "load",
    "parse_groups",
    "predict_file",
    "trace_table",
    "verify_model",
    "verify_run",
]
