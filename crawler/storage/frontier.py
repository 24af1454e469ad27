"""The frontier: what a run has still to ask for, kept in the store, so that nothing is lost and nothing asked twice.

What a document leads to is added, and an entry settled, in the very transaction that records what was observed. The
only place that reads or writes the table `frontier`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sqlalchemy import ColumnElement, bindparam, func, select, update
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.sql.dml import ReturningUpdate

from crawler.model.crawl_requests import CrawlRequest, RequestKind
from crawler.model.schema import frontier
from crawler.storage.frontier_rows import FrontierEntry, FrontierState, add_requests, claim_end, entry_in, is_in, row_of
from crawler.storage.store import Store
from extractors.ark import Ark

_PAGE = 1000


class Frontier:
    """The requests that one spider of a run has still to send."""

    def __init__(self, store: Store, run_id: int, spider: str) -> None:
        self._store = store
        self._run_id = run_id
        self._spider = spider

    def add(self, leads: Iterable[CrawlRequest]) -> None:
        """Put *leads* behind what is there; those that are there already stay as they are. Streams in bounded pieces.

        Raises `crawler.storage.store_errors.StoreUnwritable`.
        """
        for piece in _pieces(leads, _PAGE):
            with self._store.transaction() as connection:
                add_requests(connection, self._run_id, self._spider, piece)

    def arrive(self, crawl_request: CrawlRequest) -> bool:
        """Claim *lead* for whom redirects have led there, unless somebody has found it; whether nobody had.

        It counts as never handed out. Raises `crawler.storage.store_errors.StoreUnwritable`.
        """
        values = self._arrival(crawl_request)
        with self._store.transaction() as connection:
            return connection.execute(insert(frontier).values(values).on_conflict_do_nothing()).rowcount > 0

    def take_over(self, crawl_request: CrawlRequest, state: FrontierState, *, by: CrawlRequest) -> bool:
        """Claim *lead*, where redirects of *by* have led, if it is in this *state* and was found after *by*.

        So it doesn't depend on whose answer came first who has found it. Raises
        `crawler.storage.store_errors.StoreUnwritable`.
        """
        theirs = select(frontier.c.frontier_id).where(self._ours, frontier.c.canonical == by.canonical)
        which = (
            (frontier.c.canonical == crawl_request.canonical)
            & (frontier.c.frontier_id > theirs.scalar_subquery())
            & (frontier.c.state == state)
            & (
                (frontier.c.state != FrontierState.CLAIMED) | (frontier.c.attempts > 0)
            )  # not where redirects have led before
        )
        with self._store.transaction() as connection:
            done = connection.execute(update(frontier).where(self._ours, which).values(self._arrival(crawl_request)))
            return done.rowcount > 0

    def _arrival(self, crawl_request: CrawlRequest) -> dict[str, Any]:
        claimed = {"state": FrontierState.CLAIMED.value, "claimed_until": claim_end()}
        return row_of(self._run_id, self._spider, crawl_request) | claimed

    def hosts(self) -> list[str]:
        """The hosts at which something waits, in the order in which they were come by."""
        query = (
            select(frontier.c.host)
            .where(self._ours, is_in(FrontierState.WAITING))
            .group_by(frontier.c.host)
            .order_by(func.min(frontier.c.frontier_id))
        )
        with self._store.reading() as connection:
            return list(connection.scalars(query))

    def claim(self, shares: Mapping[str, int]) -> list[FrontierEntry]:
        """Claim up to so many entries of each host, in the order of their discovery; one transaction."""
        statement, until = self._claiming(self._waiting_at(bindparam("at"), bindparam("most"))), claim_end()
        with self._store.transaction() as connection:
            rows = [
                row
                for host, most in shares.items()
                for row in connection.execute(statement, {"at": host, "most": most, "until": until})
            ]
        return sorted((entry_in(row) for row in rows), key=lambda entry: entry.entry_id)

    def claim_again(self) -> list[FrontierEntry]:
        """Claim what was claimed before and has no outcome: after a crash, all that was in hand; in that order.

        Where redirects had led waits again: they lead there once more, or it is asked for itself.
        """
        with self._store.transaction() as connection:
            is_arrival = (frontier.c.state == FrontierState.CLAIMED) & (frontier.c.attempts == 0)
            waiting = {"state": FrontierState.WAITING.value, "claimed_until": None}
            connection.execute(update(frontier).where(self._ours, is_arrival).values(waiting))
            claiming = self._claiming(frontier.c.state == FrontierState.CLAIMED)
            rows = connection.execute(claiming, {"until": claim_end()}).all()
        return sorted((entry_in(row) for row in rows), key=lambda entry: entry.entry_id)

    def _waiting_at(self, host: ColumnElement[str], most: ColumnElement[int]) -> ColumnElement[bool]:
        waiting = (
            select(frontier.c.frontier_id)
            .where(self._ours, is_in(FrontierState.WAITING), frontier.c.host == host)
            .order_by(frontier.c.rank, frontier.c.frontier_id)
            .limit(most)
        )
        return frontier.c.frontier_id.in_(waiting)

    def _claiming(self, which: ColumnElement[bool]) -> ReturningUpdate[Any]:
        return (
            update(frontier)
            .where(self._ours, which)
            .values(
                state=FrontierState.CLAIMED.value, attempts=frontier.c.attempts + 1, claimed_until=bindparam("until")
            )
            .returning(frontier)
        )

    def find(self, canonical: str) -> CrawlRequest | None:
        """The lead with this canonical form, whatever its state; None when there is none."""
        query = select(frontier).where(self._ours, frontier.c.canonical == canonical)
        with self._store.reading() as connection:
            row = connection.execute(query).one_or_none()
        return None if row is None else entry_in(row).crawl_request

    def requests(self) -> Iterator[CrawlRequest]:
        """Everything that was ever to be asked for, settled or not, in the order of discovery; a page at a time."""
        last = 0
        query = (
            select(frontier)
            .where(self._ours, frontier.c.frontier_id > bindparam("last"))
            .order_by(frontier.c.frontier_id)
            .limit(_PAGE)
        )
        while True:
            with self._store.reading() as connection:
                page = [entry_in(row) for row in connection.execute(query, {"last": last})]
            if not page:
                return
            last = page[-1].entry_id
            yield from (entry.crawl_request for entry in page)

    def targets(self) -> Iterator[tuple[Ark, str]]:
        """The ARKs that were ever to be asked for, each with its URL, in the order of discovery; a page at a time."""
        last = 0
        query = (
            select(frontier.c.frontier_id, frontier.c.ark, frontier.c.url)
            .where(self._ours, frontier.c.ark.is_not(None), frontier.c.frontier_id > bindparam("last"))
            .order_by(frontier.c.frontier_id)
            .limit(_PAGE)
        )
        while True:
            with self._store.reading() as connection:
                page = connection.execute(query, {"last": last}).all()
            if not page:
                return
            last = page[-1].frontier_id
            yield from ((Ark.parse(ark), url) for _, ark, url in page)

    def settled(self) -> set[str]:
        """The canonical forms of all that has its outcome."""
        query = select(frontier.c.canonical).where(self._ours, is_in(FrontierState.DONE))
        with self._store.reading() as connection:
            return set(connection.execute(query).scalars())

    def listed(self) -> set[str]:
        """The digests of what the sources that have their outcome have listed."""
        query = select(frontier.c.listed).where(self._ours, frontier.c.listed.is_not(None))
        with self._store.reading() as connection:
            return set(connection.execute(query).scalars())

    def counts(self) -> Mapping[FrontierState, int]:
        """Return how many entries are in each state; files are not counted."""
        query = (
            select(frontier.c.state, func.count())
            .where(self._ours, frontier.c.kind != RequestKind.FILE)
            .group_by(frontier.c.state)
        )
        with self._store.reading() as connection:
            found = {FrontierState(state): int(count) for state, count in connection.execute(query)}
        return {state: found.get(state, 0) for state in FrontierState}

    def handed_out(self) -> int:
        """Return how many entries were ever claimed to be asked for; neither files nor what redirects led to are
        counted.
        """
        query = select(func.count()).where(self._ours, frontier.c.kind != RequestKind.FILE, frontier.c.attempts > 0)
        with self._store.reading() as connection:
            return connection.scalar(query) or 0

    @property
    def _ours(self) -> ColumnElement[bool]:
        return (frontier.c.run_id == self._run_id) & (frontier.c.spider == self._spider)


def _pieces(leads: Iterable[CrawlRequest], size: int) -> Iterator[list[CrawlRequest]]:
    piece: list[CrawlRequest] = []
    for crawl_request in leads:
        piece.append(crawl_request)
        if len(piece) == size:
            yield piece
            piece = []
    yield piece
