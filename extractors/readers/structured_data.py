"""JSON, JSON Lines and CSV: every string or cell that may name an ARK, by its JSON Pointer, or its row and column."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from dataclasses import replace

import ijson  # type: ignore[import-untyped]

from extractors.mentions.possible_labels import may_hold_ark
from extractors.model.budget import as_time_allows
from extractors.model.decoding import decode, first_bytes, text_of, whole_characters
from extractors.model.documents import Block, Finding, Reading, value_block

MEDIA_TYPE = "application/json"
LINES_MEDIA_TYPE = "application/jsonl"
MOST_BYTES = 64 * 2**20

#: Limits on a place, which is repeated with each block: longer paths and keys are truncated.
_MOST_STEPS, _MOST_STEP_CHARS = 32, 200

#: A lone number with too many digits for Python raises one of the latter two.
_FAULTS = (ijson.JSONError, ValueError, SystemError)

#: The separator of RFC 7464 (JSON text sequences), before each record.
_RECORD_SEPARATOR = "\x1e"

_ESCAPE = re.compile(r"""\\(?:u[0-9A-Fa-f]{4}|["\\/bfnrt])""")
_SURROGATE = re.compile(r"\\u[Dd][89A-Fa-f]")
#: A lone surrogate: yajl would combine it with the next character, or stop there.
_LONE_SURROGATE = re.compile(
    r"""
    (?P<other> \\u d[89ab][0-9a-f]{2} \\u d[c-f][0-9a-f]{2} | \\ [^u] )
    | \\u d[89a-f][0-9a-f]{2}
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)


def read_json(data: bytes, *, charset: str | None = None) -> Reading:
    r"""Return the strings and keys of a JSON document that may name an ARK; *charset* is the declared encoding.

    >>> reading = read_json(rb'{"items": [{"@id": "ark\u003a\/12345\/x5"}]}')
    >>> [(block.role.value, block.place, block.text) for block in reading.blocks]
    [('structured-data', '/items/0/@id', 'ark:/12345/x5')]
    """
    text, findings = _decoded_text(data, charset)
    try:
        blocks = list(_blocks(text))
    except _FAULTS as fault:
        blocks = [Block(_unescape(text))] if text.strip() else []
        findings.append(Finding("malformed-json", f"read as text: {_message(fault)}"))
    return Reading(MEDIA_TYPE, tuple(blocks), findings=tuple(findings))


def read_json_lines(data: bytes, *, charset: str | None = None) -> Reading:
    """Return the strings of one JSON document per line that may name an ARK; a malformed line is read as text.

    *charset* is the declared encoding. The place of a block begins with the number of its line.

    >>> reading = read_json_lines(b'{"id": "ark:/12345/x5"}\\n{"id" "ark:"\\n{"id": "ark:/12345/x6"}')
    >>> [(block.place, block.text) for block in reading.blocks]
    [('record:1/id', 'ark:/12345/x5'), ('record:2', '{"id" "ark:"'), ('record:3/id', 'ark:/12345/x6')]
    >>> reading.findings
    (Finding(kind='malformed-json', detail='records read as text: 1, the first is record 2'),)
    """
    text, findings = _decoded_text(data, charset)
    text = text.replace(_RECORD_SEPARATOR, " ")
    try:
        blocks = list(_blocks(text, are_records=True))
    except _FAULTS:  # again line by line, which takes ten times as long
        blocks, malformed_numbers = _blocks_of_lines(text)
        if malformed_numbers:
            detail = f"records read as text: {len(malformed_numbers)}, the first is record {malformed_numbers[0]}"
            findings.append(Finding("malformed-json", detail))
    return Reading(LINES_MEDIA_TYPE, tuple(blocks), findings=tuple(findings))


def _blocks_of_lines(text: str) -> tuple[list[Block], list[int]]:
    """Return the blocks of *text*, one JSON document per line, and the numbers of malformed lines among them."""
    blocks: list[Block] = []
    malformed_numbers: list[int] = []
    lines = filter(None, map(str.strip, io.StringIO(text)))
    for number, line in enumerate(as_time_allows(lines, "record"), start=1):
        if not may_hold_ark(line):
            continue
        try:
            blocks += [replace(block, place=f"record:{number}{block.place}") for block in _blocks(line)]
        except _FAULTS:
            malformed_numbers.append(number)
            blocks.append(Block(_unescape(line), place=f"record:{number}"))
    return blocks, malformed_numbers


def _decoded_text(data: bytes, charset: str | None) -> tuple[str, list[Finding]]:
    data, findings = first_bytes(data, MOST_BYTES)
    decoded = decode(data, charset)
    text, lone_count = _without_lone_surrogates(decoded.text)
    if lone_count:
        detail = f"lone surrogates, read as U+FFFD: {lone_count}"
        findings.append(Finding("malformed-json", detail))
    return text, findings + list(decoded.findings)


def _without_lone_surrogates(text: str) -> tuple[str, int]:
    r"""Return *text* with U+FFFD for each escape of a lone surrogate, and the number of these.

    >>> text, lone_count = _without_lone_surrogates(r'["\ud83d\ude00", "\\ud800", "\ud800"]')
    >>> print(text, lone_count)
    ["\ud83d\ude00", "\\ud800", "\ufffd"] 1
    """
    if _SURROGATE.search(text) is None:  # the usual case
        return text, 0
    lone_count = 0

    def replacement(escape: re.Match[str]) -> str:
        nonlocal lone_count
        lone_count += escape["other"] is None
        return escape["other"] or r"\ufffd"

    return _LONE_SURROGATE.sub(replacement, text), lone_count


def _blocks(text: str, *, are_records: bool = False) -> Iterator[Block]:
    """Yield a block for each string in JSON *text* that may name an ARK, keys and repeated keys included, in order.

    The place of a block is its JSON Pointer; with *are_records*, after ``record:`` and the number of its document.
    Events of a parser are read instead of a tree, because the depth may be hostile. *text* may hold several documents.
    """
    path: list[str | int] = []
    record_count = 0
    source = io.BytesIO(text.encode("utf-8", "replace"))
    events = ijson.basic_parse(source, use_float=True, multiple_values=True)
    for event, value in as_time_allows(events, "value"):
        if event == "map_key":
            path[-1] = value
        elif event in ("end_map", "end_array"):
            path.pop()
            continue
        elif not path:
            record_count += 1
        elif isinstance(path[-1], int):
            path[-1] += 1
        if event == "start_map":
            path.append("")
        elif event == "start_array":
            path.append(-1)
        elif event in ("string", "map_key") and may_hold_ark(value):
            yield value_block(value, (f"record:{record_count}" if are_records else "") + _pointer(path))


def _pointer(path: list[str | int]) -> str:
    """Return the JSON Pointer (RFC 6901) for *path*, the keys and indexes from the root; a long one is truncated.

    >>> _pointer(["a/b", 3, "m~n"])
    '/a~1b/3/m~0n'
    """
    steps = (str(step)[:_MOST_STEP_CHARS].replace("~", "~0").replace("/", "~1") for step in path[:_MOST_STEPS])
    return "".join("/" + step for step in steps) + ("/…" if len(path) > _MOST_STEPS else "")


def _unescape(text: str) -> str:
    r"""Return *text*, malformed JSON, with all escapes decoded.

    >>> _unescape(r'{"id": "ark\u003a\/12345\/x5')
    '{"id": "ark:/12345/x5'
    """
    return whole_characters(_ESCAPE.sub(lambda escape: json.loads(f'"{escape[0]}"'), text))


def _message(fault: Exception) -> str:
    """Return the message of *fault*, an exception of the parser, without the lines that quote the text."""
    message = fault.args[0] if fault.args else ""
    first_lines = message.decode("utf-8", "replace") if isinstance(message, bytes) else str(message)
    return first_lines.partition("\n")[0].strip() if isinstance(fault, ijson.JSONError) else "an oversized number"


# CSV and similar formats: every cell that may name an ARK, by row and column.

TABULAR_TYPE = "text/csv"

_DELIMITERS = ",;\t|"
_SAMPLE_CHARS = 64 * 2**10
_QUOTED_CELL = re.compile(r'"[^"]*"')
_MOST_HEADING_CHARS = 100
_FOLLOWING_CHARS = 80

csv.field_size_limit(MOST_BYTES)  # an unclosed quote makes one long cell


def read_tabular(data: bytes, *, charset: str | None = None) -> Reading:
    r"""Return the cells of a table that may name an ARK; *charset* is the declared encoding.

    Rows count from 1, including the heading.

    >>> reading = read_tabular(b"title;identifier\r\nMap;ark:/12345/x5\r\n")
    >>> [(block.role.value, block.place, block.text) for block in reading.blocks]
    [('structured-data', 'row:2/column:identifier', 'ark:/12345/x5')]
    """
    text, findings = text_of(data, MOST_BYTES, charset)
    blocks: list[Block] = []
    headings: list[str] = []
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text))
    for number, row in enumerate(as_time_allows(rows, "row"), start=1):
        if number == 1 and _is_heading(row):
            headings = [" ".join(cell[:_MOST_HEADING_CHARS].split()) for cell in row]
        may_be_split = len(row) != len(headings)  # in a cell of each column, nothing continues the one before
        following_text = ""
        row_blocks: list[Block] = []
        for index in range(len(row) - 1, -1, -1):
            cell = row[index]
            if may_hold_ark(cell):
                column = headings[index] if index < len(headings) and headings[index] else index + 1
                block = value_block(cell, f"row:{number}/column:{column}")
                row_blocks.append(replace(block, following=following_text))
            following_text = (may_be_split and cell[:_FOLLOWING_CHARS]) or following_text
        blocks += reversed(row_blocks)
    return Reading(TABULAR_TYPE, tuple(blocks), findings=tuple(findings))


def _delimiter(text: str) -> str:
    r"""Return the delimiter of cells in *text*: the most frequent one outside of quotes in the first lines.

    >>> _delimiter('a;"b, c"\r\n1,5;2\r\n'), _delimiter("a\tb\n"), _delimiter("ark:/12345/x5\n")
    (';', '\t', ',')
    """
    lines = _QUOTED_CELL.sub("", text[:_SAMPLE_CHARS]).splitlines()[:100]
    return max(_DELIMITERS, key=lambda delimiter: sum(delimiter in line for line in lines))


def _is_heading(row: list[str]) -> bool:
    """Return True if *row*, the first one, has names of columns instead of values.

    >>> _is_heading(["Title", "ARK"]), _is_heading(["Map", "https://n2t.net/ark:/12345/x5"]), _is_heading(["Map", "3"])
    (True, False, False)
    """
    cells = [cell.strip() for cell in row]
    return any(cells) and not any("/" in word or word.replace(".", "").isdigit() for word in cells)
