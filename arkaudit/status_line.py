"""One line on standard error about work that goes on: live on a terminal, and a plain one now and then in a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Self

from arkaudit import exits

if TYPE_CHECKING:
    from rich.status import Status

#: Seconds between two lines where there is no terminal.
LINE_EVERY_S: Final = 60.0


class StatusLine:
    """Shows what it was told last."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._status: Status | None = None
        self._last_line = clock()

    def __enter__(self) -> Self:
        if sys.stderr.isatty() and exits.errors().is_interactive and not exits.quiet.is_on:
            self._status = exits.errors().status("reading")
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()

    def tell(self, line: str) -> None:
        """Show *line*, when it is time for one."""
        if self._status is not None:
            self._status.update(line)
        elif not exits.quiet.is_on and self._clock() - self._last_line >= LINE_EVERY_S:
            self._last_line = self._clock()
            sys.stderr.write(f"{line}\n")
