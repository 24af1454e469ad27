"""The data dictionary is made from the definitions, and describes every column that is stored or published."""

import json
import re
from dataclasses import fields
from pathlib import Path

import pytest
from sqlalchemy import JSON, Table
from sqlalchemy import Column as StoredColumn

from arkaudit.features.datasets.columns import DATASET_TABLES, DatasetTable
from crawler.model import schema
from extractors.extraction import extraction_of
from extractors.mentions.mention import Mention
from extractors.mentions.rows import MENTION_COLUMNS, mention_row
from reports.languages.display import ColumnType
from reports.tables.definitions import TableDefinition
from reports.tables.report_tables import TABLES

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "data-dictionary.md"
_TABLE = re.compile(r"^### `(?P<name>[\w.]+)`\n\n(?P<caption>.+)\n\n(?P<rows>(?:\|.*\n)+)", re.MULTILINE)

Row = tuple[str, ...]


def dictionary(text: str) -> dict[str, tuple[str, list[Row]]]:
    """Return caption and rows of each table that the page describes."""
    return {
        found["name"]: (found["caption"], [_cells(line) for line in found["rows"].splitlines()[2:]])
        for found in _TABLE.finditer(text)
    }


def _cells(line: str) -> Row:
    return tuple(cell.strip().strip("`") for cell in line.strip().strip("|").split("|"))


def stored_type(column: StoredColumn[object]) -> str:
    """Return the type of a stored column as the page writes it."""
    kind = "JSON" if isinstance(column.type, JSON) else str(column.type).lower()
    return f"{kind}, optional" if column.nullable else kind


@pytest.fixture(scope="module")
def dictionary_tables() -> dict[str, tuple[str, list[Row]]]:
    return dictionary(PAGE.read_text("utf-8"))


@pytest.mark.parametrize("table", schema.tables.tables.values(), ids=str)
def test_every_stored_table_and_column_has_its_meaning_in_the_schema(table: Table) -> None:
    assert table.comment
    assert all(column.comment for column in table.columns)
    assert not any("|" in str(column.comment) for column in table.columns), "a cell of the page would end there"


def test_the_page_describes_the_stored_and_the_published_tables_and_no_other(
    dictionary_tables: dict[str, tuple[str, list[Row]]],
) -> None:
    assert list(dictionary_tables) == [
        *(table.name for table in schema.tables.tables.values()),
        *(f"{definition.name}.csv" for definition in TABLES),
        *(table.name for table in DATASET_TABLES),
    ]


@pytest.mark.parametrize("table", DATASET_TABLES, ids=lambda table: table.name)
def test_every_column_of_a_dataset_has_the_type_unit_and_meaning_of_its_definition(table: DatasetTable) -> None:
    text = PAGE.read_text("utf-8")
    caption, rows = dictionary(text[text.index("## Datasets") :])[table.name]
    assert caption == table.caption
    assert rows == [
        (column.name, f"{column.kind}, optional" if column.is_optional else column.kind, column.unit, column.meaning)
        for column in table.columns
    ]
    assert all(column.unit for column in table.columns if "integer" in column.kind)


@pytest.mark.parametrize("name", schema.tables.tables)
def test_every_stored_column_has_its_type_and_a_meaning(
    dictionary_tables: dict[str, tuple[str, list[Row]]], name: str
) -> None:
    _, rows = dictionary_tables[name]
    assert [row[:2] for row in rows] == [
        (column.name, stored_type(column)) for column in schema.tables.tables[name].columns
    ]
    assert all(len(row) == 4 and row[3] for row in rows)


@pytest.mark.parametrize("definition", TABLES, ids=lambda definition: definition.name)
def test_every_published_column_has_the_type_unit_and_meaning_of_its_definition(
    dictionary_tables: dict[str, tuple[str, list[Row]]], definition: TableDefinition
) -> None:
    caption, rows = dictionary_tables[f"{definition.name}.csv"]
    assert caption == definition.caption
    assert rows == [(column.name, str(column.type), column.unit, column.meaning) for column in definition.columns]


def test_every_published_number_and_moment_has_a_unit() -> None:
    measured = (ColumnType.COUNT, ColumnType.NUMBER, ColumnType.SHARE, ColumnType.MOMENT)
    columns = [column for definition in TABLES for column in definition.columns if column.type in measured]
    assert columns
    assert all(column.unit for column in columns)


def test_the_page_states_the_numbers_of_the_format() -> None:
    text = PAGE.read_text("utf-8")
    assert f"`PRAGMA application_id` is {schema.APPLICATION_ID}" in text
    assert f"version of the schema, now {schema.SCHEMA_VERSION}" in text


def test_a_column_that_is_missing_or_superfluous_would_be_noticed() -> None:
    text = PAGE.read_text("utf-8")
    without = re.sub(r"\| `plan` .*\n", "", text)
    added = re.sub(r"(\| `plan` .*\n)", r"\1| `mood` | text |  | mood of the run |\n", text)
    names = [column.name for column in schema.run.columns]
    assert [row[0] for row in dictionary(text)["run"][1]] == names
    assert [row[0] for row in dictionary(without)["run"][1]] == names[:-1]
    assert [row[0] for row in dictionary(added)["run"][1]] == [*names, "mood"]


def test_every_field_of_a_mention_has_a_column() -> None:
    names = {field.name for field in fields(Mention)} - {"link"}  # counts only while a document is read
    names.add("suggestions")  # made when a row is written
    assert names == {column.field for column in MENTION_COLUMNS}, "add it to MENTION_COLUMNS"


def test_every_column_of_a_mention_has_several_values_in_documents() -> None:
    site = (file for file in (ROOT / "tools/demo/site").iterdir() if file.is_file())
    documents = {file.name: file.read_bytes() for file in site}
    documents["letter.txt"] = b"See ark:/12148/btv1b8449691w and https://n2t.net/ark:/12148/btv1b8449691v#page2."
    rows = [
        mention_row(name, mention)
        for name, data in documents.items()
        for mention in extraction_of(data, name=name).mentions
    ]
    values = {column.name: {json.dumps(row[column.name]) for row in rows} for column in MENTION_COLUMNS}
    assert [name for name, found in values.items() if len(found) < 2] == [], "nothing sets this field of Mention"
