"""Notions: a contract that every registered one joins by itself, and the words each one prints."""

from __future__ import annotations

import re

import numpy as np
import pytest

from fairfront.exceptions import InputError
from fairfront.objectives import GAPS, NOTIONS, Comparison, Notion, Quantity, Question, Task
from fairfront.objectives.comparisons import ALL
from tests.support.cases import TASKS, assemble, draw

SUPPORTED = [(name, kind) for name in NOTIONS for kind in NOTIONS[name].kinds]
UNSUPPORTED = [(name, kind) for name in NOTIONS for kind in ALL if kind not in NOTIONS[name].kinds]


def surrogates(notion: Notion, task: Task) -> list[str]:
    """Return the surrogates that a notion accepts for a task."""
    accepted = []
    for surrogate in ("loss", "rate"):
        try:
            notion.check(task, surrogate)
        except InputError:
            continue
        accepted.append(surrogate)
    return accepted


@pytest.mark.parametrize(("name", "kind"), SUPPORTED)
class TestEveryNotion:
    def test_comparisons_are_ones_the_task_can_answer(self, name: str, kind: str) -> None:
        notion, task = NOTIONS[name](), TASKS[kind]
        assert notion.name == name
        assert surrogates(notion, task) == ["rate"] if notion.no_losses else "loss" in surrogates(notion, task)
        for surrogate in surrogates(notion, task):
            found = notion.comparisons(task, surrogate)
            assert found
            assert all(isinstance(comparison, Comparison) for comparison in found)
            for comparison in found:
                assert comparison.labels is None or set(comparison.labels) <= set(task.label_codes)
                assert comparison.quantity.label in {None, *task.label_codes}
                assert comparison.quantity.kind in (
                    ("loss", "score", "prediction") if surrogate == "loss" else ("rate",)
                )

    def test_sentence_is_one_sentence(self, name: str, kind: str) -> None:
        sentence = NOTIONS[name]().sentence(TASKS[kind])
        assert re.fullmatch(r"[A-Z][^.\n]+\.", sentence)

    def test_docstring_says_what_it_is(self, name: str, kind: str) -> None:
        assert (NOTIONS[name].__doc__ or "").strip()

    @pytest.mark.parametrize("gap", tuple(GAPS))
    def test_contrasts_are_differences_of_averages(self, name: str, kind: str, gap: str) -> None:
        X, y, columns = draw(kind)
        notion = NOTIONS[name]()
        if not GAPS[gap].even and not notion.two_sided:
            pytest.skip("an uneven gap is refused for one-sided notions")
        for surrogate in surrogates(notion, TASKS[kind]):
            given = {c: columns[c] for c in ("sex", "race", "region")}
            problem = assemble(X, y, given, kind, (notion,), surrogate=surrogate, gap=gap)
            algebra, quantities = problem.algebra, problem.layout.quantities
            pairs = notion.comparisons(TASKS[kind], surrogate)[0].contrast == "pairs"
            sums = np.stack([algebra.B[:, where[where >= 0]].sum(axis=1) for _, where in quantities])
            np.testing.assert_allclose(np.abs(sums).max(axis=0), 0.0 if pairs else 1.0, atol=1e-12)
            np.testing.assert_allclose(np.abs(algebra.B).sum(axis=1), 2.0 if pairs else 1.0, atol=1e-12)
            np.testing.assert_array_equal(algebra.B[:, -1], 0.0)
            np.testing.assert_array_equal(algebra.two_sided, notion.two_sided)
            np.testing.assert_array_equal(algebra.b, notion.floor)
            own = dict(quantities)[Quantity("loss")]
            np.testing.assert_allclose(algebra.p[own[own >= 0]].sum(), 1.0)
            assert np.count_nonzero(algebra.p) == (own >= 0).sum() + 1
            assert algebra.p[-1] == 0.1


@pytest.mark.parametrize(("name", "kind"), UNSUPPORTED)
def test_unsupported_tasks_are_refused(name: str, kind: str) -> None:
    text = f"notion '{name}' compares decisions, expected class labels, found {kind}; use 'disparate"
    with pytest.raises(InputError, match=text):
        NOTIONS[name]().check(TASKS[kind], "loss")


def test_notions_of_decisions_say_which_surrogate_they_know() -> None:
    with pytest.raises(InputError, match="'mean_score_parity' is made of shares of decisions, found surrogate='loss'"):
        NOTIONS["mean_score_parity"]().check(TASKS["binary"], "loss")
    both = Question.of(notion=("positive_class_balance", "mean_score_parity"), surrogate="loss")
    assert both.surrogate == "rate"
    assert Question.of(notion=("equal_opportunity", "mean_score_parity"), surrogate="loss").surrogate == "loss"


@pytest.mark.parametrize("name", [name for name in NOTIONS if "regression" in NOTIONS[name].kinds])
def test_rates_of_regressions_are_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"'rate'.*use surrogate='loss'"):
        NOTIONS[name]().check(TASKS["regression"], "rate")


def test_group_loss_refuses_rates() -> None:
    text = r"'group_loss' bounds a loss, found surrogate='rate'; .*'disparate_mistreatment' for error rates\."
    with pytest.raises(InputError, match=text):
        NOTIONS["group_loss"]().check(TASKS["binary"], "rate")


def test_unknown_notion_names_the_nearest() -> None:
    with pytest.raises(InputError, match=r"unknown notion 'equal_oportunity', .*did you mean 'equal_opportunity'\?"):
        NOTIONS["equal_oportunity"]
    with pytest.raises(
        InputError, match=rf"unknown notion 'xyz', expected one of equal_opportunity, .*{[*NOTIONS][-1]}\.$"
    ):
        NOTIONS["xyz"]


def test_registry_refuses_a_name_twice() -> None:
    with pytest.raises(ValueError, match="notion 'group_loss' is registered already"):
        NOTIONS.add("group_loss", NOTIONS["group_loss"])
    assert "group_loss" in NOTIONS
    assert len(NOTIONS) == len(tuple(NOTIONS))


WORDS = {
    "equal_opportunity": "true positive rates: among people labelled 'repaid', the share predicted 'repaid'.",
    "predictive_equality": "false positive rates: among people not labelled 'repaid', the share predicted 'repaid'.",
    "equalized_odds": "true and false positive rates: among people of either label, the share predicted 'repaid'.",
    "disparate_mistreatment": "error rates: the share of people predicted wrongly.",
    "demographic_parity": "selection rates: the share of people predicted 'repaid'.",
    "group_loss": "mean losses, and bounds the largest.",
}


@pytest.mark.parametrize("name", list(WORDS))
def test_sentences_for_a_favourable_label(name: str) -> None:
    said = f"{name.replace('_', ' ').capitalize()} compares {WORDS[name]}"
    assert NOTIONS[name]().sentence(Task("binary", ("defaulted", "repaid"), 1)) == said


def test_favourable_may_be_the_first_class() -> None:
    """The notion follows the favourable label, the loss and the rate follow the notion."""
    task = Task("binary", ("no", "yes"), 0)
    (comparison,) = NOTIONS["equal_opportunity"]().comparisons(task, "rate")
    assert (comparison.quantity, comparison.labels, comparison.words) == (Quantity("rate", 0), (0,), "y=no")
    (comparison,) = NOTIONS["predictive_equality"]().comparisons(task, "rate")
    assert (comparison.quantity, comparison.labels, comparison.words) == (Quantity("rate", 0), (1,), "y=yes")
    (comparison,) = NOTIONS["demographic_parity"]().comparisons(task, "loss")
    assert (comparison.quantity, comparison.labels, comparison.words) == (Quantity("loss", 0), None, "as no")
    assert task.favourable_label == "no"
    assert task.targets(0) == -1.0


def test_tasks_turn_labels_into_targets() -> None:
    codes = np.array([0, 1, 1])
    np.testing.assert_array_equal(TASKS["binary"].targets(codes), [-1.0, 1.0, 1.0])
    np.testing.assert_array_equal(TASKS["multiclass"].targets(codes), codes)
    np.testing.assert_array_equal(TASKS["regression"].targets(np.array([0.5, 2.0])), [0.5, 2.0])
    assert TASKS["multiclass"].targets(2) == 2.0
    assert TASKS["regression"].favourable_label is None
    assert TASKS["regression"].label_codes == (0,)
