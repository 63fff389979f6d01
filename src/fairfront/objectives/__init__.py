"""From data to objectives: groups, cells, losses, gaps, notions and the algebra on them."""

from .cells import Atoms, Cells, Layout, build, find_atoms
from .gaps import GAPS, Algebra, Gap
from .groups import Attribute, Groups, check_groups, take_groups
from .losses import LOSSES, Array, Loss, Measure, Task, is_likelihood
from .notions import NOTIONS, Comparison, Notion, ScoreCovariance, compared_rows, rates_of
from .proxies import GroupProbabilities, proxy_sentences, warn_of_names, warn_of_proxies
from .question import Objectives, Question
from .small_counts import count_in_words, counts_in_words
from .surrogates import Quantity, measure

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
    "is_likelihood",
    "measure",
    "proxy_sentences",
    "rates_of",
    "take_groups",
    "warn_of_names",
    "warn_of_proxies",
]
