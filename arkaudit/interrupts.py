"""Handle signals from the first moment on. Imports next to nothing: it is in place before anything else is read."""

from __future__ import annotations

import os
import signal
from types import FrameType
from typing import Any, NoReturn

INTERRUPTED = "interrupted; what was observed until then is kept"
EXIT_INTERRUPTED = 130  # what shells report of a program that Ctrl-C has ended


def heed_at_once() -> None:
    """Let SIGINT and SIGTERM end the command, with one line and 130, also while modules are imported."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as a shell has it for what runs beside it
            signal.signal(number, interrupted)


def interrupted(_: int, frame: FrameType | None) -> NoReturn:
    """Raise KeyboardInterrupt; in the midst of an import, where libraries take that for anything, end at once."""
    if _is_importing(frame):
        os.write(2, f"arkaudit: {INTERRUPTED}\n".encode())
        os._exit(EXIT_INTERRUPTED)
    raise KeyboardInterrupt


def _is_importing(frame: Any) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False
