"""Build tables, charts and pages from a store. This package reads the store and never uses the network.

    from reports import load_report

    audit = load_report("audit.db")
    audit.arks.groupby("naan").size()                 # frames with typed columns
    audit.table("naans")                              # any table of the report, by name

Each name is imported when it is first used.

- `load_report(store)`: the current state of an audit, or one run of it, as `AuditFrames`.
- `AuditFrames`: typed DataFrames; `.table(name)` returns a table of the report.
- `TABLES`: the definition of each table, with the meaning and the unit of each column.
- `write_report(report, folder, formats)`, `Report`: write a report to files, as `arkaudit report` does.
- `ArkauditError`: the base of all errors; `arkaudit.errors` shows the tree.

Names outside `__all__` are private and may change.
"""

from extractors.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
