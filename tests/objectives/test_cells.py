"""Atoms and cells: partitions, merging, and cell values and gradients against plain numpy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from fairfront.exceptions import GroupWarning
from fairfront.objectives import GroupProbabilities, Groups
from fairfront.objectives.cells import find_atoms
from fairfront.problems import design, gram
from tests.support.cases import Case, assemble, central, draw

SIX = np.array(["u", "v", "w", None], dtype=object)


def rows_of(case: Case) -> np.ndarray:
    """Return the weight of each row in each cell, (cells, n)."""
    cells, copy_of = case.problem.layout.cells, case.problem.objectives.copy_of
    weight = np.ones(cells.n) if cells.row_weight is None else cells.unsorted(cells.row_weight)
    table = np.zeros((cells.count, len(case.y)))
    np.add.at(table, (cells.of_rows, np.arange(cells.n) if copy_of is None else copy_of), weight)
    return table


class TestEveryCase:
    def test_cells_share_out_all_weight(self, case: Case) -> None:
        table = rows_of(case)
        np.testing.assert_allclose(table.sum(axis=0), case.weight, atol=1e-12)
        np.testing.assert_allclose(table.sum(axis=1), case.problem.layout.cells.weight, rtol=1e-12)

    def test_values_are_plain_means(self, case: Case) -> None:
        W = case.weights(1)
        L, table = case.problem.values(W)[0], rows_of(case)
        seen = np.zeros(len(L))
        for quantity, where in case.problem.layout.quantities:
            value = case.sample(quantity.kind, quantity.label, W[0])
            for cell in np.flatnonzero(where >= 0):
                expected = table[cell] @ value / table[cell].sum()
                np.testing.assert_allclose(L[where[cell]], expected, rtol=1e-11)
                seen[where[cell]] += 1
        plain = W[0, :, :-1] if case.problem.fit_intercept else W[0]
        np.testing.assert_allclose(L[-1], 0.5 * (plain**2).sum(), rtol=1e-12)
        np.testing.assert_array_equal(seen[:-1], 1.0)

    def test_gradients_are_derivatives_of_the_values(self, case: Case) -> None:
        W = case.weights(1)
        numeric = central(lambda w: case.problem.values(w[None])[0], W[0])
        np.testing.assert_allclose(case.problem.cells(W).D[0], numeric, atol=1e-8)

    def test_inner_products(self, case: Case) -> None:
        point = case.problem.cells(case.weights(3))
        G = point.D
        np.testing.assert_allclose(point.Q, np.einsum("rkd,rld->rkl", G, G), atol=1e-12)
        np.testing.assert_array_equal(point.Q, point.Q.transpose(0, 2, 1))
        np.testing.assert_array_equal(gram(G, G), point.Q)

    def test_a_batch_is_its_runs(self, case: Case) -> None:
        W = case.weights(5)
        batch = case.problem.cells(W)
        for run in range(5):
            single = case.problem.cells(W[run : run + 1])
            for name in ("L", "D", "Q"):
                np.testing.assert_allclose(getattr(batch, name)[run], getattr(single, name)[0], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression"])
@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array, sparse.coo_matrix])
def test_chunks_and_sparsity_do_not_matter(kind, soft, layout, monkeypatch) -> None:
    X, y, columns = draw(kind, n=1500)
    X = np.where(np.abs(X) < 0.7, 0.0, X)
    given = {"race": columns["race"]}
    if soft:
        given = GroupProbabilities(np.random.default_rng(0).dirichlet(np.ones(3), len(y)), levels=list("abc"))
    options = {"kind": kind, "notions": ("disparate_mistreatment", "demographic_parity")}
    whole, parts = assemble(X, y, given, **options), assemble(layout(X), y, given, **options)
    W = np.random.default_rng(1).normal(size=(2, whole.K, whole.d))
    omega = np.random.default_rng(2).normal(size=whole.layout.k)
    expected, expected_hessian = whole.cells(W), whole.hessian(W[0], omega)
    monkeypatch.setattr(design, "ROW_BYTES", 1)
    monkeypatch.setattr(design, "SCORE_BYTES", 1)
    assert parts.piece.design.rows_per_chunk(2) == 256
    found = parts.cells(W)
    for name in ("L", "D", "Q"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(parts.hessian(W[0], omega), expected_hessian, rtol=1e-12, atol=1e-12)


def test_single_precision_features_are_taken() -> None:
    X, y, columns = draw()
    small = X.astype(np.float32)
    W = np.random.default_rng(1).normal(size=(1, 1, 4))
    one, two = (assemble(x, y, {"sex": columns["sex"]}).cells(W) for x in (small, small.astype(float)))
    assert one.L.dtype == np.float64
    np.testing.assert_array_equal(one.L, two.L)


@settings(deadline=None, max_examples=15)
@given(times=st.lists(st.integers(0, 3), min_size=40, max_size=40))
def test_weights_are_repeated_rows(times: list[int]) -> None:
    X, y, columns = draw(n=160)
    repeat = np.concatenate([times, np.ones(120, dtype=int)])
    options = {"notions": ("equalized_odds", "demographic_parity")}
    group = columns["sex"]
    weighted = assemble(X, y, {"g": group}, weight=repeat.astype(float), groups=Groups("Male", min_size=1), **options)
    longer = np.repeat(np.arange(160), repeat)
    repeated = assemble(X[longer], y[longer], {"g": group[longer]}, groups=Groups("Male", min_size=1), **options)
    W = np.random.default_rng(1).normal(size=(2, 1, 4))
    one, two = weighted.cells(W), repeated.cells(W)
    for name in ("L", "D", "Q"):
        np.testing.assert_allclose(getattr(one, name), getattr(two, name), rtol=1e-12, atol=1e-12)
    algebra, other = weighted.algebra, repeated.algebra
    np.testing.assert_allclose(algebra.objectives(one.L), other.objectives(two.L), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("weights", [None, "random"])
@pytest.mark.parametrize("min_size", [1, 45])
def test_certain_probabilities_are_hard_groups(weights: str | None, min_size: int) -> None:
    """With a larger min_size some groups are left out, whose rows then belong to no group in both forms."""
    X, y, columns = draw()
    levels = list("abcde")
    shares = (columns["race"][:, None] == np.array(levels, dtype=object)).astype(float)
    weight = None if weights is None else np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    options = {
        "notions": ("equalized_odds", "demographic_parity"),
        "weight": weight,
        "groups": Groups(min_size=min_size),
    }
    small = min_size > shares.sum(axis=0).min()
    built = []
    for form in ({"race": columns["race"]}, GroupProbabilities(shares, levels=levels)):
        if small:
            with pytest.warns(GroupWarning, match="are excluded from the gaps"):
                built.append(assemble(X, y, form, **options))
        else:
            built.append(assemble(X, y, form, **options))
    hard, soft = built
    W = np.random.default_rng(1).normal(size=(2, 1, 4))
    assert hard.algebra.names == soft.algebra.names
    np.testing.assert_allclose(hard.algebra.B, soft.algebra.B, atol=1e-12)
    for name in ("L", "D", "Q"):
        np.testing.assert_allclose(getattr(hard.cells(W), name), getattr(soft.cells(W), name), rtol=1e-11, atol=1e-12)
    omega = np.random.default_rng(2).normal(size=hard.layout.k)
    np.testing.assert_allclose(hard.hessian(W[0], omega), soft.hessian(W[0], omega), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("dead", [0, 1])
def test_cells_without_weight_do_no_harm(dead: int) -> None:
    """All rows of a label may weigh nothing where the notion does not need them."""
    X, y, columns = draw()
    notion = "equal_opportunity" if dead == 0 else "predictive_equality"
    weight = (y != dead).astype(float)
    problem = assemble(X, y, {"sex": columns["sex"]}, notions=(notion,), weight=weight)
    keep = y != dead
    alone = assemble(X[keep], y[keep], {"sex": columns["sex"][keep]}, notions=(notion,))
    W = np.random.default_rng(1).normal(size=(1, 1, 4))
    one, two = problem.cells(W).L, alone.cells(W).L
    np.testing.assert_allclose(problem.algebra.objectives(one), alone.algebra.objectives(two), rtol=1e-12)
    assert np.isfinite(problem.hessian(W[0], problem.algebra.p)).all()


@settings(deadline=None, max_examples=40)
@given(codes=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 3)), min_size=8, max_size=40))
def test_atoms_partition_the_rows(codes: list[tuple[int, int, int]]) -> None:
    table = np.array([*codes, (0, 0, 0), (0, 1, 1)])
    first, second = SIX[table[:, 1]], SIX[table[:, 2]]
    attributes = Groups(min_size=1).resolve({"one": first, "two": second}, len(table))
    weight = np.random.default_rng(0).uniform(size=len(table))
    atoms = find_atoms(table[:, 0], attributes, weight)
    distinct = {(int(c), a, b) for c, a, b in zip(table[:, 0], first, second, strict=True)}
    assert len(atoms.keys) == len(distinct)
    assert len(atoms.index) == len(table)
    np.testing.assert_allclose(atoms.weights.sum(), weight.sum())
    np.testing.assert_array_equal(atoms.keys[atoms.index, 0], table[:, 0])
    for place, (attribute, values) in enumerate(zip(attributes, (first, second), strict=True)):
        for level, name in enumerate(attribute.levels):
            inside = atoms.belongs(place, level, (0, 2))[atoms.index]
            np.testing.assert_array_equal(inside, (values == name) & np.isin(table[:, 0], (0, 2)))
