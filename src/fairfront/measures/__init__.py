"""Any model in people's units: rates per group on decisions, their gaps, how sure they are, and who changes sides.

The files, from the ground up:

- counts, rates: rows by model, group, label and decision, and the rates that follow
- intervals, calibration: how sure figures are, and how well probabilities fit
- score_counts, operating_points: scores counted and cut into decisions
- figures, judged, lines: the catalogue of figures and sentences, what an audit reads, and its groups
- evaluation, changes: many models on one data set, and who changes sides between them
- table_columns, scores, group_table: the tables of one model
- disclosure, published: what may be shared
- claims, audit_record, audits: what people may claim, read and require
"""

from .audit_record import Audit
from .audits import audit
from .calibration import Calibration, calibration_table, fit_platt
from .changes import Flips, Moves, flips
from .evaluation import Evaluation, evaluate_scores
from .intervals import error_interval, katz, newcombe, selection_ratio_lower, wilson, worst_gap_floor, worst_gap_upper
from .rates import (
    ClassRates,
    GroupMeans,
    GroupRates,
    PerGroup,
    class_rates,
    gaps,
    group_rates,
    selection_ratio,
    worst_gap,
)
from .score_counts import auc

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
    "auc",
    "audit",
    "calibration_table",
    "class_rates",
    "error_interval",
    "evaluate_scores",
    "fit_platt",
    "flips",
    "gaps",
    "group_rates",
    "katz",
    "newcombe",
    "selection_ratio",
    "selection_ratio_lower",
    "wilson",
    "worst_gap",
    "worst_gap_floor",
    "worst_gap_upper",
]
