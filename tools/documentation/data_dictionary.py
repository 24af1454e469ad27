"""Content of ``docs/data-dictionary.md``: every published, exported or stored column with its definition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from typing import Any, NamedTuple

from sqlalchemy import JSON
from sqlalchemy import Column as StoredColumn
from sqlalchemy import Table as StoredTable

from arkaudit.features.datasets.columns import DATASET_TABLES
from crawler.model import schema
from extractors.mentions.rows import FlatColumn
from extractors.model.ark import Remark
from extractors.wraps.reasons import Reason
from reports.languages import VOCABULARY
from reports.tables.definitions import Column
from reports.tables.report_tables import TABLES
from reports.tables.wording import STATE_MEANINGS

_INTRODUCTION = """# Data dictionary

This page defines every column of a report, a dataset and a store, for people who analyse an audit. To get the tables of
a report:

```console
$ arkaudit report --store audit.db --format csv --out report
```

A column is text, unless its type follows in parentheses with the unit. Columns after *Also* are defined under the
linked heading. A missing value is empty in a file, and NULL in a dataset or a store. Tokens are defined at the end
([reasons](#reasons), [spellings](#spellings), [states](#states), [causes](#causes)); those of outcomes are in
[verdicts.md](verdicts.md#outcomes).

This page is generated from `reports/tables/tables.toml`, `arkaudit/features/datasets/columns.py` and
`crawler/model/schema.py` by `make generated`.
"""
_PUBLISHED = """## Reports

Each table is a CSV file, `tables/NAME.csv`, and a table of the page. The files are UTF-8 with LF line ends and a
header. Text is quoted, numbers are not. A *truth* is `true` or `false`, a *share* a fraction from 0 to 1, a *moment*
ISO 8601 in UTC. An apostrophe precedes a sign that would begin a formula in a spreadsheet
([security.md](security.md#output)); it is not part of the text.
"""
_SHARED = "Several tables"
_DATASETS = """## Datasets

Datasets are Parquet, with many files for each table; [dataset.md](dataset.md) explains which files belong to it.
"""
#: Stored tables that arkaudit needs for itself: the page leaves out their columns.
INTERNAL_TABLES = ("pause", "host_traffic", "memento", "frontier", "outlinks", "assessment", "policy", "delivery")
_INTERNAL_NAMES = ", ".join(f"`{name}`" for name in INTERNAL_TABLES)
_STORED = f"""## Stores

The store is one SQLite file. `PRAGMA application_id` is {schema.APPLICATION_ID} ("ARKA"), and `PRAGMA user_version` is
the version of the schema, now {schema.SCHEMA_VERSION}. A *moment* is text in ISO 8601, in UTC and milliseconds. The
column `NAME_id` is the key of the table `NAME`; in other tables it refers to a row there. Lists are JSON.

arkaudit keeps further tables for itself, which `crawler/model/schema.py` defines: {_INTERNAL_NAMES}.
"""
#: Sections about tokens: the heading, the introduction, and the meanings.
_TOKENS: tuple[tuple[str, str, Mapping[Any, str]], ...] = (
    (
        "Reasons",
        "The reason of the least certain decision: whether the ARK continues at a line end or a gap, or how to read it.",
        {reason: reason.meaning for reason in Reason},
    ),
    (
        "Spellings",
        "The column `spelling`, in a store `remarks`. Sections are those of draft-kunze-ark-38, or of the named text.",
        {remark: remark.explanation for remark in Remark},
    ),
    ("States", "The status of an ARK at one URL after all its checks.", STATE_MEANINGS),
    (
        "Causes",
        "The cause of a failure, as far as one run shows.",
        {cause: words["name"] for cause, words in VOCABULARY["cause"].items()},
    ),
)


class Row(NamedTuple):
    """A column as the page shows it; *kind* is its type with the unit, empty for text."""

    name: str
    kind: str
    meaning: str


#: The heading under which a column with this name and meaning is defined.
Defined = MutableMapping[tuple[str, str], str]


def page() -> str:
    """Return the page as Markdown."""
    published = {f"{table.name}.csv": (table.caption, [*map(published_row, table.columns)]) for table in TABLES}
    of_datasets = {table.name: (table.caption, [*map(dataset_row, table.columns)]) for table in DATASET_TABLES}
    stored = {name: (table.comment or "", stored_rows(table)) for name, table in schema.tables.tables.items()}
    shared = shared_rows(row for _, rows in published.values() for row in rows)
    defined: Defined = {(row.name, row.meaning): _SHARED for row in shared}
    parts = [
        _INTRODUCTION,
        _PUBLISHED,
        f"### {_SHARED}\n\n{_lines(shared)}",
        *(_table(name, *table, defined) for name, table in published.items()),
        _DATASETS,
        *(_table(name, *table, defined) for name, table in of_datasets.items()),
        _STORED,
        *(_table(name, *table, defined) for name, table in stored.items() if name not in INTERNAL_TABLES),
        *_token_tables(),
    ]
    return "\n".join(parts).rstrip() + "\n"


def shared_rows(rows: Iterable[Row]) -> list[Row]:
    """Return the columns that several tables have with the same meaning: of each name the most frequent meaning."""
    meanings: dict[str, Counter[Row]] = {}
    for row in rows:
        meanings.setdefault(row.name, Counter())[row] += 1
    most_frequent = (counted.most_common(1)[0] for counted in meanings.values())
    return [row for row, tables in most_frequent if tables > 1]


def published_row(column: Column) -> Row:
    """Return a column of a report."""
    return Row(column.name, _kind(str(column.type), column.unit, column.meaning), column.meaning)


def dataset_row(column: FlatColumn) -> Row:
    """Return a column of a dataset."""
    return Row(column.name, _kind(str(column.kind), column.unit, column.meaning, column.is_optional), column.meaning)


def stored_rows(table: StoredTable) -> list[Row]:
    """Return the columns of a stored table without its keys."""
    return [_stored_row(column) for column in table.columns if not is_key(column)]


def is_key(column: StoredColumn[Any]) -> bool:
    """Return True if the column is the key of its table, or refers to the key of another one by its name."""
    return column.primary_key or bool(column.foreign_keys and column.name.endswith("_id"))


def _stored_row(column: StoredColumn[Any]) -> Row:
    if isinstance(column.type, schema.Moment):
        kind = "moment"
    else:
        kind = "JSON" if isinstance(column.type, JSON) else str(column.type).lower()
    meaning = column.comment or ""
    return Row(column.name, _kind(kind, column.info.get("unit", ""), meaning, bool(column.nullable)), meaning)


def _kind(kind: str, unit: str, meaning: str, is_optional: bool = False) -> str:
    """Return type and unit in one cell, without what goes without saying."""
    is_implied = kind == "text" or unit in ("", "1", "UTC") or set(unit.lower().split()) <= set(meaning.lower().split())
    parts = ("" if kind == "text" else kind, "" if is_implied else unit, "optional" if is_optional else "")
    return ", ".join(filter(None, parts))


def _table(name: str, caption: str, rows: list[Row], defined: Defined) -> str:
    """Return a table; columns with a definition above are only named."""
    own = [row for row in rows if (row.name, row.meaning) not in defined]
    above = [row for row in rows if (row.name, row.meaning) in defined]
    parts = [f"### `{name}`\n\n{caption}\n"]
    if own:
        parts.append(_lines(own))
    if above:
        parts.append(_references(above, defined))
    defined.update({(row.name, row.meaning): name for row in own})
    return "\n".join(parts)


def _references(rows: list[Row], defined: Mapping[tuple[str, str], str]) -> str:
    """Return the line that names the columns with a definition above, by the heading of the definition."""
    names: dict[str, list[str]] = {}
    for row in rows:
        names.setdefault(defined[row.name, row.meaning], []).append(f"`{row.name}`")
    parts = [f"{', '.join(some)} ([{heading}](#{_anchor(heading)}))" for heading, some in names.items()]
    return f"Also {'; '.join(parts)}.\n"


def _anchor(heading: str) -> str:
    return heading.lower().replace(" ", "-").replace(".", "")


def _lines(rows: Iterable[Row]) -> str:
    lines = (f"| `{row.name}`{f' ({row.kind})' if row.kind else ''} | {row.meaning} |\n" for row in rows)
    return f"| column | meaning |\n|---|---|\n{''.join(lines)}"


def _token_tables() -> Iterator[str]:
    for heading, introduction, meanings in _TOKENS:
        rows = "".join(f"- `{token}`: {meaning}\n" for token, meaning in meanings.items())
        yield f"## {heading}\n\n{introduction}\n\n{rows}"
