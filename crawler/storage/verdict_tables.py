"""The verdicts of a store, the status of ARKs over time, and what people decided about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import cache
from itertools import islice
from typing import Any

from sqlalchemy import (
    Connection,
    delete,
    select,
)
from sqlalchemy.dialects.sqlite import Insert, insert

from crawler.history import latest, triaging
from crawler.history.ark_status import ArkState, StatusPolicy
from crawler.history.rechecking import KnownArk
from crawler.history.triage import TriageDecision
from crawler.history.triaging import Treated
from crawler.model import schema
from crawler.model.observations import ServiceVerdict, Verdict
from crawler.storage.database import PAGE, Database
from crawler.storage.stored_rows import row_of


class VerdictTables(Database):
    """The tables of verdicts and of known problems."""

    def record_verdicts(self, run_id: int, verdicts: Iterable[Verdict]) -> None:
        """Record what all observations of a run amount to, in place of what fewer of them did before.

        And what that makes of the status of its ARKs. *verdicts* may read the store as they go, by `reading`.
        """
        with self._writing() as connection:
            connection.exec_driver_sql("PRAGMA defer_foreign_keys=ON")  # of `latest`, which is made again below
            connection.execute(delete(schema.verdict).where(schema.verdict.c.run_id == run_id))
            of_run = iter(verdicts)
            while some := list(islice(of_run, PAGE)):
                self._learn_ark_ids(connection, list(dict.fromkeys(verdict.ark for verdict in some)))
                rows = [self._verdict_values(connection, run_id, verdict) for verdict in some]
                connection.execute(_replacing_verdict(), rows)
            latest.note_verdicts(connection, run_id)

    def _verdict_values(self, connection: Connection, run_id: int, verdict: Verdict) -> dict[str, Any]:
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
            **{name: service.outcome.value for name, service in services.items()},
            **{f"{name}_evidence": service.evidence for name, service in services.items()},
            metadata_parsed=dict(verdict.metadata.parsed),
            commitment_parsed=dict(verdict.commitment.parsed),
        )

    def set_status_policy(self, policy: StatusPolicy) -> None:
        """Keep the status of ARKs by *policy* from now on; if it was another, all history is read again by it."""
        with self._writing() as connection:
            latest.keep_by(connection, policy)

    def known_arks(self) -> Iterator[KnownArk]:
        """Every ARK at every URL that was ever cited or checked, with its status; in the order of the store."""
        with self._engine.connect() as connection:
            yield from latest.known_arks(connection)

    def decisions(self) -> list[TriageDecision]:
        """Return what people have decided about known problems."""
        with self._engine.connect() as connection:
            return triaging.decisions(connection)

    def decide(self, decisions: Iterable[TriageDecision]) -> None:
        """Keep decisions, each in place of an earlier one of its kind about the same."""
        with self._writing() as connection:
            triaging.keep(connection, decisions)

    def decide_by_file(self, decisions: Iterable[TriageDecision], *, at: datetime) -> tuple[int, int]:
        """Make the decisions of a file that was read *at* a moment these; returns how many are new, how many gone."""
        with self._writing() as connection:
            return triaging.keep_file(connection, decisions, at=at)

    def forget_decisions(self, decisions: Iterable[TriageDecision]) -> None:
        """Take decisions back."""
        with self._writing() as connection:
            for decision in decisions:
                triaging.forget(connection, decision.key)

    def idle_decisions(self) -> list[TriageDecision]:
        """What was decided about no ARK that the store knows."""
        with self.reading() as connection:
            return triaging.idle(connection)

    def touched_by(self, decisions: Sequence[TriageDecision]) -> list[tuple[str, str, ArkState]]:
        """The ARKs, URLs and states that *decisions* are about, in the order of the store."""
        with self._engine.connect() as connection:
            touched = triaging.touched(connection, decisions)
            return [(row.ark, row.request_url, ArkState(row.state)) for row, _ in touched]

    def treated(self, run_id: int) -> dict[tuple[str, str], Treated]:
        """Return what was decided of the ARKs that a run has judged, by ARK and URL; those with a decision alone."""
        verdict, ark = schema.verdict, schema.ark
        with self._engine.connect() as connection:
            judged = select(verdict.c.verdict_id).where(verdict.c.run_id == run_id)
            found = triaging.treated(connection, judged, run_id)
            if not found:
                return {}
            names = {row.ark_id: row.ark for row in connection.execute(select(ark.c.ark_id, ark.c.ark))}
            return {(names[ark_id], url): each for (ark_id, url), each in found.items()}


@cache
def _replacing_verdict() -> Insert:
    """The statement that records a verdict, in place of an earlier one about the same."""
    new = insert(schema.verdict)
    values = {column.name: new.excluded[column.name] for column in schema.verdict.c if not column.primary_key}
    return new.on_conflict_do_update(index_elements=["run_id", "request_url"], set_=values)
