"""The table for editors: what they should write."""

from __future__ import annotations

from typing import Any, Final

import pandas as pd

from crawler.model.observations import Family
from extractors.model.documents import Role
from reports.remediation.causes import Cause
from reports.remediation.correcting import Place, correction
from reports.store.frames import Frames
from reports.store.typed_columns import JOINT
from reports.tables.archived import ARCHIVED_AT, ARCHIVED_COPY, archived_copies
from reports.tables.ark_statuses import families
from reports.tables.definitions import ARK, COUNT, TEXT, TOKEN, URL, Column, TableDefinition, rows_of
from reports.tables.failing import diagnosed_failures
from reports.tables.known import with_decisions

_PAIR: Final = ["ark_id", "request_url"]
_OF_PLACE: Final = [
    *("as_written", "repaired", "role", "repairs", "confidence", "resolver", "family", "cause", "should_be"),
    *("did_you_mean", "archived_copy"),
]


def corrections(frames: Frames) -> pd.DataFrame:
    """One row per place that should be written otherwise; ordered by document, then by place in it."""
    failing = diagnosed_failures(frames)[[*_PAIR, "cause", "should_be"]]
    verdicts = frames.verdicts[[*_PAIR, "object", "did_you_mean"]]
    rows = frames.mentions.merge(verdicts, on=_PAIR, how="left").merge(failing, on=_PAIR, how="left")
    rows = rows.merge(archived_copies(frames), on=_PAIR, how="left")
    rows = rows[rows["repairs"].fillna("").ne("") | rows["did_you_mean"].notna() | rows["cause"].notna()]
    rows = with_decisions(frames, rows)
    rows = rows[rows["treatment"].isna()]
    rows = rows.assign(family=families(rows["object"]))
    proposals = [correction(_place(dict(zip(_OF_PLACE, row, strict=True)))) for row in rows_of(rows[_OF_PLACE])]
    fixes = [
        (correction_.correct, correction_.why.value, correction_.because) if correction_ else (None, None, None)
        for correction_ in proposals
    ]
    columns = ["correct", "why", "because"]
    shown = pd.DataFrame(fixes, columns=columns, index=rows.index).astype("str")
    rows = rows.drop(columns="why").assign(**{name: shown[name] for name in columns})
    ordered = rows[rows["why"].notna()].sort_values(["document", "ordinal", "request_url"], ignore_index=True)
    return CORRECTIONS.shaped(ordered)


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


CORRECTIONS: Final = TableDefinition(
    "corrections",
    "Corrections for editors",
    "One row per place that should be written otherwise, in the order of the documents; only what is sure enough: "
    "what works once it is repaired, what was meant and works, and what works in another form or at another "
    "resolver. Where nothing works and an archive has a copy, the copy may be cited next to the ARK.",
    corrections,
    (
        Column("document", URL, "URL or path of the document"),
        Column("page", COUNT, "page of a paginated document", "page number from 1"),
        Column("place", TEXT, "element and attribute, or rectangle on the page in points"),
        Column("role", TOKEN, "text, link-target, metadata, link-annotation or structured-data"),
        Column("as_written", TEXT, "what the document contains there"),
        Column("correct", TEXT, "what should be written there; empty where only an archived copy is known"),
        Column("why", TOKEN, "did-you-mean, other-form, other-resolver, repaired or archived-copy"),
        Column("because", TEXT, "why, in words", is_ours=True),
        Column("context", TEXT, "text around it"),
        Column("ark", ARK, "ARK in normal form, as it was read"),
        ARCHIVED_COPY,
        ARCHIVED_AT,
        Column("assignee", TEXT, "who looks after it, as was decided; empty for no one"),
    ),
    is_listing=True,
)
