"""The observations of a store: answers about ARKs, and what was seen of hosts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache

from sqlalchemy import (
    Connection,
    bindparam,
    func,
    select,
)
from sqlalchemy.dialects.sqlite import Insert, insert

from crawler.model import schema
from crawler.model.observations import Observation, Question, TlsResult
from crawler.model.resolving import SUCCESSES
from crawler.store.database import ARK_PARTS, PAGE, Database, adding
from crawler.store.stored_rows import observation_of, observation_row, record_of


class ObservationTables(Database):
    """The tables of answers, certificates, pauses and traffic."""

    def _record_observations(self, connection: Connection, run_id: int, observations: Sequence[Observation]) -> None:
        """Record those that are not there yet: a statement for all."""
        self._learn_ark_ids(connection, list(dict.fromkeys(observation.ark for observation in observations)))
        rows = [
            observation_row(observation, run_id, self._ark_id(connection, observation.ark))
            for observation in observations
        ]
        connection.execute(adding(schema.observation), rows)

    def observations(self, run_id: int, questions: Collection[Question] = ()) -> Iterator[Observation]:
        """Every observation of a run, in the order in which they were made; a page at a time.

        Only those of some *questions*, if there are any.
        """
        observation = schema.observation
        query = (
            select(observation, *ARK_PARTS)
            .join_from(observation, schema.ark)
            .where(
                observation.c.run_id + 0 == run_id, observation.c.observation_id > bindparam("last")
            )  # + 0: not by that index
            .order_by(observation.c.observation_id)
            .limit(PAGE)
        )
        if questions:
            query = query.where(observation.c.question.in_([question.value for question in questions]))
        with self.reading() as connection:
            first = connection.scalar(
                select(func.min(observation.c.observation_id)).where(observation.c.run_id == run_id)
            )
        last = (first or 1) - 1
        while first is not None:
            with self.reading() as connection:
                rows = connection.execute(query, {"last": last}).all()
            if not rows:
                return
            last = rows[-1].observation_id
            yield from map(observation_of, rows)

    def observations_about(self, run_id: int, request_urls: Sequence[str]) -> Iterator[Observation]:
        """Return what a run observed for these URLs of object questions; in the order in which they were made
        for each.
        """
        observation = schema.observation
        query = (
            select(observation, *ARK_PARTS)
            .join_from(observation, schema.ark)
            .where(observation.c.run_id == run_id, observation.c.request_url.in_(bindparam("urls", expanding=True)))
            .order_by(observation.c.observation_id)
        )
        for start in range(0, len(request_urls), PAGE):
            with self.reading() as connection:
                rows = connection.execute(query, {"urls": list(request_urls[start : start + PAGE])}).all()
            yield from map(observation_of, rows)

    def observations_at(
        self, run_id: int, request_url: str, question: Question | None = None, attempt: int | None = None
    ) -> list[Observation]:
        """Return what a run observed for one URL of an object question, by attempts; or the one answer to one
        of these.
        """
        observation = schema.observation
        query = (
            select(observation, *ARK_PARTS)
            .join_from(observation, schema.ark)
            .where(observation.c.run_id == run_id, observation.c.request_url == request_url)
            .order_by(observation.c.attempt, observation.c.observation_id)
        )
        if question is not None:
            query = query.where(observation.c.question == question.value, observation.c.attempt == attempt)
        with self.reading() as connection:
            return [observation_of(row) for row in connection.execute(query)]

    def landings(self, run_id: int) -> Mapping[str, str]:
        """Return where redirects have led to a success, by the URL of the object question; of several attempts the
        last.
        """
        observation = schema.observation.c
        query = (
            select(observation.request_url, observation.status, observation.hop_count, observation.final_url)
            .where(observation.run_id == run_id, observation.question == Question.OBJECT.value)
            .order_by(observation.request_url, observation.attempt)
        )
        landings: dict[str, str] = {}
        with self.reading() as connection:
            for row in connection.execute(query):
                landings.pop(row.request_url, None)
                if row.hop_count and row.status in SUCCESSES:
                    landings[row.request_url] = row.final_url
        return landings

    def tls_results(self, run_id: int) -> Iterator[TlsResult]:
        """Return what was seen of the certificates of a run's hosts."""
        query = select(schema.tls_probe).where(schema.tls_probe.c.run_id == run_id)
        with self._engine.connect() as connection:
            for row in connection.execute(query):
                yield record_of(TlsResult, row)

    def tls_result_of_day(self, host: str, port: int, *, day: str, means: str) -> TlsResult | None:
        """Return the result of a handshake with a host on a *day* (ISO 8601, UTC) in any run, by these *means*, if
        one did.
        """
        probe = schema.tls_probe.c
        query = (
            select(schema.tls_probe)
            .where(probe.host == host, probe.port == port, probe.means == means, probe.trusted.is_not(None))
            .where(probe.at.startswith(day))
            .order_by(probe.at.desc())
            .limit(1)
        )
        with self._engine.connect() as connection:
            row = connection.execute(query).first()
            return None if row is None else record_of(TlsResult, row)


@cache
def adding_up() -> Insert:
    """The statement that counts what went to a host together with what went there before in the run."""
    columns = schema.host_traffic.c
    new = insert(schema.host_traffic)
    added = {"requests": columns.requests + new.excluded.requests, "failures": columns.failures + new.excluded.failures}
    latest = {name: new.excluded[name] for name in ("interval_s", "crawl_delay_s", "given_up")}
    return new.on_conflict_do_update(index_elements=["run_id", "host"], set_={**added, **latest})
