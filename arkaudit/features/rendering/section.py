"""The section ``render`` of the configuration."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator

from arkaudit.configuration.setting_values import Seconds, with_extra
from arkaudit.configuration.settings import Section, setting

#: Names of Chromium's program. The first has no windows at all, and starts in a third of the time.
NAMES = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
)
#: The paths of the browsers that `playwright install chromium` installs.
_PLAYWRIGHT_PATHS = (
    "chromium_headless_shell-*/chrome-headless-shell-*/chrome-headless-shell",
    "chromium-*/chrome-linux*/chrome",
    "chromium-*/chrome-mac*/Chromium.app/Contents/MacOS/Chromium",
)


def find_browser(program_path: Path | None = None) -> Path | None:
    """Return the path of the program *program_path*, by default of an installed Chromium; None if missing."""
    if program_path is not None:
        program = shutil.which(program_path)
        return None if program is None else Path(program)
    installed = next((path for path in map(shutil.which, NAMES) if path), None)
    if installed is not None:
        return Path(installed)
    folder = Path(os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or Path.home() / ".cache" / "ms-playwright")
    return next((path for pattern in _PLAYWRIGHT_PATHS for path in sorted(folder.glob(pattern), reverse=True)), None)


class Render(Section):
    """Options for pages that need JavaScript: without it, an app shell looks the same for every name.

    Requests beyond the limits of a page are not sent, and the page counts as incomplete.
    """

    enabled: Annotated[bool, AfterValidator(lambda is_on: with_extra(is_on, "playwright", "playwright", "render"))] = (
        False
    )
    """Needs the extra `render`, and a Chromium."""
    browser: Path | None = None
    """The Chromium to use; default: the first on the PATH, chromium-headless-shell before others."""
    max_requests: int = setting(60, "Requests of a page, besides itself.", ge=1, le=1000)
    max_bytes: int = setting(20 * 2**20, "Size of all their answers together, as sent.", ge=1)
    seconds: Seconds = setting(
        30.0, 'Run time of the scripts of a page, without the waiting for answers; "1m" is possible too.', gt=0, le=600
    )

    @property
    def determines_requests(self) -> bool:
        """True: see `Section.determines_requests`."""
        return True

    @property
    def program(self) -> Path | None:
        """The path of the browser's program; None if rendering is off or no browser is installed."""
        return find_browser(self.browser) if self.enabled else None

    def refuse(self) -> None:
        """Raise ValueError if rendering is enabled, but there is no Chromium."""
        if self.enabled and self.program is None:
            location = f"at {self.browser}" if self.browser else "on the PATH: name one as render.browser"
            raise ValueError(f"there is no Chromium {location}")

    def forecast_notes(self) -> Iterator[str]:
        """Yield a sentence about the additional requests of rendered pages."""
        if self.enabled:
            yield (f"each page that needs JavaScript is fetched once more, with up to {self.max_requests} requests")
