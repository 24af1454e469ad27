"""Every format, by name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Final

import pandas as pd

from reports.definitions import TableDefinition
from reports.formats.badge import BADGE
from reports.formats.comma_separated import CSV
from reports.formats.json_document import JSON
from reports.formats.junit import JUNIT
from reports.formats.markdown_report import MARKDOWN
from reports.formats.parquet import PARQUET
from reports.formats.report import Files, Report, ReportFormat
from reports.formats.sarif import SARIF
from reports.formats.workbook import XLSX
from reports.page.document import PagePart, page_pieces, part_of

INDEX: Final = PurePosixPath("index.html")


class _PageWriter:
    """The page on its way: of each table it keeps what the page holds of it."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._parts: dict[str, PagePart] = {}

    def add(self, definition: TableDefinition, table: pd.DataFrame) -> Files:
        self._parts[definition.name] = part_of(definition, table, self._report.frames)
        yield from ()

    def end(self) -> Files:
        report = self._report
        yield INDEX, page_pieces(report.frames, self._parts, choice=report.choice.words, spoken=report.spoken)


HTML = ReportFormat("html", (INDEX,), _PageWriter)

FORMATS: Final[Mapping[str, ReportFormat]] = {
    form.name: form for form in (HTML, CSV, MARKDOWN, JSON, XLSX, PARQUET, JUNIT, BADGE, SARIF)
}
