"""README code and examples run as they stand, and the README keeps its promises."""

from __future__ import annotations

import re
import runpy
import textwrap
from pathlib import Path

import pytest

from fairfront.objectives import NOTIONS
from tests.support.extras import need
from tests.support.places import ROOT
from tests.support.site import EXTRAS, PAGES

CODE = re.compile(r"^( *)```(?:python|\{picture\}\n:alt: .*)\n(.*?)```", re.DOTALL | re.MULTILINE)
CODED = [page for page in PAGES if CODE.search(page.read_text(encoding="utf-8"))]


@pytest.mark.slow
def test_readme_code_runs(capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert blocks
    space: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), space)
    said = capsys.readouterr().out
    assert "LogisticRegression" in said


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Setting an? (item|value)")  # by fairlearn, of pandas
@pytest.mark.parametrize("page", CODED, ids=lambda p: p.relative_to(ROOT / "docs").as_posix())
def test_code_of_the_guides_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need(*EXTRAS.get(page.name, []))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    space: dict[str, object] = {}
    for _, block in CODE.findall(page.read_text(encoding="utf-8")):
        exec(compile(textwrap.dedent(block), page.name, "exec", dont_inherit=True), space)


@pytest.mark.parametrize("script", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_examples_run(script: Path, capsys) -> None:
    runpy.run_path(str(script), run_name="__main__")
    assert capsys.readouterr().out


def test_readme_starts_with_the_two_commands() -> None:
    head = (ROOT / "README.md").read_text().splitlines()[:6]
    assert any("make demo" in line for line in head)
    assert any("make test" in line for line in head)
    assert "make test" in (ROOT / ".ci" / "run").read_text()


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda p: p.relative_to(ROOT).as_posix())
def test_links_between_pages_hold(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_every_notion_is_on_the_page_that_compares_them() -> None:
    questions, table, _, names = re.split(r"^## ", (ROOT / "docs" / "notions.md").read_text(), flags=re.MULTILINE)[1:]
    for name in NOTIONS:
        assert f"`{name}`" in questions, name
        assert f"`{name}`" in table, name
        named = f"`{name}`" in names or name == "score_covariance"
        assert named or name.endswith("_class_balance"), name
