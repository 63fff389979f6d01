"""Any model in people's units: rates per group on decisions, their gaps, how sure they are, and who changes sides.

The files, from the ground up:

- figures: the catalogue of figures, and what is said of them
- counts, rates, moves: rows by model, group, label and decision, the rates that follow, and who changes sides
- disclosure: which counts may be shared
- intervals, calibration: how sure figures are, and how well probabilities fit
- operating_points, score_bins: scores cut into decisions, and counted where rows lie in parts
- evaluation, claims: many models on one data set, and what is said of them
- judged, lines, scores, table_columns, group_table, audit_record, requirements, audits: one model
"""

from .audit_record import Audit
from .audits import audit
from .calibration import Calibration
from .evaluation import Evaluation, evaluate_scores
from .intervals import newcombe, wilson
from .rates import ClassRates, GroupMeans, GroupRates, PerGroup, auc

__all__ = [
    "Audit",
    "Calibration",
    "ClassRates",
    "Evaluation",
    "GroupMeans",
    "GroupRates",
    "PerGroup",
    "auc",
    "audit",
    "evaluate_scores",
    "newcombe",
    "wilson",
]
