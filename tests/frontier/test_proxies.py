"""Groups given as probabilities: gaps are attenuated, and every output says so."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from typer.testing import CliRunner

import fairfront as ff
from fairfront.cli import app
from fairfront.estimators.scorers import GroupScore
from fairfront.measures.evaluation import Evaluation
from tests.support.cli import fairfront
from tests.support.extras import optional
from tests.support.searches import trace

pd = optional("pandas")

SAID = r"race are given as probabilities.*usually understate gaps between people"


def people(n: int = 20_000, seed: int = 5) -> dict[str, Any]:
    """Draw the true group of each person from calibrated proxies, and decisions that depend on the true group."""
    random = np.random.default_rng(seed)
    p = random.choice([0.2, 0.4, 0.6], n)
    black = random.random(n) < p
    y = (random.random(n) < 0.5).astype(int)
    approved = random.random(n) < np.where(black, 0.4, 0.6)
    return {
        "race": np.where(black, "Black", "White"),
        "proxy": ff.GroupProbabilities({"Black": p, "White": 1 - p}, name="race"),
        "y": y,
        "decided": approved.astype(int),
        "X": np.column_stack([random.normal(size=n), approved + random.normal(size=n)]),
        "p": p,
    }


ROWS = people()


def small(n: int = 1_500) -> dict[str, Any]:
    return {k: v.take(np.arange(n)) if isinstance(v, ff.GroupProbabilities) else v[:n] for k, v in ROWS.items()}


def told(call: Any) -> tuple[Any, list[str]]:
    """Return what a call returns, and its warnings of proxies."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = call()
    return found, [str(each.message) for each in caught if issubclass(each.category, ff.ProxyWarning)]


@pytest.fixture(scope="module")
def audits() -> tuple[ff.Audit, ff.Audit]:
    true = ff.audit(ROWS["y"], ROWS["decided"], sensitive_features={"race": ROWS["race"]})
    with pytest.warns(ff.GroupWarning, match=SAID):
        proxy = ff.audit(ROWS["y"], ROWS["decided"], sensitive_features=ROWS["proxy"])
    return true, proxy


def test_the_proxies_are_calibrated() -> None:
    for p in np.unique(ROWS["p"]):
        assert (ROWS["race"] == "Black")[ROWS["p"] == p].mean() == pytest.approx(p, abs=0.015)


def test_gaps_of_probabilities_are_attenuated(audits: tuple[ff.Audit, ff.Audit]) -> None:
    true, proxy = (found.worst["race"] for found in audits)
    assert true["tpr_gap"].value == pytest.approx(0.2, abs=0.02)
    assert true["selection_ratio"].value == pytest.approx(2 / 3, abs=0.04)
    assert proxy["tpr_gap"].value == pytest.approx(0.02, abs=0.015)
    assert proxy["selection_ratio"].value > 0.93


def test_the_difference_is_the_covariance_given_the_proxy() -> None:
    """Chen, Kallus, Mao, Svacha and Udell 2019: E[cov(member, decision | proxy)] / P(group)."""
    member, decided, p = ROWS["race"] == "Black", ROWS["decided"], ROWS["p"]
    inside = 0.0
    for level in np.unique(p):
        rows = p == level
        inside += rows.mean() * np.cov(member[rows], decided[rows], ddof=0)[0, 1]
    weighted = (p * decided).sum() / p.sum()
    assert weighted == pytest.approx(decided[member].mean() - inside / member.mean(), abs=0.005)


def test_every_output_of_an_audit_says_it(audits: tuple[ff.Audit, ff.Audit]) -> None:
    true, proxy = audits
    shown = proxy.to_dict()
    assert shown["proxies"] == ["race"]
    for text in (" ".join(proxy.sentences), json.dumps(shown), proxy._repr_html_()):
        assert re.search(SAID, text)
    assert "race (probabilities)" in repr(proxy)
    assert proxy.to_frame()["notes"][0].startswith("a mean weighted by probabilities")
    assert not proxy.to_frame()["notes"].iloc[-1]
    assert true.to_dict()["proxies"] == []
    assert not re.search("probabilities", json.dumps(true.to_dict()["sentences"]))


@pytest.mark.parametrize("text", ["selection_ratio.lower>=0.80", "tpr_gap.upper<=0.05", "tpr_gap<=0.5", "tpr_gap>=0.5"])
def test_a_requirement_on_proxies_is_inconclusive(text: str, audits: tuple[ff.Audit, ff.Audit]) -> None:
    (verdict,) = audits[1].check(text)
    assert verdict.outcome == "inconclusive"
    assert "between groups given as probabilities, not between people" in verdict.sentence


def test_a_requirement_on_all_rows_is_judged(audits: tuple[ff.Audit, ff.Audit]) -> None:
    assert audits[1].check("error<=0.9")[0].outcome == "met"
    assert audits[1].check("error<=0.1")[0].outcome == "not met"


def test_a_frontier_says_it_wherever_it_is_shown(tmp_path: Path) -> None:
    rows = small()
    known = {"sensitive_features": rows["proxy"]}
    front, said = told(lambda: trace(rows["X"], rows["y"], n_points=3, progress=False, **known))
    assert len(said) == 1
    front, said = told(lambda: front.evaluate(rows["X"], rows["y"], **known))
    assert len(said) == 1
    assert front.facts.proxies == front.evaluations["validation"].proxies == ("race",)
    assert re.search(SAID, front.facts.sentences[-1])
    assert front.sentences == front.facts.sentences
    assert "groups of race are probabilities" in repr(front)
    assert re.search(SAID, front._repr_html_())
    assert re.search(SAID, front.to_html(tmp_path / "page.html").read_text())
    front.save(tmp_path / "front")
    again = ff.load(tmp_path / "front")
    assert again.proxies == ("race",)
    assert isinstance(again.evaluations["validation"], Evaluation)
    assert again.evaluations["validation"].proxies == ("race",)
    _, said = told(lambda: front.select(least="tpr_gap", within={"error": 0.01}))
    assert len(said) == 1
    _, said = told(lambda: front.select(id=0))
    assert not said


def test_a_frontier_judged_by_proxies_says_it() -> None:
    rows = small()
    front = ff.trace(rows["X"], rows["y"], sensitive_features={"race": rows["race"]}, n_points=3, progress=False)
    assert front.proxies == ()
    front = told(lambda: front.evaluate(rows["X"], rows["y"], sensitive_features=rows["proxy"]))[0]
    assert front.facts.proxies == ()
    assert front.proxies == ("race",)
    assert re.search(SAID, front.sentences[-1])
    assert re.search(SAID, front._repr_html_())


def test_other_calls_warn_once() -> None:
    rows = small()
    X, y, proxy = rows["X"], rows["y"], rows["proxy"]
    model = LogisticRegression().fit(X, y)
    front = ff.trace(X, y, sensitive_features={"race": rows["race"]}, n_points=3, progress=False)
    calls = [
        lambda: ff.Frontier.from_models({"m": model}, X, y, sensitive_features=proxy),
        lambda: ff.ParetoFairClassifier().fit(X, y, sensitive_features=proxy),
        lambda: ff.FrontierClassifier(n_points=3).fit(X, y, sensitive_features=proxy),
        lambda: trace(X, y, sensitive_features=proxy, estimator=LogisticRegression(), max_fits=3, progress=False),
        lambda: front.calibration(0, X, y, sensitive_features=proxy),
        lambda: front.explain(0, 1, X, y, sensitive_features=proxy),
        lambda: GroupScore("tpr_gap")(y, model.predict(X), sensitive_features=proxy),
    ]
    for call in calls:
        assert len(told(call)[1]) == 1


def test_candidates_judged_by_proxies_say_it() -> None:
    rows = small()
    front, _ = told(
        lambda: ff.Frontier.from_scores({"d": rows["decided"]}, rows["y"], sensitive_features=rows["proxy"])
    )
    assert front.facts.proxies == ("race",)
    assert re.search(SAID, front.sentences[-1])


def proxy_file(folder: Path, n: int = 2_000) -> Path:
    rows = small(n)
    frame = pd.DataFrame({"y": rows["y"], "d": rows["decided"], "x": rows["X"][:, 0], "z": rows["X"][:, 1]})
    frame["p_black"], frame["p_white"] = rows["p"].round(3), (1 - rows["p"]).round(3)
    frame.to_csv(folder / "people.csv", index=False)
    return folder / "people.csv"


def run(*words: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ff.ProxyWarning)
        return CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "400"})


AUDIT = ("--label", "y", "--decision", "d", "--favourable", 1, "--group-probabilities", "p_black,p_white")


def test_the_command_audits_probabilities(tmp_path: Path) -> None:
    path = proxy_file(tmp_path)
    done = run("audit", path, *AUDIT, "--require", "selection_ratio.lower>=0.80")
    assert done.exit_code == 4, done.output
    assert done.output.count("Groups of group are given as probabilities") == 1
    assert "selection_ratio.lower>=0.80 is inconclusive" in done.output
    shown = json.loads(run("audit", path, *AUDIT, "--json").stdout)
    assert shown["proxies"] == ["group"]
    assert shown["tables"]["group"]["group"][:2] == ["p_black", "p_white"]
    assert "choose another with --ref p_black" in done.output
    marked = json.loads(run("audit", path, *AUDIT[:-1], "p_black:ref,p_white", "--json").stdout)
    assert json.loads(run("audit", path, *AUDIT, "--ref", "p_black", "--json").stdout) == marked
    assert marked["tables"]["group"]["group"][:2] == ["p_white", "p_black"]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (("--groups", "d", "--group-probabilities", "p_black,p_white"), "exactly one of --groups and --group-prob"),
        ((), "exactly one of --groups and --group-probabilities"),
        (("--group-probabilities", "p_black"), "expected two or more different columns"),
        (("--group-probabilities", "p_black,p_black"), "expected two or more different columns"),
        (("--group-probabilities", "p_black:ref,p_white:ref"), "at most one of them marked"),
        (("--group-probabilities", "p_black,p_grey"), "--group-probabilities names 'p_grey'"),
        (("--group-probabilities", "p_black,x"), "between 0 and 1"),
        (("--group-probabilities", "p_black,y"), "must sum to 1 in every row"),
    ],
)
def test_columns_that_are_no_probabilities_are_refused(tmp_path: Path, given: tuple[str, ...], text: str) -> None:
    words = ("--label", "d", "--decision", "d", "--favourable", 1, *given)
    said = fairfront("audit", proxy_file(tmp_path, 300), *words, code=2)
    assert said.splitlines()[-1].startswith("fairfront: ")
    assert text in said


def test_missing_probabilities_are_refused(tmp_path: Path) -> None:
    path = proxy_file(tmp_path, 300)
    frame = pd.read_csv(path)
    frame.loc[[3, 7], "p_black"] = np.nan
    frame.to_csv(path, index=False)
    done = run("audit", path, *AUDIT)
    assert "column 'p_black' is missing in 2 rows (first in row 4)" in str(done.exception)


TRACE = ("--target", "y", "--favourable", 1, "--group-probabilities", "p_black,p_white:ref", "--drop", "d")


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Any]:
    folder = tmp_path_factory.mktemp("proxies")
    path = proxy_file(folder)
    return path, folder / "run", run("trace", path, *TRACE, "-o", folder / "run")


def test_the_command_traces_with_probabilities(traced: tuple[Path, Path, Any]) -> None:
    path, folder, done = traced
    assert done.exit_code == 0, done.output
    assert "Random split, stratified by label: 60 % train" in done.output
    assert "the split keeps the proportions of labels alone" in done.output
    assert "usually understate gaps between people" in done.output
    found = ff.load(folder)
    assert found.frontier.proxies == ("group",)
    assert dict(found.frontier.facts.sensitive)["group"] == ("p_black", "p_white")
    assert found.manifest["features"] == ["x", "z"]
    assert found.manifest["settings"]["group_probabilities"] == ["p_black", "p_white"]
    assert "probabilities" in found.manifest["sensitive"]["evaluation"]
    shown = run("show", folder)
    assert "usually understate gaps between people" in shown.output
    assert "understate" in json.loads(run("show", folder, "--json").stdout)["notes"][0]
    assert "understate" in found.to_html(folder.parent / "page.html").read_text()
    assert run("verify", folder, path).exit_code == 0


def test_a_model_chosen_by_probabilities_says_so(traced: tuple[Path, Path, Any]) -> None:
    path, folder, _ = traced
    model = folder.parent / "model"
    done = run("select", folder, "--least-gap", "tpr", "--within", "error=0.01", "-o", model)
    assert done.exit_code == 0, done.output
    assert "usually understate gaps between people" in done.output
    card = (model / "card.md").read_text()
    assert "usually understate gaps between people" in card
    assert " are given as probabilities: rows are counted by their shares." in card
    test = json.loads((model / "card.json").read_text())["parts"]["test"]
    said = "What gaps between people can be on test, if probabilities are right"
    assert (said in card) == ("bounds" in test)
    assert ("Bounds on gaps between people are not given: a group has a small count" in card) != ("bounds" in test)
    assert "understate" in json.loads((model / "decision.json").read_text())["notes"][0]
    decided = run("predict", model, path, "-o", folder.parent / "decided.csv")
    assert decided.exit_code == 0, decided.output


@pytest.mark.parametrize("option", ["--cross", "--use-sensitive"])
def test_what_probabilities_cannot_do_is_said(tmp_path: Path, option: str) -> None:
    done = run("trace", proxy_file(tmp_path, 300), *TRACE, option, "-o", tmp_path / "run")
    assert "needs the group of every row, found group_probabilities" in str(done.exception)


def test_a_table_warns_once(tmp_path: Path) -> None:
    path = proxy_file(tmp_path, 900)
    options: dict[str, Any] = {"target": "y", "favourable": 1, "drop": "d", "progress": False}
    found, said = told(lambda: ff.trace_table(path, group_probabilities="p_black,p_white", **options))
    assert len(said) == 1
    assert found.frontier.proxies == ("group",)
