"""The overview of all audits of a configuration: one static page with a row per audit."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from arkaudit.features.overview.status import CAVEATS, AuditRow, AuditStatus
from crawler.model.observations import Family
from reports.languages import LANGUAGES, Language, LanguageChoice
from reports.languages.display import escape_invisible
from reports.languages.templates import template
from reports.page.charts import axis_start, chart_macros
from reports.page.document import multilingual_page
from reports.page.translations import Texts
from reports.tables.wording import CHANGE_NAMES

_HERE = Path(__file__).parent
_SCRIPTS = ("data.js", "language.js", _HERE / "overview.js")
#: Width and height of a trend, and the space around its line, in units of its picture.
_WIDTH, _HEIGHT, _MARGIN = 120, 32, 4


def overview_page(rows: Sequence[AuditRow], now: datetime, language_choice: LanguageChoice) -> str:
    """Return the overview as HTML, with the ages of checks at *now*, which a script updates."""
    texts = Texts(language_choice.language.code)
    statuses = [row.status for row in rows if row.status is not None]
    values = {
        "rows": [_row_values(row, now, texts) for row in rows],
        "failing": sum(_color_family(status) is Family.FAILS for status in statuses),
        # A run that could read no document has no result either.
        "missing": len(rows) - sum(bool(status.summary.judged) for status in statuses),
        "moment": _moment(now, texts),
    }
    script_texts: dict[str, dict[str, Any]] = {code: {"code": code} for code in LANGUAGES}
    pieces = multilingual_page(
        template("overview.html.j2", __package__),
        values,
        texts,
        _SCRIPTS,
        script_texts,
        {"tables": {}},
        language_choice=language_choice,
        own_style=_HERE / "templates" / "overview.css",
    )
    return b"".join(pieces).decode()


def _row_values(row: AuditRow, now: datetime, language: Language) -> dict[str, Any]:
    """Return the values of a row for the template ``overview.html.j2``, by name."""
    status = row.status
    values = {
        "name": row.name,
        "fault": escape_invisible(row.fault),
        "late_after": row.late_after and row.late_after.isoformat(),
        "is_late": row.late_after is not None and row.late_after < now,
        "report": row.report,
        "is_running": row.is_running,
        "status": status,
    }
    if status is None:
        return values
    change = next(iter(status.changes), None)
    trend, chart_texts = status.trend, chart_macros(language)
    axis_minimum = axis_start([1.0, *(run.share for run in trend)])
    days = max(0, (now - status.checked_at).days)
    return values | {
        "tone": _color_family(status),
        "verdict": status.summary.headline(language),
        "caveats": [language.gettext(CAVEATS[name]) for name in status.caveats],
        "share": chart_texts.share_of_links(trend[-1], trend[-1].working) if trend else language.gettext("not judged"),
        "trend": _trend_points([run.share for run in trend], axis_minimum) if len(trend) > 1 else None,
        "trend_words": chart_texts.runs(len(trend), trend[0], trend[-1], axis_minimum) if trend else "",
        "checked_at": status.checked_at.isoformat(),
        "checked": _moment(status.checked_at, language),
        "age": language.ngettext("{number} day ago", "{number} days ago", days) if days else language.gettext("today"),
        "change": change
        and {
            "title": language.gettext(CHANGE_NAMES[change.event]),
            "ark": escape_invisible(change.ark),
            "day": language.numeric_day(change.at),
        },
    }


def _color_family(status: AuditStatus) -> Family:
    if status.is_suspect or not status.summary.judged:
        return Family.NOT_JUDGED
    return Family.FAILS if status.summary.fails else Family.WORKS


def _moment(moment: datetime, language: Language) -> str:
    return f"{language.numeric_day(moment)} {moment:%H:%M} UTC"


def _trend_points(shares: Sequence[float], axis_minimum: float) -> list[tuple[float, float]]:
    """Return the points (x, y) of a trend line in an SVG: a share of 1 at the top, of *axis_minimum* at the bottom.

    >>> _trend_points([1.0, 0.75], 0.5)
    [(4.0, 4.0), (116.0, 16.0)]
    """
    step, height = (_WIDTH - 2 * _MARGIN) / (len(shares) - 1), _HEIGHT - 2 * _MARGIN
    return [
        (round(_MARGIN + step * index, 1), round(_MARGIN + height * (1 - share) / (1 - axis_minimum), 1))
        for index, share in enumerate(shares)
    ]
