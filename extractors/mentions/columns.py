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
    """A column of *text*, between two offsets in each of its lines."""

    text: str
    start: int
    """The start of its first line, in code points of the text."""
    end: int
    left: int
    right: int | None
    """Offsets within a line; *right* is None at the end of the line."""

    def holds(self, at: int) -> bool:
        """Return True if the code point at *at* of the text is in this column."""
        if not self.start <= at < self.end:
            return False
        offset = at - self.text.rfind("\n", 0, at) - 1
        return self.left <= offset and (self.right is None or offset < self.right)

    def text_alone(self) -> str:
        """Return its lines with blanks in place of other columns, so that offsets stay the same.

        >>> text = "ark:/12148/bp  see\\nt6k1           there\\n"
        >>> TextColumn(text, 0, len(text), 0, 15).text_alone().split()
        ['ark:/12148/bp', 't6k1']
        """
        return "\n".join(map(self._cell_alone, self.text[self.start : self.end].split("\n")))

    def _cell_alone(self, line: str) -> str:
        right = len(line) if self.right is None else min(self.right, len(line))
        if _is_rule(line) or right < self.left:
            return " " * len(line)
        cell = line[self.left : right].replace("|", " ")
        return " " * self.left + cell + " " * (len(line) - right)


def lines_between(alone: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each line between two offsets of a column that is *alone*, without its blanks.

    >>> list(lines_between("ark:/12148/bp    \\nt6k1             ", 0, 22))
    [(0, 13), (18, 22)]
    """
    for line in _TEXT_OF_LINE.finditer(alone, start, end):
        yield line.span()


def columns_of(text: str) -> list[TextColumn]:
    """Return the columns of *text* that may contain broken ARKs, in order; lines of full width are not columns."""
    failed = 0
    columns: list[TextColumn] = []
    floors: dict[tuple[int, int | None], int] = {}  # a continued column begins at the end of its earlier part
    for start, line, label in _labelled_lines(text):
        if columns and columns[-1].holds(start + label):
            continue
        word = max(line.rfind(" ", 0, label), line.rfind("|", 0, label)) + 1
        after = _WORD_END.search(line, label)
        word_end = after.start() if after else len(line)
        left, right = _cell(line, word, word_end)
        if (left == 0 and right is None) or not _may_go_on(
            text, start + len(line) + 1, line, label, word_end, left, right
        ):
            continue
        if any(other.holds(start + label) for other in columns[-_MOST_BESIDE:]):
            continue
        failed += 1
        if failed > _MOST_FAILURES:
            return columns
        column = _column(text, start, left, right, floors.get((left, right), 0))
        if column is not None:
            columns.append(column)
            floors[left, right] = column.end
            failed = 0
    return columns


def _labelled_lines(text: str) -> Iterator[tuple[int, str, int]]:
    """Yield, for each label in a line of usual length, the start of the line, the line, and the label's offset in it.

    Lines that can't have columns are skipped: those without two adjacent blanks or a bar, and those with tabs.
    """
    start, end, may_have_columns = 0, -1, False
    line = ""
    for sign in label_signs(text):
        at = sign - _LETTERS
        if at < 0 or text[at : sign + 1] not in _LABELS:
            continue
        if at >= end:
            start = text.rfind("\n", max(end, 0), at) + 1 or max(end + 1, 0)
            end = _line_end(text, at)
            line = text[start:end] if end - start <= _LONGEST_LINE else ""
            may_have_columns = ("  " in line or "|" in line) and "\t" not in line
        if may_have_columns:
            yield start, line, at - start


def _may_go_on(text: str, next_start: int, line: str, label: int, word_end: int, left: int, right: int | None) -> bool:
    """Return True if a name may continue on the next line of its cell: it reaches the cell's end, and text follows.

    A log has a label at the same place in each of its lines, where no name continues. So has a list of records, in
    which the names of fields at the left recur.

    >>> log = "10:01  ark:/12148/x5  200\\n10:02  ark:/12148/x7  200\\n"
    >>> _may_go_on(log, 26, log[:25], 7, 20, 7, 22)
    False
    >>> table = "10:01  ark:/12148/bp  200\\n       t6k1          \\n"
    >>> _may_go_on(table, 26, table[:25], 7, 20, 7, 22)
    True
    """
    if line[word_end:right].strip(" |"):
        return False
    follows = ""
    while next_start < len(text) and (not follows.strip() or _is_rule(follows)):  # empty lines, and rules
        end = _line_end(text, next_start)
        follows = text[next_start : min(end, next_start + _LONGEST_LINE)]
        next_start = end + 1
    if not all(_has_clear_edge(follows, edge) for edge in (left, right) if edge):
        return False
    if right is not None:
        return bool(follows[left:right].strip(" |")) and follows[label : label + 4].lower() != "ark:"
    near = f"\n{text[max(0, next_start - _RECORD_CHARS) : next_start + _RECORD_CHARS]}"
    is_record = all(near.count(f"\n{field[:left]}") > 1 for field in (line, follows))
    return not (is_record and follows[:left].strip())


def _cell(line: str, start: int, end: int) -> tuple[int, int | None]:
    """Return the start of the cell around a word in *line*, and the start of the next cell.

    >>> _cell("a  see ark:/1/x for  12", 7, 15), _cell("see ark:/1/x for 12", 4, 12)
    ((3, 21), (0, None))
    """
    left = 0
    for gap in _GAP_BEFORE.finditer(line, 0, start + 1):
        left = gap.end()
    after = _GAP_BEHIND.search(line, end)
    return left, after.end() if after else None


def _column(text: str, line_start: int, left: int, right: int | None, floor: int) -> TextColumn | None:
    """Return the column around the line that begins at *line_start*, from *floor* on; None if it is not a column."""
    above = list(_lines_in_layout(islice(_lines_above(text, line_start, floor), _MOST_LINES_ABOVE - 1), left, right))
    following = _lines_from(text, line_start)
    here = next(following)
    below = list(_lines_in_layout(islice(following, _MOST_LINES_BELOW - 1), left, right))
    rows = [line for _, line in (*reversed(above), here, *below) if not _is_rule(line)]
    parted = {_is_parted(rows, edge) for edge in (left, right) if edge}
    if parted - {None} != {True}:
        return None
    first, last = above[-1] if above else here, below[-1] if below else here
    end = min(_line_end(text, last[0]) + 1, len(text))
    return TextColumn(text, first[0], end, left, right)


_PlacedLine = tuple[int, str]
"""The start of a line, and the line without its break."""


def _lines_above(text: str, start: int, floor: int) -> Iterator[_PlacedLine]:
    """Yield the lines before the one that begins at *start*, upward, down to offset *floor*."""
    while start > 0:
        end = start - 1
        start = text.rfind("\n", 0, end) + 1
        if start < floor:
            return
        yield start, text[start:end].rstrip("\r")


def _lines_from(text: str, start: int) -> Iterator[_PlacedLine]:
    """Yield the lines from the one that begins at *start*."""
    while start <= len(text):
        end = _line_end(text, start)
        yield start, text[start:end].rstrip("\r")
        start = end + 1


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return end if end >= 0 else len(text)


def _lines_in_layout(placed: Iterable[_PlacedLine], left: int, right: int | None) -> Iterator[_PlacedLine]:
    """Yield lines until one has text at the edges of the column; blank lines and row separators are allowed."""
    is_empty = False
    before_left, before_right = (slice(max(0, edge - 2), edge) for edge in (left, right or 0))
    for start, line in placed:
        if not line or line.isspace():
            if is_empty:
                return
            is_empty = True
            yield start, line
            continue
        is_empty = False
        is_clear = not (line[before_left].strip(" |") or line[before_right].strip(" |"))  # inlined `_has_clear_edge`
        if "\t" in line or not (is_clear or _is_rule(line)):
            return
        yield start, line


def _is_rule(line: str) -> bool:
    """Return True if *line* separates the rows of a table."""
    return line.lstrip(" \t")[:1] in _RULE_SIGNS and _RULE.match(line) is not None


def _has_clear_edge(line: str, boundary: int) -> bool:
    """Return True if *line* has no text directly before *boundary*."""
    return not line[max(0, boundary - 2) : boundary].strip(" |")


def _is_parted(rows: list[str], boundary: int) -> bool | None:
    """Return True if enough *rows* have text on both sides of *boundary*, aligned after it.

    None if one side of it has no text at all.
    """
    before = [line[:boundary].strip(" |") != "" for line in rows]
    after = [line[boundary:].strip(" |") != "" for line in rows]
    if not (any(before) and any(after)):
        return None
    both = [line for line, *sides in zip(rows, before, after, strict=True) if all(sides)]
    bars = sum("|" in line[max(0, boundary - 2) : boundary] for line in both)
    if bars == len(both):
        return len(both) >= _FEWEST_ROWS - 1
    aligned = sum(line[boundary] != " " for line in both)
    return len(both) >= _FEWEST_ROWS and aligned >= _MOST_ALIGNED * len(both)
