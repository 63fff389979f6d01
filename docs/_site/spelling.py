"""Check the spelling of all pages: what neither the dictionary nor ``words.txt`` has is named with its page."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
DOCS = HERE.parent
KINDS = ("start", "how-to", "explanation", "reference")
NOT_PROSE = re.compile(
    r"^ *```.*?^ *```|`[^`]*`|\]\([^)]*\)|<!--.*?-->|https?://\S+|^    .*?$", re.DOTALL | re.MULTILINE
)
WORD = re.compile(r"(?<![\w/.-])[A-Za-z][a-z]+(?:'[a-z]+)?(?![\w/(-])")


def words_of(text: str) -> set[str]:
    """Return the words of a page's prose in small letters; code, links and formulas are passed over."""
    return {word.lower() for word in WORD.findall(NOT_PROSE.sub(" ", text))}


def main() -> int:
    """Print unknown words; return 1 if there are any."""
    if importlib.util.find_spec("spellchecker") is None:
        print("pyspellchecker is missing: spelling was not checked")
        return 0
    from spellchecker import SpellChecker

    known = set((HERE / "words.txt").read_text(encoding="utf-8").split())
    checker = SpellChecker(language="en", distance=1)
    pages = [*DOCS.glob("*.md"), *(page for kind in KINDS for page in (DOCS / kind).glob("*.md"))]
    pages += [DOCS.parent / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    found = 0
    for page in sorted(pages):
        words = {word.removesuffix("'s") for word in words_of(page.read_text(encoding="utf-8"))}
        for word in sorted(checker.unknown(words - known)):
            print(f"{page.relative_to(DOCS.parent)}: {word}")
            found += 1
    if not found:
        print(f"{len(pages)} pages read: no unknown word")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
