"""CSV and its kin: every cell that may name an ARK, under its row and column."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from extractors.model.budget import as_time_allows
from extractors.model.decoding import decode
from extractors.model.documents import Block, Finding, Reading
from extractors.readers.values import may_name_ark, value_block

MEDIA_TYPE = "text/csv"
MOST_BYTES = 64 * 2**20

#: What is between cells, the likelier first where two fit as well.
_DELIMITERS = ",;\t|"
_QUOTE = '"'
_SAMPLE_CHARS, _SAMPLE_ROWS = 64 * 2**10, 100
_MOST_HEADING_CHARS = 100
_FOLLOWING_CHARS = 80

Row = list[str]


def read_tabular(data: bytes, *, charset: str | None = None) -> Reading:
    r"""The cells that may name an ARK; *charset* is what the sender declared. Rows count from 1, the heading's.

    >>> reading = read_tabular(b"title;identifier\r\nMap;ark:/12345/x5\r\n")
    >>> [(block.role.value, block.place, block.text) for block in reading.blocks]
    [('structured-data', 'row:2/column:identifier', 'ark:/12345/x5')]
    """
    findings = []
    if len(data) > MOST_BYTES:
        findings.append(Finding("cut-off", f"only the first {MOST_BYTES} of {len(data)} bytes were read"))
        data = data[:MOST_BYTES]
    decoded = decode(data, charset)
    findings += decoded.findings
    blocks: list[Block] = []
    headings: Row = []
    rows = as_time_allows(_rows(decoded.text, _delimiter(decoded.text), findings), "row")
    for number, row in enumerate(rows, start=1):
        if number == 1 and _is_heading(row):
            headings = [" ".join(cell[:_MOST_HEADING_CHARS].split()) for cell in row]
        for index, cell in enumerate(row):
            if may_name_ark(cell):
                column = headings[index] if index < len(headings) and headings[index] else index + 1
                block = value_block(cell, f"row:{number}/column:{column}")
                blocks.append(replace(block, following=next(filter(None, row[index + 1 :]), "")[:_FOLLOWING_CHARS]))
    return Reading(MEDIA_TYPE, tuple(blocks), findings=tuple(findings))


def _rows(text: str, delimiter: str, findings: list[Finding]) -> Iterator[Row]:
    """The rows of a table. Where a quote is never closed, quotes mean nothing from the row on in which it opens.

    >>> findings = []
    >>> list(_rows('a,"b,c"\\n"d,e\\nf,g\\n', ",", findings)), findings[0].kind
    ([['a', 'b,c'], ['d', 'e'], ['f', 'g']], 'malformed-table')
    """
    done = quotes = 0

    def lines() -> Iterator[str]:
        nonlocal quotes
        for line in io.StringIO(text, newline=""):
            quotes += line.count(_QUOTE)
            yield line

    reader = csv.reader(lines(), delimiter=delimiter)
    try:
        for row in reader:
            if quotes % 2 and reader.line_num > done + 1:
                break
            yield row
            done, quotes = reader.line_num, 0
        else:
            return
    except csv.Error:  # a field beyond the limit of the library, by such a quote as a rule
        pass
    findings.append(Finding("malformed-table", f"line {done + 1}: a quote never ends; none is heeded from there on"))
    for line in islice(io.StringIO(text, newline=""), done, None):
        yield [cell.strip(_QUOTE + " ") for cell in line.rstrip("\r\n").split(delimiter)]


def _delimiter(text: str) -> str:
    r"""The delimiter by which the first rows are most alike, and of more than one cell.

    >>> _delimiter('a;"b, c"\r\n1,5;2\r\n'), _delimiter("a\tb\n"), _delimiter("ark:/12345/x5\n")
    (';', '\t', ',')
    """
    sample = text[:_SAMPLE_CHARS]
    return max(_DELIMITERS, key=lambda delimiter: _likeness(sample, delimiter))


def _likeness(sample: str, delimiter: str) -> tuple[float, int]:
    """Return how many of the rows have as many cells as most have, and that number; nothing if it is one cell."""
    widths: list[int] = []
    try:
        for row in csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter):
            if row:
                widths.append(0 if any(cell.count(_QUOTE) % 2 for cell in row) else len(row))
            if len(widths) == _SAMPLE_ROWS:
                break
    except csv.Error:
        pass
    if not widths:
        return 0.0, 0
    width, count = Counter(widths).most_common(1)[0]
    return (count / len(widths), width) if width > 1 else (0.0, 0)


def _is_heading(row: Row) -> bool:
    """Return whether a first row names columns rather than being a record itself.

    >>> _is_heading(["Title", "ARK"]), _is_heading(["Map", "https://n2t.net/ark:/12345/x5"]), _is_heading(["Map", "3"])
    (True, False, False)
    """
    words = [cell.strip() for cell in row]
    return any(words) and not any("/" in word or word.replace(".", "").isdigit() for word in words)
