"""Networks: traced, trained with weighted sums, their last layer alone, and linear models; all with as many models."""

from __future__ import annotations

RUNS, QUICK_RUNS = 12, 3
EPOCHS, QUICK_EPOCHS = 10, 2
RATE, SLOWER = 5e-3, 0.4
"""Learning rate, and what it is multiplied with in the second half of training."""
REFERENCE = "traced"
CASES = (
    ("networks_adult", "adult", (0.10, 0.05, 0.02)),
    ("networks_oulad", "oulad_outcomes", (0.05, 0.03, 0.01)),
)
