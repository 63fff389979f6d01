"""The algebra: merging, names, objectives and Jacobians, and the error for groups without rows."""

from __future__ import annotations

import numpy as np
import pytest

from fairfront.exceptions import InputError
from fairfront.objectives import GAPS, Groups, Question
from fairfront.objectives.gaps import Identity
from fairfront.objectives.layout import build
from fairfront.objectives.notions import DisparateMistreatment, EqualOpportunity, GroupLoss
from tests.support.cases import TASKS, Case, assemble, case_of, central, draw

Comparison = tuple[str, int | None, np.ndarray]


def by_hand(case: Case, notion: str) -> list[Comparison]:
    """Return (quantity, label, rows) of what a notion compares, written out from its definition."""
    y, everyone = case.y, np.ones(len(case.y), dtype=bool)
    codes = TASKS[case.kind].label_codes
    rate = case.surrogate == "rate"
    kind = "rate" if rate else "loss"
    own: list[Comparison] = [(kind, c if rate else None, y == c) for c in codes]
    others: Comparison = (kind, 1 if rate else None, y != 1)
    binary = case.kind == "binary"
    parity = [(kind, c, everyone) for c in ((1,) if binary else codes)]
    return {
        "equal_opportunity": own[1:] if binary else own,
        "equalized_odds": [own[1], others] if binary else own,
        "predictive_equality": [others],
        "disparate_mistreatment": [(kind, None, everyone)],
        "demographic_parity": [("score", None, everyone)] if case.kind == "regression" else parity,
        "group_loss": [("loss", None, everyone)],
    }[notion]


def memberships(case: Case) -> list[np.ndarray]:
    """Return weights (n, groups) of each attribute, groups in order of name, the largest moved to the end."""
    if case.member is not None:
        tables = [case.member]
    else:
        named = [(v, sorted(set(v) - {None})) for v in case.columns.values()]
        tables = [np.array([[x == level for level in levels] for x in v], dtype=float) for v, levels in named]
    ordered = []
    for table in tables:
        largest = int(table.sum(axis=0).argmax())
        order = [j for j in range(table.shape[1]) if j != largest] + [largest]
        ordered.append(table[:, order] * case.weight[:, None])
    return ordered


def expected_gaps(case: Case, W: np.ndarray) -> list[float]:
    z: list[float] = []
    for notion in case.notions:
        for member in memberships(case):
            for quantity, label, rows in by_hand(case, notion):
                table = member * rows[:, None]
                means = case.sample(quantity, label, W) @ table / table.sum(axis=0)
                pairs = [means[i] - means[j] for i in range(len(means)) for j in range(i + 1, len(means))]
                z += list(means) if notion == "group_loss" else pairs
    return z


class TestEveryCase:
    def test_gaps_are_differences_of_plain_means(self, case: Case) -> None:
        W = case.weights(2)
        found = case.problem.algebra.gaps(case.problem.values(W))
        for run in range(2):
            np.testing.assert_allclose(found[run], expected_gaps(case, W[run]), rtol=1e-10, atol=1e-12)

    def test_loss_is_the_plain_mean_with_its_ridge(self, case: Case) -> None:
        W = case.weights(1)
        plain = W[0, :, :-1] if case.problem.fit_intercept else W[0]
        mean = np.average(case.sample("loss", None, W[0]), weights=case.weight)
        found = case.problem.algebra.loss(case.problem.values(W))
        np.testing.assert_allclose(found, mean + 0.05 * (plain**2).sum(), rtol=1e-11)

    def test_jacobian_is_the_derivative_of_the_objectives(self, case: Case) -> None:
        problem, W = case.problem, case.weights(1)
        numeric = central(lambda w: problem.algebra.objectives(problem.values(w[None]))[0], W[0])
        point = problem.cells(W)
        np.testing.assert_allclose(problem.algebra.jacobian(point.L)[0] @ point.D[0], numeric, atol=1e-7)

    def test_one_worst_gap_per_notion(self, case: Case) -> None:
        algebra, L = case.problem.algebra, case.problem.values(case.weights(3))
        size = np.abs(algebra.gaps(L))
        assert algebra.notions == case.notions
        assert len(algebra.names) == algebra.m == 1 + size.shape[1]
        expected = [size[:, algebra.notion_of == i].max(axis=1) for i in range(len(case.notions))]
        np.testing.assert_allclose(algebra.worst(L), np.stack(expected, axis=1))


@pytest.mark.parametrize("gap", [*(GAPS[name]() for name in GAPS), Identity()], ids=lambda gap: gap.name)
@pytest.mark.parametrize("notion", [EqualOpportunity(), GroupLoss(floor=0.8)], ids=lambda notion: notion.name)
def test_jacobian_with_every_gap_and_a_floor(gap, notion) -> None:
    X, y, columns = draw()
    if not gap.even and not notion.two_sided:
        with pytest.raises(InputError, match="counts on one side only"):
            assemble(X, y, {"race": columns["race"]}, notions=(notion,), gap=gap)
        return
    problem = assemble(X, y, {"race": columns["race"]}, notions=(notion,), gap=gap)
    W = np.random.default_rng(1).normal(scale=0.8, size=(1, 1, 4))
    point = problem.cells(W)
    if notion.name == "group_loss":
        z = problem.algebra.gaps(point.L)
        assert z.min() < 0.0 < z.max()
    numeric = central(lambda w: problem.algebra.objectives(problem.values(w[None]))[0], W[0])
    np.testing.assert_allclose(problem.algebra.jacobian(point.L)[0] @ point.D[0], numeric, atol=1e-7)


def five(notion: str, **options) -> object:
    X, y, columns = draw()
    return assemble(X, y, {"race": columns["race"]}, notions=(notion,), **options)


def test_five_groups_need_six_cells() -> None:
    problem = five("equal_opportunity")
    assert problem.layout.cells.count == 6
    assert problem.layout.k == 7
    assert problem.algebra.m == 11
    odds = five("equalized_odds")
    assert odds.layout.k == 11
    assert odds.algebra.m == 1 + 2 * 10


def test_group_loss_has_one_row_per_group_and_one_side() -> None:
    algebra = five("group_loss").algebra
    assert algebra.names == ("loss", "a", "c", "d", "e", "b")
    assert not algebra.two_sided.any()
    np.testing.assert_allclose(algebra.B.sum(axis=1), 1.0)
    z = np.array([[-1.0, 2.0, 0.0, -3.0, 1.0]])
    np.testing.assert_array_equal(algebra.violation(z), [[0.0, 2.0, 0.0, 0.0, 1.0]])


def test_names_read_group_minus_reference() -> None:
    two = case_of("two groups").problem.algebra
    assert two.names == ("loss", "Female - Male | y=1")
    assert case_of("several notions").problem.algebra.names[2:] == (
        "demographic_parity: Female - Male | as 1",
        "group_loss: Female",
        "group_loss: Male",
    )
    several = case_of("several attributes").problem.algebra.names
    assert several[1] == "sex: Female - Male | y=1"
    assert several[-1] == "region: south - north | y=1"
    classes = assemble(*draw("multiclass")[:2], draw()[2]["sex"], "multiclass", ("predictive_equality",))
    assert classes.algebra.names[1] == "Female - Male | y!=b"


def test_reference_is_last_and_pairs_point_at_it() -> None:
    default = five("disparate_mistreatment").algebra
    assert default.names[1:5] == ("a - c", "a - d", "a - e", "a - b")
    asked = five("disparate_mistreatment", groups=Groups(reference={"race": "d"}, min_size=1)).algebra
    assert asked.names[-1] == "e - d"
    assert [name for name in asked.names[1:] if "d" in name] == ["a - d", "b - d", "c - d", "e - d"]


def test_several_classes_compare_every_class() -> None:
    X, y, columns = draw("multiclass")
    for notion in ("equal_opportunity", "equalized_odds"):
        problem = assemble(X, y, columns["sex"], "multiclass", (notion,))
        assert problem.algebra.names[1:] == tuple(f"Female - Male | y={c}" for c in "abc")


def test_paper_exponential_has_both_orders() -> None:
    algebra = five("equal_opportunity", gap="paper_exponential").algebra
    assert algebra.m == 1 + 20
    assert algebra.names[1:3] == ("a - c | y=1", "c - a | y=1")
    np.testing.assert_array_equal(algebra.B[0::2], -algebra.B[1::2])


def test_groups_without_rows_are_named_with_counts() -> None:
    y, group = np.array([0, 0, 1, 1, 0, 0]), np.array(["a", "b", "a", "a", "b", "b"])
    attributes = Groups(min_size=1).resolve({"g": group}, 6)
    text = (
        r"notion 'equal_opportunity' needs rows with y=1 in every group of 'g', found none in 'b' "
        r"\(weight per group: (a 2, b 0|b 0, a 2)\); merge groups, or "
        r"leave small ones out with "
    )
    with pytest.raises(InputError, match=text):
        build(Question((EqualOpportunity(),), ridge=0.1), TASKS["binary"], y, attributes)
    weight = (group == "a").astype(float)
    with pytest.raises(
        InputError, match=r"'disparate_mistreatment' needs rows in every group of 'g', found none in 'b'"
    ):
        build(Question((DisparateMistreatment(),), ridge=0.1), TASKS["binary"], y, attributes, weight)
