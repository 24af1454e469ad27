"""An institution's list of its ARKs, read from a CSV file, and the checks of these ARKs in a store."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from sqlalchemy import Connection, func, select

from crawler.model.observations import ObjectOutcome
from crawler.model.schema import ark, document, mention, run, verdict
from extractors.model.ark import Ark
from extractors.model.errors import UserMistake
from extractors.model.normalize import NotAnArk
from extractors.model.urls import split_url
from reports.store.csv_lines import csv_lines, read_text
from reports.store.run_queries import start_of
from reports.store.selections import load, select_columns
from reports.store.typed_columns import INTEGER, TEXT, Dtype, frame_of

#: The largest inventory that is read: several million ARKs.
_MOST_BYTES = 2**29
_WORDS = re.compile(r"[\s_-]+")
#: The columns by their accepted names; names with an underscore in front are those of EZID.
COLUMNS = {
    "ark": "ark",
    "_id": "ark",
    "_target": "expected_url",
    "expected_url": "expected_url",
    "url": "expected_url",
    "target": "expected_url",
    "title": "title",
    "collection": "collection",
}
#: The values kept of each line.
DTYPES: Mapping[str, Dtype] = {
    "line": INTEGER,
    **dict.fromkeys(("ark", "naan", "expected_url", "title", "collection"), TEXT),
}


def read_inventory(path: Path) -> pd.DataFrame:
    """Return one row per line of the inventory at *path*, in its order; each ARK occurs once.

    The first line names the columns. Only ``ark`` is required, and columns outside `COLUMNS` are ignored. The delimiter
    is the comma, semicolon or tab that occurs most often in the first line. Raises `UserMistake`
    with the first bad line.
    """
    rows: dict[str, tuple[Any, ...]] = {}
    problems: list[str] = []
    names: list[str | None] | None = None
    for line_number, cells in csv_lines(read_text(path, _MOST_BYTES), path):
        if names is None:
            names = _names(cells, f"{path}:{line_number}: ")
            continue
        try:
            row = _row(line_number, cells, names)
            if row[1] in rows:
                raise ValueError(f"{row[1]} is already on line {rows[row[1]][0]}")
        except ValueError as error:
            problems.append(f"{path}:{line_number}: {error}")
        else:
            rows[row[1]] = row
    if names is None:
        raise UserMistake(f"{path}:1: has no line that names the columns: ark, expected_url …")
    if problems:
        more_words = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise UserMistake(problems[0] + more_words)
    return frame_of(DTYPES, [*rows.values()])


def _names(cells: list[str], message_start: str) -> list[str | None]:
    """Return the name of each column in `COLUMNS`, or None, for the *cells* of the first line.

    Raises `UserMistake`, which begins with *message_start*, for a missing `ark` or a repeated column.
    """
    names = [
        COLUMNS.get(cell.strip().lower()) or COLUMNS.get(_WORDS.sub("_", cell.lower()).strip("_")) for cell in cells
    ]
    named = [name for name in names if name]
    if "ark" not in named:
        raise UserMistake(
            f"{message_start}no column is named ark; the first line names the columns: ark, expected_url …"
        )
    repeated_name = next((name for name in named if named.count(name) > 1), None)
    if repeated_name:
        raise UserMistake(f"{message_start}two columns are the {repeated_name}")
    return names


def _row(line_number: int, cells: list[str], names: list[str | None]) -> tuple[Any, ...]:
    """Return the values of a line in the order of `DTYPES`. Raises ValueError with the problem of the line."""
    if len(cells) > len(names) and any(cell.strip() for cell in cells[len(names) :]):
        raise ValueError(f"has {len(cells)} cells, and there are {len(names)} columns")
    by_name = {name: cell.strip() for name, cell in zip(names, cells, strict=False) if name}
    as_written = by_name.get("ark", "")
    try:
        ark = Ark.parse(as_written)
    except NotAnArk:
        raise ValueError(f"not an ARK: {as_written!r}") from None
    expected_url = by_name.get("expected_url") or None
    if expected_url and not _is_web(expected_url):
        raise ValueError(f"not an http or https URL: {expected_url!r}")
    return (
        line_number,
        str(ark),
        ark.naan,
        expected_url,
        by_name.get("title") or None,
        by_name.get("collection") or None,
    )


def _is_web(url: str) -> bool:
    parts = split_url(url)
    return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0


# The checks of the ARKs of an inventory, up to one run.

_CHECKS = select_columns(verdict, "request_url", "object", "final_url", ark=ark.c.ark, checked_at=run.c.started_at)


def with_checks(connection: Connection, inventory: pd.DataFrame, run_id: int) -> pd.DataFrame:
    """Return one row per ARK of *inventory* and requested URL, with the last check there up to *run_id*.

    An ARK without a check, or with skipped ones only, has one row without URL. `is_cited`: a document has cited the ARK
    by then. `is_chosen` is True.
    """
    # One JSON text, because it may have any length.
    listed_arks = func.json_each(json.dumps(inventory["ark"].tolist())).table_valued("value")
    is_listed_and_in_time = ark.c.ark.in_(select(listed_arks.c.value)) & (run.c.started_at <= start_of(run_id))
    citing_query = select(ark.c.ark).select_from(mention.join(ark).join(document).join(run))
    cited_arks = connection.scalars(citing_query.where(is_listed_and_in_time).distinct()).all()
    was_sent = verdict.c.object != ObjectOutcome.SKIPPED.value
    check_order = (run.c.started_at, verdict.c.verdict_id)
    checks = load(
        connection, _CHECKS, is_listed_and_in_time, was_sent, of=verdict.join(ark).join(run), order=check_order
    )
    last_checks = checks.drop_duplicates(["ark", "request_url"], keep="last").sort_values(["ark", "request_url"])
    rows = inventory.merge(last_checks, on="ark", how="left")
    return rows.assign(is_cited=rows["ark"].isin(cited_arks), is_chosen=True)
