"""The house holds: imports go downward, files stay small, nothing is left to do, public names exist."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import fairfront as ff
from tests.support.places import ROOT

SOURCE = Path(ff.__file__).parent
ORDER = [
    "exceptions",
    "names",
    "records",
    "validation",
    "storage",
    "pareto",
    "objectives",
    "problems",
    "solvers",
    "measures",
    "frontier",
    "solution",
    "tracing",
    "estimators",
    "torch",
    "plots",
    "explorer",
    "datasets",
    "tables",
    "improvability",
    "runs",
    "cli",
    "__main__",
]
LATE = {("frontier", "plots"), ("frontier", "explorer")}
FILES = sorted(SOURCE.rglob("*.py"))
TESTS = [path for path in sorted((ROOT / "tests").rglob("*.py")) if path.name != "waiting.py"]


def room(path: Path) -> str:
    first = path.relative_to(SOURCE).parts[0]
    return first.removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    found = set()
    depth = len(path.relative_to(SOURCE).parts)
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level == depth:
            names = [node.module.split(".")[0]] if node.module else [alias.name for alias in node.names]
            found.update(names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and (node.module or "").startswith("fairfront"):
            pytest.fail(f"{path.name} imports fairfront absolutely")
    return found - {"__version__"}


@pytest.mark.parametrize("path", [p for p in FILES if p.parent != SOURCE or p.name != "__init__.py"], ids=str)
def test_imports_go_downward(path: Path) -> None:
    here = room(path)
    for there in imported_rooms(path):
        assert there in ORDER, f"{there} has no place in the order of rooms"
        if there != here and (here, there) not in LATE:
            below = ORDER.index(there) < ORDER.index(here)
            typing_only = f"if TYPE_CHECKING:\n    from ..{there}" in path.read_text()
            assert below or typing_only, f"{here} imports {there}, which stands above it"


@pytest.mark.parametrize("path", FILES, ids=str)
def test_files_are_small_and_finished(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) <= 300
    assert not re.search(r"TODO|FIXME|XXX", text)
    assert ast.get_docstring(ast.parse(text)), "a module says what it is"


@pytest.mark.slow
@pytest.mark.parametrize(
    "heavy",
    [
        "torch",
        "dask",
        "matplotlib",
        "pandas",
        "polars",
        "pyarrow",
        "moocore",
        "fairlearn",
        "skops",
        "lightgbm",
        "xgboost",
        "catboost",
        "playwright",
        "safetensors",
        "cryptography",
        "torchjd",
    ],
)
def test_optional_packages_are_imported_late(heavy: str) -> None:
    for path in FILES:
        for node in ast.parse(path.read_text()).body:
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module or ""]
            assert not any(name.split(".")[0] == heavy for name in names), f"{path.name} needs {heavy} at import"


def test_commands_import_rooms_when_they_run() -> None:
    code = "import sys, fairfront.cli; print(*{'numpy', 'scipy', 'sklearn'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not done.stdout.strip(), "help is slow: a command imports a room at the top of its file, not in its body"


def test_commands_print_to_one_kind_of_console() -> None:
    makers = [path.name for path in (SOURCE / "cli").glob("*.py") if re.search(r"\bConsole\(", path.read_text())]
    assert makers == ["screen.py"], "print to screen(), which prints names as they are"


WRITERS = re.compile(
    r"\.(write_text|write_bytes|mkdir|makedirs|touch|rmtree|unlink|rename|to_csv|to_parquet|savez\w*|tofile|mkstemp|mkdtemp"
    r"|TemporaryFile|NamedTemporaryFile|TemporaryDirectory|fdopen|memmap|open_memmap)\("
    r"|\bos\.(open|replace|remove|link|symlink)\(|\b(np|numpy|torch)\.save\(|\bsavefig\((?!drawn)"
    r"|\bopen\([^)]*[\"'][rbt]*[wax+][rbt+]*[\"']"
)
ELSEWHERE = {
    "datasets/cache.py": "goes on with a download where it broke off, unpacks it, and takes away what came damaged",
    "problems/dask/problem.py": "tries a temporary folder, makes one in it, which storage writes into, and removes it",
    "runs/decision_chain.py": "takes back a record that lost a race where the system keeps no locks",
}
"""Files besides those of storage that change something on the disk, and why."""


def test_storage_alone_writes_files() -> None:
    """Everything else calls it, so that nothing is overwritten, followed or left half-written anywhere."""
    for path in FILES:
        name = path.relative_to(SOURCE).as_posix()
        writes = bool(WRITERS.search(path.read_text()))
        if room(path) != "storage":
            assert writes == (name in ELSEWHERE), f"{name}: call write_file, writing, write_folder or make_folder"


def test_public_names_are_all_there() -> None:
    for name in ff.__all__:
        assert getattr(ff, name).__doc__, name


def test_private_names_stay_at_home() -> None:
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.level:
                assert not [a.name for a in node.names if a.name.startswith("_") and a.name != "__version__"], path


@pytest.mark.parametrize(
    ("word", "home"), [('require("dask"', "problems/dask"), ('require("torch"', "torch"), ("import torch", "torch")]
)
def test_dask_and_torch_stay_in_their_rooms(word: str, home: str) -> None:
    texts = {path: path.read_text().replace("from . import torch", "") for path in FILES}  # our own room of that name
    strangers = [str(path) for path, text in texts.items() if word in text and home not in path.as_posix()]
    assert not strangers


@pytest.mark.parametrize(
    ("hope", "remedy"),
    [
        (r"\bsleep\(|wait_for_timeout\(", "wait for what can be seen, with until of tests/support/waiting.py"),
        (r"wait_for_function\(", "the page's policy refuses to evaluate its string: Visit.wait_for, or a locator"),
        (r"(?<!Patience\()\btimeout=[\d.]|\.wait\([\d.]", "PATIENCE of tests/support/waiting.py: slow is not wrong"),
        (r"\b(time|perf_counter|monotonic|process_time|thread_time)(_ns)?\(\)", "tests do not look at the clock"),
        (r"\bdefault_rng\(\)|\burandom\(|\bRandomState\(\)", "draw from a fixed seed"),
        (r"(127\.0\.0\.1|localhost|0\.0\.0\.0):[1-9]", "port 0: the system gives one that is free"),
        (r"suppress_health_check\s*=(?!\[HealthCheck\.too_slow)", "the first of the list is HealthCheck.too_slow"),
        (r"\bdeadline=(?!None)", "no deadline: slow is not wrong"),
        (r"^import (pandas|polars|pyarrow) ", "optional of tests/support/extras.py: it need not be installed"),
    ],
)
def test_no_test_hopes(hope: str, remedy: str) -> None:
    """A test that passes on an idle machine passes on a busy one, and the second time too."""
    lines = [(path.name, line.strip()) for path in TESTS for line in path.read_text().splitlines()]
    assert not [f"{name}: {line}" for name, line in lines if re.search(hope, line)], remedy
