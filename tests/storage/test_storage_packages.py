"""Packages of JSON and arrays come back as they were, and never load damaged."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import shutil
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import fairfront as ff
from fairfront.storage import read_package, write_file, write_package
from fairfront.storage.documents import pack

KIND = "fairfront thing"
CONTENT = {"label": "yes", "share": 0.1, "bad": [math.nan, math.inf, -math.inf], "none": None, "deep": {"$float": "x"}}
ARRAYS = {"coef": np.arange(6.0).reshape(2, 3), "sure": np.array([True, False]), "one": np.array(3)}
LENIENT = settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])


@pytest.fixture
def package(tmp_path) -> Path:
    write_file(tmp_path / "more.bin", b"more")
    write_package(tmp_path, "thing", KIND, CONTENT, ARRAYS, files=("more.bin",))
    return tmp_path


def same(one: Any, two: Any) -> bool:
    """Compare nested values by type and value, with NaN equal to NaN and tuples as lists."""
    if isinstance(one, float) and isinstance(two, float):
        return (one == two and math.copysign(1, one) == math.copysign(1, two)) or (one != one and two != two)
    if isinstance(one, dict) and isinstance(two, dict):
        return one.keys() == two.keys() and all(same(one[k], two[k]) for k in one)
    if isinstance(one, (list, tuple)) and isinstance(two, (list, tuple)):
        return len(one) == len(two) and all(map(same, one, two))
    return type(one) is type(two) and one == two


def equal_arrays(one: dict, two: dict) -> bool:
    return one.keys() == two.keys() and all(
        one[k].dtype == two[k].dtype and one[k].shape == two[k].shape and one[k].tobytes() == two[k].tobytes()
        for k in one
    )


def test_a_package_comes_back_as_it_was(package) -> None:
    content, arrays = read_package(package, "thing", KIND)
    assert same(content, CONTENT)
    assert equal_arrays(arrays, ARRAYS)


def test_a_package_needs_no_fairfront_to_be_read(package) -> None:
    text = (package / "thing.json").read_text()
    document = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert document["content"]["bad"][0] == {"$float": "nan"}
    with np.load(package / "thing.npz") as arrays:
        assert arrays["coef"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert document["arrays"]["sha256"] == hashlib.sha256((package / "thing.npz").read_bytes()).hexdigest()
    assert document["fairfront"] == ff.__version__


def test_equal_things_give_equal_bytes(tmp_path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        order = sorted(ARRAYS, reverse=name == "b")
        write_package(
            tmp_path / name, "thing", KIND, dict(sorted(CONTENT.items())), {key: ARRAYS[key] for key in order}
        )
    for file in ("thing.json", "thing.npz"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


LABELS = [
    ("yes", "yes"),
    (np.str_("yes"), "yes"),
    (3, 3),
    (np.int64(3), 3),
    (np.uint8(3), 3),
    (True, True),
    (np.bool_(False), False),
    (0.25, 0.25),
    (np.float32(0.1), float(np.float32(0.1))),
    (np.float64(0.1), 0.1),
    (2**70, 2**70),
    ("\ud800", "\ud800"),
]


@pytest.mark.parametrize(("given", "expected"), LABELS, ids=lambda v: f"{type(v).__name__}")
def test_labels_come_back_as_pythons_own(tmp_path, given, expected) -> None:
    write_package(tmp_path, "thing", KIND, {"label": given}, {})
    found = read_package(tmp_path, "thing", KIND)[0]["label"]
    assert found == given == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize("bad", [{1, 2}, b"x", object(), np.arange(3), 1j, {1: "a"}, np.datetime64("2020-01-01")])
def test_what_json_does_not_know_is_refused(tmp_path, bad) -> None:
    with pytest.raises(ff.InputError, match=r"content\.a\[1\]"):
        write_package(tmp_path, "thing", KIND, {"a": [0, bad]}, {})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "bad", [np.array(["a"]), np.array([{}]), np.array(["2020-01-01"], "M8[D]"), np.zeros(2, "f4,i4")]
)
def test_arrays_are_numbers(tmp_path, bad) -> None:
    with pytest.raises(ff.InputError, match="expected numbers or booleans"):
        write_package(tmp_path, "thing", KIND, {}, {"a": bad})
    with pytest.raises(ff.InputError, match="expected letters"):
        write_package(tmp_path, "thing", KIND, {}, {"../a": np.zeros(1)})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=4) | st.sampled_from(["$float", "$dict"]), inner, max_size=3)
    ),
    max_leaves=12,
)
NUMBERS = st.dictionaries(
    st.text("abcXYZ_.-019", min_size=1, max_size=6),
    hnp.arrays(
        st.sampled_from(["f8", "f4", "i8", "u2", "?", ">f8", "c16"]),
        hnp.array_shapes(min_dims=0, min_side=0, max_side=3),
    ),
    max_size=3,
)


@given(content=JSON, arrays=NUMBERS)
@LENIENT
def test_anything_nested_comes_back(tmp_path, content, arrays) -> None:
    folder = tempfile.mkdtemp(dir=tmp_path)
    write_package(folder, "thing", KIND, content, arrays)
    found, numbers = read_package(folder, "thing", KIND)
    assert same(found, content)
    assert equal_arrays(numbers, arrays)


@given(data=st.data(), cut=st.booleans())
@settings(LENIENT, max_examples=300)
def test_damage_is_told_or_makes_no_difference(package, data, cut) -> None:
    path = package / data.draw(st.sampled_from(["thing.json", "thing.npz", "more.bin"]))
    whole = path.read_bytes()
    place = data.draw(st.integers(0, len(whole) - 1))
    flip = data.draw(st.integers(1, 255))
    path.write_bytes(whole[:place] if cut else whole[:place] + bytes([whole[place] ^ flip]) + whole[place + 1 :])
    try:
        content, arrays = read_package(package, "thing", KIND)
        assert same(content, CONTENT)
        assert equal_arrays(arrays, ARRAYS)
    except ff.InputError:
        pass
    finally:
        path.write_bytes(whole)


def reseal(package: Path, **changes: Any) -> None:
    """Change a package as somebody would who knows the format, checksums included."""
    document = json.loads((package / "thing.json").read_text())
    document.update(changes)
    document.pop("sha256")
    plain = json.dumps(document, sort_keys=True, separators=(",", ":"))
    document["sha256"] = hashlib.sha256(plain.encode()).hexdigest()
    (package / "thing.json").write_text(json.dumps(document))


def refill(package: Path, packed: bytes, **names: Any) -> None:
    """Put another npz into a package, with the right checksum."""
    (package / "thing.npz").write_bytes(packed)
    listed = json.loads((package / "thing.json").read_text())["arrays"]
    listed |= {"bytes": len(packed), "sha256": hashlib.sha256(packed).hexdigest()}
    listed["names"] |= names
    reseal(package, arrays=listed)


def objects() -> bytes:
    """Return an npz in which ``coef`` is an array of objects."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=True, **{**ARRAYS, "coef": np.array([{"run": "me"}], dtype=object)})
    return buffer.getvalue()


def squeezed(claimed: tuple[int, ...] = (2, 3), size: int = 6, compression: int = zipfile.ZIP_STORED) -> bytes:
    """Return an npz whose ``coef`` claims a shape and has so many numbers, compressed or not."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": claimed})
    buffer = io.BytesIO(pack({name: ARRAYS[name] for name in ("one", "sure")})[0])
    with zipfile.ZipFile(buffer, "a", compression) as archive:
        archive.writestr("coef.npy", header.getvalue() + bytes(8 * size))
    return buffer.getvalue()


def huge(shape: list[int]) -> dict[str, Any]:
    return {"coef": {"dtype": "<f8", "shape": shape}}


def rewritten(package: Path, old: str, new: str) -> None:
    """Change the text of the JSON, which has no right checksum then."""
    text = (package / "thing.json").read_text()
    assert old in text
    (package / "thing.json").write_text(text.replace(old, new, 1))


def piped(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def named(package: Path, name: str) -> None:
    """Name another file as part of the package, with its right checksum where it can be read."""
    data = (package / name).read_bytes() if (package / name).is_file() else b""
    reseal(package, files={name: {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}})


DAMAGE = {
    "a shape that no memory holds": (
        lambda p: refill(p, squeezed((10**12,)), **huge([10**12])),
        "48 bytes, expected 8",
    ),
    "a shape beyond numbers": (lambda p: refill(p, squeezed((10**30,)), **huge([10**30])), "48 bytes, expected 8"),
    "an odd shape": (lambda p: refill(p, squeezed((-2, -3)), **huge([-2, -3])), "cannot be read"),
    "another shape claimed": (lambda p: refill(p, squeezed((10**12,))), r"shape \[1000000000000\], expected <f8 and"),
    "compressed": (lambda p: refill(p, squeezed(compression=zipfile.ZIP_DEFLATED)), "'coef' of .* is compressed"),
    "a bomb": (
        lambda p: refill(p, squeezed((10**6,), 10**6, zipfile.ZIP_DEFLATED), **huge([10**6])),
        "is compressed, expected it as it is",
    ),
    "fewer numbers": (lambda p: refill(p, squeezed(size=5)), r"has 40 bytes, expected 48 for the shape \[2, 3\]"),
    "more numbers": (lambda p: refill(p, squeezed(size=7)), "has 56 bytes, expected 48"),
    "another arrays file": (
        lambda p: reseal(p, arrays=json.loads((p / "thing.json").read_text())["arrays"] | {"file": "../thing.npz"}),
        "does not describe its files",
    ),
    "a file anywhere": (lambda p: named(p, str(p / "more.bin")), "names the file '/.*, expected one in its own folder"),
    "a file above": (lambda p: named(p, "../more.bin"), r"names the file '\.\./more\.bin'"),
    "a file around": (lambda p: named(p, f"sub/../../{p.name}/more.bin"), "expected one in its own folder"),
    "a file of Windows": (lambda p: named(p, "..\\more.bin"), "expected one in its own folder"),
    "a drive": (lambda p: named(p, "C:more.bin"), "expected one in its own folder"),
    "no name": (lambda p: named(p, ""), "expected one in its own folder"),
    "a device of the system": (lambda p: named(p, "/dev/zero"), "expected one in its own folder"),
    "a size as text": (lambda p: reseal(p, files={"more.bin": {"bytes": "4", "sha256": "x"}}), "does not describe"),
    "a size of true": (lambda p: reseal(p, files={"more.bin": {"bytes": True, "sha256": "x"}}), "does not describe"),
    "a longer file": (
        lambda p: (p / "more.bin").write_bytes(b"more and more"),
        r"was changed \(13 bytes, expected 4\)",
    ),
    "a pipe for JSON": (lambda p: piped(p / "thing.json"), "is not a file"),
    "a pipe for numbers": (lambda p: piped(p / "thing.npz"), "is not a file"),
    "a folder for JSON": (lambda p: ((p / "thing.json").unlink(), (p / "thing.json").mkdir()), "is not a file"),
    "deep": (lambda p: rewritten(p, '"yes"', "[" * 5000 + "]" * 5000), "more than 100 deep"),
    "deeper": (lambda p: rewritten(p, '"yes"', '{"a":' * 200_000 + "1" + "}" * 200_000), "more than 100 deep"),
    "a little too deep": (lambda p: rewritten(p, '"yes"', "[" * 101 + "]" * 101), "more than 100 deep"),
    "a key twice": (lambda p: rewritten(p, '"label": "yes"', '"label": "yes", "label": "no"'), "holds 'label' twice"),
    "a huge number": (lambda p: rewritten(p, "0.1", "1e999"), "holds a number that is too large"),
    "a long number": (lambda p: rewritten(p, "0.1", "9" * 400), "holds a number that is too large"),
    "a longer number": (lambda p: rewritten(p, "0.1", "9" * 5000), "holds a number that is too large"),
    "no folder": (lambda p: shutil.rmtree(p), "is not a folder, expected one written by fairfront"),
    "no json": (lambda p: (p / "thing.json").unlink(), r"thing\.json is missing"),
    "no npz": (lambda p: (p / "thing.npz").unlink(), r"thing\.npz is missing"),
    "no other file": (lambda p: (p / "more.bin").unlink(), r"more\.bin is missing"),
    "not json": (lambda p: (p / "thing.json").write_text("{]}"), "is not JSON"),
    "a NaN literal": (lambda p: (p / "thing.json").write_text('{"format": NaN}'), "is not JSON"),
    "not utf-8": (lambda p: (p / "thing.json").write_bytes(b"\xff\xfe}"), "is not JSON"),
    "other json": (lambda p: (p / "thing.json").write_text("{}"), "does not say what it holds"),
    "half a json": (
        lambda p: (p / "thing.json").write_bytes((p / "thing.json").read_bytes()[:90]),
        "ends too early",
    ),
    "half an npz": (
        lambda p: (p / "thing.npz").write_bytes((p / "thing.npz").read_bytes()[:90]),
        "ends after 90 of",
    ),
    "another npz": (
        lambda p: (p / "thing.npz").write_bytes(pack({"a": np.zeros(500)})[0]),
        r"was changed \(\d+ bytes, expected \d+\)",
    ),
    "edited json": (
        lambda p: (p / "thing.json").write_text((p / "thing.json").read_text().replace('"yes"', '"no"')),
        "changed after it was written",
    ),
    "other kind": (
        lambda p: reseal(p, format="fairfront model"),
        "holds a fairfront model, expected a fairfront thing",
    ),
    "newer": (
        lambda p: reseal(p, schema=9, fairfront="8.1"),
        r"written by fairfront 8\.1 with schema 9.*upgrade fairfront",
    ),
    "no schema": (lambda p: reseal(p, schema="x"), "has the schema 'x', expected a number from 1"),
    "more keys": (lambda p: reseal(p, extra=1), r"lacks or adds \['extra'\], expected arrays, content, "),
    "odd arrays": (lambda p: reseal(p, arrays=[]), "does not describe its files"),
    "objects": (lambda p: refill(p, objects()), "holds objects.*never loaded"),
    "not a zip": (lambda p: refill(p, b"not a zip"), "is not an npz file"),
    "missing array": (lambda p: refill(p, pack({"coef": ARRAYS["coef"]})[0]), "lacks the array"),
    "more arrays": (lambda p: refill(p, pack({**ARRAYS, "x": np.zeros(1)})[0]), "does not name"),
    "wrong shape": (
        lambda p: refill(p, pack({**ARRAYS, "coef": np.zeros((3, 2))})[0]),
        r"'coef'.* shape \[3, 2\], expected <f8 and \[2, 3\]",
    ),
    "wrong type": (lambda p: refill(p, pack({**ARRAYS, "coef": np.zeros((2, 3), "f4")})[0]), "has type <f4"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_every_kind_of_damage_has_its_sentence(package, damage) -> None:
    spoil, words = DAMAGE[damage]
    spoil(package)
    with pytest.raises(ff.InputError, match=words) as caught:
        read_package(package, "thing", KIND)
    assert "\n" not in str(caught.value)


def test_older_schemas_are_refused(package) -> None:
    with pytest.raises(ff.InputError, match=r"with schema 1, which fairfront .* no longer reads \(expected 3\)"):
        read_package(package, "thing", KIND, schema=3)


def test_loading_builds_nothing_but_numbers(package, monkeypatch) -> None:
    import pickle

    monkeypatch.setattr(pickle, "load", lambda *_, **__: pytest.fail("unpickled"))
    monkeypatch.setattr(pickle, "loads", lambda *_, **__: pytest.fail("unpickled"))
    read_package(package, "thing", KIND)
    refill(package, objects())
    with pytest.raises(ff.InputError):
        read_package(package, "thing", KIND)


def test_zip_entries_carry_no_time(package) -> None:
    with zipfile.ZipFile(package / "thing.npz") as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
