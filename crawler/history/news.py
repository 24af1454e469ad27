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
from crawler.history.triaging import TriagedArk
from crawler.model import schema
from crawler.model.schema import is_current_mention

#: The states of problems, new or old.
_TROUBLE = (ArkState.CONFIRMED_BROKEN, ArkState.FLAPPING, ArkState.FAILING)


@dataclass(frozen=True, slots=True)
class NewsItem:
    """An event of an ARK at one URL."""

    kind: str
    """An event, or ``failing`` for a new failure without confirmation."""
    ark: str
    request_url: str
    state: str
    detail: str
    citations: int
    """The number of citations in the documents of this run."""


@dataclass(frozen=True, slots=True)
class News:
    """The changes that a run has shown."""

    run_id: int
    at: str
    items: tuple[NewsItem, ...]
    """Ordered by the names of the ARKs."""
    known_problems: int
    """The number of ARKs that failed before this run and still do."""
    suspect: str
    """Why the failures of this run do not count (most hosts gave no answer), or empty."""
    triaged: str = ""
    """The number of ARKs with acknowledged or ignored problems, in words; they are not counted above."""
    is_first: bool = False
    """True for the first run of a store, which can show no changes."""


def news_of(connection: Connection, run_id: int) -> News:
    """Return the news of a run that has ended."""
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
    decided = triaging.triaged_arks(connection, counting, run_id)
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
    known_pairs = {pair for pair, triaged in decided.items() if triaged.is_known}
    known_problems = {
        ark_id for ark_id, name, url in troubled if name not in fresh and (ark_id, url) not in known_pairs
    }
    has_earlier = connection.scalar(select(exists().where(run.started_at < begun)))
    return News(
        run_id, begun, tuple(items), len(known_problems), suspect or "", count_words(decided), is_first=not has_earlier
    )


def is_raised(kind: str, triaged: TriagedArk | None) -> bool:
    """Return True if an event of an ARK is reported in spite of the decisions about it.

    A recovery, a first citation and a last citation always are.
    """
    if triaged is None or kind in (EventKind.RECOVERED, EventKind.NEW, EventKind.GONE):
        return True
    if kind in (EventKind.BROKE, ArkState.FAILING):
        return not (triaged.is_known or triaged.whole.is_silent)
    return not triaged.whole.is_silent


def count_words(decided: Mapping[tuple[Any, str], TriagedArk]) -> str:
    """Return the number of ARKs that are known problems, in words; empty if none. Acknowledged takes precedence."""
    known_problems = [(ark, triaged.whole) for (ark, _), triaged in decided.items() if triaged.is_known]
    acknowledged = {ark for ark, triaged in known_problems if triaged.action is TriageAction.ACKNOWLEDGE}
    ignored: dict[Any, date] = {}
    for ark, triaged in known_problems:
        if ark not in acknowledged and triaged.until is not None:
            ignored[ark] = min(triaged.until, ignored.get(ark, triaged.until))
    return known_words(len(acknowledged), [*ignored.values()])


def _citations(connection: Connection, run_id: int) -> dict[str, int]:
    """Return the number of citations of each URL in the documents of a run; a link and its text count once."""
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
