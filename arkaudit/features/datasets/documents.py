"""The documents of a dataset with their citations, in the form of a crawl, for a check."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from arkaudit.features.datasets.columns import DATASET_TABLES, MENTIONS, DatasetTable, schema_of
from arkaudit.features.datasets.manifest import Manifest, damage_in, manifest_in
from arkaudit.features.datasets.storage import Storage, is_object, network_errors
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
    manifest: Manifest
    notes: list[tuple[str, Finding]] = field(default_factory=list)
    """Findings and their subjects, complete after all records were given."""

    @classmethod
    def at(cls, folder: str) -> DatasetDocuments:
        """Return the finished dataset at *folder*; its files are verified, except on object storage.

        Raises `UserMistake`.
        """
        with network_errors(folder):
            storage = Storage(folder)
            manifest = manifest_in(storage)
            for damage in () if is_object(folder) else damage_in(storage, manifest):
                raise UserMistake(f"{folder} can't be read: {damage}: repeat the command that made the dataset")
        return cls(folder.rstrip("/") or folder, storage, manifest)

    @property
    def has_arks(self) -> bool:
        """True if the dataset has mentions of ARKs."""
        return self.manifest.tables["mentions"].rows > 0

    @property
    def digest(self) -> str:
        """A short text that identifies the content of the dataset."""
        return f"sha256 {hashlib.sha256(self.manifest.to_bytes()).hexdigest()[:16]}"

    def targets(self, resolver: str) -> list[Target]:
        """Return distinct ARKs with their request URLs, sorted; ARKs cited without a resolver get *resolver*."""
        with self._require_own_values("its ARKs"):
            return sorted(
                {
                    (Ark.parse(ark), at_resolver(requested, resolver))
                    for rows in self._parts_of(MENTIONS)
                    for ark, requested in _distinct(rows, "ark", "requested")
                }
            )

    def records(self, resolver: str) -> Iterator[DocumentRecord]:
        """Yield records of the documents with all their citations, part by part.

        Raises `UserMistake` if a file of the dataset is missing or damaged.
        """
        at = now()
        for documents, *others in zip(*map(self._parts_of, DATASET_TABLES), strict=True):
            cited, findings = map(_by_document, others)
            for document in documents.to_pylist():
                name = document["document"]
                with self._require_own_values(f"the rows about {name}"):
                    record = _record(document, cited.pop(name, []), findings.pop(name, []), resolver, at)
                yield record
            for name in cited:
                raise UserMistake(f"{self.place} can't be read: it has citations of {name}, but not this document")
            self.notes += [(name, _finding_of(row)) for name, rows in sorted(findings.items()) for row in rows]

    def _parts_of(self, table: DatasetTable) -> Iterator[pa.Table]:
        """Yield the rows of each file of *table*. Raises `UserMistake` for another file."""
        for name in self.manifest.tables[table.name].files:
            try:
                with network_errors(self.place), self.storage.open(name) as file:
                    rows = pq.ParquetFile(file).read().cast(schema_of(table))
            except (OSError, ValueError) as problem:
                reason = str(problem).partition("\n")[0]
                raise UserMistake(f"{self.place} can't be read: {name}: {reason}") from None
            yield rows

    @contextmanager
    def _require_own_values(self, what: str) -> Iterator[None]:
        """Raise `UserMistake` for values that arkaudit does not write."""
        try:
            yield
        except (ValueError, LookupError, TypeError, AttributeError) as problem:
            raise UserMistake(f"{self.place} can't be read: {what}: {problem}") from None


def _distinct(rows: pa.Table, *columns: str) -> Iterator[tuple[Any, ...]]:
    """Return the distinct values of *columns* in the order of their first rows."""
    distinct = rows.select(columns).group_by(columns, use_threads=False).aggregate([])
    return zip(*(column.to_pylist() for column in distinct.columns), strict=True)


def _by_document(rows: pa.Table) -> dict[str, list[Row]]:
    groups = defaultdict(list)
    for row in rows.to_pylist():
        groups[row["document"]].append(row)
    return groups


def _record(document: Row, rows: list[Row], findings: list[Row], resolver: str, at: str) -> DocumentRecord:
    """Return the record of a document with a mention for each of *rows*.

    *at* replaces the time of reading, which a dataset does not have.
    """
    mentions = []
    for row in rows:
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
        findings=tuple(map(_finding_of, findings)),
    )


def _finding_of(row: Row) -> Finding:
    return Finding(row["kind"], row["detail"])


def at_resolver(requested: str, resolver: str) -> str:
    """Return the request URL of a mention; one that is cited without a resolver is requested at *resolver*.

    >>> at_resolver("/ark:/12148/x5", "https://n2t.net/"), at_resolver("http://a.example/ark:/12148/x5", "https://n2t.net/")
    ('https://n2t.net/ark:/12148/x5', 'http://a.example/ark:/12148/x5')
    """
    return f"{resolver.rstrip('/')}{requested}" if requested.startswith("/") else requested
