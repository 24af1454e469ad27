"""The numbers that the page shows large, each with the way to the rows that it counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

import pandas as pd

from crawler.observations import DESCRIBED, CommitmentOutcome, Family
from reports.page.shown_tables import records_of


@dataclass(frozen=True, slots=True)
class Tile:
    """A number, and where the rows stand that it counts."""

    number: str
    name: str
    tone: str
    """The family that it has its colour from; empty for none."""
    change: str
    """How it has changed since the run that it is compared with; empty where there is none."""
    href: str


def tiles_of(summary: pd.DataFrame) -> list[Tile]:
    """The tiles of a report. An ARK counts once, so each leads to the rows of just these ARKs."""
    rows = {row["measure"]: row for row in records_of(summary)}
    return [
        Tile(
            f"{rows[measure]['value']:,}",
            one if rows[measure]["value"] == 1 else many,
            tone,
            _change(rows[measure]),
            to,
        )
        for measure, one, many, tone, to in _TILES
    ]


def _change(row: Mapping[str, Any]) -> str:
    change = row["since_change"] if row["since_change"] is not None else row["change"]
    if change is None:
        return ""
    return "as before" if change == 0 else f"{change:+,} since then".replace("-", "−")


def _arks(column: str, *values: str) -> str:
    return f"#arks?{urlencode([(column, value) for value in values])}"


#: The measures: each with its name for one and for many, its family, and where it leads.
_TILES: Final = (
    ("citations", "citation", "citations", "", "#citations"),
    ("ARKs", "ARK", "ARKs", "", "#arks"),
    *(
        (f"ARKs: {family}", one, many, family.value, _arks("ark_family", family))
        for family, one, many in (
            (Family.WORKS, "works", "work"),
            (Family.FAILS, "fails", "fail"),
            (Family.UNREACHABLE, "no answer today", "no answer today"),
            (Family.NOT_JUDGED, "not judged", "not judged"),
        )
    ),
    ("ARKs described", "described", "described", "", _arks("metadata", *sorted(DESCRIBED))),
    ("ARKs with a stated commitment", "committed", "committed", "", _arks("commitment", CommitmentOutcome.STATED)),
)
