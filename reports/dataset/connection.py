"""A dataset as tables of a DuckDB connection, of which no more is in memory than a limit allows.

All mentions of a document stand in one file, which makes most counts sums over files: only distinct ARKs are counted
over all of them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pandas as pd
import pyarrow as pa

from extractors.dataset.columns import DATASET_TABLES, ColumnKind, DatasetTable
from extractors.dataset.manifest import Manifest, damage_in, manifest_in
from extractors.dataset.object_storage import is_object, object_files
from extractors.dataset.storage import open_storage
from extractors.shared_errors import ArkauditError, UserMistake

if TYPE_CHECKING:
    import duckdb

#: DuckDB writes what goes beyond it into temporary files; a little more is taken beside it.
MEMORY: Final = "1GB"
#: Files are counted in so many groups at most, each by one query.
_MOST_GROUPS: Final = 100
ROWS_AT_ONCE: Final = 50_000
#: The types of columns, as DuckDB calls them.
_TYPES: Final = {
    ColumnKind.TEXT: "VARCHAR",
    ColumnKind.NUMBER: "INTEGER",
    ColumnKind.LARGE_NUMBER: "BIGINT",
    ColumnKind.TEXTS: "VARCHAR[]",
    ColumnKind.PAIRS: "INTEGER[][]",
}


class DatasetUnreadable(ArkauditError):
    """Raised when the files of a dataset are not there, or not what its manifest says."""


@dataclass(frozen=True, slots=True, eq=False)
class OpenDataset:
    """A dataset that can be asked in SQL: the views ``documents``, ``mentions`` and ``findings``."""

    connection: duckdb.DuckDBPyConnection
    manifest: Manifest
    mention_files: Sequence[str]

    def run(self, query: str) -> None:
        """Run a statement. Raises `DatasetUnreadable`."""
        with _as_unreadable():
            self.connection.execute(query)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Return all rows that *query* gives. Raises `DatasetUnreadable`."""
        with _as_unreadable():
            return self.connection.execute(query).fetchall()

    def frames(self, query: str) -> Iterator[pd.DataFrame]:
        """Yield what *query* gives, so many rows at once; at least one frame. Raises `DatasetUnreadable`."""
        with _as_unreadable():
            reader = self.connection.sql(query).to_arrow_reader(ROWS_AT_ONCE)
            is_first = True
            for batch in reader:
                is_first = False
                yield batch.to_pandas()
            if is_first:
                yield reader.schema.empty_table().to_pandas()

    def groups_of_files(self) -> Iterator[str]:
        """Yield the mention files in groups, each as what stands behind ``FROM``: no document stands in two of them."""
        size = -(-len(self.mention_files) // _MOST_GROUPS)
        for first in range(0, len(self.mention_files), size):
            yield _parquet(self.mention_files[first : first + size])

    def keep(self, name: str, columns: pa.Table) -> None:
        """Keep a small table beside those of the dataset."""
        self.connection.register(f"_{name}", columns)
        self.run(f"CREATE TEMP TABLE {name} AS SELECT * FROM _{name}")
        self.connection.unregister(f"_{name}")


@contextmanager
def open_dataset(place: str, *, threads: int, memory: str = MEMORY) -> Iterator[OpenDataset]:
    """Open the dataset in the folder *place*.

    Raises:
        UserMistake: where there is no finished dataset, or DuckDB is missing.
        DatasetUnreadable: where a file of it is missing.
    """
    try:
        import duckdb
    except ModuleNotFoundError:
        raise UserMistake("a report on a dataset needs DuckDB: pip install 'arkaudit[duckdb]'") from None
    storage = open_storage(place)
    manifest = manifest_in(storage)
    folder = place.rstrip("/") if is_object(place) else str(Path(place).absolute())
    paths = {name: [f"{folder}/{file}" for file in table.files] for name, table in manifest.tables.items()}
    if not is_object(place):  # whose files would come twice
        for damage in damage_in(storage):
            raise DatasetUnreadable(f"{folder}/{damage}: the command that made the dataset makes it again")
    settings = {"memory_limit": memory, "threads": str(threads), "preserve_insertion_order": "false"}
    with tempfile.TemporaryDirectory(prefix="arkaudit-report-") as spilled:
        connection = duckdb.connect(":memory:", config={**settings, "temp_directory": spilled})
        try:
            if is_object(place):
                connection.register_filesystem(object_files())
            found = OpenDataset(connection, manifest, paths["mentions"])
            for table in DATASET_TABLES:
                files = paths[table.name]
                _check_columns(found, table, files)
                found.run(f"CREATE VIEW {table.name} AS SELECT * FROM {_parquet(files)}")
            yield found
        finally:
            connection.close()


@contextmanager
def _as_unreadable() -> Iterator[None]:
    import duckdb

    try:
        yield
    except (duckdb.Error, pa.ArrowException, OSError) as problem:
        raise DatasetUnreadable(f"the dataset can't be read: {str(problem).splitlines()[0]}") from None


def _check_columns(dataset: OpenDataset, table: DatasetTable, files: Sequence[str]) -> None:
    """Raise `DatasetUnreadable` where a column of the *files* of a table is missing, or of another type."""
    there = {name: kind for name, kind, *_ in dataset.rows(f"DESCRIBE SELECT * FROM {_parquet(files[:1])}")}
    for column in table.columns:
        if there.get(column.name) != _TYPES[column.kind]:
            raise DatasetUnreadable(f"{files[0]}: its column {column.name} is not as it should be")


def _parquet(files: Sequence[str]) -> str:
    """Return what reads *files* and nothing else: a folder called `naan=…` above them is no column of theirs."""
    options = "hive_partitioning = false, union_by_name = false, filename = false, file_row_number = false"
    return f"read_parquet({_sql_list(files)}, {options}, binary_as_string = false)"


def _sql_list(texts: Sequence[str]) -> str:
    """The texts as a list in SQL.

    >>> _sql_list(["a", "it's"])
    "['a', 'it''s']"
    """
    quoted = ("'" + text.replace("'", "''") + "'" for text in texts)
    return f"[{', '.join(quoted)}]"
