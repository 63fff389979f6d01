"""Delimited text files: CSV and TSV, gzipped or not, in any encoding; streamed, and rows know their lines."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from ..exceptions import InputError
from ..validation import refuse
from .source import ROWS, Source
from .table import Chunk

UTF8 = "utf-8-sig"
"""UTF-8, with or without a byte order mark."""
GZIP = b"\x1f\x8b"
DELIMITERS = {",": "','", ";": "';'", "\t": "tab", "|": "'|'"}
DECLARED = re.compile(r'"?sep=([^"\r\n])"?[\r\n]*', re.IGNORECASE)
"""The line that Excel writes and reads before the header."""
SPELT = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " ", "pipe": "|"}


def check_delimiter(given: Any) -> str | None:
    if given is None:
        return None
    found = SPELT.get(given, given) if isinstance(given, str) else ""
    if len(found) != 1 or found in '"\r\n':
        raise refuse("delimiter", given, "one character such as ',' or ';', or the word tab")
    return found


def check_encoding(given: Any) -> str:
    """Return the name of an encoding of text; None is UTF-8, whose byte order mark is passed over."""
    try:
        name = "utf-8" if given is None else codecs.lookup(given).name
        "a".encode(name)
    except (LookupError, TypeError, ValueError):
        raise refuse("encoding", given, "an encoding such as utf-8, cp1252, latin-1 or utf-16") from None
    return UTF8 if name == "utf-8" else name


@contextmanager
def unpacked(path: Path) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """Open a file, unpacking gzip; yield its content and the file itself, whose position tells the progress."""
    with path.open("rb") as raw:
        packed = raw.read(2) == GZIP
        raw.seek(0)
        if packed:
            with gzip.open(raw) as data:
                yield data, raw  # type: ignore[misc]
        else:
            yield raw, raw


def numbered_names(names: Sequence[str]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the names of a header; a later column of the same name is "name (2)", and maps to what the file has."""
    found: list[str] = []
    copies: dict[str, str] = {}
    for place, given in enumerate(names, start=1):
        bare = name = given.strip() or f"column {place}"
        turn = 2
        while name in found:
            name, turn = f"{bare} ({turn})", turn + 1
        if name != bare:
            copies[name] = bare
        found.append(name)
    return tuple(found), copies


class CsvSource(Source):
    """A delimited text file with a header line.

    Where no delimiter is given and the usual one leaves one column, that is taken which the header looks cut by.
    Cells are what Python's csv module reads with ``strict=True, skipinitialspace=True``; empty lines are passed over.
    """

    typed = False
    spare = 0
    """Empty cells at the end of rows that the header does not have."""

    def __init__(
        self, path: Path, delimiter: str | None, missing: tuple[str, ...], encoding: str, usual: str = ","
    ) -> None:
        self.path: Path = path
        self.delimiter, self.missing, self.encoding = delimiter or usual, missing, encoding
        self.title, self.size = str(path), path.stat().st_size
        with unpacked(path) as (data, raw):
            if data is raw and path.suffix.lower() == ".gz":
                raise InputError(
                    f"{path} is not a gzip file, expected one by its ending .gz; rename it, or pack it again."
                )
            if data.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8 and self.encoding != UTF8:
                self.notes = (f"The file begins with the mark of UTF-8: it is read so, and not as {self.encoding}.",)
                self.encoding = UTF8
        header, declared = self._header()
        if declared and delimiter is None:  # Excel's own line, before the header
            self.delimiter = delimiter = declared
            header, _ = self._header()
        counts = {each: header[0].count(each) for each in DELIMITERS if each != self.delimiter}
        likely = max(counts, key=lambda each: counts[each])
        if len(header) == 1 and counts[likely]:
            if delimiter is not None:
                raise InputError(
                    f"{path} has one column when it is cut at {DELIMITERS.get(delimiter, repr(delimiter))}, expected "
                    f"several; its header looks delimited by {DELIMITERS[likely]}: give --delimiter "
                    f"{DELIMITERS[likely]}."
                )
            self.delimiter = likely
            self.notes += (f"Columns are cut at {DELIMITERS[likely]}, as the header is; --delimiter says otherwise.",)
            header, _ = self._header()
        self.names, self.copies = numbered_names(header)
        first = self._header(2)[0][len(header) :]
        if len(first) == len(header) + 1 and not first[-1]:
            self.spare = 1
            self.notes += ("Rows end with a delimiter, the header does not: the empty cell behind it is passed over.",)

    def _header(self, n: int = 1) -> tuple[list[str], str]:
        """Return the cells of the first n rows, and the delimiter that a line before them declares."""
        with self._rows() as (reader, _):
            cells, _ = reader.take(n)
        if not cells:
            raise InputError(f"{self.path} is empty, expected a header line and one row per person.")
        return cells, reader.declared

    @contextmanager
    def _rows(self) -> Iterator[tuple[_Rows, IO[bytes]]]:
        with unpacked(self.path) as (data, raw), closing(_Rows(self.path, data, self.delimiter, self.encoding)) as rows:
            yield rows, raw

    def chunks(self, columns: Iterable[str] | None = None, rows: int = ROWS) -> Iterator[Chunk]:
        asked, width, first = self.chosen(columns), len(self.names), 0
        with self._rows() as (reader, raw):
            reader.take(1)
            while (found := reader.take(rows, width, self.spare))[0]:
                cells, lines = found
                named = {name: np.array(cells[place::width], dtype=object) for name, place in asked.items()}
                del found, cells
                yield Chunk(named, first, raw.tell(), np.array(lines, dtype=np.int64))
                first += len(lines)
        if not first:
            raise InputError(f"{self.title} has a header line and no rows, expected one row per person below it.")


class _Rows:
    """The rows of an open file; knows in which line it is."""

    def __init__(self, path: Path, data: IO[bytes], delimiter: str, encoding: str) -> None:
        self.path, self.line, self.encoding, self.declared = path, 0, encoding, ""
        self.text = io.TextIOWrapper(data, encoding=encoding, newline="")
        blanks = delimiter != " "
        self.reader = csv.reader(self._lines(), delimiter=delimiter, strict=True, skipinitialspace=blanks)

    def close(self) -> None:
        self.text.close()

    def _lines(self) -> Iterator[str]:
        while line := self.text.readline(LINE_LIMIT):
            if "\0" in line or len(line) == LINE_LIMIT:
                raise bad_line(self.path, self.reader.line_num + 1, line)
            if self.reader.line_num == 0 and (declared := DECLARED.fullmatch(line)):
                self.declared, line = declared[1], "\n"
            yield line

    def take(self, n: int, width: int | None = None, spare: int = 0) -> tuple[list[str], list[int]]:
        """Return the cells of up to n rows, one row after the other, and the line in which each row begins.

        Rows must have ``width`` cells, and may have ``spare`` empty ones behind them. They are joined in one list,
        because millions of small lists keep Python's garbage collector busy.
        """
        cells: list[str] = []
        lines: list[int] = []
        before = csv.field_size_limit(FIELD_LIMIT)  # the csv module keeps the limit for the whole process
        try:
            for row in self.reader:
                start, self.line = self.line + 1, self.reader.line_num
                if len(row) != width:
                    if not row or (len(row) == 1 and not row[0].strip()):
                        continue
                    if spare and len(row) == (width or 0) + spare and not any(row[-spare:]):
                        del row[-spare:]
                    elif width is not None:
                        raise ragged(self.path, start, self.line, len(row), width)
                cells += row
                lines.append(start)
                if len(lines) == n:
                    break
            return cells, lines
        except UnicodeError:
            with unpacked(self.path) as (data, _):
                raise undecodable(self.path, data, self.encoding) from None
        except (csv.Error, EOFError, zlib.error, OSError) as error:
            raise unreadable(self.path, self.line + 1, self.reader.line_num, error) from error
        finally:
            csv.field_size_limit(before)


FIELD_LIMIT = 1 << 20
LINE_LIMIT = 1 << 25
BLOCK = 1 << 20


def bad_line(path: Path, number: int, line: str) -> InputError:
    if "\0" in line:
        return InputError(
            f"{path} line {number}: a NUL byte, expected text; give --encoding utf-16, or mend a damaged file."
        )
    return InputError(
        f"{path} line {number}: more than {LINE_LIMIT} characters without a line end, expected one row per line; check "
        "that the file is a CSV file."
    )


def ragged(path: Path, start: int, end: int, found: int, width: int) -> InputError:
    """A row from line ``start`` to ``end`` that has another number of cells than the header."""
    where, remedy = f"line {start}", "mend the row; a cell that contains the delimiter must be in quotes"
    if start < end:
        where, remedy = f"lines {start} to {end}", "close the quote that was opened there, or mend the row"
    return InputError(f"{path} {where}: {found} cells, expected {width} as in the header; {remedy}.")


def unreadable(path: Path, start: int, end: int, error: Exception) -> InputError:
    """What the system, gzip or the csv module complains of in a row from line ``start`` to ``end``."""
    if isinstance(error, csv.Error):
        return _broken_quotes(path, start, end, str(error))
    if isinstance(error, OSError) and not isinstance(error, gzip.BadGzipFile):
        return InputError(f"{path} cannot be read ({error.strerror}), expected a file; try again.")
    how = "ends before its time" if isinstance(error, EOFError) else f"is damaged ({error})"
    return InputError(f"{path} {how}, expected a whole gzip file; copy or download it again.")


def _broken_quotes(path: Path, start: int, end: int, message: str) -> InputError:
    if "field limit" in message and start == end:
        return InputError(
            f"{path} line {start}: a cell of more than {FIELD_LIMIT} characters, expected at most that many; shorten "
            "it or leave the column out of the file."
        )
    if "field limit" in message or "unexpected end" in message:
        until = "the end of the file" if "unexpected end" in message else f"line {end} and beyond"
        return InputError(
            f"{path} line {start}: a quote is opened and not closed, so that the cell runs to {until}, expected a "
            "closing quote; close it, or double the quotes that belong to the text."
        )
    return InputError(
        f"{path} line {end}: the quotes do not fit ({message}), expected cells whose quotes open at their start and "
        "close at their end; double the quotes that belong to the text."
    )


def undecodable(path: Path, data: IO[bytes], encoding: str) -> InputError:
    """Find the first byte in the content of a file that is not text in its encoding."""
    decoder = codecs.getincrementaldecoder(encoding)()
    line, done, head, found = 1, 0, b"", "the file ends within a character"
    while block := data.read(BLOCK):
        head = head or block[:2]
        try:
            line += decoder.decode(block).count("\n")
        except UnicodeDecodeError as error:
            line += error.object[: error.start].decode(encoding, errors="replace").count("\n")
            place = done + len(block) - len(error.object) + error.start + 1
            found = f"the byte 0x{error.object[error.start]:02x} (byte {place} of the file)"
            break
        except UnicodeError as error:  # a mark at the beginning that is not there
            found = str(error)
            break
        done += len(block)
    name = "UTF-8" if encoding == UTF8 else encoding
    utf16 = head in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    remedy = "another --encoding, such as utf-8, cp1252 or latin-1"
    if name == "UTF-8":
        remedy = "--encoding utf-16" if utf16 else "--encoding cp1252 (Windows and Excel) or --encoding latin-1"
    return InputError(f"{path} line {line}: {found} is not {name}, expected text in {name}; give {remedy}.")
