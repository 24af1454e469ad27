"""The base of every error that this program raises on purpose, and those that all packages share.

`arkaudit.errors` draws the tree.
"""

from __future__ import annotations


class ArkauditError(Exception):
    """The base of all errors of arkaudit: code that catches it catches each of them, and no bug."""


class SourceUnreadable(ArkauditError, OSError):
    """Raised by `extractors.extract` for a path that names nothing that can be read, and for a URL."""


class UserMistake(ArkauditError):
    """Raised for what the user can put right: one clear line."""


class PartsFailed(ArkauditError):
    """Raised when parts of a dataset could not be made, for now; what has been committed stays."""


class StorageFailed(ArkauditError):
    """Raised when object storage does not do, for now, what it was asked for."""


class RunInterrupted(ArkauditError):
    """Raised when the run was stopped by a signal; what was in flight has been recorded, unless it was stopped at once.

    A second signal stops it at once.
    """

    def __init__(self, *, at_once: bool = False) -> None:
        super().__init__("at once" if at_once else "in good order")
        self.at_once = at_once
