"""What archives have of ARKs that fail: which are asked about, and what they answered."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, Row, select
from sqlalchemy.dialects.sqlite import insert

from crawler.history.ark_status import ArkState
from crawler.mementos import CaptureWish, MementoOutcome, MementoRecord, capture_wish, is_due
from crawler.model import schema
from crawler.model.observations import FAMILY_OF, Family, ObjectOutcome
from crawler.storage.database import ARK_PARTS, Database
from crawler.storage.stored_rows import ark_of, record_of, row_of
from extractors.ark import Ark

_FAILING: Final = [outcome.value for outcome, family in FAMILY_OF.items() if family is Family.FAILS]
#: Outcomes by which the object itself was reached, at the URL that the verdict has.
_LANDED: Final = [
    outcome.value for outcome in (ObjectOutcome.RESOLVED, ObjectOutcome.RELATED, ObjectOutcome.WORKS_ELSEWHERE)
]


class MementoTables(Database):
    """The table of captures, and what it takes to ask for them."""

    def _record_memento(self, connection: Connection, run_id: int, record: MementoRecord) -> None:
        """Record what an archive answered; asked once more in the same run, it is that in place of the other."""
        self._learn_ark_ids(connection, [record.ark])
        values = row_of(record, schema.memento, run_id=run_id, ark_id=self._ark_id(connection, record.ark))
        statement = insert(schema.memento).values(values)
        connection.execute(statement.on_conflict_do_update(index_elements=["run_id", "request_url"], set_=values))

    def capture_wishes(
        self, run_id: int, timegate: str, *, now: datetime, max_age_s: float
    ) -> Iterator[tuple[Ark, str]]:
        """The ARKs and URLs of a run's verdicts about which an archive is to be asked, in the order of the verdicts.

        Those that fail, and those whose failure, of whatever kind, is confirmed; but for those about which *timegate*
        has given an answer in any run that is not too old. Examples and tests are never among them.
        """
        with self.reading() as connection:
            failing = connection.execute(self._failing(run_id)).all()
        for row in failing:
            ark = ark_of(row)
            if ark.is_skipped:
                continue
            with self.reading() as connection:
                known = connection.execute(_last_answer(row.request_url, timegate)).first()
                worked = self._last_good(connection, row)
            if known is None or is_due(
                MementoOutcome(known.outcome),
                datetime.fromisoformat(known.at),
                now=now,
                max_age_s=max_age_s,
                worked_at=None if worked is None else datetime.fromisoformat(worked.started_at),
            ):
                yield ark, row.request_url

    def capture_wish(self, run_id: int, request_url: str) -> CaptureWish:
        """Return what an archive is asked for about the ARK that a run saw fail at a URL."""
        with self.reading() as connection:
            row = connection.execute(self._failing(run_id, request_url)).one()
            worked = self._last_good(connection, row)
        return capture_wish(
            ark_of(row),
            request_url,
            led_to=row.final_url,
            good_url=None if worked is None else worked.final_url,
            worked_at=None if worked is None else datetime.fromisoformat(worked.started_at),
        )

    def mementos(self, run_id: int) -> Iterator[MementoRecord]:
        """What an archive has of the ARKs that a run has judged, as it was last told, in this run or before it."""
        memento, verdict = schema.memento, schema.verdict
        query = (
            select(memento, *ARK_PARTS)
            .join_from(verdict, memento, memento.c.request_url == verdict.c.request_url)
            .join(schema.ark, schema.ark.c.ark_id == memento.c.ark_id)
            .where(verdict.c.run_id == run_id, memento.c.ark_id == verdict.c.ark_id)
            .order_by(memento.c.at)
        )
        with self.reading() as connection:
            last = {row.request_url: row for row in connection.execute(query)}
        for row in last.values():
            yield record_of(MementoRecord, row, ark=ark_of(row))

    @staticmethod
    def _failing(run_id: int, request_url: str | None = None) -> Any:
        verdict, latest = schema.verdict, schema.latest
        is_confirmed = latest.c.state == ArkState.CONFIRMED_BROKEN.value
        query = (
            select(verdict.c.ark_id, verdict.c.request_url, verdict.c.final_url, schema.run.c.started_at, *ARK_PARTS)
            .join_from(verdict, schema.ark)
            .join(schema.run, schema.run.c.run_id == verdict.c.run_id)
            .outerjoin(latest, (latest.c.ark_id == verdict.c.ark_id) & (latest.c.request_url == verdict.c.request_url))
            .where(verdict.c.run_id == run_id)
            .order_by(verdict.c.verdict_id)
        )
        if request_url is not None:
            return query.where(verdict.c.request_url == request_url)
        return query.where(verdict.c.object.in_(_FAILING) | is_confirmed)

    @staticmethod
    def _last_good(connection: Connection, row: Row[Any]) -> Any:
        """The last verdict of an earlier run that has reached the ARK's object, and when that run began; or None."""
        verdict, run = schema.verdict, schema.run
        query = (
            select(verdict.c.final_url, run.c.started_at)
            .join_from(verdict, run)
            .where(verdict.c.ark_id == row.ark_id, verdict.c.object.in_(_LANDED), verdict.c.final_url.is_not(None))
            .where(run.c.started_at < row.started_at)
            .order_by(run.c.started_at.desc(), verdict.c.verdict_id.desc())
            .limit(1)
        )
        return connection.execute(query).first()


def _last_answer(request_url: str, timegate: str) -> Any:
    memento = schema.memento.c
    return (
        select(memento.outcome, memento.at)
        .where(memento.request_url == request_url, memento.timegate == timegate)
        .order_by(memento.at.desc())
        .limit(1)
    )
