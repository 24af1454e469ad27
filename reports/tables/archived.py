"""Archived copies: what an archive has of ARKs that fail. They change no verdict, and repair nothing."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import pandas as pd

from crawler.answers.mementos import MementoOutcome
from crawler.model.observations import Family
from reports.store.frames import Frames
from reports.tables.ark_statuses import families
from reports.tables.definitions import MOMENT, TEXT, URL, Column

_PAIR: Final = ["ark_id", "request_url"]


@lru_cache(maxsize=2)
def archived_copies(frames: Frames) -> pd.DataFrame:
    """One row per ARK and URL that fails, or gives no answer, and about which an archive was asked; in no stated order.

    What works again needs no copy, whatever was asked before.
    """
    ailing = frames.verdicts[families(frames.verdicts["object"]).isin([Family.FAILS, Family.UNREACHABLE])]
    rows = frames.mementos.merge(ailing[_PAIR], on=_PAIR)
    has_one = rows["outcome"].eq(MementoOutcome.CAPTURED)
    return pd.DataFrame(
        {
            "ark_id": rows["ark_id"],
            "request_url": rows["request_url"],
            "archived_copy": rows["memento_url"].where(has_one),
            "archived_at": rows["memento_at"].where(has_one),
            "archive": rows["reason"],
        }
    )


ARCHIVED_COPY: Final = Column(
    "archived_copy", URL, "address of the last good capture of what it led to, in the archive that was asked"
)
ARCHIVED_AT: Final = Column("archived_at", MOMENT, "moment of that capture", "UTC")
ARCHIVE: Final = Column(
    "archive", TEXT, "what the archive answered: a capture, none, or nothing; empty where it was not asked"
)
