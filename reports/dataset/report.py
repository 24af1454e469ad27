"""A report on a dataset as files: one a table, written piece by piece, all of them or none."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pandas as pd

from reports.dataset.connection import OpenDataset
from reports.dataset.tables import DATASET_REPORT
from reports.exports import write_files
from reports.formats.comma_separated import csv_path, csv_pieces
from reports.formats.parquet import parquet_path, parquet_pieces
from reports.formats.report import Files

#: The formats that a report on a dataset can have.
DATASET_FORMATS: Final = ("csv", "parquet")


def write_dataset_report(
    dataset: OpenDataset, registered: pd.DataFrame, out: Path, formats: Sequence[str]
) -> list[Path]:
    """Put the tables about a dataset that has been counted into the folder *out*, and return where they are.

    Raises `reports.exports.ReportUnwritable` and `reports.dataset.connection.DatasetUnreadable`.
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
