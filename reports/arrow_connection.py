"""A second connection to a store at rest, which gives columns of Arrow and no Python value for a cell (ADBC).

SQLite has no types of columns, and the driver guesses them from the first rows. So each query begins with a row of our
own that has them all, and an answer that does not keep to them is an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any, Final

import adbc_driver_sqlite
import adbc_driver_sqlite.dbapi as adbc
import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy import Select
from sqlalchemy.dialects import sqlite

from extractors.shared_errors import ArkauditError

_ROWS_AT_ONCE: Final = 50_000
#: Of SQLite's pages, in KiB: the tables of a report are joined by their keys.
_CACHE: Final = 32_000
_BATCH: Final = adbc_driver_sqlite.StatementOptions.BATCH_ROWS.value
_DIALECT: Final = sqlite.dialect()


class NotInColumns(ArkauditError):
    """Raised by `ArrowConnection` for what can't be had as columns of the expected types, for whatever reason."""


class ArrowConnection:
    """A connection to the database at an address of SQLite, for reading alone."""

    def __init__(self, address: str) -> None:
        self._connection = adbc.connect(address, autocommit=True)
        for pragma in ("trusted_schema=OFF", "cell_size_check=ON", "temp_store=MEMORY", f"cache_size=-{_CACHE}"):
            self._run(f"PRAGMA {pragma}")

    def close(self) -> None:
        """Close it; its temporary tables are gone."""
        self._connection.close()

    def keep(self, name: str, numbers: Sequence[int]) -> None:
        """Keep *numbers* as the temporary table *name*, for as long as the connection lasts."""
        self._run(f"DROP TABLE IF EXISTS temp.{name}")
        self._run(f"CREATE TEMP TABLE {name} (number INTEGER PRIMARY KEY)")
        rows = pa.table({"number": pa.array(numbers, pa.int64())})
        with closing(self._connection.cursor()) as cursor:
            cursor.adbc_ingest(name, rows, mode="append", temporary=True)

    def batches(self, query: Select[Any], samples: Sequence[str], *, is_ordered: bool) -> Iterator[pa.RecordBatch]:
        """Return what a query gives, some thousands of rows at a time.

        *samples* are values in SQL, one for each column, whose types are those of the columns. One that is ordered is
        so by its first column, a key. Raises `NotInColumns`.
        """
        names = [f"c{place}" for place in range(len(samples))]
        first = ", ".join(f"{sample} AS {name}" for sample, name in zip(samples, names, strict=True))
        statement = query.compile(dialect=_DIALECT, compile_kwargs={"literal_binds": True})
        last = None
        try:
            with closing(self._connection.cursor()) as cursor:
                cursor.adbc_statement.set_options(**{_BATCH: str(_ROWS_AT_ONCE)})
                cursor.execute(f"SELECT {first} UNION ALL SELECT * FROM ({statement})")
                for place, batch in enumerate(cursor.fetch_record_batch()):
                    rows = batch.slice(1) if place == 0 else batch
                    rows.validate(full=True)  # also that text is UTF-8
                    if is_ordered and len(rows):
                        last = _require_order(rows.column(0), last)
                    yield rows
        except (adbc.Error, pa.ArrowException, OSError, ValueError) as problem:
            raise NotInColumns(str(problem)) from problem

    def _run(self, statement: str) -> None:
        with closing(self._connection.cursor()) as cursor:
            cursor.execute(statement)


def _require_order(keys: pa.Array, last: int | None) -> int:
    """Return the last of *keys*, which are in order behind *last*; SQLite is free to give another one."""
    in_order = pc.all(pc.greater_equal(keys.slice(1), keys.slice(0, len(keys) - 1))).as_py()
    if in_order is False or (last is not None and keys[0].as_py() < last):
        raise NotInColumns("rows came in another order")
    return int(keys[-1].as_py())
