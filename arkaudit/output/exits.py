"""Exit codes, signals, standard streams and messages of the command."""

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
from functools import cache
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NoReturn, TextIO

from arkaudit.output.hints import Fault, fault_lines, next_words
from extractors.model.errors import EXIT_INTERRUPTED, EXIT_MISTAKE, EXIT_UNFINISHED, ArkauditError
from reports.languages import ENGLISH, VOCABULARY, Language
from reports.languages.display import count_noun, escape_invisible

if TYPE_CHECKING:
    from rich.console import Console

    from crawler.model.outcomes import Family
    from crawler.process import RunFaults


INTERRUPTED = "interrupted; all observations until then are kept"


class OutputClosed(ArkauditError):
    """Raised when the reader of standard output is gone, such as `head`. It is not a failure."""

    exit_code = 0


class OutputUnwritable(ArkauditError):
    """Raised when results can't be written, for example on a full disk."""

    exit_code = EXIT_UNFINISHED


def handle_signals_early() -> None:
    """Make SIGINT and SIGTERM end the command with one line and exit code 130, also during imports."""
    for number in (signal.SIGINT, signal.SIGTERM):
        # Shells ignore SIGINT for programs in the background.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, raise_interrupt)


def raise_interrupt(_: int, frame: FrameType | None) -> NoReturn:
    """Raise KeyboardInterrupt, or exit at once during an import, where libraries may swallow that exception."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            os.write(2, f"arkaudit: {INTERRUPTED}\n".encode())
            os._exit(EXIT_INTERRUPTED)
        frame = frame.f_back
    raise KeyboardInterrupt


logger = logging.getLogger(__name__)
# Without it, Python's last-resort handler would print each line again before the log is configured.
logger.addHandler(logging.NullHandler())

EXIT_FINDING = 1
#: The value of --fail-on that is never reached.
NEVER = "never"

#: Number of unreadable documents whose reasons a message lists.
_MOST_REASONS = 3

#: The length of a printed line; longer ones come from a store with foreign values.
_MOST_LINE_CHARS = 8_192

#: Errors of a disk.
DISK_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO})
#: Errors of a path that the user named.
_PATH_ERRORS = frozenset({errno.EACCES, errno.EPERM, errno.ENAMETOOLONG, errno.ELOOP})


@dataclass(slots=True)
class Quiet:
    """The state of `--quiet`: print only warnings, errors and results."""

    is_on: bool = False


quiet = Quiet()

redact: Callable[[str], str] = str
"""Redacts secrets in a line; set by `arkaudit.output.logs.start_log`."""


@cache
def errors() -> Console:
    """Return the console on standard error, for all output except results."""
    from rich.console import Console

    return Console(stderr=True, soft_wrap=True)


class ForgivingStderr(io.TextIOWrapper):
    """Standard error that ignores write failures, so that a closed pipe does not stop a run."""

    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except OSError:
            discard_output(self)
            return len(text)

    def flush(self) -> None:
        try:
            super().flush()
        except OSError:
            discard_output(self)


closed: set[int] = set()
"""File descriptors of standard streams that were closed at the start."""


def open_streams() -> None:
    """Let the standard streams write any file name, and open the null device for streams that are closed.

    Otherwise the next opened file would get the descriptor of a closed stream. Writing results to the null device fails.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            closed.add(descriptor)
            # Takes the lowest free descriptor.
            os.open(os.devnull, os.O_RDWR if descriptor == 2 else os.O_RDONLY)
    sys.stdin = sys.stdin or open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    if sys.stderr is sys.__stderr__:
        encoding = sys.stderr.encoding if sys.stderr else "utf-8"
        binary_stderr = open(2, "wb", closefd=False)  # noqa: SIM115
        sys.stderr = ForgivingStderr(binary_stderr, encoding=encoding, errors="backslashreplace", line_buffering=True)


def handle_signals() -> None:
    """Handle SIGTERM of a service manager and SIGHUP of a closed terminal like Ctrl-C."""

    def hang_up(*_: object) -> None:
        # Shells send a second SIGHUP, and a second signal would end the command at once.
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        os.kill(os.getpid(), signal.SIGTERM)

    signal.signal(signal.SIGTERM, raise_interrupt)
    # `nohup` ignores it.
    if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
        signal.signal(signal.SIGHUP, hang_up)


def exit_on(
    fail_on: Sequence[str], tokens: Iterable[str], *, is_whole: bool = True, store_file: Path | None = None
) -> None:
    """Print a message and exit with 1 if any of *tokens* is at least as severe as any of *fail_on*.

    `reports.tables.wording` defines the order. With a *store_file*, the message suggests commands that list and accept
    the findings. Without such a token, exit with 3 if *is_whole* is False, else return.
    """
    from reports.store.known_problems import UNREADABLE
    from reports.tables.wording import reached_tokens

    failing_tokens = [token for token in fail_on if token != NEVER]
    if severe_tokens := reached_tokens(failing_tokens, tokens):
        options = " ".join(f"--fail-on {token}" for token in failing_tokens)
        say(f"exit code {EXIT_FINDING} because of {options}: found {' and '.join(severe_tokens)}")
        if store_file is not None:
            only = [word for token in severe_tokens if token != UNREADABLE for word in ("--only", token)]
            report = command("report", "--store", store_file, *only, "--format", "md", "--out", "-")
            accepting = f"{command('known', 'add', 'WHAT', '--store', store_file)} --until YYYY-MM-DD"
            say(f"to list the places: {report}")
            say(
                f"to accept an ARK, host:NAME or document:ADDRESS for a time: {accepting}; then repeat with --known known.csv"
            )
        sys.exit(EXIT_FINDING)
    if not is_whole:
        sys.exit(EXIT_UNFINISHED)


def end_unread(subject: str, reasons: Sequence[str]) -> NoReturn:
    """Exit with 3 because nothing was readable; the message has the *subject*, such as ``no seed``, and *reasons*."""
    first_reasons = ", ".join(reasons[:_MOST_REASONS])
    more_words = f" and {len(reasons) - _MOST_REASONS} more" if len(reasons) > _MOST_REASONS else ""
    end(EXIT_UNFINISHED, f"{subject} could be read{f': {first_reasons}' if first_reasons else ''}{more_words}")


def say(text: str, *, level: int = logging.INFO) -> None:
    """Print a line on standard error and log it, without terminal escapes; with `--quiet` print only warnings.

    Secrets in the line are redacted. Then a very long line is cut.
    """
    text = redact(text)
    if len(text) > _MOST_LINE_CHARS:
        text = f"{text[:_MOST_LINE_CHARS]}…"
    logger.log(level, "%s", text, extra={"is_shown": True})
    if quiet.is_on and level < logging.WARNING:
        return
    sys.stderr.write(escape_invisible(f"arkaudit: {text}") + "\n")


def end(code: int, text: str) -> NoReturn:
    """Print an error, and exit with *code*."""
    say(text, level=logging.ERROR)
    sys.exit(code)


survived: list[RunFaults] = []
"""Faults of arkaudit that a run of this process survived."""


def note_faults(faults: RunFaults) -> None:
    """Print a message about answers and documents lost to bugs of arkaudit; `main` then exits with EXIT_UNFINISHED."""
    if faults.bugs or faults.lost:
        survived.append(faults)
    if faults.bugs:
        count_words = count_noun(len(faults.bugs), "answer or document", "answers or documents")
        first_bug = f"{type(faults.bugs[0]).__name__}: {faults.bugs[0]}"
        say(f"{count_words} could not be processed, which is a bug of arkaudit: {first_bug}", level=logging.ERROR)
    if faults.lost:
        count_words = count_noun(len(faults.lost), "URL was", "URLs were")
        say(
            f"{count_words} requested without an outcome, which is a bug of arkaudit, for example {faults.lost[0]}; "
            "the run is not finished: the same command requests them again",
            level=logging.ERROR,
        )


def code_of(exception: BaseException) -> int:
    """Return the exit code for an exception: 1, like Python's own, for a bug."""
    import click

    match exception:
        case SystemExit(code=int(code)) | ArkauditError(exit_code=int(code)):
            return code
        case SystemExit(code=None):
            return 0
        case click.ClickException():
            return EXIT_MISTAKE
        case OSError(errno=number) if number in _PATH_ERRORS and exception.filename is not None:
            return EXIT_MISTAKE
        case OSError(errno=number) if number in DISK_ERRORS:
            return EXIT_UNFINISHED
        case KeyboardInterrupt() | click.Abort():
            return EXIT_INTERRUPTED
    return 1


def end_for(failure: Exception) -> NoReturn:
    """Exit with the code of a *failure* and a message; raise it again if it is a bug, for a traceback."""
    from crawler.store import StoreDamaged, StoreUnwritable
    from crawler.store.files import damage_in_opened

    is_bad_descriptor = isinstance(failure, OSError) and failure.errno == errno.EBADF
    if 1 in closed and (is_bad_descriptor or isinstance(failure, OutputUnwritable)):
        failure = OutputUnwritable("the results can't be written: standard output is closed")
    code = code_of(failure)
    if isinstance(failure, OutputClosed | OutputUnwritable):
        # Otherwise Python complains at exit about unwritten output.
        discard_output(sys.stdout)
    if code == 0:
        sys.exit(code)
    if code == EXIT_MISTAKE and isinstance(failure, OSError):
        end(code, f"{os.fsdecode(failure.filename)}: {failure.strerror}")
    if isinstance(failure, StoreDamaged):
        end(code, f"{failure}; run arkaudit store check for details")
    if code == EXIT_UNFINISHED and isinstance(failure, StoreUnwritable | OSError):
        end(code, f"the run could not finish: {failure}; all observations until then are kept")
    if code in (EXIT_MISTAKE, EXIT_UNFINISHED):
        end(code, str(failure))
    if code == EXIT_INTERRUPTED:
        end_interrupted(is_resumable=hasattr(failure, "run_id"))
    damage = damage_in_opened()
    # A damaged file can cause any other failure.
    if damage:
        end(EXIT_UNFINISHED, f"{damage}; run arkaudit store check for details")
    logger.critical("this is a bug", exc_info=failure, extra={"is_shown": True})
    raise failure


def end_interrupted(*, is_resumable: bool, is_by_time: bool = False) -> NoReturn:
    """Exit with 130 after a signal, or with 3 after the time limit of a check (*is_by_time*).

    Prints the command that resumes the run if it *is_resumable*.
    """
    if not is_by_time:
        say(INTERRUPTED, level=logging.ERROR)
    if is_resumable:
        arguments = [word for word in sys.argv[1:] if word != "--no-resume"]
        say(f"next, to resume it: {shlex.join(['arkaudit', *arguments])}")
    sys.exit(EXIT_UNFINISHED if is_by_time else EXIT_INTERRUPTED)


@contextmanager
def also_in(store_file: Path | None) -> Iterator[None]:
    """Ignore a closed standard output in the ``with`` block if the results are also in *store_file*.

    Without a *store_file*, `OutputUnwritable` passes through.
    """
    try:
        yield
    except OutputUnwritable:
        if store_file is None or 1 not in closed:
            raise
        discard_output(sys.stdout)
        say(f"standard output is closed: the results are only in {store_file}")


def flush_results() -> None:
    """Flush standard output, whose reader may be gone. Raises `OutputUnwritable`."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        discard_output(sys.stdout)
    except OSError as problem:
        raise OutputUnwritable(f"the results can't be written: {problem.strerror}") from None


def discard_output(stream: TextIO) -> None:
    """Discard all further output to *stream*."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


# -- the last lines of a command: faults, one line of totals, one hint

#: Number of documents that a suggested command names at most.
_MOST_NAMES = 3


def print_ending(
    faults: Sequence[Fault], fault_count: int, total_line: str, hint: str | None, language: Language = ENGLISH
) -> None:
    """Print the first faults and how many of *fault_count* are left, the *total_line*, and the *hint*."""
    for line in (*fault_lines(faults, fault_count, language), total_line, hint):
        if line:
            say(line)


def command(*arguments: str | Path) -> str:
    """Return a command line of arkaudit with these arguments, quoted for a shell.

    >>> command("report", "--store", "my audit.db")
    "arkaudit report --store 'my audit.db'"
    """
    return shlex.join(["arkaudit", *map(str, arguments)])


def config_options(config_file: Path | None) -> tuple[str | Path, ...]:
    """Return the option ``-c`` for *config_file*, or () if it is None."""
    return ("-c", config_file) if config_file is not None else ()


def check_total(families: Iterable[Family], without_ark: int, known_problems: int) -> str:
    """Return the totals of a check: ARKs by family, lines *without ARK*, and the number of known problems.

    >>> from crawler.model.outcomes import Family
    >>> check_total([Family.WORKS, Family.WORKS, Family.FAILS], 1, 0)
    '3 ARKs checked: 2 work, 1 fails; 1 line holds no ARK'
    """
    from crawler.model.outcomes import Family

    counts = Counter(families)
    forms = VOCABULARY["family"]
    family_words = [ENGLISH.counted(forms[family]["count"], counts[family]) for family in Family if counts[family]]
    families_part = f": {', '.join(family_words)}" if family_words else ""
    ark_words = f"{count_noun(counts.total(), 'ARK')} checked{families_part}"
    line_words = f"{count_noun(without_ark, 'line holds', 'lines hold')} no ARK" if without_ark else ""
    known_words = count_noun(known_problems, "known problem") if known_problems else ""
    return "; ".join(filter(None, (ark_words, line_words, known_words)))


def hint_after_check(failing_line: str | None, store_file: Path | None, config_file: Path | None) -> str:
    """Return the next command to try after a check; *failing_line* is the first line of input whose ARK fails."""
    if store_file is not None:
        return after_run(store_file)
    if failing_line is not None:
        return next_words(command("explain", *config_options(config_file), failing_line))
    return next_words("repeat it with --store audit.db, which keeps every request and answer for arkaudit report")


def after_run(store_file: Path, language: Language = ENGLISH) -> str:
    """Return the next command to try after a run without a report."""
    return next_words(command("report", "--store", store_file, "--out", "report"), language)


def hint_after_crawl(store_file: Path, config_file: Path | None) -> str:
    """Return the next command to try after a crawl."""
    return next_words(command("recheck", "--store", store_file, *config_options(config_file)))


def hint_after_extract(places: Sequence[str], config_file: Path | None) -> str:
    """Return the next command to try after the ARKs of documents at *places* were printed.

    >>> hint_after_extract(["my thesis.pdf"], None)
    "next: arkaudit run 'my thesis.pdf' --contact you@example.org --out report"
    """
    is_named = len(places) <= _MOST_NAMES and "-" not in places
    contact = ("--contact", "you@example.org") if config_file is None else ()
    options = (*config_options(config_file), *contact, "--out", "report")
    if is_named:
        return next_words(command("run", *places, *options))
    return next_words(f"check each ARK by {command('run', 'FILE', *options)}, with the same files")
