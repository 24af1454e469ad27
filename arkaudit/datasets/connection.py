"""A dataset as tables of DuckDB, within a limit of memory.

All mentions of a document are in one file. Therefore most counts are sums over files, and only distinct ARKs are
counted over all files at once.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa

from arkaudit.datasets.columns import DATASET_TABLES, ColumnKind, DatasetTable
from arkaudit.datasets.plan import Manifest, damage_in, manifest_in
from arkaudit.datasets.storage import is_object, object_files, open_storage
from extractors.model.errors import UserMistake
from extractors.model.urls import authority_of
from reports.tables.overviews import section

if TYPE_CHECKING:
    import duckdb


#: DuckDB's memory limit, beyond which it uses temporary files. The process needs a little more.
MEMORY = "1GB"
#: Maximum number of groups of files, each of which is counted by one query.
_MOST_GROUPS = 100
ROWS_AT_ONCE = 50_000
#: DuckDB's names of the types of columns.
_TYPES = {
    ColumnKind.TEXT: "VARCHAR",
    ColumnKind.NUMBER: "INTEGER",
    ColumnKind.LARGE_NUMBER: "BIGINT",
    ColumnKind.TEXTS: "VARCHAR[]",
    ColumnKind.PAIRS: "INTEGER[][]",
}


@dataclass(frozen=True, slots=True, eq=False)
class OpenDataset:
    """A dataset for SQL queries, with the views ``documents``, ``mentions`` and ``findings``."""

    connection: duckdb.DuckDBPyConnection
    manifest: Manifest
    mention_files: Sequence[str]

    def run(self, query: str) -> None:
        """Run a statement. Raises `UserMistake`."""
        with _as_unreadable():
            self.connection.execute(query)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Return all rows of *query*. Raises `UserMistake`."""
        with _as_unreadable():
            return self.connection.execute(query).fetchall()

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

    def groups_of_files(self) -> Iterator[str]:
        """Yield groups of mention files as ``FROM`` clauses. A document is in one group only."""
        size = -(-len(self.mention_files) // _MOST_GROUPS)
        for first in range(0, len(self.mention_files), size):
            yield _parquet(self.mention_files[first : first + size])

    def keep(self, name: str, columns: pa.Table) -> None:
        """Create a temporary table from *columns*."""
        self.connection.register(f"_{name}", columns)
        self.run(f"CREATE TEMP TABLE {name} AS SELECT * FROM _{name}")
        self.connection.unregister(f"_{name}")


@contextmanager
def open_dataset(place: str, *, threads: int, memory: str = MEMORY) -> Iterator[OpenDataset]:
    """Open the dataset in the folder *place*.

    Raises:
        UserMistake: There is no finished dataset, a file is missing or damaged, or DuckDB is missing.
    """
    try:
        import duckdb
    except ModuleNotFoundError:
        raise UserMistake("a report on a dataset needs DuckDB: pip install 'arkaudit[duckdb]'") from None
    storage = open_storage(place)
    manifest = manifest_in(storage)
    folder = place.rstrip("/") if is_object(place) else str(Path(place).absolute())
    paths = {name: [f"{folder}/{file}" for file in table.files] for name, table in manifest.tables.items()}
    # Files on object storage would be transferred twice.
    if not is_object(place):
        for damage in damage_in(storage):
            raise UserMistake(f"{folder}/{damage}: repeat the command that made the dataset")
    settings = {"memory_limit": memory, "threads": str(threads), "preserve_insertion_order": "false"}
    with tempfile.TemporaryDirectory(prefix="arkaudit-report-") as spilled:
        connection = duckdb.connect(":memory:", config={**settings, "temp_directory": spilled})
        try:
            if is_object(place):
                connection.register_filesystem(object_files())
            dataset = OpenDataset(connection, manifest, paths["mentions"])
            for table in DATASET_TABLES:
                files = paths[table.name]
                _check_columns(dataset, table, files)
                dataset.run(f"CREATE VIEW {table.name} AS SELECT * FROM {_parquet(files)}")
            yield dataset
        finally:
            connection.close()


@contextmanager
def _as_unreadable() -> Iterator[None]:
    import duckdb

    try:
        yield
    except (duckdb.Error, pa.ArrowException, OSError) as problem:
        raise UserMistake(f"the dataset can't be read: {str(problem).splitlines()[0]}") from None


def _check_columns(dataset: OpenDataset, table: DatasetTable, files: Sequence[str]) -> None:
    """Raise `UserMistake` if a column of a table's *files* is missing, or has another type."""
    there = {name: kind for name, kind, *_ in dataset.rows(f"DESCRIBE SELECT * FROM {_parquet(files[:1])}")}
    for column in table.columns:
        if there.get(column.name) != _TYPES[column.kind]:
            raise UserMistake(f"{files[0]}: the column {column.name} is missing or has a wrong type")


def _parquet(files: Sequence[str]) -> str:
    """Return the table function for *files*. A parent folder called `naan=…` must not become a column."""
    options = "hive_partitioning = false, union_by_name = false, filename = false, file_row_number = false"
    return f"read_parquet({_sql_list(files)}, {options}, binary_as_string = false)"


def _sql_list(texts: Sequence[str]) -> str:
    """Return the texts as a list in SQL.

    >>> _sql_list(["a", "it's"])
    "['a', 'it''s']"
    """
    quoted = ("'" + text.replace("'", "''") + "'" for text in texts)
    return f"[{', '.join(quoted)}]"


# -- counts, as temporary tables for the published tables

#: Mentions of some files with a number for each document, because counting numbers is several times as fast.
_NUMBERED = """
    SELECT number, citation, ordinal, ark, naan, coalesce(shoulder, '') AS shoulder, coalesce(resolver, '') AS resolver,
        repairs, len(repairs) > 0 AS is_repaired, confidence = 'ambiguous' AS is_unsure, as_written, repaired, document
    FROM $files
    JOIN (SELECT document, row_number() OVER () AS number FROM (SELECT DISTINCT document FROM $files)) USING (document)
"""
_CITED = """
    SELECT naan, NULL, sum(citations), count(*)
    FROM (SELECT naan, number, count(DISTINCT citation) AS citations FROM numbered GROUP BY naan, number)
    GROUP BY naan
    UNION ALL
    SELECT naan, shoulder, sum(citations), count(*)
    FROM (SELECT naan, shoulder, number, count(DISTINCT citation) AS citations
          FROM numbered GROUP BY naan, shoulder, number)
    GROUP BY naan, shoulder
"""
_BY_DOCUMENT = """
    SELECT document, places, citations, arks, repaired, coalesce(mended, 0), coalesce(unsure, 0)
    FROM (SELECT number, any_value(document) AS document, count(*) AS places, count(DISTINCT citation) AS citations,
              count(DISTINCT ark) AS arks, count(*) FILTER (is_repaired) AS repaired
          FROM numbered GROUP BY number)
    LEFT JOIN (SELECT number, count(DISTINCT citation) AS mended FROM numbered WHERE is_repaired GROUP BY number)
    USING (number)
    LEFT JOIN (SELECT number, count(DISTINCT citation) AS unsure FROM numbered WHERE is_unsure GROUP BY number)
    USING (number)
"""
_BY_REPAIR = """
    SELECT repair, count(DISTINCT (number, ordinal)), count(DISTINCT (number, citation)), count(DISTINCT number),
        min({'document': document, 'ordinal': ordinal, 'as_written': as_written, 'repaired': repaired})
    FROM (SELECT unnest(repairs) AS repair, number, ordinal, citation, document, as_written, repaired
          FROM numbered WHERE is_repaired)
    GROUP BY repair
"""
_BY_HOST = """
    SELECT host, sum(citations), count(*)
    FROM (SELECT host, number, count(DISTINCT citation) AS citations
          FROM numbered JOIN resolver_host USING (resolver) GROUP BY host, number)
    GROUP BY host
"""
#: The tables to which each group of files adds its counts. The example of a repair is the first by document.
_TABLES = {
    "cited_in_files (naan VARCHAR, shoulder VARCHAR, citations BIGINT, documents BIGINT)": _CITED,
    "by_document (document VARCHAR, places BIGINT, citations BIGINT, arks BIGINT, repaired BIGINT, mended BIGINT, "
    "unsure BIGINT)": _BY_DOCUMENT,
    "by_repair (repair VARCHAR, places BIGINT, citations BIGINT, documents BIGINT, "
    "example STRUCT(document VARCHAR, ordinal INTEGER, as_written VARCHAR, repaired VARCHAR))": _BY_REPAIR,
    "by_host (host VARCHAR, citations BIGINT, documents BIGINT)": _BY_HOST,
}
#: The part of a document's name that determines its section, shared by many documents. Names with spaces or control
#: characters are not shortened.
_SECTION_KEY = r"""
    CASE WHEN regexp_matches(document, '[\x00-\x20]') THEN document
         WHEN regexp_matches(document, '^https?://', 'i')
         THEN regexp_extract(document, '^([^/]*//[^/?#]*(?:/[^/?#]*/?)?)', 1)
         ELSE regexp_extract(document, '^((?s:.*)/)', 1)
    END
"""


def count(dataset: OpenDataset) -> None:
    """Create ``ark``, ``cited``, ``by_document``, ``by_repair``, ``by_host``, ``resolver_host`` and ``section``.

    Raises `UserMistake`.
    """
    dataset.run("CREATE TEMP TABLE ark AS SELECT DISTINCT ark, naan, coalesce(shoulder, '') AS shoulder FROM mentions")
    _find_hosts(dataset)
    for table in _TABLES:
        dataset.run(f"CREATE TEMP TABLE {table}")
    for files in dataset.groups_of_files():
        dataset.run(f"CREATE OR REPLACE TEMP TABLE numbered AS {_NUMBERED.replace('$files', files)}")
        for table, query in _TABLES.items():
            dataset.run(f"INSERT INTO {table.partition(' ')[0]} {query}")
    dataset.run(
        """
        CREATE TEMP TABLE cited AS
        SELECT naan, shoulder, sum(citations)::BIGINT AS citations, sum(documents)::BIGINT AS documents
        FROM cited_in_files GROUP BY naan, shoulder
        """
    )
    _find_sections(dataset)


def _find_hosts(dataset: OpenDataset) -> None:
    """Create the table ``resolver_host`` with the host of each resolver."""
    resolvers = [resolver for (resolver,) in dataset.rows("SELECT DISTINCT coalesce(resolver, '') FROM mentions")]
    hosts = pa.array(map(authority_of, resolvers), pa.string())
    dataset.keep("resolver_host", pa.table({"resolver": pa.array(resolvers, pa.string()), "host": hosts}))


def _find_sections(dataset: OpenDataset) -> None:
    """Create the table ``section`` with the section of each document."""
    keys = [key for (key,) in dataset.rows(f"SELECT DISTINCT {_SECTION_KEY} FROM documents")]
    names = pa.table({"key": pa.array(keys, pa.string()), "section": pa.array(map(section, keys), pa.string())})
    dataset.keep("section_key", names)
    dataset.run(
        f"""
        CREATE TEMP TABLE section AS
        SELECT document, section_key.section FROM documents JOIN section_key ON section_key.key = {_SECTION_KEY}
        """
    )
