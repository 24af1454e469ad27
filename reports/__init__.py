"""Observations go in, tables, charts and pages come out. Reads the store; never the network.

    from reports import load_report

    audit = load_report("audit.db")
    audit.arks.groupby("naan").size()                 # frames with typed columns
    audit.table("naans")                              # any table of the report, by name

Each name is imported when it is first used.

- `load_report(store)`: the audit as it stands now, or one run of it, as `Frames`.
- `Frames`: typed DataFrames; `Frames.table(name)` gives a table of the report.
- `TABLES`: the definition of each table, with the meaning and the unit of each column.
- `write_report(report, folder, formats)`, `Report`: the report in files, as `arkaudit report` writes it.
- `StoreUnreadable`, `InventoryUnreadable`, `ReportUnwritable`: errors, each an `ArkauditError`.

What is not in `__all__` is private, and may change.
"""

from typing import TYPE_CHECKING

from extractors.lazy import lazy_names

if TYPE_CHECKING:
    from extractors.shared_errors import ArkauditError
    from reports.exports import ReportUnwritable, write_report
    from reports.formats.report import Report
    from reports.frames import Frames, StoreUnreadable
    from reports.inventory_file import InventoryUnreadable
    from reports.load import load_report
    from reports.tables import TABLES

__all__ = [
    "TABLES",
    "ArkauditError",
    "Frames",
    "InventoryUnreadable",
    "Report",
    "ReportUnwritable",
    "StoreUnreadable",
    "load_report",
    "write_report",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "TABLES": "reports.tables",
        "ArkauditError": "extractors.shared_errors",
        "Frames": "reports.frames",
        "InventoryUnreadable": "reports.inventory_file",
        "Report": "reports.formats.report",
        "ReportUnwritable": "reports.exports",
        "StoreUnreadable": "reports.frames",
        "load_report": "reports.load",
        "write_report": "reports.exports",
    },
)
