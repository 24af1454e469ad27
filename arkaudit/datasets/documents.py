"""The documents of a dataset with their citations, in the form of a crawl, for a check."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Any

from arkaudit.datasets.connection import open_dataset, query_of
from arkaudit.datasets.plan import Manifest
from crawler.model.observations import CitedMention, DecidedOn, DocumentOutcome, DocumentRecord, now
from extractors.mentions.mention import Mention
from extractors.model.ark import Ark
from extractors.model.documents import Finding
from extractors.model.errors import UserMistake
from extractors.processes.codec import from_plain, to_plain
from extractors.wraps.rules import Confidence

#: Number of documents and mentions up to which all documents are taken.
WHOLE_ROWS = 1_000_000
#: Number of documents of a larger dataset that are taken for each target.
DOCUMENTS_AN_ARK = 3

Row = Mapping[str, Any]
Target = tuple[Ark, str]


@dataclass(slots=True)
class DatasetDocuments:
    """A finished dataset as the input of a check."""

    place: str
    """The folder or prefix as the user named it."""
    manifest: Manifest
    whole_rows: int = WHOLE_ROWS
    notes: list[tuple[str, Finding]] = field(default_factory=list)
    """Findings and their subjects, complete after all records were given."""

    @classmethod
    def at(cls, folder: str) -> DatasetDocuments:
        """Return the finished dataset at *folder*. Raises `UserMistake`."""
        with open_dataset(folder) as dataset:
            return cls(folder.rstrip("/") or folder, dataset.manifest)

    @property
    def has_arks(self) -> bool:
        """True if the dataset has mentions of ARKs."""
        return self.manifest.tables["mentions"].rows > 0

    @property
    def is_whole(self) -> bool:
        """True if a check takes all documents, because the dataset has at most `whole_rows` documents and mentions."""
        tables = self.manifest.tables
        return tables["documents"].rows + tables["mentions"].rows <= self.whole_rows

    @property
    def digest(self) -> str:
        """A short text that identifies the content of the dataset."""
        return f"sha256 {hashlib.sha256(self.manifest.to_bytes()).hexdigest()[:16]}"

    def targets(self, resolver: str) -> list[Target]:
        """Return distinct ARKs with their request URLs, sorted; ARKs cited without a resolver get *resolver*."""
        query = "SELECT DISTINCT ark, requested FROM mentions"
        with open_dataset(self.place, verify=False) as dataset, self._require_own_values("its ARKs"):
            return sorted(
                {(Ark.parse(row["ark"]), at_resolver(row["requested"], resolver)) for row in dataset.dicts(query)}
            )

    def records(self, resolver: str) -> Iterator[DocumentRecord]:
        """Yield records of the documents with all their citations, in the order of their names.

        Raises `UserMistake` if a file of the dataset is missing or damaged.
        """
        at = now()
        taken = mentions = 0
        with open_dataset(self.place, verify=False) as dataset:
            query = "SELECT document FROM mentions ANTI JOIN documents USING (document) LIMIT 1"
            for (name,) in dataset.rows(query):
                raise UserMistake(f"{self.place} can't be read: it has citations of {name}, but not this document")
            most = "NULL" if self.is_whole else DOCUMENTS_AN_ARK
            dataset.run(f"SET VARIABLE documents_an_ark = {most}")
            dataset.run(query_of("chosen"))
            for name, rows in groupby(dataset.dicts(query_of("cited_documents")), key=itemgetter("document")):
                with self._require_own_values(f"the rows about {name}"):
                    record = _record(list(rows), resolver, at)
                taken += 1
                mentions += len(record.mentions)
                yield record
            others = "SELECT document, kind, detail FROM findings ANTI JOIN documents USING (document) ORDER BY ALL"
            self.notes = [(row["document"], Finding(row["kind"], row["detail"])) for row in dataset.dicts(others)]
        if not self.is_whole:
            tables = self.manifest.tables
            words = (
                f"{taken:,} of {tables['documents'].rows:,} documents are here, with {mentions:,} of "
                f"{tables['mentions'].rows:,} mentions of ARKs: at most {DOCUMENTS_AN_ARK} for each ARK at a URL; "
                "`arkaudit report --dataset` counts all"
            )
            self.notes.append((self.place, Finding("documents-left-out", words)))

    @contextmanager
    def _require_own_values(self, what: str) -> Iterator[None]:
        """Raise `UserMistake` for values that arkaudit does not write."""
        try:
            yield
        except (ValueError, LookupError, TypeError, AttributeError) as problem:
            raise UserMistake(f"{self.place} can't be read: {what}: {problem}") from None


def _record(rows: list[Row], resolver: str, at: str) -> DocumentRecord:
    """Return the record of a document from its *rows*, one for each mention, or one without a mention.

    *at* replaces the time of reading, which a dataset does not have.
    """
    document = rows[0]
    mentions = []
    for row in rows if document["ordinal"] is not None else ():
        confidence = Confidence[row["confidence"].upper()]
        values = {**row, "ark": to_plain(Ark.parse(row["ark"])), "confidence": confidence, "remarks": row["spelling"]}
        cited = from_plain(values, Mention)
        mentions.append(CitedMention(cited, at_resolver(row["requested"], resolver), decided=DecidedOn(row["decided"])))
    return DocumentRecord(
        url=document["document"],
        found_on=document["source"] if document["record"] else None,
        fetched_at=at,
        outcome=DocumentOutcome(document["outcome"]),
        media_type=document["media_type"],
        title=document["title"],
        body_bytes=document["bytes"],
        body_sha256=document["sha256"],
        mentions=tuple(mentions),
        findings=tuple(Finding(**finding) for finding in document["findings"]),
    )


def at_resolver(requested: str, resolver: str) -> str:
    """Return the request URL of a mention; one that is cited without a resolver is requested at *resolver*.

    >>> at_resolver("/ark:/12148/x5", "https://n2t.net/"), at_resolver("http://a.example/ark:/12148/x5", "https://n2t.net/")
    ('https://n2t.net/ark:/12148/x5', 'http://a.example/ark:/12148/x5')
    """
    return f"{resolver.rstrip('/')}{requested}" if requested.startswith("/") else requested
