"""The tables of what to act on: failures by cause, so that one fix repairs many, and every place that cites one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

import pandas as pd

from reports.definitions import (
    ARK,
    ARKS_COLUMN,
    COUNT,
    DOCUMENTS_COLUMN,
    MOMENT,
    NAAN_COLUMN,
    TEXT,
    TOKEN,
    URL,
    Column,
    TableDefinition,
    rows_of,
)
from reports.distinct import bases_of, tallied
from reports.frames import Frames
from reports.remediation.archived import ARCHIVED_AT, ARCHIVED_COPY, archived_copies
from reports.remediation.causes import ADVICE, Cause
from reports.remediation.failing import diagnosed_failures
from reports.remediation.known import raised

_GROUP: Final = ["cause", "fault", "host", "pattern"]


def causes(frames: Frames) -> pd.DataFrame:
    """One row a cause at one host and pattern; ordered by citations, then ARKs, the greatest first, then by cause."""
    rows, contacts = _placed(frames), _contacts(frames)
    table = rows.groupby(_GROUP).agg(
        number=("number", "first"),
        citations=("citation_id", "nunique"),
        documents=("document_id", "nunique"),
        arks=("ark_id", "nunique"),
        example_ark=("ark", "first"),
        example_url=("request_url", "first"),
        example_document=("document", "first"),
        should_be=("should_be", "first"),
        because=("because", "first"),
        evidence=("object_evidence", "first"),
    )
    naans = rows[[*_GROUP, "naan"]].drop_duplicates().groupby(_GROUP)["naan"].agg(sorted)
    names = rows[[*_GROUP, "assignee"]].dropna(subset="assignee").drop_duplicates().sort_values("assignee")
    table = table.assign(
        outcomes=tallied(rows, _GROUP, "object", most=3),
        naan=naans,
        assignees=names.groupby(_GROUP)["assignee"].agg(", ".join),
    ).reset_index()
    table = table.assign(
        advice=table["cause"].map(lambda cause: ADVICE[Cause(cause)]).astype("str"),
        contact=table["naan"].map(lambda naans: _contact(contacts, naans)).astype("str"),
        naans=table["naan"].map(lambda naans: ", ".join(naans)).astype("str"),
    )
    return CAUSES.shaped(table.sort_values("number", ignore_index=True))


def failures(frames: Frames) -> pd.DataFrame:
    """One row a place that cites an ARK not reached as cited; ordered by cause, base, ARK and place."""
    return FAILURES.shaped(_placed(frames))


@lru_cache(maxsize=2)
def _placed(frames: Frames) -> pd.DataFrame:
    """One row a failing ARK, URL and place of citation, with the number of its cause; in order."""
    failing = diagnosed_failures(frames)
    placed = failing.merge(frames.mentions.drop(columns=["ark", "naan"]), on=["ark_id", "request_url"], how="left")
    placed = placed.merge(archived_copies(frames), on=["ark_id", "request_url"], how="left")
    placed = raised(frames, placed)
    groups = placed.groupby(_GROUP)
    sizes = groups.agg(citations=("citation_id", "nunique"), arks=("ark_id", "nunique")).reset_index()
    sizes = sizes.sort_values(["citations", "arks", *_GROUP], ascending=[False, False, *(True for _ in _GROUP)])
    sizes = sizes.assign(number=pd.array(range(1, len(sizes) + 1), dtype="Int64"))
    placed = placed.merge(sizes[[*_GROUP, "number"]], on=_GROUP)
    placed = placed.assign(
        base=bases_of(placed["ark"]),
        contact=placed["naan"].map(_contacts(frames)).astype("str"),
    )
    return placed.sort_values(["number", "base", "ark", "document", "ordinal", "request_url"], ignore_index=True)


def _contact(contacts: Mapping[str, str], naans: Iterable[str]) -> str | None:
    """Whom the registry names for *naans*; three at most."""
    named = [contacts[naan] for naan in sorted(naans) if naan in contacts]
    return "; ".join(named[:3]) or None


def _contacts(frames: Frames) -> Mapping[str, str]:
    """Whom the registry names for each NAAN, with the address that it gives."""
    known = frames.registered[frames.registered["shoulder"].eq("")]
    return {
        naan: f"{organization} ({contact})" if contact else organization
        for naan, organization, contact in rows_of(known[["naan", "organization", "contact"]])
        if organization
    }


_NUMBER: Final = Column(
    "number", COUNT, "number of the cause in causes.csv, the one with most citations first", "number from 1"
)
_CAUSE: Final = Column("cause", TOKEN, "why it fails, as far as this run shows")
_FAULT: Final = Column("fault", TOKEN, "with whom a repair begins: citation, resolver, landing-host or nobody yet")
_HOST: Final = Column("host", TEXT, "host that the repair is about")
_SHOULD_BE: Final = Column(
    "should_be", TEXT, "what the document should say instead: an ARK or URL; empty where nothing better is known"
)
_BECAUSE: Final = Column("because", TEXT, "how that is known", is_ours=True)
_CONTACT: Final = Column(
    "contact", TEXT, "whom the copy of the NAAN registry names for the NAANs, with the address that it gives"
)

CAUSES: Final = TableDefinition(
    "causes",
    "To act on, by cause",
    "One row a cause at one host, for addresses of one pattern: what one fix repairs. Those with most citations "
    "come first. ARKs that give no answer are among them, with the advice to ask again: an outage is not link rot.",
    causes,
    (
        _NUMBER,
        _CAUSE,
        _FAULT,
        _HOST,
        Column(
            "pattern", TEXT, "what its failures have in common: an address with {name} for the name, a host, or an ARK"
        ),
        Column("citations", COUNT, "citations that are affected; a link and its text are one", "citations"),
        DOCUMENTS_COLUMN,
        ARKS_COLUMN,
        Column("naans", TEXT, "NAANs of these ARKs"),
        Column("outcomes", TEXT, "object outcomes by number of places, the most frequent first; three at most"),
        Column("advice", TEXT, "what to do", is_ours=True),
        Column("assignees", TEXT, "who looks after these ARKs, as was decided; empty for nobody"),
        _CONTACT,
        Column("example_ark", ARK, "one of the ARKs"),
        Column("example_url", URL, "URL that was asked for it"),
        Column("example_document", URL, "document that cites it"),
        _SHOULD_BE,
        _BECAUSE,
        Column("evidence", TEXT, "why its object outcome is what it is"),
    ),
    is_listing=True,
)

FAILURES: Final = TableDefinition(
    "failures",
    "Every place to fix",
    "One row a place that cites an ARK which was not reached as it is cited; those with one cause stand together, "
    "and the parts of one object under its base. An ARK that was checked without a document has no place.",
    failures,
    (
        _NUMBER,
        _CAUSE,
        _FAULT,
        Column("base", ARK, "ARK of the whole object: the ARK without its qualifier"),
        Column("ark", ARK, "ARK in normal form"),
        NAAN_COLUMN,
        Column("document", URL, "URL or path of the document"),
        Column("page", COUNT, "page of a paginated document", "page number from 1"),
        Column("place", TEXT, "element and attribute, or rectangle on the page in points"),
        Column("offset", COUNT, "where it begins in the reader's block of text", "code points from 0"),
        Column("role", TOKEN, "text, link-target, metadata, link-annotation or structured-data"),
        Column("as_written", TEXT, "what stands in the document"),
        Column("context", TEXT, "text around it"),
        _SHOULD_BE,
        _BECAUSE,
        Column("last_good_url", URL, "where the ARK led when it last worked, in an earlier run; empty if it never did"),
        Column("last_good_at", MOMENT, "beginning of that run", "UTC", varies=True),
        ARCHIVED_COPY,
        ARCHIVED_AT,
        Column("request_url", URL, "URL that was asked for the object"),
        Column("object", TOKEN, "outcome of the object service at this URL"),
        _HOST,
        _CONTACT,
        Column("assignee", TEXT, "who looks after it, as was decided; empty for nobody"),
        Column("triage", TEXT, "what was decided of it that no longer holds, and why not; empty for nothing"),
        Column("object_evidence", TEXT, "why the object outcome is what it is"),
    ),
    is_listing=True,
)
