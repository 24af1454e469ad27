"""Writes ``docs/data-dictionary.md``: every column that is stored or published, as its definition describes it.

python -m deploy.data_dictionary docs/data-dictionary.md
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from sqlalchemy import Column as StoredColumn

from arkaudit.datasets.columns import DATASET_TABLES, DatasetColumn
from crawler.model import schema
from reports.tables.definitions import Column
from reports.tables.report_tables import TABLES

_INTRODUCTION = """# Data dictionary

Every column that is stored and every column that is published, with type, unit and meaning. This page is made from
`crawler/model/schema.py`, `reports/tables/report_tables.py` and `arkaudit/datasets/columns.py` by
`python -m deploy.data_dictionary docs/data-dictionary.md`.

The tokens (outcomes, kinds, roles) are defined in `crawler/model/outcomes.py` and `crawler/model/observations.py`.
ARK, NAAN and the three services are those of draft-kunze-ark-38. A cell without a value is NULL in the
store and empty in a file.
"""
_STORED = f"""## Stored

One SQLite file; `PRAGMA application_id` is {schema.APPLICATION_ID} ("ARKA") and `PRAGMA user_version` the version of the schema, now {schema.SCHEMA_VERSION}.
Moments are text in ISO 8601, in UTC and milliseconds. *Optional* columns may be NULL.
"""  # noqa: E501  (a sentence of the page)
_PUBLISHED = """## Published

One CSV file a table, `tables/NAME.csv`, and the same tables on the page: UTF-8, LF, a header. Text stands in quotation marks,
numbers do not; a *truth* is `true` or `false`, a *share* a fraction from 0 to 1, a *moment* ISO 8601 in UTC. A sign in text
that would begin a formula of a spreadsheet, also behind a semicolon, a tab or a line break, has an apostrophe before it that is not part
of the text.
"""  # noqa: E501  (likewise)
_MERGED = """### Tables that were merged

Until version 1 of `report.json` these were tables of their own; every value is still there.

| table | where it is now |
|---|---|
| `levels` | `services`, where `service` is level |
| `info_answers` | `services`, where `grouping` is resolver; `metadata` is `outcome` |
| `permanence` | `services`, where `grouping` is promise |
| `shared_naans` | `naans`: `purpose` and the columns after it; `observed` is `outcomes` |
| `landing_hosts` | `resolvers`, where `role` is landing |
| `sections` | `collections`, where `source` is section; `arks` is `cited_arks` |
| `joins` | `citations` with `alternatives`, or decided `again` |
| `unfit` | `citations` with `is_example`; `purpose` is in `naans` |
| `check_failures` | `arks`, where `check` is fails; what was written is in `citations` |
| `targets` | `arks`: `final_url` of what works, else `last_good_url`; `status`, `expected_url` |
| `duplicates`, `containers` | `groups`; of a container `kind` is whole, `whole` is `shared`, `parts` is `size` |
| `inventory_extra` | `inventory`, where `findings` is extra |
| `standings` | `persistence`, where `grouping` is naan; `healthy` is `resolving` |
| `recoveries` | `persistence`: `watched` and the columns after it |
"""
_DATASET = """## Datasets

Parquet, in many files a table; [dataset.md](dataset.md) says which of them count. *Optional* cells may be missing.
"""

#: Name, type, unit and meaning of a column.
Row = tuple[str, str, str, str]


def page() -> str:
    """Return the page as it should stand in the documentation."""
    stored = (
        _table(name, table.comment or "", map(_stored, table.columns)) for name, table in schema.tables.tables.items()
    )
    published = (_table(f"{table.name}.csv", table.caption, map(_published, table.columns)) for table in TABLES)
    of_datasets = (_table(table.name, table.caption, map(_of_dataset, table.columns)) for table in DATASET_TABLES)
    parts = [_INTRODUCTION, _STORED, *stored, _PUBLISHED, *published, _MERGED, _DATASET, *of_datasets]
    return "\n".join(parts).rstrip() + "\n"


def _table(name: str, caption: str, rows: Iterable[Row]) -> str:
    return "\n".join([f"### `{name}`\n\n{caption}\n", *_lines(rows), ""])


def _lines(rows: Iterable[Row]) -> Iterator[str]:
    yield "| column | type | unit | meaning |\n|---|---|---|---|"
    for name, kind, unit, meaning in rows:
        yield f"| `{name}` | {kind} | {unit} | {meaning} |"


def _stored(column: StoredColumn[object]) -> Row:
    kind = str(column.type)
    kind = kind if kind == "JSON" else kind.lower()
    unit = "ISO 8601, UTC" if isinstance(column.type, schema.Moment) else column.info.get("unit", "")
    return column.name, f"{kind}, optional" if column.nullable else kind, unit, column.comment or ""


def _published(column: Column) -> Row:
    return column.name, str(column.type), column.unit, column.meaning


def _of_dataset(column: DatasetColumn) -> Row:
    kind = f"{column.kind}, optional" if column.is_optional else str(column.kind)
    return column.name, kind, column.unit, column.meaning


def main(arguments: Sequence[str]) -> int:
    """Write the page to the path that is given."""
    Path(arguments[0]).write_text(page(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
