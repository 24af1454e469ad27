"""Every table of a report, in its order. Each is defined once, beside the function that makes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pandas as pd

from reports import comparing, listings, overviews, persistence, places, politeness, services
from reports import spelling_tables as spelling
from reports import summary as sums
from reports.definitions import COUNT, SHARE, Column, TableDefinition, rows_of
from reports.frames import Frames
from reports.freed_memory import give_back
from reports.listings import ARKS
from reports.remediation import actions, corrections, inventory, known, pairs
from reports.remediation import written_forms as mending

__all__ = ["ARKS", "COUNT", "SHARE", "TABLES", "Column", "TableDefinition", "rows_of", "tables_of"]


def tables_of(frames: Frames) -> Mapping[str, pd.DataFrame]:
    """Every table of one run, by name, in the order of `TABLES`."""
    made = {}
    for table in TABLES:
        made[table.name] = table.function(frames)
        give_back()
    return made


TABLES: Final = (
    sums.SUMMARY,
    comparing.CHANGES,
    actions.CAUSES,
    known.KNOWN_PROBLEMS,
    inventory.INVENTORY,
    inventory.EXTRA,
    sums.SERVICE_TABLE,
    services.LEVEL_TABLE,
    services.INFO_ANSWERS,
    services.PERMANENCE,
    overviews.SHARED_NAAN_TABLE,
    overviews.NAANS,
    places.SHOULDERS,
    overviews.RESOLVERS,
    places.LANDING_HOSTS,
    spelling.SPELLING_TABLE,
    overviews.DOCUMENTS,
    places.SECTIONS,
    inventory.COLLECTIONS,
    mending.REPAIRS,
    mending.JOINS,
    mending.CHECK_FAILURES,
    mending.UNFIT,
    pairs.DUPLICATES,
    pairs.CONTAINERS,
    politeness.HOSTS,
    politeness.LEFT_OUT,
    listings.FINDINGS,
    actions.FAILURES,
    corrections.CORRECTIONS,
    corrections.TARGETS,
    ARKS,
    listings.CITATIONS,
    listings.REQUESTS,
    *persistence.OVER_TIME,
)
