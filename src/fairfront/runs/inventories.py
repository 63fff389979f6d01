"""What the folders of a run and of a model hold; folders with anything else in them are never replaced."""

from __future__ import annotations

from ..exceptions import InputError
from ..explorer import Details
from ..frontier.store import KIND as FRONTIER_KIND
from ..storage.checksums import SIGNATURE, Inventory, Known
from ..storage.documents import parse_json
from ..storage.places import CHECKSUMS, MANIFEST, anything
from .decision import DECISIONS, FORMAT
from .manifest import FORMAT as MANIFEST_FORMAT
from .onnx_export import is_graph

LISTS: dict[str, Known] = {CHECKSUMS: anything, SIGNATURE: lambda data: len(data) == 64}


def _of_format(name: str) -> Known:
    """Return what knows a JSON file by the format that it states."""

    def known(data: bytes) -> bool:
        try:
            found = parse_json(data, name)
        except InputError:
            return False
        return isinstance(found, dict) and found.get("format") == name

    return known


def _is_details(data: bytes) -> bool:
    try:
        Details.from_json(data)
    except InputError:
        return False
    return True


def _is_card(data: bytes) -> bool:
    return data.startswith(b"# Model card: id ")


_IS_MANIFEST, _IS_DECISION = _of_format(MANIFEST_FORMAT), _of_format(FORMAT)
RUN = Inventory(
    "run",
    {"frontier/frontier": FRONTIER_KIND, "encoder": "fairfront encoder", "test": "fairfront test figures"},
    {
        MANIFEST: _IS_MANIFEST,
        "details.json": _is_details,
        f"{DECISIONS}/[0-9]*.json": _IS_DECISION,
        **LISTS,
    },
    listed=True,
    growing=DECISIONS,
)
MODEL = Inventory(
    "model",
    {"model": "fairfront model"},
    {MANIFEST: _IS_MANIFEST, "decision.json": _IS_DECISION, "card.md": _is_card, "model.onnx": is_graph, **LISTS},
    listed=True,
)
