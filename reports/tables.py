"""Every table of a report, in its order. Each is defined once, beside the function that makes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import pandas as pd

from reports import comparing, listings, overviews, persistence, places, politeness, services
from reports import spelling_tables as spelling
from reports import summary as sums
from reports.definitions import COUNT, SHARE, Column, TableDefinition, rows_of
from reports.frames import Frames
from reports.listings import ARKS
from reports.remediation import actions, corrections, inventory, known, pairs
from reports.remediation import written_forms as mending

__all__ = ["ARKS", "COUNT", "SHARE", "TABLES", "Column", "TableDefinition", "Tables", "rows_of", "tables_of"]


def tables_of(frames: Frames) -> Mapping[str, pd.DataFrame]:
    """Every table of one run, by name, in the order of `TABLES`."""
    return dict(Tables(frames))


class Tables(Mapping[str, pd.DataFrame]):
    """The tables of one run, by name, in the order of `TABLES`: each is made when it is first asked for.

    It is there until somebody lets it go, and is made once more for whoever asks again.
    """

    def __init__(self, frames: Frames) -> None:
        self._frames = frames
        self._made: dict[str, pd.DataFrame] = {}

    def __getitem__(self, name: str) -> pd.DataFrame:
        if name not in self._made:
            self._made[name] = _FUNCTIONS[name](self._frames)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_FUNCTIONS)

    def __len__(self) -> int:
        return len(_FUNCTIONS)

    def let_go(self, name: str) -> None:
        """Forget a table, so that its memory is free."""
        self._made.pop(name, None)


TABLES: Final = (
    sums.SUMMARY,
    comparing.CHANGES,
    actions.CAUSES,
    known.KNOWN_PROBLEMS,
    inventory.INVENTORY,
    services.SERVICES,
    overviews.NAANS,
    places.SHOULDERS,
    overviews.RESOLVERS,
    spelling.SPELLING_TABLE,
    overviews.DOCUMENTS,
    places.COLLECTIONS,
    mending.REPAIRS,
    pairs.GROUPS,
    politeness.HOSTS,
    politeness.LEFT_OUT,
    listings.FINDINGS,
    actions.FAILURES,
    corrections.CORRECTIONS,
    ARKS,
    listings.CITATIONS,
    listings.REQUESTS,
    *persistence.OVER_TIME,
)
_FUNCTIONS: Final = {table.name: table.function for table in TABLES}
