"""A small checker for JSON Schema: the words that fairfront's own schema uses, and a refusal of all others."""

from __future__ import annotations

from typing import Any

KINDS: dict[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "null": type(None),
    "integer": int,
    "number": (int, float),
}
SAID = {"$schema", "title", "description", "$defs"}
KNOWN = {
    *("type", "properties", "required", "additionalProperties", "items", "minItems", "maxItems"),
    *("enum", "const", "oneOf", "$ref"),
}


def faults(value: Any, schema: dict[str, Any], root: dict[str, Any] | None = None, where: str = "") -> list[str]:
    """Return what does not fit, each with its place."""
    root = schema if root is None else root
    assert set(schema) <= KNOWN | SAID, set(schema) - KNOWN - SAID
    if "$ref" in schema:
        return faults(value, root["$defs"][schema["$ref"].rpartition("/")[2]], root, where)
    found = []
    kinds = schema.get("type", [])
    if kinds and not any(_is(value, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds)):
        return [f"{where}: {value!r} is not {kinds}"]
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{where}: {value!r} is not one of {schema['enum']}")
    if "const" in schema and value != schema["const"]:
        found.append(f"{where}: {value!r} is not {schema['const']!r}")
    if "oneOf" in schema:
        tried = [faults(value, each, root, where) for each in schema["oneOf"]]
        if sum(not each for each in tried) != 1:
            found += [said for each in tried for said in each] or [f"{where}: fits more than one"]
    if isinstance(value, dict):
        own = schema.get("properties", {})
        found += [f"{where}: lacks {name}" for name in schema.get("required", []) if name not in value]
        for name, each in value.items():
            rest = schema.get("additionalProperties", True)
            if name in own or isinstance(rest, dict):
                found += faults(each, own.get(name, rest), root, f"{where}/{name}")
            elif not rest:
                found.append(f"{where}: has {name}")
    if isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            found.append(f"{where}: {len(value)} items")
        for i, each in enumerate(value):
            found += faults(each, schema.get("items", {}), root, f"{where}/{i}")
    return found


def _is(value: Any, kind: str) -> bool:
    return isinstance(value, KINDS[kind]) and (kind == "boolean" or not isinstance(value, bool))
