"""From a table to a decision: runs, chosen models, cards and evidence that can be made again."""

from .loading import load
from .model import TableModel
from .predicting import predict_file
from .run import Run
from .settings import Settings, parse_groups
from .tracing_tables import trace_table
from .verifying import verify_model, verify_run

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
