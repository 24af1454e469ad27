"""The ARKs that documents cite at present: new ones, cited again, and those that no document cites any more.

A citation counts until its document was read whole without it, or is gone for good. A document that a run did not
reach, or could not read, changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, bindparam, exists, insert, or_, select, tuple_, update

from crawler.history.ark_status import ArkState, EventKind, StatusPolicy
from crawler.model import schema
from crawler.model.observations import DocumentOutcome, Family, ObjectOutcome
from extractors.model.documents import READ_IN_PART
from extractors.model.urls import authority_of

_document, _finding, _latest, _run = schema.document.c, schema.finding.c, schema.latest.c, schema.run.c
#: Statuses of a document that is gone for good.
_GONE = (404, 410)
#: Outcomes of a document that may be gone, if several runs in a row have them.
_FAILING = [outcome for outcome in ObjectOutcome if outcome.family in (Family.FAILS, Family.UNREACHABLE)]
#: Kinds of findings about a crawl that ended before it had requested every document.
ENDED_EARLY = ("max-pages", "max-time")
#: Outcomes of documents that were read, or that no request was made for.
_SHOWING = (DocumentOutcome.READ, DocumentOutcome.REDIRECTED, DocumentOutcome.REFERER)
#: The number of documents looked up at a time.
_AT_ONCE = 500
#: The number of ARKs read at a time; each page scans all mentions of a run.
_CITED_PAGE = 5000


def note_citations(connection: Connection, run_id: int, policy: StatusPolicy) -> None:
    """Update `latest` and `event` by the citations in an ended run; only a finished run shows that citations are gone.

    A citation that still counts from an earlier run is attributed to that run.
    """
    ended_run = connection.execute(select(schema.run).where(_run.run_id == run_id)).one()
    _add_new(connection, ended_run)
    cited = tuple_(_latest.ark_id, _latest.request_url).in_(_cited_in(run_id))
    is_seen_before = seen_before(_latest.ark_id, ended_run.started_at)
    cited_again = select(_latest.ark_id, _latest.request_url).where(
        cited, _latest.gone_at.is_not(None), ~is_seen_before
    )
    _add_events(connection, ended_run, connection.execute(cited_again).all(), EventKind.NEW, "cited again")
    connection.execute(update(schema.latest).where(cited).values(cited_in=run_id, gone_at=None))
    if ended_run.state == "finished" and ended_run.seeds:
        _note_gone(connection, ended_run, policy)


def _cited_in(run_id: int) -> Select[Any]:
    """Return the query for the ARKs and URLs that documents of a run cite, without duplicates."""
    mention = schema.mention.c
    return (
        select(mention.ark_id, mention.request_url)
        .join_from(schema.mention, schema.document)
        .where(_document.run_id == run_id, mention.request_url.is_not(None), schema.is_current_mention)
        .distinct()
    )


def _add_new(connection: Connection, ended_run: Any) -> None:
    """Add the cited ARKs that were never checked, a page of rows at a time, because there may be millions."""
    latest, cited = schema.latest, _cited_in(_run.run_id == ended_run.run_id).subquery()
    is_known = exists().where(schema.at_one_url(latest.c, cited.c))
    is_seen = seen_before(cited.c.ark_id, ended_run.started_at).label("is_seen")
    query = select(cited, is_seen).where(~is_known).order_by(cited.c.ark_id, cited.c.request_url)
    unchecked_values = {
        "first_seen_at": ended_run.started_at,
        "state": ArkState.UNDETERMINED,
        "since": ended_run.started_at,
        "reason": "it was never checked",
        "strikes": 0,
        "memory": {},
    }
    # A row that is added does not change the condition of another row.
    for new_rows in connection.execute(query).partitions(_CITED_PAGE):
        _add_events(connection, ended_run, [row[:2] for row in new_rows if not row.is_seen], EventKind.NEW, "")
        rows = [
            {"ark_id": ark_id, "request_url": url, "host": authority_of(url), **unchecked_values}
            for ark_id, url, _ in new_rows
        ]
        connection.execute(insert(latest), rows)


def seen_before(ark_id: ColumnElement[Any], moment: str) -> ColumnElement[bool]:
    """Return the condition that an ARK was recorded before *moment* (ISO 8601), at any URL, and is still cited."""
    latest = schema.latest.alias().c
    return exists().where(latest.ark_id == ark_id, latest.gone_at.is_(None), latest.first_seen_at < moment)


def _note_gone(connection: Connection, ended_run: Any, policy: StatusPolicy) -> None:
    """Set `gone_at` of the ARKs that no document cites after the finished *ended_run*, and `cited_in` of the others."""
    same_seed_runs = select(_run.run_id).where(_run.seeds == ended_run.seeds, _run.run_id != ended_run.run_id)
    missing_pairs = select(_latest.ark_id, _latest.request_url).where(
        _latest.gone_at.is_(None), _latest.cited_in.in_(same_seed_runs)
    )
    missing_table, mention = missing_pairs.subquery(), schema.mention.c
    query = (
        select(*_CITING, mention.ark_id, mention.request_url)
        .join_from(
            missing_table, schema.mention, and_(schema.at_one_url(mention, missing_table.c), schema.is_current_mention)
        )
        .join(schema.document)
        .join(schema.run, _run.run_id == _document.run_id)
        .where(_is_until(ended_run))
    )
    citing_runs: dict[tuple[int, str], int | None] = {
        (row.ark_id, row.request_url): None for row in connection.execute(missing_pairs)
    }
    for row in _rows_still_cited(connection, connection.execute(query).all(), ended_run, policy):
        pair = (row.ark_id, row.request_url)
        citing_runs[pair] = max(citing_runs[pair] or 0, row.run_id)
    is_pair = and_(_latest.ark_id == bindparam("of_ark"), _latest.request_url == bindparam("at_url"))
    for new_values, is_over in (({"gone_at": ended_run.started_at}, True), ({"cited_in": bindparam("in_run")}, False)):
        rows = [
            {"of_ark": ark_id, "at_url": url, "in_run": run_id}
            for (ark_id, url), run_id in citing_runs.items()
            if (run_id is None) is is_over
        ]
        if rows:
            connection.execute(update(schema.latest).where(is_pair).values(new_values), rows)
    latest = schema.latest.alias().c
    is_cited = exists().where(latest.ark_id == _latest.ark_id, latest.gone_at.is_(None), latest.cited_in.is_not(None))
    is_gone = and_(_latest.gone_at == ended_run.started_at, ~is_cited)
    gone_pairs = select(_latest.ark_id, _latest.request_url).where(is_gone).order_by(_latest.latest_id)
    detail = "no document that could be read cites it any more"
    _add_events(connection, ended_run, connection.execute(gone_pairs).all(), EventKind.GONE, detail)


def unreached_documents(connection: Connection, run_id: int) -> list[tuple[str, str | None]]:
    """Return URL and `found_on`, sorted, of web documents that *run_id* has not found, but whose citations count."""
    ended_run = connection.execute(select(schema.run).where(_run.run_id == run_id)).one()
    frontier, mention = schema.frontier.c, schema.mention.c
    is_found = exists().where(frontier.run_id == run_id, frontier.url == _document.url)
    cites = exists().where(mention.document_id == _document.document_id, schema.is_current_mention)
    query = (
        select(*_CITING)
        .join_from(schema.document, schema.run)
        .where(_run.seeds == ended_run.seeds, _run.run_id != run_id, _is_until(ended_run))
        .where(_document.status.is_not(None), cites, ~is_found)
    )
    counting_rows = _rows_still_cited(connection, connection.execute(query).all(), ended_run, StatusPolicy())
    return sorted({row.url: row.found_on for row in counting_rows}.items())


# -- the documents whose citations still count


@dataclass(frozen=True, slots=True)
class DocumentReading:
    """The outcome of reading a document in one run."""

    outcome: str
    status: int | None
    is_in_part: bool
    """True if parts of it could not be read."""

    @property
    def shows_citations(self) -> bool:
        """True if the document was read whole, so that all its citations are known, or if it is gone for good."""
        return self.status in _GONE or (self.outcome == DocumentOutcome.READ and not self.is_in_part)


@dataclass(frozen=True, slots=True)
class LaterRun:
    """A finished run after the one that found a citation, from the same seeds."""

    at: datetime
    readings: Mapping[str, DocumentReading]
    """The reading of each document that was requested or found on disk, by URL; for a redirect, that of its target."""
    is_complete: bool
    """True if the run read all its documents whole."""


def is_over(url: str, container: str | None, *, is_web: bool, later: Sequence[LaterRun], policy: StatusPolicy) -> bool:
    """Return True if the *later* runs (oldest first) show that a document's citations from an earlier run no longer count.

    This holds if one of the runs read the document whole, or found it gone for good. It also holds after failures as
    many and as long as *policy* requires. A document that is not on the web (*is_web* False) may also be absent: as a
    local file, or from its archive *container* when a run read that whole.
    """
    failure_times: list[datetime] = []
    for run in later:
        reading = run.readings.get(url)
        archive = run.readings.get(container or "")
        if reading is not None and reading.shows_citations:
            return True
        if reading is None and not is_web:
            is_unlisted = container is None or run.is_complete or (archive is not None and archive.shows_citations)
            if is_unlisted:
                return True
        if reading is not None and reading.outcome in _FAILING:
            failure_times.append(run.at)
    if len(failure_times) < policy.strikes:
        return False
    return failure_times[-1] - failure_times[0] >= timedelta(days=policy.days)


#: The columns of a citing document that `is_over` needs.
_CITING = (_document.url, _document.found_on, _document.status, _document.run_id, _run.seeds, _run.started_at)


def _is_until(ended_run: Any) -> ColumnElement[bool]:
    return tuple_(_run.started_at, _run.run_id) <= tuple_(ended_run.started_at, ended_run.run_id)


def _rows_still_cited(
    connection: Connection, citing_rows: Sequence[Any], ended_run: Any, policy: StatusPolicy
) -> Iterator[Any]:
    """Yield those of *citing_rows* (with the columns `_CITING`) whose citations still count after *ended_run*."""
    by_seeds: dict[str, list[Any]] = {}
    for row in citing_rows:
        by_seeds.setdefault(repr(row.seeds), []).append(row)
    for rows in by_seeds.values():
        has_same_seeds = and_(_run.seeds == rows[0].seeds, _run.state == "finished", _is_until(ended_run))
        run_query = select(schema.run).where(has_same_seeds).order_by(_run.started_at, _run.run_id)
        urls = {url for row in rows for url in (row.url, row.found_on) if url is not None}
        has_parts = any(row.status is None and row.found_on is not None for row in rows)
        runs = [
            ((run.started_at, run.run_id), _later_run(connection, run, urls, has_parts=has_parts))
            for run in connection.execute(run_query).all()
        ]
        for row in rows:
            later = [run for run_start, run in runs if run_start > (row.started_at, row.run_id)]
            is_web = row.status is not None
            container = None if is_web else row.found_on
            if not is_over(row.url, container, is_web=is_web, later=later, policy=policy):
                yield row


def _later_run(connection: Connection, run: Any, urls: Iterable[str], *, has_parts: bool) -> LaterRun:
    """Return *run* with its readings of documents at *urls*; `is_complete` is always False unless *has_parts*."""
    readings = _readings(connection, run.run_id, urls)
    is_complete = False
    if has_parts:
        is_gone = and_(_document.status.is_not(None), _document.status.in_(_GONE))
        is_unshown = and_(_document.run_id == run.run_id, _document.outcome.not_in(_SHOWING), ~is_gone)
        is_in_part = and_(_finding.run_id == run.run_id, _finding.kind.in_((*READ_IN_PART, *ENDED_EARLY)))
        is_complete = not connection.scalar(select(or_(exists().where(is_unshown), exists().where(is_in_part))))
    return LaterRun(datetime.fromisoformat(run.started_at), readings, is_complete)


def _readings(connection: Connection, run_id: int, urls: Iterable[str]) -> dict[str, DocumentReading]:
    readings: dict[str, DocumentReading] = {}
    redirect_targets: dict[str, str] = {}
    is_in_part = exists().where(
        _finding.run_id == run_id, _finding.subject == _document.url, _finding.kind.in_(READ_IN_PART)
    )
    remaining_urls = iter(urls)
    while batch := list(islice(remaining_urls, _AT_ONCE)):
        query = select(
            _document.url, _document.outcome, _document.status, _document.final_url, is_in_part.label("in_part")
        )
        for row in connection.execute(query.where(_document.run_id == run_id, _document.url.in_(batch))):
            if row.outcome == DocumentOutcome.REDIRECTED and row.final_url not in (None, row.url):
                redirect_targets[row.url] = row.final_url
            else:
                readings[row.url] = DocumentReading(row.outcome, row.status, row.in_part)
    if redirect_targets:
        targets = _readings(connection, run_id, redirect_targets.values())
        readings |= {url: targets[target] for url, target in redirect_targets.items() if target in targets}
    return readings


def _add_events(connection: Connection, ended_run: Any, rows: Iterable[Any], kind: EventKind, detail: str) -> None:
    values = {"run_id": ended_run.run_id, "at": ended_run.started_at, "event": kind, "detail": detail}
    events = [{"ark_id": ark_id, "request_url": request_url, **values} for ark_id, request_url in rows]
    if events:
        connection.execute(insert(schema.event), events)
