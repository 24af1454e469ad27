"""Baselines for CI: files of accepted problems, and the problems of a run that are not among them."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from arkaudit.output.exits import say
from arkaudit.output.output_rows import require_place, write_file
from crawler.history.ark_status import ArkState
from crawler.history.triage import Severity, severity_of
from crawler.model.outcomes import MISTYPED, DocumentOutcome, ObjectOutcome
from extractors.model.errors import UserMistake
from reports.languages.display import count_noun
from reports.tables.wording import at_least

#: The version of the format of the file.
VERSION = 1
#: The tokens of documents.
READ, UNREADABLE = DocumentOutcome.READ.value, DocumentOutcome.UNREADABLE.value
#: The value of --fail-on with a baseline: every ARK that fails or gives no answer, and every unreadable document.
DEFAULT_FAIL_ON = (ObjectOutcome.INVALID.value, UNREADABLE)
#: Number of entries of a kind that are printed one by one.
_MOST_SHOWN = 10


class Subject(NamedTuple):
    """The thing that has a problem; empty strings stand for absent parts."""

    document: str = ""
    """A document, or the document with the citation."""
    ark: str = ""
    """An ARK in normal form, or a citation as written."""
    url: str = ""
    """The request URL."""
    line: str = ""
    """A line of input without an ARK."""

    def __str__(self) -> str:
        return self.line or self.url or ": ".join(filter(None, (self.document, self.ark)))


Accepted: TypeAlias = Mapping[Subject, str]
"""The problem (an outcome) of each subject of a baseline."""


@dataclass(frozen=True, slots=True)
class RunResults:
    """The results of a run, for `--fail-on` and a baseline."""

    outcomes: Mapping[Subject, str]
    """The outcome of everything that was judged."""
    tokens_by_subject: Sequence[tuple[Subject, str]]
    """Each outcome, state and event of a subject, without those of known problems."""

    @property
    def tokens(self) -> list[str]:
        """The tokens alone."""
        return [token for _, token in self.tokens_by_subject]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The results of a run beside a baseline."""

    new: Accepted
    """Problems that the baseline does not hold, or that are worse than there."""
    fixed: Accepted
    """Entries that no longer occur."""
    open: Accepted
    """Entries about subjects that the run did not judge."""
    written: Accepted
    """The problems for the next baseline: those of the run, and the open entries."""
    results: RunResults
    """The results without accepted problems."""


def compare(
    accepted: Accepted, found: RunResults, fail_on: Sequence[str], is_gone: Callable[[Subject], bool]
) -> Comparison:
    """Compare the problems in *found* that reach *fail_on* with the *accepted* ones.

    A problem is accepted until it gets worse, as an acknowledged one (`crawler.history.triage`): no answer, then a
    failure. *is_gone* returns True for a subject that was not judged because it no longer exists.
    """
    serious = frozenset(token for asked in fail_on for token in at_least(asked))
    outcomes = found.outcomes
    reached = {
        one: max(outcomes.get(one, ""), token, key=_severity)
        for one, token in found.tokens_by_subject
        if token in serious
    }
    problems = {one: problem for one, problem in reached.items() if _severity(problem) > Severity.FINE}
    held = {one for one, problem in accepted.items() if _severity(outcomes.get(one, "")) <= _severity(problem)}
    absent = [one for one in accepted if one not in outcomes]
    fixed = {one for one in absent if is_gone(one)}
    fixed |= {
        one for one in accepted if _severity(outcomes.get(one, accepted[one])) is Severity.FINE and one not in problems
    }
    left = {one: accepted[one] for one in absent if one not in fixed}
    return Comparison(
        new={one: problem for one, problem in problems.items() if one not in held},
        fixed={one: problem for one, problem in accepted.items() if one in fixed},
        open=left,
        written=left | problems,
        results=RunResults(outcomes, [pair for pair in found.tokens_by_subject if pair[0] not in held]),
    )


def _severity(problem: str) -> Severity:
    if problem in (MISTYPED, UNREADABLE):
        return Severity.FAILS
    # An ARK that goes back and forth may work at this moment.
    if problem == ArkState.FLAPPING:
        return Severity.OTHERWISE
    return severity_of(ObjectOutcome(problem)) if problem in [*ObjectOutcome] else Severity.FINE


@dataclass(frozen=True, slots=True)
class Baseline:
    """The options `--baseline` and `--write-baseline` of a command."""

    file: Path | None
    to: Path | None
    accepted: Accepted = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.file or self.to)

    @classmethod
    def read(cls, file: Path | None, to: Path | None) -> Baseline:
        """Read the baseline in *file*, and check that *to* can be written. Raises `UserMistake`."""
        if to is not None:
            require_place(to)
        return cls(file, to, {} if file is None else read_baseline(file))

    def fail_on(self, given: Sequence[str], default: Sequence[str] = DEFAULT_FAIL_ON) -> Sequence[str]:
        """Return the tokens of --fail-on that were *given*, or the *default* if there is a baseline."""
        return given or (default if self else ())

    def without_accepted(
        self,
        found: RunResults,
        fail_on: Sequence[str],
        is_gone: Callable[[Subject], bool] = lambda _: False,
        *,
        names_new: bool = True,
    ) -> RunResults:
        """Return *found* without accepted problems, print how the baseline differs, and write the next one.

        Raises `UserMistake` if the file can't be written.
        """
        if not self:
            return found
        compared = compare(self.accepted, found, fail_on, is_gone)
        if self.to is not None:
            write_baseline(compared.written, self.to)
            say(f"{self.to} holds {count_noun(len(compared.written), 'problem')}")
        if self.file is None:
            return compare(compared.written, found, fail_on, is_gone).results
        new, fixed = compared.new, compared.fixed
        _print_entries(f"new, not in {self.file}", new if names_new else {}, logging.WARNING)
        _print_entries(f"fixed, remove it from {self.file}", fixed, logging.INFO)
        accepted = len(self.accepted) - len(fixed) - len(compared.open)
        left = f", {len(compared.open)} not checked this time" if compared.open else ""
        say(f"{self.file}: {len(new)} new, {accepted} accepted, {len(fixed)} fixed{left}")
        return compared.results


def _print_entries(words: str, entries: Accepted, level: int) -> None:
    for subject, problem in [*entries.items()][:_MOST_SHOWN]:
        say(f"{words}: {subject}: {problem}", level=level)
    if len(entries) > _MOST_SHOWN:
        say(f"{words}: {len(entries) - _MOST_SHOWN} more", level=level)


def read_baseline(path: Path) -> dict[Subject, str]:
    """Return the problems in a baseline. Raises `UserMistake`."""
    try:
        return dict(_entries(json.loads(path.read_bytes())))
    except OSError as problem:
        raise UserMistake(f"{path} can't be read: {problem.strerror}") from None
    except (ValueError, RecursionError) as problem:
        raise UserMistake(f"{path} is not a baseline: {problem}; make one by --write-baseline") from None


def _entries(data: Any) -> Iterator[tuple[Subject, str]]:
    """Yield the problems in the JSON value of a baseline. Raises ValueError."""
    rows = data.get("problems") if isinstance(data, dict) else None
    if not isinstance(rows, list):
        raise ValueError("it has no list of problems")
    if data.get("version") != VERSION:
        raise ValueError(f"its version is not {VERSION}")
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict) or not all(isinstance(text, str) for text in row.values()):
            raise ValueError(f"entry {number} is not an object of strings")
        problem = row.pop("problem", "")
        if _severity(problem) is Severity.FINE or not row or not row.keys() <= {*Subject._fields}:
            raise ValueError(f"entry {number} is not a problem with {', '.join(Subject._fields)}")
        yield Subject(**row), problem


def write_baseline(problems: Accepted, path: Path) -> None:
    """Write *problems* with one line for each, in order. Raises `UserMistake`."""
    rows = ({**subject._asdict(), "problem": problem} for subject, problem in sorted(problems.items()))
    lines = (json.dumps({name: text for name, text in row.items() if text}, ensure_ascii=False) for row in rows)
    text = f'{{"version": {VERSION}, "problems": [\n' + ",\n".join(lines) + "\n]}\n"
    write_file(path, text.encode("utf-8", "backslashreplace"))
