"""Supervised models that are Pareto efficient between accuracy and fairness."""

__version__ = "0.1.0"
