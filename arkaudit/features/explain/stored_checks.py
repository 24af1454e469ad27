"""Explain the last checks of an ARK from their stored requests and answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, or_, select

from arkaudit.features.explain.explanation import RunObservations, explanation
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
from crawler.model.registry import load_registry
from crawler.store.database import ARK_PARTS, ark_of, observation_of, record_of
from extractors.model.ark import Ark
from reports.languages import ENGLISH
from reports.store.store_reading import read_store


def last_checks(store: Path, ark: Ark) -> list[dict[str, Any]]:
    """Return the last verdict on *ark* at each of its request URLs, as rows of `arkaudit check` with explanations.

    Raises `crawler.store.StoreUnopenable` and `StoreDamaged`.
    """
    advice_by_url = _advice_by_url(store, ark)
    return read_store(store, lambda connection: list(_explained_rows(connection, ark, advice_by_url)))


def _advice_by_url(store: Path, ark: Ark) -> dict[str, list[str]]:
    """Return what a report on *store* says about the failures of *ark*, in sentences, by the URL that was requested.

    These are the cause, what to do, who can repair it, and the right citation if it is known.
    """
    from reports.page.cards import card_macros
    from reports.store.frames import load_frames
    from reports.tables.actions import causes_of

    words = card_macros(ENGLISH)
    advice_by_url = {}
    for url, (cause, failure) in causes_of(load_frames(store, registry=load_registry()), str(ark)).items():
        advice_by_url[url] = [
            f"The cause: {words.name(cause)}.",
            f"What to do: {words.advice(cause)}",
            f"Who can repair it: {words.responsible(cause)}.",
        ]
        if failure["should_be"]:
            advice_by_url[url].append(f"Cite instead: {failure['should_be']} ({failure['because']}).")
    return advice_by_url


def _explained_rows(
    connection: Connection, ark: Ark, advice_by_url: Mapping[str, Sequence[str]]
) -> Iterator[dict[str, Any]]:
    """Yield the last verdict on *ark* at each URL as a row, with its explanation."""
    verdict_columns, observation_columns, memento_columns = schema.verdict.c, schema.observation.c, schema.memento.c
    query = (
        select(schema.verdict, *ARK_PARTS)
        .join_from(schema.verdict, schema.ark)
        .where(schema.ark.c.ark == str(ark), verdict_columns.verdict_id.in_(select(schema.latest.c.verdict_id)))
        .order_by(verdict_columns.verdict_id)
    )
    for row in connection.execute(query):
        observation_query = select(schema.observation, *ARK_PARTS).join_from(schema.observation, schema.ark)
        is_reason = or_(
            observation_columns.request_url == row.request_url, observation_columns.asked_url.in_(row.rests_on)
        )
        observation_rows = connection.execute(
            observation_query.where(observation_columns.run_id == row.run_id, is_reason).order_by(
                observation_columns.observation_id
            )
        )
        observations = list(map(observation_of, observation_rows))
        verdict = verdict_of(row, observations)
        memento_query = select(schema.memento, *ARK_PARTS).join_from(schema.memento, schema.ark)
        memento_row = connection.execute(
            memento_query.where(
                memento_columns.ark_id == row.ark_id, memento_columns.request_url == row.request_url
            ).order_by(memento_columns.at.desc())
        ).first()
        memento = None if memento_row is None else record_of(MementoRecord, memento_row, ark=ark_of(memento_row))
        reason_observations = RunObservations(observations).reasons_of(verdict)
        yield verdict_row(row.request_url, verdict, memento) | {
            "explanation": explanation(verdict, reason_observations, memento, advice_by_url.get(row.request_url, ()))
        }


def verdict_of(row: Any, observations: list[Observation]) -> Verdict:
    """Return the verdict in a *row* of `crawler.model.schema.verdict` with `ARK_PARTS`.

    *observations* are those of the same run at the same request URL, and those on which the verdict rests.
    """
    own_observations = [
        observation
        for observation in observations
        if observation.request_url == row.request_url and observation.question in ACCESS
    ]
    hop_lists = [observation.hops for observation in own_observations if observation.final_url == row.final_url] or [
        observation.hops for observation in own_observations
    ]
    intended_json = row.did_you_mean
    return Verdict(
        ark_of(row),
        row.request_url,
        ServiceVerdict(ObjectOutcome(row.object), tuple(row.object_evidence)),
        ServiceVerdict(MetadataOutcome(row.metadata), tuple(row.metadata_evidence), row.metadata_parsed),
        ServiceVerdict(CommitmentOutcome(row.commitment), tuple(row.commitment_evidence), row.commitment_parsed),
        final_url=row.final_url,
        hops=hop_lists[-1] if hop_lists else (),
        requests=row.request_count,
        remarks=tuple(row.remarks),
        rests_on=tuple(row.rests_on),
        did_you_mean=intended_json
        and IntendedArk(Ark.parse(intended_json["ark"]), intended_json["url"], tuple(intended_json["evidence"])),
        naan_policy=row.naan_policy,
    )
