"""The links of documents, kept as keys, and which document has found which in the end.

The only place that reads or writes the table `outlinks`.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

from sqlalchemy import ColumnElement, Connection, bindparam, insert, select, update

from crawler.model.crawl_requests import Outlinks, document_key, same_document
from crawler.model.observations import DocumentOutcome, DocumentRecord
from crawler.model.schema import document, frontier, mention, outlinks
from crawler.sources.source_reading import finders
from crawler.store.frontier import DOCUMENTS

_ROWS_AT_ONCE = 500
#: Outcomes of documents that are there.
_LIVE = {DocumentOutcome.READ.value, DocumentOutcome.REDIRECTED.value}


def add_outlinks(connection: Connection, run_id: int, documents: Iterable[tuple[int, DocumentRecord]]) -> None:
    """Record what documents link to, by the keys of their rows, within a transaction of the store.

    A document that was on the frontier has a row also if it has no links; one from an archive has none.
    """
    rows = [
        {
            "run_id": run_id,
            "document_id": document_id,
            "key": document_key(document_record.settles or document_record.url),
            "found_on": links.found_on,
            "targets": bytes.fromhex(links.targets),
        }
        for document_id, document_record in documents
        for links in document_record.outlinks
        or ((Outlinks.to(document_record.url, b""),) if document_record.settles is not None else ())
    ]
    if rows:
        connection.execute(insert(outlinks), rows)


def note_finders(connection: Connection, run_id: int) -> None:
    """Write to the documents of a run who has found them, now that all links are known.

    Until then it is the one that was read first. Those with links on the way that are not on record stay as they are.
    """
    led_to: dict[bytes, bytes | None] = {}
    query = (
        select(outlinks.c.key, document.c.outcome, document.c.final_url)
        .join_from(outlinks, document)
        .where(outlinks.c.run_id == run_id)
        .execution_options(yield_per=_ROWS_AT_ONCE)
    )
    for row in connection.execute(query):
        is_redirected = row.outcome == DocumentOutcome.REDIRECTED.value and row.final_url is not None
        led_to[row.key] = document_key(same_document(row.final_url)) if is_redirected else None
    finders_of = iter(finders(_seeds(connection, run_id), led_to, partial(_links_of, connection, run_id)).items())
    while some := dict(islice(finders_of, _ROWS_AT_ONCE)):
        of_keys = select(outlinks.c.key, outlinks.c.document_id).where(_is_one_of(run_id, list(some))).distinct()
        rows = connection.execute(of_keys).all()
        connection.execute(_CHANGE, [{"of_document": row.document_id, "finder": some[row.key]} for row in rows])


_CHANGE = (
    update(document)
    .where(document.c.document_id == bindparam("of_document"))
    .where(document.c.found_on.is_distinct_from(bindparam("finder")))
    .values(found_on=bindparam("finder"))
)


def _is_one_of(run_id: int, keys: Sequence[bytes]) -> ColumnElement[bool]:
    return (outlinks.c.run_id == run_id) & outlinks.c.key.in_(keys)


def _seeds(connection: Connection, run_id: int) -> list[bytes]:
    """The keys of what a crawl began with, in the order that the user gave; then of where their redirects led."""
    query = (
        select(frontier.c.canonical)
        .where(frontier.c.run_id == run_id, frontier.c.spider == DOCUMENTS, frontier.c.found_on.is_(None))
        .order_by(frontier.c.frontier_id)
    )
    return [document_key(canonical) for canonical in connection.scalars(query)]


def _links_of(connection: Connection, run_id: int, keys: Sequence[bytes]) -> Mapping[bytes, Sequence[Outlinks]]:
    """The links of documents, in their order."""
    query = (
        select(outlinks.c.key, outlinks.c.found_on, outlinks.c.targets)
        .where(_is_one_of(run_id, keys))
        .order_by(outlinks.c.outlinks_id)
    )
    links: dict[bytes, list[Outlinks]] = {}
    for row in connection.execute(query):
        links.setdefault(row.key, []).append(Outlinks.to(row.found_on, row.targets))
    return links


@dataclass(frozen=True, slots=True)
class DeadSource:
    """A seed that lists documents, of which none could be read."""

    url: str
    parts: frozenset[bytes]
    """The keys of the source itself, and of the sources that it lists, such as the sitemaps of an index."""


def dead_sources(connection: Connection, run_id: int) -> list[DeadSource]:
    """Return the seeds of a run that list documents, of which none could be read; in the order of the seeds.

    One that cites an ARK itself is none of them, nor is one that lists nothing.
    """
    query = (
        select(frontier.c.canonical, frontier.c.url, frontier.c.found_on)
        .where(frontier.c.run_id == run_id, frontier.c.spider == DOCUMENTS, frontier.c.listed.is_not(None))
        .order_by(frontier.c.frontier_id)
    )
    listing = connection.execute(query).all()
    keys = {document_key(row.canonical) for row in listing}
    seeds = [(row.url, document_key(row.canonical)) for row in listing if row.found_on is None]
    sources = ((url, _dead_parts(connection, run_id, seed, keys)) for url, seed in seeds)
    return [DeadSource(url, parts) for url, parts in sources if parts is not None]


def _dead_parts(connection: Connection, run_id: int, seed: bytes, listing: Container[bytes]) -> frozenset[bytes] | None:
    """The keys of a source and its parts, where none of what they list could be read, and something could not."""
    parts: dict[bytes, None] = {seed: None}
    looked_at = 0
    has_dead = False
    while looked_at < len(parts):
        part = list(parts)[looked_at]
        looked_at += 1
        links = _links_of(connection, run_id, [part]).get(part, ())
        targets = {key for link in links for key in link.target_keys()}
        parts |= dict.fromkeys(key for key in targets if key in listing)
        state = _outcomes_of(connection, run_id, part, [key for key in targets if key not in listing])
        if state is None:
            return None
        has_dead = has_dead or state
    return frozenset(parts) if has_dead else None


def _outcomes_of(connection: Connection, run_id: int, part: bytes, targets: Sequence[bytes]) -> bool | None:
    """Return whether documents that *part* lists could not be had or read; None if one was read, or *part* cites an
    ARK.
    """
    has_mention = select(mention.c.mention_id).where(mention.c.document_id == outlinks.c.document_id).exists()
    if connection.scalar(select(outlinks.c.key).where(_is_one_of(run_id, [part]), has_mention).limit(1)) is not None:
        return None
    has_dead = False
    for start in range(0, len(targets), _ROWS_AT_ONCE):
        some = list(targets[start : start + _ROWS_AT_ONCE])
        query = select(document.c.outcome).join_from(outlinks, document).where(_is_one_of(run_id, some)).distinct()
        outcomes = set(connection.scalars(query))
        if outcomes & _LIVE:
            return None
        has_dead = has_dead or bool(outcomes)
    return has_dead
