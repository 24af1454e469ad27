"""The end of the command: its exit codes, and the one line for what went wrong."""

from __future__ import annotations

import errno
import io
import logging
import os
import shlex
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NoReturn, TextIO

from extractors.model.errors import ArkauditError
from reports.hints import Fault, fault_lines, next_words
from reports.languages import ENGLISH, Language
from reports.languages.display import counted, escaped

if TYPE_CHECKING:
    from rich.console import Console

    from crawler.model.outcomes import Family


# Handle signals from the first moment on. Imports next to nothing: it is in place before anything else is read.


INTERRUPTED = "interrupted; what was observed until then is kept"
EXIT_INTERRUPTED = 130  # what shells report of a program that Ctrl-C has ended


class OutputClosed(ArkauditError):
    """Raised when the reader of our output has read enough, as `head` does; no failure."""


class OutputUnwritable(ArkauditError):
    """Raised when results can't be written where they were sent, as when a disk is full."""


def heed_at_once() -> None:
    """Let SIGINT and SIGTERM end the command, with one line and 130, also while modules are imported."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as a shell has it for what runs in the background
            signal.signal(number, interrupted)


def interrupted(_: int, frame: FrameType | None) -> NoReturn:
    """Raise KeyboardInterrupt; in the midst of an import, where libraries take that for anything, end at once."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            os.write(2, f"arkaudit: {INTERRUPTED}\n".encode())
            os._exit(EXIT_INTERRUPTED)
        frame = frame.f_back
    raise KeyboardInterrupt


logger = logging.getLogger(__name__)
logger.addHandler(logging.NullHandler())  # before it is known where the log goes, a line is said once all the same

EXIT_FINDING, EXIT_MISTAKE, EXIT_UNFINISHED = 1, 2, 3
NEVER = "never"  # the word of --fail-on for what nothing is as grave as

#: Of how many documents it is said in one line why they could not be read.
_MOST_REASONS = 3

#: What is wrong with a disk, wherever it comes to light.
_OF_DISKS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO})
#: What is wrong with a path that a user has named, likewise.
_OF_PATHS = frozenset({errno.EACCES, errno.EPERM, errno.ENAMETOOLONG, errno.ELOOP})


@dataclass(slots=True)
class Quiet:
    """Whether nothing but errors is said (`--quiet`)."""

    is_on: bool = False


quiet = Quiet()

withheld: Callable[[str], str] = str
"""Takes secrets out of a line, once they are known (`arkaudit.logs.start`)."""


@cache
def errors() -> Console:
    """The console on standard error, where everything but results goes."""
    from rich.console import Console

    return Console(stderr=True, soft_wrap=True)


class Aside(io.TextIOWrapper):
    """Standard error, of which a run does not depend: what can't be said there any more goes nowhere."""

    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except OSError:
            forget(self)
            return len(text)

    def flush(self) -> None:
        try:
            super().flush()
        except OSError:
            forget(self)


closed: set[int] = set()
"""The standard streams, by number, that were closed when the command began."""


def open_streams() -> None:
    """Make the standard streams fit for us: names of files may hold what no text can, and some may be closed.

    What is closed leads nowhere from now on, so that no file of ours is taken for it. To write results there fails.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            closed.add(descriptor)
            # takes the lowest number that is free
            os.open(os.devnull, os.O_RDWR if descriptor == 2 else os.O_RDONLY)
    sys.stdin = sys.stdin or open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    if sys.stderr is sys.__stderr__:
        encoding = sys.stderr.encoding if sys.stderr else "utf-8"
        plain = open(2, "wb", closefd=False)  # noqa: SIM115
        sys.stderr = Aside(plain, encoding=encoding, errors="backslashreplace", line_buffering=True)


def heed_signals() -> None:
    """Let what a service manager sends, and a terminal that is closed, end the command in good order, like Ctrl-C."""
    signal.signal(signal.SIGTERM, interrupted)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:  # `nohup` has it ignored
        signal.signal(signal.SIGHUP, _hung_up)


def _hung_up(*_: object) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # shells say it once more, and twice would be at once
    os.kill(os.getpid(), signal.SIGTERM)


def exit_on(fail_on: Sequence[str], tokens: Iterable[str], *, is_whole: bool = True) -> None:
    """End with 1 when something *tokens* is as grave as one of *fail_on*, or graver (`reports.tables.wording`).

    Else end with 3 where a part of the report could not be made, so that it is not *is_whole*.
    """
    from reports.tables.wording import is_reached

    if is_reached((token for token in fail_on if token != NEVER), tokens):
        sys.exit(EXIT_FINDING)
    if not is_whole:
        sys.exit(EXIT_UNFINISHED)


def end_unread(what: str, reasons: Sequence[str]) -> NoReturn:
    """End with 3, because nothing could be read of *what* was named; says of the first few why."""
    first = ", ".join(reasons[:_MOST_REASONS])
    more = f" and {len(reasons) - _MOST_REASONS} more" if len(reasons) > _MOST_REASONS else ""
    end(EXIT_UNFINISHED, f"{what} could be read{f': {first}' if first else ''}{more}")


def say(text: str, *, level: int = logging.INFO) -> None:
    """A line for people, on standard error, and in the log; nothing in it that a terminal would obey.

    Of what is no warning nothing is shown where people want it quiet.
    """
    logger.log(level, "%s", text, extra={"is_shown": True})
    if quiet.is_on and level < logging.WARNING:
        return
    sys.stderr.write(withheld(escaped(f"arkaudit: {text}")) + "\n")


def end(code: int, text: str) -> NoReturn:
    """Say why, and end."""
    say(text, level=logging.ERROR)
    sys.exit(code)


bugs: list[BaseException] = []
"""The exceptions that a run of this process survived."""


def note_bugs(failures: Iterable[BaseException]) -> None:
    """Say that errors of arkaudit cost answers or documents; `main` then ends with EXIT_UNFINISHED."""
    bugs.extend(failures)
    if bugs:
        number = counted(len(bugs), "answer or document", "answers or documents")
        first = f"{type(bugs[0]).__name__}: {bugs[0]}"
        say(f"{number} could not be processed, which is a bug of arkaudit: {first}", level=logging.ERROR)


def code_of(ending: BaseException) -> int:
    """The exit code of a command that ends with *ending*; 1, as Python has it, for a bug."""
    import click

    from arkaudit.datasets.connection import DatasetUnreadable
    from crawler.store import StoreDamaged, StoreUnopenable, StoreUnwritable
    from extractors.model.errors import PartsFailed, RunInterrupted, StorageFailed, UserMistake
    from reports.exports import ReportUnwritable
    from reports.store.frames import StoreUnreadable

    match ending:
        case SystemExit(code=int(code)):
            return code
        case OutputClosed() | SystemExit(code=None):
            return 0
        case UserMistake() | StoreUnopenable() | StoreUnreadable() | DatasetUnreadable():
            return EXIT_MISTAKE
        case ReportUnwritable() | click.ClickException():
            return EXIT_MISTAKE
        case OSError(errno=number) if number in _OF_PATHS and ending.filename is not None:
            return EXIT_MISTAKE
        case StoreUnwritable() | StoreDamaged() | OutputUnwritable():
            return EXIT_UNFINISHED
        case StorageFailed() | PartsFailed():
            return EXIT_UNFINISHED
        case OSError(errno=number) if number in _OF_DISKS:
            return EXIT_UNFINISHED
        case KeyboardInterrupt() | RunInterrupted() | click.Abort():
            return EXIT_INTERRUPTED
    return 1


def end_for(failure: Exception) -> NoReturn:
    """End with the exit code of a failure that has one; anything else is a bug, and shows where it is."""
    from crawler.store import StoreDamaged
    from crawler.store.files import damage_in_opened

    is_of_stream = isinstance(failure, OSError) and failure.errno == errno.EBADF
    if 1 in closed and (is_of_stream or isinstance(failure, OutputUnwritable)):
        failure = OutputUnwritable("the results can't be written: standard output is closed")
    code = code_of(failure)
    if isinstance(failure, OutputClosed | OutputUnwritable):
        forget(sys.stdout)  # or Python complains about the rest as it ends
    if code == 0:
        sys.exit(code)
    if code == EXIT_MISTAKE and isinstance(failure, OSError):
        end(code, f"{os.fsdecode(failure.filename)}: {failure.strerror}")
    if code == EXIT_MISTAKE or isinstance(failure, OutputUnwritable):
        end(code, str(failure))
    if isinstance(failure, StoreDamaged):
        end(code, f"{failure}; arkaudit store check says more")
    if code == EXIT_UNFINISHED:
        end(code, f"the run could not finish: {failure}; what was observed until then is kept")
    if code == EXIT_INTERRUPTED:
        end_interrupted(can_go_on=hasattr(failure, "run_id"))
    damage = damage_in_opened()
    if damage:  # of which the failure is a consequence
        end(EXIT_UNFINISHED, f"{damage}; arkaudit store check says more")
    logger.critical("this is a bug", exc_info=failure, extra={"is_shown": True})
    raise failure


def end_interrupted(*, can_go_on: bool) -> NoReturn:
    """End a command that was interrupted; where it can be resumed, say by which command."""
    say(INTERRUPTED, level=logging.ERROR)
    if can_go_on:
        words = [word for word in sys.argv[1:] if word != "--no-resume"]
        say(f"next, to resume it: {shlex.join(['arkaudit', *words])}")
    sys.exit(EXIT_INTERRUPTED)


@contextmanager
def also_in(place: Path | None) -> Iterator[None]:
    """Let results be printed that are kept at a *place* as well: where standard output is closed, they are there alone.

    Without a place, raises `OutputUnwritable`.
    """

    try:
        yield
    except OutputUnwritable:
        if place is None or 1 not in closed:
            raise
        forget(sys.stdout)
        say(f"standard output is closed: the results are in {place} alone")


def flush_results() -> None:
    """Write what was printed; a reader that has read enough is none the worse. Raises `OutputUnwritable`."""

    try:
        sys.stdout.flush()
    except BrokenPipeError:
        forget(sys.stdout)
    except OSError as problem:
        raise OutputUnwritable(f"the results can't be written: {problem.strerror}") from None


def forget(stream: TextIO) -> None:
    """Send the rest of what goes to *stream* nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


# Words that are near to a mistyped one.


def question_for_nearest(word: str, words: Iterable[str]) -> str:
    """Return the question for the *words* words nearest to *word*, as the end of a message; empty if none is near.

    >>> question_for_nearest("dealy", ["delay", "timeout"]), question_for_nearest("brokn", ["broken", "broke", "gone"])
    ("; did you mean 'delay'?", "; did you mean 'broken' or 'broke'?")
    >>> question_for_nearest("x", ["delay"])
    ''
    """
    near = get_close_matches(word.lower(), list(words), n=3, cutoff=0.7)
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""


# What a command prints at its end: what is wrong and where, one line of totals, one hint what to do next.

#: So many names of documents are in a command that is suggested; more are left to the user.
_MOST_NAMES = 3


def tell_ending(
    faults: Sequence[Fault], count: int, total: str, hint: str | None, language: Language = ENGLISH
) -> None:
    """Say what is amiss, of which there is *count*, then the *total*, and what to do next."""
    for line in (*fault_lines(faults, count, language), total, hint):
        if line:
            say(line)


def command(*words: str | Path) -> str:
    """A command as a shell takes it.

    >>> command("report", "--store", "my audit.db")
    "arkaudit report --store 'my audit.db'"
    """
    return shlex.join(["arkaudit", *map(str, words)])


def with_config(config_file: Path | None) -> tuple[str | Path, ...]:
    """The words that name a configuration, if there is one."""
    return ("-c", config_file) if config_file is not None else ()


def checked_words(families: Iterable[Family], without_ark: int, known_problems: str) -> str:
    """The total of a check: how many ARKs of each family there are, lines *without_ark*, and problems that are known.

    >>> from crawler.model.outcomes import Family
    >>> checked_words([Family.WORKS, Family.WORKS, Family.FAILS], 1, "")
    '3 ARKs checked: 2 work, 1 fails; 1 line holds no ARK'
    """
    from reports.tables.wording import FAMILY_COUNTS

    counts = Counter(families)
    parts = [
        ENGLISH.ngettext(forms.one, forms.many, counts[family])
        for family, forms in FAMILY_COUNTS.items()
        if counts[family]
    ]
    total = f"{counted(counts.total(), 'ARK')} checked" + (f": {', '.join(parts)}" if parts else "")
    lines = f"{counted(without_ark, 'line holds', 'lines hold')} no ARK" if without_ark else ""
    return "; ".join(filter(None, (total, lines, known_problems)))


def after_check(asked: str | None, store_file: Path | None, config_file: Path | None, *, is_explained: bool) -> str:
    """What to do after a check; *asked* is the first line of input of which the ARK fails, if any."""
    if store_file is not None:
        return after_run(store_file)
    if asked is not None and not is_explained:
        return next_words(command("check", "--explain", *with_config(config_file), asked))
    return next_words("the same with --store audit.db, which keeps every request and answer for arkaudit report")


def after_run(store_file: Path, language: Language = ENGLISH) -> str:
    """What to do after a run that has written no report."""
    return next_words(command("report", "--store", store_file, "--out", "report"), language)


def after_crawl(store_file: Path, config_file: Path | None) -> str:
    """What to do after a crawl."""
    return next_words(command("check", "--due", "--store", store_file, *with_config(config_file)))


def after_dataset(folder: str) -> str:
    """What to do after a dataset was made."""
    return next_words(command("check", "--from", folder, "--store", "audit.db", "--contact", "you@example.org"))


def after_extract(places: Sequence[str], config_file: Path | None) -> str:
    """What to do after the ARKs of documents were printed.

    >>> after_extract(["my thesis.pdf"], None)
    "next: arkaudit run 'my thesis.pdf' --contact you@example.org --out report"
    """
    is_named = len(places) <= _MOST_NAMES and "-" not in places
    contact = ("--contact", "you@example.org") if config_file is None else ()
    tail = (*with_config(config_file), *contact, "--out", "report")
    if is_named:
        return next_words(command("run", *places, *tail))
    return next_words(f"{command('run', 'FILE', *tail)}, with the same files, asks for each ARK")
