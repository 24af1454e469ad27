"""Every table of a report, in its order. Each is defined once, next to the function that makes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pandas as pd

from reports.store.frames import Frames
from reports.tables import (
    actions,
    inventory,
    known,
    listings,
    overviews,
    pairs,
    persistence,
    politeness,
    services,
    summary,
)
from reports.tables.definitions import COUNT, SHARE, Column, TableDefinition, rows_of
from reports.tables.listings import ARKS

__all__ = [
    "ARKS",
    "COUNT",
    "SHARE",
    "TABLES",
    "Column",
    "TableDefinition",
    "Tables",
    "rows_of",
    "tables_of",
]


def tables_of(frames: Frames) -> Mapping[str, pd.DataFrame]:
    """Every table of one run, by name, in the order of `TABLES`."""
    return dict(Tables(frames))


class Tables(Mapping[str, pd.DataFrame]):
    """The tables of one run, by name, in the order of `TABLES`: each is made when it is first asked for.

    It stays until `let_go` is called, and is made again when it is asked for again.
    """

    def __init__(self, frames: Frames) -> None:
        self._frames = frames
        self._made: dict[str, pd.DataFrame] = {}

    def __getitem__(self, name: str) -> pd.DataFrame:
        if name not in self._made:
            self._made[name] = _BY_NAME[name].of(self._frames)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_BY_NAME)

    def __len__(self) -> int:
        return len(_BY_NAME)

    def let_go(self, name: str) -> None:
        """Forget a table, so that its memory is free."""
        self._made.pop(name, None)


TABLES = (
    summary.SUMMARY,
    known.CHANGES,
    actions.CAUSES,
    known.KNOWN_PROBLEMS,
    inventory.INVENTORY,
    services.SERVICES,
    overviews.NAANS,
    overviews.SHOULDERS,
    overviews.RESOLVERS,
    services.SPELLING_TABLE,
    overviews.DOCUMENTS,
    overviews.COLLECTIONS,
    listings.REPAIRS,
    pairs.GROUPS,
    politeness.HOSTS,
    politeness.LEFT_OUT,
    listings.FINDINGS,
    actions.FAILURES,
    actions.CORRECTIONS,
    ARKS,
    listings.CITATIONS,
    listings.REQUESTS,
    *persistence.OVER_TIME,
)
_BY_NAME = {table.name: table for table in TABLES}
