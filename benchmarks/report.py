"""Write figures into docs/benchmarks.md, one section per benchmark, each with the command that made it."""

from __future__ import annotations

import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path

from .timing import machine

PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks.md"
HEAD = """# Benchmarks

Figures are ratios measured in one run; answers are compared before times. Each section names its command.
Sections are written by the benchmarks themselves.
"""


def table(head: list[str], rows: list[list[object]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *[[str(cell) for cell in row] for row in rows]]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def commit() -> str:
    """Return the commit that is measured, with a comma, or nothing outside a repository."""
    asked = ["git", "-C", str(PAGE.parent), "rev-parse", "--short", "HEAD"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    return f"commit {done.stdout.strip()}, " if done.returncode == 0 else ""


def write_section(title: str, command: str, body: str) -> None:
    """Replace or add one section of the page."""
    page = PAGE.read_text() if PAGE.exists() else HEAD
    stamp = f"`{command}`, {commit()}{datetime.now(UTC):%Y-%m-%d}, {machine()}"
    section = f"## {title}\n\n{stamp}\n\n{body.strip()}\n"
    pattern = re.compile(rf"^## {re.escape(title)}\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
    page = pattern.sub(lambda _: section + "\n", page) if pattern.search(page) else f"{page.rstrip()}\n\n{section}"
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page.rstrip() + "\n")
    print(section)
