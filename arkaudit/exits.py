"""How the command ends: its exit codes, and the one line for what went wrong."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import NoReturn

from rich.console import Console

from reports.gravity import is_reached

EXIT_FINDING, EXIT_MISTAKE, EXIT_UNFINISHED = 1, 2, 3
NEVER = "never"  # the word of --fail-on for what nothing is as grave as
EXIT_INTERRUPTED = 130  # what shells report of a program that Ctrl-C has ended

INTERRUPTED = "interrupted; what was observed until then is kept"

errors = Console(stderr=True, soft_wrap=True)
"""Everything but results goes here."""


def exit_on(fail_on: Sequence[str], found: Iterable[str]) -> None:
    """End with 1 when something *found* is as grave as one of *fail_on*, or graver (`reports.gravity`)."""
    if is_reached((token for token in fail_on if token != NEVER), found):
        sys.exit(EXIT_FINDING)


def say(text: str) -> None:
    """A line for people, on standard error."""
    errors.print(f"arkaudit: {text}", highlight=False, markup=False)


def end(code: int, text: str) -> NoReturn:
    """Say why, and end."""
    say(text)
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
    raise failure


def _forget_output() -> None:
    """Send the rest of the output nowhere, or Python complains about it as it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
