"""Every format, by name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Final

from reports.formats.badge import BADGE
from reports.formats.comma_separated import CSV
from reports.formats.json_document import JSON
from reports.formats.junit import JUNIT
from reports.formats.markdown_report import MARKDOWN
from reports.formats.parquet import PARQUET
from reports.formats.report import Files, Report, ReportFormat
from reports.formats.sarif import SARIF
from reports.formats.workbook import XLSX
from reports.page.document import page

INDEX: Final = PurePosixPath("index.html")


def _page(report: Report) -> Files:
    text = page(report.frames, report.tables, choice=report.choice.words, spoken=report.spoken)
    yield INDEX, [text.encode("utf-8", "backslashreplace")]


HTML = ReportFormat("html", (INDEX,), _page)

FORMATS: Final[Mapping[str, ReportFormat]] = {
    form.name: form for form in (HTML, CSV, MARKDOWN, JSON, XLSX, PARQUET, JUNIT, BADGE, SARIF)
}
