"""Tables: from a file or data frame to a matrix of numbers, with every doubt about the data said in a sentence."""

from __future__ import annotations

from .coercion import coerce as coerce
from .delimited import check_delimiter as check_delimiter
from .delimited import check_encoding as check_encoding
from .encoder import TableEncoder as TableEncoder
from .findings import Finding as Finding
from .findings import screen as screen
from .inference import infer as infer
from .schema import ColumnSchema as ColumnSchema
from .schema import Schema as Schema
from .schema import load as load
from .schema import read_groups as read_groups
from .source import Source as Source
from .source import open_source as open_source
from .split import Split as Split
from .split import parse_split as parse_split
from .statistics import TrainingRows as TrainingRows
from .table import MISSING as MISSING
from .table import Column as Column
from .table import Table as Table
from .target import read_target as read_target
