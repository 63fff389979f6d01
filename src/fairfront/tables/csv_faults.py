"""What can be wrong with a text file, each as one sentence with the line and the remedy."""

from __future__ import annotations

import codecs
from typing import IO

from ..exceptions import InputError

DELIMITERS = {",": "','", ";": "';'", "\t": "tab", "|": "'|'"}
FIELD_LIMIT = 1 << 20
LINE_LIMIT = 1 << 25
BLOCK = 1 << 20


def wrong_delimiter(title: str, header: list[str], delimiter: str) -> InputError | None:
    """Return the fault of a header that is one cell with another delimiter in it."""
    if len(header) != 1:
        return None
    counts = {other: header[0].count(other) for other in DELIMITERS if other != delimiter}
    likely = max(counts, key=lambda other: counts[other])
    if not counts[likely]:
        return None
    used = DELIMITERS.get(delimiter, repr(delimiter))
    return InputError(
        f"{title} has one column when it is cut at {used}, expected several; its header looks delimited by "
        f"{DELIMITERS[likely]}: give --delimiter {DELIMITERS[likely]}."
    )


def ragged(title: str, start: int, end: int, found: int, width: int) -> InputError:
    """Return the fault of a row with too few or too many cells."""
    where = f"line {start}" if start == end else f"lines {start} to {end}"
    remedy = (
        "mend the row; a cell that contains the delimiter must be in quotes"
        if start == end
        else "close the quote that was opened there, or mend the row"
    )
    return InputError(f"{title} {where}: {found} cells, expected {width} as in the header; {remedy}.")


def broken_quotes(title: str, start: int, end: int, message: str) -> InputError:
    """Return the fault that the csv module complained of, in a row that begins in line ``start``."""
    if "field limit" in message and start == end:
        return InputError(
            f"{title} line {start}: a cell of more than {FIELD_LIMIT} characters, expected at most that many; "
            "shorten it or leave the column out of the file."
        )
    if "field limit" in message or "unexpected end" in message:
        until = "the end of the file" if "unexpected end" in message else f"line {end} and beyond"
        return InputError(
            f"{title} line {start}: a quote is opened and not closed, so that the cell runs to {until}, expected a "
            "closing quote; close it, or double the quotes that belong to the text."
        )
    return InputError(
        f"{title} line {end}: the quotes do not fit ({message}), expected cells whose quotes open at their start and "
        "close at their end; double the quotes that belong to the text."
    )


def nul(title: str, line: int) -> InputError:
    """Return the fault of a file with NUL bytes."""
    return InputError(
        f"{title} line {line}: a NUL byte, expected text; the file is binary, damaged or in UTF-16: "
        "save it as CSV in UTF-8."
    )


def long_line(title: str, line: int) -> InputError:
    """Return the fault of a line without end."""
    return InputError(
        f"{title} line {line}: more than {LINE_LIMIT} characters without a line end, expected one row per line; "
        "check that the file is a CSV file."
    )


def not_utf8(title: str, data: IO[bytes]) -> InputError:
    """Find the first byte that is not UTF-8 in a file that could not be decoded."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    lines, done = 1, 0
    head = b""
    while block := data.read(BLOCK):
        head = head or block[:2]
        try:
            decoder.decode(block)
        except UnicodeDecodeError as error:
            before = error.object[: error.start]
            place = done + len(block) - len(error.object) + error.start + 1
            lines += before.count(b"\n")
            return _not_utf8(title, lines, place, error.object[error.start], head)
        lines, done = lines + block.count(b"\n"), done + len(block)
    return _not_utf8(title, lines, done, None, head)


def _not_utf8(title: str, line: int, place: int, byte: int | None, head: bytes) -> InputError:
    utf16 = head in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    guess = "UTF-16" if utf16 else "another encoding such as Latin-1"
    found = "the file ends within a character" if byte is None else f"the byte 0x{byte:02x} (byte {place} of the file)"
    return InputError(
        f"{title} line {line}: {found} is not UTF-8, expected text in UTF-8; it looks like {guess}: save it as UTF-8."
    )


def broken_gzip(title: str, error: Exception) -> InputError:
    """Return the fault of a gzip file that is cut short or damaged."""
    how = "ends before its time" if isinstance(error, EOFError) else f"is damaged ({error})"
    return InputError(f"{title} {how}, expected a whole gzip file; copy or download it again.")
