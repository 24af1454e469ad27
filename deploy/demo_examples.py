"""Brings the examples in the documentation up to date: what is the same in every run of the demo.

python -m deploy.demo_examples demo-report/audit.db docs/examples
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from reports.formats.markdown_report import markdown
from reports.formats.table_files import csv_text
from reports.store.frames import load_frames
from reports.tables.definitions import TableDefinition
from reports.tables.report_tables import TABLES, Report
from reports.tables.summary import REQUESTS_SENT

#: Tables whose very rows depend on which answer came first (which ARK represents its shoulder is a matter of chance),
#: or that hold nothing but times.
LEFT_OUT = frozenset({"requests", "conformance", "outages", "persistence", "runs"})
#: How often a host that is silent was asked depends on what else was going on.
_ATTEMPTS = re.compile(r"; asked \d+ times(?:; before: [\w ,-]+)?")
#: How long the attempts of a question took, and how many questions that made of an ARK.
_TIMES = re.compile(r" over [0-9]+ s\b|[0-9]+ questions asked about [^;\n]*;? ?")


#: When it was: the day of the demo, and its moments.
_MOMENTS = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?: [0-9]{2}:[0-9]{2}:[0-9]{2} UTC)?")
_SOME_DAY = "2026-11-01"


def examples(store: Path) -> Mapping[str, str]:
    """The files of the documentation by name: tables as CSV without columns of time and cost, and the summary.

    All days are one. Left out are the columns that a definition says vary, the counts of requests and of attempts, and
    the tables `LEFT_OUT`.
    """
    report = Report.of(load_frames(store))
    tables = {
        f"{definition.name}.csv": csv_text(_without_chance(report, definition))
        for definition in TABLES
        if definition.name not in LEFT_OUT
    }
    lines = (line for line in markdown(report).splitlines() if "requests sent" not in line)
    texts = {**tables, "report.md": _MOMENTS.sub(_SOME_DAY, "\n".join(lines)) + "\n"}
    return {name: _TIMES.sub("", _ATTEMPTS.sub("", text)) for name, text in texts.items()}


def _without_chance(report: Report, definition: TableDefinition) -> pd.DataFrame:
    table = report.tables[definition.name][[column.name for column in definition.columns if not column.varies]]
    return table[table["measure"].ne(REQUESTS_SENT)] if definition.name == "summary" else table


def write(store: Path, folder: Path) -> None:
    """Bring the examples in *folder* up to date."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in examples(store).items():
        (folder / name).write_bytes(text.encode())  # as it is: cells hold line breaks of every kind


if __name__ == "__main__":
    write(Path(sys.argv[1]), Path(sys.argv[2]))
