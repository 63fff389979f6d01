"""Tables: from a file or data frame to a matrix of numbers, with every doubt about the data said in a sentence."""

from __future__ import annotations

from .encoder import TableEncoder, coerce
from .findings import Finding, screen
from .roles import Split, parse_split, read_groups, read_target
from .schema import ColumnSchema, Schema, infer, load
from .source import Source, check_delimiter, open_source
from .statistics import TrainingRows
from .table import MISSING, Column, Table

__all__ = [
    "MISSING",
    "Column",
    "ColumnSchema",
    "Finding",
    "Schema",
    "Source",
    "Split",
    "Table",
    "TableEncoder",
    "TrainingRows",
    "check_delimiter",
    "coerce",
    "infer",
    "load",
    "open_source",
    "parse_split",
    "read_groups",
    "read_target",
    "screen",
]
