"""The pages of benchmarks, and the README's headline figures, are drawn from the stored results."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

report = pytest.importorskip("benchmarks.report", reason="the benchmarks are not part of this installation")

PAGE = "# x\n\n- Nine times as fast. <!-- headline: speed -->\ntext\nError .15 (95 %). <!-- headline: error -->\n"


def test_marked_lines_are_found_by_name() -> None:
    assert report.headlines(PAGE) == {"speed": "- Nine times as fast.", "error": "- Error .15 (95 %)."}


def test_the_block_is_made_from_the_page() -> None:
    readme = "a\n<!-- headline:begin -->\nold\n<!-- headline:end -->\nb\n"
    made = report.with_headlines(PAGE, readme)
    assert made == readme.replace("old\n", "- Nine times as fast.\n- Error .15 (95 %).\n")
    assert report.with_headlines(PAGE, made) == made


def test_a_block_may_name_what_it_shows() -> None:
    readme = "<!-- headline:begin error -->\n<!-- headline:end -->"
    assert "Nine" not in report.with_headlines(PAGE, readme)
    with pytest.raises(ValueError, match="no headline price"):
        report.with_headlines(PAGE, readme.replace("error", "price"))


def test_a_name_stands_once() -> None:
    with pytest.raises(ValueError, match="marked twice"):
        report.headlines(PAGE + PAGE)


def test_pages_are_drawn_from_the_stored_results() -> None:
    for path, text in report.pages().items():
        assert path.read_text() == text, "run: python -m benchmarks --draw"


def test_the_readme_says_what_the_pages_say() -> None:
    readme = report.README.read_text()
    assert report.BLOCK.search(readme)
    assert report.with_headlines("\n".join(report.pages().values()), readme) == readme, (
        "run: python -m benchmarks --draw"
    )


def test_a_section_takes_the_place_of_the_one_with_its_title(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    for figure, titles in (("1", "wxy"), ("2", "xy")):
        made = [report.Section("tools", title, ["words", report.Table(["a"], [[figure]])]) for title in titles]
        report.save(made, "python -m benchmarks z")
    assert [record["title"] for record in report.stored("tools")] == ["x", "y"]
    text = report.pages()[report.DOCS / "benchmarks" / "tools.md"]
    assert text.count("| 2 |") == 2
    assert "| 1 |" not in text
    assert text.count("`python -m benchmarks z`, commit ") == 2


def test_every_section_has_a_benchmark_that_makes_it_or_is_a_study() -> None:
    known = importlib.import_module("benchmarks.__main__")
    named = {f"python -m benchmarks {name}" for name in (*known.BENCHMARKS, *known.MORE)}
    for page in report.PAGES:
        for record in report.stored(page):
            assert record["command"] in named or record["note"].startswith("A study"), record["title"]
    for place in (*known.BENCHMARKS.values(), *known.MORE.values()):
        assert importlib.util.find_spec(f"benchmarks.{place.partition(':')[0]}"), place
