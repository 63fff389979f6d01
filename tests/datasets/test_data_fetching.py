"""Fetching: whatever a server does, a file has its name only when it is whole and right."""

from __future__ import annotations

import hashlib
import io
import random
import sys
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairfront.datasets import DATASETS, ORIGINS, Origin, Patience, fetch, load
from fairfront.datasets.cache import RefusedError, csv_path, transfer, unpack
from fairfront.datasets.origin import CACHE, ENVIRONMENT, PublicFile, cache_folder
from fairfront.exceptions import InputError
from fairfront.validation import Registry
from tests.support.loopback import HONEST, Answer, Loopback, loopback
from tests.support.places import DATA
from tests.support.waiting import PATIENCE

CONTENT = b"".join(b"row %d\n" % k for k in range(20_000))
QUICK = Patience(timeout=PATIENCE, tries=3, pause=0.0, redirects=3)
STALLING = Patience(timeout=5.0, tries=3, pause=0.0)
STALLED = Patience(timeout=1.0, tries=3, pause=0.0)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    return tmp_path / "cache"


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def offer(monkeypatch: pytest.MonkeyPatch, *servers: Loopback, content: bytes = CONTENT, zipped: bytes = b"") -> Origin:
    """Register a data set "small" of one file that the servers offer."""
    urls = tuple(server.url for server in servers)
    file = PublicFile("small.csv", len(content), digest(content), () if zipped else urls)
    archive = PublicFile("small.zip", len(zipped), digest(zipped), urls) if zipped else None
    origin = Origin("small", "https://example.org/small", 1, "none", "y", ("g",), (file,), archive)
    registry: Registry[Origin] = Registry("data set")
    for each in (*(ORIGINS[name] for name in ORIGINS), origin):
        registry.add(each.name, each)
    monkeypatch.setattr("fairfront.datasets.cache.ORIGINS", registry)
    return origin


def suited(answers: list[Answer]) -> Patience:
    """Wait long, so that a busy machine is not a stall; where one is tested, less, least if nothing else will come."""
    if answers[-1].stall is not None:
        return STALLED
    return STALLING if any(answer.stall is not None for answer in answers) else QUICK


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.name != ".lock"} if folder.exists() else set()


# What ends well


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answers", "ranges"),
    [
        ([HONEST], [None]),
        ([Answer()], [None]),
        ([Answer(chunked=True)], [None]),
        ([Answer(500, announce=0, body=b"sorry"), HONEST], [None, None]),
        ([Answer(503, announce=0), Answer(429, announce=0), HONEST], [None, None, None]),
        ([Answer(announce=0, send=5000), HONEST], [None, "bytes=5000-"]),
        ([Answer(announce=0, stall=7000), HONEST], [None, "bytes=7000-"]),
        ([Answer(send=9000), HONEST], [None, "bytes=9000-"]),
        ([Answer(chunked=True, send=4000), Answer(ranges=False, announce=0)], None),
        ([Answer(announce=0, send=5000), Answer(announce=0, ranges=False)], [None, "bytes=5000-"]),
        ([Answer(announce=0, send=5000), Answer(announce=0, shift=9), HONEST], [None, "bytes=5000-", None]),
        ([Answer(announce=0, send=5000)] * 3 + [HONEST], [None, "bytes=5000-", "bytes=10000-", "bytes=15000-"]),
        ([Answer(announce=40)], [None]),
        ([Answer(announce=0, body=b"x" * 5000 + CONTENT[5000:], send=6000), HONEST], [None, "bytes=6000-", None]),
    ],
    ids=[
        *("honest", "no length", "chunked", "500 then 200", "503, 429, 200", "truncated", "stalled"),
        *("truncated without length", "truncated chunk", "no ranges", "another part", "bit by bit"),
        *("announces too much", "wrong first part"),
    ],
)
def test_whole_and_right_in_the_end(
    answers: list[Answer], ranges: list[str | None] | None, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with loopback(CONTENT, *answers) as server:
        offer(monkeypatch, server)
        done = fetch("small", patience=suited(answers), progress=False)
    assert done.new == ("small.csv",)
    assert done.folder == cache / "small"
    assert (cache / "small" / "small.csv").read_bytes() == CONTENT
    assert names(cache / "small") == {"small.csv"}
    assert ranges is None or server.requests[: len(ranges)] == ranges


def test_more_breaks_than_tries_are_fine_while_something_new_comes(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with loopback(CONTENT, Answer(announce=0, send=20_000)) as server:
        offer(monkeypatch, server)
        fetch("small", patience=Patience(timeout=PATIENCE, tries=2, pause=0.0), progress=False)
    assert len(server.requests) == -(-len(CONTENT) // 20_000)
    assert (cache / "small" / "small.csv").read_bytes() == CONTENT


def test_what_is_there_and_right_is_left_alone(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with loopback(CONTENT) as server:
        offer(monkeypatch, server)
        fetch("small", patience=QUICK, progress=False)
        before = (cache / "small" / "small.csv").stat()
        assert fetch("small", patience=QUICK, progress=False).new == ()
        assert (cache / "small" / "small.csv").stat().st_mtime_ns == before.st_mtime_ns
        assert len(server.requests) == 1
        (cache / "small" / "small.csv").write_bytes(b"changed")
        assert fetch("small", patience=QUICK, progress=False).new == ("small.csv",)
    assert (cache / "small" / "small.csv").read_bytes() == CONTENT


def test_line_ends_may_be_those_of_the_server(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with loopback(CONTENT.replace(b"\n", b"\r\n")) as server:
        offer(monkeypatch, server)
        fetch("small", patience=QUICK, progress=False)
    assert (cache / "small" / "small.csv").read_bytes().count(b"\r\n") == 20_000


def test_the_next_address_helps(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lost, lying = Answer(404, announce=0), Answer(announce=0, body=b"?" * len(CONTENT))
    with loopback(CONTENT, lost) as first, loopback(CONTENT, lying) as second, loopback(CONTENT) as third:
        offer(monkeypatch, first, second, third)
        fetch("small", patience=QUICK, progress=False)
    assert [len(server.requests) for server in (first, second, third)] == [1, 1, 1]
    assert names(cache / "small") == {"small.csv"}


# What ends with one sentence


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answers", "message", "left"),
    [
        ([Answer(404, announce=0)], "the server answered 404 Not Found", set()),
        ([Answer(403, announce=0)], "the server answered 403 Forbidden", set()),
        ([Answer(500, announce=0)], "the server answered 500", set()),
        (
            [Answer(announce=0, body=b"?" * len(CONTENT))],
            "another file than expected, found sha256 [0-9a-f]{64}",
            set(),
        ),
        ([Answer(announce=-30, send=len(CONTENT) - 30)], "another file than expected", set()),
        ([Answer(announce=0, body=b"?" * 3 * len(CONTENT))], "more than", set()),
        ([Answer(body=b"?" * 3 * len(CONTENT))], "more than", set()),
        ([Answer(announce=0, ranges=False, send=5000)], "the connection ended after 5000 of", {"small.csv.partial"}),
        ([Answer(announce=0, ranges=False, stall=5000)], "the connection stalled", {"small.csv.partial"}),
        ([Answer(302, announce=0, location="/file")], "redirects in a circle, too often", set()),
        ([Answer(302, announce=0, location="http://example.org/x")], "redirects to http://example.org/x", set()),
        ([Answer(302, announce=0, location="file:///etc/passwd")], "something other than https", set()),
        ([Answer(announce=0, body=b"")], "another file than expected", set()),
    ],
    ids=[
        *("404", "403", "500", "lies", "announces too little", "too long", "endless", "always truncated"),
        *("always stalls", "redirect loop", "redirect to http", "redirect to a file", "empty"),
    ],
)
def test_one_sentence_and_nothing_that_looks_finished(
    answers: list[Answer], message: str, left: set[str], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with loopback(CONTENT, *answers) as server:
        origin = offer(monkeypatch, server)
        with pytest.raises(InputError, match=message) as caught:
            fetch("small", patience=suited(answers), progress=False)
    assert "\n" not in str(caught.value)
    assert ("what came is kept" if left else "nothing was kept") in str(caught.value)
    assert names(cache / "small") == left
    assert origin.place() is None


def test_a_kept_part_is_gone_on_with_later(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with loopback(CONTENT, Answer(announce=0, ranges=False, send=5000)) as server:
        offer(monkeypatch, server)
        with pytest.raises(InputError, match="run the command again"):
            fetch("small", patience=QUICK, progress=False)
        server.answers = [HONEST]
        fetch("small", patience=QUICK, progress=False)
    assert server.requests[-1] == "bytes=5000-"
    assert names(cache / "small") == {"small.csv"}


def test_nobody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    with loopback(CONTENT) as server:
        offer(monkeypatch, server)
    with pytest.raises(InputError, match="no connection"):
        fetch("small", patience=QUICK, progress=False)


@pytest.mark.parametrize("url", ["http://example.org/x", "ftp://127.0.0.1/x", "file:///etc/passwd", "x"])
def test_only_https(url: str, tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="not https"):
        transfer(url, tmp_path / "part", PublicFile("part", 1, digest(b"x")), QUICK)


def test_two_fetches_do_not_mix(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fcntl = pytest.importorskip("fcntl")
    with loopback(CONTENT) as server:
        offer(monkeypatch, server)
        (cache / "small").mkdir(parents=True)
        with (cache / "small" / ".lock").open("w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            with pytest.raises(InputError, match="being fetched by another process"):
                fetch("small", patience=QUICK, progress=False)
    assert server.requests == []


def test_a_cache_that_cannot_be_written(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.write_text("a file where a folder is expected")
    with loopback(CONTENT) as server:
        offer(monkeypatch, server)
        with pytest.raises(InputError, match=f"cannot be written to .* set {CACHE}"):
            fetch("small", patience=QUICK, progress=False)
    with pytest.raises(InputError, match=f"cannot be written .* set {CACHE}"):
        csv_path("loans")


def test_embedded_and_unknown() -> None:
    with pytest.raises(InputError, match="part of fairfront"):
        fetch("loans")
    with pytest.raises(InputError, match="did you mean 'adult'"):
        fetch("adlut")


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(cuts=st.lists(st.integers(0, 3000), max_size=5), ranges=st.booleans(), size=st.integers(1, 9000))
def test_any_cuts(
    cuts: list[int], ranges: bool, size: int, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    content = random.Random(size).randbytes(size)
    monkeypatch.setenv(CACHE, str(tmp_path_factory.mktemp("cache")))
    answers = [Answer(announce=0, send=cut, ranges=ranges) for cut in cuts]
    with loopback(content, *answers, HONEST) as server:
        offer(monkeypatch, server, content=content)
        done = fetch("small", patience=Patience(timeout=PATIENCE, tries=10, pause=0.0), progress=False)
    assert (done.folder / "small.csv").read_bytes() == content


# Archives


def zipped(**files: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def test_an_archive_is_unpacked_and_removed(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = zipped(**{"../../evil.csv": b"evil", "small.csv": CONTENT, "/evil.csv": b"evil"})
    with loopback(archive) as server:
        offer(monkeypatch, server, zipped=archive)
        assert fetch("small", patience=QUICK, progress=False).new == ("small.csv",)
        assert fetch("small", patience=QUICK, progress=False).new == ()
    assert names(cache / "small") == {"small.csv"}
    assert not list(cache.parent.rglob("evil.csv"))
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("archive", "message"),
    [
        (zipped(**{"small.csv": b"0" * 10_000_000}), "unpacks to more than"),
        (zipped(**{"small.csv": b"another"}), "is another file than expected"),
        (zipped(**{"other.csv": CONTENT}), "expected a zip archive that holds small.csv"),
        (zipped(**{"../small.csv": CONTENT}), "expected a zip archive that holds small.csv"),
        (b"PK no archive", "cannot be unpacked"),
        (zipped(**{"small.csv": CONTENT})[:-40], "cannot be unpacked"),
    ],
    ids=["bomb", "another", "absent", "traversal", "no archive", "truncated"],
)
def test_a_bad_archive_is_one_sentence(archive: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "small.zip").write_bytes(archive)
    file = PublicFile("small.csv", len(CONTENT), digest(CONTENT))
    with pytest.raises(InputError, match=message):
        unpack(tmp_path / "small.zip", file, tmp_path / "small.csv.partial")
    assert names(tmp_path) == {"small.zip"}


# Where data lie


def test_the_order_of_places(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = PublicFile("small.csv", len(CONTENT), digest(CONTENT))
    source = Origin("small", "https://example.org", 1, "none", "y", ("g",), (file,))
    with pytest.raises(InputError, match="run fairfront data fetch small"):
        source.read()
    (cache / "small").mkdir(parents=True)
    (cache / "small" / "small.csv").write_bytes(CONTENT)
    assert source.read()["small.csv"].encode() == CONTENT
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path / "mine"))
    assert source.read()["small.csv"].encode() == CONTENT
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "small.csv").write_bytes(b"mine comes first, and is another version")
    with pytest.raises(InputError, match="it is another version"):
        source.read()
    with pytest.raises(InputError, match="was not found"):
        source.read(tmp_path)


def test_a_folder_of_ones_own_needs_no_fetching(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with loopback(CONTENT) as server:
        offer(monkeypatch, server)
        monkeypatch.setenv(ENVIRONMENT, str(tmp_path))
        (tmp_path / "small").mkdir()
        (tmp_path / "small" / "small.csv").write_bytes(CONTENT)
        assert fetch("small", progress=False).folder == tmp_path / "small"
        (tmp_path / "small" / "small.csv").write_bytes(b"changed")
        with pytest.raises(InputError, match="it is another version"):
            fetch("small", progress=False)
    assert server.requests == []


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {}, "home/.cache/fairfront"),
        ("linux", {"XDG_CACHE_HOME": "{root}/xdg"}, "xdg/fairfront"),
        ("linux", {"XDG_CACHE_HOME": "relative"}, "home/.cache/fairfront"),
        ("darwin", {}, "home/Library/Caches/fairfront"),
        ("win32", {"LOCALAPPDATA": "{root}/local"}, "local/fairfront"),
        ("win32", {"LOCALAPPDATA": "{root}/local", CACHE: "{root}/own"}, "own"),
    ],
)
def test_the_cache_of_each_platform(
    platform: str, variables: dict[str, str], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (CACHE, "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(sys, "platform", platform)
    for name, value in variables.items():
        monkeypatch.setenv(name, value.format(root=tmp_path))
    assert cache_folder() == tmp_path / expected


# What the origins say is true


def test_every_data_set_has_an_origin() -> None:
    assert set(ORIGINS) == set(DATASETS)
    for name in ORIGINS:
        origin = ORIGINS[name]
        assert origin.embedded == (not origin.page)
        for file in origin.downloads:
            assert file.urls
            assert all(url.startswith("https://") for url in file.urls)
            assert len(file.sha256) == 64


@pytest.mark.parametrize("name", [name for name in ORIGINS if not ORIGINS[name].embedded])
def test_files_are_those_of_the_origin(name: str) -> None:
    for file in ORIGINS[name].files:
        path = DATA / name / file.name
        if not path.is_file():
            pytest.skip(f"the files of {name} are not here: set {ENVIRONMENT} to the folder that holds them.")
        assert path.stat().st_size == file.size
        assert digest(path.read_bytes()) == file.sha256


@pytest.mark.slow
@pytest.mark.parametrize("name", list(ORIGINS))
def test_the_list_tells_what_the_loader_gives(name: str) -> None:
    origin = ORIGINS[name]
    if not origin.embedded and not (DATA / name).is_dir():
        pytest.skip(f"the files of {name} are not here: set {ENVIRONMENT} to the folder that holds them.")
    data = load(name) if origin.embedded else load(name, folder=DATA)
    assert (len(data), data.target, data.sensitive) == (origin.rows, origin.target, origin.groups)
    lines = data.as_csv().splitlines()
    assert len(lines) == len(data) + 1
    assert lines[0].endswith(",".join((*data.sensitive, data.target)))
    more = bool(origin.csv_id) + len(origin.csv_columns)
    assert lines[0].count(",") + 1 == len(data.features) + len(data.sensitive) + 1 + more
