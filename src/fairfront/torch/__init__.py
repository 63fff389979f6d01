"""Frontiers of PyTorch modules (extra ``torch``)."""

from .bridging import WeightingRule, pdo_weighting, pdo_weights
from .estimators import TorchFairClassifier
from .fitting import FitResult, fit
from .heads import trace_head
from .labels import of_label
from .layouts import TorchObjectives, objectives
from .points import TorchPoints, load
from .problem import TorchProblem
from .rules import DescentRule, PlainRule, SlideRule, SumRule
from .sampling import CellSampler
from .stepping import FairStep, StepRecord
from .tracing import trace
from .training import Training

__all__ = [
    "CellSampler",
    "DescentRule",
    "FairStep",
    "FitResult",
    "PlainRule",
    "SlideRule",
    "StepRecord",
    "SumRule",
    "TorchFairClassifier",
    "TorchObjectives",
    "TorchPoints",
    "TorchProblem",
    "Training",
    "WeightingRule",
    "fit",
    "load",
    "objectives",
    "of_label",
    "pdo_weighting",
    "pdo_weights",
    "trace",
    "trace_head",
]
