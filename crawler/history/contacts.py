"""The contact of each run with each host, read from its hops: who answered, who was silent, and what that proves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import Connection, delete, func, select, tuple_
from sqlalchemy.dialects.sqlite import insert

from crawler.history.outages import MISSES_EXPECTED, Contact, assess, host_of
from crawler.model import schema
from crawler.model.observations import ChainEnd

_MET = frozenset({ChainEnd.REFUSED, ChainEnd.RESET, ChainEnd.TLS, ChainEnd.PROTOCOL_ERROR})
_SILENT = frozenset({ChainEnd.DNS, ChainEnd.TIMEOUT})


@dataclass(slots=True)
class _Met:
    """The contact with one host so far."""

    answered: int = 0
    met: int = 0
    silent: int = 0
    first_at: str = ""
    last_at: str = ""
    failure: str | None = None

    def note(self, at: str) -> None:
        self.first_at = min(self.first_at or at, at)
        self.last_at = max(self.last_at, at)


def contacts_of(chains: Iterable[tuple[str, Sequence[Mapping[str, Any]]]]) -> dict[str, _Met]:
    """Return what was met at each host on *chains*: how each ended, and its hops.

    A request that our own guard or robots.txt held back has met nobody.
    """
    met: dict[str, _Met] = {}
    for end, hops in chains:
        for number, hop in enumerate(hops, start=1):
            host = host_of(hop["url"])
            is_failure = hop.get("status") is None
            if host is None or (is_failure and (number < len(hops) or end not in _MET | _SILENT)):
                continue
            here = met.setdefault(host, _Met())
            here.note(hop["at"])
            if not is_failure:
                here.answered += 1
                continue
            here.failure = end
            if end in _MET:
                here.met += 1
            else:
                here.silent += 1
    return met


def record_contacts(connection: Connection, run_id: int) -> bool:
    """Keep what a run met at its hosts, and whether it is suspect, which is what comes back.

    What was kept of this run before is replaced. Every earlier run must have been recorded.
    """
    contact, assessment = schema.contact, schema.assessment
    connection.execute(delete(contact).where(contact.c.run_id == run_id))
    met = contacts_of(_chains(connection, run_id))
    if met:
        connection.execute(
            insert(contact), [{"run_id": run_id, "host": host, **asdict(met[host])} for host in sorted(met)]
        )
    found = assess(
        [Contact(host, each.answered, each.met, each.silent) for host, each in met.items()],
        _misses(connection, run_id, met),
    )
    values = asdict(found)
    connection.execute(
        insert(assessment).values(run_id=run_id, **values).on_conflict_do_update(index_elements=["run_id"], set_=values)
    )
    return found.is_suspect


def _chains(connection: Connection, run_id: int) -> Iterator[tuple[str, Sequence[Mapping[str, Any]]]]:
    for table, end in (
        (schema.document, schema.document.c.outcome),
        (schema.observation, schema.observation.c.chain_end),
    ):
        for row in connection.execute(select(end, table.c.hops).where(table.c.run_id == run_id)):
            yield row[0], row[1]


def _misses(connection: Connection, run_id: int, hosts: Iterable[str]) -> dict[str, int]:
    """Return how many of the last runs that asked them, in a row, these hosts left without an answer, as far as it
    counts.
    """
    contact, run, wanted = schema.contact, schema.run, set(hosts)
    this = select(run.c.started_at, run.c.run_id).where(run.c.run_id == run_id).subquery()
    back = func.row_number().over(partition_by=contact.c.host, order_by=(run.c.started_at.desc(), run.c.run_id.desc()))
    earlier = (
        select(contact.c.host, contact.c.answered, back.label("back"))
        .join(run)
        .where(tuple_(run.c.started_at, run.c.run_id) < select(this).scalar_subquery())
        .subquery()
    )
    query = select(earlier.c.host, earlier.c.answered).where(earlier.c.back <= MISSES_EXPECTED)
    last: dict[str, list[int]] = {}
    for host, answered in connection.execute(query.order_by(earlier.c.host, earlier.c.back)):
        if host in wanted:
            last.setdefault(host, []).append(answered)
    return {host: next((at for at, count in enumerate(counts) if count), len(counts)) for host, counts in last.items()}
