"""Explain the verdict on an ARK step by step, now or from a store, with its history."""

from __future__ import annotations

from collections.abc import Mapping

from arkaudit.hooks import hookimpl


@hookimpl
def commands() -> Mapping[str, tuple[str, str]]:
    """Return the command `explain`."""
    return {"explain": (f"{__name__}.command:explain", "Explain the verdict on an ARK, now and over time.")}
