"""The store: everything observed and everything still to request, in one SQLite file. This module has its errors."""

from __future__ import annotations

from extractors.model.errors import ArkauditError


class StoreError(ArkauditError):
    """The base of all errors of a store."""


class StoreUnopenable(StoreError):
    """Raised by `Store.open` if no store can be opened at the path; nothing has been changed."""


class StoreUnwritable(StoreError):
    """Raised when an open store becomes unwritable, for example on a full disk; its contents stay intact."""


class StoreDamaged(StoreError):
    """Raised on opening or reading a store with unreadable parts, or with parts that arkaudit would not write."""
