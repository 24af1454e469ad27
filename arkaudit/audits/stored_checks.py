"""Explain the last checks of an ARK from their stored requests and answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, or_, select

from arkaudit.output.explaining import RunObservations, explanation
from arkaudit.output.output_rows import verdict_row
from crawler.answers.mementos import MementoRecord
from crawler.model import schema
from crawler.model.observations import (
    ACCESS,
    CommitmentOutcome,
    IntendedArk,
    MetadataOutcome,
    ObjectOutcome,
    Observation,
    ServiceVerdict,
    Verdict,
)
from crawler.store.database import ARK_PARTS, ark_of, observation_of, record_of
from extractors.model.ark import Ark
from reports.store.store_reading import read_store


def last_checks(store: Path, ark: Ark) -> list[dict[str, Any]]:
    """Return the row of `arkaudit check`, with its explanation, for the last verdict on *ark* at each of its URLs.

    Raises `crawler.store.StoreUnopenable` and `StoreDamaged`.
    """
    return read_store(store, lambda connection: list(_explained_rows(connection, ark)))


def _explained_rows(connection: Connection, ark: Ark) -> Iterator[dict[str, Any]]:
    verdict, observation, memento = schema.verdict.c, schema.observation.c, schema.memento.c
    query = (
        select(schema.verdict, *ARK_PARTS)
        .join_from(schema.verdict, schema.ark)
        .where(schema.ark.c.ark == str(ark), verdict.verdict_id.in_(select(schema.latest.c.verdict_id)))
        .order_by(verdict.verdict_id)
    )
    for row in connection.execute(query):
        asked = select(schema.observation, *ARK_PARTS).join_from(schema.observation, schema.ark)
        is_reason = or_(observation.request_url == row.request_url, observation.asked_url.in_(row.rests_on))
        rows = connection.execute(
            asked.where(observation.run_id == row.run_id, is_reason).order_by(observation.observation_id)
        )
        observations = list(map(observation_of, rows))
        judged = verdict_of(row, observations)
        captures = select(schema.memento, *ARK_PARTS).join_from(schema.memento, schema.ark)
        captured = connection.execute(
            captures.where(memento.ark_id == row.ark_id, memento.request_url == row.request_url).order_by(
                memento.at.desc()
            )
        ).first()
        copy = None if captured is None else record_of(MementoRecord, captured, ark=ark_of(captured))
        reasons = RunObservations(observations).reasons_of(judged)
        yield verdict_row(row.request_url, judged, copy) | {"explanation": explanation(judged, reasons, copy)}


def verdict_of(row: Any, observations: list[Observation]) -> Verdict:
    """Return the verdict in a *row* with the parts of its ARK; *observations* are those of its run at its URL."""
    answers = [answer for answer in observations if answer.request_url == row.request_url and answer.question in ACCESS]
    chains = [answer.hops for answer in answers if answer.final_url == row.final_url] or [
        answer.hops for answer in answers
    ]
    intended = row.did_you_mean
    return Verdict(
        ark_of(row),
        row.request_url,
        ServiceVerdict(ObjectOutcome(row.object), tuple(row.object_evidence)),
        ServiceVerdict(MetadataOutcome(row.metadata), tuple(row.metadata_evidence), row.metadata_parsed),
        ServiceVerdict(CommitmentOutcome(row.commitment), tuple(row.commitment_evidence), row.commitment_parsed),
        final_url=row.final_url,
        hops=chains[-1] if chains else (),
        requests=row.request_count,
        remarks=tuple(row.remarks),
        rests_on=tuple(row.rests_on),
        did_you_mean=intended and IntendedArk(Ark.parse(intended["ark"]), intended["url"], tuple(intended["evidence"])),
        naan_policy=row.naan_policy,
    )
