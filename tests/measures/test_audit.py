"""The audit against fairlearn's MetricFrame, scikit-learn's metrics and plain counting."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from scipy.stats import ks_2samp
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, mean_squared_error, precision_score, roc_auc_score, zero_one_loss

import fairfront as ff
from fairfront.measures import newcombe, wilson
from tests.support.extras import optional
from tests.support.places import ROOT

fairlearn_metrics = optional("fairlearn.metrics")

METRICS = {
    "selection": fairlearn_metrics.selection_rate,
    "tpr": fairlearn_metrics.true_positive_rate,
    "fpr": fairlearn_metrics.false_positive_rate,
    "error": zero_one_loss,
    "precision": precision_score,
}


def people(n: int = 900, seed: int = 0) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    race = random.choice(np.array(["Black", "White", "Other", None], dtype=object), n, p=[0.3, 0.58, 0.02, 0.1])
    latent = random.normal(size=n) - 0.5 * (race == "Black")
    p = np.round(1.0 / (1.0 + np.exp(-latent)), 2)
    return {
        "y": (random.random(n) < p).astype(int),
        "p": p,
        "race": race,
        "weight": random.integers(1, 4, n).astype(float),
        "area": random.choice(["north", "south"], n),
    }


@pytest.mark.parametrize("weighted", [False, True])
def test_rates_are_those_of_metric_frame(weighted: bool) -> None:
    data = people()
    weight = data["weight"] if weighted else None
    found = ff.audit(data["y"], data["p"], sensitive_features={"race": data["race"]}, cutoff=0.4, sample_weight=weight)
    columns = found.tables["race"]
    known = np.array([r is not None for r in data["race"]])
    params = {name: {"sample_weight": weight[known]} for name in METRICS} if weighted else None
    frame = fairlearn_metrics.MetricFrame(
        metrics=METRICS,
        y_true=data["y"][known],
        y_pred=(data["p"] >= 0.4).astype(int)[known],
        sensitive_features=data["race"][known],
        sample_params=params,
    )
    assert list(columns["group"]) == ["Black", "White", "Other", "(missing)", "(all rows)"]
    assert list(columns["status"]) == ["compared", "reference", "too few", "missing", "all"]
    for name in METRICS:
        assert columns[name][:3] == pytest.approx(frame.by_group[name][["Black", "White", "Other"]].to_numpy())
        expected = frame.by_group[name]["Black"] - frame.by_group[name]["White"]
        assert columns[f"{name}_gap"][0] == pytest.approx(expected)
        assert np.isnan(columns[f"{name}_gap"][1:]).all()
    ratio = frame.by_group["selection"]["Black"] / frame.by_group["selection"]["White"]
    assert columns["selection_over_reference"][0] == pytest.approx(ratio)
    assert found.worst["race"]["selection_ratio"].value == pytest.approx(min(ratio, 1 / ratio))
    assert columns["n"].sum() == 2 * len(data["y"])


@pytest.mark.parametrize("weighted", [False, True])
def test_figures_of_scores_are_those_of_scikit_learn(weighted: bool) -> None:
    data = people()
    weight = data["weight"] if weighted else np.ones(len(data["y"]))
    found = ff.audit(data["y"], data["p"], sensitive_features={"race": data["race"]}, sample_weight=weight)
    columns = found.tables["race"]
    groups = {0: data["race"] == "Black", 1: data["race"] == "White", -1: np.ones(len(weight), dtype=bool)}
    for line, rows in groups.items():
        y, p, w = data["y"][rows], data["p"][rows], weight[rows]
        assert columns["auc"][line] == pytest.approx(roc_auc_score(y, p, sample_weight=w))
        assert columns["brier"][line] == pytest.approx(brier_score_loss(y, p, sample_weight=w))
        assert columns["in_the_large"][line] == pytest.approx(np.average(y - p, weights=w))
        assert columns["mean_score"][line] == pytest.approx(np.average(p, weights=w))
        clipped = np.clip(p, 1e-12, 1 - 1e-12)
        odds = np.log(clipped / (1 - clipped))[:, None]
        plain = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(odds, y, sample_weight=w)
        assert columns["slope"][line] == pytest.approx(plain.coef_[0, 0], rel=1e-5)
        if not weighted:
            assert columns["ks"][line] == pytest.approx(ks_2samp(p[y == 1], p[y == 0]).statistic)
            assert columns["gini"][line] == pytest.approx(2 * columns["auc"][line] - 1)
        for name in ("auc", "gini", "ks", "brier", "slope", "mean_score"):
            assert columns[f"{name}_lower"][line] < columns[name][line] < columns[f"{name}_upper"][line]
    spread = np.sqrt(np.cov(data["p"], aweights=weight, ddof=0))
    assert columns["smd"][0] == pytest.approx((columns["mean_score"][0] - columns["mean_score"][1]) / spread)


@pytest.mark.slow
def test_bootstrap_is_seeded_and_as_wide_as_resampled_rows() -> None:
    data = people(1500, seed=3)
    kept = data["race"] == "Black"
    options = {"sensitive_features": {"race": data["race"]}, "n_resamples": 2000}
    first, again = (ff.audit(data["y"], data["p"], **options).tables["race"] for _ in range(2))
    assert first["auc_gap_lower"][0] == again["auc_gap_lower"][0]
    y, p = data["y"][kept], data["p"][kept]
    random = np.random.default_rng(0)
    draws = [random.integers(0, len(y), len(y)) for _ in range(500)]
    plain = np.quantile([roc_auc_score(y[rows], p[rows]) for rows in draws], [0.025, 0.975])
    assert [first["auc_lower"][0], first["auc_upper"][0]] == pytest.approx(plain, abs=0.008)


def test_intervals_are_newcombe_and_wilson_and_simultaneous_on_request() -> None:
    y = np.array([1] * 200)
    decided = np.concatenate([np.ones(56), np.zeros(14), np.ones(48), np.zeros(32), np.ones(25), np.zeros(25)]).astype(
        int
    )
    group = np.repeat(["a", "b", "c"], [70, 80, 50])
    y[::7] = 0
    options = {"sensitive_features": {"g": group}, "groups": ff.Groups(reference="b")}
    columns = ff.audit(y, decided, **options).tables["g"]
    assert columns["selection_lower"][0] == pytest.approx(float(wilson(56, 70)[0]))
    low, high = map(float, newcombe(56, 70, 48, 80))
    assert (columns["selection_gap_lower"][0], columns["selection_gap_upper"][0]) == pytest.approx((low, high))
    assert low == pytest.approx(0.0524, abs=1e-4)
    assert high == pytest.approx(0.3339, abs=1e-4)
    together = ff.audit(y, decided, simultaneous=True, **options).tables["g"]
    assert together["selection_gap_lower"][0] == pytest.approx(float(newcombe(56, 70, 48, 80, 0.975)[0]))


def test_equalized_odds_holds_for_both_rates_at_once() -> None:
    data = people()
    found = ff.audit(data["y"], data["p"], sensitive_features={"race": data["race"]}).worst["race"]
    sharper = ff.audit(data["y"], data["p"], sensitive_features={"race": data["race"]}, confidence=0.975).worst["race"]
    assert found["odds_gap"].value == max(found["tpr_gap"].value, found["fpr_gap"].value)
    assert found["odds_gap"].lower == pytest.approx(max(sharper["tpr_gap"].lower, sharper["fpr_gap"].lower))
    assert found["odds_gap"].upper == max(found["tpr_gap"].upper, found["fpr_gap"].upper)  # of the worse one alone


def test_shortfall_counts_missing_favourable_decisions() -> None:
    y = np.tile([0, 1], 100)
    decided = np.concatenate([np.ones(60), np.zeros(40), np.ones(30), np.zeros(70)]).astype(int)
    columns = ff.audit(y, decided, sensitive_features=np.repeat(["m", "f"], 100), groups=ff.Groups("m")).tables["group"]
    assert columns["shortfall"][0] == pytest.approx(30.0)
    assert columns["selection_over_reference"][0] == pytest.approx(0.5)
    assert columns["deviations"][0] == pytest.approx(-0.3 / np.sqrt(0.45 * 0.55 * 0.02))


def test_risk_scores_are_favourable_below() -> None:
    data = people()
    groups = {"race": data["race"]}
    good, risk = 1 - data["y"], 1.0 - data["p"]
    plain = ff.audit(data["y"], data["p"], sensitive_features=groups, cutoff=0.4)
    turned = ff.audit(good, data["p"], sensitive_features=groups, favourable=0, favourable_side="above", cutoff=0.4)
    below = ff.audit(data["y"], risk, sensitive_features=groups, favourable=1, favourable_side="below", cutoff=0.605)
    for other in (turned, below):
        for name in ("selection", "tpr", "fpr", "auc", "brier", "in_the_large", "slope"):
            assert other.tables["race"][name] == pytest.approx(plain.tables["race"][name], nan_ok=True)
    assert ff.audit(data["y"], data["p"], sensitive_features=groups, favourable_side="below").task.favourable_label == 0
    assert "below 0.605" in below.rule


def test_scores_of_the_other_label_are_noticed() -> None:
    data = people()
    rows = {"y_true": data["y"], "sensitive_features": {"race": data["race"]}, "favourable": 1}
    with pytest.warns(ff.FairfrontWarning, match=r"AUC is 0\.\d+ .* speak against 1; .* favourable_side='below'"):
        found = ff.audit(**rows, scores_or_labels=1.0 - data["p"])
    for each in (found.sentences, found.to_dict()["sentences"]):
        assert any("favourable_side='below'" in sentence for sentence in each)
    with pytest.warns(ff.FairfrontWarning, match="speak for 1; .* favourable_side='above'"):
        ff.audit(**rows, scores_or_labels=data["p"], favourable_side="below")
    right = ff.audit(**rows, scores_or_labels=1.0 - data["p"], favourable_side="below")  # no warning
    assert not any("AUC is" in sentence for sentence in right.sentences)
    chance = 0.999 * np.random.default_rng(3).random(len(data["p"])) - 0.0001 * data["y"]
    ff.audit(**rows, scores_or_labels=np.abs(chance))  # near a half: no warning, whatever its side


def test_several_classes_have_figures_per_class() -> None:
    random = np.random.default_rng(0)
    y, decided = (np.array(["a", "b", "c"])[random.integers(0, 3, 600)] for _ in range(2))
    group = random.choice(["f", "m"], 600)
    columns = ff.audit(y, decided, sensitive_features=group, favourable="c").tables["group"]
    for line, name in enumerate(columns["group"][:2]):
        rows = group == name
        assert columns["error"][line] == pytest.approx(np.mean(y[rows] != decided[rows]))
        for k in "abc":
            assert columns[f"recall[{k}]"][line] == pytest.approx(np.mean(decided[rows & (y == k)] == k))
            assert columns[f"selection[{k}]"][line] == pytest.approx(np.mean(decided[rows] == k))
    matrix = (decided[:, None] == np.array(["a", "b", "c"])).astype(float)
    same = ff.audit(y, matrix, sensitive_features=group, favourable="c").tables["group"]
    assert same["error"] == pytest.approx(columns["error"])


def test_regression_compares_means() -> None:
    random = np.random.default_rng(0)
    y, predicted, group = random.normal(size=400), random.normal(size=400), random.choice(["f", "m"], 400)
    found = ff.audit(y, predicted, sensitive_features=group)
    assert found.task.kind == "regression"
    for line, name in enumerate(found.tables["group"]["group"][:2]):
        rows = group == name
        columns = found.tables["group"]
        assert columns["mse"][line] == pytest.approx(mean_squared_error(y[rows], predicted[rows]))
        assert columns["prediction"][line] == pytest.approx(predicted[rows].mean())
        half = 1.959964 * predicted[rows].std(ddof=1) / np.sqrt(rows.sum())
        assert columns["prediction_upper"][line] - columns["prediction"][line] == pytest.approx(half)
    assert found.worst["group"]["mse_gap"].value == pytest.approx(abs(found.tables["group"]["mse_gap"][0]))
    assert json.dumps(found.to_dict(), allow_nan=False)


def test_whole_numbers_are_regression_when_said_so() -> None:
    y = np.tile([1, 2, 3, 4], 30)
    assert ff.audit(y, y + 0.5, sensitive_features=np.repeat(["a", "b"], 60), task="regression").n == 120


@pytest.mark.filterwarnings("ignore::fairfront.ProxyWarning")
def test_group_probabilities_of_0_and_1_are_groups() -> None:
    data = people(seed=5)
    member = np.column_stack([data["area"] == "north", data["area"] == "south"]).astype(float)
    soft = ff.GroupProbabilities(member, levels=["north", "south"], name="area")
    hard = ff.audit(data["y"], data["p"], sensitive_features={"area": data["area"]}, sample_weight=data["weight"])
    found = ff.audit(data["y"], data["p"], sensitive_features=soft, sample_weight=data["weight"])
    for name, values in hard.tables["area"].items():
        if name not in ("group", "status"):
            assert found.tables["area"][name] == pytest.approx(values, nan_ok=True), name


def test_operating_points() -> None:
    data = people()
    groups = {"race": data["race"]}
    found = ff.audit(data["y"], data["p"], sensitive_features=groups, approval_rate=0.25)
    assert found.tables["race"]["selection"][-1] == pytest.approx(0.25, abs=0.02)
    dear = ff.audit(data["y"], data["p"], sensitive_features=groups, costs={"false_positive": 9, "false_negative": 1})
    cheap = ff.audit(data["y"], data["p"], sensitive_features=groups, costs={"false_positive": 1, "false_negative": 9})
    assert dear.cutoff is not None
    assert cheap.cutoff is not None
    assert dear.cutoff > cheap.cutoff


def test_a_figure_without_a_value_has_a_reason() -> None:
    y = np.concatenate([np.zeros(40), np.tile([0, 1], 40)]).astype(int)
    decided = np.concatenate([np.zeros(40), np.tile([0, 1, 1, 0], 20)]).astype(int)
    found = ff.audit(y, decided, sensitive_features=np.repeat(["a", "b"], [40, 80]))
    shown = found.groups["group"].readable
    assert shown["tpr"][0] == "not defined: no positives"
    assert shown["tpr_gap"][0] == "not defined: no positives"
    assert shown["precision"][0] == "not defined: no favourable decisions"
    assert shown["tpr_gap"][1] == "reference group"
    frame = found.to_frame("group", backend="polars")
    assert "tpr: not defined: no positives" in frame["notes"][0]
    assert frame["tpr"][0] is None
    turned = ff.audit(y, decided, sensitive_features=np.repeat(["a", "b"], [40, 80]), groups=ff.Groups("a"))
    assert (
        turned.groups["group"]
        .readable["selection_over_reference"][0]
        .endswith("the reference group has no favourable decisions")
    )
    assert turned.groups["group"].readable["tpr_gap"][0] == "not defined: no positives in the reference group"
    assert all("nan" not in sentence for sentence in (*found.sentences, *turned.sentences))


def test_a_group_without_weight_is_not_there_and_equal_scores_have_reasons() -> None:
    data = people()
    weight = (data["race"] != "Black").astype(float)
    known: dict[str, Any] = {"sensitive_features": {"race": data["race"]}, "groups": ff.Groups(min_size=20)}
    shown = ff.audit(data["y"], data["p"], sample_weight=weight, **known)
    assert list(shown.tables["race"]["group"]) == ["Other", "White", "(missing)", "(all rows)"]
    flat = ff.audit(data["y"], np.full(900, 0.5), sensitive_features={"race": data["race"]}).groups["race"].readable
    assert flat["smd"][0] == "not defined: all scores are equal"
    assert flat["slope"][0].startswith("not defined: no calibration line")
    assert flat["auc"][0] == 0.5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cutoff": 1.5}, "expected one within the scores"),
        ({"cutoff": 0.5, "approval_rate": 0.3}, "expected one way"),
        ({"favourable": 7}, "favourable is 7"),
        ({"favourable_side": "left"}, "'above' or 'below'"),
        ({"sample_weight": -np.ones(900)}, "negative"),
        ({"sensitive_features": [None] * 900}, "missing in all 900 rows"),
        ({"groups": ff.Groups(min_size=800)}, "merge groups"),
        ({"groups": ff.Groups(reference="Other")}, "reference group 'Other'"),
        ({"confidence": 95}, "between 0 and 1"),
        ({"task": "ranking"}, "task is 'ranking'"),
        ({"scores_or_labels": np.linspace(-3, 3, 900)}, "are not probabilities"),
        ({"scores_or_labels": np.full(900, "maybe")}, "'maybe', which y_true does not"),
        ({"scores_or_labels": np.full(900, np.nan)}, "NaN"),
        ({"scores_or_labels": np.ones(30)}, "one value per row in both"),
        ({"scores_or_labels": np.tile([0, 1], 450), "cutoff": 0.5}, "cutoff is for scores"),
        ({"y_true": np.zeros(900)}, "one class only"),
        ({"y_true": np.full(900, np.nan)}, "^y_true contains NaN"),
        ({"cutoff": [0.4, 0.5]}, "expected one number: the same for every group"),
        ({"approval_rate": "half"}, "expected a share of people"),
        ({"confidence": "high"}, "between 0 and 1"),
        ({"n_resamples": 1.5}, "a whole number"),
        ({"random_state": "x"}, "a whole number"),
        ({"groups": "race"}, "expected fairfront.Groups"),
        ({"sensitive_features": None}, "expected one value per row: the group of each"),
        ({"sensitive_features": ["a", "b"]}, "as many as y_true"),
        ({"sample_weight": np.ones(3)}, "as many as y_true"),
        ({"scores_or_labels": np.linspace(0.0, 0.3, 900)}, "default cut-off 0.5 would decide every row alike"),
        ({"y_true": np.arange(900) % 7}, "say task='regression'"),
    ],
)
def test_bad_input_is_one_sentence(change: dict[str, Any], message: str) -> None:
    data = people()
    given = {"y_true": data["y"], "scores_or_labels": data["p"], "sensitive_features": {"race": data["race"]}} | change
    with pytest.raises(ff.InputError, match=message):
        ff.audit(given.pop("y_true"), given.pop("scores_or_labels"), **given)


def test_words_are_plain() -> None:
    data = people()
    found = ff.audit(data["y"], data["p"], sensitive_features={"area": data["area"]})
    text = " ".join(found.sentences).lower()
    assert "demographic parity compares the share" in text
    assert not any(word in text for word in ("complies", "unbiased", "fair model", "nan"))
    assert "900 rows" in repr(found)


class Reader(HTMLParser):
    """Collects the tags and the text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[Any]) -> None:
        self.tags.append(tag)
        assert {name for name, _ in attrs} <= {"scope", "style"}

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def test_notebooks_show_hostile_names_as_text() -> None:
    data = people()
    hostile = ["</table><script>alert(1)</script>", '" onmouseover="alert(2)', "<img src=x onerror=alert(3)>"]
    names = np.array(hostile, dtype=object)[np.arange(900) % 3]
    page = Reader()
    page.feed(ff.audit(data["y"], data["p"], sensitive_features={"<b>area</b>": names})._repr_html_())
    assert set(page.tags) == {"div", "p", "table", "thead", "tbody", "tr", "th", "td"}
    for name in (*hostile, "<b>area</b>"):
        assert any(name in text for text in page.text), name


def test_notebooks_show_groups_of_few_people_and_give_reasons() -> None:
    y = np.concatenate([np.zeros(40), np.tile([0, 1], 140), np.ones(7)]).astype(int)
    decided = np.concatenate([np.zeros(40), np.tile([0, 1, 1, 0], 70), np.ones(7)]).astype(int)
    found = ff.audit(y, decided, sensitive_features=np.repeat(["a", "b", "seven"], [40, 280, 7]))
    page = Reader()
    page.feed(found._repr_html_())
    assert "7" in page.text
    assert "seven (too few)" in page.text
    assert (
        "not defined: no positives"
        in ff.audit(y[:320], decided[:320], sensitive_features=np.repeat(["a", "b"], [40, 280]))._repr_html_()
    )


def test_the_page_about_audits_runs(capsys) -> None:
    page = (ROOT / "docs" / "audit.md").read_text()
    space: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(compile(block, "audit.md", "exec"), space)
    assert "champion" in capsys.readouterr().out
