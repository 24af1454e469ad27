"""The values that a store may hold: types, vocabularies, keys and moments, checked by SQLite when a store is opened.

A store may come from a stranger. Its text becomes file names, words of tables and times of schedules, so all values
are checked before any command uses them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from functools import cache
from typing import Any

from sqlalchemy import Boolean, Column, Float, Integer, LargeBinary, Table
from sqlalchemy.types import TypeEngine

from crawler.answers.mementos import MementoOutcome
from crawler.history.ark_status import ArkState, EventKind
from crawler.history.triage import TriageAction, TriageTarget
from crawler.model import schema
from crawler.model.crawl_requests import KEY_BYTES, FrontierState, Reach, RequestKind, SourceKind
from crawler.model.observations import (
    ChainEnd,
    CommitmentOutcome,
    DocumentOutcome,
    MetadataOutcome,
    ObjectOutcome,
    Question,
)
from extractors.model.documents import Role
from extractors.wraps.rules import Confidence

#: Runs an SQL statement: by `sqlite3`, or through SQLAlchemy.
Execute = Callable[[str], Iterable[Any]]

#: The states of a run. A run that is "running" although no process has its store open has crashed.
RUNNING, FINISHED, INTERRUPTED, FAILED = "running", "finished", "interrupted", "failed"

#: The closed vocabularies, by column.
WORDS: Mapping[Column[Any], tuple[Iterable[str], ...]] = {
    schema.run.c.state: ((RUNNING, FINISHED, INTERRUPTED, FAILED),),
    schema.document.c.outcome: (DocumentOutcome, ObjectOutcome),
    schema.mention.c.role: (Role,),
    schema.mention.c.confidence: ([level.token for level in Confidence],),
    schema.observation.c.question: (Question,),
    schema.observation.c.chain_end: (ChainEnd,),
    schema.verdict.c.object: (ObjectOutcome,),
    schema.verdict.c.metadata: (MetadataOutcome,),
    schema.verdict.c.commitment: (CommitmentOutcome,),
    schema.verdict.c.state: (ArkState,),
    schema.memento.c.outcome: (MementoOutcome,),
    schema.frontier.c.kind: (RequestKind,),
    schema.frontier.c.reach: (Reach,),
    schema.frontier.c.source: (SourceKind,),
    schema.frontier.c.state: (FrontierState,),
    schema.latest.c.state: (ArkState,),
    schema.event.c.event: (EventKind,),
    schema.triage.c.action: (TriageAction,),
    schema.triage.c.kind: (TriageTarget,),
}


class Fault(StrEnum):
    """The fault of a cell."""

    EMPTY = "is empty"
    NUMBER = "is not a number"
    TEXT = "is not a text"
    KEYS = "is not a row of keys"
    WORD = "is not in its vocabulary"
    MOMENT = "is not a moment"
    SHARED = "refers to no row of content"
    KEY = "is not a key of a run"
    ARK = "is not the normal form of its parts"


#: Faults of content, whose value is shown. They are checked only after the types of all cells are right.
_OF_CONTENT = frozenset({Fault.WORD, Fault.KEY, Fault.ARK, Fault.MOMENT})
#: The longest key of a run; arkaudit's own have 36 characters.
_MOST_OF_KEY = 64
#: A date, or a moment in UTC. SQLite's own check accepts more, such as ``now`` and the year 0, and rounds 30 February.
_MOMENT = (
    "{1} AND {0} > '0001' AND date(substr({0}, 1, 10), '+0 days') IS substr({0}, 1, 10) AND (length({0}) = 10 OR"
    " (julianday({0}) IS NOT NULL AND ({0} GLOB '??????????T??:??:??*+00:00' OR {0} GLOB '??????????T??:??:??*Z')))"
)
#: True if the text holds no NUL: for SQLite, a text ends at its first NUL.
_ASCII = "length(CAST({0} AS BLOB)) = length({0})"
#: The types of SQLite for the values of a column, by its type, and the fault of another one. All others hold text.
_TYPES: Mapping[type[TypeEngine[Any]], tuple[tuple[str, ...], Fault]] = {
    Boolean: (("integer",), Fault.NUMBER),
    Integer: (("integer",), Fault.NUMBER),
    Float: (("integer", "real"), Fault.NUMBER),
    LargeBinary: (("blob",), Fault.KEYS),
    schema.Shared: (("text", "integer"), Fault.TEXT),
}
#: The number of rows reported for each table: the first few show enough.
MOST_ROWS = 5
#: The number of characters shown of a wrong value.
MOST_SHOWN = 80


def wrong_values(execute: Execute) -> Iterator[str]:
    """Yield a description of each row with a value that no store may hold, with its table and first wrong column."""
    for table in schema.tables.sorted_tables:
        key, checks = _checks(table)
        is_right = " AND ".join(f"({sql})" for _, sql, _ in checks)
        # One condition for all columns: a large store is checked in half the time of one condition after another.
        for (number,) in list(
            execute(f"SELECT {key} FROM {table.name} WHERE ({is_right}) IS NOT TRUE LIMIT {MOST_ROWS}")
        ):
            row = f"FROM {table.name} WHERE {key} = {number}"
            failing = (
                (column, fault)
                for column, sql, fault in checks
                if [*execute(f"SELECT ({sql}) IS TRUE {row}")] == [(0,)]
            )
            column, fault = next(failing)
            [(is_null,)] = execute(f"SELECT {column} IS NULL {row}")
            fault = Fault.EMPTY if is_null else fault
            shown = ""
            if fault in _OF_CONTENT and fault is not Fault.MOMENT:
                [(data,)] = execute(f"SELECT CAST({column} AS BLOB) {row}")
                shown = f" {data[:MOST_SHOWN].decode('utf-8', 'replace')!r}"
            yield f"{table.name} row {number}: {column}{shown} {fault}"


@cache
def _checks(table: Table) -> tuple[str, list[tuple[str, str, Fault]]]:
    """Return the key of a table, and the conditions of its other columns: name, SQL, and the fault if it fails."""
    [key] = table.primary_key
    checks = [(column.name, *check) for column in table.columns if column is not key for check in _conditions(column)]
    return key.name, sorted(checks, key=lambda check: check[2] in _OF_CONTENT)


def _conditions(column: Column[Any]) -> Iterator[tuple[str, Fault]]:
    """Yield the SQL conditions that a column must meet in every row, each with the fault if it fails."""
    name, kind = column.name, column.type
    types, fault = next((found for base, found in _TYPES.items() if isinstance(kind, base)), (("text",), Fault.TEXT))
    if column.foreign_keys:
        types, fault = _TYPES[Integer]
    listed = ", ".join(f"'{one}'" for one in (types if not column.nullable else (*types, "null")))
    yield f"typeof({name}) IN ({listed})", fault
    if isinstance(kind, Boolean):
        yield f"{name} IS NULL OR {name} IN (0, 1)", Fault.NUMBER
    elif isinstance(kind, Float):
        yield f"{name} IS NULL OR abs({name}) < 1e300", Fault.NUMBER
    elif isinstance(kind, schema.Shared):
        yield f"typeof({name}) <> 'integer' OR {name} IN (SELECT content_id FROM content)", Fault.SHARED
    elif isinstance(kind, LargeBinary):
        yield f"length({name}) % {KEY_BYTES} = 0", Fault.KEYS
    if column in WORDS:
        words = ", ".join(f"'{word}'" for words in WORDS[column] for word in words)
        yield f"{name} IS NULL OR {name} IN ({words})", Fault.WORD
    if isinstance(kind, schema.Moment):
        missing = "= ''" if column is schema.observation.c.at else "IS NULL"
        yield f"{name} {missing} OR ({_MOMENT.format(name, _ASCII.format(name))})", Fault.MOMENT
    if column is schema.provenance.c.uuid:
        # It becomes a folder name.
        yield (
            (
                f"{_ASCII.format(name)} AND length({name}) BETWEEN 1 AND {_MOST_OF_KEY}"
                f" AND {name} NOT GLOB '*[^0-9A-Za-z-]*'"
            ),
            Fault.KEY,
        )
    if column is schema.ark.c.ark:
        yield "ark = 'ark:' || naan || '/' || name || qualifier", Fault.ARK
