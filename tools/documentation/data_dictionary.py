"""Content of ``docs/data-dictionary.md``: every stored or published column with its definition."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sqlalchemy import JSON
from sqlalchemy import Column as StoredColumn

from arkaudit.features.datasets.columns import DATASET_TABLES
from crawler.model import schema
from extractors.mentions.rows import FlatColumn
from extractors.model.ark import Remark
from extractors.wraps.reasons import Reason
from reports.tables.definitions import Column
from reports.tables.report_tables import TABLES
from reports.tables.wording import (
    CAUSE_NAMES,
    COMMITMENT_MEANINGS,
    FAILURE_MEANINGS,
    FAILURE_TERMS,
    METADATA_MEANINGS,
    OBJECT_MEANINGS,
    STATE_MEANINGS,
)

_INTRODUCTION = """# Data dictionary

This page defines every stored and every published column with its type, unit and meaning, for people who analyse an
audit. To get the tables of a store:

```console
$ arkaudit report --store audit.db --format csv --out report
```

Tokens are defined at the end: [reasons](#reasons), [spellings](#spellings), [outcomes](#outcomes), [states](#states) and
[causes](#causes). ARK, NAAN and the three services are those of draft-kunze-ark-38. A missing value is NULL in the store
and empty in a file.

This page is generated from `crawler/model/schema.py`, `reports/tables/report_tables.py` and
`arkaudit/features/datasets/columns.py` by `make generated`.
"""
_STORED = f"""## Stored

The store is one SQLite file. `PRAGMA application_id` is {schema.APPLICATION_ID} ("ARKA"), and `PRAGMA user_version` is
the version of the schema, now {schema.SCHEMA_VERSION}. Times are text in ISO 8601, in UTC and milliseconds. *Optional*
columns may be NULL.
"""
_PUBLISHED = """## Published

Each table is a CSV file, `tables/NAME.csv`, and a table of the page. The files are UTF-8 with LF line ends and a
header. Text is quoted, numbers are not. A *truth* is `true` or `false`, a *share* a fraction from 0 to 1, a *moment*
ISO 8601 in UTC. An apostrophe precedes a sign in text that would begin a formula in a spreadsheet, also after a
semicolon, a tab or a line break; it is not part of the text.
"""
_DATASET = """## Datasets

Datasets are Parquet, with many files for each table; [dataset.md](dataset.md) explains which files belong to it.
*Optional* cells may be missing.
"""

_TERMS = """## Terms for failures

An ARK that does not work has one of three terms. The column is named after the term or has the token as its value; the
event `confirmed` means that an ARK became confirmed broken.

| term | token | meaning |
|---|---|---|
""" + "".join(f"| {term} | `{token}` | {FAILURE_MEANINGS[token]} |\n" for token, term in FAILURE_TERMS.items())
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
    ("Outcomes", "[verdicts.md](verdicts.md) has the rules that lead to each outcome. Object:", OBJECT_MEANINGS),
    ("", "Metadata:", METADATA_MEANINGS),
    ("", "Commitment:", COMMITMENT_MEANINGS),
    ("States", "The status of an ARK at one URL after all its checks.", STATE_MEANINGS),
    ("Causes", "The cause of a failure, as far as one run shows.", CAUSE_NAMES),
)

#: Name, type, unit and meaning of a column.
Row = tuple[str, str, str, str]


def page() -> str:
    """Return the page as Markdown."""
    stored = (
        _table(name, table.comment or "", map(_stored_row, table.columns))
        for name, table in schema.tables.tables.items()
    )
    published = (_table(f"{table.name}.csv", table.caption, map(_published_row, table.columns)) for table in TABLES)
    of_datasets = (_table(table.name, table.caption, map(_dataset_row, table.columns)) for table in DATASET_TABLES)
    parts = [_INTRODUCTION, _TERMS, _STORED, *stored, _PUBLISHED, *published, _DATASET, *of_datasets, *_token_tables()]
    return "\n".join(parts).rstrip() + "\n"


def _token_tables() -> Iterator[str]:
    for heading, introduction, meanings in _TOKENS:
        rows = "".join(f"| `{token}` | {meaning} |\n" for token, meaning in meanings.items())
        yield f"{f'## {heading}' if heading else ''}\n\n{introduction}\n\n| token | meaning |\n|---|---|\n{rows}".lstrip()


def _table(name: str, caption: str, rows: Iterable[Row]) -> str:
    return "\n".join([f"### `{name}`\n\n{caption}\n", *_lines(rows), ""])


def _lines(rows: Iterable[Row]) -> Iterator[str]:
    yield "| column | type | unit | meaning |\n|---|---|---|---|"
    for name, kind, unit, meaning in rows:
        yield f"| `{name}` | {kind} | {unit} | {meaning} |"


def _stored_row(column: StoredColumn[object]) -> Row:
    kind = "JSON" if isinstance(column.type, JSON) else str(column.type).lower()
    unit = "ISO 8601, UTC" if isinstance(column.type, schema.Moment) else column.info.get("unit", "")
    return column.name, f"{kind}, optional" if column.nullable else kind, unit, column.comment or ""


def _published_row(column: Column) -> Row:
    return column.name, str(column.type), column.unit, column.meaning


def _dataset_row(column: FlatColumn) -> Row:
    kind = f"{column.kind}, optional" if column.is_optional else str(column.kind)
    return column.name, kind, column.unit, column.meaning
