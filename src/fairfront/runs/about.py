"""What people say of a model in its card, which no run knows: who owns it, which version it is, what it is for."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from ..exceptions import InputError
from ..storage.documents import parse_json, read_bytes
from ..validation import check_mapping, check_text

ABOUT = {"owner": "Owner", "version": "Version", "use": "Intended use", "monitoring": "Monitoring plan"}
"""The fields, and how a card calls them."""
EXPECTED = f"expected texts under some of {', '.join(ABOUT)}"


def check_about(given: Any, where: str = "about") -> dict[str, str]:
    """Return the fields that are not empty, in the order of the card."""
    found = dict(check_mapping({} if given is None else given, where, "{'owner': 'Credit risk', 'version': '1.2'}"))
    for name, text in found.items():
        if name not in ABOUT:
            raise InputError(f"{where} has {name!r}, {EXPECTED}; leave it out.")
        check_text(text, f"{name} of {where}")
    return {name: found[name].strip() for name in ABOUT if found.get(name, "").strip()}


def read_about(file: Path) -> dict[str, str]:
    """Read the fields from a JSON or TOML file, which is known by its name."""
    kind = file.suffix.lower()
    if kind not in (".json", ".toml"):
        raise InputError(f"{file} is called neither .json nor .toml, expected one of them; rename it.")
    data = read_bytes(file)
    if kind == ".json":
        return check_about(parse_json(data, str(file)), str(file))
    try:
        return check_about(tomllib.loads(data.decode("utf-8")), str(file))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{file} is not TOML ({error}), {EXPECTED}; fix it.") from error
