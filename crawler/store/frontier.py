"""The frontier: what a run has still to ask for, kept in the store, so that nothing is lost and nothing asked twice.

What a document leads to is added, and an entry settled, in the very transaction that records what was observed. The
only place that reads or writes the table `frontier`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, bindparam, func, literal_column, select, update
from sqlalchemy.sql.dml import ReturningUpdate

from crawler.model.crawl_requests import CrawlRequest, FrontierState, RequestKind
from crawler.model.observations import moment
from crawler.model.schema import frontier
from crawler.store.database import PAGE, Database, adding, record_of, row_of
from extractors.model.ark import Ark

columns = frontier.c
#: The spiders, by the names under which their entries are.
DOCUMENTS, ARKS = "documents", "arks"
#: So long an entry belongs to the one who claimed it. A store has one writer: after a crash no one waits for it.
CLAIM = timedelta(hours=1)


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
    """Put *leads* after what is there, within a transaction of the store."""
    if leads:
        rows = [_waiting(run_id, spider, crawl_request) for crawl_request in leads]
        connection.execute(adding(frontier), rows)


def settle(connection: Connection, run_id: int, settled: Sequence[SettledEntry]) -> None:
    """Note that these entries have their outcome, within the transaction of the store that records it."""
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
    .values(state=FrontierState.DONE, claimed_until=None, listed=bindparam("has_listed"))
)


def claim_end() -> str:
    """The moment at which a claim that is made now ends."""
    return moment(datetime.now(UTC) + CLAIM)


def is_in(state: FrontierState) -> ColumnElement[bool]:
    """Return whether a row is in *state*, in words that SQLite finds in an index: a parameter would hide them."""
    return columns.state == literal_column(f"'{state.value}'")


def _waiting(run_id: int, spider: str, crawl_request: CrawlRequest) -> dict[str, Any]:
    """The row of a lead that waits."""
    return row_of(
        crawl_request,
        frontier,
        run_id=run_id,
        spider=spider,
        ark=None if crawl_request.ark is None else str(crawl_request.ark),
        rank=0 if crawl_request.is_urgent else 1,
        state=FrontierState.WAITING,
        attempts=0,
        claimed_until=None,
        listed=None,
    )


def entry_in(row: Row[Any]) -> FrontierEntry:
    """The entry that is in a row."""
    ark = None if row.ark is None else Ark.parse(row.ark)
    return FrontierEntry(row.frontier_id, record_of(CrawlRequest, row, ark=ark), row.attempts)


class Frontier:
    """The requests that one spider of a run has still to send."""

    def __init__(self, store: Database, run_id: int, spider: str) -> None:
        self._store = store
        self._run_id = run_id
        self._spider = spider

    def add(self, leads: Iterable[CrawlRequest]) -> None:
        """Put *leads* after what is there; those that are there already stay as they are. Streams in bounded pieces.

        Raises `crawler.store.StoreUnwritable`.
        """
        left = iter(leads)
        while piece := list(islice(left, PAGE)):
            with self._store.transaction() as connection:
                add_requests(connection, self._run_id, self._spider, piece)

    def arrive(self, crawl_request: CrawlRequest) -> bool:
        """Claim *lead* for whom redirects have led there, unless someone has found it; whether no one had.

        It counts as never handed out. Raises `crawler.store.StoreUnwritable`.
        """
        values = self._arrival(crawl_request)
        with self._store.transaction() as connection:
            return connection.execute(adding(frontier), values).rowcount > 0

    def take_over(self, crawl_request: CrawlRequest, state: FrontierState, *, by: CrawlRequest) -> bool:
        """Claim *lead*, where redirects of *by* have led, if it is in this *state* and was found after *by*.

        So it doesn't depend on whose answer came first who has found it. Raises
        `crawler.store.StoreUnwritable`.
        """
        theirs = select(columns.frontier_id).where(self._ours, columns.canonical == by.canonical)
        which = (
            (columns.canonical == crawl_request.canonical)
            & (columns.frontier_id > theirs.scalar_subquery())
            & (columns.state == state)
            & ((columns.state != FrontierState.CLAIMED) | (columns.attempts > 0))  # not where redirects have led before
        )
        with self._store.transaction() as connection:
            done = connection.execute(update(frontier).where(self._ours, which).values(self._arrival(crawl_request)))
            return done.rowcount > 0

    def _arrival(self, crawl_request: CrawlRequest) -> dict[str, Any]:
        claimed = {"state": FrontierState.CLAIMED, "claimed_until": claim_end()}
        return _waiting(self._run_id, self._spider, crawl_request) | claimed

    def hosts(self) -> list[str]:
        """The hosts at which something waits, in the order in which they were come by."""
        query = (
            select(columns.host)
            .where(self._ours, is_in(FrontierState.WAITING))
            .group_by(columns.host)
            .order_by(func.min(columns.frontier_id))
        )
        return [host for (host,) in self._store.rows(query)]

    def claim(self, shares: Mapping[str, int]) -> list[FrontierEntry]:
        """Claim up to so many entries of each host, in the order of their discovery; one transaction."""
        waiting = (
            select(columns.frontier_id)
            .where(self._ours, is_in(FrontierState.WAITING), columns.host == bindparam("at"))
            .order_by(columns.rank, columns.frontier_id)
            .limit(bindparam("most"))
        )
        statement, until = self._claiming(columns.frontier_id.in_(waiting)), claim_end()
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
            is_arrival = (columns.state == FrontierState.CLAIMED) & (columns.attempts == 0)
            waiting = {"state": FrontierState.WAITING, "claimed_until": None}
            connection.execute(update(frontier).where(self._ours, is_arrival).values(waiting))
            claiming = self._claiming(columns.state == FrontierState.CLAIMED)
            rows = connection.execute(claiming, {"until": claim_end()}).all()
        return sorted((entry_in(row) for row in rows), key=lambda entry: entry.entry_id)

    def _claiming(self, which: ColumnElement[bool]) -> ReturningUpdate[Any]:
        return (
            update(frontier)
            .where(self._ours, which)
            .values(state=FrontierState.CLAIMED, attempts=columns.attempts + 1, claimed_until=bindparam("until"))
            .returning(frontier)
        )

    def find(self, canonical: str) -> CrawlRequest | None:
        """The lead with this canonical form, whatever its state; None when there is none."""
        query = select(frontier).where(self._ours, columns.canonical == canonical)
        return next((entry_in(row).crawl_request for row in self._store.rows(query)), None)

    def requests(self) -> Iterator[CrawlRequest]:
        """Everything that was ever to be asked for, settled or not, in the order of discovery; a page at a time."""
        for rows in self._store.pages(select(frontier).where(self._ours), columns.frontier_id):
            yield from (entry_in(row).crawl_request for row in rows)

    def targets(self) -> Iterator[tuple[Ark, str]]:
        """The ARKs that were ever to be asked for, each with its URL, in the order of discovery; a page at a time."""
        query = select(columns.frontier_id, columns.ark, columns.url)
        for rows in self._store.pages(query.where(self._ours, columns.ark.is_not(None)), columns.frontier_id):
            yield from ((Ark.parse(row.ark), row.url) for row in rows)

    def settled(self) -> set[str]:
        """The canonical forms of all that has its outcome."""
        query = select(columns.canonical).where(self._ours, is_in(FrontierState.DONE))
        return {value for (value,) in self._store.rows(query)}

    def listed(self) -> set[str]:
        """The digests of what the sources that have their outcome have listed."""
        query = select(columns.listed).where(self._ours, columns.listed.is_not(None))
        return {value for (value,) in self._store.rows(query)}

    def counts(self) -> Mapping[FrontierState, int]:
        """Return how many entries are in each state; files are not counted."""
        query = (
            select(columns.state, func.count())
            .where(self._ours, columns.kind != RequestKind.FILE)
            .group_by(columns.state)
        )
        counts = {FrontierState(state): int(count) for state, count in self._store.rows(query)}
        return {state: counts.get(state, 0) for state in FrontierState}

    def handed_out(self) -> int:
        """Return how many entries were ever claimed to be asked for; neither files nor what redirects led to are
        counted.
        """
        query = select(func.count()).where(self._ours, columns.kind != RequestKind.FILE, columns.attempts > 0)
        [(count,)] = self._store.rows(query)
        return int(count)

    @property
    def _ours(self) -> ColumnElement[bool]:
        return (columns.run_id == self._run_id) & (columns.spider == self._spider)
