"""The frontier: the requests that a run still has to send, kept in the store.

One transaction records an observation, adds the requests that it leads to, and settles its entry. So no request is
lost or sent twice. Only this module reads or writes the table `frontier`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, bindparam, func, literal_column, select, update
from sqlalchemy.sql.dml import ReturningUpdate

from crawler.model.crawl_requests import CrawlRequest, FrontierState, RequestKind
from crawler.model.schema import frontier
from crawler.store.database import PAGE, Database, insert_if_new, record_of, row_of
from extractors.model.ark import Ark

columns = frontier.c
#: The names of the spiders in the frontier.
DOCUMENTS, ARKS = "documents", "arks"


@dataclass(frozen=True, slots=True)
class FrontierEntry:
    """A request in the frontier."""

    entry_id: int
    """The key of its row, which also gives the order of discovery."""
    crawl_request: CrawlRequest
    attempts: int = 0
    """The number of times that the entry was handed to a spider."""


@dataclass(frozen=True, slots=True)
class SettledEntry:
    """A note that a request has its outcome; recorded in one transaction with its last observation."""

    spider: str
    canonical: str
    listed: str | None = None
    """The digest of the listed documents, if the document is a source."""


def add_requests(connection: Connection, run_id: int, spider: str, new_requests: Sequence[CrawlRequest]) -> None:
    """Append *new_requests* within the transaction of *connection*."""
    if new_requests:
        rows = [_waiting_row(run_id, spider, crawl_request) for crawl_request in new_requests]
        connection.execute(insert_if_new(frontier), rows)


def settle(connection: Connection, run_id: int, settled: Sequence[SettledEntry]) -> None:
    """Mark entries as done, within the transaction of the store that records their outcome."""
    if settled:
        rows = [
            {"of_run": run_id, "of_spider": entry.spider, "settled": entry.canonical, "has_listed": entry.listed}
            for entry in settled
        ]
        connection.execute(_SETTLE, rows)


_SETTLE = (
    update(frontier)
    .where(
        columns.run_id == bindparam("of_run"),
        columns.spider == bindparam("of_spider"),
        columns.canonical == bindparam("settled"),
    )
    .values(state=FrontierState.DONE, listed=bindparam("has_listed"))
)


def is_in(state: FrontierState) -> ColumnElement[bool]:
    """Return the condition that a row is in *state*, as a literal, because a partial index needs one."""
    return columns.state == literal_column(f"'{state.value}'")


def _waiting_row(run_id: int, spider: str, crawl_request: CrawlRequest) -> dict[str, Any]:
    """Return the row of a waiting request."""
    return row_of(
        crawl_request,
        frontier,
        run_id=run_id,
        spider=spider,
        ark=None if crawl_request.ark is None else str(crawl_request.ark),
        rank=0 if crawl_request.is_urgent else 1,
        state=FrontierState.WAITING,
        attempts=0,
        listed=None,
    )


def entry_in(row: Row[Any]) -> FrontierEntry:
    """Return the frontier entry in a row."""
    ark = None if row.ark is None else Ark.parse(row.ark)
    return FrontierEntry(row.frontier_id, record_of(CrawlRequest, row, ark=ark), row.attempts)


class Frontier:
    """The requests that one spider of a run still has to send."""

    def __init__(self, store: Database, run_id: int, spider: str) -> None:
        self._store = store
        self._run_id = run_id
        self._spider = spider

    def add(self, new_requests: Iterable[CrawlRequest]) -> None:
        """Append *new_requests* in batches; requests that the frontier has already stay unchanged.

        Raises `crawler.store.StoreUnwritable`.
        """
        remaining_requests = iter(new_requests)
        while batch := list(islice(remaining_requests, PAGE)):
            with self._store.transaction() as connection:
                add_requests(connection, self._run_id, self._spider, batch)

    def claim_redirect_target(self, crawl_request: CrawlRequest) -> bool:
        """Add the target of a redirect as claimed, with no attempts; return False if the frontier has it already.

        Raises `crawler.store.StoreUnwritable`.
        """
        values = self._claimed_row(crawl_request)
        with self._store.transaction() as connection:
            return connection.execute(insert_if_new(frontier), values).rowcount > 0

    def take_over(self, crawl_request: CrawlRequest, state: FrontierState, *, by: CrawlRequest) -> bool:
        """Claim *crawl_request*, the target of a redirect, for the redirecting request *by*.

        Return False without a change unless the target is in *state*, was found after *by*, and is not claimed for
        another redirect. So the result does not depend on the order of answers. Raises
        `crawler.store.StoreUnwritable`.
        """
        redirecting_id = select(columns.frontier_id).where(self._is_in_frontier, columns.canonical == by.canonical)
        condition = (
            (columns.canonical == crawl_request.canonical)
            & (columns.frontier_id > redirecting_id.scalar_subquery())
            & (columns.state == state)
            & ((columns.state != FrontierState.CLAIMED) | (columns.attempts > 0))  # not claimed for an earlier redirect
        )
        with self._store.transaction() as connection:
            handed_over = connection.execute(
                update(frontier).where(self._is_in_frontier, condition).values(self._claimed_row(crawl_request))
            )
            return handed_over.rowcount > 0

    def _claimed_row(self, crawl_request: CrawlRequest) -> dict[str, Any]:
        return _waiting_row(self._run_id, self._spider, crawl_request) | {"state": FrontierState.CLAIMED}

    def hosts(self) -> list[str]:
        """Return the hosts with waiting requests, in the order of discovery."""
        query = (
            select(columns.host)
            .where(self._is_in_frontier, is_in(FrontierState.WAITING))
            .group_by(columns.host)
            .order_by(func.min(columns.frontier_id))
        )
        return [host for (host,) in self._store.rows(query)]

    def claim(self, shares: Mapping[str, int]) -> list[FrontierEntry]:
        """Claim and return entries in the order of discovery; *shares* has the maximum number for each host."""
        waiting_ids = (
            select(columns.frontier_id)
            .where(self._is_in_frontier, is_in(FrontierState.WAITING), columns.host == bindparam("at"))
            .order_by(columns.rank, columns.frontier_id)
            .limit(bindparam("most"))
        )
        statement = self._claim_statement(columns.frontier_id.in_(waiting_ids))
        with self._store.transaction() as connection:
            rows = [
                row
                for host, entry_limit in shares.items()
                for row in connection.execute(statement, {"at": host, "most": entry_limit})
            ]
        return sorted((entry_in(row) for row in rows), key=lambda entry: entry.entry_id)

    def claim_again(self) -> list[FrontierEntry]:
        """Claim again the entries that a crashed process had claimed, and return them in the order of discovery.

        Targets that were claimed for redirects are not returned. They become waiting again.
        """
        with self._store.transaction() as connection:
            is_arrival = (columns.state == FrontierState.CLAIMED) & (columns.attempts == 0)
            release = update(frontier).where(self._is_in_frontier, is_arrival).values(state=FrontierState.WAITING)
            connection.execute(release)
            rows = connection.execute(self._claim_statement(columns.state == FrontierState.CLAIMED)).all()
        return sorted((entry_in(row) for row in rows), key=lambda entry: entry.entry_id)

    def _claim_statement(self, condition: ColumnElement[bool]) -> ReturningUpdate[Any]:
        return (
            update(frontier)
            .where(self._is_in_frontier, condition)
            .values(state=FrontierState.CLAIMED, attempts=columns.attempts + 1)
            .returning(frontier)
        )

    def find(self, canonical: str) -> CrawlRequest | None:
        """Return the request with this canonical form, in any state, or None."""
        query = select(frontier).where(self._is_in_frontier, columns.canonical == canonical)
        return next((entry_in(row).crawl_request for row in self._store.rows(query)), None)

    def requests(self) -> Iterator[CrawlRequest]:
        """Yield all requests, settled or not, in the order of discovery; read in pages."""
        for rows in self._store.pages(select(frontier).where(self._is_in_frontier), columns.frontier_id):
            yield from (entry_in(row).crawl_request for row in rows)

    def targets(self) -> Iterator[tuple[Ark, str]]:
        """Yield the ARKs of all requests, each with its URL, in the order of discovery; read in pages."""
        query = select(columns.frontier_id, columns.ark, columns.url)
        for rows in self._store.pages(query.where(self._is_in_frontier, columns.ark.is_not(None)), columns.frontier_id):
            yield from ((Ark.parse(row.ark), row.url) for row in rows)

    def settled_forms(self) -> set[str]:
        """Return the canonical forms of all settled requests."""
        query = select(columns.canonical).where(self._is_in_frontier, is_in(FrontierState.DONE))
        return {canonical for (canonical,) in self._store.rows(query)}

    def list_digests(self) -> set[str]:
        """Return the digests of what the sources in the frontier list (`SettledEntry.listed`)."""
        query = select(columns.listed).where(self._is_in_frontier, columns.listed.is_not(None))
        return {digest for (digest,) in self._store.rows(query)}

    def counts(self) -> Mapping[FrontierState, int]:
        """Return the number of entries in each state, without files."""
        query = (
            select(columns.state, func.count())
            .where(self._is_in_frontier, columns.kind != RequestKind.FILE)
            .group_by(columns.state)
        )
        counts = {FrontierState(state): int(count) for state, count in self._store.rows(query)}
        return {state: counts.get(state, 0) for state in FrontierState}

    def handed_out_count(self) -> int:
        """Return the number of entries ever handed to a spider, without files and targets of redirects."""
        query = select(func.count()).where(self._is_in_frontier, columns.kind != RequestKind.FILE, columns.attempts > 0)
        [(count,)] = self._store.rows(query)
        return int(count)

    @property
    def _is_in_frontier(self) -> ColumnElement[bool]:
        return (columns.run_id == self._run_id) & (columns.spider == self._spider)
