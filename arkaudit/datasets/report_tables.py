"""The tables of a report on a dataset: those of a report on a store that need no requests.

All ARKs count as not judged. The rows are the same as after a crawl of the same documents without a check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from inspect import signature
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
from rich.console import Console

from arkaudit.datasets.connection import OpenDataset, open_dataset, query_of
from arkaudit.datasets.documents import at_resolver
from arkaudit.output.exits import say
from arkaudit.output.output_rows import whole
from arkaudit.output.reporting import naan_table, place_sentence
from crawler.model.defaults import GLOBAL_RESOLVER
from crawler.model.observations import Family
from crawler.model.registry import load_registry
from extractors.model.ark import SKIPPED_NAANS
from extractors.model.errors import UserMistake
from extractors.model.naan import SHARED_NAANS
from extractors.model.urls import authority_of
from reports.exports import check_out, staging_folder
from reports.formats.table_files import TABLE_FORMATS, write_table
from reports.languages import Language
from reports.store.frames import registered_names
from reports.store.typed_columns import JOINT
from reports.tables import listings, overviews
from reports.tables import summary as sums
from reports.tables.definitions import (
    ARKS_COLUMN,
    CITATIONS_COLUMN,
    DOCUMENTS_COLUMN,
    NAAN_COLUMN,
    TableDefinition,
    ark_column,
    rows_of,
    text_column,
    url_column,
)
from reports.tables.summary import cited_sentence

#: Number of mentions up to which `citations` has all of them; beyond it, only doubtful ones and examples.
MOST_CITATIONS = 1_000_000


#: Functions of the queries in ``sql/``, whose parameters and results are texts or missing.
_FUNCTIONS: dict[str, Callable[..., str | None]] = {
    "host_of": authority_of,
    "request_url": lambda requested: at_resolver(requested, GLOBAL_RESOLVER),
    "example_sign": lambda contexts, title, document: listings.example_sign((contexts, title, document)),
}


def count(dataset: OpenDataset) -> None:
    """Make the functions, values and tables that the queries in ``sql/`` need. Raises `UserMistake`."""
    for name, function in _FUNCTIONS.items():
        # DuckDB's stubs lack the names of types and options.
        options: Any = {"return_type": "VARCHAR", "null_handling": "special"}
        options["parameters"] = ["VARCHAR"] * len(signature(function).parameters)
        dataset.connection.create_function(name, function, **options)
    skipped = ", ".join(f"'{naan}'" for naan in sorted(SKIPPED_NAANS))
    dataset.run(
        f"SET VARIABLE joint = '{JOINT}';"
        f"SET VARIABLE skipped_naans = [{skipped}]; SET VARIABLE has_all_citations = {has_all_citations(dataset)}"
    )
    dataset.count()
    registered = registered_names(load_registry())
    dataset.keep("registered", pa.Table.from_pandas(registered, preserve_index=False))
    shared = overviews.with_purposes(pd.DataFrame({"naan": list(SHARED_NAANS)}))
    dataset.keep("shared_naan", pa.Table.from_pandas(shared, preserve_index=False))


def frames_of(table: TableDefinition, dataset: OpenDataset) -> Iterator[pd.DataFrame]:
    """Yield the rows of a table in pieces, because there may be millions; unknown columns are empty.

    The query in ``sql/`` has the name of the table. Only the summary is made here, because its measures have words.
    """
    names = [column.name for column in table.columns]
    for rows in (_summary(dataset),) if table is sums.SUMMARY else dataset.frames(query_of(table.name)):
        yield table.select_columns(rows.reindex(columns=names))


def _summary(dataset: OpenDataset) -> pd.DataFrame:
    [(citations, in_places, repaired, ambiguous, arks, findings)] = dataset.rows(
        "SELECT coalesce(sum(citations), 0), coalesce(sum(places), 0), coalesce(sum(mended), 0),"
        " coalesce(sum(unsure), 0), (SELECT count(*) FROM ark), (SELECT count(*) FROM findings) FROM by_document"
    )
    measures = [
        *sums.document_measures(dict(dataset.rows("SELECT outcome, count(*) FROM documents GROUP BY outcome"))),
        *sums.citation_measures(
            {Family.NOT_JUDGED: int(citations)}, places=int(in_places), repaired=int(repaired), ambiguous=int(ambiguous)
        ),
        *sums.ark_measures({Family.NOT_JUDGED: arks}),
        sums.finding_measure(findings),
    ]
    return pd.DataFrame(measures, columns=["measure", "value", "note"])


def has_all_citations(dataset: OpenDataset) -> bool:
    """Return True if `citations` has every mention of a dataset; for a large one it would be another copy."""
    return dataset.manifest.tables["mentions"].rows <= MOST_CITATIONS


def _of_datasets_only(*_: object) -> pd.DataFrame:
    raise TypeError("this table exists only for datasets")


CITED_HOSTS = TableDefinition(
    "cited_hosts",
    "By cited resolver",
    "One row per host in cited URLs of ARKs; an ARK that is cited with several hosts counts at each. The row without a "
    "host has the ARKs that are cited without a resolver.",
    _of_datasets_only,
    (
        text_column("host", "host of the resolver as cited, with its port unless it is the default"),
        ARKS_COLUMN,
        CITATIONS_COLUMN,
        DOCUMENTS_COLUMN,
    ),
)

CHECK_FAILURES = TableDefinition(
    "check_failures",
    "Wrong check characters",
    "One row per ARK with a wrong check character, among names that are known to have one.",
    _of_datasets_only,
    (
        ark_column("ark", "ARK in normal form"),
        NAAN_COLUMN,
        text_column("suggestions", "ARKs that may have been meant: one character differs, and the check is right"),
        CITATIONS_COLUMN,
        DOCUMENTS_COLUMN,
        text_column("as_written", "the characters of the document, unchanged"),
        url_column("first_document", "document with the first citation"),
    ),
)

DATASET_REPORT = (
    sums.SUMMARY,
    overviews.NAANS,
    CITED_HOSTS,
    overviews.DOCUMENTS,
    listings.REPAIRS,
    CHECK_FAILURES,
    listings.CITATIONS,
)


# -- `arkaudit report --dataset`

_MOST_SHOWN = 20


def report_on_dataset(folder: str, out: Path | None, formats: Sequence[str], language: Language) -> None:
    """Print a summary of the dataset at *folder* in *language*, and write its tables into *out*, if given.

    Raises `UserMistake` and `arkaudit.output.output_rows.OutputUnwritable`.
    """
    unknown = [name for name in formats if name not in TABLE_FORMATS]
    if unknown:
        raise UserMistake(f"formats of a report on a dataset are {', '.join(TABLE_FORMATS)}, not {unknown[0]}")
    if out is not None:
        check_out(out, formats)
    with open_dataset(folder) as dataset:
        count(dataset)
        [summary] = frames_of(sums.SUMMARY, dataset)
        naans = pd.concat(frames_of(overviews.NAANS, dataset))
        if out is not None:
            with staging_folder(out) as scratch:
                for table, name in product(DATASET_REPORT, formats):
                    write_table(scratch, name, table, frames_of(table, dataset))
        is_whole = has_all_citations(dataset)
    headings = {"arks": "ARKs", "citations": language.gettext("citations"), "documents": language.gettext("documents")}
    console = Console()
    with whole(console):
        cited = cited_sentence(dict(rows_of(summary[["measure", "value"]])), language)
        console.print(cited, highlight=False, markup=False)
        console.print(naan_table(naans, headings, _MOST_SHOWN, language))
    if out is not None:
        if not is_whole:
            say(f"more than {MOST_CITATIONS:,} mentions: citations has only the doubtful ones; the dataset has all")
        say(place_sentence(out, language))
