"""Frontiers of PyTorch modules (extra ``torch``)."""

from .epochs import CellSampler
from .module_fit import FitResult, Training, fit
from .module_head import trace_head
from .module_objectives import TorchObjectives, objectives
from .module_points import TorchPoints, load
from .module_trace import trace
from .problem import TorchProblem
from .rules import DescentRule, PlainRule, SlideRule, SumRule, WeightingRule, pdo_weighting, pdo_weights
from .step import FairStep, StepRecord

__all__ = [
    "CellSampler",
    "DescentRule",
    "FairStep",
    "FitResult",
    "PlainRule",
    "SlideRule",
    "StepRecord",
    "SumRule",
    "TorchObjectives",
    "TorchPoints",
    "TorchProblem",
    "Training",
    "WeightingRule",
    "fit",
    "load",
    "objectives",
    "pdo_weighting",
    "pdo_weights",
    "trace",
    "trace_head",
]
