"""The base of every error that this program raises on purpose; `arkaudit.errors` draws the tree."""

from __future__ import annotations


class ArkauditError(Exception):
    """The base of all errors of arkaudit: whoever catches it catches each of them, and no bug."""


class SourceUnreadable(ArkauditError, OSError):
    """Raised by `extractors.extract` for a path that names nothing that can be read, and for a URL."""
