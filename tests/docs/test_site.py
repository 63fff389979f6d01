"""The site before it is built: every page is reachable; names, settings, statuses and commands have their place."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from fnmatch import fnmatch
from pathlib import Path
from types import ModuleType

import pytest

import fairfront as ff
from fairfront import datasets, pareto
from fairfront.solvers import Status
from tests.support.cli import BELOW_DATA, COMMANDS
from tests.support.places import DATA, ROOT
from tests.support.site import DOCS, PAGES

SOURCE = Path(ff.__file__).parent
REFERENCE = {path.stem: path.read_text(encoding="utf-8") for path in (DOCS / "reference").glob("*.md")}
GALLERY = sorted((ROOT / "examples" / "gallery").glob("plot_*.py"))


def own(name: str) -> ModuleType:
    """Import a module of ``docs/_site``, which is no package."""
    spec = importlib.util.spec_from_file_location(f"site_{name}", DOCS / "_site" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def listed(page: Path) -> list[str]:
    """Return the pages that a page's tables of contents name, patterns resolved."""
    found = []
    for block in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        for line in (line.strip() for line in block.splitlines()):
            if line and not line.startswith(":"):
                place = Path(*[part for part in (page.parent / line).parts if part != "."]).as_posix()
                while "/../" in place:
                    place = re.sub(r"/[^/]+/\.\./", "/", place, count=1)
                found.append(Path(place).relative_to(DOCS).as_posix())
    return found


def test_every_page_can_be_reached() -> None:
    entries = {entry for page in PAGES for entry in listed(page)}
    pages = {page.relative_to(DOCS).with_suffix("").as_posix() for page in DOCS.rglob("*.md") if "_" not in str(page)}
    lost = {page for page in pages - {"index"} if not any(fnmatch(page, entry) for entry in entries)}
    assert not lost, f"no table of contents names {sorted(lost)}"
    wrong = {entry for entry in entries if not any(fnmatch(page, entry) for page in (*pages, "gallery/index"))}
    assert not wrong, f"tables of contents name pages that do not exist: {sorted(wrong)}"


def anchors(page: Path) -> set[str]:
    """Return the names of a page's headings in links, as GitHub and the site make them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    heads = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(DOCS).as_posix())
def test_links_to_headings_hold(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#:]*)#([^)]*)\)", page.read_text(encoding="utf-8")):
        place = page.parent / target if target else page
        assert anchor in anchors(place), f"{target} has no heading {anchor}"


def names_of(text: str) -> set[str]:
    """Return the names of a page's summaries, with their modules."""
    found, module = set(), ""
    for line in text.splitlines():
        if moved := re.match(r"\.\. currentmodule:: ([\w.]+)", line):
            module = moved[1]
        elif name := re.fullmatch(r"   ([A-Za-z][\w.]*)", line):
            found.add(f"{module}.{name[1]}")
    return found


def test_every_public_name_is_in_the_reference() -> None:
    torch = ast.parse((SOURCE / "torch" / "__init__.py").read_text())  # read, because torch may be missing
    (exported,) = [
        ast.literal_eval(node.value)
        for node in torch.body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__"
    ]
    rooms = {"fairfront": ff.__all__, "fairfront.torch": exported}
    rooms |= {"fairfront.datasets": datasets.__all__, "fairfront.pareto": pareto.__all__}
    public = {f"{room}.{name}" for room, names in rooms.items() for name in names}
    apart = {"fairfront.datasets", "fairfront.pareto", "fairfront.datasets.DATASETS", "fairfront.datasets.ORIGINS"}
    assert public - apart <= names_of(REFERENCE["python"])
    assert all(f"`{name.rpartition('.')[2]}`" in REFERENCE["python"] for name in apart if name[-1].isupper())


def test_every_name_of_the_reference_has_its_example() -> None:
    errors = {f"fairfront.{name}" for name in ff.__all__ if name.endswith(("Error", "Warning"))}
    known = own("docstrings").examples()
    assert names_of(REFERENCE["python"]) - errors <= set(known), "docs/reference/examples.md has one for each name"
    assert set(known) <= names_of(REFERENCE["python"])


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason=f"no data in {DATA}")
def test_examples_of_public_data_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRFRONT_DATA", str(DATA))
    space: dict[str, object] = {"ff": ff}
    for name, (_, code) in own("docstrings").examples().items():
        if name.startswith("fairfront.datasets.load_") and name.rpartition("_")[2] not in {"loans", "motor"}:
            exec(compile(code, name, "exec"), space)


def test_every_name_of_the_reference_exists() -> None:
    for name in names_of(REFERENCE["python"]):
        if not name.startswith("fairfront.torch."):
            found: object = ff
            for part in name.split(".")[1:]:
                found = getattr(found, part)


def test_every_setting_is_in_the_reference() -> None:
    text = "".join(path.read_text() for path in SOURCE.rglob("*.py"))
    for variable in sorted(set(re.findall(r"FAIRFRONT_[A-Z]+", text))):
        assert f"`{variable}`" in REFERENCE["settings"], variable
    settings = ast.parse((SOURCE / "problems" / "dask" / "passes.py").read_text())
    (kind,) = [node for node in settings.body if isinstance(node, ast.ClassDef) and node.name == "DaskSettings"]
    for field in (node for node in kind.body if isinstance(node, ast.AnnAssign)):
        assert f"`fairfront.{ast.unparse(field.target)}`" in REFERENCE["settings"]


@pytest.mark.parametrize("status", list(Status))
def test_every_status_is_in_the_reference(status: Status) -> None:
    (line,) = [line for line in REFERENCE["statuses"].splitlines() if line.startswith(f"| `{status.name}` |")]
    told = line.split("|")[2].strip()
    assert told in str(status)


def sentences() -> str:
    """Return the texts of the program; what is filled in is a zero byte."""
    found = []
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.JoinedStr):
                parts = [each.value if isinstance(each, ast.Constant) else "\0" for each in node.values]
                found.append("".join(map(str, parts)))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
    return "\n".join(found)


def test_errors_of_the_reference_are_those_of_the_program() -> None:
    known = sentences()
    asked = re.findall(r"^\| `([^`]+)` \|", REFERENCE["errors"], re.MULTILINE)
    assert len(asked) > 30
    for text in asked:
        for part in text.split("..."):
            assert part.strip() in known, f"no text of the program has {part.strip()!r}"


def test_citations_name_this_version() -> None:
    assert f"version = {{{ff.__version__}}}" in REFERENCE["citing"]
    assert f"version: {ff.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_every_command_is_listed_with_its_options() -> None:
    text = own("program").commands_page()
    for command in (*COMMANDS[:-1], *(f"data {each}" for each in BELOW_DATA)):
        assert f"# fairfront {command}\n" in text
    assert "--approval-rate" in text
    assert "\x1b" not in text


def test_commands_of_a_session_may_go_over_several_lines() -> None:
    program = own("program")
    assert program.commands_of(["a \\", "  b", "", "c"]) == ["a \\\n  b", "c"]


def test_columns_of_docstrings_stay_columns() -> None:
    readable = own("docstrings").readable
    assert readable(["What |z| is.", "", "one    first", "two    second"]) == [
        *("What \\|z\\| is.", "", "::", ""),
        *("    one    first", "    two    second", ""),
    ]


def test_what_comes_from_another_host_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text('<script src="_static/a.js"></script><a href="https://fairlearn.org">x</a><img src="a.png">')
    outside = own("offline").outside
    assert not outside(tmp_path)
    page.write_text('<script async src="https://cdn.example/mathjax.js"></script>')
    (tmp_path / "style.css").write_text("@font-face { src: url(//fonts.example/a.woff) }")
    assert len(outside(tmp_path)) == 2


def test_the_list_for_programs_names_every_page() -> None:
    text = own("twins").listing({"start/csv": ("Five minutes", "From a file."), "method": ("How it works", "")})
    assert "## Start\n\n- [Five minutes](start/csv.txt): From a file." in text
    assert "- [How it works](method.txt)" in text


def test_spelling_reads_prose_alone() -> None:
    page = "# Two words\n\nRead `this_code` and [a link](there.md).\n\n```python\nnotprose = 1\n```\n\n    z = psi\n"
    assert own("spelling").words_of(page) == {"two", "words", "read", "and", "link"}
    words = (DOCS / "_site" / "words.txt").read_text().split()
    assert words == sorted(set(words))


def test_pages_have_no_unknown_word(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("spellchecker", reason="the spelling of pages needs pyspellchecker")
    assert own("spelling").main() == 0, capsys.readouterr().out


def test_the_gallery_is_large_enough_and_its_examples_are_short() -> None:
    assert len(GALLERY) >= 12
    for path in GALLERY:
        text = path.read_text(encoding="utf-8")
        compile(text, path.name, "exec")
        title, line, *_ = (ast.get_docstring(ast.parse(text)) or "").splitlines()
        assert line == "=" * len(title), f"{path.name} begins with a title"
        assert len(text.splitlines()) <= 80, path.name
        assert "plt.show()" in text
        assert "fetch" not in text


@pytest.mark.skipif(sys.platform == "win32", reason="sessions are those of a POSIX shell")
@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if "{session}" in page.read_text()], ids=lambda p: p.stem)
def test_sessions_run(page: Path, tmp_path: Path) -> None:
    program = own("program")
    for code, block in re.findall(
        r"^ *```\{session\}\n((?: *:[^\n]*\n)*)(.*?)```", page.read_text(), re.DOTALL | re.MULTILINE
    ):
        wanted = int(found[1]) if (found := re.search(r":code: (\d+)", code)) else 0
        for words in program.commands_of([line.strip() for line in block.splitlines()]):
            program.run_command(words, tmp_path, wanted)
    for name in re.findall(r"```\{live\} (\S+)", page.read_text()):
        assert (tmp_path / "home" / name).is_file()
