"""The file of a store: its one connection, and one transaction after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from cattrs import Converter
from filelock import FileLock
from sqlalchemy import (
    Column,
    Connection,
    Row,
    Select,
    Table,
    bindparam,
    select,
)
from sqlalchemy.dialects.sqlite import Insert, insert
from sqlalchemy.engine import Engine
from sqlalchemy.exc import DatabaseError

from crawler.model import schema
from crawler.model.observations import Observation
from crawler.store import StoreUnwritable
from extractors.mentions.mention import Mention
from extractors.model.ark import Ark
from extractors.wraps.rules import Confidence

#: Rows that are read at a time: nothing of a run that may be long is taken whole, and no reading lasts long.
PAGE = 500
#: ARKs of which the key is remembered: those that pages close to each other cite.
_ARKS_KNOWN = 8_000
ARK_PARTS = (schema.ark.c.naan, schema.ark.c.name, schema.ark.c.qualifier)
_ARK_IDS = select(schema.ark.c.ark_id, schema.ark.c.ark).where(
    schema.ark.c.ark.in_(bindparam("arks", expanding=True))
)


class Database:
    """An open file, and the keys of ARKs in it."""

    def __init__(self, engine: Engine, path: Path | None, lock: FileLock | None = None) -> None:
        self._engine = engine
        self.path = path
        self._lock = lock
        self._ark_ids: dict[Ark, int] = {}
        self._writer: Connection | None = None
        """Of the transaction that is under way, if one is."""

    def close(self) -> None:
        """Close the file; everything recorded is in it."""
        self._engine.dispose()
        if self._lock is not None:
            with suppress(OSError):
                Path(
                    self._lock.lock_file
                ).unlink()  # while it is ours; who waits for it sees that it is gone
            self._lock.release()

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """One transaction. Raises `StoreUnwritable` when it could not be made durable; nothing of it is there then."""
        try:
            with self._engine.begin() as connection:
                self._writer = connection
                yield connection
        except DatabaseError as problem:
            self._ark_ids.clear()
            raise StoreUnwritable(
                f"{self.path or 'the store in memory'}: {problem.orig}"
            ) from problem
        finally:
            self._writer = None

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection to read with; what it gives is to be taken whole before anything else is asked of the store.

        Within a transaction it is that transaction's own, for there is but one connection to the file.
        """
        if self._writer is not None:
            yield self._writer
            return
        with self._engine.connect() as connection:
            yield connection

    def _learn_ark_ids(self, connection: Connection, arks: Sequence[Ark]) -> None:
        """Record *arks* that are not there yet, and remember the keys of all; `_ark_id` knows them then."""
        unknown = [ark for ark in arks if ark not in self._ark_ids]
        if not unknown:
            return
        if len(self._ark_ids) >= _ARKS_KNOWN:
            self._ark_ids.clear()
            unknown = list(arks)
        connection.execute(
            adding(schema.ark), [row_of(ark, schema.ark, ark=str(ark)) for ark in unknown]
        )
        for start in range(0, len(unknown), PAGE):
            by_text = {str(ark): ark for ark in unknown[start : start + PAGE]}
            for row in connection.execute(_ARK_IDS, {"arks": list(by_text)}):
                self._ark_ids[by_text[row.ark]] = row.ark_id

    def _ark_id(self, connection: Connection, ark: Ark) -> int:
        self._learn_ark_ids(connection, [ark])
        return self._ark_ids[ark]

    def pages(
        self, query: Select[Any], key: Column[int], *, after: int = 0
    ) -> Iterator[Sequence[Row[Any]]]:
        """The rows of *query* in the order of their *key*, a page at a time: nothing is being read in between."""
        query = query.where(key > bindparam("last")).order_by(key).limit(PAGE)
        while True:
            with self.reading() as connection:
                rows = connection.execute(query, {"last": after}).all()
            if not rows:
                return
            after = getattr(rows[-1], key.name)
            yield rows


def adding(table: Table) -> Insert:
    """The statement that adds a row, unless one with the same unique key is there."""
    return insert(table).on_conflict_do_nothing()


T = TypeVar("T")

_CONVERTER = Converter(detailed_validation=False, forbid_extra_keys=True)
_CONVERTER.register_structure_hook(Ark, lambda ark, _: ark)  # it has columns of its own


def row_of(record: Any, table: Table, **others: Any) -> dict[str, Any]:
    """The row of *record* in *table*; *others* are the columns that are not fields of it, or not as they are there."""
    kind: Any = type(record)
    writers = _writers(kind, table).items()
    return {
        name: write(getattr(record, name)) for name, write in writers if name not in others
    } | others


def record_of(kind: type[T], row: Any, **others: Any) -> T:
    """The record of a *kind* that is in a row; *others* are fields that are no columns, or not as they are there."""
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    values = {name: getattr(row, name) for name in names if name in row._fields}
    return _CONVERTER.structure(values | others, kind)


def ark_of(row: Any) -> Ark:
    """The ARK of a row that has its parts."""
    return Ark(row.naan, row.name, row.qualifier)


def observation_of(row: Any) -> Observation:
    """The observation that is in a row, with its ARK."""
    return record_of(Observation, row, ark=ark_of(row), end=row.chain_end)


def mention_of(row: Any) -> Mention:
    """The mention that is in a row, with its ARK."""
    return record_of(Mention, row, ark=ark_of(row), confidence=Confidence[row.confidence.upper()])


def observation_row(observation: Observation, run_id: int, ark_id: int) -> dict[str, Any]:
    """The row of an observation."""
    hop_count = max(len(observation.hops) - 1, 0)
    others = {
        "run_id": run_id,
        "ark_id": ark_id,
        "chain_end": observation.end.value,
        "hop_count": hop_count,
    }
    return row_of(observation, schema.observation, **others)


@cache
def _writers(kind: Any, table: Table) -> dict[str, Callable[[Any], Any]]:
    """What makes the value of a column of a field, or a property, of the same name."""
    hints = get_type_hints(kind)
    return {
        column.name: _CONVERTER.get_unstructure_hook(hints.get(column.name, Any))
        for column in table.columns
        if column.name in hints or hasattr(kind, column.name)
    }
