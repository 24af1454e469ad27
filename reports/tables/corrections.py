"""The table for editors: what they should write."""

from __future__ import annotations

from typing import Any

import pandas as pd

from crawler.model.observations import Family
from extractors.model.documents import Role
from reports.remediation.causes import Cause
from reports.remediation.correcting import Place, correction
from reports.store.frames import Frames
from reports.store.typed_columns import JOINT
from reports.tables.ark_statuses import archived_copies, families, judged_mentions
from reports.tables.definitions import (
    ARCHIVED_COLUMNS,
    ARK,
    ASSIGNEE_COLUMN,
    DOCUMENT_COLUMN,
    PAIR,
    PLACE_COLUMNS,
    TEXT,
    TOKEN,
    Column,
    TableDefinition,
    records_of,
)
from reports.tables.failing import diagnosed_failures
from reports.tables.known import with_decisions

_OF_PLACE = [
    *("as_written", "repaired", "role", "repairs", "confidence", "resolver", "family", "cause", "should_be"),
    *("did_you_mean", "archived_copy"),
]


def corrections(frames: Frames) -> pd.DataFrame:
    """One row per place that should be written otherwise."""
    failing = diagnosed_failures(frames)[[*PAIR, "cause", "should_be"]]
    rows = judged_mentions(frames, "object", "did_you_mean")
    rows = rows.merge(failing, on=PAIR, how="left").merge(archived_copies(frames), on=PAIR, how="left")
    rows = rows[rows["repairs"].fillna("").ne("") | rows["did_you_mean"].notna() | rows["cause"].notna()]
    rows = with_decisions(frames, rows)
    rows = rows[rows["treatment"].isna()]
    rows = rows.assign(family=families(rows["object"]))
    fixes = [correction(_place(row)) for row in records_of(rows[_OF_PLACE])]
    columns: dict[str, Any] = {
        name: [getattr(fix, name, None) for fix in fixes] for name in ("correct", "why", "because")
    }
    rows = rows.assign(**columns)
    return rows[rows["why"].notna()]


def _place(row: dict[str, Any]) -> Place:
    meant = row["did_you_mean"] if isinstance(row["did_you_mean"], dict) else {}
    return Place(
        as_written=row["as_written"],
        repaired=row["repaired"],
        role=Role(row["role"]),
        repairs=tuple(row["repairs"].split(JOINT)) if row["repairs"] else (),
        is_ambiguous=row["confidence"] == "ambiguous",
        has_resolver=bool(row["resolver"]) or "://" in row["repaired"],
        family=Family(row["family"]),
        cause=Cause(row["cause"]) if row["cause"] else None,
        works_at=row["should_be"] if row["should_be"] and "://" in row["should_be"] else None,
        meant_ark=meant.get("ark"),
        meant_url=meant.get("url"),
        archived_copy=row["archived_copy"],
    )


CORRECTIONS = TableDefinition(
    "corrections",
    "Corrections for editors",
    "One row per place that should be written otherwise, in the order of the documents; only what is sure enough: "
    "what works once it is repaired, what was meant and works, and what works in another form or at another "
    "resolver. Where nothing works and an archive has a copy, the copy may be cited next to the ARK.",
    corrections,
    (
        DOCUMENT_COLUMN,
        *PLACE_COLUMNS,
        Column("correct", TEXT, "what should be written there; empty where only an archived copy is known"),
        Column("why", TOKEN, "did-you-mean, other-form, other-resolver, repaired or archived-copy"),
        Column("because", TEXT, "why, in words", is_ours=True),
        Column("context", TEXT, "text around it"),
        Column("ark", ARK, "ARK in normal form, as it was read"),
        *ARCHIVED_COLUMNS,
        ASSIGNEE_COLUMN,
    ),
    order=("document", "ordinal", "request_url"),
    is_listing=True,
)
