"""The dossier of a search: one folder with a summary for a committee and the whole record, as text, JSON and a page.

All files are made from one record, which has no count below the limit and is made by the sections.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .. import __version__
from ..exceptions import ChangedError
from ..storage.documents import read_json
from ..storage.folders import make_folder, write_file, write_folder
from ..storage.packages import SIGNATURE, check_checksums, checksum_of, write_checksums
from ..storage.places import CHECKSUMS, anything
from ..storage.seals import Inventory, write_signature
from ..validation import check_flag
from .account import TITLE, Checks, Evidence, Limits, Question, Sources, Tried
from .attainable import Attainable
from .dossier_layout import GENERATOR, page_of, text_of
from .drivers import Drivers
from .gains_and_losses import IncumbentAudit, People
from .model_table import Models
from .null_result import NullResult
from .published_curves import Curves
from .sections import Search, Section

FORMAT = "fairfront alternatives 1"
SECTIONS: list[Section] = [
    Question(),
    Sources(),
    IncumbentAudit(),
    Evidence(),
    Tried(),
    Models(),
    People(),
    Curves(),
    Drivers(),
    NullResult(),
    Attainable(),
    Checks(),
    Limits(),
]
"""Sections in their order; what one finds is in the record of those after it too."""
DECISIONS = "decisions"
"""Folder in which choices among the models of the dossier are kept."""
RECORD = "dossier.json"
FILES = ("summary.md", "dossier.md", RECORD, "dossier.html")
INVENTORY = Inventory(
    "dossier",
    files={
        "summary.md": lambda data: data.startswith(f"# {TITLE}".encode()),
        "dossier.md": lambda data: data.startswith(f"# {TITLE}".encode()),
        RECORD: lambda data: f'"format": "{FORMAT}"'.encode() in data,
        "dossier.html": lambda data: GENERATOR.encode() in data,
        f"{DECISIONS}/[0-9]*.json": lambda data: b'"format": "fairfront decision"' in data,
        CHECKSUMS: anything,
        SIGNATURE: lambda data: len(data) == 64,
    },
    listed=True,
    growing=DECISIONS,
)


def record_of(search: Search) -> dict[str, Any]:
    """Return all that the dossier says, as plain values."""
    found: dict[str, Any] = {"format": FORMAT, "fairfront": __version__}
    for section in SECTIONS:
        found |= section.find(search)
    return found


def write_dossier(path: Any, record: Mapping[str, Any], *, overwrite: bool = False, key: Any = None) -> Path:
    """Write the folder, whole or not at all, with a list of checksums, signed where there is a private key."""
    check_flag(overwrite, "overwrite")

    def fill(folder: Path) -> None:
        parts = [part for section in SECTIONS for part in section.parts(record)]
        short = [part for section in SECTIONS for part in section.summary(record)]
        texts = [text_of(short), text_of(parts), json.dumps(record, indent=1, allow_nan=False) + "\n", page_of(parts)]
        for name, text in zip(FILES, texts, strict=True):
            write_file(folder / name, text)
        make_folder(folder / DECISIONS)
        write_checksums(folder)
        if key is not None:
            write_signature(folder, key)

    return write_folder(path, fill, INVENTORY, overwrite=overwrite)


def is_dossier(path: Any) -> bool:
    return (Path(path) / RECORD).is_file()


def read_dossier(path: Any) -> tuple[dict[str, Any], str]:
    """Return the record of a folder, and one checksum of its files but for choices; changed files are refused."""
    folder = Path(path)
    checksum = checksum_of(check_checksums(folder, growing=DECISIONS), (DECISIONS,))
    found = read_json(folder / RECORD)
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise ChangedError(f"{folder / RECORD} is not of the format {FORMAT!r}; search again with this fairfront.")
    return found, checksum
