"""The numbers that the page shows large, each with the way to the rows that it counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

import pandas as pd

from crawler.model.observations import DESCRIBED, CommitmentOutcome, Family
from reports.definitions import records_of
from reports.languages import Forms, Language


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


def tiles_of(summary: pd.DataFrame, language: Language) -> list[Tile]:
    """The tiles of a report. An ARK counts once, so each leads to the rows of just these ARKs."""
    rows = {row["measure"]: row for row in records_of(summary)}
    return [
        Tile(
            language.number(rows[measure]["value"]),
            language.ngettext(name.one, name.many, rows[measure]["value"]),
            tone,
            _change(rows[measure], language),
            to,
        )
        for measure, name, tone, to in _TILES
    ]


def _change(row: Mapping[str, Any], language: Language) -> str:
    change = row["since_change"] if row["since_change"] is not None else row["change"]
    if change is None:
        return ""
    if change == 0:
        return language.gettext("as before")
    sign = "+" if change > 0 else "\N{MINUS SIGN}"
    return language.gettext("{change} since then", change=f"{sign}{language.number(abs(change))}")


def _arks(column: str, *values: str) -> str:
    return f"#arks?{urlencode([(column, value) for value in values])}"


#: The measures: each with its name for one and for many, its family, and where it leads.
_TILES: Final = (
    ("citations", Forms("citation", "citations"), "", "#citations"),
    ("ARKs", Forms("ARK", "ARKs"), "", "#arks"),
    *(
        (f"ARKs: {family}", name, family.value, _arks("ark_family", family))
        for family, name in (
            (Family.WORKS, Forms("works", "work")),
            (Family.FAILS, Forms("fails", "fail")),
            (Family.UNREACHABLE, Forms("no answer today", "no answer today")),
            (Family.NOT_JUDGED, Forms("not judged", "not judged")),
        )
    ),
    ("ARKs described", Forms("described", "described"), "", _arks("metadata", *sorted(DESCRIBED))),
    (
        "ARKs with a stated commitment",
        Forms("committed", "committed"),
        "",
        _arks("commitment", CommitmentOutcome.STATED),
    ),
)
