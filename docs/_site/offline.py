"""Nothing on a page comes from another host: scripts, styles, fonts, pictures and frames are all in the site."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ELSEWHERE = re.compile(
    r"<(?:script|img|iframe|source|video|audio)\b[^>]*\bsrc=[\"'](?:https?:)?//[^\"']*"
    r"|<link\b(?=[^>]*rel=[\"'](?:stylesheet|preload|preconnect|icon|dns-prefetch|modulepreload))[^>]*href=[\"'](?:https?:)?//[^\"']*"
)
STYLED = re.compile(r"@import\s+[\"'(]*(?:https?:)?//[^\"')]*|url\(\s*[\"']?(?:https?:)?//[^\"')]*")


def outside(folder: Path) -> list[str]:
    """Return what pages and styles would load from elsewhere, with the file that asks for it."""
    found = []
    for kind, pattern in (("*.html", ELSEWHERE), ("*.css", STYLED)):
        for path in sorted(folder.rglob(kind)):
            text = path.read_text(encoding="utf-8", errors="replace")
            found += [f"{path.relative_to(folder)}: {each}" for each in pattern.findall(text)]
    return found


def setup(app: Any) -> dict[str, bool]:
    """Look at the complete site; what comes from elsewhere is an error."""

    def look(app: Any, error: Exception | None) -> None:
        found = outside(Path(app.outdir)) if error is None and app.builder.format == "html" else []
        if found:
            raise RuntimeError("loaded from another host:\n" + "\n".join(found[:20]))

    app.connect("build-finished", look, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
