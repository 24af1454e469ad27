"""Pages as a browser shows them: a Chromium that opens no connection, and has from us all that it asks for.

Here: where a browser is, and how much a page may take.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

#: Under which names a Chromium is installed.
NAMES = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
)
#: Where `playwright install chromium` puts its own.
_OF_PLAYWRIGHT = (
    "chromium-*/chrome-linux*/chrome",
    "chromium-*/chrome-mac*/Chromium.app/Contents/MacOS/Chromium",
)


@dataclass(frozen=True, slots=True)
class PageLimits:
    """How much one page may take; what is beyond that is not asked for, and the page is not whole then."""

    requests: int = 60
    bytes: int = 20 * 2**20
    """Of all that it asks for, as it is sent."""
    seconds: float = 30.0
    """Of its own work, without the time in which it waits for what it has asked for."""


@dataclass(frozen=True, slots=True)
class RenderOptions:
    """The browser that shows pages, and the limits of each."""

    browser: Path
    limits: PageLimits = PageLimits()


def find_browser(named: Path | None = None) -> Path | None:
    """The Chromium to be used: the one that was *named*, or that is installed; None where there is none."""
    if named is not None:
        program = shutil.which(named)
        return None if program is None else Path(program)
    installed = next((path for path in map(shutil.which, NAMES) if path), None)
    if installed is not None:
        return Path(installed)
    folder = Path(
        os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or Path.home() / ".cache" / "ms-playwright"
    )
    return next(
        (path for pattern in _OF_PLAYWRIGHT for path in sorted(folder.glob(pattern), reverse=True)),
        None,
    )
