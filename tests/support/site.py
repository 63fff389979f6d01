"""The pages of the site that are written by hand: guides, and those of its four kinds."""

from __future__ import annotations

from tests.support.places import ROOT

DOCS = ROOT / "docs"
KINDS = ("start", "how-to", "explanation", "reference")
PAGES = [*sorted(DOCS.glob("*.md")), *(page for kind in KINDS for page in sorted((DOCS / kind).glob("*.md")))]
EXTRAS = {
    "scale.md": ["dask"],
    "torch.md": ["torch"],
    "networks.md": ["torch"],
    "move.md": ["fairlearn"],
    "reading.md": ["matplotlib"],
    "frontier.md": ["matplotlib"],
    "python.md": ["pandas"],
    "examples.md": ["pandas"],
    "examples-torch.md": ["torch"],
    "small-groups.md": ["pandas"],
    "production.md": ["pandas"],
}
"""What the code of a page needs besides the core."""
