"""Worst combinations of groups on any rows: exhaustive search, upper ends by simulation, files, cards, a shell."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairfront as ff
from fairfront.explorer.payload import page_payload
from fairfront.measures.subgroup_gaps import decided_figures, subgroup_gaps
from fairfront.objectives import Groups
from tests.support.cli import fairfront
from tests.support.extras import optional

pd = optional("pandas")
RNG = np.random.default_rng(4)
N = 3000
S = RNG.integers(0, 2, size=(N, 3))
X = RNG.normal(size=(N, 3)) + 0.4 * S
Y = (X.sum(axis=1) + 0.7 * (S[:, 0] & S[:, 1]) + RNG.logistic(size=N) > 1.0).astype(int)
COLUMNS = {f"s{j}": S[:, j] for j in range(3)}
COMBINED = ff.Groups(compare="subgroups")


def by_hand(values: Any, rows: Any, weight: Any, least: int = 30) -> tuple[str, float, int]:
    """Return the combination that is farthest from everyone, how far it is, and how many there are."""
    found, whole = {}, np.average(values[rows], weights=weight[rows])
    for chosen in product((None, 0, 1), repeat=3):
        inside = rows & np.all(
            [np.ones(N, bool), *(S[:, j] == v for j, v in enumerate(chosen) if v is not None)], axis=0
        )
        if any(v is not None for v in chosen) and inside.sum() >= least:
            name = " & ".join(f"s{j}={v}" for j, v in enumerate(chosen) if v is not None)
            found[name] = float(np.average(values[inside], weights=weight[inside]) - whole)
    worst = max(found, key=lambda name: abs(found[name]))
    return worst, found[worst], len(found)


@pytest.mark.parametrize("weighted", [False, True])
def test_audits_and_evaluations_find_what_exhaustive_search_finds(weighted: bool) -> None:
    weight = RNG.uniform(0.5, 2.0, N) if weighted else np.ones(N)
    known: dict[str, Any] = {"sensitive_features": COLUMNS, "sample_weight": weight if weighted else None}
    front = ff.trace(X, Y, sensitive_features=COLUMNS, groups=COMBINED, n_points=3, progress=False)
    front = front.evaluate(X, Y, **known)
    decided = front.select(id=0).predict(X)
    audit = ff.audit(Y, decided, groups=COMBINED, **known)
    everyone = np.ones(N, dtype=bool)
    parts = {"selection": (decided, everyone), "tpr": (decided, Y == 1), "fpr": (decided, Y == 0)}
    parts["error"] = (np.abs(decided - Y), everyone)
    for each in audit.subgroups:
        name, gap, count = by_hand(*parts[each.figure], weight)
        told = each.plain(published=False)
        assert (told["combination"], told["combinations"]) == (name, count)
        assert told["value"] == pytest.approx(gap)
        assert told["upper"] > abs(gap)
        assert front.column(f"{each.figure}_subgroup_gap")[0] == pytest.approx(abs(gap))
        assert front.column(f"{each.figure}_subgroup_gap_upper")[0] == pytest.approx(told["upper"])
        assert any(f"of {name} is farthest from everyone's: {gap:+.3g}" in said for said in audit.found)
    assert len(audit.subgroups) == 4


def test_upper_ends_hold_as_often_as_they_say() -> None:
    rng, kept, draws = np.random.default_rng(0), 0, 400
    share = 0.3 + 0.1 * S[:, 0] * S[:, 1] - 0.05 * S[:, 2]
    masks = [
        np.all([np.ones(N, bool), *(S[:, j] == v for j, v in enumerate(chosen) if v is not None)], axis=0)
        for chosen in product((None, 0, 1), repeat=3)
    ]
    true = max(abs(share[mask].mean() - share.mean()) for mask in masks)
    attributes = Groups(min_size=1).resolve(COLUMNS, N)
    for _ in range(draws):
        decided = (rng.random(N) < share)[None]
        (found, *_) = subgroup_gaps(decided_figures(decided, Y == 1), Y == 1, attributes, None, 30)
        kept += bool(found.most[0] >= true)
    assert kept / draws > 0.95 - 3 * np.sqrt(0.95 * 0.05 / draws)


@pytest.mark.parametrize("shares", [True, False])
def test_upper_ends_hold_where_everyones_rate_is_less_sure_than_that_of_a_group(shares: bool) -> None:
    rng, kept, draws, n = np.random.default_rng(0), 0, 400, 1000
    for _ in range(draws):
        group = (rng.random(n) < 0.7).astype(int)
        made = group * (rng.random(n) < 0.5 if shares else rng.exponential(0.5, n))
        good, attributes = np.arange(n) % 2 == 0, Groups(min_size=1).resolve({"g": group}, n)
        values = decided_figures(made[None] > 0, good) if shares else {"prediction": (made[None], np.ones(n, bool))}
        (found, *_) = subgroup_gaps(values, good, attributes, None, 30, shares=shares)
        kept += bool(found.most[0] >= 0.7 * 0.5)
    assert kept / draws > 0.95 - 3 * np.sqrt(0.95 * 0.05 / draws)


def test_figures_that_no_combination_has_rows_for_are_left_out() -> None:
    labels = np.where(np.arange(N) < 20, 1, 0)
    audit = ff.audit(labels, RNG.integers(0, 2, N), sensitive_features=COLUMNS, groups=COMBINED)
    assert [each.figure for each in audit.subgroups] == ["selection", "fpr", "error"]
    assert audit.found


def test_choices_rest_on_upper_ends_in_files_too(tmp_path: Path) -> None:
    front = ff.trace(X, Y, sensitive_features=COLUMNS, groups=COMBINED, n_points=6, progress=False)
    front = front.evaluate(X, Y, sensitive_features=COLUMNS)
    assert front.record("held_out")["tpr_subgroup_gap"][0] > 0.0
    upper = front.column("tpr_subgroup_gap_upper", on="validation")
    cap = float(np.sort(upper)[2]) + 0.011
    chosen = front.choose(at_most={"tpr_subgroup_gap": cap}, on="validation")
    assert upper[front.place(chosen)] <= cap
    with pytest.raises(ff.InputError, match=r"no point has tpr_subgroup_gap <= 0\.001 at 95% confidence"):
        front.choose(at_most={"tpr_subgroup_gap": 0.001}, on="validation")
    surer = front.record("validation").figure("tpr_subgroup_gap", 0.99)
    assert (surer > upper).all()
    front.save(tmp_path / "front")
    kept = ff.load(tmp_path / "front").record("validation").columns
    assert (kept["tpr_subgroup_gap_upper"] >= upper - 1e-12).all()
    np.testing.assert_allclose(kept["tpr_subgroup_gap"], front.column("tpr_subgroup_gap"), atol=0.005 + 1e-12)
    assert "tpr_subgroup_gap" in json.dumps(page_payload(front, "validation", None, None, {}, 10))


def test_names_of_combinations_with_small_counts_are_not_published() -> None:
    decided = (RNG.random(N) < 0.5).astype(int)
    rare = (S.sum(axis=1) == 3) & (np.arange(N) % 60 > 0)
    decided[rare] = 0
    audit = ff.audit(Y, decided, sensitive_features=COLUMNS, groups=COMBINED)
    assert "of s0=1 & s1=1 & s2=1 is farthest" in " ".join(audit.found)
    said = " ".join(audit.published().found)
    assert "of s0=1 & s1=1 & s2=1 is farthest" not in said
    assert "of a combination with a small count, which is not named, is farthest" in said
    assert audit.to_dict()["subgroups"][0]["combination"] is None


def test_values_are_compared_too() -> None:
    value = X.sum(axis=1) + RNG.normal(size=N)
    front = ff.trace(X, value, loss="squared", notion="demographic_parity", groups=COMBINED, n_points=3, **SEEN)
    front = front.evaluate(X, value, sensitive_features=COLUMNS)
    predicted = front.select(id=0).predict(X)
    _, gap, _ = by_hand(predicted, np.ones(N, dtype=bool), np.ones(N))
    assert front.column("prediction_subgroup_gap")[0] == pytest.approx(abs(gap))


SEEN: dict[str, Any] = {"sensitive_features": COLUMNS, "progress": False}


def test_a_shell_and_a_card_tell_the_worst_combination(tmp_path: Path) -> None:
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(**COLUMNS, paid=Y)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    asked = ["trace", str(tmp_path / "rows.csv"), "--target", "paid", "--favourable", "1", "--groups", "s0,s1,s2"]
    fairfront(*asked, "--compare", "subgroups", "--points", "4", "--stability", "0", "-o", tmp_path / "run")
    fairfront("select", str(tmp_path / "run"), "--id", "1", "--by", "A. Smith", "-o", tmp_path / "model")
    card = json.loads((tmp_path / "model" / "card.json").read_text())
    worst = {each["figure"]: each for each in card["parts"]["test"]["worst"] if each["attribute"] == "combinations"}
    assert set(worst) == {f"{name}_subgroup_gap" for name in ("selection", "tpr", "fpr", "error")}
    assert all(each["between"][1] == "everyone" for each in worst.values())
    assert "combinations" in (tmp_path / "model" / "card.md").read_text()
    frame.assign(p=1 / (1 + np.exp(-X.sum(axis=1)))).to_csv(tmp_path / "scored.csv", index=False)
    audit = ["audit", str(tmp_path / "scored.csv"), "--label", "paid", "--score", "p", "--favourable", "1"]
    said = fairfront(*audit, "--groups", "s0,s1,s2", "--compare", "subgroups")
    assert "combinations of groups, the TPR of" in " ".join(said.split())
