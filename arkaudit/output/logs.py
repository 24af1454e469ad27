"""The log of a command: one line per event, as text or JSON, without secrets."""

from __future__ import annotations

import logging
import platform
import sqlite3
import ssl
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pythonjsonlogger.core import RESERVED_ATTRS
from pythonjsonlogger.json import JsonFormatter

from arkaudit.output import exits
from crawler.wire.credentials import without_userinfo
from crawler.wire.redaction import Redactor
from reports.languages.display import escape_invisible, escape_invisible_json

if TYPE_CHECKING:
    from rich.console import Console

    from arkaudit.configuration.config import Config


class JsonLine(JsonFormatter):
    """Formats an event as a JSON object: ``at``, ``level``, ``logger``, ``message``, and fields of the event."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        super().__init__(
            "%(asctime)s%(levelname)s%(name)s%(message)s",
            "%Y-%m-%dT%H:%M:%S",
            rename_fields={"asctime": "at", "levelname": "level", "name": "logger"},
            reserved_attrs=[*RESERVED_ATTRS, "spider", "is_shown"],
            json_ensure_ascii=False,
        )
        self.converter = time.gmtime
        self._redact = redact

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:
        return f"{super().formatTime(record, datefmt)}.{record.msecs:03.0f}Z"

    def format(self, record: logging.LogRecord) -> str:
        return self._redact(escape_invisible_json(super().format(record)))


logger = logging.getLogger(__name__)

#: Packages that log at the configured level; all others log only warnings.
_OWN_PACKAGES = ("arkaudit", "crawler", "extractors", "reports")
#: Packages whose versions belong in a bug report.
_DISTRIBUTIONS = (
    *("arkaudit", "scrapy", "twisted", "lxml", "beautifulsoup4", "pypdfium2"),
    *("pikepdf", "sqlalchemy", "pandas", "pyopenssl"),
)


def start_log(config: Config | None, console: Callable[[], Console]) -> None:
    """Start the log that *config* defines, and print at least its warnings on the *console*.

    If *config* is None, only warnings are logged. Raises `ConfigError` if the log file can't be written.
    """
    log = config.log if config is not None else None
    log_file = log.file if log is not None else None
    level_name: str = (log.level if log is not None else None) or ("info" if log_file else "warning")
    level = logging.getLevelNamesMapping()[level_name.upper()]
    redactor = Redactor.for_secrets(config.secrets if config is not None else ())

    def redact_line(line: str) -> str:
        """Return *line* with its secrets redacted, in any encoding."""
        return without_userinfo(redactor.text(line))

    exits.redact = redact_line

    def print_traceback(*exc_info: Any) -> None:
        sys.stderr.write(redact_line("".join(traceback.format_exception(*exc_info))))

    # Tracebacks of bugs must not show secrets either.
    sys.excepthook = print_traceback
    console_handler = _ConsoleHandler(console)
    console_handler.setLevel(max(level, logging.WARNING) if log_file else level)
    handlers: list[logging.Handler] = [console_handler]
    if log_file:
        try:
            handlers.append(_LogFileHandler(log_file, encoding="utf-8", errors="backslashreplace"))
        except OSError as problem:
            from arkaudit.configuration.config_files import ConfigError

            raise ConfigError(f"the log can't be written to {log_file}: {problem.strerror or problem}") from None
        handlers[-1].setLevel(level)
    is_json = log is not None and log.format == "json"
    for handler in handlers:
        handler.setFormatter(JsonLine(redact_line) if is_json else _TextLine(redact_line))
    logging.basicConfig(handlers=handlers, level=logging.WARNING, force=True)
    for package in _OWN_PACKAGES:
        logging.getLogger(package).setLevel(level)
    if config is not None and logger.isEnabledFor(logging.INFO):
        extra = {"versions": versions(), "settings": config.model_dump(mode="json", exclude_defaults=True)}
        arguments = " ".join(sys.argv[1:])
        begin_words = f"{arguments}; {extra['settings']}; {extra['versions']}"
        logger.info("begins: %s", begin_words, extra=extra)


def versions() -> dict[str, str]:
    """Return the versions of Python, libraries and platform, for a bug report.

    >>> sorted(versions())[:3]
    ['OpenSSL', 'Python', 'SQLite']
    """
    from importlib.metadata import PackageNotFoundError, version

    versions_by_name = {
        "Python": platform.python_version(),
        "platform": platform.platform(),
        "SQLite": sqlite3.sqlite_version,
        "OpenSSL": ssl.OPENSSL_VERSION,
    }
    for name in _DISTRIBUTIONS:
        with suppress(PackageNotFoundError):
            versions_by_name[name] = version(name)
    return versions_by_name


class _LogFileHandler(logging.FileHandler):
    """Writes the log file, and warns once if that fails, for example on a full disk."""

    has_failed = False

    def handleError(self, record: logging.LogRecord) -> None:
        problem = sys.exc_info()[1]
        if not isinstance(problem, OSError):
            super().handleError(record)
        elif not self.has_failed:
            self.has_failed = True
            logger.warning("the log can't be written to %s: %s", self.baseFilename, problem.strerror or problem)


class _ConsoleHandler(logging.Handler):
    """Prints lines above the progress bar, except those that `exits.say` already printed."""

    def __init__(self, console: Callable[[], Console]) -> None:
        super().__init__()
        self._console = console

    def emit(self, record: logging.LogRecord) -> None:
        if not getattr(record, "is_shown", False):
            self._console().print(self.format(record), markup=False, highlight=False, soft_wrap=True)


class _TextLine(logging.Formatter):
    """Formats ``2026-11-21T10:00:00.000Z INFO crawler.wire.robots: 200 http://a.example/ in 1 s``, on one line."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        super().__init__("%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s: %(message)s", "%Y-%m-%dT%H:%M:%S")
        self.converter = time.gmtime
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        return self._redact(escape_invisible(super().format(record).replace("\n", " | ")))
