"""What the paper leaves open about its experiments, and how far each combination ends from the figures it prints.

Section 5 says "linear SVM" and refers to equation (4). It does not say which loss of a linear SVM, which phi of section
2.2, or whether gradients are normalised, as the text below equation (5) says, or not, as Algorithm 1 shows.

Of the eight combinations six differ. The gradient of phi(z) is phi'(z) times that of z, so that at unit length it is the
same for |z| and z^2 / 2 wherever z is not 0: once gradients are normalised, Algorithm 1 takes the same steps with either.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

LOSSES = {"hinge": "hinge", "squared_hinge": "squared hinge"}
GAPS = {"absolute": "absolute gap", "squared": "squared gap", "either": "either gap"}
READINGS = {"raw": "raw gradients", "normalised": "normalised gradients"}


@dataclass(frozen=True)
class Choice:
    """One combination of the three open choices; ``gap`` is "either" where it does not matter."""

    loss: str
    gap: str
    gradients: str

    @property
    def method(self) -> str:
        """Return the name of the printed PDO with this gap and this reading."""
        return f"PDO as printed, {GAPS[self.gap]}, {READINGS[self.gradients]}"

    @property
    def words(self) -> str:
        """Name the combination in words."""
        return ", ".join((LOSSES[self.loss], GAPS[self.gap], READINGS[self.gradients]))


KINDS = (("absolute", "raw"), ("squared", "raw"), ("either", "normalised"))
CHOICES = tuple(Choice(loss, *kind) for loss, kind in product(LOSSES, KINDS))
NEAREST = Choice("squared_hinge", "absolute", "raw")
WORST = Choice("hinge", "absolute", "raw")
"""The combinations with the smallest and the largest `distance` of the results in choices.json."""

NORMAL, FERM, GRID, PDO = "Normal", "FERM (linear)", "Minimax reduction: GridSearch", "PDO"
PRINTED: dict[tuple[str, str], dict[str, tuple[float, float, str]]] = {
    ("adult", "sex"): {
        NORMAL: (0.8123, 0.2615, ".8123 / .2615"),
        FERM: (0.7937, 0.0173, ".7937 / .0173"),
        GRID: (0.7748, 0.0335, ".7748 ± .0002 / .0335 ± .0169"),
        PDO: (0.7969, 0.0019, ".7969 ± .0003 / .0019 ± .0025"),
    },
    ("compas", "sex"): {
        NORMAL: (0.6037, 0.2643, ".6037 ± .0058 / .2643 ± .0269"),
        FERM: (0.5126, 0.0934, ".5126 ± .0489 / .0934 ± .0724"),
        GRID: (0.5805, 0.0378, ".5805 ± .0047 / .0378 ± .0230"),
        PDO: (0.5871, 0.0354, ".5871 ± .0216 / .0354 ± .0293"),
    },
    ("compas", "race"): {
        NORMAL: (0.6037, 0.2643, ".6037 ± .0058 / .2643 ± .0269"),
        FERM: (0.5862, 0.0877, ".5862 ± .0186 / .0877 ± .0645"),
        GRID: (0.5833, 0.0264, ".5833 ± .0087 / .0264 ± .0212"),
        PDO: (0.6029, 0.0078, ".6029 ± .0117 / .0078 ± .0092"),
    },
}
"""Table 1 of the paper: accuracy, DEO, and both as printed."""
DISTANCE = (
    "The distance of a combination is the mean, over the 24 figures of the paper's Table 1 (four methods, three data sets, "
    "accuracy and DEO), of the absolute difference between the printed figure and the mean over splits here, DEO by its "
    "size. Both are shares of people, so that the 24 differences have one unit. It was written down before the runs; the "
    "combination is one for all data sets."
)


def method_of(choice: Choice, row: str) -> str:
    """Return the method of a printed row under a combination."""
    return choice.method if row == PDO else row


def cells(trials: list[dict[str, Any]], method: str) -> tuple[float, float]:
    """Return a method's mean accuracy and mean |DEO| over trials."""
    made = [trial["methods"][method] for trial in trials]
    return float(np.mean([m["chosen"][0][-1] for m in made])), float(np.mean(np.abs([m["deo"] for m in made])))


def differences(choice: Choice, trials: dict[tuple[str, str], list[dict[str, Any]]]) -> np.ndarray:
    """Return here minus printed of all cells, (data sets, rows, 2), from the trials of the choice's loss."""
    return np.array(
        [
            [np.subtract(cells(trials[setting], method_of(choice, row)), says[:2]) for row, says in rows.items()]
            for setting, rows in PRINTED.items()
        ]
    )


def distance(choice: Choice, trials: dict[tuple[str, str], list[dict[str, Any]]]) -> float:
    """Return the mean absolute difference from the paper over all printed cells."""
    return float(np.abs(differences(choice, trials)).mean())
