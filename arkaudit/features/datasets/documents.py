"""The documents of a dataset with their citations, in the form of a crawl, for a check."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from arkaudit.features.datasets.columns import DATASET_TABLES, MENTIONS, DatasetTable, schema_of, sound_parquet
from arkaudit.features.datasets.parts import digest_of
from arkaudit.features.datasets.passes import PARTS, table_file
from arkaudit.features.datasets.storage import Storage, network_errors, reason_of
from crawler.model.observations import CitedMention, DecidedOn, DocumentOutcome, DocumentRecord, now
from extractors.mentions.mention import Mention
from extractors.model.ark import Ark
from extractors.model.documents import Finding
from extractors.model.errors import UserMistake
from extractors.processes.codec import from_plain, to_plain
from extractors.wraps.rules import Confidence

Row = Mapping[str, Any]
Target = tuple[Ark, str]


@dataclass(slots=True)
class DatasetDocuments:
    """A finished dataset as the input of a check."""

    place: str
    """The folder or prefix as the user named it."""
    storage: Storage
    parts: Sequence[str]
    """The names of the parts of the dataset, in order."""
    notes: list[tuple[str, Finding]] = field(default_factory=list)
    """Subjects (names of documents) with findings about them, complete after `records` has ended."""

    @classmethod
    def at(cls, folder: str) -> DatasetDocuments:
        """Return the finished dataset at *folder*, a path or URL. Raises `UserMistake` if there is none."""
        with network_errors(folder):
            storage = Storage(folder)
            if not storage.is_file(PARTS):
                raise UserMistake(f"{storage.location} is not a finished dataset")
            with storage.open(PARTS) as file:
                return cls(folder.rstrip("/"), storage, file.read().decode(errors="replace").split())

    @property
    def has_arks(self) -> bool:
        """True if the dataset has mentions of ARKs."""
        return any(rows.num_rows for rows in self._parts_of(MENTIONS))

    @property
    def digest(self) -> str:
        """A short text that identifies the content of the dataset."""
        return f"sha256 {digest_of(' '.join(self.parts).encode())}"

    def targets(self, resolver: str) -> list[Target]:
        """Return distinct ARKs with their request URLs, sorted; ARKs cited without a resolver get *resolver*."""
        with self._require_own_values("its ARKs"):
            return sorted(
                {
                    (Ark.parse(ark), at_resolver(cited_url, resolver))
                    for rows in self._parts_of(MENTIONS)
                    for ark, cited_url in zip(*(rows[name].to_pylist() for name in ("ark", "requested")), strict=True)
                }
            )

    def records(self, resolver: str) -> Iterator[DocumentRecord]:
        """Yield records of the documents with all their citations, part by part.

        Raises `UserMistake` if a file of the dataset is missing or damaged.
        """
        read_at = now()
        for documents, *other_tables in zip(*map(self._parts_of, DATASET_TABLES), strict=True):
            citations, findings = map(_by_document, other_tables)
            for document in documents.to_pylist():
                name = document["document"]
                with self._require_own_values(f"the rows about {name}"):
                    record = _record(document, citations.pop(name, []), findings.pop(name, []), resolver, read_at)
                yield record
            self.notes += [(name, finding) for name, rows in sorted(findings.items()) for finding in _findings_of(rows)]

    def _parts_of(self, table: DatasetTable) -> Iterator[pa.Table]:
        """Yield the rows of each file of *table*. Raises `UserMistake` for a damaged or foreign file."""
        for part in self.parts:
            name = table_file(table.name, part)
            with self._require_own_values(name), network_errors(self.place), self.storage.open(name) as file:
                rows = sound_parquet(file).read().cast(schema_of(table))
            yield rows

    @contextmanager
    def _require_own_values(self, subject: str) -> Iterator[None]:
        """Raise `UserMistake` about *subject* if the ``with`` block fails by damage, or by values of another program."""
        try:
            yield
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as problem:
            raise UserMistake(f"{self.place} can't be read: {subject}: {reason_of(problem)}") from None


def _by_document(rows: pa.Table) -> dict[str, list[Row]]:
    groups = defaultdict(list)
    for row in rows.to_pylist():
        groups[row["document"]].append(row)
    return groups


def _record(document: Row, rows: list[Row], findings: list[Row], resolver: str, read_at: str) -> DocumentRecord:
    """Return the record of a *document* with its mentions in *rows* and its *findings*, all rows of the dataset.

    *read_at* replaces the time of reading, which a dataset does not have.
    """
    mentions = []
    for row in rows:
        confidence = Confidence[row["confidence"].upper()]
        values = {**row, "ark": to_plain(Ark.parse(row["ark"])), "confidence": confidence, "remarks": row["spelling"]}
        mention = from_plain(values, Mention)
        mentions.append(
            CitedMention(mention, at_resolver(row["requested"], resolver), decided=DecidedOn(row["decided"]))
        )
    return DocumentRecord(
        url=document["document"],
        found_on=document["source"] if document["record"] else None,
        fetched_at=read_at,
        outcome=DocumentOutcome(document["outcome"]),
        media_type=document["media_type"],
        title=document["title"],
        body_bytes=document["bytes"],
        body_sha256=document["sha256"],
        mentions=tuple(mentions),
        findings=_findings_of(findings),
    )


def _findings_of(rows: list[Row]) -> tuple[Finding, ...]:
    return tuple(Finding(row["kind"], row["detail"]) for row in rows)


def at_resolver(cited_url: str, resolver: str) -> str:
    """Return *cited_url*, the column ``requested`` of a mention; a path becomes a URL at *resolver*.

    >>> at_resolver("/ark:/12148/x5", "https://n2t.net/"), at_resolver("http://a.example/ark:/12148/x5", "https://n2t.net/")
    ('https://n2t.net/ark:/12148/x5', 'http://a.example/ark:/12148/x5')
    """
    return f"{resolver.rstrip('/')}{cited_url}" if cited_url.startswith("/") else cited_url
