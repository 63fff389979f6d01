"""Mean hinges as terms: what the solver of the hinge works on, and how a linear problem becomes it.

A *term* t is one hinge on one row: a_t = label * row, with the intercept's 1 in it, and the
shortfall v_t = 1 - a_t.w from the margin. It has a share q_t of its *part* c(t): the rows of one
cell with one label, taken with one label. A row whose loss counts both on its own label and as if
it were favourable (demographic parity) has two terms in two parts, or one if these labels are the
same. Parts without terms are linear in the weights: mean scores, and weights with a sign.

    C_c(w) = sum_{t in c} q_t max(0, v_t) + slope_c.w                                     (1)
    L      = mixing C,  and the penalty |w|^2 / 2 as the last cell                        (2)
    loss   = p.C + w.R w / 2,   gaps z = B C - b   with p and B of the parts              (3)

A point with multipliers lambda and omega = p + B^T lambda is stationary for slopes 0 <= s_t <= 1 if

    R w + sum_c omega_c slope_c = sum_t q_t omega_c(t) s_t a_t                             (4)
    s_t = 1 where v_t > 0,  s_t = 0 where v_t < 0                                          (5)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import qr

from ..exceptions import InputError
from ..objectives import Algebra, Array, Measure
from ..objectives.losses import Hinge
from ..objectives.surrogates import Relabelled
from ..problems import LinearProblem
from ..problems.pieces import Piece
from ..problems.sparse_design import SparseDesign
from .base import TINY, Mask
from .hinge_program import Ints, cell_products

MOST_NUMBERS = 1 << 27  # numbers of all terms together (1 GB): sparse rows are made dense, and some rows have two terms
SAME = 1e-10  # share of the largest pivot below which a column depends on others


@dataclass(frozen=True, eq=False)
class HingeProblem:
    """Terms sorted by part, and the algebra of the loss and of what is bounded.

    terms (T, d), share (T,), cell (T,)    a_t, q_t and c(t)
    slope (k, d)                           slope_c of parts that are linear in the weights, else 0
    mixing (m, k)                          what each part counts in each cell L of the algebra
    algebra                                gaps first, then guards of groups and bounds of signs
    penalised (d,)                         what each squared weight counts in the last cell
    held (d,)                              1 for columns that others make up for where nothing is
                                           penalised, else 0: by a penalty their weights stay 0
    signed (r,)                            columns of weights with a sign, bound by the last r rows
    """

    terms: Array
    share: Array
    cell: Ints
    slope: Array
    mixing: Array
    algebra: Algebra
    penalised: Array
    held: Array
    signed: Ints

    @cached_property
    def p(self) -> Array:
        return self.algebra.p @ self.mixing

    @cached_property
    def B(self) -> Array:
        return self.algebra.B @ self.mixing

    @property
    def penalty(self) -> Array:
        """Return the diagonal of R."""
        return np.asarray(self.algebra.p[-1] * self.penalised + self.held)

    @cached_property
    def mobility(self) -> Array:
        """Return the norms of the terms in units of their mean: how far a step moves a row."""
        norm = np.sqrt(np.einsum("td,td->t", self.terms, self.terms))
        return np.asarray(norm / max(float(norm.mean()), TINY))

    @cached_property
    def is_compared(self) -> Mask:
        """Return the parts that are bounded by some row."""
        return np.asarray(self.B.any(axis=0))

    @cached_property
    def has_terms(self) -> Mask:
        return np.asarray(np.bincount(self.cell, minlength=len(self.slope)) > 0)

    def with_algebra(self, algebra: Algebra) -> HingeProblem:
        return replace(self, algebra=algebra)

    def shortfall(self, w: Array) -> Array:
        return np.asarray(1.0 - self.terms @ w)

    def part_sums(self, values: Array) -> Array:
        """Return the sum over each part, (k,), of one value per term."""
        return np.bincount(self.cell, weights=values, minlength=len(self.slope)).astype(np.float64)

    def parts(self, w: Array) -> Array:
        """Return C (k,) of (1)."""
        return self.part_sums(self.share * np.maximum(self.shortfall(w), 0.0)) + self.slope @ w

    def cells(self, w: Array) -> Array:
        """Return L (m,) of (2)."""
        L = self.mixing @ self.parts(w)
        L[-1] = 0.5 * self.penalised @ w**2
        return L

    def loss(self, w: Array) -> float:
        return float(self.algebra.p @ self.cells(w))

    def row_values(self, w: Array) -> Array:
        """Return z (q,) of all rows of the algebra."""
        return np.asarray(self.B @ self.parts(w) - self.algebra.b)

    def omega(self, multipliers: Array) -> Array:
        return np.asarray(self.p + multipliers @ self.B)

    def gradient(self, w: Array, multipliers: Array, slopes: Array) -> Array:
        """Return the left side of (4) minus its right side, (d,)."""
        omega = self.omega(multipliers)
        pull = (self.share * omega[self.cell] * slopes) @ self.terms
        return np.asarray(self.penalty * w + omega @ self.slope - pull)

    def unmet_slopes(self, w: Array, multipliers: Array, slopes: Array) -> float:
        """Return by how much (5) is violated: how far s_t v_t is below the hinges, as a loss."""
        v = self.shortfall(w)
        weight = self.share * np.abs(self.omega(multipliers))[self.cell]
        return float(weight @ (np.maximum(v, 0.0) - slopes * v))

    def line_sums(self, share: Array) -> Array:
        """Return the gradients (k, d) of sum_{t in c} share_t v_t."""
        return -cell_products(share, self.cell, self.terms, len(self.slope))


def hinge_problem(problem: LinearProblem) -> HingeProblem:
    """Return the terms of a framed linear problem with a hinge loss and rows in memory.

    This function is all that the solver of the hinge knows of linear problems.
    """
    if not isinstance(problem.rows, Piece):
        raise InputError(
            "loss='hinge' needs all rows in memory, found Dask collections; use "
            "loss='smoothed_hinge', or trace a sample of the rows, X.compute()."
        )
    terms = _Terms(problem.framed().piece, len(problem.algebra.p))
    for measure, places in problem.measures:
        cells = [cell for cell in range(len(places)) if places[cell] >= 0]
        for cell in cells:
            if measure.linear:
                terms.add_mean_score(int(places[cell]), cell)
            else:
                terms.add_hinges(int(places[cell]), cell, _label_of(measure))
    # cells of signed weights lie before the penalty, which is the last
    first_sign = len(problem.algebra.p) - 1 - len(problem.terms)
    for i, (column, sign) in enumerate(zip(problem.terms.places, problem.terms.signs, strict=True)):
        terms.add_weight(first_sign + i, int(column), -float(sign))
    return terms.problem(problem.algebra, problem.framed().penalised, problem.terms.places)


def _label_of(measure: Measure) -> float | None:
    """Return the label that a hinge is taken on, None for that of each row."""
    if isinstance(measure, Hinge):
        return None
    if isinstance(measure, Relabelled) and isinstance(measure.loss, Hinge):
        return measure.label
    raise InputError(
        "loss='hinge' compares losses or mean scores, found smooth rates or probabilities, which "
        "are not convex; use loss='smoothed_hinge', or surrogate='loss' with a notion that has one."
    )


@dataclass(frozen=True)
class _Part:
    """Sorted rows of a part with the label that they are taken on, or its slope in the weights."""

    rows: Ints
    label: float
    slope: Array | None = None


class _Terms:
    """Collects the parts of cells, each once."""

    def __init__(self, piece: Piece, m: int) -> None:
        self.piece, self.m = piece, m
        self.weight = np.ones(piece.n) if piece.cells.row_weight is None else piece.cells.row_weight
        self.part_list: list[_Part] = []
        self.place_of: dict[tuple[int, float, float], int] = {}
        self.mixed: list[tuple[int, int, float]] = []

    def add_hinges(self, place: int, cell: int, label: float | None) -> None:
        """Make L[place] the mean hinge of a cell, on each row's own label or on one for all."""
        for own, rows in self._rows_by_label(cell):
            taken_on = own if label is None else label
            part = self.place_of.setdefault((cell, own, taken_on), len(self.part_list))
            if part == len(self.part_list):
                self.part_list.append(_Part(rows, taken_on))
            self.mixed.append((place, part, float(self.weight[rows].sum() / self.piece.cells.weight[cell])))

    def add_mean_score(self, place: int, cell: int) -> None:
        offsets, weight = self.piece.cells.offsets, self.piece.cells.weight[cell]
        start, stop = int(offsets[cell]), int(offsets[cell + 1])
        total = self.piece.design.pull(start, stop, self.weight[None, start:stop])[0]
        self._add_slope(place, total / weight)

    def add_weight(self, place: int, column: int, factor: float) -> None:
        """Make L[place] a multiple of one weight."""
        slope = np.zeros(self.piece.d)
        slope[column] = factor
        self._add_slope(place, slope)

    def _add_slope(self, place: int, slope: Array) -> None:
        self.mixed.append((place, len(self.part_list), 1.0))
        self.part_list.append(_Part(np.zeros(0, dtype=np.intp), 1.0, slope))

    def _rows_by_label(self, cell: int) -> Iterator[tuple[float, Ints]]:
        """Yield each label with its rows of the cell that have weight, if any."""
        offsets, targets = self.piece.cells.offsets, self.piece.targets
        rows = np.arange(offsets[cell], offsets[cell + 1])
        for label in np.unique(targets[rows]):
            yield float(label), rows[(targets[rows] == label) & (self.weight[rows] > 0.0)]

    def problem(self, algebra: Algebra, penalised: Array, signed: Ints) -> HingeProblem:
        parts, d = self.part_list, self.piece.d
        counts = [len(part.rows) for part in parts]
        if sum(counts) * d > MOST_NUMBERS:
            raise InputError(
                f"loss='hinge' needs {sum(counts)} dense rows of {d} columns in memory, expected "
                f"{MOST_NUMBERS} numbers at most; use loss='smoothed_hinge', or fewer rows."
            )
        terms, share = np.empty((sum(counts), d)), np.empty(sum(counts))
        mixing, slope = np.zeros((self.m, len(parts))), np.zeros((len(parts), d))
        ends = np.cumsum([0, *counts])
        for i, part in enumerate(parts):
            inside = slice(ends[i], ends[i + 1])
            terms[inside] = part.label * _dense_rows(self.piece, part.rows)
            share[inside] = self.weight[part.rows] / max(float(self.weight[part.rows].sum()), TINY)
            slope[i] = 0.0 if part.slope is None else part.slope
        for place, i, counted in self.mixed:
            mixing[place, i] += counted
        cell = np.repeat(np.arange(len(parts)), counts)
        held = _dependent(terms) if algebra.p[-1] == 0.0 else np.zeros(d)
        return HingeProblem(terms, share, cell, slope, mixing, algebra, penalised, held, signed)


def _dependent(terms: Array) -> Array:
    """Return 1 for columns that depend on others, (d,), by a pivoted QR decomposition."""
    _, triangle, order = qr(terms, mode="economic", pivoting=True)
    pivots = np.abs(np.diag(triangle))
    held = np.ones(terms.shape[1])
    held[order[: int((pivots > SAME * pivots[0]).sum())]] = 0.0
    return held


def _dense_rows(piece: Piece, rows: Ints) -> Array:
    if isinstance(piece.design, SparseDesign):
        return np.asarray(piece.design.X[rows].toarray())
    return np.asarray(piece.design.X[rows])
