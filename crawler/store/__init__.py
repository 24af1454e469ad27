"""The store: everything observed, and everything still to be asked for, in one SQLite file. Here: its errors."""

from __future__ import annotations

from extractors.model.errors import ArkauditError


class StoreError(ArkauditError):
    """The root of what can be wrong with a store."""


class StoreUnopenable(StoreError):
    """Raised by `Store.open` when there can be no store at that path; nothing has been touched."""


class NotOurStore(StoreUnopenable):
    """Raised on opening a file that is no store of ours."""


class UnknownStoreVersion(StoreUnopenable):
    """Raised on opening a store that another version of arkaudit wrote, with other tables."""


class StoreBusy(StoreUnopenable):
    """Raised on opening a store that another process has open; one process writes a store."""


class StoreUnwritable(StoreError):
    """Raised when an open store can't be written any more, as when the disk is full; what it has, it keeps."""


class NotCopied(StoreError):
    """Raised when there can be no copy of a store; the store is as it was."""


class StoreDamaged(StoreError):
    """Raised on opening or reading a store of ours of which something can't be read, or is not as we make it."""
