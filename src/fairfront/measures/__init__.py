"""Any model in people's units: rates per group on decisions, their gaps, and tables of many models."""

from .contrasts import PerGroup, gaps, selection_ratio, worst_gap
from .overall import auc, error_rate, mean_squared_error
from .rates import ClassRates, GroupRates, class_rates, group_rates
from .table import Evaluation, evaluate_scores
from .values import GroupMeans, group_means

__all__ = [
    "ClassRates",
    "Evaluation",
    "GroupMeans",
    "GroupRates",
    "PerGroup",
    "auc",
    "class_rates",
    "error_rate",
    "evaluate_scores",
    "gaps",
    "group_means",
    "group_rates",
    "mean_squared_error",
    "selection_ratio",
    "worst_gap",
]
