"""The base of all errors that arkaudit raises on purpose, and the errors that all packages share.

`arkaudit.errors` documents the tree.
"""

from __future__ import annotations

from typing import ClassVar

EXIT_MISTAKE, EXIT_UNFINISHED = 2, 3
#: The exit code that shells report for a program that Ctrl-C ended.
EXIT_INTERRUPTED = 130


class ArkauditError(Exception):
    """The base of all errors of arkaudit; bugs raise other exceptions."""

    exit_code: ClassVar[int | None] = None
    """The exit code of a command that the error ends; None if it must not reach the command."""


class SourceUnreadable(ArkauditError, OSError):
    """Raised by `extractors.extract` for a path that doesn't exist or can't be read, and for a URL."""


class UserMistake(ArkauditError):
    """Raised for a mistake that the user can correct; the message is one line."""

    exit_code = EXIT_MISTAKE


class RunInterrupted(ArkauditError):
    """Raised if a signal or a time limit (*is_by_time*) stopped the run.

    Work in flight was recorded, unless a second signal stopped the run *at_once*.
    """

    exit_code = EXIT_INTERRUPTED

    def __init__(self, *, at_once: bool = False, is_by_time: bool = False) -> None:
        super().__init__("at once" if at_once else "in good order")
        self.at_once = at_once
        self.is_by_time = is_by_time
