"""The card: one record, drawn as Markdown and HTML."""

from __future__ import annotations

import io
import json
import re
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from sklearn.metrics import roc_auc_score, roc_curve
from typer.testing import CliRunner

import fairfront as ff
from fairfront.cli import app
from fairfront.cli.summary import print_options, print_rates
from fairfront.exceptions import InputError
from fairfront.runs import Run
from fairfront.runs.card_blocks import difference
from fairfront.runs.card_exports import markdown_of, page_of
from fairfront.runs.options import in_words, indistinct_words, plain_id

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
    "rates": {**BINARY, "groups": "sex", "units": "rates", "approval_rate": 0.7},
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
    known: dict[str, Any] = {"progress": False}
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
def test_the_record_of_every_kind_of_model_is_drawn_whole(runs, kind):
    card = chosen(runs[kind]).facts
    json.dumps(card, allow_nan=False)
    assert list(card["parts"]) == ["validation", "test"]
    for drawn in (markdown_of(card), page_of(card)):
        told = re.sub("Read as missing: .*", "", drawn)
        assert "nan" not in re.findall(r"\w+", told.lower())
        assert not re.search("None(?!: the model is| of its own)", told) or kind == "boosting"


def test_rules_have_no_cutoff_of_their_own(runs):
    model = chosen(runs["rates"])
    assert model.facts["operating_point"]["cutoff"] is None
    said = model.card
    assert "| Model | rule on probabilities of label and group (linear), for the least error; id" in said
    assert "| Operating point | approval rate 0.7, inside the rule: no single cut-off" in said
    assert "Loss (here the error) and its gap are those of cross-fitted predictions, 3 folds" in said
    assert "cut-off 0" not in said
    assert "The cut-off in full" not in said


def test_rules_tell_what_their_probabilities_are_worth(runs):
    run = runs["rates"]
    model, other = chosen(run), run.select(id=0)
    place = run.frontier.place(model.facts["model"]["id"])
    found = model.facts["model"]["posteriors"]
    assert [each["of"] for each in found] == list(run.frontier.models.rate_names)
    assert [each["expected"] for each in found] == run.frontier.models.expected[place].tolist()
    assert "## Expected and measured rates" in model.card
    assert "The model is optimal for its posteriors, and not certified" in model.card
    lines, same = (each.facts["parts"]["test"]["groups"]["sex"][-1] for each in (model, other))
    assert lines["brier"] == same["brier"]  # probabilities of the label are those of all rules
    assert abs(lines["mean_score"][0] - lines["base_rate"]) < 0.05
    assert "All rules share them" in model.card
    assert "Calibration is not defined: scores are not probabilities." in chosen(runs["hinge"]).card


def test_an_end_that_is_not_zero_is_not_written_as_zero():
    assert difference([-0.002295, -0.005051, 0.000461]) == "-0.0023 (-0.0051 to 0.0005)"
    assert difference([0.0, -0.006, 0.006]) == "0.000 (-0.006 to 0.006)"


def test_words_of_a_column_name_its_attribute():
    assert in_words("age_band.fpr_gap") == "FPR gap by age_band"
    assert in_words("selection_ratio") == "selection ratio"


def test_rows_without_a_line_on_validation_are_counted(runs):
    data = frame().astype({"group": object})
    data.loc[np.arange(0, 2400, 31), "group"] = None
    run = ff.trace_table(data, **{**BINARY, "drop": ["three", "p_a", "p_b"]}, n_points=3, progress=False)
    lines = chosen(run).facts["parts"]["validation"]["groups"]["group"]
    part = run.manifest["split"]["rows"]["validation"]
    rest = next(line for line in lines if line["status"] == "missing")
    assert rest["rows"] == part - sum(line["rows"] for line in lines if line["status"] not in ("missing", "all"))


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


@pytest.mark.filterwarnings("ignore::fairfront.exceptions.FairfrontWarning")
def test_figures_are_those_of_scikit_learn_on_the_same_rows(runs):
    data = frame(1500)
    run = runs["linear"].evaluate(data, name="later", progress=False)
    card, weight, good = chosen(run).facts, data["weight"].to_numpy(), (data["outcome"] == "repaid").to_numpy()
    found = []
    for id in (card["model"]["id"], plain_id(run.frontier)):
        model = run.model(id)
        score, decided = model.predict_proba(data)[:, 1], model.predict(data) == "repaid"
        area = roc_auc_score(good, score, sample_weight=weight)
        rise, fall, _ = roc_curve(good, score, sample_weight=weight, drop_intermediate=False)
        found.append({"auc": area, "gini": 2 * area - 1, "ks": np.abs(rise - fall).max()})
        found[-1] |= {"error": np.average(decided != good, weights=weight)}
        found[-1] |= {"selection": np.average(decided, weights=weight)}
    figures = card["parts"]["later"]["figures"]
    for name, value in found[0].items():
        assert figures[name]["chosen"][0] == pytest.approx(value, abs=1e-6)
        assert figures[name]["unconstrained"][0] == pytest.approx(found[1][name], abs=1e-6)
        change, low, high = figures[name]["difference"]
        assert change == pytest.approx(value - found[1][name], abs=1e-6)
        assert low <= change <= high


def test_groups_and_gaps_on_validation_are_those_that_the_rule_read(runs):
    run = runs["linear"]
    model = chosen(run)
    part, front = model.facts["parts"]["validation"], run.frontier
    place = front.place(model.facts["model"]["id"])
    rates = front.record().groups["sex"]
    for i, line in enumerate(part["groups"]["sex"][:-1]):
        for name in ("selection", "tpr", "fpr", "error"):
            value, low, high = line[name]
            assert value == pytest.approx(rates.rate(name)[place, i], abs=1e-6)
            assert low <= value <= high
    everyone = part["groups"]["sex"][-1]
    assert everyone["error"][0] == pytest.approx(front.column("error")[place], abs=1e-6)
    good = float(front.record().labels[front.facts.task.favourable])
    approved = good * everyone["tpr"][0] + (1 - good) * everyone["fpr"][0]
    assert approved == pytest.approx(everyone["selection"][0], abs=1e-5)
    for worst in part["worst"]:
        column = f"{worst['attribute']}.{worst['figure']}"
        if worst["figure"] == "odds_gap":
            column = f"{worst['attribute']}.{worst['of']}_gap"
            assert worst["upper"] >= front.record().figure(column, 0.95)[place] - 1e-6
        assert worst["value"] == pytest.approx(front.column(column)[place], abs=1e-6)
        if worst["figure"] == "tpr_gap":
            assert worst["upper"] == pytest.approx(front.record().figure(column, 0.95)[place], abs=1e-6)
            assert 0.0 <= worst["lower"] <= worst["value"]


def test_every_group_that_training_compared_is_compared_on_test():
    data = ff.datasets.load_loans(n=2600, seed=3).frame()
    known: dict[str, Any] = {"target": "outcome", "favourable": "repaid", "groups": "group"}
    run = ff.trace_table(data, n_points=2, progress=False, **known)
    part = run.select(id=0).facts["parts"]["test"]
    sizes = {line["group"]: line["rows"] for line in part["groups"]["group"]}
    assert 10 <= sizes["C"] < 30
    assert not any(worst["not_compared"] for worst in part["worst"])


def test_the_plain_model_differs_from_nobody(runs):
    model = runs["linear"].select(id=plain_id(runs["linear"].frontier))
    for part in model.facts["parts"].values():
        assert part["figures"]["auc"]["difference"][0] == 0.0
    assert "This model is the unconstrained one" in model.card
    assert "| 0 / 0 |" in model.card


def test_rates_before_and_gaps_that_grew_are_there(runs):
    """Whose rates fell, and what another criterion pays, can be read off the card."""
    run = runs["linear"]
    model = run.select(id=int(run.frontier.ids[-1]))
    part = model.facts["parts"]["test"]
    plain = run.select(id=int(run.frontier.ids[0])).facts["parts"]["test"]["groups"]
    for attribute, lines in part["unconstrained"].items():
        rates = [{key: line[key] for key in ("group", "tpr", "fpr", "error")} for line in lines]
        assert rates == [{key: line[key] for key in ("group", "tpr", "fpr", "error")} for line in plain[attribute]]
    assert "## Groups on test, unconstrained model" in model.card
    grown = [each for each in part["worst"] if each["value"] > each["unconstrained"][0]]
    for each in grown:
        if each["figure"] in ("fpr_gap", "selection_gap", "error_gap"):
            words = f"{each['figure'].replace('_', ' ')} by {each['attribute']} "
            assert words.lower() in model.card.split("# Appendix")[0].lower()


def test_gaps_that_have_grown_are_named_with_their_intervals(runs):
    card = runs["linear"].select(id=int(runs["linear"].frontier.ids[-1])).facts
    now = {"value": 0.25, "lower": 0.0, "upper": 0.5}
    known = {"fpr_gap": now, "error_gap": now, "selection_gap": {**now, "value": 0.2}}
    test, before = card["parts"]["test"], {"unconstrained": [0.24, 0.1, 0.4]}
    worst = [{**each, **known[each["figure"]], **before} for each in test["worst"] if each["figure"] in known][:3]
    text = markdown_of({**card, "parts": {**card["parts"], "test": {**test, "worst": worst}}}).split("# Appendix")[0]
    name, then = worst[0]["attribute"], "before 0.240 (0.100 to 0.400)."
    both = f"FPR gap by {name} 0.250 (0.000 to 0.500), {then[:-1]}; error gap by {name} 0.250 (0.000 to 0.500), {then}"
    assert f"larger on test than those of the unconstrained model: {both}" in text


def test_attributes_stand_in_the_order_that_was_given(runs, tmp_path):
    run = ff.load(runs["linear"].save(tmp_path / "run"))
    card = chosen(run)
    assert [each["attribute"] for each in card.facts["groups"]] == ["sex", "group"]
    assert [list(part["groups"]) for part in card.facts["parts"].values()] == [["sex", "group"]] * 2
    assert card.card.index("| test | sex |") < card.card.index("| test | group |")


def test_period_and_weights_are_told(runs):
    said = chosen(runs["linear"]).card.replace("\\", "")
    assert "| Weights | weight |" in said
    assert "Figures are weighted by weight" in said
    assert "| Period of applied | train 2024-" in said
    other = next(
        line for line in chosen(runs["costs"]).card.splitlines() if line.startswith("| Period of applied | train 2024-")
    )
    assert "(not what rows are split by)" in other


def test_dates_that_rows_are_not_split_by_are_told():
    data = frame(1200)
    data["born"] = "12.03.1980"
    known: dict[str, Any] = {**BINARY, "n_points": 2, "progress": False}
    periods = ff.trace_table(data, **known).manifest["split"]["periods"]
    assert [each["column"] for each in periods] == ["applied", "born"]
    assert periods[1]["parts"]["test"] == ["1980-03-12", "1980-03-12"]
    for each in periods[0]["parts"].values():
        ordered = sorted(data["applied"])
        assert ordered[0] <= each[0][:7] <= each[1][:7] <= ordered[-1]
    gone = ff.trace_table(data.drop(columns=["applied", "born"]), **known)
    assert "| Period | not known: no column that was read has dates |" in gone.select(id=0).card


def test_the_period_is_from_the_first_day_to_the_last():
    data = frame(1200)
    data.loc[data.index[:3], "applied"] = "1950-01"
    run = ff.trace_table(data, **BINARY, split="time:applied:2025-05,2025-09", n_points=2, progress=False)
    (period,) = run.manifest["split"]["periods"]
    assert period["parts"]["train"][0].startswith("1950-01")


def test_operating_point_says_rule_cut_off_and_rows(runs):
    run = runs["costs"]
    model = chosen(run)
    point = model.facts["operating_point"]
    assert point["cutoff"] == model.cutoff
    assert (point["of"], point["placed_on"]) == ("probability", "validation")
    assert f"cut-off {model.cutoff:.3f} on the probability of defaulted, placed on validation" in model.card
    assert f"The cut-off in full: {model.cutoff!r}." in model.card
    assert chosen(runs["hinge"]).facts["operating_point"]["cutoff"] == 0.0
    assert chosen(runs["values"]).facts["operating_point"] is None


@pytest.mark.filterwarnings("ignore::fairfront.exceptions.FairfrontWarning")
def test_the_main_part_is_short_and_the_rest_is_below(runs):
    run = runs["linear"].evaluate(frame(1500), name="later", progress=False)
    main, _, rest = chosen(run).card.partition("\n# Appendix\n")
    assert len(main.splitlines()) <= 120
    for heading in ("Calibration by sex", "Reproduction", "Groups on validation", "Groups on later"):
        assert f"## {heading}\n" in rest
    for heading in ("Performance", "Groups on test, and worst gaps", "Data", "Coefficients", "Limits"):
        assert f"## {heading}\n" in main


def test_many_groups_are_in_the_appendix():
    data = frame(3000)
    data["branch"] = [f"branch {i % 12}" for i in range(len(data))]
    known: dict[str, Any] = {"progress": False, "n_points": 2}
    run = ff.trace_table(data, **{**BINARY, "groups": "branch"}, **known)
    model = chosen(run)
    main, _, rest = model.card.partition("\n# Appendix\n")
    worst = {group for each in model.facts["parts"]["test"]["worst"] for group in each["between"]}
    assert all(f"| branch | branch {i} |" in rest for i in range(12))
    assert all((f"| branch | {group} |" in main) for group in worst)
    assert "the appendix has all" in main
    assert len(main.splitlines()) <= 120


def test_a_model_that_ranks_nobody_on_one_part_has_a_card(runs):
    run = runs["linear"]
    id = str(int(run.frontier.ids[run.frontier.solved[-1]]))
    tested = json.loads(json.dumps(run.tested))
    for name in ("auc", "ks", "gini"):
        del tested[id]["figures"][name]
    for lines in tested[id]["groups"].values():
        for line in lines:
            for name in ("brier", "slope", "mean_score", "in_the_large"):
                del line[name]
    model = chosen(replace(run, tested=tested))
    assert "| test | difference | not available | not available |" in model.card


@pytest.mark.filterwarnings("ignore::fairfront.exceptions.FairfrontWarning")
def test_a_named_evaluation_stands_beside_the_others(runs):
    run = runs["linear"].evaluate(frame(1500), name="later", progress=False)
    model = chosen(run)
    assert list(model.facts["parts"]) == ["validation", "test", "later"]
    assert "| later | difference |" in model.card
    assert "| File of later | data frame, no fingerprint: the rows came from a data frame, judged at " in model.card


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


@pytest.mark.parametrize("scale", [0.01, 10_000.0])
def test_figures_of_values_have_digits_that_count_whatever_the_unit(scale):
    data = frame()
    data["loan_amount"] *= scale / data["loan_amount"].std()
    run = ff.trace_table(data, progress=False, n_points=5, **KINDS["values"])
    model, front = chosen(run), run.frontier
    assert len(run.options()) > 1

    console = Console(width=200, record=True, file=io.StringIO())
    print_options(console, front, run.options())
    print_rates(console, front, [each.id for each in run.options()])
    printed = console.export_text()
    for option in run.options():
        line = next(line for line in printed.splitlines() if line.split()[:1] == [str(option.id)])
        for cell, name in zip(line.split()[1:6], option.figures, strict=True):
            noise = 1e-9 * max(each.figures[name] for each in run.options())
            assert float(cell) == pytest.approx(option.figures[name], rel=0.005, abs=noise)

    known = model.facts["parts"]["validation"]["figures"]["mse"]
    mine, plain = (float(front.column("mse")[front.place(id)]) for id in (model.facts["model"]["id"], plain_id(front)))
    assert known["chosen"][0] == pytest.approx(mine, rel=1e-5)
    assert known["difference"][0] == pytest.approx(mine - plain, rel=1e-4)
    shown = markdown_of(model.facts)
    cells = [line.split("|")[3].strip() for line in shown.splitlines() if line.split("|")[2:3] == [" difference "]]
    assert len(cells) == 2
    for cell, part in zip(cells, model.facts["parts"].values(), strict=True):
        told = [float(each) for each in re.fullmatch(r"(\S+) \((\S+) to (\S+)\)", cell).groups()]
        assert told == pytest.approx(part["figures"]["mse"]["difference"], rel=0.005)
        assert cell.startswith("+" if told[0] > 0 else "-")
    assert not re.search(r"[ (]-0(\.0*)?[ )]", shown + printed)


def invoke(*words: Any) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words])


def test_select_writes_the_card_with_what_people_say_about_the_model(runs, tmp_path):
    run, data = tmp_path / "run", tmp_path / "about.toml"
    runs["linear"].save(run)
    data.write_text('owner = "Risk"\nversion = "1.0"\n', encoding="utf-8")
    done = invoke("select", run, "--id", 0, "-o", tmp_path / "model", "--about", data)
    assert done.exit_code == 0, done.output
    model = ff.load(tmp_path / "model")
    assert model.facts["about"] == {"owner": "Risk", "version": "1.0", "use": None, "monitoring": None}
    assert (tmp_path / "model" / "card.md").read_text(encoding="utf-8") == model.card
    assert json.loads((tmp_path / "model" / "card.json").read_text(encoding="utf-8")) == model.facts
    assert (tmp_path / "model" / "card.html").read_text(encoding="utf-8") == page_of(model.facts)
    assert invoke("verify", tmp_path / "model", run).exit_code == 0


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("about.toml", 'owner = "x"\ncolour = "red"', "has 'colour', expected texts under some of owner, version"),
        ("about.toml", "owner = ", "is not TOML"),
    ],
)
def test_files_about_a_model_that_are_refused(runs, tmp_path, file, text, said):
    run = runs["linear"].save(tmp_path / "run")
    (tmp_path / file).write_text(text, encoding="utf-8")
    done = invoke("select", run, "--id", 0, "-o", tmp_path / "model", "--about", tmp_path / file)
    assert done.exit_code != 0
    assert said in " ".join(str(done.exception or done.output).split())
    assert not (tmp_path / "model").exists()


def test_ids_that_were_listed(runs):
    run = runs["linear"]
    model = chosen(run)
    decision = model.facts["decision"]
    assert decision["listed"] == list(run.listed)
    said = "were listed when the run was traced, before the decision of"
    assert f"{said} {decision['at']}: ids {', '.join(map(str, run.listed))}." in model.card


def test_an_edited_card_is_found(runs, tmp_path):
    run = runs["linear"].save(tmp_path / "run")
    model = replace(ff.load(run).select(id=0))
    model.save(tmp_path / "m")
    record = json.loads((tmp_path / "m" / "card.json").read_text())
    record["about"]["owner"] = "somebody else"
    (tmp_path / "m" / "card.json").write_text(json.dumps(record))
    with pytest.raises(InputError):
        ff.load(Path(tmp_path / "m"))


def test_rows_that_cannot_tell_models_apart_are_said_to_be_such():
    data = ff.datasets.load_loans(n=1200, seed=1).frame()
    known: dict[str, Any] = {"target": "outcome", "favourable": "repaid", "progress": False}
    run = ff.trace_table(data, groups="sex,region", cross=True, n_points=4, min_size=10, **known)
    said = indistinct_words(run.frontier, "tpr_gap")
    least = np.nanmin(run.frontier.column("tpr_gap", confidence=0.95))
    assert least >= np.nanmax(run.frontier.column("tpr_gap"))
    assert said.startswith(
        "These 960 rows of held_out and validation cannot distinguish the models by a bound of the TPR gap"
    )
    model, decision = run.decide(least="tpr_gap")
    assert said in decision.notes
    assert said in model.card.replace("\\", "")
    assert not indistinct_words(run.frontier, "tpr_gap", None)


def test_both_parts_list_the_same_gaps_and_name_what_they_are_of(runs):
    for kind in ("linear", "classes"):
        parts = chosen(runs[kind]).facts["parts"]
        listed = [[(each["attribute"], each["figure"]) for each in parts[part]["worst"]] for part in parts]
        assert listed[0] == listed[1]
        for part in parts.values():
            for each in part["worst"]:
                assert ("of" in each) is (each["figure"] in ("odds_gap", "recall_gap")) or each["value"] is None
                if each["figure"].endswith("_gap") and each["value"] is not None:
                    assert len(each["upper_between"]) == 2


@pytest.mark.parametrize("kind", ["classes", "costs"])
def test_lines_of_groups_are_rates_of_the_favourable_label(runs, kind):
    model, rows, asked = chosen(runs[kind]), frame(), KINDS[kind]
    rows = rows.iloc[model.part_rows(rows)]
    good, decided = (each == asked["favourable"] for each in (rows[asked["target"]], model.predict(rows)))
    lines = {line["group"]: line for line in model.facts["parts"]["test"]["groups"]["sex"]}
    for group in ("F", "M"):
        label, said = (each[rows["sex"].to_numpy() == group] for each in (good.to_numpy(), decided))
        line = lines[group]
        assert (line["rows"], line["labelled_favourable"]) == (len(label), label.sum())
        expected = {"selection": said.mean(), "tpr": said[label].mean(), "fpr": said[~label].mean()}
        assert {name: line[name][0] for name in expected} == pytest.approx(expected)
