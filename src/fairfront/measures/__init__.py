"""Any model in people's units: rates per group on decisions, their gaps, how sure they are, and who changes sides.

The files, from the ground up:

- sums, contrasts, overall, rates, values, changes, calibration: figures of many models at once, as matrix products
- intervals, ratios, significance, logistic: how sure figures are; pairs: whom a worst figure is between
- part_sums, score_bins, table: the record of a frontier's evaluation, and what each part of the rows adds to it
- gathering: columns of Dask collections that are narrow enough to be brought here
- operating, judged: what a person gives to an audit, read once; cut-offs of many models
- skill: models that decide nearly everyone alike, or no better than without looking
- figures, lines, tallies, scored: what is counted, for which groups, and the figures of scores
- group_table, score_table, value_table, worst, tabulating, strata: the audit's tables
- suppression, showing, html, words, requirements, audit: what people see of them
"""

from .audit import Audit, audit
from .calibration import Calibration, Platt, calibration_table, fit_platt
from .changes import Flips, Moves, flips
from .contrasts import PerGroup, gaps, selection_ratio, worst_gap
from .intervals import (
    effective_sizes,
    error_interval,
    katz,
    newcombe,
    paired_difference,
    rate_gap_intervals,
    wilson,
    worst_gap_floor,
    worst_gap_upper,
)
from .overall import auc, error_rate, mean_squared_error
from .rates import ClassRates, GroupRates, class_rates, group_rates
from .ratios import selection_ratio_lower
from .significance import bootstrap_gap, selection_test, smallest_detectable_gap, smallest_verifiable_gap
from .table import Evaluation, evaluate_scores
from .values import GroupMeans, group_means

__all__ = [
    "Audit",
    "Calibration",
    "ClassRates",
    "Evaluation",
    "Flips",
    "GroupMeans",
    "GroupRates",
    "Moves",
    "PerGroup",
    "Platt",
    "auc",
    "audit",
    "bootstrap_gap",
    "calibration_table",
    "class_rates",
    "effective_sizes",
    "error_interval",
    "error_rate",
    "evaluate_scores",
    "fit_platt",
    "flips",
    "gaps",
    "group_means",
    "group_rates",
    "katz",
    "mean_squared_error",
    "newcombe",
    "paired_difference",
    "rate_gap_intervals",
    "selection_ratio",
    "selection_ratio_lower",
    "selection_test",
    "smallest_detectable_gap",
    "smallest_verifiable_gap",
    "wilson",
    "worst_gap",
    "worst_gap_floor",
    "worst_gap_upper",
]
