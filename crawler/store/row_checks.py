"""Checks for rows of a store that can't be read: each cell against its column, each row against its record."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import date, datetime
from functools import partial
from typing import Any

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Connection,
    Float,
    Integer,
    LargeBinary,
    Select,
    Table,
    select,
)

from crawler.history import triaging
from crawler.history.latest import status_in
from crawler.model import schema
from crawler.model.crawl_requests import KEY_BYTES
from crawler.model.observations import Hop, TlsResult
from crawler.store.database import ARK_PARTS, mention_of, observation_of, record_of
from extractors.find import UnresolvedMention
from extractors.processes.codec import from_plain

#: So many rows of each table are reported; the first show enough.
_MOST_ROWS = 5
_ROWS_AT_ONCE = 500
#: JSON that is a list; all other JSON is an object.
_LISTS = frozenset(
    {
        *(
            "seeds",
            "hops",
            "object_evidence",
            "metadata_evidence",
            "commitment_evidence",
            "remarks",
            "rests_on",
        ),
        *("evidence", "spans", "repairs", "alternatives"),
    }
)


def unreadable_rows(connection: Connection) -> Iterator[str]:
    """The rows that hold what can't be read, in words, each with its table and key."""
    is_sound = True
    for table in schema.tables.sorted_tables:
        for problem in _bad_cells(connection, table):
            is_sound = False
            yield problem
    if is_sound:
        for name, query, read in _READERS:
            yield from _bad_rows(connection, name, query, read)


def _bad_cells(connection: Connection, table: Table) -> Iterator[str]:
    key = next(iter(table.primary_key)).name
    columns = list(table.columns)
    cells_sql = ", ".join(f"typeof({cell.name}), CAST({cell.name} AS BLOB)" for cell in columns)
    raw = connection.connection.driver_connection
    assert isinstance(raw, sqlite3.Connection)
    count = 0
    with closing(raw.cursor()) as cursor:
        for number, *cells in cursor.execute(f"SELECT {key}, {cells_sql} FROM {table.name}"):
            for column, kind, data in zip(columns, cells[::2], cells[1::2], strict=True):
                fault = _fault(column, kind, data)
                if fault:
                    yield f"{table.name} row {number}: {column.name} {fault}"
                    count += 1
            if count >= _MOST_ROWS:
                return


def _fault(column: Column[Any], kind: str, data: bytes | None) -> str:
    """Return what is wrong with a cell, in words; empty where nothing is."""
    if kind == "null" or data is None:
        return "" if column.nullable else "is empty"
    if isinstance(column.type, Integer | Boolean):
        return "" if kind == "integer" else "is no number"
    if isinstance(column.type, Float):
        return "" if kind in ("integer", "real") else "is no number"
    if column.foreign_keys and not isinstance(column.type, JSON) and kind == "integer":
        return ""
    if isinstance(column.type, LargeBinary):
        return "" if kind == "blob" and len(data) % KEY_BYTES == 0 else "is no row of keys"
    if kind != "text":
        return "is no text"
    try:
        text = data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return "is not UTF-8"
    if isinstance(column.type, JSON):
        return _json_fault(
            text, list if column.name in _LISTS else dict, is_needed=not column.nullable
        )
    if column.name == "at" or column.name.endswith("_at"):
        return "" if _is_moment(text) else "is no moment"
    return ""


def _json_fault(text: str, kind: type, *, is_needed: bool) -> str:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as problem:
        return f"is no JSON: {problem}"
    if isinstance(value, kind) or (value is None and not is_needed):
        return ""
    return f"is JSON of another shape: a {kind.__name__} was expected"


def _is_moment(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        try:
            return bool(date.fromisoformat(text))
        except ValueError:
            return False


def _bad_rows(
    connection: Connection, name: str, query: Select[Any], read: Callable[[Any], object]
) -> Iterator[str]:
    count = 0
    for row in connection.execute(query.execution_options(yield_per=_ROWS_AT_ONCE)):
        try:
            read(row)
        except Exception as problem:  # whatever it is: the row is what we could not have written
            yield f"{name} row {row[0]}: can't be read: {type(problem).__name__}: {problem}"
            count += 1
            if count >= _MOST_ROWS:
                return


def _lists_of_text(row: Any) -> None:
    for values in (
        row.object_evidence,
        row.metadata_evidence,
        row.commitment_evidence,
        row.remarks,
        row.rests_on,
    ):
        if not all(isinstance(value, str) for value in values):
            raise ValueError("a list of texts was expected")


def _mention(row: Any) -> None:
    mention_of(row)
    if row.doubt is not None:
        from_plain(row.doubt, UnresolvedMention)


_READERS: tuple[tuple[str, Select[Any], Callable[[Any], object]], ...] = (
    ("document", select(schema.document), lambda row: [Hop(**hop) for hop in row.hops]),
    (
        "observation",
        select(schema.observation, *ARK_PARTS).join_from(schema.observation, schema.ark),
        observation_of,
    ),
    (
        "mention",
        select(schema.mention, *ARK_PARTS).join_from(schema.mention, schema.ark),
        _mention,
    ),
    ("verdict", select(schema.verdict), _lists_of_text),
    (
        "latest",
        select(schema.latest, schema.verdict.c.object).join(
            schema.verdict, schema.verdict.c.verdict_id == schema.latest.c.verdict_id
        ),
        status_in,
    ),
    ("tls_probe", select(schema.tls_probe), partial(record_of, TlsResult)),
    ("triage", select(schema.triage), triaging.decision_of),
)
