"""The ARKs that the documents cite today: new ones, and those that are gone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final

from sqlalchemy import Connection, Select, bindparam, exists, func, select, tuple_, update
from sqlalchemy.dialects.sqlite import insert

from crawler.history.ark_status import ArkState, EventKind
from crawler.history.outages import host_of
from crawler.model import schema
from crawler.model.observations import DocumentOutcome, ObjectOutcome

#: Outcomes of a document that say what it cites now: it was read, or it is there no more.
_TOLD: Final = frozenset({DocumentOutcome.READ.value, ObjectOutcome.BROKEN.value})
_REDIRECTED: Final = DocumentOutcome.REDIRECTED.value

#: ARKs that are read at a time; each time all mentions of a run are looked through.
_PAGE = 5000


def note_citations(connection: Connection, run_id: int) -> None:
    """Bring `latest` up to date with the documents of a run; ARKs that no one cites any more are gone.

    Only a run that has finished shows that something is gone. What its documents no longer cite is gone unless one
    of the documents that did could not be had this time, or the last finished run from other seeds cites it.
    """
    run, latest = schema.run, schema.latest
    this = connection.execute(select(run).where(run.c.run_id == run_id)).one()
    _add_new(connection, this)
    cited = tuple_(latest.c.ark_id, latest.c.request_url).in_(_cited_in(run_id))
    again = select(latest.c.ark_id, latest.c.request_url).where(cited, latest.c.gone_at.is_not(None))
    _happened(connection, this, connection.execute(again).all(), EventKind.NEW, "cited again")
    connection.execute(update(latest).where(cited).values(cited_in=run_id, gone_at=None))
    if this.state == "finished" and this.seeds:
        _note_gone(connection, this)


def _cited_in(run_id: int) -> Select[Any]:
    mention, document = schema.mention, schema.document
    return (
        select(mention.c.ark_id, mention.c.request_url)
        .join(document, document.c.document_id == mention.c.document_id)
        .where(document.c.run_id == run_id, mention.c.request_url.is_not(None), schema.is_current_mention)
        .distinct()
    )


def _add_new(connection: Connection, this: Any) -> None:
    """ARKs that are cited and have never been checked; some thousands at a time, for there may be millions."""
    latest, cited = schema.latest, _cited_in(this.run_id).subquery()
    is_known = exists().where(latest.c.ark_id == cited.c.ark_id, latest.c.request_url == cited.c.request_url)
    order = (cited.c.ark_id, cited.c.request_url)
    is_behind = tuple_(*order) > tuple_(bindparam("last_ark"), bindparam("last_url"))
    query = select(cited).where(is_behind, ~is_known).order_by(*order).limit(_PAGE)
    last_ark, last_url = 0, ""
    while new := connection.execute(query, {"last_ark": last_ark, "last_url": last_url}).all():
        _happened(connection, this, new, EventKind.NEW, "")
        connection.execute(insert(latest), [_unchecked(row, this) for row in new])
        last_ark, last_url = new[-1]


def _unchecked(row: Any, this: Any) -> dict[str, Any]:
    return {
        "ark_id": row.ark_id,
        "request_url": row.request_url,
        "host": host_of(row.request_url) or "",
        "first_seen_at": this.started_at,
        "state": ArkState.UNDETERMINED.value,
        "since": this.started_at,
        "reason": "it was never checked",
        "strikes": 0,
        "memory": {},
    }


def _note_gone(connection: Connection, this: Any) -> None:
    run, latest = schema.run, schema.latest
    alike = select(run.c.run_id).where(run.c.seeds == this.seeds, run.c.run_id != this.run_id)
    candidates = {
        (row.ark_id, row.request_url): row.cited_in
        for row in connection.execute(
            select(latest.c.ark_id, latest.c.request_url, latest.c.cited_in).where(
                latest.c.gone_at.is_(None), latest.c.cited_in.in_(alike)
            )
        )
    }
    if not candidates:
        return
    open_documents = _open_documents(connection, this)
    citing = _citing_documents(connection, set(candidates.values()))
    elsewhere = _cited_elsewhere(connection, this)
    gone = [
        pair
        for pair, cited_in in candidates.items()
        if pair not in elsewhere and open_documents.isdisjoint(citing[cited_in, *pair])
    ]
    here = (latest.c.ark_id == bindparam("its_ark")) & (latest.c.request_url == bindparam("its_url"))
    if gone:
        connection.execute(
            update(latest).where(here).values(gone_at=this.started_at),
            [{"its_ark": ark_id, "its_url": request_url} for ark_id, request_url in gone],
        )
    _happened(connection, this, gone, EventKind.GONE, "no document that could be read cites it any more")


def _open_documents(connection: Connection, this: Any) -> set[str]:
    """The documents of which a run does not show what they cite now; a redirect shows what its document does."""
    document = schema.document
    query = select(document.c.url, document.c.outcome, document.c.final_url).where(document.c.run_id == this.run_id)
    untold = [row for row in connection.execute(query) if row.outcome not in _TOLD]
    urls = {row.url for row in untold if row.outcome != _REDIRECTED}
    return urls | {row.url for row in untold if row.outcome == _REDIRECTED and row.final_url in urls}


def _citing_documents(connection: Connection, runs: set[int]) -> dict[tuple[int, int, str], set[str]]:
    """The documents that cite each ARK and URL, in each of *runs*."""
    mention, document = schema.mention, schema.document
    documents: defaultdict[tuple[int, int, str], set[str]] = defaultdict(set)
    query = (
        select(document.c.run_id, mention.c.ark_id, mention.c.request_url, document.c.url)
        .join_from(mention, document)
        .where(document.c.run_id.in_(runs), schema.is_current_mention)
    )
    for row in connection.execute(query):
        documents[row.run_id, row.ark_id, row.request_url].add(row.url)
    return documents


def _cited_elsewhere(connection: Connection, this: Any) -> set[tuple[int, str]]:
    """Return what the last finished run from each other set of seeds cites, up to this run."""
    run = schema.run
    before = tuple_(run.c.started_at, run.c.run_id) < tuple_(this.started_at, this.run_id)
    order = func.row_number().over(partition_by=run.c.seeds, order_by=(run.c.started_at.desc(), run.c.run_id.desc()))
    ranked = (
        select(run.c.run_id, order.label("back"))
        .where(run.c.state == "finished", run.c.seeds != this.seeds, before)
        .subquery()
    )
    pairs: set[tuple[int, str]] = set()
    for run_id in connection.scalars(select(ranked.c.run_id).where(ranked.c.back == 1)).all():
        pairs.update((row.ark_id, row.request_url) for row in connection.execute(_cited_in(run_id)))
    return pairs


def _happened(connection: Connection, this: Any, rows: Iterable[Any], kind: EventKind, detail: str) -> None:
    values = {"run_id": this.run_id, "at": this.started_at, "event": kind.value, "detail": detail}
    events = [{"ark_id": ark_id, "request_url": request_url, **values} for ark_id, request_url in rows]
    if events:
        connection.execute(insert(schema.event), events)
