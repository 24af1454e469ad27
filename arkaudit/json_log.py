"""The log as JSON Lines, for programs."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from pythonjsonlogger.core import RESERVED_ATTRS
from pythonjsonlogger.json import JsonFormatter

from reports.display import escaped_json


class JsonLine(JsonFormatter):
    """One object an event: ``at``, ``level``, ``logger``, ``message``, and what belongs to the event."""

    def __init__(self, quiet: Callable[[str], str]) -> None:
        super().__init__(
            "%(asctime)s%(levelname)s%(name)s%(message)s",
            "%Y-%m-%dT%H:%M:%S",
            rename_fields={"asctime": "at", "levelname": "level", "name": "logger"},
            reserved_attrs=[*RESERVED_ATTRS, "spider", "is_shown"],
            json_ensure_ascii=False,
        )
        self.converter = time.gmtime
        self._quiet = quiet

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:
        return f"{super().formatTime(record, datefmt)}.{record.msecs:03.0f}Z"

    def format(self, record: logging.LogRecord) -> str:
        return self._quiet(escaped_json(super().format(record)))
