"""The progress of reading local documents."""

from __future__ import annotations

from arkaudit.status_line import StatusLine
from reports.display import counted


class ReadingProgress(StatusLine):
    """The number of documents read, and of mentions of ARKs in them."""

    def __init__(self) -> None:
        super().__init__()
        self.documents = 0
        self._mentions = 0

    def read(self, mentions: int) -> None:
        """Note that one more document was read, with so many *mentions*."""
        self.documents += 1
        self._mentions += mentions
        found = counted(self._mentions, "mention of an ARK", "mentions of ARKs")
        self.tell(f"{counted(self.documents, 'document')} read, {found}")
