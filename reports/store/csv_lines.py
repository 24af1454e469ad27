"""CSV files that a user has written, as spreadsheets save them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from extractors.model.errors import UserMistake
from extractors.model.files import read_whole


def read_text(path: Path, most_bytes: int) -> str:
    """Return the text of a UTF-8 file without its byte order mark.

    Raises `UserMistake` if it can't be read, is not UTF-8, or has more than *most_bytes*.
    """
    try:
        data = read_whole(path, most_bytes)
    except OSError as error:
        raise UserMistake(f"{path} can't be read: {error.strerror}") from None
    # A path with a null character.
    except ValueError as error:
        raise UserMistake(f"{str(path)!r} can't be read: {error}") from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UserMistake(f"{path}:{line}: is not UTF-8: save the file as CSV in UTF-8") from None


def delimiter_of(text: str) -> str:
    """Return the delimiter of a CSV text: the comma, semicolon or tab that occurs most often in its first line.

    >>> delimiter_of("what;state;reason\\n"), delimiter_of("")
    (';', ',')
    """
    first_line = next((line for line in text.splitlines() if line.strip(" \t,;")), "")
    return max(",;\t", key=first_line.count)


def csv_lines(text: str, path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number, from 1, and the cells of each CSV row of *text* that is not blank.

    Raises `UserMistake`, which names *path*, if *text* is not CSV.
    """
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter_of(text), strict=True)
    line_number = 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield line_number, cells
            line_number = reader.line_num + 1
    except csv.Error as error:
        raise UserMistake(f"{path}:{line_number}: is not CSV: {error}") from None
