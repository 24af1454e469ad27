"""Rows of the table `frontier`: what a run has still to ask for, and what has its outcome.

Whoever records what was observed settles them within the same transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, bindparam, literal_column, update
from sqlalchemy.dialects.sqlite import insert

from crawler.model.crawl_requests import CrawlRequest, Reach, RequestKind
from crawler.model.listing import SourceKind
from crawler.model.schema import frontier
from extractors.ark import Ark

#: The spiders, by the names under which their entries stand.
DOCUMENTS, ARKS = "documents", "arks"
#: For how long an entry belongs to whoever claimed it. A store has one writer, so after a crash nobody waits for it.
CLAIM = timedelta(hours=1)


class FrontierState(StrEnum):
    """The state of an entry."""

    WAITING = "waiting"
    CLAIMED = "claimed"
    """Handed to a spider; there is no outcome yet."""
    DONE = "done"
    """Its outcome is in the store."""


@dataclass(frozen=True, slots=True)
class FrontierEntry:
    """A lead that is on record."""

    entry_id: int
    """Also the order of discovery."""
    crawl_request: CrawlRequest
    attempts: int = 0
    """How often it was handed to a spider."""


@dataclass(frozen=True, slots=True)
class SettledEntry:
    """Says that an entry has its outcome, and is not asked again; to be recorded with what was observed last."""

    spider: str
    canonical: str
    listed: str | None = None
    """The digest of what it has listed, if it is a source."""


def add_requests(connection: Connection, run_id: int, spider: str, leads: Sequence[CrawlRequest]) -> None:
    """Put *leads* behind what is there, within a transaction of the store."""
    if leads:
        rows = [row_of(run_id, spider, crawl_request) for crawl_request in leads]
        connection.execute(insert(frontier).on_conflict_do_nothing(), rows)


def settle(connection: Connection, run_id: int, settled: Sequence[SettledEntry]) -> None:
    """Note that these entries have their outcome, within the transaction of the store that records it."""
    if settled:
        rows = [
            {"of_run": run_id, "of_spider": each.spider, "settled": each.canonical, "has_listed": each.listed}
            for each in settled
        ]
        connection.execute(_SETTLE, rows)


_SETTLE = (
    update(frontier)
    .where(
        frontier.c.run_id == bindparam("of_run"),
        frontier.c.spider == bindparam("of_spider"),
        frontier.c.canonical == bindparam("settled"),
    )
    .values(state=FrontierState.DONE.value, claimed_until=None, listed=bindparam("has_listed"))
)


def claim_end() -> str:
    """The moment at which a claim that is made now ends."""
    return (datetime.now(UTC) + CLAIM).isoformat(timespec="milliseconds")


def is_in(state: FrontierState) -> ColumnElement[bool]:
    """Return whether a row is in *state*, in words that SQLite finds in an index: a parameter would hide them."""
    return frontier.c.state == literal_column(f"'{state.value}'")


def row_of(run_id: int, spider: str, crawl_request: CrawlRequest) -> dict[str, Any]:
    """The row of a lead that waits."""
    return {
        "run_id": run_id,
        "spider": spider,
        "canonical": crawl_request.canonical,
        "url": crawl_request.url,
        "kind": crawl_request.kind.value,
        "host": crawl_request.host,
        "depth": crawl_request.depth,
        "found_on": crawl_request.found_on,
        "ark": None if crawl_request.ark is None else str(crawl_request.ark),
        "reach": crawl_request.reach.value,
        "source": None if crawl_request.source is None else crawl_request.source.value,
        "part": crawl_request.part,
        "rank": 0 if crawl_request.is_urgent else 1,
        "state": FrontierState.WAITING.value,
        "attempts": 0,
        "claimed_until": None,
        "listed": None,
    }


def entry_in(row: Row[Any]) -> FrontierEntry:
    """The entry that is in a row."""
    ark = None if row.ark is None else Ark.parse(row.ark)
    source = None if row.source is None else SourceKind(row.source)
    reach = Reach(row.reach)
    crawl_request = CrawlRequest(
        row.url, row.canonical, row.host, RequestKind(row.kind), row.depth, row.found_on, ark, reach, source, row.part
    )
    return FrontierEntry(row.frontier_id, crawl_request, row.attempts)
