"""Look for damage in a store, and remove the answers of old runs."""

from __future__ import annotations

from collections.abc import Mapping

from arkaudit.hooks import hookimpl


@hookimpl
def commands() -> Mapping[str, tuple[str, str]]:
    """Return the command `store`."""
    return {"store": (f"{__name__}.command:store", "Check a store, or prune its old runs.")}
