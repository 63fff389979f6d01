"""CSV and TSV files, gzipped or not: rows with their line numbers, streamed, and every fault as a sentence."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import zlib
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO

import numpy as np

from ..exceptions import InputError
from .source import ROWS, Chunk, Source, distinct_names

GZIP = b"\x1f\x8b"
DELIMITERS = {",": "','", ";": "';'", "\t": "tab", "|": "'|'"}
FIELD_LIMIT = 1 << 20
LINE_LIMIT = 1 << 25
BLOCK = 1 << 20


class CsvSource(Source):
    """A delimited text file with a header line, in UTF-8 with or without a byte order mark.

    Cells are what Python's csv module reads with ``strict=True, skipinitialspace=True``; empty lines are passed over.
    """

    typed = False

    def __init__(self, path: Path, delimiter: str, missing: tuple[str, ...]) -> None:
        self.path: Path = path
        self.delimiter, self.missing = delimiter, missing
        self.title, self.size = str(path), path.stat().st_size
        with opened(path) as (data, _), closing(_Rows(path, data, delimiter)) as reader:
            header, _ = reader.take(1)
        if not header:
            raise InputError(f"{path} is empty, expected a header line and one row per person.")
        counts = {words: header[0].count(each) for each, words in DELIMITERS.items() if each != delimiter}
        likely = max(counts, key=lambda words: counts[words])
        if len(header) == 1 and counts[likely]:
            raise InputError(
                f"{path} has one column when it is cut at {DELIMITERS.get(delimiter, repr(delimiter))}, expected "
                f"several; its header looks delimited by {likely}: give --delimiter {likely}."
            )
        self.names = distinct_names(header, self.title)

    def chunks(self, columns: Iterable[str] | None = None, rows: int = ROWS) -> Iterator[Chunk]:
        asked, width, first = self.chosen(columns), len(self.names), 0
        with opened(self.path) as (data, raw), closing(_Rows(self.path, data, self.delimiter)) as reader:
            reader.take(1)
            while (found := reader.take(rows, width))[0]:
                cells, lines = found
                named = {name: np.array(cells[place::width], dtype=object) for name, place in asked.items()}
                del found, cells
                yield Chunk(named, first, raw.tell(), np.array(lines, dtype=np.int64))
                first += len(lines)
        if not first:
            raise InputError(f"{self.title} has a header line and no rows, expected one row per person below it.")


@contextmanager
def opened(path: Path) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """Open a file, unpacking gzip; yield its content and the file itself, whose position tells the progress."""
    with path.open("rb") as raw:
        packed = raw.read(2) == GZIP
        raw.seek(0)
        if packed:
            with gzip.open(raw) as data:
                yield data, raw  # type: ignore[misc]
        else:
            yield raw, raw


class _Rows:
    """The rows of an open file; knows in which line it is."""

    def __init__(self, path: Path, data: IO[bytes], delimiter: str) -> None:
        self.path, self.line = path, 0
        self.text = io.TextIOWrapper(data, encoding="utf-8-sig", newline="")
        blanks = delimiter != " "
        self.reader = csv.reader(self._lines(), delimiter=delimiter, strict=True, skipinitialspace=blanks)

    def close(self) -> None:
        self.text.close()

    def _lines(self) -> Iterator[str]:
        while line := self.text.readline(LINE_LIMIT):
            if "\0" in line:
                raise InputError(
                    f"{self.path} line {self.reader.line_num + 1}: a NUL byte, expected text; the file is binary, "
                    "damaged or in UTF-16: save it as CSV in UTF-8."
                )
            if len(line) == LINE_LIMIT:
                raise InputError(
                    f"{self.path} line {self.reader.line_num + 1}: more than {LINE_LIMIT} characters without a line "
                    "end, expected one row per line; check that the file is a CSV file."
                )
            yield line

    def take(self, n: int, width: int | None = None) -> tuple[list[str], list[int]]:
        """Return the cells of up to n rows, one row after the other, and the line in which each row begins.

        Rows must have ``width`` cells. They are joined in one list, because millions of small lists keep Python's
        garbage collector busy.
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
                    if width is not None:
                        raise self._ragged(start, len(row), width)
                cells += row
                lines.append(start)
                if len(lines) == n:
                    break
            return cells, lines
        except UnicodeDecodeError:
            raise _not_utf8(self.path) from None
        except csv.Error as error:
            raise self._broken_quotes(str(error)) from None
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            how = "ends before its time" if isinstance(error, EOFError) else f"is damaged ({error})"
            raise InputError(f"{self.path} {how}, expected a whole gzip file; copy or download it again.") from None
        except OSError as error:
            raise InputError(f"{self.path} cannot be read ({error.strerror}), expected a file; try again.") from error
        finally:
            csv.field_size_limit(before)

    def _ragged(self, start: int, found: int, width: int) -> InputError:
        where, remedy = f"line {start}", "mend the row; a cell that contains the delimiter must be in quotes"
        if start < self.line:
            where = f"lines {start} to {self.line}"
            remedy = "close the quote that was opened there, or mend the row"
        return InputError(f"{self.path} {where}: {found} cells, expected {width} as in the header; {remedy}.")

    def _broken_quotes(self, message: str) -> InputError:
        start, end = self.line + 1, self.reader.line_num
        if "field limit" in message and start == end:
            return InputError(
                f"{self.path} line {start}: a cell of more than {FIELD_LIMIT} characters, expected at most that many; "
                "shorten it or leave the column out of the file."
            )
        if "field limit" in message or "unexpected end" in message:
            until = "the end of the file" if "unexpected end" in message else f"line {end} and beyond"
            return InputError(
                f"{self.path} line {start}: a quote is opened and not closed, so that the cell runs to {until}, "
                "expected a closing quote; close it, or double the quotes that belong to the text."
            )
        return InputError(
            f"{self.path} line {end}: the quotes do not fit ({message}), expected cells whose quotes open at their "
            "start and close at their end; double the quotes that belong to the text."
        )


def _not_utf8(path: Path) -> InputError:
    decoder = codecs.getincrementaldecoder("utf-8")()
    line, done, head, found = 1, 0, b"", "the file ends within a character"
    with opened(path) as (data, _):
        while block := data.read(BLOCK):
            head = head or block[:2]
            try:
                decoder.decode(block)
            except UnicodeDecodeError as error:
                line += error.object[: error.start].count(b"\n")
                place = done + len(block) - len(error.object) + error.start + 1
                found = f"the byte 0x{error.object[error.start]:02x} (byte {place} of the file)"
                break
            line, done = line + block.count(b"\n"), done + len(block)
    utf16 = head in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    guess = "UTF-16" if utf16 else "another encoding such as Latin-1"
    return InputError(
        f"{path} line {line}: {found} is not UTF-8, expected text in UTF-8; it looks like {guess}: save it as UTF-8."
    )
