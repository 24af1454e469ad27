"""Observations go in, tables, charts and pages come out. Reads the store; never the network.

    from reports import load_report

    audit = load_report("audit.db")
    audit.arks.groupby("naan").size()                 # frames with typed columns
    audit.table("naans")                              # any table of the report, by name

Each name is imported when it is first used.

- `load_report(store)`: the current state of an audit, or one run of it, as `AuditFrames`.
- `AuditFrames`: typed DataFrames; `.table(name)` gives a table of the report.
- `TABLES`: the definition of each table, with the meaning and the unit of each column.
- `write_report(report, folder, formats)`, `Report`: the report in files, as `arkaudit report` writes it.
- `StoreUnreadable`, `InventoryUnreadable`, `ReportUnwritable`: errors, each an `ArkauditError`.

What is not in `__all__` is private, and may change.
"""

from extractors.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
