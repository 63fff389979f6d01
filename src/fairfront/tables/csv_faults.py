"""Faults of text files, each as a sentence: in which line, what was expected, and a remedy."""

from __future__ import annotations

import codecs
import csv
import gzip
from pathlib import Path
from typing import IO

from ..exceptions import InputError

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
    name = "UTF-8" if encoding == "utf-8-sig" else encoding
    utf16 = head in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    remedy = "another --encoding, such as utf-8, cp1252 or latin-1"
    if name == "UTF-8":
        remedy = "--encoding utf-16" if utf16 else "--encoding cp1252 (Windows and Excel) or --encoding latin-1"
    return InputError(f"{path} line {line}: {found} is not {name}, expected text in {name}; give {remedy}.")
