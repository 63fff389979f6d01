"""Any model in people's units: rates per group on decisions, their gaps, how sure they are, and who changes sides.

The files, from the ground up:

- figures: the catalogue of figures, and what is said of them
- counts, rates: rows by model, group, label and decision, areas under the ROC curve, and the rates that follow
- intervals, calibration: how sure figures are, and how well probabilities fit
- cutoffs: scores cut into decisions
- evaluation: many models on one data set
- moves, paired, ranking: who changes sides between two models, and by how much figures differ
- judged, lines, scores, table_columns, group_table, audit_record, audits: one model
- claims: the worst pair, models that beat nobody, and requirements
- report: counts and rates of few people as text, for card and page
"""

from .audit_record import Audit as Audit
from .audits import audit as audit
from .calibration import Calibration as Calibration
from .counts import auc as auc
from .decisions import evaluate_scores as evaluate_scores
from .evaluation import Evaluation as Evaluation
from .proportions import newcombe as newcombe
from .proportions import wilson as wilson
from .rates import ClassRates as ClassRates
from .rates import GroupMeans as GroupMeans
from .rates import GroupRates as GroupRates
from .rates import PerGroup as PerGroup
