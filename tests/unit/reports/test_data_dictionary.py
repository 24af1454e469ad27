"""The data dictionary is made from the definitions, and describes every column that is stored or published."""

import json
import re
from dataclasses import fields
from pathlib import Path

import pytest
from sqlalchemy import JSON, Table

from arkaudit.features.datasets.columns import DATASET_TABLES, DatasetTable
from crawler.model import schema
from extractors.extraction import extraction_of
from extractors.mentions.mention import Mention
from extractors.mentions.rows import MENTION_COLUMNS, mention_row
from reports.languages.display import ColumnType
from reports.tables.definitions import TableDefinition
from reports.tables.report_tables import TABLES
from tools.documentation.data_dictionary import INTERNAL_TABLES, is_key

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "data-dictionary.md"
_TABLE = re.compile(
    r"^### (?:`(?P<name>[\w.]+)`|Several tables)\n\n(?:(?P<caption>[^|].+)\n\n)?"
    r"(?P<rows>(?:\|.*\n)*)\n*(?P<references>Also .+)?",
    re.MULTILINE,
)


def dictionary(text: str) -> dict[str, tuple[str, list[str], list[str]]]:
    """Return caption, rows and references to other columns of each table that the page describes."""
    return {
        found["name"] or "": (
            found["caption"],
            found["rows"].splitlines()[2:],
            re.findall(r"`(\w+)`", found["references"] or ""),
        )
        for found in _TABLE.finditer(text)
    }


def names_in(rows: list[str], references: list[str]) -> set[str]:
    """Return the names of all columns of a table."""
    return {row.split("`")[1] for row in rows} | set(references)


@pytest.fixture(scope="module")
def sections() -> dict[str, str]:
    """Return the text of the sections about reports, datasets and stores."""
    parts = re.split(r"^## (\w+)\n", PAGE.read_text("utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize("table", schema.tables.tables.values(), ids=str)
def test_every_stored_table_and_column_has_its_meaning_in_the_schema(table: Table) -> None:
    assert table.comment
    assert all(column.comment for column in table.columns)
    assert not any("|" in str(column.comment) for column in table.columns), "a cell of the page would end there"


def test_the_page_describes_every_table_and_no_other(sections: dict[str, str]) -> None:
    stored = [name for name in schema.tables.tables if name not in INTERNAL_TABLES]
    assert list(dictionary(sections["Reports"])) == ["", *(f"{definition.name}.csv" for definition in TABLES)]
    assert list(dictionary(sections["Datasets"])) == [table.name for table in DATASET_TABLES]
    assert list(dictionary(sections["Stores"])) == stored
    assert all(f"`{name}`" in sections["Stores"] for name in INTERNAL_TABLES)


@pytest.mark.parametrize("definition", TABLES, ids=lambda definition: definition.name)
def test_every_published_column_has_the_type_and_meaning_of_its_definition(
    sections: dict[str, str], definition: TableDefinition
) -> None:
    tables = dictionary(sections["Reports"])
    caption, rows, references = tables[f"{definition.name}.csv"]
    assert caption == definition.caption
    assert names_in(rows, references) == {column.name for column in definition.columns}
    everywhere = "\n".join(row for _, lines, _ in tables.values() for row in lines)
    for column in definition.columns:
        row = row_of(column.name, str(column.type), column.meaning)
        assert re.search(row, everywhere if column.name in references else "\n".join(rows)), column.name


@pytest.mark.parametrize("table", DATASET_TABLES, ids=lambda table: table.name)
def test_every_column_of_a_dataset_has_the_meaning_of_its_definition(
    sections: dict[str, str], table: DatasetTable
) -> None:
    caption, rows, references = dictionary(sections["Datasets"])[table.name]
    assert caption == table.caption
    assert names_in(rows, references) == {column.name for column in table.columns}
    for column in table.columns:
        assert column.name in references or re.search(
            row_of(column.name, str(column.kind), column.meaning), "\n".join(rows)
        )
    assert all(column.unit for column in table.columns if "integer" in column.kind)


@pytest.mark.parametrize("name", sorted(schema.tables.tables.keys() - set(INTERNAL_TABLES)))
def test_every_stored_column_but_keys_has_its_meaning(sections: dict[str, str], name: str) -> None:
    _, rows, references = dictionary(sections["Stores"])[name]
    columns = [column for column in schema.tables.tables[name].columns if not is_key(column)]
    assert names_in(rows, references) == {column.name for column in columns}
    for column in columns:
        kind = "" if isinstance(column.type, schema.Moment | JSON) else str(column.type).lower()
        assert column.name in references or re.search(row_of(column.name, kind, column.comment), "\n".join(rows))


def row_of(name: str, kind: str, meaning: str | None) -> str:
    """Return a pattern for the row of a column."""
    types = "" if kind == "text" else re.escape(kind)
    return rf"(?m)^\| `{name}`[ (]*{types}.*\| {re.escape(meaning or '')} \|$"


def test_names_alone_refer_to_a_definition_above() -> None:
    text = PAGE.read_text("utf-8")
    for found in _TABLE.finditer(text):
        for name in re.findall(r"`(\w+)`", found["references"] or ""):
            assert f"| `{name}`" in text[: found.start()], (found["name"], name)


def test_every_published_number_and_moment_has_a_unit() -> None:
    measured = (ColumnType.COUNT, ColumnType.NUMBER, ColumnType.SHARE, ColumnType.MOMENT)
    columns = [column for definition in TABLES for column in definition.columns if column.type in measured]
    assert columns
    assert all(column.unit for column in columns)


def test_the_page_states_the_numbers_of_the_format() -> None:
    text = PAGE.read_text("utf-8")
    assert f"`PRAGMA application_id` is {schema.APPLICATION_ID}" in text
    assert f"version of the schema, now {schema.SCHEMA_VERSION}" in text


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
