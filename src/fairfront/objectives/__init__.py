"""From data to objectives: groups, cells, losses, gaps, notions and the algebra on them."""

from .algebra import Algebra
from .cells import Atoms, Cells, find_atoms
from .covariance import ScoreCovariance
from .gaps import GAPS, Gap
from .groups import Attribute, Groups, check_groups, take_groups
from .labels import Array, Task
from .layout import Layout, build
from .losses import LOSSES, Loss
from .notions import NOTIONS, Comparison, Notion, compared_rows, rates_of
from .proxies import GroupProbabilities, proxy_sentences, warn_of_names, warn_of_proxies
from .question import Objectives, Question
from .small_counts import count_in_words, counts_in_words
from .surrogates import Measure, Quantity, measure

__all__ = [
    "GAPS",
    "LOSSES",
    "NOTIONS",
    "Algebra",
    "Array",
    "Atoms",
    "Attribute",
    "Cells",
    "Comparison",
    "Gap",
    "GroupProbabilities",
    "Groups",
    "Layout",
    "Loss",
    "Measure",
    "Notion",
    "Objectives",
    "Quantity",
    "Question",
    "ScoreCovariance",
    "Task",
    "build",
    "check_groups",
    "compared_rows",
    "count_in_words",
    "counts_in_words",
    "find_atoms",
    "measure",
    "proxy_sentences",
    "rates_of",
    "take_groups",
    "warn_of_names",
    "warn_of_proxies",
]
