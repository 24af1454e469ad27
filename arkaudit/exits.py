"""The end of the command: its exit codes, and the one line for what went wrong."""

from __future__ import annotations

import errno
import io
import logging
import os
import shlex
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, NoReturn, TextIO

from arkaudit.interrupts import EXIT_INTERRUPTED as EXIT_INTERRUPTED
from arkaudit.interrupts import INTERRUPTED as INTERRUPTED
from arkaudit.interrupts import interrupted
from reports.display import escaped

if TYPE_CHECKING:
    from rich.console import Console

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


def open_streams() -> None:
    """Make the standard streams fit for us: names of files may hold what no text can, and some may be closed.

    What is closed leads nowhere from now on, so that no file of ours is taken for it.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
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


def exit_on(fail_on: Sequence[str], found: Iterable[str], *, is_whole: bool = True) -> None:
    """End with 1 when something *found* is as grave as one of *fail_on*, or graver (`reports.gravity`).

    Else end with 3 where a part of the report could not be made, so that it is not *is_whole*.
    """
    from reports.gravity import is_reached

    if is_reached((token for token in fail_on if token != NEVER), found):
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


def code_of(ending: BaseException) -> int:
    """The exit code of a command that ends with *ending*; 1, as Python has it, for a bug."""
    import click

    from arkaudit.output_rows import OutputClosed, OutputUnwritable
    from crawler.storage.store_errors import StoreDamaged, StoreUnopenable, StoreUnwritable
    from extractors.shared_errors import PartsFailed, RunInterrupted, StorageFailed, UserMistake
    from reports.dataset.connection import DatasetUnreadable
    from reports.exports import ReportUnwritable
    from reports.frames import StoreUnreadable

    match ending:
        case SystemExit(code=int(code)):
            return code
        case OutputClosed() | SystemExit(code=None):
            return 0
        case UserMistake() | StoreUnopenable() | StoreUnreadable() | DatasetUnreadable() | ReportUnwritable():
            return EXIT_MISTAKE
        case click.ClickException():
            return EXIT_MISTAKE
        case OSError(errno=number) if number in _OF_PATHS and ending.filename is not None:
            return EXIT_MISTAKE
        case StoreUnwritable() | StoreDamaged() | OutputUnwritable() | StorageFailed() | PartsFailed():
            return EXIT_UNFINISHED
        case OSError(errno=number) if number in _OF_DISKS:
            return EXIT_UNFINISHED
        case KeyboardInterrupt() | RunInterrupted() | click.Abort():
            return EXIT_INTERRUPTED
    return 1


def end_for(failure: Exception) -> NoReturn:
    """End with the exit code of a failure that has one; anything else is a bug, and shows where it is."""
    from arkaudit.output_rows import OutputClosed, OutputUnwritable
    from crawler.storage.soundness import damage_in_opened
    from crawler.storage.store_errors import StoreDamaged

    match code_of(failure):
        case 0 as code:
            forget_output()
            sys.exit(code)
        case code if isinstance(failure, OutputClosed | OutputUnwritable):
            forget_output()
            end(code, str(failure))
        case code if code == EXIT_MISTAKE and isinstance(failure, OSError):
            end(code, f"{os.fsdecode(failure.filename)}: {failure.strerror}")
        case code if code == EXIT_MISTAKE:
            end(code, str(failure))
        case code if isinstance(failure, StoreDamaged):
            end(code, f"{failure}; arkaudit store check tells more")
        case code if code == EXIT_UNFINISHED:
            end(code, f"the run could not finish: {failure}; what was observed until then is kept")
        case code if code == EXIT_INTERRUPTED:
            end_interrupted(can_go_on=hasattr(failure, "run_id"))
    damage = damage_in_opened()
    if damage:  # which whoever has met it took for anything
        end(EXIT_UNFINISHED, f"{damage}; arkaudit store check tells more")
    logger.critical("this is a bug", exc_info=failure, extra={"is_shown": True})
    raise failure


def end_interrupted(*, can_go_on: bool) -> NoReturn:
    """End a command that was interrupted; where it can be gone on with, say by which command."""
    say(INTERRUPTED, level=logging.ERROR)
    if can_go_on:
        words = [word for word in sys.argv[1:] if word != "--no-resume"]
        say(f"next, to go on with it: {shlex.join(['arkaudit', *words])}")
    sys.exit(EXIT_INTERRUPTED)


def forget_output() -> None:
    """Send the rest of the output nowhere, or Python complains about it as it ends."""
    forget(sys.stdout)


def forget(stream: TextIO) -> None:
    """Send the rest of what goes to *stream* nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
