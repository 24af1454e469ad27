"""The documents of a store, with what they cite and what went wrong with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import (
    Connection,
    Text,
    and_,
    bindparam,
    cast,
    func,
    or_,
    select,
)
from sqlalchemy.dialects.sqlite import insert

from crawler.model import schema
from crawler.model.observations import (
    CitedMention,
    DecidedOn,
    DocumentOutcome,
    DocumentRecord,
    KeptMention,
    KeptUnresolvedMention,
)
from crawler.store.database import ARK_PARTS, PAGE, Database, add_row, adding
from crawler.store.outlinks import add_outlinks, dead_sources
from crawler.store.stored_rows import ark_of, mention_of, row_of
from extractors.find import UnresolvedMention
from extractors.mentions.mention import STANDS_WHOLE
from extractors.model.ark import Ark
from extractors.model.documents import Finding
from extractors.processes.codec import from_plain, plain

#: The number of unreadable documents that a run names.
_MOST_UNREAD = 100
_NEWEST_DOCUMENT = select(func.max(schema.document.c.document_id))
_LATER_DOCUMENTS = select(schema.document.c.document_id, schema.document.c.url).where(
    schema.document.c.document_id > bindparam("newest")
)

#: Mentions that may mean something else, or be spelled otherwise, before what resolvers answer settles that.
_is_open = and_(
    schema.is_asked_mention,
    or_(schema.mention.c.alternatives != [], cast(schema.mention.c.repairs, Text).contains("line wrap")),
)


class DocumentTables(Database):
    """The tables of documents, mentions and findings."""

    def _record_documents(self, connection: Connection, run_id: int, documents: Sequence[DocumentRecord]) -> None:
        """Record those that are not there yet, with what belongs to them: a statement a table, not a row."""
        newest = connection.scalar(_NEWEST_DOCUMENT) or 0
        connection.execute(
            adding(schema.document), [row_of(document, schema.document, run_id=run_id) for document in documents]
        )
        added = {row.url: row.document_id for row in connection.execute(_LATER_DOCUMENTS, {"newest": newest})}
        cited = (cited_mention.mention.ark for document in documents for cited_mention in document.mentions)
        self._learn_ark_ids(connection, list(dict.fromkeys(cited)))
        findings: list[dict[str, Any]] = []
        mentions: list[dict[str, Any]] = []
        linking: list[tuple[int, DocumentRecord]] = []
        for document in documents:
            key = added.pop(document.url, None)
            if key is None:
                continue
            linking.append((key, document))
            of_document = {"run_id": run_id, "document_id": key, "subject": document.url}
            findings += (
                {**of_document, "kind": cited_mention.kind, "detail": cited_mention.detail}
                for cited_mention in document.findings
            )
            mentions += (
                self._mention_values(connection, key, ordinal, cited_mention.decided, cited_mention)
                for ordinal, cited_mention in enumerate(document.mentions, start=1)
            )
        if findings:
            connection.execute(adding(schema.finding), findings)
        if mentions:
            connection.execute(insert(schema.mention), mentions)
        add_outlinks(connection, run_id, linking)

    def _mention_values(
        self, connection: Connection, document_id: int, ordinal: int, decided: DecidedOn, cited: CitedMention
    ) -> dict[str, Any]:
        mention = cited.mention
        return row_of(
            mention,
            schema.mention,
            document_id=document_id,
            ordinal=ordinal,
            decided=decided.value,
            ark_id=self._ark_id(connection, mention.ark),
            request_url=cited.request_url,
            confidence=mention.confidence.token,
            doubt=plain(cited.unresolved) if cited.unresolved is not None else None,
        )

    def document_url(self, document_id: int) -> str:
        """Return the URL, or the path, of a document."""
        document = schema.document
        with self._engine.connect() as connection:
            url: str = connection.execute(
                select(document.c.url).where(document.c.document_id == document_id)
            ).scalar_one()
        return url

    def record_findings(self, run_id: int, subject: str, findings: Iterable[Finding]) -> None:
        """Record findings that belong to no document, such as a seed that is none."""
        with self._writing() as connection:
            for finding in findings:
                add_row(connection, schema.finding, {"run_id": run_id, "subject": subject, **asdict(finding)})

    def record_decisions(self, decisions: Iterable[tuple[KeptMention, CitedMention]], on: DecidedOn) -> int:
        """Keep mentions that were decided again, each next to the rows of its earlier readings; twice does no harm.

        Returns how many were not known yet.
        """
        new = 0
        with self._writing() as connection:
            for first, cited in decisions:
                values = self._mention_values(connection, first.document_id, first.ordinal, on, cited)
                new += connection.execute(insert(schema.mention).values(values).on_conflict_do_nothing()).rowcount
        return new

    def cited_arks(self, run_id: int, *, as_asked: bool = False) -> list[tuple[Ark, str]]:
        """Each ARK and URL to ask that the documents of a run cite, once, in the order of first citation.

        With *as_asked*, as they were cited before answers settled what was doubtful: a run that is resumed after
        that asks for nothing else.
        """
        first = func.min(schema.mention.c.mention_id)
        which = schema.is_asked_mention if as_asked else schema.is_current_mention
        query = (
            select(*ARK_PARTS, schema.mention.c.request_url)
            .join_from(schema.mention, schema.ark)
            .join(schema.document, schema.document.c.document_id == schema.mention.c.document_id)
            .where(schema.document.c.run_id == run_id, which)
            .group_by(schema.ark.c.ark_id, schema.mention.c.request_url)
            .order_by(first)
        )
        with self._engine.connect() as connection:
            return [(ark_of(row), row.request_url) for row in connection.execute(query)]

    def arks_cited(self, run_id: int) -> Iterator[Ark]:
        """The ARKs that the documents of a run cite, before answers settle anything, each once; to be taken whole."""
        query = (
            select(*ARK_PARTS)
            .join_from(schema.mention, schema.ark)
            .join(schema.document, schema.document.c.document_id == schema.mention.c.document_id)
            .where(schema.document.c.run_id == run_id, schema.is_asked_mention)
            .group_by(schema.ark.c.ark_id)
            .order_by(schema.ark.c.ark_id)
        )
        with self.reading() as connection:
            for row in connection.execution_options(yield_per=PAGE).execute(query):
                yield ark_of(row)

    def whole_arks(self, run_id: int) -> list[Ark]:
        """The ARKs that are whole somewhere in the documents of a run, in order."""
        query = (
            select(*ARK_PARTS)
            .join_from(schema.mention, schema.ark)
            .join(schema.document, schema.document.c.document_id == schema.mention.c.document_id)
            .where(schema.document.c.run_id == run_id, schema.mention.c.reason == STANDS_WHOLE)
            .distinct()
            .order_by(schema.ark.c.ark)
        )
        with self._engine.connect() as connection:
            return [ark_of(row) for row in connection.execute(query)]

    def unresolved_mentions(self, run_id: int) -> Iterator[KeptUnresolvedMention]:
        """The mentions of a run that were not certain when their document was read, in the order of the documents."""
        mention, document = schema.mention, schema.document
        query = (
            select(mention, *ARK_PARTS)
            .join_from(mention, schema.ark)
            .join(document, document.c.document_id == mention.c.document_id)
            .where(
                document.c.run_id == run_id,
                mention.c.doubt.is_not(None),
                mention.c.decided == DecidedOn.READ.value,
            )
            .order_by(mention.c.mention_id)
        )
        with self._engine.connect() as connection:
            for row in connection.execute(query):
                yield KeptUnresolvedMention(
                    row.document_id,
                    row.ordinal,
                    row.request_url,
                    mention_of(row),
                    from_plain(row.doubt, UnresolvedMention),
                )

    def open_mentions(self, run_id: int) -> Iterator[KeptMention]:
        """The mentions of a run that may mean something else, in the order of the documents.

        They are as decided before any answer: what answers have settled changes nothing here.
        """
        mention, document = schema.mention, schema.document
        query = (
            select(mention, *ARK_PARTS)
            .join_from(mention, schema.ark)
            .join(document, document.c.document_id == mention.c.document_id)
            .where(document.c.run_id == run_id, _is_open)
            .order_by(mention.c.mention_id)
        )
        with self._engine.connect() as connection:
            for row in connection.execute(query):
                yield KeptMention(row.document_id, row.ordinal, row.request_url, mention_of(row))

    def counts(self, run_id: int) -> Mapping[str, int]:
        """Return how many documents and citations a run has, how many documents were read, and how many only led to
        others.
        """
        document, mention = schema.document, schema.mention
        with self._engine.connect() as connection:
            of_run = select(document.c.document_id).where(document.c.run_id == run_id)
            cited = select(mention.c.document_id, mention.c.citation).distinct()
            cited = cited.where(mention.c.document_id.in_(of_run), schema.is_current_mention)
            by_outcome = select(document.c.outcome, func.count()).where(document.c.run_id == run_id)
            outcomes = {outcome: int(count) for outcome, count in connection.execute(by_outcome.group_by("outcome"))}
            return {
                "documents": sum(outcomes.values()),
                "read": outcomes.get(DocumentOutcome.READ, 0),
                "redirected": outcomes.get(DocumentOutcome.REDIRECTED, 0),
                "citations": connection.scalar(select(func.count()).select_from(cited.subquery())) or 0,
            }

    def dead_sources(self, run_id: int) -> list[str]:
        """The seeds of a run that are sources, and of which none of the documents that they list could be read."""
        with self._engine.connect() as connection:
            return [source.url for source in dead_sources(connection, run_id)]

    def has_read_seed(self, run_id: int) -> bool:
        """Return whether anything was read of what the user has named: more than lists of documents that are
        all dead.
        """
        read = self.counts(run_id)["read"]
        document = schema.document
        had = (DocumentOutcome.READ.value, DocumentOutcome.REDIRECTED.value)
        of_seeds = (document.c.run_id == run_id, document.c.found_on.is_(None), document.c.outcome.in_(had))
        with self._engine.connect() as connection:
            if connection.scalar(select(document.c.document_id).where(*of_seeds).limit(1)) is None:
                return False
            return read > len({part for source in dead_sources(connection, run_id) for part in source.parts})

    def places_of(self, pairs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], list[tuple[str, int | None]]]:
        """The documents and pages that cite each ARK at its URL, by name: those of the last run that read any."""
        document, mention, latest, ark = schema.document, schema.mention, schema.latest, schema.ark
        same = (latest.c.ark_id == mention.c.ark_id) & (latest.c.request_url == mention.c.request_url)
        query = (
            select(ark.c.ark, mention.c.request_url, document.c.url, mention.c.page)
            .join_from(ark, mention, mention.c.ark_id == ark.c.ark_id)
            .join(document, document.c.document_id == mention.c.document_id)
            .join(latest, same & (latest.c.cited_in == document.c.run_id))
            .where(ark.c.ark.in_({name for name, _ in pairs}), schema.is_current_mention)
            .distinct()
            .order_by(document.c.url, mention.c.page)
        )
        places: dict[tuple[str, str], list[tuple[str, int | None]]] = {pair: [] for pair in pairs}
        if pairs:
            with self._engine.connect() as connection:
                for name, url, document_url, page in connection.execute(query):
                    if (name, url) in places:
                        places[name, url].append((document_url, page))
        return places

    def unread(self, run_id: int) -> list[str]:
        """The documents of a run that could not be had or read, in order, each with its outcome."""
        return [words for words, _ in self.unread_documents(run_id)]

    def unread_documents(self, run_id: int) -> list[tuple[str, str | None]]:
        """The same, each with the document that leads there; a seed has none."""
        document = schema.document
        good = [DocumentOutcome.READ.value, DocumentOutcome.REDIRECTED.value]
        query = select(document.c.url, document.c.outcome, document.c.status, document.c.found_on)
        query = query.where(document.c.run_id == run_id, document.c.outcome.not_in(good))
        with self._engine.connect() as connection:
            rows = connection.execute(query.order_by(document.c.document_id).limit(_MOST_UNREAD)).all()
        words = (f"{row.url} ({row.status if (row.status or 0) >= 400 else row.outcome})" for row in rows)
        return [(said, row.found_on) for said, row in zip(words, rows, strict=True)]
