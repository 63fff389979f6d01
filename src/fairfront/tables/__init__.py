"""Tables: from a file or data frame to a matrix of numbers, with every doubt about the data said in a sentence."""

from .encoding import TableEncoder
from .reading import Chunk, Column, ColumnSchema, Schema, Source, Table, infer, load, open_source
from .screening import Finding, screen
from .splitting import Split, parse_split
from .targets import Target, read_groups, read_target
from .typing import coerce

__all__ = [
    "Chunk",
    "Column",
    "ColumnSchema",
    "Finding",
    "Schema",
    "Source",
    "Split",
    "Table",
    "TableEncoder",
    "Target",
    "coerce",
    "infer",
    "load",
    "open_source",
    "parse_split",
    "read_groups",
    "read_target",
    "screen",
]
