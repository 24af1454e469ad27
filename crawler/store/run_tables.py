"""The runs of a store: how each began, how far it is, how it ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from sqlalchemy import (
    select,
    update,
)
from sqlalchemy.dialects.sqlite import insert

from crawler.history import latest
from crawler.history.news import News, news_of
from crawler.model import schema
from crawler.store.database import Database
from crawler.store.outlinks import note_finders

#: States of a run. One that is running although no one has its store open has crashed.
RUNNING, FINISHED = "running", "finished"


@dataclass(frozen=True, slots=True)
class Run:
    """A run, as far as it matters to who may resume it."""

    run_id: int
    command: str
    started_at: str
    state: str
    plan: Mapping[str, Any] | None
    """What decides what it asks; none in a run that no one can resume."""

    @property
    def is_finished(self) -> bool:
        """True if it came to its end."""
        return self.state == FINISHED

    @property
    def is_reported(self) -> bool:
        """True if nothing is left to say of it: its report is written, and anyone who wants its news has them."""
        return self.plan is None or bool(self.plan.get("reported", True))


class RunTables(Database):
    """The tables of runs."""

    def begin_run(
        self,
        *,
        command: str,
        at: str,
        version: str,
        resolver: str,
        user_agent: str,
        seeds: Iterable[str],
        plan: Mapping[str, Any] | None = None,
        uuid: str | None = None,
    ) -> int:
        """A new run; returns its number.

        *plan* is what it must have in common with a command that resumes it. Its *uuid* names it in every store
        that it is brought into.
        """
        with self._writing() as connection:
            done = connection.execute(
                insert(schema.run).values(
                    command=command,
                    started_at=at,
                    state=RUNNING,
                    version=version,
                    resolver=resolver,
                    user_agent=user_agent,
                    seeds=list(seeds),
                    plan=None if plan is None else dict(plan),
                )
            )
            key = done.inserted_primary_key
            assert key is not None
            run_id = int(key[0])
            connection.execute(insert(schema.provenance).values(run_id=run_id, uuid=uuid or str(uuid4())))
            return run_id

    def runs(self, command: str) -> list[Run]:
        """The runs that a command has made, the newest first."""
        query = select(schema.run).where(schema.run.c.command == command).order_by(schema.run.c.run_id.desc())
        with self.reading() as connection:
            return [
                Run(row.run_id, row.command, row.started_at, row.state, row.plan) for row in connection.execute(query)
            ]

    def run_ids(self) -> list[int]:
        """The runs, in the order in which they began."""
        query = select(schema.run.c.run_id).order_by(schema.run.c.started_at, schema.run.c.run_id)
        with self._engine.connect() as connection:
            return list(connection.scalars(query))

    def go_on_with_run(self, run_id: int) -> None:
        """Note that a run that did not finish is running again."""
        with self._writing() as connection:
            values = {"ended_at": None, "state": RUNNING}
            connection.execute(update(schema.run).where(schema.run.c.run_id == run_id).values(values))

    def end_run(self, run_id: int, *, at: str, state: str) -> None:
        """Note how and when a run ended: ``finished``, ``interrupted`` or ``failed``."""
        with self._writing() as connection:
            connection.execute(update(schema.run).where(schema.run.c.run_id == run_id).values(ended_at=at, state=state))
            latest.note_end(connection, run_id)

    def note_reported(self, run_id: int) -> None:
        """Note that nothing is left to say of a run that was begun with ``reported`` false in its plan."""
        with self._writing() as connection:
            of_run = schema.run.c.run_id == run_id
            plan = connection.scalar(select(schema.run.c.plan).where(of_run))
            if plan is not None:
                connection.execute(update(schema.run).where(of_run).values(plan={**plan, "reported": True}))

    def note_finders(self, run_id: int) -> None:
        """Let each document of a run say which of all that link to it has found it, now that all are read."""
        with self._writing() as connection:
            note_finders(connection, run_id)

    def news(self, run_id: int) -> News:
        """Return what a run that has ended has changed."""
        with self._engine.connect() as connection:
            return news_of(connection, run_id)
