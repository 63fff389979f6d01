"""Results as JSON, and the pages that are drawn from them.

Every benchmark makes sections. `save` puts them into benchmarks/results/PAGE.json with command, commit, date and
machine; `draw` writes docs/benchmarks/PAGE.md, the overview docs/benchmarks.md and the README's headline figures from
these files alone, so that pages can be drawn again without running anything.
"""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS, DOCS, README = ROOT / "benchmarks" / "results", ROOT / "docs", ROOT / "README.md"
PAGES = {
    "peers": "Peers",
    "peers-cases": "Peers, case by case",
    "peers-sensitive": "Peers with the sensitive column among the features",
    "rates": "Rates: error at equal gap",
    "promises": "Promises: asked, delivered and kept",
    "alternatives": "Alternatives: is there a fairer model?",
    "boosted-trees": "Boosted trees",
    "networks": "Networks",
    "solvers": "Solvers: answers and cost",
    "tools": "Time and memory of the tools",
    "scale": "Data larger than memory",
    "studies": "Studies: measured once",
}
PACKAGES = ("numpy", "scipy", "scikit-learn", "fairlearn")
OVERVIEW = """# Benchmarks

Answers are compared before times; times are ratios within one run, on a machine of two cores that others use too.
`make bench` runs everything (hours), `python -m benchmarks NAME` one benchmark, `--quick` a small version that writes
nothing. Results are kept in `benchmarks/results/` as JSON; `python -m benchmarks --draw` makes these pages from them.
Every section says its command, commit and date.

Models are chosen on validation rows and reported on test rows. Differences between methods are paired by split, with
95 % intervals that allow for splits sharing rows (Nadeau and Bengio 2003).
"""
HEADLINE = re.compile(r"^(?P<text>.+?)\s*<!-- headline: (?P<name>[\w-]+) -->\s*$", re.MULTILINE)
BLOCK = re.compile(
    r"(?P<begin><!-- headline:begin(?P<names>[\w\s-]*) -->\n)(?P<body>.*?)(?P<end><!-- headline:end -->)", re.DOTALL
)


@dataclass(frozen=True)
class Table:
    """Columns and rows; its text is Markdown."""

    head: list[str]
    rows: list[list[Any]]

    def __str__(self) -> str:
        lines = [self.head, ["---"] * len(self.head), *[[str(cell) for cell in row] for row in self.rows]]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)


@dataclass(frozen=True)
class Section:
    """Part of a page: paragraphs and tables in order. ``summary`` is its sentence in the overview, if it has one."""

    page: str
    title: str
    parts: list[str | Table]
    summary: str = ""

    def __str__(self) -> str:
        return f"## {self.title}\n\n" + "\n\n".join(str(part).strip() for part in self.parts)


def thousands(n: float) -> str:
    """Return a whole number with spaces between thousands."""
    return f"{n:,.0f}".replace(",", " ")


def commit() -> str:
    """Return the commit that is measured, empty outside a repository."""
    asked = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()


def machine() -> str:
    """Say in words what figures are made on."""
    threads = os.environ.get("OMP_NUM_THREADS", "any number of")
    return (
        f"Python {platform.python_version()}, {', '.join(f'{name} {_version(name)}' for name in PACKAGES)}; "
        f"{platform.system()}, {platform.machine()}, {os.cpu_count()} cores, {threads} BLAS thread(s)"
    )


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"


def save(sections: Iterable[Section], command: str) -> None:
    """Put sections into the results of their pages, each in the place of the one with its title.

    Other sections of the same command on these pages are no longer made and go.
    """
    stamp = {"command": command, "commit": commit(), "date": f"{datetime.now(UTC):%Y-%m-%d}", "machine": machine()}
    made = list(sections)
    for page in dict.fromkeys(section.page for section in made):
        new = {section.title: _record(section, stamp) for section in made if section.page == page}
        known = [r for r in stored(page) if r["command"] != command or r["title"] in new]
        records = {record["title"]: record for record in known} | new
        RESULTS.mkdir(exist_ok=True)
        text = json.dumps(list(records.values()), indent=1, ensure_ascii=False)
        (RESULTS / f"{page}.json").write_text(text + "\n")


def publish(sections: Iterable[Section], command: str) -> None:
    """Save sections of runs that were kept before, and draw the pages."""
    save(sections, command)
    draw()


def _record(section: Section, stamp: dict[str, str]) -> dict[str, Any]:
    parts = [vars(part) if isinstance(part, Table) else part for part in section.parts]
    return {"title": section.title, **stamp, "summary": section.summary, "parts": parts}


def stored(page: str) -> list[dict[str, Any]]:
    """Return the records of a page's sections."""
    path = RESULTS / f"{page}.json"
    found: list[dict[str, Any]] = json.loads(path.read_text()) if path.exists() else []
    return found


def pages() -> dict[Path, str]:
    """Return the text of every page by its path, from the stored results alone."""
    known = {page: stored(page) for page in PAGES}
    found = {DOCS / "benchmarks.md": _overview(known)}
    for page, records in known.items():
        body = "\n\n".join(_drawn(page, record) for record in records)
        found[DOCS / "benchmarks" / f"{page}.md"] = f"# {PAGES[page]}\n\n[All benchmarks](../benchmarks.md)\n\n{body}\n"
    return found


def _drawn(page: str, record: dict[str, Any]) -> str:
    section = Section(page, record["title"], [_part(part) for part in record["parts"]])
    note = [record["note"]] if "note" in record else []
    return str(Section(page, section.title, [_stamp(record), *note, *section.parts]))


def _part(part: Any) -> str | Table:
    return part if isinstance(part, str) else Table(**part)


def _stamp(record: dict[str, Any]) -> str:
    return f"`{record['command']}`, commit {record['commit']}, {record['date']}, {record['machine']}"


def _overview(known: dict[str, list[dict[str, Any]]]) -> str:
    rows = []
    for page, records in known.items():
        said = " ".join(record["summary"] for record in records if record["summary"])
        dates = sorted({record["date"] for record in records}) or [""]
        rows.append([f"[{PAGES[page]}](benchmarks/{page}.md)", said, " to ".join(dict.fromkeys([dates[0], dates[-1]]))])
    return f"{OVERVIEW}\n{Table(['page', 'in short', 'measured'], rows)}\n"


def draw() -> None:
    """Write all pages, and the README's headline figures."""
    made = pages()
    for path, text in made.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    README.write_text(with_headlines("\n".join(made.values()), README.read_text()))


def headlines(text: str) -> dict[str, str]:
    """Return the lines that end with <!-- headline: name --> by name, as bullets; a name may stand once."""
    found: dict[str, str] = {}
    for match in HEADLINE.finditer(text):
        if match["name"] in found:
            raise ValueError(f"the headline {match['name']!r} is marked twice, expected once.")
        found[match["name"]] = "- " + match["text"].strip().removeprefix("- ")
    return found


def with_headlines(text: str, readme: str) -> str:
    """Return the README with the block <!-- headline:begin NAMES --> made anew from the marked lines of a text.

    Without names the block holds all of them; a README without the block stays as it is.
    """
    block, known = BLOCK.search(readme), headlines(text)
    if block is None:
        return readme
    names = block["names"].split() or list(known)
    missing = [name for name in names if name not in known]
    if missing:
        raise ValueError(f"the pages have no headline {', '.join(missing)}, expected one of {', '.join(known)}.")
    body = "".join(f"{known[name]}\n" for name in names)
    return BLOCK.sub(lambda found: found["begin"] + body + found["end"], readme)
