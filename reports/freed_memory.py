"""Memory that was freed goes back to the system: what a report takes at its height is what others can't have."""

from __future__ import annotations

import ctypes
from typing import Final


def give_back() -> None:
    """Give back what is free inside the heap of the C library; nothing happens where that has no such function.

    glibc gives back by itself what is free at the end of its heap. Columns come and go, and leave gaps: a sixth of the
    memory of a report behind a million observations.
    """
    if _TRIM is not None:
        _TRIM(0)


def _function_of_libc() -> ctypes._NamedFuncPointer | None:
    try:
        return ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # not glibc; Windows knows no library without a name
        return None


_TRIM: Final = _function_of_libc()
