"""How the command ends: its exit codes, and the one line for what went wrong."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterable
from typing import NoReturn

from rich.console import Console

from crawler.observations import GRAVITY, ObjectOutcome
from reports.display import escaped

logger = logging.getLogger(__name__)
logger.addHandler(logging.NullHandler())  # before it is known where the log goes, a line is said once all the same

EXIT_FINDING, EXIT_MISTAKE, EXIT_UNFINISHED = 1, 2, 3
EXIT_INTERRUPTED = 130  # what shells report of a program that Ctrl-C has ended

INTERRUPTED = "interrupted; what was observed until then is kept"

errors = Console(stderr=True, soft_wrap=True)
"""Everything but results goes here."""


def exit_on(fail_on: str, outcomes: Iterable[str]) -> None:
    """End with 1 when one of *outcomes* is *fail_on* or a graver one (the order of `GRAVITY`)."""
    if fail_on == "never":
        return
    grave = {outcome.value for outcome in GRAVITY[: GRAVITY.index(ObjectOutcome(fail_on)) + 1]}
    if grave.intersection(outcomes):
        sys.exit(EXIT_FINDING)


def say(text: str, *, level: int = logging.INFO) -> None:
    """A line for people, on standard error, and in the log; nothing in it that a terminal would obey."""
    logger.log(level, "%s", text, extra={"is_shown": True})
    errors.print(escaped(f"arkaudit: {text}"), highlight=False, markup=False)


def end(code: int, text: str) -> NoReturn:
    """Say why, and end."""
    say(text, level=logging.ERROR)
    sys.exit(code)


def end_for(failure: Exception) -> NoReturn:
    """End with the exit code of a failure that has one; anything else is a bug, and shows where it is."""
    from arkaudit.rows import OutputClosed, OutputUnwritable
    from crawler.process import RunInterrupted
    from crawler.store import StoreUnopenable, StoreUnwritable
    from reports.exports import ReportUnwritable
    from reports.frames import StoreUnreadable

    match failure:
        case OutputClosed():
            _forget_output()
            sys.exit(0)
        case OutputUnwritable():
            _forget_output()
            end(EXIT_UNFINISHED, str(failure))
        case StoreUnopenable() | StoreUnreadable() | ReportUnwritable():
            end(EXIT_MISTAKE, str(failure))
        case StoreUnwritable():
            end(EXIT_UNFINISHED, f"the run could not finish: {failure}; what was observed until then is kept")
        case RunInterrupted():
            end(EXIT_INTERRUPTED, INTERRUPTED)
    logger.critical("this is a bug", exc_info=failure, extra={"is_shown": True})
    raise failure


def _forget_output() -> None:
    """Send the rest of the output nowhere, or Python complains about it as it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
