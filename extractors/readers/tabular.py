"""CSV and its kin: every cell that may name an ARK, under its row and column."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace

from extractors.mentions.labels import may_hold_ark
from extractors.model.budget import as_time_allows
from extractors.model.decoding import decode, first_bytes
from extractors.model.documents import Block, Reading, value_block

MEDIA_TYPE = "text/csv"
MOST_BYTES = 64 * 2**20

_DELIMITERS = ",;\t|"
_SAMPLE_CHARS = 64 * 2**10
_QUOTED = re.compile(r'"[^"]*"')
_MOST_HEADING_CHARS = 100
_FOLLOWING_CHARS = 80

csv.field_size_limit(MOST_BYTES)  # a quote that is never closed makes one long cell


def read_tabular(data: bytes, *, charset: str | None = None) -> Reading:
    r"""The cells that may name an ARK; *charset* is what the sender declared. Rows count from 1, the heading's.

    >>> reading = read_tabular(b"title;identifier\r\nMap;ark:/12345/x5\r\n")
    >>> [(block.role.value, block.place, block.text) for block in reading.blocks]
    [('structured-data', 'row:2/column:identifier', 'ark:/12345/x5')]
    """
    data, findings = first_bytes(data, MOST_BYTES)
    decoded = decode(data, charset)
    blocks: list[Block] = []
    headings: list[str] = []
    rows = csv.reader(io.StringIO(decoded.text, newline=""), delimiter=_delimiter(decoded.text))
    for number, row in enumerate(as_time_allows(rows, "row"), start=1):
        if number == 1 and _is_heading(row):
            headings = [" ".join(cell[:_MOST_HEADING_CHARS].split()) for cell in row]
        for index, cell in enumerate(row):
            if may_hold_ark(cell):
                column = headings[index] if index < len(headings) and headings[index] else index + 1
                block = value_block(cell, f"row:{number}/column:{column}")
                blocks.append(
                    replace(
                        block, following=next(filter(None, row[index + 1 :]), "")[:_FOLLOWING_CHARS]
                    )
                )
    return Reading(MEDIA_TYPE, tuple(blocks), findings=(*findings, *decoded.findings))


def _delimiter(text: str) -> str:
    r"""Return the delimiter that most of the first lines have outside of quotes.

    >>> _delimiter('a;"b, c"\r\n1,5;2\r\n'), _delimiter("a\tb\n"), _delimiter("ark:/12345/x5\n")
    (';', '\t', ',')
    """
    lines = _QUOTED.sub("", text[:_SAMPLE_CHARS]).splitlines()[:100]
    return max(_DELIMITERS, key=lambda delimiter: sum(delimiter in line for line in lines))


def _is_heading(row: list[str]) -> bool:
    """Return whether a first row names columns rather than being a record itself.

    >>> _is_heading(["Title", "ARK"]), _is_heading(["Map", "https://n2t.net/ark:/12345/x5"]), _is_heading(["Map", "3"])
    (True, False, False)
    """
    words = [cell.strip() for cell in row]
    return any(words) and not any("/" in word or word.replace(".", "").isdigit() for word in words)
