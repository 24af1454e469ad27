"""The store: everything observed and everything still to request, in one SQLite file. This module has its errors."""

from __future__ import annotations

from extractors.model.errors import EXIT_MISTAKE, EXIT_UNFINISHED, ArkauditError


class StoreError(ArkauditError):
    """The base of all errors of a store."""


class StoreUnopenable(StoreError):
    """Raised if there is no store of this version at the path, or it lacks the requested run; nothing has changed."""

    exit_code = EXIT_MISTAKE


class StoreUnwritable(StoreError):
    """Raised when an open store becomes unwritable, for example on a full disk; its contents stay intact."""

    exit_code = EXIT_UNFINISHED


class StoreDamaged(StoreError):
    """Raised on opening or reading a store with unreadable parts, or with parts that arkaudit would not write."""

    exit_code = EXIT_UNFINISHED
