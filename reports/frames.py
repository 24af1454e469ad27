"""The store as typed DataFrames: the only place that opens it for reading and that names dtypes.

Everything is read in one transaction, so that a report made beside a running audit shows one moment of it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd
from sqlalchemy import ColumnElement, Connection, Select, create_engine, func, or_, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from crawler.observations import (
    ChainEnd,
    CommitmentOutcome,
    DocumentOutcome,
    MetadataOutcome,
    ObjectOutcome,
    Question,
)
from crawler.schema import (
    APPLICATION_ID,
    SCHEMA_VERSION,
    ark,
    document,
    finding,
    is_current_mention,
    mention,
    observation,
    run,
    tls_probe,
    verdict,
)
from extractors.documents import Role
from extractors.wraps.wrap import Confidence


class StoreUnreadable(Exception):
    """Raised by `load_frames` for a file that is missing, no store of ours, too new, or without the run."""


@dataclass(frozen=True, slots=True)
class Frames:
    """One run of the store. Frames are shared: a table copies what it changes."""

    run: pd.DataFrame
    """The run itself: one row, or none when the store is empty."""
    documents: pd.DataFrame
    findings: pd.DataFrame
    arks: pd.DataFrame
    """Every ARK that the run mentions, asks about or judges."""
    mentions: pd.DataFrame
    """One row a place that cites an ARK, as decided last; those with one `citation_id` are one citation."""
    observations: pd.DataFrame
    hops: pd.DataFrame
    """One row a hop of an observation."""
    tls: pd.DataFrame
    verdicts: pd.DataFrame


def vocabulary(*enums: type[StrEnum]) -> pd.CategoricalDtype:
    """The dtype of a closed vocabulary: every word, in the order of its enum, or of several in a row."""
    return pd.CategoricalDtype([str(word) for words in enums for word in words], ordered=True)


Dtype: TypeAlias = str | pd.CategoricalDtype
#: What a frame holds: an expression of the store, and the dtype that it gets.
Selection: TypeAlias = Mapping[ColumnElement[Any], Dtype]

TEXT = "str"
INTEGER = "Int64"
REAL = "Float64"
TRUTH = "boolean"
MOMENT = "datetime64[ms, UTC]"
PARSED = "object"
ROLE = vocabulary(Role)
#: The least sure first.
CONFIDENCE = pd.CategoricalDtype([confidence.token for confidence in sorted(Confidence)], ordered=True)
QUESTION = vocabulary(Question)
CHAIN_END = vocabulary(ChainEnd)
DOCUMENT = vocabulary(DocumentOutcome, ObjectOutcome)
OBJECT = vocabulary(ObjectOutcome)
METADATA = vocabulary(MetadataOutcome)
COMMITMENT = vocabulary(CommitmentOutcome)

#: What stands between the parts of a list that is shown as text.
JOINT = "; "

RUN: Selection = {
    run.c.run_id: INTEGER,
    run.c.command: TEXT,
    run.c.started_at: MOMENT,
    run.c.ended_at: MOMENT,
    run.c.state: TEXT,
    run.c.version: TEXT,
    run.c.resolver: TEXT,
    run.c.user_agent: TEXT,
    run.c.seeds: TEXT,
}
_hop = func.json_each(document.c.hops).table_valued("value").alias("hop")
#: How many hops of a document went out.
_SENT_HOPS = (
    select(func.count())
    .select_from(_hop)
    .where(func.coalesce(func.json_extract(_hop.c.value, "$.sent"), 1) == 1)
    .correlate(document)
    .scalar_subquery()
)
DOCUMENTS: Selection = {
    document.c.document_id: INTEGER,
    document.c.url: TEXT,
    document.c.found_on: TEXT,
    document.c.fetched_at: MOMENT,
    document.c.outcome: DOCUMENT,
    document.c.status: INTEGER,
    document.c.final_url: TEXT,
    document.c.media_type: TEXT,
    document.c.title: TEXT,
    document.c.body_bytes: INTEGER,
    _SENT_HOPS.label("request_count"): INTEGER,
}
FINDINGS: Selection = {
    finding.c.finding_id: INTEGER,
    finding.c.document_id: INTEGER,
    finding.c.subject: TEXT,
    finding.c.kind: TEXT,
    finding.c.detail: TEXT,
}
ARKS: Selection = {
    ark.c.ark_id: INTEGER,
    ark.c.ark: TEXT,
    ark.c.naan: TEXT,
    ark.c.shoulder: TEXT,
    ark.c.name: TEXT,
    ark.c.qualifier: TEXT,
}
MENTIONS: Selection = {
    mention.c.mention_id: INTEGER,
    mention.c.document_id: INTEGER,
    document.c.url.label("document"): TEXT,
    mention.c.ordinal: INTEGER,
    mention.c.citation: INTEGER,
    mention.c.ark_id: INTEGER,
    ark.c.ark: TEXT,
    ark.c.naan: TEXT,
    mention.c.as_written: TEXT,
    mention.c.repaired: TEXT,
    mention.c.request_url: TEXT,
    mention.c.role: ROLE,
    mention.c.page: INTEGER,
    mention.c.place: TEXT,
    mention.c.repairs: TEXT,
    mention.c.confidence: CONFIDENCE,
    mention.c.reason: TEXT,
    mention.c.alternatives: TEXT,
    mention.c.remarks: TEXT,
}
OBSERVATIONS: Selection = {
    observation.c.observation_id: INTEGER,
    observation.c.ark_id: INTEGER,
    ark.c.ark: TEXT,
    observation.c.request_url: TEXT,
    observation.c.question: QUESTION,
    observation.c.attempt: INTEGER,
    observation.c.asked_url: TEXT,
    observation.c.at: MOMENT,
    observation.c.chain_end: CHAIN_END,
    observation.c.status: INTEGER,
    observation.c.final_url: TEXT,
    observation.c.hop_count: INTEGER,
    observation.c.media_type: TEXT,
    observation.c.title: TEXT,
    observation.c.body_bytes: INTEGER,
    observation.c.body_complete: TRUTH,
    observation.c.remarks: TEXT,
    observation.c.hops: PARSED,
}
TLS: Selection = {
    tls_probe.c.host: TEXT,
    tls_probe.c.port: INTEGER,
    tls_probe.c.at: MOMENT,
    tls_probe.c.trusted: TRUTH,
    tls_probe.c.reason: TEXT,
}
VERDICTS: Selection = {
    verdict.c.verdict_id: INTEGER,
    verdict.c.ark_id: INTEGER,
    ark.c.ark: TEXT,
    ark.c.naan: TEXT,
    verdict.c.request_url: TEXT,
    verdict.c.object: OBJECT,
    verdict.c.object_evidence: TEXT,
    verdict.c.metadata: METADATA,
    verdict.c.metadata_evidence: TEXT,
    verdict.c.commitment: COMMITMENT,
    verdict.c.commitment_evidence: TEXT,
    verdict.c.commitment_parsed: PARSED,
    verdict.c.final_url: TEXT,
    verdict.c.hop_count: INTEGER,
    verdict.c.request_count: INTEGER,
    verdict.c.remarks: TEXT,
}

#: What a hop repeats of the observation that it belongs to.
HOP_OF: Mapping[str, Dtype] = {
    "observation_id": INTEGER,
    "ark": TEXT,
    "question": QUESTION,
    "attempt": INTEGER,
    "request_url": TEXT,
    "chain_end": CHAIN_END,
}
#: The fields of `crawler.observations.Hop` that are reported, apart from its headers.
HOP: Mapping[str, Dtype] = {
    "url": TEXT,
    "method": TEXT,
    "status": INTEGER,
    "location": TEXT,
    "address": TEXT,
    "elapsed_s": REAL,
    "at": MOMENT,
    "error": TEXT,
    "sent": TRUTH,
}
#: The headers of a hop that are reported, and the columns that they get.
HOP_HEADERS = {"content-type": "content_type", "retry-after": "retry_after", "server": "server"}


def load_frames(store: Path, *, run_id: int | None = None) -> Frames:
    """One run of *store*: the one asked for, or the newest that holds a document or a verdict.

    An empty store, or a run in which nothing has happened yet, gives empty frames of the same dtypes. Nothing is
    written, neither to the store nor beside it. Raises `StoreUnreadable`.
    """
    before = _stamp(store)
    if before is not None:
        try:
            frames = _load(store, run_id, access="mode=ro&immutable=1")
        except StoreUnreadable:
            if _stamp(store) == before:
                raise
        else:
            if _stamp(store) == before:
                return frames
    return _load(store, run_id, access="mode=ro")


def _stamp(store: Path) -> tuple[int, int] | None:
    """What changes when a store at rest is written to; none while somebody may be writing.

    SQLite makes two files beside a store in WAL mode, even to read it, unless it is told that the store can't
    change. We tell it so while nobody writes, look afterwards whether that was true, and else read once more.
    """
    if any(Path(f"{store}{suffix}").exists() for suffix in ("-wal", "-journal")) or not store.is_file():
        return None
    status = store.stat()
    return status.st_mtime_ns, status.st_size


def _load(store: Path, run_id: int | None, *, access: str) -> Frames:
    with _reading(store, access) as connection:
        return _frames(connection, _chosen_run(connection, store, run_id))


@contextmanager
def _reading(store: Path, access: str) -> Iterator[Connection]:
    """A connection that can't write, in one transaction; whatever fails in it becomes `StoreUnreadable`."""
    if not store.is_file():
        raise StoreUnreadable(f"{store}: there is no such file")
    address = f"{store.resolve().as_uri()}?{access}"
    engine = create_engine(
        "sqlite://",
        creator=lambda: sqlite3.connect(address, uri=True, isolation_level=None),
        poolclass=NullPool,
    )
    try:
        with engine.connect() as connection:
            connection.exec_driver_sql("BEGIN")
            _check_format(connection, store)
            yield connection
    except DBAPIError as error:
        raise StoreUnreadable(f"{store}: can't be read as a store of arkaudit: {error.orig}") from error
    except (_UnknownWord, json.JSONDecodeError) as error:
        raise StoreUnreadable(f"{store}: holds what this arkaudit can't read: {error}") from error
    finally:
        engine.dispose()


def _check_format(connection: Connection, store: Path) -> None:
    if connection.exec_driver_sql("PRAGMA application_id").scalar_one() != APPLICATION_ID:
        raise StoreUnreadable(f"{store}: is not a store of arkaudit")
    version = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
    if version > SCHEMA_VERSION:
        raise StoreUnreadable(
            f"{store}: was written by a newer arkaudit (its schema is {version}, ours {SCHEMA_VERSION})"
        )
    if version < SCHEMA_VERSION:
        raise StoreUnreadable(
            f"{store}: was written by an older arkaudit (its schema is {version}, ours {SCHEMA_VERSION})"
        )


def _chosen_run(connection: Connection, store: Path, run_id: int | None) -> int | None:
    """The run to report; none only when the store has no run at all."""
    if run_id is not None:
        if connection.scalar(select(run.c.run_id).where(run.c.run_id == run_id)) is None:
            raise StoreUnreadable(f"{store}: has no run {run_id}")
        return run_id
    newest = select(func.max(run.c.run_id))
    busy = (run.c.run_id.in_(select(table.c.run_id)) for table in (document, verdict))
    found: int | None = connection.scalar(newest.where(or_(*busy)))
    return connection.scalar(newest) if found is None else found


def _with_citations(mentions: pd.DataFrame) -> pd.DataFrame:
    """*mentions* with the key of the citation that each is a place of: that of the first such mention."""
    first = mentions.groupby(["document_id", "citation"])["mention_id"].transform("min")
    return mentions.assign(citation_id=first.astype("Int64"))


def _frames(connection: Connection, run_id: int | None) -> Frames:
    def load(selection: Selection, query: Select[Any]) -> pd.DataFrame:
        return _frame(connection, selection, query)

    cited = select(mention.c.ark_id).join(document).where(document.c.run_id == run_id, is_current_mention)
    touched = [cited, *(select(t.c.ark_id).where(t.c.run_id == run_id) for t in (observation, verdict))]
    observations = load(
        OBSERVATIONS,
        _rows(OBSERVATIONS).join_from(observation, ark).where(observation.c.run_id == run_id),
    )
    return Frames(
        run=load(RUN, _rows(RUN).where(run.c.run_id == run_id)),
        documents=load(DOCUMENTS, _rows(DOCUMENTS).where(document.c.run_id == run_id)),
        findings=load(FINDINGS, _rows(FINDINGS).where(finding.c.run_id == run_id)),
        arks=load(ARKS, _rows(ARKS).where(or_(*(ark.c.ark_id.in_(ids) for ids in touched)))),
        mentions=_with_citations(
            load(
                MENTIONS,
                _rows(MENTIONS)
                .join_from(mention, document)
                .join(ark)
                .where(document.c.run_id == run_id, is_current_mention),
            )
        ),
        observations=observations.drop(columns="hops"),
        hops=_hops(observations),
        tls=load(TLS, _rows(TLS).where(tls_probe.c.run_id == run_id)),
        verdicts=load(VERDICTS, _rows(VERDICTS).join_from(verdict, ark).where(verdict.c.run_id == run_id)),
    )


def _rows(selection: Selection) -> Select[Any]:
    """The query for a selection, ordered by its first column: the order in which the store got its rows."""
    return select(*selection).order_by(next(iter(selection)))


def _frame(connection: Connection, selection: Selection, query: Select[Any]) -> pd.DataFrame:
    rows = connection.execute(query).all()
    return _typed({column.name: dtype for column, dtype in selection.items()}, rows)


def _hops(observations: pd.DataFrame) -> pd.DataFrame:
    rows = [
        (*owner, ordinal, *(hop.get(name) for name in HOP), *_headers(hop))
        for *owner, hops in observations[[*HOP_OF, "hops"]].itertuples(index=False, name=None)
        for ordinal, hop in enumerate(hops, start=1)
    ]
    dtypes = {**HOP_OF, "ordinal": INTEGER, **HOP, **dict.fromkeys(HOP_HEADERS.values(), TEXT)}
    return _typed(dtypes, rows)


def _headers(hop: Mapping[str, Any]) -> Iterator[str | None]:
    """The values of `HOP_HEADERS` in a hop, whatever the case of their names."""
    headers = {name.lower(): value for name, value in (hop.get("headers") or {}).items()}
    return (headers.get(name) for name in HOP_HEADERS)


def _typed(dtypes: Mapping[str, Dtype], rows: Sequence[Sequence[Any]]) -> pd.DataFrame:
    columns: Iterable[Sequence[Any]] = zip(*rows, strict=True) if rows else ((),) * len(dtypes)
    return pd.DataFrame(
        {name: _series(name, values, dtype) for (name, dtype), values in zip(dtypes.items(), columns, strict=True)}
    )


class _UnknownWord(ValueError):
    """Raised by `_series` for a word that is not in the vocabulary of its column."""


def _series(name: str, values: Sequence[Any], dtype: Dtype) -> pd.Series[Any]:
    if isinstance(dtype, pd.CategoricalDtype):
        unknown = set(values) - {*dtype.categories, None}
        if unknown:
            raise _UnknownWord(f"{name} {sorted(unknown)[0]!r}")
        return pd.Series(values, dtype=dtype)
    if dtype == MOMENT:
        moments = pd.to_datetime(pd.Series(values, dtype=TEXT), utc=True, format="ISO8601", errors="coerce")
        return moments.dt.as_unit("ms")
    if dtype == TEXT:
        return pd.Series([joined(value) for value in values], dtype=TEXT)
    return pd.Series(values, dtype=dtype)


def joined(value: Any) -> str | None:
    """A value of the store as text: the parts of a list joined, a structure as JSON, nothing as nothing.

    >>> joined(["404 from the provider", "asked twice"])
    '404 from the provider; asked twice'
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list | tuple):
        return JOINT.join(part for part in map(joined, value) if part)
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
