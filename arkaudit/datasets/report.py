"""Do what `arkaudit report --dataset` does: count what a dataset cites, show it in brief, write its tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from arkaudit.datasets.connection import OpenDataset, count, open_dataset
from arkaudit.datasets.report_tables import DATASET_REPORT, MOST_CITATIONS, NAANS, SUMMARY, has_all_citations
from arkaudit.exits import say
from arkaudit.options import cores
from arkaudit.output_rows import whole
from crawler.model.registry import cache_folder
from crawler.model.registry import load as load_registry
from extractors.model.errors import UserMistake
from reports.exports import check_out, write_files
from reports.formats.comma_separated import csv_path, csv_pieces
from reports.formats.parquet import parquet_path, parquet_pieces
from reports.formats.report import Files
from reports.languages import ENGLISH, Language
from reports.languages.display import escaped
from reports.store.frames import registered_names
from reports.tables.definitions import COUNT, rows_of
from reports.tables.summary import cited_sentence
from reports.terminal import place_sentence

# A report on a dataset as files: one a table, written piece by piece, all of them or none.


#: The formats that a report on a dataset can have.
DATASET_FORMATS = ("csv", "parquet")


def write_dataset_report(
    dataset: OpenDataset, registered: pd.DataFrame, out: Path, formats: Sequence[str]
) -> list[Path]:
    """Put the tables about a dataset that has been counted into the folder *out*, and return where they are.

    Raises `reports.exports.ReportUnwritable` and `arkaudit.datasets.connection.DatasetUnreadable`.
    """
    return write_files(out, _contents(dataset, registered, formats))


def _contents(dataset: OpenDataset, registered: pd.DataFrame, formats: Sequence[str]) -> Files:
    for table in DATASET_REPORT:
        definition = table.definition
        if "csv" in formats:
            names = [column.name for column in definition.columns]
            yield csv_path(definition.name), csv_pieces(names, table.frames(dataset, registered))
        if "parquet" in formats:
            yield parquet_path(definition.name), parquet_pieces(definition, table.frames(dataset, registered))


_MOST_SHOWN = 20


def report_on_dataset(folder: str, out: Path | None, formats: Sequence[str], language: Language = ENGLISH) -> None:
    """Print what the dataset at *folder* cites in brief, and write its tables into *out*, where one is named.

    What is printed is in *language*; the tables, which programs read, are in none.

    Raises `UserMistake`, `arkaudit.datasets.connection.DatasetUnreadable`, `reports.exports.ReportUnwritable` and
    `arkaudit.output_rows.OutputUnwritable`.
    """
    unknown = [name for name in formats if name not in DATASET_FORMATS]
    if unknown:
        raise UserMistake(f"a report on a dataset is had as {' or '.join(DATASET_FORMATS)}, not as {unknown[0]}")
    if out is not None:
        check_out(out, formats)
    registered = registered_names(load_registry(cache_folder()))
    with open_dataset(folder, threads=cores()) as dataset:
        count(dataset)
        [summary] = SUMMARY.frames(dataset, registered)
        naans = pd.concat(list(NAANS.frames(dataset, registered)))
        if out is not None:
            write_dataset_report(dataset, registered, out, formats)
        is_whole = has_all_citations(dataset)
    console = Console()
    with whole(console):
        cited = cited_sentence(dict(rows_of(summary[["measure", "value"]])), language)
        console.print(cited, highlight=False, markup=False)
        console.print(_by_organization(naans, language))
    if out is not None:
        if not is_whole:
            say(f"more than {MOST_CITATIONS:,} mentions: citations has the doubtful ones; the dataset has all of them")
        say(place_sentence(out, language))


def _by_organization(naans: pd.DataFrame, language: Language) -> Table:
    """The NAANs with most ARKs, and what is cited of them."""
    title = language.gettext("ARKs by organization")
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("NAAN", no_wrap=True)
    table.add_column(language.gettext("organization"))
    for heading in ("ARKs", language.gettext("citations"), language.gettext("documents")):
        table.add_column(heading, justify="right", no_wrap=True)
    columns = ["naan", "organization", "arks", "citations", "documents"]
    for naan, organization, *counts in rows_of(naans[columns].head(_MOST_SHOWN)):
        words = (Text(escaped(text or ""), no_wrap=True, overflow="ellipsis") for text in (naan, organization))
        table.add_row(*words, *(language.shown(number, COUNT) for number in counts))
    rest = len(naans) - _MOST_SHOWN
    if rest > 0:
        table.caption = language.ngettext("and {number} more", "and {number} more", rest)
    return table
