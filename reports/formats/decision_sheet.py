"""The sheet of a workbook in which people decide about failing ARKs; `arkaudit triage import` reads it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import pandas as pd

from reports.languages.display import heading
from reports.tables.definitions import PAIR, records_of
from reports.tables.report_tables import Report

SHEET = "decisions"


class SheetDecision(StrEnum):
    """The values of the column `decision`."""

    KEEP = "keep"
    """The problem is known: count it, but do not raise it again unless it gets worse."""
    REPLACE = "replace"
    """The same, because the citation will be replaced."""
    IGNORE = "ignore"
    """Raise nothing until a day."""


#: The columns of the sheet with their meanings. People fill in `decision`, `until` and `remark`.
COLUMNS: Mapping[str, str] = {
    "row": "number of the row and of all rows, which shows deleted rows",
    "ark": "ARK that fails or gives no answer",
    "cause": "why it fails, as far as this run shows",
    "object": "outcome of the object service",
    "state": "status after all checks",
    "citations": "citations of the ARK",
    "document": "first document that cites it",
    "should_be": "correct citation: an ARK or URL; empty if unknown",
    "decision": "keep: it stays as it is. replace: the citation will be replaced. ignore: raise nothing until a day. "
    "Empty: no decision.",
    "until": "first day that is not ignored; only for ignore",
    "remark": "reason, for the readers of the report; required for ignore",
    "checked_at": "moment of the check that the decision is about (UTC)",
}
#: The columns that `arkaudit triage import` needs.
NEEDED = ("row", "ark", "decision", "until", "remark", "checked_at")
_WIDTHS = {"ark": 34, "document": 40, "should_be": 40, "decision": 12, "until": 12, "remark": 40, "checked_at": 20}
_WIDTH = 14
#: The names of the columns in the sheet.
HEADINGS = {name: heading(name) for name in COLUMNS}


def decision_rows(report: Report) -> pd.DataFrame:
    """Return one row per failing ARK, in the order of the causes; known problems are left out."""
    failures, frames = report.tables["failures"], report.frames
    checked = frames.latest[[*PAIR, "state", "checked_at"]].merge(frames.arks[["ark_id", "ark"]], on="ark_id")
    rows = failures.merge(checked, on=["ark", "request_url"], how="left")
    # A sheet has seconds; the decision must not come before the check.
    rows = rows.assign(checked_at=rows.groupby("ark")["checked_at"].transform("max").dt.ceil("s"))
    rows = rows.drop_duplicates("ark").reset_index(drop=True)
    cited = frames.mentions.groupby("ark")["citation_id"].nunique().reindex(rows["ark"], fill_value=0)
    numbers = [f"{number} of {len(rows)}" for number in range(1, len(rows) + 1)]
    return rows.assign(row=numbers, citations=cited.astype("Int64").array).reindex(columns=[*COLUMNS])


def add_decision_sheet(book: Any, report: Report, head: Any) -> None:
    """Add the sheet to a workbook: text that is never a formula, and a list of decisions in each cell."""
    sheet = book.add_worksheet(SHEET)
    text, day = book.add_format({"num_format": "@"}), book.add_format({"num_format": "yyyy-mm-dd"})
    moment, count = book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"}), book.add_format({"num_format": "#,##0"})
    styles = {"until": day, "checked_at": moment, "citations": count}
    for place, (name, meaning) in enumerate(COLUMNS.items()):
        sheet.write_string(0, place, HEADINGS[name], head)
        sheet.write_comment(0, place, meaning, {"author": ""})
        sheet.set_column(place, place, _WIDTHS.get(name, _WIDTH), styles.get(name, text))
    rows = list(records_of(decision_rows(report)))
    for number, row in enumerate(rows, start=1):
        for place, (name, value) in enumerate(row.items()):
            if value is None:
                continue
            if name == "citations":
                sheet.write_number(number, place, value, count)
            elif name == "checked_at":
                sheet.write_datetime(number, place, value.to_pydatetime(warn=False), moment)
            else:
                sheet.write_string(number, place, str(value), text)
    place = [*COLUMNS].index("decision")
    sheet.data_validation(
        1, place, max(len(rows), 1), place, {"validate": "list", "source": [*SheetDecision], "ignore_blank": True}
    )
    sheet.freeze_panes(1, 2)
    sheet.autofilter(0, 0, max(len(rows), 1), len(COLUMNS) - 1)
