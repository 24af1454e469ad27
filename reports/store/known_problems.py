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
_FORMS_OF_DAY = ("%Y-%m-%d", "%d.%m.%Y")


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
    label, _, rest = (part.strip() for part in what.partition(":"))
    match label.lower():
        case Target.HOST:
            host = authority_of(rest if "://" in rest else f"https://{rest}/")
            if not host or set(host) & set("*? "):
                raise ValueError(f"{what!r} names no host: write host: and the name, such as host:old.example.org")
            return Target.HOST, host
        case Target.DOCUMENT:
            if not rest:
                raise ValueError(f"{what!r} names no document: write document: and the address or its beginning")
            return Target.DOCUMENT, rest
    if what.endswith("*"):
        return Target.BEGINNING, normal_prefix(what[:-1])
    try:
        return Target.ARK, str(Ark.parse(what))
    except ValueError:
        raise ValueError(f"{what!r} is no ARK, no beginning with * at its end, no host: and no document:") from None


@dataclass(frozen=True, slots=True)
class KnownProblem:
    """A row of the list."""

    line: int
    what: str
    """The column as written."""
    kind: Target
    target: str
    """The text after the kind, in the form that `target_of` returns."""
    state: str
    """The outcome that is accepted, and those that are not worse."""
    reason: str = ""
    until: date | None = None
    """The day from which it no longer counts; None without an end."""
    who: str = ""

    def is_over(self, day: date) -> bool:
        """Return True if the row no longer counts on a day."""
        return self.until is not None and self.until <= day

    def accepts(self, outcome: str, day: date) -> bool:
        """Return True if the row, which matches the ARK or document, accepts its outcome on a day."""
        return not self.is_over(day) and not is_worse(outcome, self.state)

    @property
    def words(self) -> str:
        """The row in words.

        >>> KnownProblem(3, "ark:12148/x", Target.ARK, "ark:12148/x", "broken", "it moves", date(2027, 1, 1), "Anna").words
        'it moves (broken accepted until 2027-01-01, Anna)'
        >>> KnownProblem(3, "ark:12148/x", Target.ARK, "ark:12148/x", "broken").words
        'broken accepted'
        """
        accepted = f"{self.state} accepted" + (f" until {self.until}" if self.until else "")
        details = f"{accepted}, {self.who}" if self.who else accepted
        return f"{self.reason} ({details})" if self.reason else details


def is_worse(outcome: str, state: str) -> bool:
    """Return True if an outcome is worse than an accepted one.

    >>> is_worse("broken", "timeout"), is_worse("timeout", "broken"), is_worse("reset", "timeout")
    (True, False, False)
    """
    if outcome in _RANKS and state in _RANKS:
        return _RANKS[outcome] < _RANKS[state]
    return outcome != state


def fits_document(url: str, pattern: str) -> bool:
    """Return True if a document matches by its address, by its beginning, or by a pattern with ``*``.

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
        """The rows by kind and target, and all rows of a kind without a target."""
        by_target: defaultdict[tuple[Target, str | None], list[KnownProblem]] = defaultdict(list)
        for row in self.rows:
            by_target[row.kind, row.target].append(row)
            by_target[row.kind, None].append(row)
        return by_target

    def about(self, problem: Problem) -> Iterator[KnownProblem]:
        """Yield the rows about the ARK of a problem, its hosts, or documents; whatever outcome they accept."""
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
        """Return the rows that accept a problem on a day, by document: one for all (None), or one for each of some."""
        everywhere = _first_accepting(self._about_ark(problem), problem, day)
        if everywhere is not None:
            return {None: everywhere}
        rows = {name: _first_accepting(self._about_document(name), problem, day) for name in problem.documents}
        return {name: row for name, row in rows.items() if row is not None}

    def accepts(self, problem: Problem, day: date) -> bool:
        """Return True if a problem is known on a day, in all documents that cite its ARK."""
        accepting = self.accepting(problem, day)
        return None in accepting or 0 < len(accepting) == len(problem.documents)


#: A list without rows.
NOTHING_KNOWN = KnownProblems()


def _first_accepting(rows: Iterable[KnownProblem], problem: Problem, day: date) -> KnownProblem | None:
    return next((row for row in rows if row.accepts(problem.outcome, day)), None)


def stale_rows(known_list: KnownProblems, problems: Iterable[Problem], day: date) -> Iterator[tuple[KnownProblem, str]]:
    """Yield the rows to look at, with the reason in words: they are over, match no problem, or it got worse."""
    worse: dict[KnownProblem, Problem] = {}
    matching: set[KnownProblem] = set()
    for problem in problems:
        rows = [row for row in known_list.about(problem) if _is_of_kind(row.state, problem.outcome)]
        matching.update(rows)
        if not known_list.accepts(problem, day):
            worse |= {row: problem for row in rows if is_worse(problem.outcome, row.state) and row not in worse}
    for row in known_list.rows:
        if row.is_over(day):
            yield row, f"is over since {row.until}"
        elif row not in matching:
            yield row, "matches no problem"
        elif row in worse:
            problem = worse[row]
            yield row, f"got worse: {problem.ark or problem.documents[0]} is {problem.outcome}, accepted is {row.state}"


def _is_of_kind(state: str, outcome: str) -> bool:
    """Return True if a state and an outcome are both of ARKs, both of citations, or both of documents."""
    return state == outcome or (state in _RANKS and outcome in _RANKS)


def selection_of(whats: Iterable[str]) -> KnownProblems:
    """Return rows for texts of the column `what`, without a state, to select problems. Raises `UserMistake`."""
    try:
        return KnownProblems([KnownProblem(0, what, *target_of(what), state="") for what in whats])
    except ValueError as problem:
        raise UserMistake(str(problem)) from None


def rows_to_add(
    problems: Iterable[Problem], selection: KnownProblems, known_list: KnownProblems, day: date
) -> list[tuple[str, str]]:
    """Return the text of the column `what` and the state of each row to add, so that *known_list* accepts *problems*.

    Without a *selection* these are failures, missing answers and unreadable documents, one row for each ARK and
    document. A row of a selection accepts the worst problem that it matches. Raises `UserMistake` if one matches none.
    """
    there = {(row.kind, row.target, row.state) for row in known_list.rows if not row.is_over(day)}
    states: dict[tuple[Target, str, bool], str] = {}
    matching: set[KnownProblem] = set()
    for problem in problems:
        if selection:
            rows = list(selection.about(problem))
            matching.update(rows)
            targets = [(row.kind, row.target) for row in rows]
        elif problem.outcome == UNREADABLE:
            targets = [(Target.DOCUMENT, problem.documents[0])]
        else:
            is_ill = ObjectOutcome(problem.outcome).family in (Family.FAILS, Family.UNREACHABLE)
            targets = [(Target.ARK, problem.ark)] if is_ill else []
        for kind, target in () if known_list.accepts(problem, day) else targets:
            key = (kind, target, problem.outcome == UNREADABLE)
            states[key] = min(problem.outcome, states.get(key, problem.outcome), key=STATES.index)
    idle = next((row.what for row in selection.rows if row not in matching), None)
    if idle is not None:
        raise UserMistake(f"nothing fails that {idle!r} matches")
    return [
        (what_of(kind, target), state)
        for (kind, target, _), state in states.items()
        if (kind, target, state) not in there
    ]


def what_of(kind: Target, target: str) -> str:
    """Return the text of the column `what` for a target, which `target_of` reads.

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
    """The names of the columns in the first line; empty for columns of no meaning."""
    known: KnownProblems = NOTHING_KNOWN


def read_known(path: Path | None) -> KnownProblems:
    """Return the rows of the list at *path*; none without a path. Raises `UserMistake` with the first bad line."""
    return NOTHING_KNOWN if path is None else read_known_file(path).known


def read_known_file(path: Path) -> KnownFile:
    """Return the list at *path*. Raises `UserMistake` with the first bad line."""
    text = read_text(path, MOST_BYTES)
    lines = csv_lines(text, path)
    line, cells = next(lines, (1, []))
    columns = tuple(name if (name := cell.strip().lower()) in COLUMNS else "" for cell in cells)
    missing = next((name for name in _REQUIRED if name not in columns), None)
    twice = next((name for name in columns if name and columns.count(name) > 1), None)
    if missing or twice:
        fault = f"no column is named {missing}" if missing else f"two columns are named {twice}"
        raise UserMistake(f"{path}:{line}: {fault}; the first line names the columns: {','.join(COLUMNS)}")
    rows = []
    for line, cells in lines:
        try:
            rows.append(_row(line, cells, columns))
        except ValueError as problem:
            raise UserMistake(f"{path}:{line}: {problem}") from None
    return KnownFile(text, columns, KnownProblems(rows))


def _row(line: int, cells: Sequence[str], columns: Sequence[str]) -> KnownProblem:
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
    return KnownProblem(line, values["what"], kind, target, state, values["reason"], until, values["who"])


def _day(text: str) -> date:
    """Return a day in a cell. Raises ValueError if it is none, or if day and month could be exchanged.

    >>> _day("2027-01-31"), _day("31.1.2027")
    (datetime.date(2027, 1, 31), datetime.date(2027, 1, 31))
    """
    for form in _FORMS_OF_DAY:
        with suppress(ValueError):
            return datetime.strptime(text, form).date()
    raise ValueError(f"until is a day such as 2027-01-31, and not {text!r}")


def addition(file: KnownFile, rows: Iterable[Mapping[str, str]], path: Path) -> str:
    """Return the text to append to *file*, which is at *path*, for rows as values by column. Raises `UserMistake`.

    It has the delimiter, the columns and the line ends of the file. A spreadsheet executes no cell of it.
    """
    newline = "\r\n" if "\r\n" in file.text.splitlines(keepends=True)[0] else "\n"
    text = "" if file.text.endswith(("\r", "\n")) else newline
    for row in rows:
        missing = next((name for name, value in row.items() if value and name not in file.columns), None)
        if missing is not None:
            raise UserMistake(f"{path} has no column {missing}: add it to the line that names the columns")
        line = io.StringIO(newline="")
        # csv quotes the characters of this line end only, and a lone carriage return in a cell must be quoted, too.
        writer = csv.writer(line, delimiter=delimiter_of(file.text), lineterminator="\r\n")
        writer.writerow([neutralize_formula(row.get(name, "")) for name in file.columns])
        text += line.getvalue().removesuffix("\r\n") + newline
    return text
