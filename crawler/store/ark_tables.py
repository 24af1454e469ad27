"""The tables of a store about ARKs: observations, verdicts and status over time.

Also pauses and traffic of hosts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from itertools import islice
from typing import Any, NamedTuple

from sqlalchemy import Connection, Integer, Row, bindparam, distinct, func, literal, or_, select, update
from sqlalchemy.dialects.sqlite import insert

from crawler.answers.facts import DESCRIBING, ENOUGH_DESCRIBING
from crawler.answers.mementos import MementoRecord, WantedCapture, may_ask_again, wanted_capture
from crawler.answers.page_copies import ENOUGH_PAGES
from crawler.history import latest
from crawler.history.ark_status import ArkState, StatusPolicy
from crawler.history.problems import problems_of
from crawler.history.rechecking import KnownArk
from crawler.model import schema
from crawler.model.observations import (
    Family,
    Hop,
    ObjectOutcome,
    Observation,
    Problem,
    Question,
    ServiceVerdict,
    Verdict,
)
from crawler.model.outcomes import MementoOutcome
from crawler.model.resolving import INFLECTED, SUCCESSES, without_inflection
from crawler.store.database import ARK_PARTS, PAGE, Database, ark_of, insert_if_new, observation_of, record_of, row_of
from extractors.model.ark import Ark
from extractors.model.documents import Finding

_FAILING = [outcome for outcome in ObjectOutcome if outcome.family is Family.FAILS]
#: Outcomes that reached the object itself, at the final URL of the verdict.
_LANDED = (ObjectOutcome.RESOLVED, ObjectOutcome.RELATED, ObjectOutcome.WORKS_ELSEWHERE)
#: Maximum number of documents whose dates are compared, the first that were fetched.
_MOST_DATES = 100


class ReachedPage(NamedTuple):
    """The page that a request for an object reached."""

    url: str
    is_redirected: bool
    describes: bool
    """True if the page describes the object: it is metadata, or has enough values labelled as who, what and when."""


_OBSERVATIONS = select(schema.observation, *ARK_PARTS).join_from(schema.observation, schema.ark)


class ArkTables(Database):
    """The tables of observations, verdicts, known problems, captures, pauses and traffic."""

    def _record_observations(self, connection: Connection, run_id: int, observations: Sequence[Observation]) -> None:
        """Record the new observations with one statement."""
        self._cache_ark_ids(connection, (observation.ark for observation in observations))
        rows = [
            row_of(
                observation,
                schema.observation,
                run_id=run_id,
                ark_id=self._ark_id(connection, observation.ark),
                chain_end=observation.end,
                hop_count=max(len(observation.hops) - 1, 0),
            )
            for observation in observations
        ]
        connection.execute(insert_if_new(schema.observation), rows)

    def observations(self, run_id: int, questions: Collection[Question] = ()) -> Iterator[Observation]:
        """Yield the observations of a run in their order; read in pages.

        If *questions* are given, only the observations of these.
        """
        observation = schema.observation.c
        query = _OBSERVATIONS.where(observation.run_id + 0 == run_id)  # + 0 keeps SQLite from using that index
        if questions:
            query = query.where(observation.question.in_(questions))
        first_id = select(func.min(observation.observation_id)).where(observation.run_id == run_id)
        first_key = self.rows(first_id)[0][0]
        if first_key is not None:
            for rows in self.pages(query, observation.observation_id, after=first_key - 1):
                yield from map(observation_of, rows)

    def observations_about(self, run_id: int, request_urls: Sequence[str]) -> Iterator[Observation]:
        """Yield a run's observations for *request_urls*; those of one URL in the order in which they were recorded."""
        observation = schema.observation.c
        query = _OBSERVATIONS.where(
            observation.run_id == run_id, observation.request_url.in_(bindparam("urls", expanding=True))
        ).order_by(observation.observation_id)
        for start in range(0, len(request_urls), PAGE):
            urls = list(request_urls[start : start + PAGE])
            yield from map(observation_of, self.rows(query, {"urls": urls}))

    def observations_at(
        self, run_id: int, request_url: str, question: Question | None = None, attempt: int | None = None
    ) -> list[Observation]:
        """Return a run's observations for one request URL, ordered by attempt; only those of one *question* and
        *attempt* if given.
        """
        observation = schema.observation.c
        query = _OBSERVATIONS.where(observation.run_id == run_id, observation.request_url == request_url).order_by(
            observation.attempt, observation.observation_id
        )
        if question is not None:
            query = query.where(observation.question == question, observation.attempt == attempt)
        return list(map(observation_of, self.rows(query)))

    def reached_pages(self, run_id: int) -> Mapping[str, ReachedPage]:
        """Return the pages that successful requests for objects reached, by request URL; the last attempt counts."""
        observation = schema.observation.c
        label_types = (func.json_type(observation.facts, f"$.kernel_values.{label_type}") for label_type in DESCRIBING)
        is_record = observation.record.is_not(None) & func.json_type(observation.record, "$.error").is_(None)
        label_count = sum((label_type.is_not(None).cast(Integer) for label_type in label_types), literal(0))
        query = (
            select(
                observation.request_url,
                observation.status,
                observation.final_url,
                (observation.hop_count > 0).label("is_redirected"),
                or_(is_record, label_count >= ENOUGH_DESCRIBING).label("describes"),
            )
            .where(observation.run_id == run_id, observation.question == Question.OBJECT)
            .order_by(observation.request_url, observation.attempt)
        )
        last_rows = {row.request_url: row for row in self.rows(query)}
        return {
            url: ReachedPage(row.final_url, row.is_redirected, row.describes)
            for url, row in last_rows.items()
            if row.status in SUCCESSES
        }

    def repeated_pages(self, run_id: int) -> Mapping[str, Mapping[Ark, set[str]]]:
        """Return the final URLs at which a run got the same page, by page digest and ARK (without qualifier).

        Only pages that at least `ENOUGH_PAGES` ARKs and as many final URLs share are included.
        """
        observation = schema.observation.c
        of_objects = (observation.run_id == run_id, observation.question.in_((Question.OBJECT, *INFLECTED)))
        repeated_digests = (
            select(observation.page_digest)
            .where(*of_objects, observation.page_digest.is_not(None))
            .group_by(observation.page_digest)
            .having(func.count(distinct(observation.final_url)) >= ENOUGH_PAGES)
            .having(func.count(distinct(observation.ark_id)) >= ENOUGH_PAGES)
        )
        query = (
            select(observation.page_digest, observation.final_url, *ARK_PARTS)
            .join_from(schema.observation, schema.ark)
            .where(*of_objects, observation.page_digest.in_(repeated_digests))
        )
        arks_by_digest: defaultdict[str, defaultdict[Ark, set[str]]] = defaultdict(lambda: defaultdict(set))
        for row in self.rows(query):
            arks_by_digest[row.page_digest][ark_of(row).base].add(without_inflection(row.final_url))
        return arks_by_digest

    # -- verdicts, the status over time, and decisions

    def begin_verdicts(self, run_id: int, basis: str | None = None) -> frozenset[str]:
        """Delete the verdicts of a run, unless they were made with the same *basis* from the same observations.

        *basis* is a text that changes with all that verdicts depend on, apart from observations; None always deletes.
        Return the request URLs of the verdicts that are left.
        """
        run, verdict, observation = schema.run.c, schema.verdict.c, schema.observation.c
        last_observation = select(func.max(observation.observation_id)).where(observation.run_id == run_id)
        with self.transaction() as connection:
            basis = basis and f"{basis}, up to observation {connection.scalar(last_observation)}"
            plan = connection.scalar(select(run.plan).where(run.run_id == run_id))
            if basis is not None and plan is not None and plan.get("judged_by") == basis:
                judged_urls = select(verdict.request_url).where(verdict.run_id == run_id)
                return frozenset(connection.scalars(judged_urls))
            latest.forget_verdicts(connection, run_id)
            if plan is not None:
                plan = {**plan, "judged_by": basis}
                connection.execute(update(schema.run).where(run.run_id == run_id).values(plan=plan))
        return frozenset()

    def record_verdicts(
        self,
        run_id: int,
        verdicts: Iterable[Verdict],
        recorded: Collection[str] | None = None,
        findings_of: Callable[[Verdict], Iterable[Finding]] = lambda verdict: (),
    ) -> None:
        """Record the verdicts of a run with their findings, in batches, and update the status of its ARKs.

        Each batch is durable once it is recorded. Verdicts at the URLs in *recorded* are skipped; if it is None, all
        verdicts are replaced. *verdicts* may use `read_connection` as they are generated.
        """
        if recorded is None:
            recorded = self.begin_verdicts(run_id)
        new_verdicts = (verdict for verdict in verdicts if verdict.request_url not in recorded)
        replace_row = schema.upsert(schema.verdict, "run_id", "request_url")
        last_key_query = select(func.coalesce(func.max(schema.verdict.c.verdict_id), 0))
        while batch := list(islice(new_verdicts, PAGE)):
            with self.transaction() as connection:
                self._cache_ark_ids(connection, (verdict.ark for verdict in batch))
                last_key = connection.execute(last_key_query).scalar_one()
                rows = [self._verdict_values(connection, run_id, verdict) for verdict in batch]
                connection.execute(replace_row, rows)
                findings = [
                    {"run_id": run_id, "subject": str(verdict.ark), **asdict(finding)}
                    for verdict in batch
                    for finding in findings_of(verdict)
                ]
                if findings:
                    connection.execute(insert_if_new(schema.finding), findings)
                latest.note_batch(connection, run_id, after=last_key)
        with self.transaction() as connection:
            latest.note_verdicts(connection, run_id, is_resumed=bool(recorded))

    def _verdict_values(self, connection: Connection, run_id: int, verdict: Verdict) -> dict[str, Any]:
        """Return the columns of the row for a verdict."""
        services: dict[str, ServiceVerdict[Any]] = {
            "object": verdict.object,
            "metadata": verdict.metadata,
            "commitment": verdict.commitment,
        }
        return row_of(
            verdict,
            schema.verdict,
            run_id=run_id,
            ark_id=self._ark_id(connection, verdict.ark),
            hop_count=max(len(verdict.hops) - 1, 0),
            request_count=verdict.requests,
            did_you_mean=verdict.did_you_mean.json if verdict.did_you_mean else None,
            **{name: service.outcome for name, service in services.items()},
            **{f"{name}_evidence": service.evidence for name, service in services.items()},
            metadata_parsed=dict(verdict.metadata.parsed),
            commitment_parsed=dict(verdict.commitment.parsed),
        )

    def set_status_policy(self, policy: StatusPolicy) -> None:
        """Set the *policy* for the status of ARKs; if it has changed, rebuild the history by it."""
        with self.transaction() as connection:
            latest.set_policy(connection, policy)

    def known_arks(self) -> Iterator[KnownArk]:
        """Yield every ARK at every URL ever cited or checked, with its status, in the order of the store."""
        with self.read_connection() as connection:
            yield from latest.known_arks(connection)

    def problems(self, run_id: int) -> dict[tuple[str, str], Problem]:
        """Return the problems among the verdicts of a run, by ARK and request URL."""
        verdict_ids = select(schema.verdict.c.verdict_id).where(schema.verdict.c.run_id == run_id)
        with self.read_connection() as connection:
            problems = problems_of(connection, verdict_ids, run_id)
        return {(problem.ark, url): problem for (_, url), problem in problems.items()}

    # -- captures in web archives of failing ARKs

    def _record_memento(self, connection: Connection, run_id: int, record: MementoRecord) -> None:
        """Record an archive's answer; it replaces an earlier one of the same run."""
        self._cache_ark_ids(connection, [record.ark])
        values = row_of(record, schema.memento, run_id=run_id, ark_id=self._ark_id(connection, record.ark))
        connection.execute(schema.upsert(schema.memento, "run_id", "request_url"), values)

    def capture_wishes(
        self, run_id: int, timegate: str, *, now: datetime, max_age_s: float
    ) -> Iterator[tuple[Ark, str]]:
        """Yield the ARKs and URLs of a run to ask an archive for, in the order of the verdicts.

        These ARKs fail, or have a confirmed failure. An ARK is left out if the archive at *timegate* answered about it in
        the *max_age_s* seconds before *now*, unless it has worked since. Example and test ARKs are left out, too.
        """
        memento = schema.memento.c
        for row in self.rows(self._failing_verdicts(run_id)):
            ark = ark_of(row)
            if ark.is_skipped:
                continue
            answer_query = (
                select(memento.outcome, memento.at)
                .where(memento.request_url == row.request_url, memento.timegate == timegate)
                .order_by(memento.at.desc())
                .limit(1)
            )
            last_answer = next(iter(self.rows(answer_query)), None)
            if last_answer is None or may_ask_again(
                MementoOutcome(last_answer.outcome),
                datetime.fromisoformat(last_answer.at),
                now=now,
                max_age_s=max_age_s,
                worked_at=self._last_working_url(row)[1],
            ):
                yield ark, row.request_url

    def wanted_capture(self, run_id: int, request_url: str) -> WantedCapture:
        """Return the request to an archive about the ARK that failed at *request_url* in a run."""
        [row] = self.rows(self._failing_verdicts(run_id, request_url))
        good_url, worked_at = self._last_working_url(row)
        document, mention = schema.document, schema.mention
        citing_query = (
            select(document.c.fetched_at, document.c.hops)
            .order_by(document.c.fetched_at)
            .limit(_MOST_DATES)
            .where(
                document.c.document_id.in_(
                    select(mention.c.document_id).where(
                        mention.c.ark_id == row.ark_id, mention.c.request_url == request_url
                    )
                )
            )
        )
        documents = [(row.fetched_at, [Hop(**hop) for hop in row.hops]) for row in self.rows(citing_query)]
        return wanted_capture(
            ark_of(row), request_url, led_to=row.final_url, good_url=good_url, worked_at=worked_at, documents=documents
        )

    def mementos(self, run_id: int) -> Iterator[MementoRecord]:
        """Yield the last answer of an archive, of this run or before, about each ARK with a verdict in a run."""
        memento, verdict = schema.memento, schema.verdict
        query = (
            select(memento, *ARK_PARTS)
            .join_from(verdict, memento, memento.c.request_url == verdict.c.request_url)
            .join(schema.ark, schema.ark.c.ark_id == memento.c.ark_id)
            .where(verdict.c.run_id == run_id, memento.c.ark_id == verdict.c.ark_id)
            .order_by(memento.c.at)
        )
        last_rows = {row.request_url: row for row in self.rows(query)}
        return (record_of(MementoRecord, row, ark=ark_of(row)) for row in last_rows.values())

    @staticmethod
    def _failing_verdicts(run_id: int, request_url: str | None = None) -> Any:
        """Return the query of verdicts of a run that fail or are confirmed; with *request_url*, of all there."""
        verdict, latest = schema.verdict, schema.latest
        is_confirmed = latest.c.state == ArkState.CONFIRMED_BROKEN
        query = (
            select(verdict.c.ark_id, verdict.c.request_url, verdict.c.final_url, schema.run.c.started_at, *ARK_PARTS)
            .join_from(verdict, schema.ark)
            .join(schema.run, schema.run.c.run_id == verdict.c.run_id)
            .outerjoin(latest, schema.at_one_url(latest.c, verdict.c))
            .where(verdict.c.run_id == run_id)
            .order_by(verdict.c.verdict_id)
        )
        if request_url is not None:
            return query.where(verdict.c.request_url == request_url)
        return query.where(verdict.c.object.in_(_FAILING) | is_confirmed)

    def _last_working_url(self, row: Row[Any]) -> tuple[str | None, datetime | None]:
        """Return the final URL of the last earlier run that reached the object of the verdict *row*, and its start.

        Both are None if no run reached the object.
        """
        verdict, run = schema.verdict, schema.run
        query = (
            select(verdict.c.final_url, run.c.started_at)
            .join_from(verdict, run)
            .where(
                verdict.c.ark_id == row.ark_id,
                verdict.c.object.in_(_LANDED),
                verdict.c.final_url.is_not(None),
                run.c.started_at < row.started_at,
            )
            .order_by(run.c.started_at.desc(), verdict.c.verdict_id.desc())
            .limit(1)
        )
        for url, started_at in self.rows(query):
            return url, datetime.fromisoformat(started_at)
        return None, None


_traffic, _new_traffic = schema.host_traffic.c, insert(schema.host_traffic)
#: The statement that adds to the counts of a host's traffic in a run.
TRAFFIC_UPSERT = _new_traffic.on_conflict_do_update(
    index_elements=["run_id", "host"],
    set_={
        **{name: _traffic[name] + _new_traffic.excluded[name] for name in ("requests", "failures")},
        **{name: _new_traffic.excluded[name] for name in ("interval_s", "crawl_delay_s", "given_up")},
    },
)
