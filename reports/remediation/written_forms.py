"""The table of repairs, and the words by which a citation is an example."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import pandas as pd

from reports.ark_statuses import FAMILY_COLUMNS, families
from reports.definitions import (
    CITATIONS_COLUMN,
    COUNT,
    DOCUMENTS_COLUMN,
    TEXT,
    URL,
    Column,
    TableDefinition,
)
from reports.frames import Frames
from reports.typed_columns import JOINT

_EXAMPLE: Final = re.compile(
    r"\b(?:e\.g\.|for example|examples?|sample|placeholder|dummy|documentation|tutorial|handbook|manual|how[- ]?to"
    r"|par exemple|exemples?|beispiele?|zum beispiel|z\. ?b\.|ejemplos?|por ejemplo|esempi|esempio|voorbeeld(?:en)?"
    r"|bijvoorbeeld|test(?:ing|s)?|demo)\b",
    re.IGNORECASE,
)


def repairs(frames: Frames) -> pd.DataFrame:
    """One row per kind of repair; ordered by places, the most first, then by kind."""
    mended = frames.mentions[frames.mentions["repairs"].fillna("").ne("")]
    mended = mended.merge(
        frames.verdicts[["ark_id", "request_url", "object"]], on=["ark_id", "request_url"], how="left"
    )
    mended = mended.sort_values(["document", "ordinal"])
    each = mended.assign(repair=mended["repairs"].str.split(JOINT), family=families(mended["object"])).explode("repair")
    each = each.assign(**{column: each["family"].eq(family) for family, column in FAMILY_COLUMNS.items()})
    table = each.groupby("repair", as_index=False).agg(
        places=("mention_id", "nunique"),
        citations=("citation_id", "nunique"),
        documents=("document_id", "nunique"),
        **{column: (column, "sum") for column in FAMILY_COLUMNS.values()},
        as_written=("as_written", "first"),
        repaired=("repaired", "first"),
        document=("document", "first"),
    )
    ordered = table.sort_values(["places", "repair"], ascending=[False, True], ignore_index=True)
    return REPAIRS.shaped(ordered)


def example_sign(texts: Iterable[str | None]) -> str | None:
    """The word by which *texts* around a citation say that it is an example; none when nothing says so.

    >>> example_sign(["Suppose, as the handbooks do, that for example ark:12345/x6np1wh8k is yours."])
    'for example'
    >>> example_sign(["The deed is kept as ark:12345/x6np1wh8k.", None]) is None
    True
    """
    found = (_EXAMPLE.search(text) for text in texts if isinstance(text, str))
    return next((sign[0].lower() for sign in found if sign), None)


REPAIRS: Final = TableDefinition(
    "repairs",
    "Repairs",
    "One row per kind of repair that was made to citations; a citation with several counts at each.",
    repairs,
    (
        Column("repair", TEXT, "what was repaired"),
        Column("places", COUNT, "places that were repaired in this way", "places"),
        CITATIONS_COLUMN,
        DOCUMENTS_COLUMN,
        Column("works", COUNT, "places whose ARK works at the URL that is asked for it", "places"),
        Column("fails", COUNT, "places whose ARK fails there", "places"),
        Column("unreachable", COUNT, "places whose ARK gave no answer there today", "places"),
        Column("not_judged", COUNT, "places whose ARK was not judged", "places"),
        Column("as_written", TEXT, "one of them as written in its document"),
        Column("repaired", TEXT, "the same, whole again"),
        Column("document", URL, "document that contains it"),
    ),
)
