"""Keep a copy of the public NAAN registry, and look up its entries."""

from __future__ import annotations

from collections.abc import Mapping

from arkaudit.hooks import hookimpl


@hookimpl
def commands() -> Mapping[str, tuple[str, str]]:
    """Return the command `registry`."""
    line = "Look up who assigns ARKs under a NAAN, and where they resolve."
    return {"registry": (f"{__name__}.command:registry", line)}
