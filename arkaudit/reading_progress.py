"""The progress of reading local documents: live on a terminal, plain lines in a log; always on standard error."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Self

from arkaudit.exits import errors
from reports.display import counted

if TYPE_CHECKING:
    from rich.status import Status

#: Seconds between two lines where there is no terminal.
LINE_EVERY_S = 10.0


class ReadingProgress:
    """The number of documents read, and of mentions of ARKs in them."""

    def __init__(self) -> None:
        self.documents = 0
        self._mentions = 0
        self._status: Status | None = None
        self._last_line = time.monotonic()

    def __enter__(self) -> Self:
        if sys.stderr.isatty() and errors().is_terminal:
            self._status = errors().status("reading")
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()

    def read(self, mentions: int) -> None:
        """Note that one more document was read, with so many *mentions*."""
        self.documents += 1
        self._mentions += mentions
        found = counted(self._mentions, "mention of an ARK", "mentions of ARKs")
        line = f"{counted(self.documents, 'document')} read, {found}"
        if self._status is not None:
            self._status.update(line)
        elif time.monotonic() - self._last_line >= LINE_EVERY_S:
            self._last_line = time.monotonic()
            sys.stderr.write(f"{line}\n")
