"""Observations and documents as rows of the store, and observations out of them."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from sqlalchemy import Row

from crawler.observations import ChainEnd, DocumentRecord, Hop, Observation, PageFacts, Question, Rendering, TlsResult
from extractors.ark import Ark

_FACTS_FIELDS = tuple(each.name for each in fields(PageFacts))


def document_values(run_id: int, document: DocumentRecord) -> dict[str, Any]:
    """The row of a document."""
    return {
        "run_id": run_id,
        "url": document.url,
        "found_on": document.found_on,
        "fetched_at": document.fetched_at,
        "outcome": document.outcome.value,
        "status": document.status,
        "final_url": document.final_url,
        "media_type": document.media_type,
        "title": document.title,
        "body_bytes": document.body_bytes,
        "body_sha256": document.body_sha256,
        "hops": [hop.json for hop in document.hops],
    }


def ark_values(ark: Ark) -> dict[str, Any]:
    """The row of an ARK."""
    return {
        "ark": str(ark),
        "naan": ark.naan,
        "shoulder": ark.shoulder,
        "name": ark.name,
        "qualifier": ark.qualifier,
    }


def observation_values(run_id: int, ark_id: int, seen: Observation) -> dict[str, Any]:
    """The row of an observation."""
    return {
        "run_id": run_id,
        "ark_id": ark_id,
        "request_url": seen.request_url,
        "question": seen.question.value,
        "attempt": seen.attempt,
        "asked_url": seen.asked_url,
        "at": seen.at,
        "chain_end": seen.end.value,
        "detail": seen.detail,
        "status": seen.status,
        "final_url": seen.final_url,
        "hop_count": max(len(seen.hops) - 1, 0),
        "hops": [hop.json for hop in seen.hops],
        "media_type": seen.media_type,
        "title": seen.title,
        "text": seen.text,
        "body_bytes": seen.body_bytes,
        "body_sha256": seen.body_sha256,
        "body_complete": seen.body_complete,
        "record": seen.record,
        "similarity": seen.similarity,
        "facts": _facts_json(seen.facts),
        "remarks": list(seen.remarks),
        "rendering": None if seen.rendering is None else seen.rendering.json,
    }


def _facts_json(facts: PageFacts) -> dict[str, Any]:
    # `dataclasses.asdict` copies all of it deeply; the kernel's values stand under the name that they have had always.
    fields = {name: getattr(facts, name) for name in _FACTS_FIELDS}
    values = dict(fields.pop("kernel_values"))
    return {**fields, "arks": [list(named) for named in facts.arks], "told": values}


def _facts(fields: dict[str, Any]) -> PageFacts:
    kept = {name: value for name, value in fields.items() if name != "told"}
    arks = tuple((ark, place) for ark, place in fields.get("arks", ()))
    headings = tuple(fields.get("headings", ()))
    return PageFacts(**{**kept, "arks": arks, "headings": headings, "kernel_values": fields.get("told", {})})


def tls_result_in(row: Row[Any]) -> TlsResult:
    """Return what a row tells of a certificate."""
    return TlsResult(row.host, row.port, row.trusted, row.reason, row.at, row.means)


def observation_in(row: Row[Any]) -> Observation:
    """The observation that is in a row, with its ARK."""
    return Observation(
        ark=Ark(row.naan, row.name, row.qualifier),
        request_url=row.request_url,
        question=Question(row.question),
        asked_url=row.asked_url,
        hops=tuple(Hop(**hop) for hop in row.hops),
        end=ChainEnd(row.chain_end),
        detail=row.detail,
        attempt=row.attempt,
        media_type=row.media_type,
        title=row.title,
        text=row.text,
        body_bytes=row.body_bytes,
        body_sha256=row.body_sha256,
        body_complete=row.body_complete,
        record=row.record,
        similarity=row.similarity,
        facts=_facts(row.facts),
        remarks=tuple(row.remarks),
        rendering=None if row.rendering is None else _rendering(row.rendering),
    )


def _rendering(fields: dict[str, Any]) -> Rendering:
    requests, lacking = tuple(Hop(**hop) for hop in fields["requests"]), tuple(fields["lacking"])
    return Rendering(**{**fields, "requests": requests, "lacking": lacking})
