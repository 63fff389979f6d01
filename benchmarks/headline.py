"""The README's headline figures: sentences that docs/benchmarks.md marks, taken over word by word.

A line of the page that ends with <!-- headline: name --> is a headline. The README has a block between
<!-- headline:begin --> and <!-- headline:end -->; its first marker may name which: <!-- headline:begin a b c -->.

python -m benchmarks.headline    writes the README's block
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE, README = ROOT / "docs" / "benchmarks.md", ROOT / "README.md"
LINE = re.compile(r"^(?P<text>.+?)\s*<!-- headline: (?P<name>[\w-]+) -->\s*$", re.MULTILINE)
BLOCK = re.compile(
    r"(?P<begin><!-- headline:begin(?P<names>[\w\s-]*) -->\n)(?P<body>.*?)(?P<end><!-- headline:end -->)", re.DOTALL
)


def headlines(page: str) -> dict[str, str]:
    """Return the marked lines of a page by name, as bullets; a name may stand once."""
    found: dict[str, str] = {}
    for match in LINE.finditer(page):
        if match["name"] in found:
            raise ValueError(f"the headline {match['name']!r} is marked twice, expected once.")
        found[match["name"]] = "- " + match["text"].strip().removeprefix("- ")
    return found


def wanted(readme: str) -> list[str] | None:
    """Return the names that the README asks for, empty for all, None without a block."""
    block = BLOCK.search(readme)
    return None if block is None else block["names"].split()


def rendered(page: str, readme: str) -> str:
    """Return the README with its block made anew from the page."""
    names, known = wanted(readme), headlines(page)
    if names is None:
        return readme
    missing = [name for name in names if name not in known]
    if missing:
        raise ValueError(f"the page has no headline {', '.join(missing)}, expected one of {', '.join(known)}.")
    body = "".join(f"{known[name]}\n" for name in (names or known))
    return BLOCK.sub(lambda block: block["begin"] + body + block["end"], readme)


def main() -> None:
    """Write the README's block."""
    README.write_text(rendered(PAGE.read_text(), README.read_text()))


if __name__ == "__main__":
    main()
