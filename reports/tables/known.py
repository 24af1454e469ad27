"""Known problems of a report, and where they are."""

from __future__ import annotations

import pandas as pd

from reports.store.frames import Frames
from reports.tables.ark_statuses import is_among
from reports.tables.definitions import PAIR


def with_known(frames: Frames, places: pd.DataFrame) -> pd.DataFrame:
    """Return *places* (ARK, URL, document) with the column `known`: why a problem is known there, else missing."""
    everywhere = frames.known[frames.known["document"].isna()].drop(columns="document")
    single = frames.known[frames.known["document"].notna()].rename(columns={"known": "known_here"})
    rows = places.merge(everywhere, on=PAIR, how="left").merge(single, on=[*PAIR, "document"], how="left")
    rows = rows.set_axis(places.index)
    return rows.assign(known=rows["known"].fillna(rows["known_here"])).drop(columns="known_here")


def without_known(frames: Frames, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows whose ARK and URL are not a known problem in all documents that cite them."""
    return rows[~is_among(rows, known_pairs(frames))]


def known_pairs(frames: Frames) -> pd.DataFrame:
    """Return the pairs of ARK and URL whose problem is known in general, or in every citing document, with the reason."""
    single = frames.known[frames.known["document"].notna()]
    cited = frames.mentions[[*PAIR, "document"]].drop_duplicates().merge(single[PAIR].drop_duplicates(), on=PAIR)
    here = cited.merge(single, on=[*PAIR, "document"], how="left")
    is_everywhere = here["known"].notna().groupby([here[name] for name in PAIR]).transform("all")
    every = here[is_everywhere.astype("bool")].drop_duplicates(PAIR)
    return pd.concat([frames.known[frames.known["document"].isna()], every])[[*PAIR, "known"]]
