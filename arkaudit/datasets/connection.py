"""A dataset as tables of DuckDB, within a limit of memory, and the queries in ``sql/``."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from arkaudit.datasets.columns import DATASET_TABLES, schema_of
from arkaudit.datasets.plan import Manifest, damage_in, manifest_in
from arkaudit.datasets.storage import is_object, object_files, open_storage
from extractors.model.budget import cores
from extractors.model.errors import DatasetError, UserMistake

if TYPE_CHECKING:
    import duckdb
    import pandas as pd


#: DuckDB's memory limit, beyond which it uses temporary files. The process needs a little more.
MEMORY = "1GB"
#: Maximum number of groups of files, each of which is counted by one query.
_MOST_GROUPS = 100
ROWS_AT_ONCE = 50_000
_DICTS_AT_ONCE = 2_048


@dataclass(frozen=True, slots=True, eq=False)
class OpenDataset:
    """A dataset for SQL queries, with the views ``documents``, ``mentions`` and ``findings``."""

    connection: duckdb.DuckDBPyConnection
    manifest: Manifest
    mention_files: Sequence[str]

    def run(self, query: str) -> None:
        """Run statements. Raises `UserMistake`."""
        with _as_unreadable():
            self.connection.execute(query)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Return all rows of *query*. Raises `UserMistake`."""
        with _as_unreadable():
            return self.connection.execute(query).fetchall()

    def dicts(self, query: str) -> Iterator[dict[str, Any]]:
        """Yield the rows of *query* by column. Raises `UserMistake`."""
        with _as_unreadable():
            for batch in self.connection.sql(query).to_arrow_reader(_DICTS_AT_ONCE):
                yield from batch.to_pylist()

    def frames(self, query: str) -> Iterator[pd.DataFrame]:
        """Yield the result of *query* in frames of `ROWS_AT_ONCE`, at least one. Raises `UserMistake`."""
        with _as_unreadable():
            reader = self.connection.sql(query).to_arrow_reader(ROWS_AT_ONCE)
            is_first = True
            for batch in reader:
                is_first = False
                yield batch.to_pandas()
            if is_first:
                yield reader.schema.empty_table().to_pandas()

    def count(self) -> None:
        """Count citations and documents in temporary tables (``sql/counts.sql``). Raises `UserMistake`."""
        self.run(query_of("counts"))
        size = -(-len(self.mention_files) // _MOST_GROUPS)
        for first in range(0, len(self.mention_files), size):
            files = parquet(self.mention_files[first : first + size])
            self.run(f"CREATE OR REPLACE TEMP VIEW mentions_of_files AS SELECT * FROM {files}")
            self.run(query_of("count_files"))

    def keep(self, name: str, columns: pa.Table) -> None:
        """Create a temporary table from *columns*."""
        self.connection.register(f"_{name}", columns)
        self.run(f"CREATE TEMP TABLE {name} AS SELECT * FROM _{name}")
        self.connection.unregister(f"_{name}")


def query_of(name: str) -> str:
    """Return the SQL of the query *name*, from the folder ``sql``."""
    return Path(__file__).with_name("sql").joinpath(f"{name}.sql").read_text("utf-8")


@contextmanager
def connect(place: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """Connect to DuckDB for queries of files at *place*, a folder or a URL prefix.

    Raises `UserMistake` if DuckDB is missing, and `DatasetError` if a query fails, for example on a full disk.
    """
    require_duckdb()
    import duckdb

    settings = {"memory_limit": MEMORY, "threads": str(cores()), "preserve_insertion_order": "false"}
    with (
        tempfile.TemporaryDirectory(prefix="arkaudit-duckdb-") as spilled,
        duckdb.connect(":memory:", config={**settings, "temp_directory": spilled}) as connection,
    ):
        if is_object(place):
            connection.register_filesystem(object_files())
        try:
            yield connection
        except duckdb.Error as problem:
            raise DatasetError(f"{place}: {str(problem).splitlines()[0]}") from None


def require_duckdb() -> None:
    """Raise `UserMistake` if DuckDB is missing."""
    if find_spec("duckdb") is None:
        raise UserMistake("datasets need DuckDB: pip install 'arkaudit[duckdb]'")


@contextmanager
def open_dataset(place: str, *, verify: bool = True) -> Iterator[OpenDataset]:
    """Open the dataset at *place*, and *verify* its files in a folder; those on object storage would be sent twice.

    Raises:
        UserMistake: There is no finished dataset, a file is missing or damaged, or DuckDB is missing.
    """
    require_duckdb()
    storage = open_storage(place)
    manifest = manifest_in(storage)
    for damage in damage_in(storage, manifest) if verify and not is_object(place) else ():
        raise UserMistake(f"{place} can't be read: {damage}: repeat the command that made the dataset")
    paths = {name: [f"{storage.place}/{file}" for file in table.files] for name, table in manifest.tables.items()}
    with connect(place) as connection:
        dataset = OpenDataset(connection, manifest, paths["mentions"])
        for table in DATASET_TABLES:
            files = paths[table.name]
            with _as_unreadable():
                schema = connection.sql(f"SELECT * FROM {parquet(files[:1])} LIMIT 0").to_arrow_reader().schema
            for column in schema_of(table):
                if column.name not in schema.names or schema.field(column.name).type != column.type:
                    raise UserMistake(f"{files[0]}: the column {column.name} is missing or has a wrong type")
            dataset.run(f"CREATE VIEW {table.name} AS SELECT * FROM {parquet(files)}")
        yield dataset


@contextmanager
def _as_unreadable() -> Iterator[None]:
    import duckdb

    try:
        yield
    except (duckdb.Error, pa.ArrowException, OSError) as problem:
        raise UserMistake(f"the dataset can't be read: {str(problem).splitlines()[0]}") from None


def parquet(files: Sequence[str]) -> str:
    """Return the table function for *files*. A parent folder called `naan=…` must not become a column.

    >>> parquet(["a", "it's"]).partition(", hive")[0]
    "read_parquet(['a', 'it''s']"
    """
    quoted = ", ".join("'" + file.replace("'", "''") + "'" for file in files)
    options = "hive_partitioning = false, union_by_name = false, filename = false, file_row_number = false"
    return f"read_parquet([{quoted}], {options}, binary_as_string = false)"
