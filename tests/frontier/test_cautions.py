"""Cautions: loss gaps that are no rate gaps, groups that are all worse off, and both units on the same axes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fairfront as ff
from fairfront.frontier.cautions import notes_of, worst_errors


@pytest.fixture(scope="module")
def rows():
    data = ff.datasets.load_loans(seed=0)
    group = np.where(data.columns["group"] == "A", "A", "other")
    return data.matrix("one_hot")[0][:3000], data.y[:3000], group[:3000]


@pytest.fixture(scope="module")
def front(rows) -> ff.Frontier:
    X, y, group = (each[:2000] for each in rows)
    held = tuple(each[2000:] for each in rows)
    found = ff.trace(X, y, sensitive_features=group, favourable="repaid", n_points=6)
    return found.evaluate(held[0], held[1], sensitive_features=held[2])


def changed(front: ff.Frontier, **rates: np.ndarray) -> ff.Frontier:
    """Return the frontier with other rates per group on validation rows."""
    record = front.evaluations["validation"]
    name, found = next(iter(record.groups.items()))
    return replace(front, evaluations={"validation": replace(record, groups={name: replace(found, **rates)})})


def test_loss_gaps_that_are_no_rate_gaps_are_told(front) -> None:
    N = len(front)
    open_ = changed(front, tpr=np.tile([0.6, 0.8], (N, 1)))
    said = [each for each in open_.sentences if "disagree" in each]
    assert said == [
        "Loss gaps and rate gaps disagree on validation: where the loss gap is smallest, the TPR gap is -0.200 after "
        "-0.200; units='rates' lowers gaps of decisions (its models guess the group)."
    ]
    tpr = np.column_stack([np.linspace(0.6, 0.8, N), np.full(N, 0.8)])
    assert not any("disagree" in each for each in changed(front, tpr=tpr).sentences)
    turned = changed(front, tpr=np.column_stack([np.linspace(0.6, 0.95, N), np.full(N, 0.8)]))
    assert any("is +0.150 after -0.200" in each for each in turned.sentences)
    noise = changed(front, tpr=np.tile([0.79, 0.8], (N, 1)))
    assert not any("disagree" in each for each in noise.sentences)
    test_only = replace(open_, evaluations={"test": replace(open_.evaluations["validation"], name="test")})
    assert notes_of(test_only) == test_only.facts.sentences[1:]  # nobody peeks


def test_levelling_down_is_told_wherever_it_is_true(front) -> None:
    N = len(front)
    plain = int(np.argmin(front.loss))
    better = np.column_stack([np.linspace(0.2, 0.3, N), np.linspace(0.3, 0.2, N)])
    assert not any("Levelling" in each for each in changed(front, error=better).sentences)
    worse = np.full((N, 2), 0.3)
    worse[plain] = 0.2
    said = changed(front, error=worse)
    assert any(f"with {N - 1} of {N} models" in each and "every group of" in each for each in said.sentences)
    np.testing.assert_allclose(said.table()["validation.worst_group_error"], worse.max(axis=1))
    record = front.evaluations["validation"]
    assert (worst_errors(record) >= record["error"]).all()


def test_a_point_has_notes_of_its_own(front) -> None:
    N = len(front)
    error = np.tile([0.2, 0.1], (N, 1))
    plain = int(np.argmin(front.loss))
    worse = (plain + 1) % N
    error[worse] = [0.3, 0.2]
    levelled = changed(front, error=error)
    own, other = (notes_of(levelled, place) for place in (worse, plain))
    assert any(f"with id {front.ids[worse]} every group" in each for each in own)
    assert not any("Levelling down" in each for each in other)
