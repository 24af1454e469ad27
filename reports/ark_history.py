"""The history of one ARK: its citations, the result of each check, its events and its status."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, func, select

from crawler.history.run_times import moment_of_check
from crawler.model import schema
from crawler.model.observations import ACCESS, FAMILY_OF, Family, ObjectOutcome
from crawler.model.schema import (
    assessment,
    document,
    event,
    is_current_mention,
    latest,
    mention,
    observation,
    run,
    verdict,
)
from extractors.model.ark import Ark
from reports.store.frames import read_store

#: The characters of a spark line, by family: a block, and ASCII for terminals without blocks.
SPARKS = {
    Family.WORKS: ("█", "#"),
    Family.UNREACHABLE: ("▄", "-"),
    Family.FAILS: ("▁", "_"),
    Family.NOT_JUDGED: ("·", "."),
}


@dataclass(frozen=True, slots=True)
class CitingDocument:
    """A document that cites the ARK, or once cited it."""

    document: str
    first_at: str
    last_at: str
    citations: int
    """The number of citations when the document was last read."""
    request_urls: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ArkCheck:
    """One check of the ARK at one URL."""

    run_id: int
    at: str
    object: str
    status: int | None
    final_url: str | None
    words: str
    """The reason for the outcome, in one sentence."""
    metadata: str
    commitment: str
    is_suspect: bool
    state: str
    """The status after this check; empty before it is noted."""


@dataclass(frozen=True, slots=True)
class ArkEvent:
    """A status change."""

    at: str
    event: str
    detail: str


@dataclass(frozen=True, slots=True)
class UrlHistory:
    """The history of the ARK at one of its URLs."""

    request_url: str
    state: str
    since: str
    reason: str
    gone_at: str | None
    checks: tuple[ArkCheck, ...]
    events: tuple[ArkEvent, ...]

    def spark(self, *, is_unicode: bool = True) -> str:
        """Return one character per check, oldest first."""
        return "".join(SPARKS[FAMILY_OF[ObjectOutcome(check.object)]][not is_unicode] for check in self.checks)


@dataclass(frozen=True, slots=True)
class ArkHistory:
    """Everything that a store holds about one ARK."""

    ark: str
    citations: tuple[CitingDocument, ...]
    urls: tuple[UrlHistory, ...]


def load_ark_history(store: Path, ark: Ark) -> ArkHistory | None:
    """Return the history of *ark*, or None if the store does not hold it.

    Raises `crawler.store.StoreUnopenable`.
    """
    return read_store(store, lambda connection: _history_of(connection, ark))


def _history_of(connection: Connection, ark: Ark) -> ArkHistory | None:
    ark_id = connection.scalar(select(schema.ark.c.ark_id).where(schema.ark.c.ark == str(ark)))
    if ark_id is None:
        return None
    kept = [latest.c[field.name] for field in fields(UrlHistory) if field.name in latest.c]
    statuses = connection.execute(select(*kept).where(latest.c.ark_id == ark_id).order_by(latest.c.latest_id)).all()
    checks = list(_checks(connection, ark_id))
    happened = select(event.c.request_url, event.c.at, event.c.event, event.c.detail).where(event.c.ark_id == ark_id)
    events = [
        (url, ArkEvent(*row)) for url, *row in connection.execute(happened.order_by(event.c.at, event.c.event_id))
    ]
    urls = (
        UrlHistory(
            **status._mapping,
            checks=tuple(check for url, check in checks if url == status.request_url),
            events=tuple(change for url, change in events if url == status.request_url),
        )
        for status in statuses
    )
    return ArkHistory(str(ark), tuple(_citations(connection, ark_id)), tuple(urls))


def _citations(connection: Connection, ark_id: int) -> Iterator[CitingDocument]:
    """Yield the documents that cite the ARK, in the order of their first citation."""
    query = (
        select(document.c.url, document.c.fetched_at, document.c.document_id, mention.c.citation, mention.c.request_url)
        .join_from(mention, document)
        .where(mention.c.ark_id == ark_id, is_current_mention)
        .order_by(document.c.fetched_at, document.c.document_id, mention.c.ordinal)
    )
    rows_by_document: dict[str, list[Any]] = {}
    for row in connection.execute(query):
        rows_by_document.setdefault(row.url, []).append(row)
    for url, rows in rows_by_document.items():
        last = [row for row in rows if row.document_id == rows[-1].document_id]
        urls = dict.fromkeys(row.request_url for row in rows if row.request_url)
        yield CitingDocument(
            url, rows[0].fetched_at, last[0].fetched_at, len({row.citation for row in last}), tuple(urls)
        )


def _checks(connection: Connection, ark_id: int) -> Iterator[tuple[str, ArkCheck]]:
    """Yield the verdicts on the ARK with the URL of each, in the order of the runs."""
    answers = connection.execute(
        select(observation)
        .where(observation.c.ark_id == ark_id, observation.c.question.in_([str(question) for question in ACCESS]))
        .order_by(observation.c.observation_id)
    ).all()
    at_url = {(row.run_id, row.request_url): row for row in answers}
    at_end = {(row.run_id, row.request_url, row.final_url): row for row in answers}
    query = (
        select(
            verdict, run.c.started_at, run.c.ended_at, func.coalesce(assessment.c.is_suspect, False).label("is_suspect")
        )
        .join_from(verdict, run)
        .join(assessment, assessment.c.run_id == verdict.c.run_id, isouter=True)
        .where(verdict.c.ark_id == ark_id)
        .order_by(run.c.started_at, run.c.run_id, verdict.c.verdict_id)
    )
    for row in connection.execute(query):
        key = (row.run_id, row.request_url)
        answer = at_end.get((*key, row.final_url)) or at_url.get(key)
        yield (
            row.request_url,
            ArkCheck(
                row.run_id,
                moment_of_check(answer, row),
                row.object,
                answer.status if answer else None,
                row.final_url,
                row.object_evidence[0] if row.object_evidence else "",
                row.metadata,
                row.commitment,
                bool(row.is_suspect),
                row.state or "",
            ),
        )
