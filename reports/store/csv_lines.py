"""CSV files that a user has written, as spreadsheets save them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from extractors.model.errors import UserMistake
from extractors.model.files import read_whole


def read_text(path: Path, most_bytes: int) -> str:
    """Return the text of a file in UTF-8, with or without a byte order mark. Raises `UserMistake`."""
    try:
        data = read_whole(path, most_bytes)
    except OSError as problem:
        raise UserMistake(f"{path} can't be read: {problem.strerror}") from None
    # A path with a null character.
    except ValueError as problem:
        raise UserMistake(f"{str(path)!r} can't be read: {problem}") from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise UserMistake(f"{path}:{line}: is not UTF-8: save the file as CSV in UTF-8") from None


def delimiter_of(text: str) -> str:
    """Return the delimiter of a CSV text: the comma, semicolon or tab that occurs most often in its first line.

    >>> delimiter_of("what;state;reason\\n"), delimiter_of("")
    (';', ',')
    """
    first = next((line for line in text.splitlines() if line.strip(" \t,;")), "")
    return max(",;\t", key=first.count)


def csv_lines(text: str, path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of each line that is not blank, with the number of the line. Raises `UserMistake`."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter_of(text), strict=True)
    line = 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield line, cells
            line = reader.line_num + 1
    except csv.Error as problem:
        raise UserMistake(f"{path}:{line}: is not CSV: {problem}") from None
