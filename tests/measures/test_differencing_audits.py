"""Differencing of audits: full precision, levels of control features, weights and messages tell no small count."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairfront as ff
from fairfront.measures.disclosure import LIMIT, publish_levels
from fairfront.measures.published import published
from tests.support.adversary import small
from tests.support.cli import fairfront
from tests.support.trial import strays, write_csv


def scored(seed: int, few: int = 6, n: int = 900) -> dict[str, Any]:
    """Draw labels and scores of two decimals of a large group and another, of which few have the favourable label."""
    rng = np.random.default_rng(seed)
    group = np.where(np.arange(n) < 700, "A", "B")
    y = (rng.random(n) < 0.5).astype(int)
    y[group == "B"] = np.arange(n - 700) < few
    return {"group": group, "y": y, "p": np.round(np.clip(0.3 * y + rng.random(n) * 0.7, 0.01, 0.99), 2), "rng": rng}


def fits(value: float, sizes: Any, tolerance: float = 1e-7) -> list[Any]:
    """Return the numbers that a share can have been divided by: those that make it a whole number."""
    return [size for size in sizes if abs(value * size - round(value * size)) < tolerance]


@pytest.mark.parametrize("few", [4, 5, 6])
def test_ranking_in_full_precision_tells_published_counts_only(few: int) -> None:
    """Twice the AUC times the pairs of people is a whole number, which gives the pairs away if it is exact."""
    rows = scored(few, few)
    known = {"sensitive_features": {"g": rows["group"]}, "n_resamples": 20}
    found = ff.audit(rows["y"], rows["p"], **known)
    exact, shown = (found.to_dict(small=each)["tables"]["g"] for each in (0, LIMIT))
    line = exact["group"].index("A")
    near = [(up, 700 - up) for up in range(exact["positives"][line] - 3, exact["positives"][line] + 4)]
    pairs = {2 * up * down: up for up, down in near}
    assert pairs[fits(exact["auc"][line], pairs)[0]] == exact["positives"][line]  # the reader can do it
    line = shown["group"].index("A")
    told = [pairs[size] for size in fits(shown["auc"][line], pairs)]
    assert shown["positives"][line] in told
    assert shown["positives"][line] != exact["positives"][line] or few == 5
    for figure in ("auc", "gini", "ks"):
        assert shown[figure][line] == pytest.approx(exact[figure][exact["group"].index("A")], abs=1e-4)


def test_means_in_full_precision_tell_published_counts_only() -> None:
    """The mean of scores of two decimals, times 100 and the rows, is a whole number: strays are what the rows leave."""
    rows = scored(0, 60)
    group = rows["group"].astype(object)
    group[:3] = None
    found = ff.audit(rows["y"], rows["p"], sensitive_features={"g": group}, n_resamples=20)
    exact, shown = (found.to_dict(small=each)["tables"]["g"] for each in (0, LIMIT))
    sizes = [100 * n for n in range(690, 705)]
    assert fits(exact["mean_score"][0] if exact["group"][0] == "A" else exact["mean_score"][1], sizes) == [69_700]
    line = shown["group"].index("A")
    assert fits(shown["mean_score"][line], sizes) != [69_700]
    assert shown["in_the_large"][line] + shown["mean_score"][line] == pytest.approx(
        shown["positives"][line] / shown["n"][line]
    )
    values = ff.audit(
        np.rint(100 * rows["p"]),
        50.0 + rows["rng"].normal(size=900),
        sensitive_features={"g": group},
        task="regression",
    )
    exact, shown = (values.to_dict(small=each)["tables"]["g"] for each in (0, LIMIT))
    means = [[table[k][table["group"].index("A")] for k in ("prediction", "residual")] for table in (exact, shown)]
    assert fits(sum(means[0]), range(690, 705)) == [697]
    assert fits(sum(means[1]), range(690, 705)) != [697]


def test_weights_in_full_precision_tell_published_counts_only() -> None:
    rows = scored(1, 7)
    weight = np.random.default_rng(2).integers(1, 4, 900).astype(float)
    known = {"sensitive_features": {"g": rows["group"]}, "sample_weight": weight, "n_resamples": 20}
    shown = ff.audit(rows["y"], rows["p"], **known).to_dict()["tables"]["g"]
    one = weight.mean()
    for line in range(2):
        share = shown["tpr"][line] * shown["positives"][line]
        assert shown["weight"][line] / one == pytest.approx(round(shown["weight"][line] / one))
        assert 0 <= share <= shown["positives"][line]
    X = np.column_stack([rows["p"], rows["rng"].random(900)])
    front = ff.trace(X, rows["y"], sensitive_features=rows["group"], n_points=3, notion="demographic_parity")
    front = front.evaluate(X, rows["y"], sensitive_features=rows["group"], sample_weight=weight)
    rates = published(front.evaluations["validation"], front.facts.task).groups["group"]
    assert fits(rates.positives[0] / one, [1]) == fits(rates.negatives[0] / one, [1]) == [1]


def test_levels_of_control_features_add_up_whatever_is_small() -> None:
    """Seven in one level and 112 in another, of 119 in all: rounded one by one they would be known."""
    for first, second in product(range(1, 10), range(100, 115)):
        shown = publish_levels(np.array([[float(first)], [float(second)]]), np.array([float(first + second)]))
        assert shown.sum() == first + second
        assert shown[0, 0] in (0, 5, 10)
    rng = np.random.default_rng(4)
    rows = scored(3, 90)
    level = rng.choice(["x", "y", "z"], 900, p=[0.9, 0.08, 0.02])
    found = ff.audit(
        rows["y"], rows["p"], sensitive_features={"g": rows["group"]}, control_features={"l": level}, n_resamples=10
    ).to_dict()
    for name in ("n", "positives", "selected"):
        levels = [[0 if isinstance(v, str) else v for v in each["g"][name]] for each in found["strata"].values()]
        given = [not any(isinstance(each["g"][name][i], str) for each in found["strata"].values()) for i in range(3)]
        total = np.sum(levels, axis=0)
        assert not small(levels).size
        for place in range(2):
            if given[place]:
                assert total[place] == found["tables"]["g"][name][place]


def test_messages_with_the_sizes_of_all_groups_leave_none() -> None:
    y, p = np.tile([0, 1], 33), np.linspace(0.1, 0.9, 66)
    with pytest.raises(ff.InputError, match=r"b fewer than 10, a 60") as refused:
        ff.audit(y, p, sensitive_features=np.repeat(["a", "b"], [59, 7]))
    assert "59" not in str(refused.value)
    group = np.repeat(["A", "B", "C"], 40)
    label = np.tile(["low", "middle"], 60).astype(object)
    label[[*range(17), 40, 41]] = "top"
    X = np.random.default_rng(0).normal(size=(120, 2))
    with pytest.raises(ff.InputError, match="weight per group: B fewer than 10, C 0, A 15"):
        ff.trace(X, label.astype(str), sensitive_features=group, loss="softmax", favourable="low")


@pytest.mark.filterwarnings("ignore::fairfront.exceptions.GroupWarning")
def test_three_strays_leave_a_choice_and_true_reasons(tmp_path: Path) -> None:
    """A tiny third group neither makes gaps undefined nor is blamed for what it did not do."""
    file = write_csv(strays(2_000), tmp_path / "rows.csv")
    base = ("--target", "outcome", "--favourable", "passed", "--groups", "race", "--points", 4)
    said = fairfront("trace", file, *base, "-o", tmp_path / "run")
    assert "not defined" not in said
    chosen = fairfront("select", tmp_path / "run", "--least-gap", "tpr", "--within", "error=0.01", "-o", tmp_path / "m")
    assert "the smallest tpr_gap" in chosen
    assert "has no rows" not in chosen
    assert "TPR gap of id" in chosen
    shown = fairfront("show", tmp_path / "run")
    assert "Tiny" not in shown
    card = (tmp_path / "m" / "card.md").read_text()
    assert "Tiny" not in card
    refused = fairfront("select", tmp_path / "run", "--at-most", "tpr_gap=0.00001", "-o", tmp_path / "n", code=2)
    assert "no gap below about" in refused


def test_a_part_of_a_few_people_is_refused(tmp_path: Path) -> None:
    file = write_csv(strays(300), tmp_path / "rows.csv")
    base = ("--target", "outcome", "--favourable", "passed", "--groups", "sex", "--split", "90/8/2")
    assert "test part of the split has fewer than 10 rows" in fairfront(
        "trace", file, *base, "-o", tmp_path / "run", code=2
    )
    assert not (tmp_path / "run").exists()
