"""The columns of the store that each frame holds, with their dtypes, and functions that load them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from sqlalchemy import JSON, Boolean, ColumnElement, Connection, Float, FromClause, Integer, Select, Table, func, select

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
from crawler.model.outcomes import MementoOutcome
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
    content,
    fetch_batches,
    vocabulary,
)

#: The columns of a frame: an expression of the store and the dtype of each.
Selection: TypeAlias = Mapping[ColumnElement[Any], Dtype]

OBJECT = vocabulary(ObjectOutcome)
#: The dtypes that do not follow from the stored type.
_SPECIAL: Selection = {
    document.c.outcome: vocabulary(DocumentOutcome, ObjectOutcome),
    event.c.event: vocabulary(EventKind),
    latest.c.state: vocabulary(ArkState),
    verdict.c.state: vocabulary(ArkState),
    memento.c.outcome: vocabulary(MementoOutcome),
    mention.c.confidence: pd.CategoricalDtype([confidence.token for confidence in sorted(Confidence)], ordered=True),
    mention.c.reason: WORD,
    mention.c.role: vocabulary(Role),
    observation.c.chain_end: vocabulary(ChainEnd),
    observation.c.question: vocabulary(Question),
    run.c.plan: PARSED,
    verdict.c.commitment: vocabulary(CommitmentOutcome),
    verdict.c.commitment_parsed: PARSED,
    verdict.c.did_you_mean: PARSED,
    verdict.c.metadata: vocabulary(MetadataOutcome),
    verdict.c.naan_policy: PARSED,
    verdict.c.object: OBJECT,
}
_BY_STORED_TYPE = {Integer: INTEGER, Float: REAL, Boolean: TRUTH, schema.Moment: MOMENT}


def select_columns(table: Table, *names: str, without: Collection[str] = (), **others: ColumnElement[Any]) -> Selection:
    """Return the columns *names* of *table* (by default all but *without*) and *others*, labelled, with their dtypes."""
    columns = {name: table.c[name] for name in names or table.c.keys() if name not in without} | others
    return {
        column.label(name): _SPECIAL.get(column)
        or next((kind for stored, kind in _BY_STORED_TYPE.items() if isinstance(column.type, stored)), TEXT)
        for name, column in columns.items()
    }


RUN: Selection = {
    **select_columns(run, without=("uuid",), is_suspect=assessment.c.is_suspect, suspicion=assessment.c.reason),
    run.c.seeds.label("seed_list"): PARSED,
}
_hop = func.json_each(document.c.hops).table_valued("value").alias("hop")
#: Number of hops of a document that were sent.
_SENT_HOPS = (
    select(func.count())
    .select_from(_hop)
    .where(func.coalesce(func.json_extract(_hop.c.value, "$.sent"), 1) == 1)
    .correlate(document)
    .scalar_subquery()
)
DOCUMENTS = select_columns(document, without=("run_id", "body_sha256", "hops"), request_count=_SENT_HOPS)
FINDINGS = select_columns(finding)
ARKS = select_columns(ark)
#: The columns of citations and questions that a comparison with another run needs.
COMPARED_MENTIONS = select_columns(
    mention, "mention_id", "document_id", "citation", "ark_id", "request_url", "repairs", "confidence", "asked"
)
MENTIONS = select_columns(
    mention,
    without=("spans", "resolver", "inflection", "fragment", "doubt"),
    document=document.c.url,
    ark=ark.c.ark,
    naan=ark.c.naan,
    offset=func.json_extract(mention.c.spans, "$[0][0]", type_=Integer),
)
COMPARED_OBSERVATIONS = select_columns(
    observation,
    "observation_id",
    "run_id",
    "ark_id",
    "request_url",
    "question",
    "chain_end",
    "status",
    request_count=func.json_array_length(observation.c.hops, type_=Integer),
)
OBSERVATIONS = select_columns(
    observation,
    "observation_id",
    "run_id",
    "ark_id",
    "request_url",
    "question",
    "attempt",
    "asked_url",
    "at",
    "chain_end",
    "status",
    "final_url",
    "hop_count",
    "media_type",
    "title",
    "body_bytes",
    "remarks",
    ark=ark.c.ark,
    hops=observation.c.hops,
)
#: The requests for documents.
FETCHES = select_columns(document, "document_id", "outcome", document=document.c.url, hops=document.c.hops)
PAUSES = select_columns(pause)
TRAFFIC = select_columns(host_traffic)
VERDICTS = select_columns(
    verdict, without=("metadata_parsed", "state"), checked_at=run.c.started_at, ark=ark.c.ark, naan=ark.c.naan
)
#: Verdicts of runs up to the reported one on the same ARKs, and the last good verdicts.
HISTORY = select_columns(verdict, "verdict_id", "run_id", "ark_id", "object", started_at=run.c.started_at)
LAST_GOOD = select_columns(verdict, "verdict_id", "ark_id", good_at=run.c.started_at, good_url=verdict.c.final_url)
#: Archived copies of ARKs that fail.
MEMENTOS = select_columns(
    memento, "memento_id", "ark_id", "request_url", "at", "outcome", "reason", "memento_url", "memento_at"
)
LATEST = select_columns(latest, "latest_id", "ark_id", "request_url", "state", "since", "reason", "first_strike_at")
#: The states after the checks that count for a run that is compared with another.
COMPARED_LATEST = select_columns(verdict, "verdict_id", "ark_id", "request_url", "state")
EVENTS = select_columns(event, ark=ark.c.ark, naan=ark.c.naan)
#: All runs up to a given one: the runs, their checks, and the status of ARKs.
JUDGED_RUNS = select_columns(run, "run_id", "started_at", is_suspect=assessment.c.is_suspect)
CHECKS = select_columns(verdict, "run_id", "object", pair=latest.c.latest_id)
STANDINGS: Selection = {
    **select_columns(latest, *("ark_id", "state", "checked_at", "first_seen_at", "gone_at"), pair=latest.c.latest_id),
    **select_columns(verdict, "metadata", "commitment"),
    ark.c.naan.label("naan"): WORD,
    latest.c.host.label("host"): WORD,
    func.json_extract(verdict.c.commitment_parsed, "$.level").label("level"): WORD,
}
#: Entries of the NAAN registry for a NAAN.
REGISTERED: Mapping[str, Dtype] = dict.fromkeys(("naan", "organization", "contact"), TEXT)
#: Known problems of an ARK at a URL, in all documents or in one.
KNOWN: Mapping[str, Dtype] = {"ark_id": INTEGER, **dict.fromkeys(("request_url", "document", "known"), TEXT)}


def query_of(
    selection: Selection,
    *where: ColumnElement[bool],
    of: FromClause | None = None,
    order: Sequence[Any] = (),
    most: int | None = None,
) -> Select[Any]:
    """Return the query for the columns of *selection* in the rows *where* all conditions hold.

    *of* is the join to select from. *order* is by default the first column, the order of insertion. *most* limits the
    number of rows.
    """
    query = select(*selection).where(*where).order_by(*(order or (next(iter(selection)),))).limit(most)
    return query if of is None else query.select_from(of)


def load(connection: Connection, selection: Selection, *where: ColumnElement[bool], **options: Any) -> pd.DataFrame:
    """Return the result of `query_of` as a frame."""
    columns = empty_columns(selection)
    for rows in fetch_batches(connection, query_of(selection, *where, **options)):
        columns.add(rows)
    return columns.frame()


def empty_columns(selection: Selection) -> Columns:
    """Return columns for a selection, without rows."""
    dtypes = {column.name: dtype for column, dtype in selection.items()}
    return Columns(dtypes, frozenset(column.name for column in selection if isinstance(column.type, JSON)))


# The hops of questions and of documents, one row each. They are most of a store, so they are split while they are read.

#: The columns that each hop repeats from its observation, or from its document.
HOP_OF = ("observation_id", "run_id", "question", "chain_end")
FETCH_OF = ("document_id", "document", "outcome")
#: The fields of `crawler.model.observations.Hop` that are reported, apart from its headers.
HOP: Mapping[str, Dtype] = {
    "url": TEXT,
    "method": WORD,
    "status": INTEGER,
    "location": TEXT,
    "address": WORD,
    "elapsed_s": REAL,
    "at": MOMENT,
    "error": TEXT,
    "sent": TRUTH,
}
#: The headers of a hop that are reported, with the columns for them.
HOP_HEADERS = {"content-type": "content_type", "retry-after": "retry_after", "server": "server"}


def with_hops(
    connection: Connection, selection: Selection, repeated: Sequence[str], *where: ColumnElement[bool], **options: Any
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the rows of `query_of`, whose last column is `hops`, and a frame with one row per hop of these rows.

    Instead of `hops`, the rows have their number as `request_count`. A hop repeats the columns *repeated* of its row.
    """
    owner_columns = empty_columns({column: dtype for column, dtype in selection.items() if column.name != "hops"})
    hops = Columns({"ordinal": INTEGER, **HOP, **dict.fromkeys(HOP_HEADERS.values(), WORD)})
    counts: list[int] = []
    for rows in fetch_batches(connection, query_of(selection, *where, **options)):
        chains = [content(text) or () for *_, text in rows]
        owner_columns.add([row[:-1] for row in rows])
        hops.add([_hop_row(*numbered_hop) for chain in chains for numbered_hop in enumerate(chain, start=1)])
        counts.extend(map(len, chains))
    owners = owner_columns.frame().assign(request_count=pd.Series(counts, dtype="Int64"))
    owner_positions = np.repeat(np.arange(len(owners)), counts)
    repeated_columns = owners[list(repeated)].take(owner_positions).reset_index(drop=True)
    return owners, pd.concat([repeated_columns, hops.frame()], axis="columns")


def _hop_row(ordinal: int, hop: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return *ordinal*, the fields `HOP` and the headers `HOP_HEADERS` of *hop*; case of header names is ignored."""
    headers = {name.lower(): value for name, value in (hop.get("headers") or {}).items()}
    return ordinal, *map(hop.get, HOP), *map(headers.get, HOP_HEADERS)
