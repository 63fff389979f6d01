"""From a table to a decision: runs, chosen models, cards and evidence that can be made again."""

from .archive import load as load
from .model import TableModel as TableModel
from .pipeline import trace_table as trace_table
from .predictions import predict_file as predict_file
from .run import Run as Run
from .settings import Settings as Settings
from .verification import verify_model as verify_model
from .verification import verify_run as verify_run
