"""Known problems of a report, and where they are."""

from __future__ import annotations

import pandas as pd

from reports.store.frames import Frames
from reports.tables.ark_statuses import is_among
from reports.tables.definitions import PAIR


def with_known(frames: Frames, places: pd.DataFrame) -> pd.DataFrame:
    """Return *places* with the column `known`: the known problem of its ARK, URL and document in words, else missing."""
    known_in_all = frames.known[frames.known["document"].isna()].drop(columns="document")
    known_in_one = frames.known[frames.known["document"].notna()].rename(columns={"known": "known_here"})
    rows = places.merge(known_in_all, on=PAIR, how="left").merge(known_in_one, on=[*PAIR, "document"], how="left")
    rows = rows.set_axis(places.index)
    return rows.assign(known=rows["known"].fillna(rows["known_here"])).drop(columns="known_here")


def without_known(frames: Frames, rows: pd.DataFrame) -> pd.DataFrame:
    """Return *rows* without those about an ARK and URL that are a known problem in every citing document."""
    return rows[~is_among(rows, known_pairs(frames))]


def known_pairs(frames: Frames) -> pd.DataFrame:
    """Return one row per ARK and URL that the list of known problems accepts in every citing document.

    The column `known` has the accepting row in words.
    """
    known_in_one = frames.known[frames.known["document"].notna()]
    cited_pairs = (
        frames.mentions[[*PAIR, "document"]].drop_duplicates().merge(known_in_one[PAIR].drop_duplicates(), on=PAIR)
    )
    citing_documents = cited_pairs.merge(known_in_one, on=[*PAIR, "document"], how="left")
    is_everywhere = (
        citing_documents["known"].notna().groupby([citing_documents[name] for name in PAIR]).transform("all")
    )
    known_in_every = citing_documents[is_everywhere.astype("bool")].drop_duplicates(PAIR)
    return pd.concat([frames.known[frames.known["document"].isna()], known_in_every])[[*PAIR, "known"]]
