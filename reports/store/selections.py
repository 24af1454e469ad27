"""The columns of the store that each frame holds, with their dtypes: those of the stored types, unless stated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import pandas as pd
from sqlalchemy import JSON, Boolean, ColumnElement, Connection, Float, Integer, Select, Text, func, select, type_coerce
from sqlalchemy.types import TypeEngine

from crawler.answers.mementos import MementoOutcome
from crawler.history.ark_status import ArkState, EventKind
from crawler.model import schema
from crawler.model.observations import (
    ChainEnd,
    CommitmentOutcome,
    DocumentOutcome,
    MetadataOutcome,
    ObjectOutcome,
    Question,
)
from crawler.model.schema import (
    ark,
    assessment,
    document,
    event,
    finding,
    host_traffic,
    latest,
    memento,
    mention,
    observation,
    pause,
    run,
    tls_probe,
    verdict,
)
from extractors.model.documents import Role
from extractors.wraps.rules import Confidence
from reports.store.typed_columns import (
    INTEGER,
    MOMENT,
    PARSED,
    REAL,
    TEXT,
    TRUTH,
    WORD,
    Columns,
    Dtype,
    frame_from,
    vocabulary,
)

#: What a frame holds: an expression of the store, and the dtype that it gets.
Selection: TypeAlias = Mapping[ColumnElement[Any], Dtype]


def selected(*columns: ColumnElement[Any], **dtypes: Dtype) -> Selection:
    """Return *columns* with their dtypes: those that are given by name, or else what follows from the stored type."""
    return {column: dtypes.get(column.name, _dtype_of(column)) for column in columns}


def _dtype_of(column: ColumnElement[Any]) -> Dtype:
    dtypes = (dtype for kind, dtype in _BY_STORED_TYPE.items() if isinstance(column.type, kind))
    return next(dtypes, TEXT)


_BY_STORED_TYPE: Mapping[type[TypeEngine[Any]], Dtype] = {
    Integer: INTEGER,
    Float: REAL,
    Boolean: TRUTH,
    schema.Moment: MOMENT,
}

ROLE = vocabulary(Role)
#: The least sure first.
CONFIDENCE = pd.CategoricalDtype([confidence.token for confidence in sorted(Confidence)], ordered=True)
QUESTION = vocabulary(Question)
CHAIN_END = vocabulary(ChainEnd)
DOCUMENT = vocabulary(DocumentOutcome, ObjectOutcome)
OBJECT = vocabulary(ObjectOutcome)
METADATA = vocabulary(MetadataOutcome)
COMMITMENT = vocabulary(CommitmentOutcome)
STATE = vocabulary(ArkState)
EVENT = vocabulary(EventKind)
MEMENTO = vocabulary(MementoOutcome)

RUN: Selection = selected(
    run.c.run_id,
    run.c.command,
    run.c.started_at,
    run.c.ended_at,
    run.c.state,
    run.c.version,
    run.c.resolver,
    run.c.user_agent,
    run.c.seeds,
    run.c.seeds.label("seed_list"),
    run.c.plan,
    assessment.c.is_suspect,
    assessment.c.reason.label("suspicion"),
    seed_list=PARSED,
    plan=PARSED,
)
_hop = func.json_each(document.c.hops).table_valued("value").alias("hop")
#: How many hops of a document went out.
_SENT_HOPS = (
    select(func.count())
    .select_from(_hop)
    .where(func.coalesce(func.json_extract(_hop.c.value, "$.sent"), 1) == 1)
    .correlate(document)
    .scalar_subquery()
)
DOCUMENTS: Selection = selected(
    document.c.document_id,
    document.c.url,
    document.c.found_on,
    document.c.fetched_at,
    document.c.outcome,
    document.c.status,
    document.c.final_url,
    document.c.media_type,
    document.c.title,
    document.c.body_bytes,
    _SENT_HOPS.label("request_count"),
    outcome=DOCUMENT,
    request_count=INTEGER,
)
FINDINGS: Selection = selected(
    finding.c.finding_id,
    finding.c.document_id,
    finding.c.subject,
    finding.c.kind,
    finding.c.detail,
)
ARKS: Selection = selected(
    ark.c.ark_id,
    ark.c.ark,
    ark.c.naan,
    ark.c.shoulder,
    ark.c.name,
    ark.c.qualifier,
)
MENTIONS: Selection = selected(
    mention.c.mention_id,
    mention.c.document_id,
    document.c.url.label("document"),
    mention.c.ordinal,
    mention.c.decided,
    mention.c.citation,
    mention.c.ark_id,
    ark.c.ark,
    ark.c.naan,
    mention.c.as_written,
    mention.c.repaired,
    mention.c.request_url,
    mention.c.resolver,
    mention.c.role,
    mention.c.page,
    mention.c.place,
    func.json_extract(mention.c.spans, "$[0][0]").label("offset"),
    mention.c.context,
    mention.c.repairs,
    mention.c.confidence,
    mention.c.reason,
    mention.c.alternatives,
    mention.c.remarks,
    resolver=WORD,
    role=ROLE,
    offset=INTEGER,
    confidence=CONFIDENCE,
    reason=WORD,
)
OBSERVATIONS: Selection = selected(
    observation.c.observation_id,
    observation.c.run_id,
    observation.c.ark_id,
    ark.c.ark,
    observation.c.request_url,
    observation.c.question,
    observation.c.attempt,
    observation.c.asked_url,
    observation.c.at,
    observation.c.chain_end,
    observation.c.status,
    observation.c.final_url,
    observation.c.hop_count,
    observation.c.media_type,
    observation.c.title,
    observation.c.body_bytes,
    observation.c.body_complete,
    observation.c.remarks,
    observation.c.hops,
    question=QUESTION,
    chain_end=CHAIN_END,
    hops=PARSED,
)
#: What is needed of the citations and questions of a run that another is compared with.
COMPARED_MENTIONS: Selection = {
    column: dtype
    for column, dtype in MENTIONS.items()
    if column.name in ("mention_id", "document_id", "citation", "ark_id", "request_url", "repairs", "confidence")
}
COMPARED_OBSERVATIONS: Selection = selected(
    observation.c.observation_id,
    observation.c.run_id,
    observation.c.ark_id,
    observation.c.request_url,
    observation.c.question,
    observation.c.chain_end,
    observation.c.status,
    func.json_array_length(observation.c.hops).label("request_count"),
    question=QUESTION,
    chain_end=CHAIN_END,
    request_count=INTEGER,
)
TLS: Selection = selected(
    tls_probe.c.host,
    tls_probe.c.port,
    tls_probe.c.at,
    tls_probe.c.trusted,
    tls_probe.c.reason,
)
PAUSES: Selection = selected(
    pause.c.pause_id,
    pause.c.host,
    pause.c.asked_s,
    pause.c.is_kept,
)
TRAFFIC: Selection = selected(
    host_traffic.c.host_traffic_id,
    host_traffic.c.host,
    host_traffic.c.requests,
    host_traffic.c.interval_s,
    host_traffic.c.crawl_delay_s,
    host_traffic.c.given_up,
)
VERDICTS: Selection = selected(
    verdict.c.verdict_id,
    verdict.c.run_id,
    run.c.started_at.label("judged_at"),
    verdict.c.ark_id,
    ark.c.ark,
    ark.c.naan,
    verdict.c.request_url,
    verdict.c.object,
    verdict.c.object_evidence,
    verdict.c.metadata,
    verdict.c.metadata_evidence,
    verdict.c.commitment,
    verdict.c.commitment_evidence,
    verdict.c.commitment_parsed,
    verdict.c.final_url,
    verdict.c.hop_count,
    verdict.c.request_count,
    verdict.c.rests_on,
    verdict.c.did_you_mean,
    verdict.c.naan_policy,
    verdict.c.remarks,
    object=OBJECT,
    metadata=METADATA,
    commitment=COMMITMENT,
    commitment_parsed=PARSED,
    did_you_mean=PARSED,
    naan_policy=PARSED,
)

#: Runs that came before the one that is reported, their verdicts about the same ARKs, and the last good ones.
HISTORY: Selection = selected(
    verdict.c.verdict_id,
    verdict.c.run_id,
    verdict.c.ark_id,
    verdict.c.object,
    object=OBJECT,
)
RUNS: Selection = {run.c.run_id: INTEGER, run.c.started_at: MOMENT}
LAST_GOOD: Selection = selected(
    verdict.c.verdict_id,
    verdict.c.ark_id,
    run.c.started_at.label("good_at"),
    verdict.c.final_url.label("good_url"),
)
#: What an archive has of ARKs that fail.
MEMENTOS: Selection = selected(
    memento.c.memento_id,
    memento.c.ark_id,
    memento.c.request_url,
    memento.c.at,
    memento.c.outcome,
    memento.c.reason,
    memento.c.memento_url,
    memento.c.memento_at,
    outcome=MEMENTO,
)
LATEST: Selection = selected(
    latest.c.latest_id,
    latest.c.ark_id,
    latest.c.request_url,
    latest.c.state,
    latest.c.since,
    latest.c.checked_at,
    latest.c.reason,
    latest.c.strikes,
    latest.c.worked_at,
    state=STATE,
)
EVENTS: Selection = selected(
    event.c.event_id,
    event.c.run_id,
    event.c.ark_id,
    ark.c.ark,
    ark.c.naan,
    event.c.request_url,
    event.c.at,
    event.c.event,
    event.c.detail,
    event=EVENT,
)
#: What is shown of a NAAN or shoulder of the registry.
REGISTERED: Mapping[str, Dtype] = {
    "naan": TEXT,
    "shoulder": TEXT,
    "organization": TEXT,
    "contact": TEXT,
    "target": TEXT,
}

#: What was decided of an ARK at a URL, and in one document.
TRIAGE: Mapping[str, Dtype] = {
    "ark_id": INTEGER,
    "request_url": TEXT,
    "document": TEXT,
    "treatment": TEXT,
    "decision": TEXT,
    "why": TEXT,
    "until": TEXT,
    "assignee": TEXT,
    "is_problem": TRUTH,
    "is_silent": TRUTH,
}


def query_of(selection: Selection) -> Select[Any]:
    """Return the query for a selection, ordered by its first column: the order in which the store got its rows.

    JSON is left as the text that it is in the store: most of it is the same few texts over and over.
    """
    columns = (type_coerce(column, Text).label(column.name) if is_json(column) else column for column in selection)
    return select(*columns).order_by(next(iter(selection)))


def dtypes_of(selection: Selection) -> Mapping[str, Dtype]:
    """Return the dtypes of a selection by the names of its columns."""
    return {column.name: dtype for column, dtype in selection.items()}


def load(connection: Connection, selection: Selection, query: Select[Any]) -> pd.DataFrame:
    """Return what a query for a selection gives, as a frame."""
    return frame_from(connection, dtypes_of(selection), query, json_columns_of(selection))


def empty_columns(selection: Selection) -> Columns:
    """Return columns for a selection, without rows."""
    return Columns(dtypes_of(selection), json_columns_of(selection))


def json_columns_of(selection: Selection) -> frozenset[str]:
    """Return the names of the columns that come as JSON."""
    return frozenset(column.name for column in selection if is_json(column))


def is_json(column: ColumnElement[Any]) -> bool:
    """Return whether a column of the store holds JSON."""
    return isinstance(column.type, JSON)
