"""Columns of plain text: tables drawn with characters, and pages laid out with blanks.

A name that is broken in a cell continues on the next line of the same cell.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from extractors.mentions.labels import label_signs

#: The usual spellings of the label.
_LABELS = frozenset(("ark:", "ARK:", "Ark:"))
_LETTERS = len("ark")
_WORD_END = re.compile(r"[\s|]|\Z")
_GAP_BEFORE = re.compile(r"(?:\S[ ]{2,}|\|[ ]*)(?=\S)")
_GAP_BEHIND = re.compile(r"(?:(?<! )[ ]++)?+(?:\||(?<=  )(?=\S))")
#: A line that separates the rows of a table: ``+------+-----+``, ``|------|``, ``------  -----``.
_RULE = re.compile(r"[ \t]*+(?=[^\n]*[-=]{3})[-=+|: ]++\Z")
_RULE_SIGNS = frozenset("-=+|:")
_MOST_LINES_ABOVE, _MOST_LINES_BELOW = 100, 1000  # for each label
_MOST_FAILURES = 200  # successive labels with gaps next to them that are not in columns
_MOST_BESIDE = 8
_RECORD_CHARS = 1000
_FEWEST_ROWS = 3  # lines with text on both sides of a gap; one fewer with bars
_MOST_ALIGNED = 0.6
_LONGEST_LINE = 400
_TEXT_OF_LINE = re.compile(r"[^ \n](?:[^\n]*[^ \n])?")


@dataclass(frozen=True, slots=True)
class TextColumn:
    """A column of text: the part of successive lines between two vertical edges."""

    text: str
    """The whole text."""
    start: int
    end: int
    """The column's first line begins at the offset `start` of `text`, and its last line ends before `end`."""
    left: int
    right: int | None
    """In each line, the column begins at the character `left` and ends before `right`; at the line's end if that is None."""

    def contains(self, offset: int) -> bool:
        """Return True if the character at *offset* of the text is in this column."""
        if not self.start <= offset < self.end:
            return False
        column = offset - self.text.rfind("\n", 0, offset) - 1
        return self.left <= column and (self.right is None or column < self.right)

    def own_text(self) -> str:
        """Return the lines of the column with blanks in place of other columns, so that offsets in lines don't change.

        >>> text = "ark:/12148/bp  see\\nt6k1           there\\n"
        >>> TextColumn(text, 0, len(text), 0, 15).own_text().split()
        ['ark:/12148/bp', 't6k1']
        """
        return "\n".join(map(self._own_cell, self.text[self.start : self.end].split("\n")))

    def _own_cell(self, line: str) -> str:
        right = len(line) if self.right is None else min(self.right, len(line))
        if _is_rule(line) or right < self.left:
            return " " * len(line)
        cell = line[self.left : right].replace("|", " ")
        return " " * self.left + cell + " " * (len(line) - right)


def lines_between(column_text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield start and end of the lines of *column_text* (`TextColumn.own_text`) from *start* to *end*, without blanks.

    >>> list(lines_between("ark:/12148/bp    \\nt6k1             ", 0, 22))
    [(0, 13), (18, 22)]
    """
    for line in _TEXT_OF_LINE.finditer(column_text, start, end):
        yield line.span()


def columns_of(text: str) -> list[TextColumn]:
    """Return the columns of *text* that may contain broken ARKs, in order; empty for a text without columns."""
    failure_count = 0
    columns: list[TextColumn] = []
    earliest_starts: dict[tuple[int, int | None], int] = {}  # a continued column begins at the end of its earlier part
    for line_start, line, label_offset in _labelled_lines(text):
        if columns and columns[-1].contains(line_start + label_offset):
            continue
        word_start = max(line.rfind(" ", 0, label_offset), line.rfind("|", 0, label_offset)) + 1
        word_end_match = _WORD_END.search(line, label_offset)
        word_end = word_end_match.start() if word_end_match else len(line)
        left, right = _cell_edges(line, word_start, word_end)
        if (left == 0 and right is None) or not _may_continue_below(
            text, line_start + len(line) + 1, line, label_offset, word_end, left, right
        ):
            continue
        if any(column_beside.contains(line_start + label_offset) for column_beside in columns[-_MOST_BESIDE:]):
            continue
        failure_count += 1
        if failure_count > _MOST_FAILURES:
            return columns
        column = _column_around(text, line_start, left, right, earliest_starts.get((left, right), 0))
        if column is not None:
            columns.append(column)
            earliest_starts[left, right] = column.end
            failure_count = 0
    return columns


def _labelled_lines(text: str) -> Iterator[tuple[int, str, int]]:
    """Yield the start of the line, the line, and the label's offset in it, for the labels in lines of usual length.

    Lines that can't have columns are skipped: those without two adjacent blanks or a bar, and those with tabs.
    """
    line_start, line_end, may_have_columns = 0, -1, False
    line = ""
    for sign in label_signs(text):
        label_start = sign - _LETTERS
        if label_start < 0 or text[label_start : sign + 1] not in _LABELS:
            continue
        if label_start >= line_end:
            line_start = text.rfind("\n", max(line_end, 0), label_start) + 1 or max(line_end + 1, 0)
            line_end = _line_end(text, label_start)
            line = text[line_start:line_end] if line_end - line_start <= _LONGEST_LINE else ""
            may_have_columns = ("  " in line or "|" in line) and "\t" not in line
        if may_have_columns:
            yield line_start, line, label_start - line_start


def _may_continue_below(
    text: str, next_start: int, line: str, label_offset: int, word_end: int, left: int, right: int | None
) -> bool:
    """Return True if a name may continue on the next line of its cell: the name reaches the end of its cell, and text
    follows in the cell below.

    *line* has the name, from *label_offset* to *word_end*, in a cell from *left* to *right*; the next line begins at
    *next_start* of *text*. A log or a list of records, with labels or field names in the same column, gives False.

    >>> log = "10:01  ark:/12148/x5  200\\n10:02  ark:/12148/x7  200\\n"
    >>> _may_continue_below(log, 26, log[:25], 7, 20, 7, 22)
    False
    >>> table = "10:01  ark:/12148/bp  200\\n       t6k1          \\n"
    >>> _may_continue_below(table, 26, table[:25], 7, 20, 7, 22)
    True
    """
    if line[word_end:right].strip(" |"):
        return False
    next_line = ""
    while next_start < len(text) and (not next_line.strip() or _is_rule(next_line)):  # empty lines, and rules
        next_end = _line_end(text, next_start)
        next_line = text[next_start : min(next_end, next_start + _LONGEST_LINE)]
        next_start = next_end + 1
    if not all(_has_clear_edge(next_line, edge) for edge in (left, right) if edge):
        return False
    if right is not None:
        return bool(next_line[left:right].strip(" |")) and next_line[label_offset : label_offset + 4].lower() != "ark:"
    near_text = f"\n{text[max(0, next_start - _RECORD_CHARS) : next_start + _RECORD_CHARS]}"
    is_record = all(near_text.count(f"\n{field[:left]}") > 1 for field in (line, next_line))
    return not (is_record and next_line[:left].strip())


def _cell_edges(line: str, word_start: int, word_end: int) -> tuple[int, int | None]:
    """Return the start of the cell around a word in *line*, and the start of the next cell, None without one.

    >>> _cell_edges("a  see ark:/1/x for  12", 7, 15), _cell_edges("see ark:/1/x for 12", 4, 12)
    ((3, 21), (0, None))
    """
    left = 0
    for gap in _GAP_BEFORE.finditer(line, 0, word_start + 1):
        left = gap.end()
    next_cell = _GAP_BEHIND.search(line, word_end)
    return left, next_cell.end() if next_cell else None


def _column_around(text: str, line_start: int, left: int, right: int | None, earliest_start: int) -> TextColumn | None:
    """Return the column from *left* to *right* around the line at *line_start*, not before *earliest_start*.

    None if the lines have no text on both sides of these edges.
    """
    lines_above = list(
        _lines_in_layout(islice(_lines_above(text, line_start, earliest_start), _MOST_LINES_ABOVE - 1), left, right)
    )
    following_lines = _lines_from(text, line_start)
    own_line = next(following_lines)
    lines_below = list(_lines_in_layout(islice(following_lines, _MOST_LINES_BELOW - 1), left, right))
    rows = [line for _, line in (*reversed(lines_above), own_line, *lines_below) if not _is_rule(line)]
    edge_results = {_is_parted(rows, edge) for edge in (left, right) if edge}
    if edge_results - {None} != {True}:
        return None
    first_line, last_line = lines_above[-1] if lines_above else own_line, lines_below[-1] if lines_below else own_line
    end = min(_line_end(text, last_line[0]) + 1, len(text))
    return TextColumn(text, first_line[0], end, left, right)


_LineWithStart = tuple[int, str]
"""The start of a line, and the line without its break."""


def _lines_above(text: str, line_start: int, earliest_start: int) -> Iterator[_LineWithStart]:
    """Yield the lines before the line that begins at *line_start*, the nearest first, not before *earliest_start*."""
    while line_start > 0:
        line_end = line_start - 1
        line_start = text.rfind("\n", 0, line_end) + 1
        if line_start < earliest_start:
            return
        yield line_start, text[line_start:line_end].rstrip("\r")


def _lines_from(text: str, line_start: int) -> Iterator[_LineWithStart]:
    """Yield the lines of *text*, from the line that begins at *line_start*."""
    while line_start <= len(text):
        line_end = _line_end(text, line_start)
        yield line_start, text[line_start:line_end].rstrip("\r")
        line_start = line_end + 1


def _line_end(text: str, offset: int) -> int:
    end = text.find("\n", offset)
    return end if end >= 0 else len(text)


def _lines_in_layout(lines: Iterable[_LineWithStart], left: int, right: int | None) -> Iterator[_LineWithStart]:
    """Yield *lines* up to the first that breaks the column: one with text directly before *left* or *right*, or a tab.

    The second of two blank lines ends them, too. A rule of a table (`_is_rule`) breaks no column.
    """
    is_empty = False
    left_gap, right_gap = (slice(max(0, edge - 2), edge) for edge in (left, right or 0))
    for start, line in lines:
        if not line or line.isspace():
            if is_empty:
                return
            is_empty = True
            yield start, line
            continue
        is_empty = False
        is_clear = not (line[left_gap].strip(" |") or line[right_gap].strip(" |"))  # inlined `_has_clear_edge`
        if "\t" in line or not (is_clear or _is_rule(line)):
            return
        yield start, line


def _is_rule(line: str) -> bool:
    """Return True if *line* is drawn to separate the rows of a table, such as ``+----+----+``."""
    return line.lstrip(" \t")[:1] in _RULE_SIGNS and _RULE.match(line) is not None


def _has_clear_edge(line: str, edge: int) -> bool:
    """Return True if *line* has no text in the two characters before *edge*."""
    return not line[max(0, edge - 2) : edge].strip(" |")


def _is_parted(rows: list[str], edge: int) -> bool | None:
    """Return True if *edge* separates two columns in enough of *rows*.

    These have text on both sides. Most texts after the edge begin directly at it, or all rows have a bar before it.
    None if all rows are empty on one side.
    """
    has_text_before = [line[:edge].strip(" |") != "" for line in rows]
    has_text_after = [line[edge:].strip(" |") != "" for line in rows]
    if not (any(has_text_before) and any(has_text_after)):
        return None
    lines_with_both = [line for line, *sides in zip(rows, has_text_before, has_text_after, strict=True) if all(sides)]
    bar_count = sum("|" in line[max(0, edge - 2) : edge] for line in lines_with_both)
    if bar_count == len(lines_with_both):
        return len(lines_with_both) >= _FEWEST_ROWS - 1
    aligned_count = sum(line[edge] != " " for line in lines_with_both)
    return len(lines_with_both) >= _FEWEST_ROWS and aligned_count >= _MOST_ALIGNED * len(lines_with_both)
