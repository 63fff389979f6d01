"""The page as text: its data, its policy, what it hides and what it refuses."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

import fairfront as ff
from fairfront.explorer import Details, describe_points, frontier_fragment, write_explorer
from fairfront.explorer.page import SCRIPTS, asset, safe_json
from tests.support.pages import HOSTILE, loans, record_of, unpacked


def test_figures_reach_the_page_bit_by_bit(tmp_path: Path) -> None:
    front, *_ = loans()
    part = record_of(front.to_html(tmp_path / "page.html"))["parts"][0]
    for name in front.column_names():
        np.testing.assert_array_equal(unpacked(part["columns"][name]), front.column(name))
    for name in ("error", "tpr_gap", "selection_gap"):
        np.testing.assert_array_equal(unpacked(part["upper"][name]), front.column(name, confidence=0.95))


def test_policy_allows_the_one_script_and_the_one_style(tmp_path: Path) -> None:
    text = loans()[0].to_html(tmp_path / "page.html").read_text()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy
    assert policy[1].startswith("default-src 'none';")
    assert "unsafe" not in policy[1]
    for tag in ("style", "script"):
        (body,) = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy[1]
    assert set(re.findall(r"https?://[^\"' ]+", text)) == {"http://www.w3.org/2000/svg"}


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_make_text_only_through_text_nodes(name: str) -> None:
    text = asset(name)
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|fetch\(|XMLHttp", text
    )
    assert len(text.splitlines()) <= 300


def test_size_is_that_of_a_small_picture(tmp_path: Path) -> None:
    front, X, y, groups = loans()
    path = write_explorer(front, tmp_path / "page.html", X=X, y=y, sensitive_features=groups)
    assert 60_000 < path.stat().st_size < 300_000


@given(st.text(max_size=60))
def test_json_stays_inside_its_element(text: str) -> None:
    found = safe_json({text: [text, HOSTILE]})
    assert not set("<>&\u2028\u2029") & set(found)
    assert found.isascii()
    assert json.loads(found) == {text: [text, HOSTILE]}


def test_hostile_names_are_escaped_everywhere(tmp_path: Path) -> None:
    front, X, y, groups = loans(HOSTILE)
    path = write_explorer(front, tmp_path / "page.html", X=X, y=y, sensitive_features=groups, title=HOSTILE)
    assert "<img" not in path.read_text()
    assert record_of(path)["title"] == HOSTILE
    assert "<img" not in frontier_fragment(front)


def test_test_rows_stay_out(tmp_path: Path) -> None:
    front, X, y, groups = loans()
    tested = front.evaluate(X, y, sensitive_features=groups, name="test")
    named = [part["name"] for part in record_of(tested.to_html(tmp_path / "a.html"))["parts"]]
    assert named == ["validation", "held_out"]
    with pytest.raises(ff.InputError, match="test rows stay out"):
        tested.to_html(tmp_path / "b.html", on="test")
    with pytest.raises(ff.InputError, match="test rows only"):
        replace(tested, evaluations={"Test 2024": tested.evaluations["test"]}).to_html(tmp_path / "c.html")
    with pytest.raises(ff.InputError, match="test rows stay out"):
        describe_points(front, X, y, sensitive_features=groups, on="test")
    only = replace(tested, evaluations={"test": tested.evaluations["test"]})
    assert "error" not in only._repr_html_()
    assert not list(tmp_path.glob("b.html"))


def test_nothing_is_overwritten_against_the_wish(tmp_path: Path) -> None:
    front = loans()[0]
    path = front.to_html(tmp_path / "page.html")
    before = path.read_text()
    (tmp_path / "notes.txt").write_text("dear")
    (tmp_path / "link.html").symlink_to(tmp_path / "page.html")
    os.mkfifo(tmp_path / "pipe.html")
    for name, options, words in (
        ("page.html", {}, "exists already"),
        ("notes.txt", {}, "exists already"),
        ("notes.txt", {"overwrite": True}, "is not a file that fairfront writes"),
        ("link.html", {"overwrite": True}, "is a link to .*page.html"),
        ("pipe.html", {"overwrite": True}, "is a named pipe"),
        (".", {"overwrite": True}, "is a folder, expected the name of a file"),
        ("deep/page.html", {}, "deep is not a folder, expected one to write 'page.html' into; make it first"),
    ):
        with pytest.raises(ff.InputError, match=words):
            front.to_html(tmp_path / name, **options)
    assert path.read_text() == before
    assert (tmp_path / "notes.txt").read_text() == "dear"
    assert front.to_html(path, title="Again", overwrite=True) == path
    assert path.read_text() != before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link.html", "notes.txt", "page.html", "pipe.html"]


def test_details_in_place_of_rows(tmp_path: Path) -> None:
    front, X, y, groups = loans()
    details = describe_points(front, X, y, sensitive_features=groups)
    again = Details.from_json(details.to_json())
    assert Details.from_json(json.loads(details.to_json())) == again
    with_rows = record_of(write_explorer(front, tmp_path / "a.html", X=X, y=y, sensitive_features=groups))
    assert record_of(write_explorer(front, tmp_path / "b.html", details=again))["details"] == with_rows["details"]
    with pytest.raises(ff.InputError, match="not on this frontier"):
        write_explorer(front, tmp_path / "c.html", details=replace(again, ids=(*again.ids[:-1], 999)))
    with pytest.raises(ff.InputError, match="other fields"):
        Details.from_json('{"version": 99}')
    with pytest.raises(ff.InputError, match="not JSON"):
        Details.from_json("nonsense")
    with pytest.raises(ff.InputError, match="missing"):
        write_explorer(front, tmp_path / "c.html", X=X)


def test_candidates_are_laid_over_only_on_the_same_rows(tmp_path: Path) -> None:
    front, X, y, groups = loans()
    model = LogisticRegression().fit(X, y)
    own = ff.Frontier.from_models({"champion": model}, X, y, sensitive_features=groups, favourable="repaid")
    found = record_of(front.to_html(tmp_path / "a.html", baselines={"ours": own}))["baselines"]
    assert [(b["name"], b["points"]) for b in found] == [("ours", ["champion"])]
    fewer = ff.Frontier.from_models(
        {"champion": model}, X[:400], y[:400], sensitive_features=groups["group"][:400], favourable="repaid"
    )
    with pytest.raises(ff.InputError, match="different rows"):
        front.to_html(tmp_path / "b.html", baselines=fewer)


def test_what_is_laid_over_says_that_it_guesses_the_group(tmp_path: Path) -> None:
    front, X, y, groups = loans()
    known = {"sensitive_features": groups["group"], "favourable": "repaid"}
    rules = ff.trace(X, y, **known, units="rates", n_points=4).evaluate(X, y, sensitive_features=groups["group"])
    plain = ff.trace(X, y, **known, n_points=4).evaluate(X, y, sensitive_features=groups["group"])
    notes = record_of(plain.to_html(tmp_path / "a.html", baselines={"rules": rules}))["facts"]["notes"]
    assert any(said.startswith("rules: The models guess the group") for said in notes)
    assert not any("guess" in said for said in record_of(front.to_html(tmp_path / "b.html"))["facts"]["notes"])


def test_groups_of_few_people_are_on_the_page(tmp_path: Path) -> None:
    data = ff.datasets.load_loans(n=2600, seed=0)
    X, _ = data.matrix("one_hot")
    group = data.columns["group"].astype(object)
    group[1800:1804], group[1810:1813] = "stray", "other stray"
    front = ff.trace(X[:1800], data.y[:1800], sensitive_features={"group": group[:1800]}, n_points=4)
    with pytest.warns(ff.GroupWarning, match="did not have"):
        front = front.evaluate(X[1800:], data.y[1800:], sensitive_features={"group": group[1800:]})
    (part, *_) = record_of(front.to_html(tmp_path / "a.html"))["parts"]
    np.testing.assert_array_equal(unpacked(part["columns"]["tpr_gap"]), front.column("tpr_gap"))
    np.testing.assert_array_equal(unpacked(part["upper"]["tpr_gap"]), front.column("tpr_gap", confidence=0.95))
    assert {"stray", "other stray"} < set(part["attributes"][0]["levels"])


def test_notebook_shows_a_frontier_without_a_script() -> None:
    front = loans()[0]
    text = front._repr_html_()
    assert "<svg" in text
    assert "<table" in text
    assert "<script" not in text
    assert len(text) < 12_000
    bare = replace(front, evaluations={})
    assert "training figures" in bare._repr_html_()


def test_candidates_decide_by_the_rule_of_the_frontier_and_are_judged_like_it(tmp_path: Path) -> None:
    front, X, y, groups = loans()
    model = LogisticRegression().fit(X, y)
    known = {"sensitive_features": groups, "favourable": "repaid"}
    own = ff.Frontier.from_models({"champion": model}, X, y, **known, approval_rate=0.8)
    with pytest.raises(ff.InputError, match=r"different rules \(.*; .*approval rate 0\.8.*\), expected one for both"):
        front.to_html(tmp_path / "a.html", baselines=own)
    bare = ff.trace(X, y, sensitive_features=groups["group"], favourable="repaid", n_points=2, held_out=False)
    with pytest.raises(ff.InputError, match="both frontiers need the evaluation"):
        front.to_html(tmp_path / "b.html", baselines=bare)
