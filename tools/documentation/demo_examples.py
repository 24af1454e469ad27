"""Update the examples in the documentation from the parts of the demo's report that are the same in every run.

python -m tools.documentation.demo_examples demo-report/audit.db docs/examples
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

#: Tables whose rows depend on the order of answers (which ARK represents a shoulder), or that only hold times.
LEFT_OUT = frozenset({"persistence"})
#: The number of attempts at a host that gives no answer, which depends on timing.
_ATTEMPTS = re.compile(r"; asked \d+ times(?:; before: [\w ,-]+)?")
#: The duration of attempts, and the number of questions.
_TIMES = re.compile(r" over [0-9]+ s\b|[0-9]+ questions asked about [^;\n]*;? ?")


#: Dates and times of the demo.
_MOMENTS = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?: [0-9]{2}:[0-9]{2}:[0-9]{2} UTC)?")
_SOME_DAY = "2026-11-01"


def examples(store: Path) -> Mapping[str, str]:
    """Return the example files by name: tables as CSV, and the summary.

    All dates are replaced by one. Columns that vary, numbers of requests and attempts, and the tables `LEFT_OUT` are
    left out.
    """
    report = Report.from_frames(load_frames(store))
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
    """Update the examples in *folder*."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in examples(store).items():
        # As bytes, because cells hold all kinds of line breaks.
        (folder / name).write_bytes(text.encode())


if __name__ == "__main__":
    write(Path(sys.argv[1]), Path(sys.argv[2]))
