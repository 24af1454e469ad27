"""The documents of a store, with their citations, links and findings.

Only this module reads or writes the table `outlinks`, which stores links as keys.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import asdict, replace
from functools import partial
from itertools import islice
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, Text, and_, bindparam, cast, func, or_, select, update
from sqlalchemy.dialects.sqlite import insert

from crawler.history import problems
from crawler.history.citations import unreached_documents
from crawler.model import schema
from crawler.model.crawl_requests import Outlinks, canonical_form, document_key
from crawler.model.observations import (
    CitedMention,
    DecidedOn,
    DocumentOutcome,
    DocumentRecord,
    StoredMention,
    StoredUnresolvedMention,
)
from crawler.sources.source_reading import finders
from crawler.store.database import ARK_PARTS, PAGE, Database, ark_of, insert_if_new, mention_of, row_of
from crawler.store.frontier import DOCUMENTS
from extractors.find import UnresolvedMention
from extractors.model.ark import Ark
from extractors.model.documents import Finding
from extractors.processes.codec import from_plain, to_plain
from extractors.wraps.reasons import Reason

_ark, _document, _mention = schema.ark.c, schema.document.c, schema.mention.c
_frontier, _outlinks, _run = schema.frontier.c, schema.outlinks.c, schema.run.c
#: Outcomes of documents without a problem.
LIVE = frozenset(map(str, DocumentOutcome)) - {DocumentOutcome.UNREADABLE, DocumentOutcome.PAUSED}
#: The number of unreadable documents that a run names.
_MOST_UNREAD = 100

#: Mentions with another possible meaning or spelling, which the answers of resolvers may settle.
_is_open = and_(
    schema.is_asked_mention, or_(_mention.alternatives != [], cast(_mention.repairs, Text).contains("line wrap"))
)

_later, _this_run = schema.mention.alias(), schema.run.alias()
#: The URLs of the readings that runs before ``:of_run`` chose for mentions of an ARK at a URL, the last run first.
_ESTABLISHED = (
    select(_later.c.request_url)
    .join_from(schema.ark, schema.mention)
    .join(
        _later,
        and_(
            _later.c.document_id == _mention.document_id,
            _later.c.ordinal == _mention.ordinal,
            _later.c.decided == DecidedOn.SETTLED,
        ),
    )
    .join(schema.document, _document.document_id == _mention.document_id)
    .join(schema.run, _run.run_id == _document.run_id)
    .join(_this_run, and_(_this_run.c.run_id == bindparam("of_run"), _run.started_at < _this_run.c.started_at))
    .where(_ark.ark == bindparam("asked_ark"), _mention.request_url == bindparam("asked_url"))
    .where(_mention.decided < DecidedOn.SETTLED)
    .order_by(_run.started_at.desc(), _run.run_id.desc())
    .limit(1)
)


def _citations(run_id: int, *columns: Any) -> Select[Any]:
    """Return the query for *columns* of the citations in the documents of a run."""
    return (
        select(*columns)
        .join_from(schema.mention, schema.ark)
        .join(schema.document, _document.document_id == _mention.document_id)
        .where(_document.run_id == run_id)
    )


class DocumentTables(Database):
    """The tables of documents, mentions and findings."""

    def _record_documents(self, connection: Connection, run_id: int, documents: Sequence[DocumentRecord]) -> None:
        """Record the new documents with their mentions, findings and links: one statement for each table."""
        table = schema.document
        inserted_rows = connection.execute(
            insert_if_new(table).returning(table.c.url, table.c.document_id),
            [row_of(document, table, run_id=run_id) for document in documents],
        )
        document_ids = {row.url: row.document_id for row in inserted_rows}
        cited_arks = (cited_mention.mention.ark for document in documents for cited_mention in document.mentions)
        self._cache_ark_ids(connection, cited_arks)
        findings: list[dict[str, Any]] = []
        mentions: list[dict[str, Any]] = []
        linking_documents: list[tuple[int, DocumentRecord]] = []
        for document in documents:
            document_id = document_ids.pop(document.url, None)
            if document_id is None:
                continue
            linking_documents.append((document_id, document))
            finding_values = {"run_id": run_id, "document_id": document_id, "subject": document.url}
            findings += ({**finding_values, **asdict(finding)} for finding in document.findings)
            mentions += (
                self._mention_values(connection, document_id, ordinal, cited_mention)
                for ordinal, cited_mention in enumerate(document.mentions, start=1)
            )
        if findings:
            connection.execute(insert_if_new(schema.finding), findings)
        if mentions:
            connection.execute(insert(schema.mention), mentions)
        add_outlinks(connection, run_id, linking_documents)

    def _mention_values(
        self, connection: Connection, document_id: int, ordinal: int, cited_mention: CitedMention
    ) -> dict[str, Any]:
        """Return the columns of the row for a mention, the one with the number *ordinal* in its document."""
        mention = cited_mention.mention
        return row_of(
            mention,
            schema.mention,
            document_id=document_id,
            ordinal=ordinal,
            decided=cited_mention.decided,
            ark_id=self._ark_id(connection, mention.ark),
            request_url=cited_mention.request_url,
            confidence=mention.confidence.token,
            doubt=to_plain(cited_mention.unresolved) if cited_mention.unresolved is not None else None,
            **asdict(cited_mention.requests),
        )

    def record_logs(self, run_id: int, records: Sequence[DocumentRecord]) -> None:
        """Record the documents and mentions from server logs, after all documents were read; a repetition has no effect.

        A page that the run has read itself gets further mentions: the ARKs that visitors requested from it. Such a
        mention of an ARK that the page also cites gets the number of that citation.
        """
        mention_rows: defaultdict[str, list[Any]] = defaultdict(list)
        page_urls = {record.url for record in records}
        query = (
            select(_document.document_id, _document.url, _mention.ordinal, _mention.citation)
            .add_columns(_mention.request_url, _mention.asked)
            .join_from(schema.document, schema.mention, isouter=True)
            .where(_document.run_id == run_id)
            .order_by(_document.document_id, _mention.ordinal)
        )
        for row in self.rows(query):
            if row.asked is not None:
                return
            if row.url in page_urls:
                mention_rows[row.url].append(row)
        with self.transaction() as connection:
            new_records = [record for record in records if record.url not in mention_rows]
            if new_records:
                self._record_documents(connection, run_id, new_records)
            for record in records:
                page_rows = mention_rows[record.url]
                citation_numbers = {row.request_url: row.citation or 0 for row in page_rows}
                for number, cited_mention in enumerate(record.mentions if page_rows else (), start=1):
                    citation = citation_numbers.setdefault(
                        cited_mention.request_url, max(citation_numbers.values()) + 1
                    )
                    further_mention = replace(cited_mention, mention=replace(cited_mention.mention, citation=citation))
                    document_id, ordinal = page_rows[-1].document_id, (page_rows[-1].ordinal or 0) + number
                    values = self._mention_values(connection, document_id, ordinal, further_mention)
                    connection.execute(insert(schema.mention), [values])

    def document_url(self, document_id: int) -> str:
        """Return the URL or the path of a document."""
        query = select(_document.url).where(_document.document_id == document_id)
        return str(self.rows(query)[0].url)

    def record_findings(self, run_id: int, subject: str, findings: Iterable[Finding]) -> None:
        """Record findings that belong to no document, for example about an unusable seed."""
        with self.transaction() as connection:
            for finding in findings:
                values = {"run_id": run_id, "subject": subject, **asdict(finding)}
                connection.execute(insert_if_new(schema.finding), values)

    def record_decisions(self, decisions: Iterable[tuple[StoredMention, CitedMention]]) -> None:
        """Record mentions that were decided again, in rows next to those of the earlier readings.

        *decisions* are pairs of a stored mention and its new reading. A repeated pair has no effect.
        """
        with self.transaction() as connection:
            for stored_mention, new_mention in decisions:
                values = self._mention_values(
                    connection, stored_mention.document_id, stored_mention.ordinal, new_mention
                )
                connection.execute(insert_if_new(schema.mention), [values])

    def cited_targets(self, run_id: int, *, as_asked: bool = False) -> list[tuple[Ark, str]]:
        """Return the distinct pairs of ARK and request URL that a run's documents cite, in order of first citation.

        With *as_asked*, a doubtful mention has its first reading, even if answers of resolvers decided on another one
        later. A resumed run repeats exactly these requests.
        """
        first_mention = func.min(_mention.mention_id)
        condition = schema.is_asked_mention if as_asked else schema.is_current_mention
        query = (
            _citations(run_id, *ARK_PARTS, _mention.request_url)
            .where(condition)
            .group_by(_ark.ark_id, _mention.request_url)
            .order_by(first_mention)
        )
        return [(ark_of(row), row.request_url) for row in self.rows(query)]

    def cited_arks(self, run_id: int) -> Iterator[Ark]:
        """Yield the ARKs cited in a run, as read before any resolver answered. Exhaust it before other reads."""
        query = (
            _citations(run_id, *ARK_PARTS).where(schema.is_asked_mention).group_by(_ark.ark_id).order_by(_ark.ark_id)
        )
        with self.read_connection() as connection:
            for row in connection.execution_options(yield_per=PAGE).execute(query):
                yield ark_of(row)

    def whole_arks(self, run_id: int, *, in_documents: int = 1) -> list[Ark]:
        """Return the ARKs with a complete mention in at least *in_documents* documents of a run, sorted."""
        query = (
            _citations(run_id, *ARK_PARTS)
            .where(_mention.reason == Reason.COMPLETE)
            .group_by(_ark.ark_id)
            .having(func.count(_mention.document_id.distinct()) >= in_documents)
            .order_by(_ark.ark)
        )
        return [ark_of(row) for row in self.rows(query)]

    def unresolved_mentions(self, run_id: int) -> Iterator[StoredUnresolvedMention]:
        """Yield the mentions of a run that were uncertain when their document was read, in the order of documents."""
        mention = schema.mention
        query = (
            _citations(run_id, mention, *ARK_PARTS)
            .where(mention.c.doubt.is_not(None), mention.c.decided == DecidedOn.READ)
            .order_by(mention.c.mention_id)
        )
        for row in self.rows(query):
            doubt = from_plain(row.doubt, UnresolvedMention)
            yield StoredUnresolvedMention(row.document_id, row.ordinal, row.request_url, mention_of(row), doubt)

    def open_mentions(self, run_id: int) -> Iterator[StoredMention]:
        """Yield the mentions of a run that can be read as more than one ARK, in the order of the documents.

        Each has the reading that was chosen before any resolver answered.
        """
        query = _citations(run_id, schema.mention, *ARK_PARTS).where(_is_open).order_by(_mention.mention_id)
        for row in self.rows(query):
            yield StoredMention(row.document_id, row.ordinal, row.request_url, mention_of(row))

    def established_reading(self, run_id: int, ark: Ark, request_url: str) -> str | None:
        """Return the URL of the reading that an earlier run chose for a doubtful mention of *ark* at *request_url*.

        The last such run counts. None if no run chose a reading.
        """
        values = {"asked_ark": str(ark), "asked_url": request_url, "of_run": run_id}
        return next((url for (url,) in self.rows(_ESTABLISHED, values)), None)

    def counts(self, run_id: int) -> Mapping[str, int]:
        """Return counts of a run by name: ``documents``, ``read`` (also in part), ``redirected``, ``referers``, ``citations``."""
        of_run = _document.run_id == run_id
        citation_query = (
            select(_mention.document_id, _mention.citation)
            .where(_mention.document_id.in_(select(_document.document_id).where(of_run)))
            .where(schema.is_current_mention)
            .distinct()
        )
        outcome_query = select(_document.outcome, func.count()).where(of_run).group_by(_document.outcome)
        outcomes = {outcome: int(count) for outcome, count in self.rows(outcome_query)}
        [(citations,)] = self.rows(select(func.count()).select_from(citation_query.subquery()))
        return {
            "documents": sum(outcomes.values()),
            "read": outcomes.get(DocumentOutcome.READ, 0) + outcomes.get(DocumentOutcome.INCOMPLETE, 0),
            "redirected": outcomes.get(DocumentOutcome.REDIRECTED, 0),
            "referers": outcomes.get(DocumentOutcome.REFERER, 0),
            "citations": citations,
        }

    def note_finders(self, run_id: int) -> None:
        """Set `found_on` of each document of a run anew, so that it does not depend on the order of answers.

        Before, it was the linking document that happened to be read first. A document stays unchanged if the links that
        lead to it from a seed are not all recorded.
        """
        document, outlinks = schema.document, schema.outlinks
        query = (
            select(outlinks.c.key, document.c.outcome, document.c.final_url)
            .join_from(outlinks, document)
            .where(outlinks.c.run_id == run_id)
            .execution_options(yield_per=PAGE)
        )
        led_to: dict[bytes, bytes | None] = {}
        with self.transaction() as connection:
            for row in connection.execute(query):
                is_redirected = row.outcome == DocumentOutcome.REDIRECTED and row.final_url is not None
                led_to[row.key] = document_key(canonical_form(row.final_url)) if is_redirected else None
            # The seeds in the user's order, followed by the targets of their redirects.
            seed_query = (
                select(_frontier.canonical)
                .where(_frontier.run_id == run_id, _frontier.spider == DOCUMENTS, _frontier.found_on.is_(None))
                .order_by(_frontier.frontier_id)
            )
            seeds = [document_key(canonical) for canonical in connection.scalars(seed_query)]
            finder_items = iter(finders(seeds, led_to, partial(_links_of, connection, run_id)).items())
            while batch := dict(islice(finder_items, PAGE)):
                document_query = (
                    select(outlinks.c.key, outlinks.c.document_id).where(_is_link_of(run_id, list(batch))).distinct()
                )
                rows = connection.execute(document_query).all()
                connection.execute(
                    _CHANGE, [{"of_document": row.document_id, "finder": batch[row.key]} for row in rows]
                )

    def dead_sources(self, run_id: int) -> list[str]:
        """Return the URLs of the seeds of a run that are sources, such as sitemaps, and list only unreadable documents."""
        with self.read_connection() as connection:
            return list(_dead_sources(connection, run_id))

    def has_read_seed(self, run_id: int) -> bool:
        """Return True if the run read a seed other than sources that list only unreadable documents."""
        read_seed_query = select(_document.document_id).where(
            _document.run_id == run_id, _document.found_on.is_(None), _document.outcome.in_(LIVE)
        )
        if not self.rows(read_seed_query.limit(1)):
            return False
        with self.read_connection() as connection:
            dead_keys = set[bytes]().union(*_dead_sources(connection, run_id).values())
        return self.counts(run_id)["read"] > len(dead_keys)

    def locations_of(self, pairs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], list[tuple[str, int | None]]]:
        """Return the citing documents of *pairs* of ARK and request URL, from the last run that read documents.

        Each citation is a document's URL with the page number, or None. A pair without citations has an empty list.
        """
        ark_query = select(_ark.ark_id, _ark.ark).where(_ark.ark.in_({name for name, _ in pairs}))
        ark_texts = dict(self.rows(ark_query) if pairs else ())
        query = problems.citation_query(_mention.page).where(_mention.ark_id.in_(ark_texts))
        places: dict[tuple[str, str], list[tuple[str, int | None]]] = {pair: [] for pair in pairs}
        for ark_id, url, document_url, page in self.rows(problems.in_last_run(query)):
            if (ark_texts[ark_id], url) in places:
                places[ark_texts[ark_id], url].append((document_url, page))
        return places

    def unreached_documents(self, run_id: int) -> list[tuple[str, str | None]]:
        """Return the URL and `found_on` of web documents that a run has not found, but whose citations still count."""
        with self.read_connection() as connection:
            return unreached_documents(connection, run_id)

    def unread(self, run_id: int) -> list[tuple[str, str | None]]:
        """Return pairs for at most `_MOST_UNREAD` documents of a run that were not read whole, in order.

        A pair consists of the URL followed by the outcome or HTTP status in parentheses, and `found_on` (None for a
        seed).
        """
        query = (
            select(_document.url, _document.outcome, _document.status, _document.found_on)
            .where(_document.run_id == run_id, _document.outcome.not_in(LIVE - {DocumentOutcome.INCOMPLETE}))
            .order_by(_document.document_id)
            .limit(_MOST_UNREAD)
        )
        return [
            (f"{url} ({status if (status or 0) >= 400 else outcome})", found_on)
            for url, outcome, status, found_on in self.rows(query)
        ]


def add_outlinks(connection: Connection, run_id: int, documents: Iterable[tuple[int, DocumentRecord]]) -> None:
    """Record the links of *documents*, pairs of a row's key and its record, within a transaction of the store.

    A document from the frontier gets a row even without links. A document inside an archive gets one only with links.
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
        connection.execute(insert(schema.outlinks), rows)


_CHANGE = (
    update(schema.document)
    .where(_document.document_id == bindparam("of_document"))
    .where(_document.found_on.is_distinct_from(bindparam("finder")))
    .values(found_on=bindparam("finder"))
)


def _is_link_of(run_id: int, keys: Sequence[bytes]) -> ColumnElement[bool]:
    """Return the condition that a row has links from one of the documents with *keys* (`document_key`) in a run."""
    return (_outlinks.run_id == run_id) & _outlinks.key.in_(keys)


def _links_of(connection: Connection, run_id: int, keys: Sequence[bytes]) -> Mapping[bytes, Sequence[Outlinks]]:
    """Return the recorded links of the documents with *keys*, by key, in the order of their rows."""
    query = (
        select(_outlinks.key, _outlinks.found_on, _outlinks.targets)
        .where(_is_link_of(run_id, keys))
        .order_by(_outlinks.outlinks_id)
    )
    links: dict[bytes, list[Outlinks]] = {}
    for row in connection.execute(query):
        links.setdefault(row.key, []).append(Outlinks.to(row.found_on, row.targets))
    return links


def _dead_sources(connection: Connection, run_id: int) -> dict[str, set[bytes]]:
    """Return the keys of a source's parts by the URL of its seed, for seeds that list only unreadable documents.

    A seed is left out if it cites an ARK itself or lists nothing.
    """
    query = (
        select(_frontier.canonical, _frontier.url, _frontier.found_on)
        .where(_frontier.run_id == run_id, _frontier.spider == DOCUMENTS, _frontier.listed.is_not(None))
        .order_by(_frontier.frontier_id)
    )
    source_rows = {document_key(row.canonical): row for row in connection.execute(query)}
    parts = {
        row.url: _keys_of_dead_source(connection, run_id, key, source_rows.keys())
        for key, row in source_rows.items()
        if row.found_on is None
    }
    return {url: keys for url, keys in parts.items() if keys}


def _keys_of_dead_source(connection: Connection, run_id: int, seed: bytes, source_keys: Set[bytes]) -> set[bytes]:
    """Return the keys of the *seed* and of the sources that it lists, if all documents that they list are unreadable.

    The result is empty if one of these documents was read, if a source cites an ARK, or if no outcome is known.
    *source_keys* are the keys of all sources.
    """
    cites = _mention.document_id == _outlinks.document_id
    parts, pending = {seed}, [seed]
    has_dead = False
    while pending:
        part = pending.pop()
        is_cited = select(_mention.mention_id).where(cites).exists()
        citing = select(_outlinks.key).where(_is_link_of(run_id, [part]), is_cited).limit(1)
        links = _links_of(connection, run_id, [part]).get(part, ())
        targets = {key for link in links for key in link.target_keys()}
        outcomes: set[str] = set()
        document_keys = sorted(targets - source_keys)
        for start in range(0, len(document_keys), PAGE):
            query = (
                select(_document.outcome)
                .join_from(schema.outlinks, schema.document)
                .where(_is_link_of(run_id, document_keys[start : start + PAGE]))
                .distinct()
            )
            outcomes.update(connection.scalars(query))
        if outcomes & LIVE or connection.scalar(citing) is not None:
            return set()
        has_dead = has_dead or bool(outcomes)
        pending += targets & source_keys - parts
        parts |= targets & source_keys
    return parts if has_dead else set()
