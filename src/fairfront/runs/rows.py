"""Rows of a table: attributes as they are written, who is in the rows, and those of files larger than memory.

A Parquet file that does not fit in memory is read and encoded block by block, when needed. What is kept of it is
narrow: per row a byte for the part, one or two for the label and for each group column, and eight for a weight or a
number to be predicted.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..exceptions import InputError, spelled
from ..objectives import Array, GroupProbabilities
from ..objectives.bands import plain_number
from ..problems.dask.partition import lazy_matrix
from ..problems.dask.passes import reduced
from ..problems.resources import GIGABYTE, memory
from ..tables import Schema, Table, TrainingRows, read_groups
from ..tables.arrow import ArrowSource, Block, ParquetBlocks
from ..tables.encoder import TableEncoder
from ..tables.findings import Finding
from ..tables.notation import number_of
from ..tables.split import PARTS
from ..tables.target import Codes, read_target
from ..validation import check_names, check_text
from ..validation.inputs import factorize

if TYPE_CHECKING:
    from .settings import Settings


PROXY = "group"
"""What the attribute is called whose groups are columns of probabilities."""


@dataclass(frozen=True)
class Attributes:
    """Columns of groups or of probabilities, pairs of an attribute and its reference, and edges of bands by column."""

    groups: tuple[str, ...] = ()
    group_probabilities: tuple[str, ...] = ()
    reference: tuple[tuple[str, str], ...] = ()
    bands: tuple[tuple[str, tuple[float, ...]], ...] = ()

    def choosing(self, attribute: str, group: str) -> str:
        """Return the option of a command that makes a group the reference; none where it cannot be written."""
        if attribute not in self.groups or len(self.groups) == 1:  # crossed columns, probabilities, one column
            return f"--ref {shlex.quote(group)}"
        chosen, edges, written = {**dict(self.reference), attribute: group}, dict(self.bands), []
        for name in self.groups:
            bands = ",".join(plain_number(edge) for edge in edges.get(name, ()))
            reference = f":ref={chosen[name]}" if name in chosen else ""
            written.append(f"{name}{bands and f':bands={bands}'}{reference}")
        return "" if "," in group else f"--groups {shlex.quote(','.join(written))}"


def parse_attributes(
    groups: str | Iterable[str] | None,
    probabilities: str | Iterable[str] | None,
    reference: str | None = None,
    cross: bool = False,
) -> Attributes:
    """Read columns of groups or of probabilities, exactly one of them.

    ``reference`` is a group of one attribute: of one column, of crossed columns ("White & M") or of probabilities.
    """
    words = spelled("groups"), spelled("group_probabilities")
    if (groups is None) == (probabilities is None):
        raise InputError(f"give exactly one of {words[0]} and {words[1]}: whom to compare.")
    found = _parse_probabilities(probabilities) if groups is None else parse_groups(groups)
    if reference is None:
        return found
    what, given = spelled("reference"), check_text(reference, "reference", "the name of a group")
    if found.reference:
        raise InputError(f"{what} is {given!r}, but {words[0]} names a reference too, expected one of them.")
    if len(found.groups) > 1 and not cross:
        raise InputError(
            f"{what} is {given!r}, expected one column of groups, or {spelled('cross', 'cross=True')}; of several "
            f"columns, write the reference of each as {found.groups[0]}:ref=GROUP."
        )
    return replace(found, reference=((" & ".join(found.groups) or PROXY, given),))


def _parse_probabilities(probabilities: str | Iterable[str] | None) -> Attributes:
    what = spelled("group_probabilities")
    parts = _parts(probabilities, what)
    marked = [each.removesuffix(":ref") for each in parts if each.endswith(":ref")]
    columns = tuple(each.removesuffix(":ref") for each in parts)
    if len(columns) < 2 or len(set(columns)) < len(columns) or len(marked) > 1:
        raise InputError(
            f"{what} is {','.join(parts)!r}, expected two or more different columns, at most one of them marked as "
            "the reference: p_black,p_white:ref."
        )
    return Attributes((), columns, tuple((PROXY, name) for name in marked))


def parse_groups(given: str | Iterable[str]) -> Attributes:
    """Such as ``sex,race:ref=White,age:bands=25,40,65:ref=25 to 39``."""
    what, names = spelled("groups"), list[str]()
    references, bands = list[tuple[str, str]](), list[tuple[str, tuple[float, ...]]]()
    for part in _joined(_parts(given, what)):
        name, *options = re.split(r":(?=ref=|bands=)", part)
        given_as = dict(option.split("=", 1) for option in options)
        edges = [number_of(each) for each in given_as.get("bands", "0").split(",")]
        rising = np.isfinite(edges).all() and (np.diff(edges) > 0).all()
        if ":" in name or not (name and all(given_as.values()) and rising):
            raise InputError(
                f"{what} has {part!r}, expected a column name, name:ref=GROUP, or increasing numbers that cut a column "
                "into bands, name:bands=25,40,65."
            )
        names.append(name)
        references += [(name, given_as["ref"])] if "ref" in given_as else []
        bands += [(name, tuple(edges))] if "bands" in given_as else []
    if not names:
        raise InputError(f"{what} is empty, expected column names such as sex,race:ref=White.")
    return Attributes(tuple(names), (), tuple(references), tuple(bands))


def _joined(parts: list[str]) -> list[str]:
    """Put the edges of bands, which have commas between them, together again."""
    found: list[str] = []
    for part in parts:
        last = found[-1].rpartition(":")[2] if found else ""
        if last.startswith("bands=") and np.isfinite(number_of(part.partition(":")[0])):
            found[-1] = f"{found[-1]},{part}"
        else:
            found.append(part)
    return found


def _parts(given: Any, what: str) -> list[str]:
    parts = given.split(",") if isinstance(given, str) else check_names(given, what)
    return [each.strip() for each in parts if each.strip()]


@dataclass(frozen=True, eq=False)
class People:
    """Labels, groups and weights of the rows of a table that are used.

    Those without a label (``unlabelled`` of them) and of weight 0 (``idle``) are not.
    """

    labels: Codes
    favourable: Any
    groups: Mapping[str, Codes] | GroupProbabilities
    weight: Array | None
    unlabelled: int
    idle: int


@dataclass(frozen=True, eq=False)
class Part:
    """Rows of one part of the split: features, labels, groups and weights, as arrays or as Dask arrays.

    ``drawn`` reads rows of Dask arrays into memory: all of them where they fit, else a random sample.
    """

    X: Any
    y: Any
    groups: Any
    weight: Any
    drawn: Callable[[], Part] | None = None
    person: NDArray[np.intp] | None = None

    @property
    def n(self) -> int:
        return len(self.y)

    @property
    def people(self) -> dict[str, Any]:
        return {"sensitive_features": self.groups, "sample_weight": self.weight}

    def seen(self) -> Part:
        return self if self.drawn is None else self.drawn()


def people_of(table: Table, settings: Settings) -> tuple[Table, NDArray[np.intp], People]:
    """Return a table with the rows that are used alone, their places in the one given, and the people in them."""
    weight, n = _weights(table, settings), table.n
    used = np.arange(n) if weight is None else np.flatnonzero(weight)
    idle = n - len(used)
    table = table.take(used) if idle else table
    target = read_target(table, settings.target, settings.favourable, regression=settings.regression)
    table = table.take(target.rows) if target.dropped else table
    used = used[target.rows]
    proxies = {name: table.complete(name).numbers for name in settings.group_probabilities}
    groups = (
        GroupProbabilities(proxies, name=PROXY)
        if proxies
        else read_groups(table, settings.groups, dict(settings.bands), settings.allow)
    )
    weight = None if weight is None else weight[used]
    return table, used, People(target.column, target.favourable, groups, weight, target.dropped, idle)


def _weights(table: Table, settings: Settings) -> Array | None:
    if settings.weight is None:
        return None
    values = table.columns[settings.weight].numbers
    if values is None or not np.isfinite(values).all() or (values < 0).any():
        raise InputError(
            f"weight column {settings.weight!r} has words, missing or negative values, expected numbers >= 0."
        )
    return values


def atoms(labels: Codes, groups: Mapping[str, Codes]) -> NDArray[np.intp]:
    """The (label, groups) class of every row, which the split keeps in proportion; numbers by quarters."""
    if labels.values is None:
        code = np.searchsorted(np.quantile(labels.codes, [0.25, 0.5, 0.75]), labels.codes).astype(np.intp)
    else:
        code = factorize(labels.codes)[0]
    for group in groups.values():
        assert group.values is not None
        texts = np.array([str(each) for each in group.values.tolist()], dtype=object)
        names, level = np.unique(texts, return_inverse=True)
        code = code * len(names) + level[group.codes]
    return factorize(code)[0]


BLOCK_BYTES = 32_000_000
"""Size of an encoded block; a few are in memory at a time."""
STREAMED_ROWS = 65_536
LEAST_ROWS, MOST_ROWS = 4_096, 262_144
SEEN_BYTES = 256_000_000
"""Size of the encoded rows that are brought into memory for the card and the explorer; more are sampled."""
Kept = NDArray[np.bool_]
"""Which rows of the file are wanted."""


def streamed_rows(
    source: ArrowSource, schema: Schema, names: Sequence[str], train: Kept
) -> tuple[ParquetBlocks, TrainingRows]:
    """Return the file's blocks, and its rows for training as a stream."""
    file = ParquetBlocks.of(source, schema)
    stream = partial(file.stream, rows=STREAMED_ROWS, kept=train)
    kinds = {name: schema.kinds[name] for name in names}
    return file, TrainingRows(stream, kinds, schema.missing, int(train.sum()))


def lazy_rows(file: ParquetBlocks, encoder: TableEncoder, kept: Kept) -> tuple[Any, list[int]]:
    """Return a Dask array of encoded rows, and the lengths of its blocks."""
    width = len(encoder.feature_names)
    size = min(max(BLOCK_BYTES // (8 * width), LEAST_ROWS), MOST_ROWS)
    found = [(block, kept[block.rows]) for block in file.cut(size) if kept[block.rows].any()]
    parts, lengths = [(block, np.packbits(rows)) for block, rows in found], [int(rows.sum()) for _, rows in found]
    like = sparse.csr_array((0, width)) if encoder.sparse else np.empty((0, width))
    return lazy_matrix(partial(_encoded, file, encoder), parts, lengths, width, like), lengths


def drawn_rows(file: ParquetBlocks, encoder: TableEncoder, kept: Kept, seed: int) -> tuple[Any, Kept]:
    """Read rows into memory, a random sample where they are too many, and say which these are."""
    most, places = seen_rows(encoder), np.flatnonzero(kept)
    if len(places) > most:
        places = np.sort(np.random.default_rng(seed).choice(places, most, replace=False))
    some = np.zeros(len(kept), dtype=bool)
    some[places] = True
    return reduced(lambda block: block, lazy_rows(file, encoder, some)[0], combine=_stacked), some


def seen_rows(encoder: TableEncoder) -> int:
    return SEEN_BYTES // (8 * len(encoder.feature_names))


def parts_note(need: float, encoder: TableEncoder, sizes: list[int]) -> Finding:
    """``need`` is the memory that the table would take, in bytes."""
    most = seen_rows(encoder)
    held = list(zip(PARTS, sizes, strict=True))[1:]
    sampled = [f"{most} of {n} {name} rows" for name, n in held if n > most]
    seen = f"; the card and the explorer rest on random samples ({', '.join(sampled)})" if sampled else ""
    return Finding(
        (),
        "noted",
        f"The table would take about {need / GIGABYTE:.3g} GB, more than half of the memory ({memory() / GIGABYTE:.3g} "
        f"GB): it is read from the file in parts, several times{seen}.",
    )


def _encoded(blocks: ParquetBlocks, encoder: TableEncoder, block: Block, kept: NDArray[np.uint8]) -> Any:
    """Bits of ``kept`` are set for the rows to encode."""
    wanted = np.flatnonzero(np.unpackbits(kept, count=block.n))
    return encoder.transform(blocks.read(block, encoder.columns, wanted))


def _stacked(blocks: list[Any]) -> Any:
    return sparse.vstack(blocks, format="csr") if sparse.issparse(blocks[0]) else np.concatenate(blocks)
