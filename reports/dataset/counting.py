"""What is counted of a dataset, as temporary tables that the published tables are made of."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from reports.dataset.connection import OpenDataset
from reports.distinct import host
from reports.places import section

#: The mentions of some files, with a number for each document: numbers are counted several times as fast as names.
_NUMBERED: Final = """
    SELECT number, citation, ordinal, ark, naan, coalesce(shoulder, '') AS shoulder, coalesce(resolver, '') AS resolver,
        repairs, len(repairs) > 0 AS is_repaired, confidence = 'ambiguous' AS is_unsure, as_written, repaired, document
    FROM $files
    JOIN (SELECT document, row_number() OVER () AS number FROM (SELECT DISTINCT document FROM $files)) USING (document)
"""
_CITED: Final = """
    SELECT naan, NULL, sum(citations), count(*)
    FROM (SELECT naan, number, count(DISTINCT citation) AS citations FROM numbered GROUP BY naan, number)
    GROUP BY naan
    UNION ALL
    SELECT naan, shoulder, sum(citations), count(*)
    FROM (SELECT naan, shoulder, number, count(DISTINCT citation) AS citations
          FROM numbered GROUP BY naan, shoulder, number)
    GROUP BY naan, shoulder
"""
_BY_DOCUMENT: Final = """
    SELECT document, places, citations, arks, repaired, coalesce(mended, 0), coalesce(unsure, 0)
    FROM (SELECT number, any_value(document) AS document, count(*) AS places, count(DISTINCT citation) AS citations,
              count(DISTINCT ark) AS arks, count(*) FILTER (is_repaired) AS repaired
          FROM numbered GROUP BY number)
    LEFT JOIN (SELECT number, count(DISTINCT citation) AS mended FROM numbered WHERE is_repaired GROUP BY number)
    USING (number)
    LEFT JOIN (SELECT number, count(DISTINCT citation) AS unsure FROM numbered WHERE is_unsure GROUP BY number)
    USING (number)
"""
_BY_REPAIR: Final = """
    SELECT repair, count(DISTINCT (number, ordinal)), count(DISTINCT (number, citation)), count(DISTINCT number),
        min({'document': document, 'ordinal': ordinal, 'as_written': as_written, 'repaired': repaired})
    FROM (SELECT unnest(repairs) AS repair, number, ordinal, citation, document, as_written, repaired
          FROM numbered WHERE is_repaired)
    GROUP BY repair
"""
_BY_HOST: Final = """
    SELECT host, sum(citations), count(*)
    FROM (SELECT host, number, count(DISTINCT citation) AS citations
          FROM numbered JOIN resolver_host USING (resolver) GROUP BY host, number)
    GROUP BY host
"""
#: The tables to which each group of files adds its counts. The first example of a repair is the least by document.
_TABLES: Final = {
    "cited_in_files (naan VARCHAR, shoulder VARCHAR, citations BIGINT, documents BIGINT)": _CITED,
    "by_document (document VARCHAR, places BIGINT, citations BIGINT, arks BIGINT, repaired BIGINT, mended BIGINT, "
    "unsure BIGINT)": _BY_DOCUMENT,
    "by_repair (repair VARCHAR, places BIGINT, citations BIGINT, documents BIGINT, "
    "example STRUCT(document VARCHAR, ordinal INTEGER, as_written VARCHAR, repaired VARCHAR))": _BY_REPAIR,
    "by_host (host VARCHAR, citations BIGINT, documents BIGINT)": _BY_HOST,
}
#: The part of a document's name by which its section is known: one value for very many documents. Names with blanks
#: or control characters are asked about whole.
_SECTION_KEY: Final = r"""
    CASE WHEN regexp_matches(document, '[\x00-\x20]') THEN document
         WHEN regexp_matches(document, '^https?://', 'i')
         THEN regexp_extract(document, '^([^/]*//[^/?#]*(?:/[^/?#]*/?)?)', 1)
         ELSE regexp_extract(document, '^((?s:.*)/)', 1)
    END
"""


def count(dataset: OpenDataset) -> None:
    """Make the tables ``ark``, ``cited``, ``by_document``, ``by_repair``, ``by_host``, ``resolver_host``, ``section``.

    Raises `reports.dataset.connection.DatasetUnreadable`.
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
    """Find the host of each resolver."""
    resolvers = [resolver for (resolver,) in dataset.rows("SELECT DISTINCT coalesce(resolver, '') FROM mentions")]
    hosts = pa.array(map(host, resolvers), pa.string())
    dataset.keep("resolver_host", pa.table({"resolver": pa.array(resolvers, pa.string()), "host": hosts}))


def _find_sections(dataset: OpenDataset) -> None:
    """Find the section of each document."""
    keys = [key for (key,) in dataset.rows(f"SELECT DISTINCT {_SECTION_KEY} FROM documents")]
    names = pa.table({"key": pa.array(keys, pa.string()), "section": pa.array(map(section, keys), pa.string())})
    dataset.keep("section_key", names)
    dataset.run(
        f"""
        CREATE TEMP TABLE section AS
        SELECT document, section_key.section FROM documents JOIN section_key ON section_key.key = {_SECTION_KEY}
        """
    )
