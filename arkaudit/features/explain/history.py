"""The history of one ARK: its citations, the result of each check, its events and its status."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, func, select

from crawler.history.run_times import moment_of_check
from crawler.model import schema
from crawler.model.observations import ACCESS, FAMILY_OF, Family
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
from reports.store.store_reading import read_store

#: The characters of a spark line, by family: a block, and ASCII for terminals without blocks.
SPARKS = {
    Family.WORKS: ("█", "#"),
    Family.UNREACHABLE: ("▄", "-"),
    Family.FAILS: ("▁", "_"),
    Family.NOT_JUDGED: ("·", "."),
}


def load_ark_history(store: Path, ark: Ark) -> dict[str, Any] | None:
    """Return the history of *ark* as JSON values, or None if the store does not hold it.

    `citations` are the documents that cite it, or once cited it. `urls` are its URLs, each with its status, `checks` and
    `events` in order, and a `spark` of one ASCII character per check, the oldest first.
    Raises `crawler.store.StoreUnopenable`.
    """
    return read_store(store, lambda connection: _history_of(connection, ark))


def _history_of(connection: Connection, ark: Ark) -> dict[str, Any] | None:
    """Return the history of an ARK as `load_ark_history` does."""
    ark_id = connection.scalar(select(schema.ark.c.ark_id).where(schema.ark.c.ark == str(ark)))
    if ark_id is None:
        return None
    status = [latest.c[name] for name in ("request_url", "state", "since", "reason", "gone_at")]
    statuses = connection.execute(select(*status).where(latest.c.ark_id == ark_id).order_by(latest.c.latest_id))
    checks, events = defaultdict(list), defaultdict(list)
    for url, check in _checks(connection, ark_id):
        checks[url].append(check)
    happened = select(event.c.request_url, event.c.at, event.c.event, event.c.detail).where(event.c.ark_id == ark_id)
    for url, at, kind, detail in connection.execute(happened.order_by(event.c.at, event.c.event_id)):
        events[url].append({"at": at, "event": kind, "detail": detail})
    urls = [
        {
            **at_url,
            "checks": checks[at_url.request_url],
            "events": events[at_url.request_url],
            "spark": "".join(SPARKS[FAMILY_OF[check["object"]]][1] for check in checks[at_url.request_url]),
        }
        for at_url in statuses.mappings()
    ]
    return {"ark": str(ark), "citations": list(_citations(connection, ark_id)), "urls": urls}


def _citations(connection: Connection, ark_id: int) -> Iterator[dict[str, Any]]:
    """Yield the documents that cite the ARK, in the order of their first citation, as they were last read."""
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
        yield {
            "document": url,
            "first_at": rows[0].fetched_at,
            "last_at": last[0].fetched_at,
            "citations": len({row.citation for row in last}),
            "request_urls": list(urls),
        }


def _checks(connection: Connection, ark_id: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the verdicts on the ARK with the URL of each, in the order of the runs.

    `words` is the reason for the outcome, and `state` the status after this check, empty before it is noted.
    """
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
            {
                "run_id": row.run_id,
                "at": moment_of_check(answer, row),
                "object": row.object,
                "status": answer.status if answer else None,
                "final_url": row.final_url,
                "words": row.object_evidence[0] if row.object_evidence else "",
                "metadata": row.metadata,
                "commitment": row.commitment,
                "is_suspect": bool(row.is_suspect),
                "state": row.state or "",
            },
        )
