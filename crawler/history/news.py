"""The news of a run: the events of its ARKs, new failures, and known ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from sqlalchemy import Connection, exists, func, select

from crawler.history import triaging
from crawler.history.ark_status import ArkState, EventKind
from crawler.history.triage import TriageAction, known_words
from crawler.history.triaging import Treated
from crawler.model import schema
from crawler.model.schema import is_current_mention

#: States that are trouble whether or not they are new.
_TROUBLE = (ArkState.CONFIRMED_BROKEN, ArkState.FLAPPING, ArkState.FAILING)


@dataclass(frozen=True, slots=True)
class NewsItem:
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
    """The changes that a run has made known."""

    run_id: int
    at: str
    items: tuple[NewsItem, ...]
    """In the order of the ARKs' names."""
    known_problems: int
    """ARKs that fail, and did so before this run."""
    suspect: str
    """Why the failures of this run count for nothing, if so: most hosts gave no answer."""
    triaged: str = ""
    """How many ARKs' problems someone has acknowledged or ignored, in words; they are in none of the above."""
    is_first: bool = False
    """Whether no run came before, so that nothing can be new in it."""


def news_of(connection: Connection, run_id: int) -> News:
    """The news of a run that has ended."""
    event, ark, latest, run = schema.event.c, schema.ark.c, schema.latest.c, schema.run.c
    here = schema.at_one_url(latest, event)
    happened = (
        select(event.ark_id, event.event, ark.ark, event.request_url, latest.state, event.detail)
        .join_from(schema.event, schema.ark)
        .join(schema.latest, here)
        .where(event.run_id == run_id)
    )
    begun = connection.execute(select(run.started_at).where(run.run_id == run_id)).scalar_one()
    failing = (
        select(latest.ark_id, latest.state, ark.ark, latest.request_url)
        .add_columns(latest.state, latest.reason)
        .join_from(schema.latest, schema.ark)
        .join(schema.verdict, schema.verdict.c.verdict_id == latest.verdict_id)
        .where(schema.verdict.c.run_id == run_id, latest.state == ArkState.FAILING, latest.since >= begun)
    )
    cited = _citations(connection, run_id)
    counting = select(latest.verdict_id).where(latest.verdict_id.is_not(None))
    decided = triaging.treated(connection, counting, run_id)
    items = []
    for query in (happened, failing):
        for ark_id, kind, name, url, state, detail in connection.execute(query):
            if is_raised(kind, decided.get((ark_id, url))):
                items.append(NewsItem(kind, name, url, state, detail, cited.get(url, 0)))
    items.sort(key=lambda item: (item.ark, item.request_url, item.kind))
    fresh = {item.ark for item in items if item.kind in (EventKind.BROKE, ArkState.FAILING)}
    troubled = connection.execute(
        select(latest.ark_id, ark.ark, latest.request_url)
        .join_from(schema.latest, schema.ark)
        .where(latest.state.in_(_TROUBLE), latest.gone_at.is_(None))
    )
    suspect = connection.scalar(
        select(schema.assessment.c.reason).where(schema.assessment.c.run_id == run_id, schema.assessment.c.is_suspect)
    )
    known_pairs = {pair for pair, treated in decided.items() if treated.is_known}
    known_problems = {
        ark_id for ark_id, name, url in troubled if name not in fresh and (ark_id, url) not in known_pairs
    }
    has_earlier = connection.scalar(select(exists().where(run.started_at < begun)))
    return News(
        run_id, begun, tuple(items), len(known_problems), suspect or "", count_words(decided), is_first=not has_earlier
    )


def is_raised(kind: str, treated: Treated | None) -> bool:
    """Return whether something that happened to an ARK is reported, whatever was decided of it.

    That it works again, or was seen for the first or the last time, always is.
    """
    if treated is None or kind in (EventKind.RECOVERED, EventKind.NEW, EventKind.GONE):
        return True
    if kind in (EventKind.BROKE, ArkState.FAILING):
        return not (treated.is_known or treated.whole.is_silent)
    return not treated.whole.is_silent


def count_words(decided: Mapping[tuple[Any, str], Treated]) -> str:
    """Return how many ARKs are known problems, in words; empty for none. One that is both counts as acknowledged."""
    known_problems = [(ark, treated.whole) for (ark, _), treated in decided.items() if treated.is_known]
    acknowledged = {ark for ark, treated in known_problems if treated.action is TriageAction.ACKNOWLEDGE}
    ignored: dict[Any, date] = {}
    for ark, treated in known_problems:
        if ark not in acknowledged and treated.until is not None:
            ignored[ark] = min(treated.until, ignored.get(ark, treated.until))
    return known_words(len(acknowledged), [*ignored.values()])


def _citations(connection: Connection, run_id: int) -> dict[str, int]:
    """Return how often the documents of a run cite each URL; a link and its text are one citation."""
    mention, document = schema.mention.c, schema.document.c
    places = (
        select(mention.request_url, mention.document_id, mention.citation)
        .join_from(schema.mention, schema.document)
        .where(document.run_id == run_id, is_current_mention, mention.request_url.is_not(None))
        .distinct()
        .subquery()
    )
    counted = select(places.c.request_url, func.count()).group_by(places.c.request_url)
    return {row[0]: row[1] for row in connection.execute(counted)}
