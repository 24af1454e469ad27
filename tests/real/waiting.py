"""Bounded waits, long enough for a busy machine."""

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: Longest wait on the slowest machine.
PATIENCE_S = 600.0


def wait_until(is_so: Callable[[], object], what: str) -> None:
    """Wait for something; fails when it doesn't come."""
    end = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < end, f"never: {what}"
        time.sleep(0.02)


def rows_if_any(store: Path, query: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query; an empty list until the store and its table exist."""
    if not store.exists():
        return []
    try:
        with sqlite3.connect(f"file:{store}?mode=ro", uri=True, timeout=60) as raw:
            return raw.execute(query).fetchall()
    except sqlite3.OperationalError as problem:
        if "no such table" in str(problem) or "unable to open" in str(problem):
            return []
        raise
