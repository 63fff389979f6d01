"""Any model in people's units: rates per group on decisions, their gaps, how sure they are, and who changes sides.

The files, from the ground up:

- counts, rates: rows by model, group, label and decision, the rates that follow, and who changes sides
- intervals, calibration: how sure figures are, and how well probabilities fit
- score_counts, operating_points: scores counted and cut into decisions
- figures, judged, lines: the catalogue of figures and sentences, what an audit reads, and its groups
- evaluation: many models on one data set, and what may be claimed of them
- table_columns, scores, group_table, audit_record, audits: one model
- disclosure, published: what may be shared
"""

from .audit_record import Audit
from .audits import audit
from .calibration import Calibration
from .evaluation import Evaluation, evaluate_scores
from .intervals import newcombe, wilson
from .rates import ClassRates, GroupMeans, GroupRates, PerGroup
from .score_counts import auc

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
