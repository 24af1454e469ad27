"""The tables about how ARKs are written: repairs, doubtful joins, check characters, and examples cited in earnest."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import pandas as pd

from extractors.ark import SKIPPED_NAANS
from extractors.checkchar import CheckCharacter
from extractors.naan import SHARED_NAANS
from reports.ark_statuses import FAMILY_COLUMNS, ark_statuses, citation_counts, families
from reports.definitions import (
    ARK,
    CITATIONS_COLUMN,
    COUNT,
    DOCUMENTS_COLUMN,
    NAAN_COLUMN,
    OBJECT_COLUMN,
    TEXT,
    TOKEN,
    TRUTH,
    URL,
    Column,
    TableDefinition,
)
from reports.frames import Frames
from reports.listings import checks_at
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


def joins(frames: Frames) -> pd.DataFrame:
    """One row per place that can be read in more than one way; ordered by how sure the reading is, document, place."""
    doubtful = frames.mentions[frames.mentions["alternatives"].fillna("").ne("") | frames.mentions["decided"].gt(1)]
    rows = doubtful.merge(
        frames.verdicts[["ark_id", "request_url", "object"]], on=["ark_id", "request_url"], how="left"
    ).rename(columns={"repairs": "repaired_by"})
    rows = rows.assign(again=rows["decided"].gt(1))
    ordered = rows.sort_values(["confidence", "document", "ordinal"], ignore_index=True)
    return JOINS.shaped(ordered)


def check_failures(frames: Frames) -> pd.DataFrame:
    """One row per ARK whose check character fails; ordered by citations, the most first, then by ARK."""
    ark_states = ark_statuses(frames)
    check, suggestions = checks_at(frames, ark_states["ark_id"])
    rows = ark_states.assign(suggestions=suggestions)[check.eq(CheckCharacter.FAILS)]
    rows = rows.merge(citation_counts(frames, "ark_id"), on="ark_id", how="left")
    first = frames.mentions.sort_values(["document", "ordinal"]).drop_duplicates("ark_id")
    rows = rows.merge(
        first[["ark_id", "document", "as_written"]].rename(columns={"document": "first_document"}),
        on="ark_id",
        how="left",
    )
    rows = rows.assign(**{name: rows[name].fillna(0) for name in ("citations", "documents")})
    ordered = rows.sort_values(["citations", "ark"], ascending=[False, True], ignore_index=True)
    return CHECK_FAILURES.shaped(ordered)


def unfit(frames: Frames) -> pd.DataFrame:
    """One row per citation of an example or test ARK; ordered as earnest ones first, then by document and place."""
    titles = frames.documents[["document_id", "title"]]
    cited = frames.mentions[frames.mentions["naan"].isin(sorted(SKIPPED_NAANS))].merge(titles, on="document_id")
    contexts = cited.groupby("citation_id")["context"].agg(lambda texts: " ".join(texts.dropna()))
    rows = cited.sort_values(["document", "ordinal"]).drop_duplicates("citation_id")
    reasons = [
        example_sign([context, title, document])
        for context, title, document in zip(
            rows["citation_id"].map(contexts), rows["title"], rows["document"], strict=True
        )
    ]
    rows = rows.assign(
        is_example=pd.array([reason is not None for reason in reasons], dtype="boolean"),
        sign=pd.Series(reasons, dtype="str", index=rows.index),
        purpose=rows["naan"].map({naan: shared.purpose for naan, shared in SHARED_NAANS.items()}),
    )
    ordered = rows.sort_values(["is_example", "document", "ordinal"], ignore_index=True)
    return UNFIT.shaped(ordered)


def example_sign(texts: Iterable[str | None]) -> str | None:
    """The word by which *texts* around a citation say that it is an example; none when nothing says so.

    >>> example_sign(["Suppose, as the handbooks do, that for example ark:12345/x6np1wh8k is yours."])
    'for example'
    >>> example_sign(["The deed is kept as ark:12345/x6np1wh8k.", None]) is None
    True
    """
    found = (_EXAMPLE.search(text) for text in texts if isinstance(text, str))
    return next((sign[0].lower() for sign in found if sign), None)


_DOCUMENT: Final = Column("document", URL, "URL or path of the document")
_PAGE: Final = Column("page", COUNT, "page of a paginated document", "page number from 1")
_PLACE: Final = Column("place", TEXT, "element and attribute, or rectangle on the page in points")
_AS_WRITTEN: Final = Column("as_written", TEXT, "what the document contains there")
_ARK: Final = Column("ark", ARK, "ARK in normal form")

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

JOINS: Final = TableDefinition(
    "joins",
    "Doubtful readings",
    "One row per place that can be read in more than one way, the least sure first: what was decided, and why.",
    joins,
    (
        _DOCUMENT,
        _PAGE,
        _PLACE,
        _AS_WRITTEN,
        _ARK,
        Column("alternatives", TEXT, "ARKs that the other decisions would have given"),
        Column("confidence", TOKEN, "certain, likely or ambiguous"),
        Column("reason", TEXT, "rule that led to the least certain decision"),
        Column("again", TRUTH, "whether it was decided again in the light of all documents, or of what resolvers said"),
        OBJECT_COLUMN,
    ),
)

CHECK_FAILURES: Final = TableDefinition(
    "check_failures",
    "Check characters that fail",
    "One row per ARK whose last character should confirm the others and does not, where names are known to have one.",
    check_failures,
    (
        _ARK,
        NAAN_COLUMN,
        Column("suggestions", TEXT, "ARKs that may have been meant: one character differs, and the check fits"),
        OBJECT_COLUMN,
        CITATIONS_COLUMN,
        DOCUMENTS_COLUMN,
        _AS_WRITTEN,
        Column("first_document", URL, "document with the first citation"),
    ),
)

UNFIT: Final = TableDefinition(
    "unfit",
    "Examples and tests that are cited",
    "One row per citation of an ARK under 12345 or 99999. In documentation that is what they are for; anywhere else "
    "they are unfit for long-term reference. Those without a sign of being an example come first.",
    unfit,
    (
        _DOCUMENT,
        _PAGE,
        _PLACE,
        _AS_WRITTEN,
        _ARK,
        NAAN_COLUMN,
        Column("purpose", TEXT, "what the NAAN is for (draft-kunze-ark-38, table 2)"),
        Column("is_example", TRUTH, "whether the text around, the title or the address says that it is an example"),
        Column("sign", TEXT, "the word that says so; empty when none does"),
    ),
)
