"""The house holds: imports go downward, optional packages are imported late, public names exist."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import fairfront as ff

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


def test_public_names_are_all_there() -> None:
    for name in ff.__all__:
        assert getattr(ff, name).__doc__, name
