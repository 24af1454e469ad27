"""The file of a store: its only connection, its transactions, and the conversion between records and rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from cattrs import Converter
from filelock import FileLock
from sqlalchemy import Column, Connection, Executable, Row, Select, Table, bindparam, select
from sqlalchemy.dialects.sqlite import Insert, insert
from sqlalchemy.engine import Engine
from sqlalchemy.exc import DatabaseError

from crawler.history.latest import status_in
from crawler.model import schema
from crawler.model.observations import Hop, Observation
from crawler.store import StoreUnwritable
from extractors.find import UnresolvedMention
from extractors.mentions.mention import Mention
from extractors.model.ark import Ark
from extractors.processes.codec import from_plain
from extractors.wraps.rules import Confidence

#: Rows read at a time: a run may be long, and no read may block writers for long.
PAGE = 500
#: The number of ARKs whose keys are cached: those that neighbouring pages cite.
_CACHED_ARKS = 8_000
ARK_PARTS = (schema.ark.c.naan, schema.ark.c.name, schema.ark.c.qualifier)
_ARK_IDS = select(schema.ark.c.ark_id, schema.ark.c.ark).where(schema.ark.c.ark.in_(bindparam("arks", expanding=True)))


class Database:
    """An open database file, with a cache of the keys of ARKs."""

    def __init__(self, engine: Engine, path: Path | None, lock: FileLock | None = None) -> None:
        self._engine = engine
        self.path = path
        self._lock = lock
        self._ark_ids: dict[Ark, int] = {}
        self._writer: Connection | None = None
        """The connection of the transaction in progress, if there is one."""

    def close(self) -> None:
        """Close the file; all records are in it."""
        self._engine.dispose()
        if self._lock is not None:
            with suppress(OSError):
                Path(self._lock.lock_file).unlink()  # while it is locked; a waiting process notices the removal
            self._lock.release()

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Run one transaction. Raises `StoreUnwritable` if it fails; nothing of it is stored then."""
        try:
            with self._engine.begin() as connection:
                self._writer = connection
                yield connection
        except DatabaseError as problem:
            self._ark_ids.clear()
            raise StoreUnwritable(f"{self.path or 'the store in memory'}: {problem.orig}") from problem
        finally:
            self._writer = None

    @contextmanager
    def read_connection(self) -> Iterator[Connection]:
        """Yield a connection for reading. Fetch its rows before the next use of the store.

        Within a transaction it is the connection of that transaction, because the file has only one.
        """
        if self._writer is not None:
            yield self._writer
            return
        with self._engine.connect() as connection:
            yield connection

    def rows(self, query: Executable, values: Mapping[str, Any] | None = None) -> Sequence[Any]:
        """Return all rows of *query*, with *values* for its parameters."""
        with self.read_connection() as connection:
            rows: Sequence[Any] = connection.execute(query, values).all()
        return rows

    def _cache_ark_ids(self, connection: Connection, arks: Iterable[Ark]) -> None:
        """Cache the keys of *arks* for `_ark_id`; record ARKs without a key."""
        distinct_arks = list(dict.fromkeys(arks))
        uncached_arks = [ark for ark in distinct_arks if ark not in self._ark_ids]
        if not uncached_arks:
            return
        if len(self._ark_ids) >= _CACHED_ARKS:
            self._ark_ids.clear()
            uncached_arks = distinct_arks
        connection.execute(insert_if_new(schema.ark), [row_of(ark, schema.ark, ark=str(ark)) for ark in uncached_arks])
        for start in range(0, len(uncached_arks), PAGE):
            arks_by_text = {str(ark): ark for ark in uncached_arks[start : start + PAGE]}
            for row in connection.execute(_ARK_IDS, {"arks": list(arks_by_text)}):
                self._ark_ids[arks_by_text[row.ark]] = row.ark_id

    def _ark_id(self, connection: Connection, ark: Ark) -> int:
        self._cache_ark_ids(connection, [ark])
        return self._ark_ids[ark]

    def pages(self, query: Select[Any], key: Column[int], *, after: int = 0) -> Iterator[Sequence[Row[Any]]]:
        """Yield the rows of *query* with a key above *after*, ordered by *key*, as lists of at most `PAGE` rows.

        No read is open between two lists.
        """
        query = query.where(key > bindparam("last")).order_by(key).limit(PAGE)
        while True:
            rows = self.rows(query, {"last": after})
            if not rows:
                return
            after = getattr(rows[-1], key.name)
            yield rows


def insert_if_new(table: Table) -> Insert:
    """Return the statement that inserts a row unless its unique key exists."""
    return insert(table).on_conflict_do_nothing()


T = TypeVar("T")

_CONVERTER = Converter(detailed_validation=False, forbid_extra_keys=True)
_CONVERTER.register_structure_hook(Ark, lambda ark, _: ark)  # an ARK has its own columns


def row_of(record: Any, table: Table, **overrides: Any) -> dict[str, Any]:
    """Return the row of *record* in *table*; *overrides* are values of further columns, or in place of fields."""
    kind: Any = type(record)
    writers = _writers(kind, table).items()
    return {name: write(getattr(record, name)) for name, write in writers if name not in overrides} | overrides


def record_of(kind: type[T], row: Any, **overrides: Any) -> T:
    """Return the record of class *kind* in a row; *overrides* are values of further fields, or in place of columns."""
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    values = {name: getattr(row, name) for name in names if name in row._fields}
    return _CONVERTER.structure(values | overrides, kind)


def ark_of(row: Any) -> Ark:
    """Return the ARK of a row with the columns of its parts."""
    return Ark(row.naan, row.name, row.qualifier)


def observation_of(row: Any) -> Observation:
    """Return the observation in a row, with its ARK."""
    return record_of(Observation, row, ark=ark_of(row), end=row.chain_end).within_limits()


def mention_of(row: Any) -> Mention:
    """Return the mention in a row, with its ARK."""
    return record_of(Mention, row, ark=ark_of(row), confidence=Confidence[row.confidence.upper()])


@cache
def _writers(kind: Any, table: Table) -> dict[str, Callable[[Any], Any]]:
    """Return the functions that convert the attributes of class *kind* to columns of *table*, by their common names."""
    hints = get_type_hints(kind)
    return {
        column.name: _CONVERTER.get_unstructure_hook(hints.get(column.name, Any))
        for column in table.columns
        if column.name in hints or hasattr(kind, column.name)
    }


# -- unreadable rows

#: The number of characters shown of a reason.
_SHOWN_CHARS = 80


def unreadable_rows(connection: Connection) -> Iterator[str]:
    """Yield a description of the first row of each table that can't be read as its record."""
    for name, query, read_row in _READERS:
        subject = f"{name} row"
        try:
            for row in connection.execute(query.execution_options(yield_per=1)):
                subject = f"{name} row {row[0]}"
                read_row(row)
                subject = f"{name} row after {row[0]}"
        except Exception as problem:  # any error: the store never writes a row that it can't read
            cause = getattr(problem, "orig", problem)
            yield f"{subject}: can't be read: {type(cause).__name__}: {str(cause)[:_SHOWN_CHARS]}"


def _read_lists(row: Any) -> None:
    evidence = (row.object_evidence, row.metadata_evidence, row.commitment_evidence)
    for text in chain(*evidence, row.remarks, row.rests_on):
        if not isinstance(text, str):
            raise ValueError("a list of texts was expected")


def _read_mention(row: Any) -> None:
    mention_of(row)
    if row.doubt is not None:
        from_plain(row.doubt, UnresolvedMention)


_READERS: tuple[tuple[str, Select[Any], Callable[[Any], object]], ...] = (
    ("document", select(schema.document), lambda row: [Hop(**hop) for hop in row.hops]),
    ("observation", select(schema.observation, *ARK_PARTS).join_from(schema.observation, schema.ark), observation_of),
    ("mention", select(schema.mention, *ARK_PARTS).join_from(schema.mention, schema.ark), _read_mention),
    ("verdict", select(schema.verdict), _read_lists),
    (
        "latest",
        select(schema.latest, schema.verdict.c.object).join(
            schema.verdict, schema.verdict.c.verdict_id == schema.latest.c.verdict_id
        ),
        status_in,
    ),
)
