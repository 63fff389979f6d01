"""The card: one record that its schema describes, drawn as Markdown, HTML and the formats of others."""

from __future__ import annotations

import json
import re
import warnings
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import fairfront as ff
from fairfront.cli import app
from fairfront.exceptions import InputError
from fairfront.runs import Run
from fairfront.runs.card_formats import cyclonedx_of, hub_card_of
from fairfront.runs.card_page import markdown_of, page_of
from fairfront.runs.options import plain_id
from tests.support.schemas import faults

SCHEMA = json.loads((files("fairfront.runs") / "card.schema.json").read_text(encoding="utf-8"))
HOSTILE = '<script>alert(1)</script> | `x` & "quoted"\n# not a heading'


def frame(n: int = 2400) -> Any:
    data = ff.datasets.load_loans(n=n, seed=3).frame()
    data["group"] = data["group"].replace({"C": "B"})
    data["weight"] = np.random.default_rng(0).exponential(size=n) + 0.1
    data["three"] = np.where(data["income"] > 40_000, "high", np.where(data["debt_ratio"] > 0.4, "low", "mid"))
    data["p_a"] = np.where(data["group"] == "A", 0.8, 0.1)
    data["p_b"] = 1.0 - data["p_a"]
    return data


BINARY = {"target": "outcome", "favourable": "repaid", "groups": "sex,group", "drop": ["three", "p_a", "p_b"]}
KINDS: dict[str, dict[str, Any]] = {
    "linear": {**BINARY, "weight": "weight", "split": "time:applied:2025-05,2025-09"},
    "boosting": {**BINARY, "groups": "sex", "model": "boosting", "max_fits": 4},
    "costs": {**BINARY, "favourable": "defaulted", "groups": "sex", "costs": (5, 1), "drop": ["three", "group"]},
    "hinge": {**BINARY, "groups": "sex", "loss": "squared_hinge"},
    "classes": {"target": "three", "favourable": "high", "groups": "sex", "drop": ["income", "p_a", "p_b"]},
    "values": {"target": "loan_amount", "groups": "group", "loss": "squared", "drop": ["p_a", "p_b"]},
    "proxies": {
        "target": "outcome",
        "favourable": "repaid",
        "group_probabilities": "p_a,p_b",
        "drop": ["three", "group"],
    },
}


@pytest.fixture(scope="module")
def runs() -> dict[str, Run]:
    known: dict[str, Any] = {"stability": 0, "progress": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ff.ProxyWarning)
        return {
            name: ff.trace_table(frame(), **known, **({} if "model" in asked else {"n_points": 4}), **asked)
            for name, asked in KINDS.items()
        }


def chosen(run: Run, **more: Any) -> ff.TableModel:
    last = int(run.frontier.ids[run.frontier.solved[-1]])
    return run.select(id=last, **more)


@pytest.mark.parametrize("kind", KINDS)
def test_the_record_of_every_kind_of_model_fits_the_schema(runs, kind):
    card = chosen(runs[kind]).facts
    assert faults(json.loads(json.dumps(card, allow_nan=False)), SCHEMA) == []
    assert list(card["parts"]) == ["validation", "test"]
    for drawn in (markdown_of(card), page_of(card), hub_card_of(card)):
        told = re.sub("Read as missing: .*", "", drawn)
        assert "nan" not in re.findall(r"\w+", told.lower())
        assert not re.search("None(?!: the model is)", told) or kind == "boosting"


def test_the_checker_finds_faults(runs):
    card = dict(chosen(runs["linear"]).facts)
    assert faults({**card, "more": 1}, SCHEMA) == [": has more"]
    assert faults({name: value for name, value in card.items() if name != "data"}, SCHEMA) == [": lacks data"]
    assert faults({**card, "schema": 2}, SCHEMA) == ["/schema: 2 is not 1"]


@pytest.mark.parametrize("kind", ["linear", "costs", "values"])
def test_coefficients_in_the_units_of_the_file_give_the_scores(runs, kind):
    model, data = chosen(runs[kind]), frame()
    card = model.facts["coefficients"]
    score = np.full(len(data), card["intercept"][0])
    for line in card["lines"]:
        if line["encoding"] == "number":
            assert line["per_unit"][0] * line["spread"] == pytest.approx(line["per_spread"][0])
            score += line["per_unit"][0] * (data[line["column"]].to_numpy() - line["mean"])
        else:
            score += line["per_unit"][0] * (data[line["column"]].astype(str) == line["level"]).to_numpy()
    if kind == "values":
        assert score == pytest.approx(model.predict(data))
        return
    good = model.task.classes.index(model.task.favourable_label)
    odds = model.predict_proba(data)[:, good]
    assert score == pytest.approx(np.log(odds / (1.0 - odds)))


def test_boosting_has_no_coefficients_and_names_its_settings(runs):
    card = chosen(runs["boosting"])
    assert card.facts["coefficients"] is None
    assert "None: the model is a HistGradientBoostingClassifier (" in card.card
    assert "max_iter=" in card.card.replace("\\", "")


def test_figures_are_those_of_the_audits_and_differences_are_theirs(runs):
    run = runs["linear"]
    model = chosen(run)
    card = model.facts
    for part, judged in run.judged.items():
        figures = card["parts"][part]["figures"]
        own, plain = (judged[str(i)]["audit"]["tables"]["sex"] for i in (card["model"]["id"], plain_id(run.frontier)))
        for name in ("auc", "ks", "gini", "error", "selection"):
            assert figures[name]["chosen"][0] == own[name][-1]
            assert figures[name]["unconstrained"][0] == plain[name][-1]
            value, low, high = figures[name]["difference"]
            assert value == pytest.approx(own[name][-1] - plain[name][-1], abs=1e-6)
            assert (low is None) == (name == "ks")
            assert low is None or low <= value <= high


def test_the_plain_model_differs_from_nobody(runs):
    model = runs["linear"].select(id=plain_id(runs["linear"].frontier))
    for part in model.facts["parts"].values():
        assert part["figures"]["auc"]["difference"][0] == 0.0
    assert "This model is the unconstrained one" in model.card
    assert "Nobody is decided otherwise" in model.card


def test_attributes_stand_in_the_order_that_was_given(runs, tmp_path):
    run = ff.load(runs["linear"].save(tmp_path / "run"))
    card = chosen(run)
    assert [each["attribute"] for each in card.facts["groups"]] == ["sex", "group"]
    assert [list(part["groups"]) for part in card.facts["parts"].values()] == [["sex", "group"]] * 2
    assert card.card.index("Groups of sex") < card.card.index("Groups of group")


def test_period_and_weights_are_told(runs):
    said = chosen(runs["linear"]).card.replace("\\", "")
    assert "| Weights | weight |" in said
    assert "Rates are weighted by weight" in said
    assert "| Period | applied: train 2024-" in said
    assert "no time column" in chosen(runs["costs"]).card


def test_no_end_of_the_period_is_that_of_a_few_people():
    data = frame(1200)
    data.loc[data.index[:3], "applied"] = "1950-01"
    run = ff.trace_table(data, **BINARY, split="time:applied:2025-05,2025-09", n_points=2, stability=0, progress=False)
    assert "1950" not in json.dumps(run.manifest)


def test_operating_point_says_rule_cut_off_and_rows(runs):
    run = runs["costs"]
    model = chosen(run)
    point = model.facts["operating_point"]
    assert point["cutoff"] == model.cutoff
    assert (point["of"], point["placed_on"]) == ("probability", "validation")
    assert f"{model.cutoff:.4g} on the probability of defaulted; placed on validation" in model.card
    assert chosen(runs["hinge"]).facts["operating_point"]["cutoff"] == 0.0
    assert chosen(runs["values"]).facts["operating_point"] is None


def test_the_main_part_is_short_and_the_rest_is_below(runs):
    main, _, rest = chosen(runs["linear"]).card.partition("\n# Appendix\n")
    assert len(main.splitlines()) <= 150
    for heading in ("Calibration by sex", "Stability", "Reproduction", "Groups of sex on validation"):
        assert f"## {heading}" in rest
    for heading in ("Operating point", "Performance", "Groups of sex", "Data", "Coefficients", "Limits"):
        assert f"## {heading}\n" in main


def test_a_model_that_ranks_nobody_on_one_part_has_a_card(runs):
    """Where all decisions are alike, an audit has no figures of scores."""
    run = runs["linear"]
    id = str(int(run.frontier.ids[run.frontier.solved[-1]]))
    tested = json.loads(json.dumps(run.tested))
    ranking = ("auc", "ks", "gini", "brier", "slope", "mean_score", "in_the_large")
    for table in tested[id]["audit"]["tables"].values():
        for name in [name for name in table if name.startswith(ranking)]:
            del table[name]
    worst = tested[id]["audit"].pop("worst")
    kept = {name: [w for w in found if "auc" not in w["figure"]] for name, found in worst.items()}
    tested[id]["audit"]["worst"] = kept
    model = chosen(replace(run, tested=tested))
    assert faults(json.loads(json.dumps(model.facts)), SCHEMA) == []
    assert "| test | difference | not available | not available |" in model.card


@pytest.mark.filterwarnings("ignore::fairfront.exceptions.FairfrontWarning")
def test_a_named_evaluation_stands_beside_the_others(runs):
    run = runs["linear"].evaluate(frame(1500), name="later", progress=False)
    model = chosen(run)
    assert faults(json.loads(json.dumps(model.facts)), SCHEMA) == []
    assert list(model.facts["parts"]) == ["validation", "test", "later"]
    assert "| Approved on later |" in model.card
    assert "| later | difference |" in model.card
    assert "- later: data frame, judged at " in model.card


def test_fields_that_people_fill(runs):
    about = {"use": "  consumer loans ", "owner": "Credit risk"}
    model = chosen(runs["linear"], about=about)
    assert model.facts["about"] == {
        "owner": "Credit risk",
        "version": None,
        "use": "consumer loans",
        "monitoring": None,
    }
    assert "| Owner | Credit risk |" in model.card
    assert "| Monitoring plan | not given |" in model.card
    assert model.decision["about"] == {"owner": "Credit risk", "use": "consumer loans"}
    for bad in ({"ownr": "x"}, {"owner": 1}, ["owner"], "owner"):
        with pytest.raises(InputError, match="about"):
            chosen(runs["linear"], about=bad)


@pytest.mark.parametrize("where", ["reason", "owner"])
def test_what_others_wrote_stays_text(runs, where):
    more = {"reason": HOSTILE} if where == "reason" else {"about": {"owner": HOSTILE}}
    model = chosen(runs["linear"], **more)
    page = page_of(model.facts)
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script" not in model.card
    assert "\n# not a heading" not in model.card
    assert not re.search(r"\son\w+=|https?://|<img|<link|<iframe", page)


def test_the_page_lets_nothing_in(runs):
    page = page_of(chosen(runs["linear"]).facts)
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "script-src" not in policy
    assert page.count("<style>") == 1


def test_cyclonedx_has_metrics_and_fairness_assessments(runs):
    document = json.loads(cyclonedx_of(chosen(runs["linear"], about={"owner": "Risk", "version": "2"}).facts))
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.6")
    (component,) = document["components"]
    assert (component["type"], component["version"]) == ("machine-learning-model", "2")
    card = component["modelCard"]
    metrics = card["quantitativeAnalysis"]["performanceMetrics"]
    assert {each["slice"] for each in metrics} >= {"validation", "test", "test, sex=F"}
    assert all(isinstance(each["value"], str) for each in metrics)
    assert {each["groupAtRisk"].partition("=")[0] for each in card["considerations"]["fairnessAssessments"]} == {
        "sex",
        "group",
    }


def test_hugging_face_s_front_matter_is_yaml_above_the_card(runs):
    model = chosen(runs["linear"])
    _, front, text = hub_card_of(model.facts).split("---\n", 2)
    fields = {name: json.loads(value) for name, _, value in (each.partition(": ") for each in front.splitlines())}
    assert fields["library_name"] == "fairfront"
    results = fields["model-index"][0]["results"]
    assert [each["dataset"]["split"] for each in results] == ["validation", "test"]
    assert results[1]["metrics"][0]["value"] == model.facts["parts"]["test"]["figures"]["auc"]["chosen"][0]
    assert text.strip() == model.card.strip()


def invoke(*words: Any) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words])


def test_select_writes_and_verify_compares_all_forms(runs, tmp_path):
    run, data = tmp_path / "run", tmp_path / "about.toml"
    runs["linear"].save(run)
    data.write_text('owner = "Risk"\nversion = "1.0"\n', encoding="utf-8")
    words = ("select", run, "--id", 0, "-o", tmp_path / "model", "--about", data, "--model-version", "2.0")
    done = invoke(*words, "--format", "cyclonedx", "--format", "huggingface")
    assert done.exit_code == 0, done.output
    for name in ("card.md", "card.html", "card.json", "card.cdx.json", "README.md"):
        assert (tmp_path / "model" / name).exists()
    model = ff.load(tmp_path / "model")
    assert model.facts["about"]["version"] == "2.0"
    assert model.facts["about"]["owner"] == "Risk"
    assert (tmp_path / "model" / "card.md").read_text(encoding="utf-8") == model.card
    assert invoke("verify", tmp_path / "model", run).exit_code == 0
    again = model.save(tmp_path / "again", formats=["cyclonedx"])
    assert sorted(each.name for each in again.iterdir() if each.suffix in (".md", ".html")) == ["card.html", "card.md"]


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("about.json", '{"owner": "x", "colour": "red"}', "has 'colour', expected texts under some of owner, version"),
        ("about.toml", "owner = ", "is not TOML"),
        ("about.yaml", "owner: x", "is called neither .json nor .toml"),
    ],
)
def test_files_about_a_model_that_are_refused(runs, tmp_path, file, text, said):
    run = runs["linear"].save(tmp_path / "run")
    (tmp_path / file).write_text(text, encoding="utf-8")
    done = invoke("select", run, "--id", 0, "-o", tmp_path / "model", "--about", tmp_path / file)
    assert done.exit_code != 0
    assert said in " ".join(str(done.exception or done.output).split())
    assert not (tmp_path / "model").exists()


def test_an_unknown_format_is_refused(runs, tmp_path):
    done = invoke("select", runs["linear"].save(tmp_path / "run"), "--id", 0, "-o", tmp_path / "m", "--format", "pdf")
    assert done.exit_code != 0
    with pytest.raises(InputError, match="'pdf', expected 'cyclonedx' or 'huggingface'"):
        chosen(runs["linear"]).save(tmp_path / "m", formats=["pdf"])


def test_ids_that_were_listed(runs):
    run = runs["linear"]
    model = chosen(run)
    decision = model.facts["decision"]
    assert decision["listed"] == list(run.shown)
    assert f"before the decision of {decision['at']}: ids {', '.join(map(str, run.shown))}." in model.card


def test_an_edited_card_is_found(runs, tmp_path):
    run = runs["linear"].save(tmp_path / "run")
    model = replace(ff.load(run).select(id=0))
    model.save(tmp_path / "m")
    record = json.loads((tmp_path / "m" / "card.json").read_text())
    record["about"]["owner"] = "somebody else"
    (tmp_path / "m" / "card.json").write_text(json.dumps(record))
    with pytest.raises(InputError):
        ff.load(Path(tmp_path / "m"))
