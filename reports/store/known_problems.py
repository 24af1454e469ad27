"""Read the list of known problems (`known.csv`), and match problems with its rows.

A row accepts an outcome until it gets worse: until it belongs to a family that comes earlier in the order of
`--fail-on`. Outcomes of one family, such as a timeout and a connection that is cut off, are equally bad.
"""

from __future__ import annotations

import csv
import io
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path

from crawler.model.observations import Problem
from crawler.model.outcomes import MISTYPED, SEVERITY, DocumentOutcome, Family, ObjectOutcome
from extractors.model.ark import Ark, normal_prefix
from extractors.model.errors import UserMistake
from extractors.model.urls import authority_of
from reports.languages.display import neutralize_formula, restore_formula
from reports.store.csv_lines import csv_lines, delimiter_of, read_text

#: The columns of the list; the first two are required.
COLUMNS = ("what", "state", "reason", "until", "who")
_REQUIRED = COLUMNS[:2]
#: The largest list that is read: about a million rows.
MOST_BYTES = 2**27
#: The outcome of a document that was not read, or not whole.
UNREADABLE = DocumentOutcome.UNREADABLE.value
#: The outcomes of ARKs that a row can accept; the last one is for ARKs that are reached, but not as they are cited.
_OF_ARKS = (*SEVERITY, ObjectOutcome.WORKS_ELSEWHERE)
_FAMILIES = tuple(dict.fromkeys(outcome.family for outcome in _OF_ARKS))
#: The rank of the family of each outcome of ARKs; the most severe first.
_RANKS = {str(outcome): _FAMILIES.index(outcome.family) for outcome in _OF_ARKS}
#: The outcomes that a row can accept, the most severe first.
STATES = (*_RANKS, MISTYPED, UNREADABLE)
#: The forms of a day: ISO 8601, and the one of spreadsheets in countries where the day comes first.
_DATE_FORMATS = ("%Y-%m-%d", "%d.%m.%Y")


class Target(StrEnum):
    """The kind of the text in the column `what`."""

    ARK = "ark"
    BEGINNING = "beginning"
    """The beginning of ARKs in normal form, written with ``*`` at its end."""
    HOST = "host"
    """The host that receives the first request, or where the redirects end."""
    DOCUMENT = "document"
    """The address of a document, its beginning, or a pattern with ``*``."""


def target_of(what: str) -> tuple[Target, str]:
    """Return the kind of the text in the column `what`, and the text in the form used for comparison.

    Raises ValueError if it is neither an ARK nor one of the other kinds.

    >>> target_of("https://n2t.net/ark:/12148/btv1-b84"), target_of("ark:/12148/btv1-*")
    ((<Target.ARK: 'ark'>, 'ark:12148/btv1b84'), (<Target.BEGINNING: 'beginning'>, 'ark:12148/btv1'))
    >>> target_of("host:N2T.net:443")
    (<Target.HOST: 'host'>, 'n2t.net')
    """
    label, _, target = (part.strip() for part in what.partition(":"))
    match label.lower():
        case Target.HOST:
            host = authority_of(target if "://" in target else f"https://{target}/")
            if not host or set(host) & set("*? "):
                raise ValueError(f"{what!r} names no host: write host: and the name, such as host:old.example.org")
            return Target.HOST, host
        case Target.DOCUMENT:
            if not target:
                raise ValueError(f"{what!r} names no document: write document: and the address or its beginning")
            return Target.DOCUMENT, target
    if what.endswith("*"):
        return Target.BEGINNING, normal_prefix(what[:-1])
    try:
        return Target.ARK, str(Ark.parse(what))
    except ValueError:
        raise ValueError(f"{what!r} is no ARK, no beginning with * at its end, no host: and no document:") from None


@dataclass(frozen=True, slots=True)
class KnownProblem:
    """A row of the list: an accepted outcome of an ARK, of ARKs, of a host or of documents."""

    line: int
    """The number of the line in the file, from 1; 0 without a file."""
    what: str
    """The text of the column `what` as written."""
    kind: Target
    target: str
    """The text to compare with, as `target_of` returns."""
    state: str
    """The worst outcome that the row accepts, one of `STATES`; empty for a row that only selects."""
    reason: str = ""
    until: date | None = None
    """The first day on which the row has expired; None if it never expires."""
    who: str = ""

    def is_over(self, day: date) -> bool:
        """Return True if the row has expired on *day*."""
        return self.until is not None and self.until <= day

    def accepts(self, outcome: str, day: date) -> bool:
        """Return True if the row accepts *outcome* on *day*; the caller has compared the target."""
        return not self.is_over(day) and not is_worse(outcome, self.state)

    @property
    def words(self) -> str:
        """The reason, the accepted state, the end and the person of the row, as one phrase.

        >>> KnownProblem(3, "ark:12148/x", Target.ARK, "ark:12148/x", "broken", "it moves", date(2027, 1, 1), "Anna").words
        'it moves (broken accepted until 2027-01-01, Anna)'
        >>> KnownProblem(3, "ark:12148/x", Target.ARK, "ark:12148/x", "broken").words
        'broken accepted'
        """
        accepted = f"{self.state} accepted" + (f" until {self.until}" if self.until else "")
        details = f"{accepted}, {self.who}" if self.who else accepted
        return f"{self.reason} ({details})" if self.reason else details


def is_worse(outcome: str, state: str) -> bool:
    """Return True if *outcome* is worse than the accepted *state*.

    If only one of them is an outcome of ARKs, or neither is, every difference counts as worse.

    >>> is_worse("broken", "timeout"), is_worse("timeout", "broken"), is_worse("reset", "timeout")
    (True, False, False)
    """
    if outcome in _RANKS and state in _RANKS:
        return _RANKS[outcome] < _RANKS[state]
    return outcome != state


def fits_document(url: str, pattern: str) -> bool:
    """Return True if *url* begins with *pattern*, or matches as a whole if *pattern* has a ``*``.

    Only ``*`` is special, because addresses contain question marks and file names contain brackets.

    >>> fits_document("https://a.example/maps/1.html", "https://a.example/maps/"), fits_document("a/b.pdf", "*.pdf")
    (True, True)
    >>> fits_document("scans/page [1].pdf", "scans/page [1].pdf"), fits_document("a/view?id=7", "a/view?id=")
    (True, True)
    """
    if "*" not in pattern:
        return url.startswith(pattern)
    return fnmatchcase(url, re.sub(r"[?[]", r"[\g<0>]", pattern))


@dataclass(frozen=True)
class KnownProblems:
    """The rows of a list, indexed by their targets."""

    rows: Sequence[KnownProblem] = ()

    def __bool__(self) -> bool:
        return bool(self.rows)

    @cached_property
    def _by_target(self) -> Mapping[tuple[Target, str | None], list[KnownProblem]]:
        """The rows by (kind, target). The key (kind, None) has all rows of this kind."""
        by_target: defaultdict[tuple[Target, str | None], list[KnownProblem]] = defaultdict(list)
        for row in self.rows:
            by_target[row.kind, row.target].append(row)
            by_target[row.kind, None].append(row)
        return by_target

    def about(self, problem: Problem) -> Iterator[KnownProblem]:
        """Yield the rows that match the ARK, a host or a document of *problem*, whatever outcome they accept."""
        yield from self._about_ark(problem)
        for document in problem.documents:
            yield from self._about_document(document)

    def _about_ark(self, problem: Problem) -> Iterator[KnownProblem]:
        if problem.ark:
            yield from self._by_target.get((Target.ARK, problem.ark), ())
            beginnings = self._by_target.get((Target.BEGINNING, None), ())
            yield from (row for row in beginnings if problem.ark.startswith(row.target))
        for host in sorted(problem.hosts):
            yield from self._by_target.get((Target.HOST, host), ())

    def _about_document(self, document: str) -> Iterator[KnownProblem]:
        exact = self._by_target.get((Target.DOCUMENT, document), ())
        yield from exact
        rows = self._by_target.get((Target.DOCUMENT, None), ())
        yield from (row for row in rows if row not in exact and fits_document(document, row.target))

    def accepting(self, problem: Problem, day: date) -> dict[str | None, KnownProblem]:
        """Return, by citing document, the row that accepts *problem* on *day*; empty if no row does.

        If one row accepts the problem in all documents, the result is that row under the only key None.
        """
        row_for_all = _first_accepting(self._about_ark(problem), problem, day)
        if row_for_all is not None:
            return {None: row_for_all}
        rows = {
            document: _first_accepting(self._about_document(document), problem, day) for document in problem.documents
        }
        return {document: row for document, row in rows.items() if row is not None}

    def accepts(self, problem: Problem, day: date) -> bool:
        """Return True if rows accept *problem* on *day* in all documents that cite its ARK."""
        accepting_rows = self.accepting(problem, day)
        return None in accepting_rows or 0 < len(accepting_rows) == len(problem.documents)


#: A list without rows.
NOTHING_KNOWN = KnownProblems()


def _first_accepting(rows: Iterable[KnownProblem], problem: Problem, day: date) -> KnownProblem | None:
    return next((row for row in rows if row.accepts(problem.outcome, day)), None)


def stale_rows(known_list: KnownProblems, problems: Iterable[Problem], day: date) -> Iterator[tuple[KnownProblem, str]]:
    """Yield the rows to review on *day*, each with the reason, such as "matches no problem".

    The other reasons are that the row has expired, or that a problem is worse than the row accepts.
    """
    worse_problems: dict[KnownProblem, Problem] = {}
    matching_rows: set[KnownProblem] = set()
    for problem in problems:
        rows = [row for row in known_list.about(problem) if _is_of_kind(row.state, problem.outcome)]
        matching_rows.update(rows)
        if not known_list.accepts(problem, day):
            worse_problems |= {
                row: problem for row in rows if is_worse(problem.outcome, row.state) and row not in worse_problems
            }
    for row in known_list.rows:
        if row.is_over(day):
            yield row, f"is over since {row.until}"
        elif row not in matching_rows:
            yield row, "matches no problem"
        elif row in worse_problems:
            problem = worse_problems[row]
            yield row, f"got worse: {problem.ark or problem.documents[0]} is {problem.outcome}, accepted is {row.state}"


def _is_of_kind(state: str, outcome: str) -> bool:
    """Return True if *state* and *outcome* are equal, or are both outcomes of ARKs."""
    return state == outcome or (state in _RANKS and outcome in _RANKS)


def selection_of(whats: Iterable[str]) -> KnownProblems:
    """Return a row without a state for each text of the column `what`, to select problems.

    Raises `UserMistake` for a text that `target_of` refuses.
    """
    try:
        return KnownProblems([KnownProblem(0, what, *target_of(what), state="") for what in whats])
    except ValueError as error:
        raise UserMistake(str(error)) from None


def rows_to_add(
    problems: Iterable[Problem], selection: KnownProblems, known_list: KnownProblems, day: date
) -> list[tuple[str, str]]:
    """Return the rows to add, as (text of the column `what`, state), so that *known_list* accepts *problems* on *day*.

    An empty *selection* gives one row for each failing or unreachable ARK and each unreadable document. Otherwise each
    row of *selection* gives one row, with the worst outcome of the problems that it matches. Raises `UserMistake` for a
    row that matches no problem.
    """
    present_rows = {(row.kind, row.target, row.state) for row in known_list.rows if not row.is_over(day)}
    states: dict[tuple[Target, str, bool], str] = {}
    matching_rows: set[KnownProblem] = set()
    for problem in problems:
        if selection:
            rows = list(selection.about(problem))
            matching_rows.update(rows)
            targets = [(row.kind, row.target) for row in rows]
        elif problem.outcome == UNREADABLE:
            targets = [(Target.DOCUMENT, problem.documents[0])]
        else:
            is_ill = ObjectOutcome(problem.outcome).family in (Family.FAILS, Family.UNREACHABLE)
            targets = [(Target.ARK, problem.ark)] if is_ill else []
        for kind, target in () if known_list.accepts(problem, day) else targets:
            key = (kind, target, problem.outcome == UNREADABLE)
            states[key] = min(problem.outcome, states.get(key, problem.outcome), key=STATES.index)
    unused_what = next((row.what for row in selection.rows if row not in matching_rows), None)
    if unused_what is not None:
        raise UserMistake(f"nothing fails that {unused_what!r} matches")
    return [
        (what_of(kind, target), state)
        for (kind, target, _), state in states.items()
        if (kind, target, state) not in present_rows
    ]


def what_of(kind: Target, target: str) -> str:
    """Return the text of the column `what` for a target: the inverse of `target_of`.

    >>> what_of(Target.HOST, "n2t.net"), what_of(Target.BEGINNING, "ark:12148/btv1")
    ('host:n2t.net', 'ark:12148/btv1*')
    """
    if kind in (Target.HOST, Target.DOCUMENT):
        return f"{kind}:{target}"
    return f"{target}*" if kind is Target.BEGINNING else target


# -- the file


@dataclass(frozen=True, slots=True)
class KnownFile:
    """The text of a list, with its rows."""

    text: str
    columns: Sequence[str]
    """The names of the columns in the first line; an empty name for a column outside `COLUMNS`."""
    known: KnownProblems = NOTHING_KNOWN


def read_known(path: Path | None) -> KnownProblems:
    """Return the rows of the list at *path*; none without a path. Raises `UserMistake` with the first bad line."""
    return NOTHING_KNOWN if path is None else read_known_file(path).known


def read_known_file(path: Path) -> KnownFile:
    """Return the list at *path*. Raises `UserMistake` with the first bad line."""
    text = read_text(path, MOST_BYTES)
    lines = csv_lines(text, path)
    line_number, cells = next(lines, (1, []))
    columns = tuple(name if (name := cell.strip().lower()) in COLUMNS else "" for cell in cells)
    missing = next((name for name in _REQUIRED if name not in columns), None)
    repeated_name = next((name for name in columns if name and columns.count(name) > 1), None)
    if missing or repeated_name:
        message = f"no column is named {missing}" if missing else f"two columns are named {repeated_name}"
        raise UserMistake(f"{path}:{line_number}: {message}; the first line names the columns: {','.join(COLUMNS)}")
    rows = []
    for line_number, cells in lines:
        try:
            rows.append(_row(line_number, cells, columns))
        except ValueError as error:
            raise UserMistake(f"{path}:{line_number}: {error}") from None
    return KnownFile(text, columns, KnownProblems(rows))


def _row(line_number: int, cells: Sequence[str], columns: Sequence[str]) -> KnownProblem:
    """Return the row of a line. Raises ValueError with the problem of the line."""
    if any(cell.strip() for cell in cells[len(columns) :]):
        raise ValueError(f"has {len(cells)} cells, and there are {len(columns)} columns")
    pairs = zip(columns, cells, strict=False)
    values = dict.fromkeys(COLUMNS, "") | {name: restore_formula(cell).strip() for name, cell in pairs if name}
    kind, target = target_of(values["what"])
    state = values["state"].lower()
    if state not in STATES:
        raise ValueError(f"there is no state {values['state']!r}: write one of {', '.join(STATES)}")
    if state == UNREADABLE and kind is not Target.DOCUMENT:
        raise ValueError(f"{UNREADABLE} is a state of documents: write document: and the address")
    until = _day(values["until"]) if values["until"] else None
    return KnownProblem(line_number, values["what"], kind, target, state, values["reason"], until, values["who"])


def _day(text: str) -> date:
    """Return the day that a cell states. Raises ValueError for any form outside `_DATE_FORMATS`.

    >>> _day("2027-01-31"), _day("31.1.2027")
    (datetime.date(2027, 1, 31), datetime.date(2027, 1, 31))
    """
    for date_format in _DATE_FORMATS:
        with suppress(ValueError):
            return datetime.strptime(text, date_format).date()
    raise ValueError(f"until is a day such as 2027-01-31, and not {text!r}")


def addition(file: KnownFile, rows: Iterable[Mapping[str, str]], path: Path) -> str:
    """Return the CSV text to append to *file* at *path* for *rows*, each with its values by column.

    The text has the delimiter, columns and line ends of the file; formulas are neutralized. Raises `UserMistake` if the
    file lacks a column.
    """
    newline = "\r\n" if "\r\n" in file.text.splitlines(keepends=True)[0] else "\n"
    text = "" if file.text.endswith(("\r", "\n")) else newline
    for row in rows:
        missing_column = next((column for column, value in row.items() if value and column not in file.columns), None)
        if missing_column is not None:
            raise UserMistake(f"{path} has no column {missing_column}: add it to the line that names the columns")
        csv_line = io.StringIO(newline="")
        # csv quotes the characters of this line end only, and a lone carriage return in a cell must be quoted, too.
        writer = csv.writer(csv_line, delimiter=delimiter_of(file.text), lineterminator="\r\n")
        writer.writerow([neutralize_formula(row.get(column, "")) for column in file.columns])
        text += csv_line.getvalue().removesuffix("\r\n") + newline
    return text
