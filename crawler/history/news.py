"""What a run has changed: the events of its ARKs, what fails since, and what was known already."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from crawler import schema
from crawler.history.standing import EventKind, State
from crawler.schema import is_current_mention

#: States that are trouble whether or not they are new.
_TROUBLE = (State.CONFIRMED_BROKEN.value, State.FLAPPING.value, State.FAILING.value)


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that happened to an ARK at one URL."""

    kind: str
    """An event, or ``failing`` where a failure is new that nothing has confirmed yet."""
    ark: str
    request_url: str
    state: str
    detail: str
    citations: int
    """How often the documents of this run cite it there."""


@dataclass(frozen=True, slots=True)
class News:
    """What a run has changed."""

    run_id: int
    at: str
    items: tuple[Item, ...]
    """In the order of the ARKs' names."""
    known_problems: int
    """ARKs that fail, and did so before this run."""
    suspect: str
    """Why the failures of this run count for nothing, if so: most hosts gave no answer."""


def news_of(connection: Connection, run_id: int) -> News:
    """The news of a run that has ended."""
    event, ark, latest, run = schema.event, schema.ark, schema.latest, schema.run
    here = (latest.c.ark_id == event.c.ark_id) & (latest.c.request_url == event.c.request_url)
    happened = (
        select(event.c.event, ark.c.ark, event.c.request_url, latest.c.state, event.c.detail)
        .join_from(event, ark)
        .join(latest, here)
        .where(event.c.run_id == run_id)
    )
    begun = connection.execute(select(run.c.started_at).where(run.c.run_id == run_id)).scalar_one()
    failing = (
        select(latest.c.state, ark.c.ark, latest.c.request_url, latest.c.state, latest.c.reason)
        .join_from(latest, ark)
        .join(schema.verdict, schema.verdict.c.verdict_id == latest.c.verdict_id)
        .where(
            schema.verdict.c.run_id == run_id,
            latest.c.state == State.FAILING.value,
            latest.c.since >= begun,
        )
    )
    cited = _citations(connection, run_id)
    items = sorted(
        (Item(*row, cited.get(row[2], 0)) for query in (happened, failing) for row in connection.execute(query)),
        key=lambda item: (item.ark, item.request_url, item.kind),
    )
    fresh = {item.request_url for item in items if item.kind in (EventKind.BROKE, State.FAILING)}
    troubled = connection.scalars(
        select(latest.c.request_url).where(latest.c.state.in_(_TROUBLE), latest.c.gone_at.is_(None))
    )
    suspect = connection.scalar(
        select(schema.assessment.c.reason).where(schema.assessment.c.run_id == run_id, schema.assessment.c.is_suspect)
    )
    known = sum(url not in fresh for url in troubled)
    return News(run_id, begun, tuple(items), known, suspect or "")


def _citations(connection: Connection, run_id: int) -> dict[str, int]:
    """How often the documents of a run cite each URL; a link and its text are one citation."""
    mention, document = schema.mention, schema.document
    places = (
        select(mention.c.request_url, mention.c.document_id, mention.c.citation)
        .join_from(mention, document)
        .where(document.c.run_id == run_id, is_current_mention, mention.c.request_url.is_not(None))
        .distinct()
        .subquery()
    )
    counted = select(places.c.request_url, func.count()).group_by(places.c.request_url)
    return {row[0]: row[1] for row in connection.execute(counted)}
