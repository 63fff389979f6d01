"""The README's headline figures are those of docs/benchmarks.md."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
headline = pytest.importorskip("benchmarks.headline", reason="the benchmarks are not part of this installation")

PAGE = "# x\n\n- Nine times as fast. <!-- headline: speed -->\ntext\nError .15 (95 %). <!-- headline: error -->\n"


def test_marked_lines_are_found_by_name() -> None:
    assert headline.headlines(PAGE) == {"speed": "- Nine times as fast.", "error": "- Error .15 (95 %)."}


def test_the_block_is_made_from_the_page() -> None:
    readme = "a\n<!-- headline:begin -->\nold\n<!-- headline:end -->\nb\n"
    made = headline.rendered(PAGE, readme)
    assert made == readme.replace("old\n", "- Nine times as fast.\n- Error .15 (95 %).\n")
    assert headline.rendered(PAGE, made) == made


def test_a_block_may_name_what_it_shows() -> None:
    readme = "<!-- headline:begin error -->\n<!-- headline:end -->"
    assert "Nine" not in headline.rendered(PAGE, readme)
    with pytest.raises(ValueError, match="no headline price"):
        headline.rendered(PAGE, readme.replace("error", "price"))


def test_a_name_stands_once() -> None:
    with pytest.raises(ValueError, match="marked twice"):
        headline.headlines(PAGE + PAGE)


def test_the_readme_says_what_the_page_says() -> None:
    readme = headline.README.read_text()
    if headline.wanted(readme) is None:
        pytest.skip("README.md has no block <!-- headline:begin --> ... <!-- headline:end -->")
    assert headline.rendered(headline.PAGE.read_text(), readme) == readme, "run: python -m benchmarks.headline"
