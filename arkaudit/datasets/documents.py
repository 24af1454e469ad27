"""The documents of a dataset with their citations, in the form of a crawl, for a check."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from pathlib import PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from arkaudit.datasets.columns import DATASET_TABLES, wrong_column
from arkaudit.datasets.plan import Manifest, damage_in, manifest_in
from arkaudit.datasets.storage import Storage, is_object, open_storage
from crawler.model.observations import CitedMention, DecidedOn, DocumentOutcome, DocumentRecord, now
from crawler.model.resolving import mention_url
from extractors.mentions.mention import Mention
from extractors.model.ark import Ark, Remark
from extractors.model.documents import Finding, Role
from extractors.model.errors import UserMistake
from extractors.wraps.reasons import Reason
from extractors.wraps.rules import Confidence

#: Number of documents and mentions up to which all documents are taken.
WHOLE_ROWS = 1_000_000
#: Number of documents of a larger dataset that are taken for each target.
DOCUMENTS_AN_ARK = 3
_ROWS_AT_ONCE = 5_000
#: Columns that determine a target. A dataset of an earlier version has no ``link_resolver``.
_TARGET = ("ark", "repaired", "resolver", "link_resolver")

Row = Mapping[str, Any]
Target = tuple[Ark, str]


@dataclass(slots=True)
class DatasetDocuments:
    """A finished dataset as the input of a check."""

    place: str
    """The folder or prefix as the user named it."""
    storage: Storage
    manifest: Manifest
    whole_rows: int = WHOLE_ROWS
    notes: list[tuple[str, Finding]] = field(default_factory=list)
    """Findings and their subjects, complete after all records were given."""

    @classmethod
    def at(cls, folder: str) -> DatasetDocuments:
        """Return the finished dataset at *folder*. Raises `UserMistake`."""
        storage = open_storage(folder)
        manifest = manifest_in(storage)
        for damage in () if is_object(folder) else damage_in(storage):
            raise UserMistake(f"{folder} can't be read: {damage}: repeat the command that made the dataset")
        return cls(folder.rstrip("/") or folder, storage, manifest)

    @property
    def has_arks(self) -> bool:
        """True if the dataset has mentions of ARKs."""
        return self.manifest.tables["mentions"].rows > 0

    @property
    def is_whole(self) -> bool:
        """True if all of its documents are taken."""
        tables = self.manifest.tables
        return tables["documents"].rows + tables["mentions"].rows <= self.whole_rows

    @property
    def digest(self) -> str:
        """A short text that identifies the content of the dataset."""
        return f"sha256 {hashlib.sha256(self.manifest.to_bytes()).hexdigest()[:16]}"

    def targets(self, resolver: str) -> list[Target]:
        """Return distinct ARKs with their request URLs, sorted; ARKs cited without a resolver get *resolver*."""
        targets: set[Target] = set()
        for name in self.manifest.tables["mentions"].files:
            with self._open(name) as file, self._require_own_values(name):
                distinct = _distinct(file, [*_TARGET])
                targets.update((Ark.parse(row["ark"]), _url(row, resolver)) for row in distinct.to_pylist())
        return sorted(targets)

    def records(self, resolver: str) -> Iterator[DocumentRecord]:
        """Yield records of the documents with all their citations, in order.

        Raises `UserMistake` if a file of the dataset is missing or damaged.
        """
        self.notes = []
        taken = mentions = 0
        cited: Counter[tuple[str | None, ...]] = Counter()
        for part in self._parts():
            with ExitStack() as stack:
                files = {table: stack.enter_context(self._open(name)) for table, name in part.items()}
                chosen = None if self.is_whole else _choose_documents(files.get("mentions"), cited)
                for record in self._records_of(files, chosen, resolver):
                    taken += 1
                    mentions += len(record.mentions)
                    yield record
        if not self.is_whole:
            self.notes.append((self.place, self._what_is_left_out(taken, mentions)))

    def _records_of(
        self, files: Mapping[str, pq.ParquetFile], chosen: frozenset[str] | None, resolver: str
    ) -> Iterator[DocumentRecord]:
        """Yield records of the *chosen* documents of one part, whose mentions are in the order of the documents."""
        at = now()
        findings: defaultdict[str, list[Finding]] = defaultdict(list)
        for row in _rows(files.get("findings"), None):
            findings[row["document"]].append(Finding(row["kind"], row["detail"]))
        cited = groupby(_rows(files.get("mentions"), chosen), key=itemgetter("document"))
        name, rows = next(cited, ("", iter(())))
        for document in _rows(files.get("documents"), None):
            own_findings = tuple(findings.pop(document["document"], ()))
            if chosen is not None and document["document"] not in chosen:
                continue
            mentions: tuple[CitedMention, ...] = ()
            if document["document"] == name:
                with self._require_own_values(f"the citations of {name}"):
                    mentions = tuple(
                        CitedMention(_mention(row), _url(row, resolver), decided=DecidedOn(row["decided"]))
                        for row in rows
                    )
                name, rows = next(cited, ("", iter(())))
            with self._require_own_values(f"the row about {document['document']}"):
                record = _record(document, mentions, own_findings, at)
            yield record
        if name:
            raise UserMistake(f"{self.place} can't be read: it has citations of {name}, but not this document")
        self.notes += ((subject, finding) for subject, some in findings.items() for finding in some)

    def _what_is_left_out(self, taken: int, mentions: int) -> Finding:
        tables = self.manifest.tables
        return Finding(
            "documents-left-out",
            f"{taken:,} of {tables['documents'].rows:,} documents are here, with {mentions:,} of "
            f"{tables['mentions'].rows:,} mentions of ARKs: at most {DOCUMENTS_AN_ARK} for each ARK at a URL; "
            "`arkaudit report --dataset` counts all",
        )

    def _parts(self) -> Iterator[dict[str, str]]:
        """Yield the files of each part, by table."""
        parts: defaultdict[str, dict[str, str]] = defaultdict(dict)
        for table, files in self.manifest.tables.items():
            for name in files.files:
                parts[PurePosixPath(name).name.partition("-")[0]][table] = name
        yield from parts.values()

    @contextmanager
    def _open(self, name: str) -> Iterator[pq.ParquetFile]:
        try:
            with self.storage.local(name) as path, pq.ParquetFile(path) as file:
                for table in DATASET_TABLES:
                    if PurePosixPath(name).parts[0] == table.name and (why := wrong_column(table, file.schema_arrow)):
                        raise UserMistake(f"{self.place} can't be read: {name}: {why}")
                yield file
        # Arrow raises either for damaged files.
        except (OSError, pa.ArrowException) as problem:
            why = "is missing" if isinstance(problem, FileNotFoundError) else str(problem).partition("\n")[0]
            raise UserMistake(f"{self.place} can't be read: {name}: {why}") from None

    @contextmanager
    def _require_own_values(self, what: str) -> Iterator[None]:
        """Raise `UserMistake` for values that arkaudit does not write."""
        try:
            yield
        except (ValueError, LookupError, TypeError, AttributeError) as problem:
            raise UserMistake(f"{self.place} can't be read: {what}: {problem}") from None


def _choose_documents(file: pq.ParquetFile | None, cited: Counter[tuple[str | None, ...]]) -> frozenset[str]:
    """Return documents of a part so that each target has some; *cited* counts them across parts."""
    if file is None:
        return frozenset()
    names = ["document", *_TARGET]
    distinct = _distinct(file, names)
    rows = zip(*(distinct[name].to_pylist() for name in names), strict=True)
    chosen = set()
    for document, some in groupby(rows, key=itemgetter(0)):
        keys = [tuple(target) for _, *target in some]
        if any(cited[key] < DOCUMENTS_AN_ARK for key in keys):
            chosen.add(document)
            cited.update(keys)
    return frozenset(chosen)


def _distinct(file: pq.ParquetFile, names: list[str]) -> pa.Table:
    """Return the distinct rows of some columns, in order, batch by batch: a small file may hold many equal rows."""
    batches = (pa.table(batch) for batch in file.iter_batches(_ROWS_AT_ONCE, columns=names))
    some = [batch.group_by(names, use_threads=False).aggregate([]) for batch in batches]
    if not some:
        return file.schema_arrow.empty_table().select(names)
    return pa.concat_tables(some).group_by(names, use_threads=False).aggregate([])


def _rows(file: pq.ParquetFile | None, chosen: frozenset[str] | None) -> Iterator[Row]:
    """Yield the rows of a file about the *chosen* documents, or about all."""
    if file is None:
        return
    wanted = None if chosen is None else pa.array(sorted(chosen), pa.string())
    for batch in file.iter_batches(_ROWS_AT_ONCE):
        some = batch if wanted is None else batch.filter(pc.is_in(batch["document"], wanted))
        yield from some.to_pylist()


def _record(
    document: Row, mentions: tuple[CitedMention, ...], findings: tuple[Finding, ...], at: str
) -> DocumentRecord:
    """Return the record of a document; *at* replaces the time of reading, which a dataset does not have."""
    return DocumentRecord(
        url=document["document"],
        found_on=document["source"] if document["record"] else None,
        fetched_at=at,
        outcome=DocumentOutcome(document["outcome"]),
        media_type=document["media_type"],
        title=document["title"],
        body_bytes=document["bytes"],
        body_sha256=document["sha256"],
        mentions=mentions,
        findings=findings,
    )


def _mention(row: Row) -> Mention:
    return Mention(
        ark=Ark.parse(row["ark"]),
        as_written=row["as_written"],
        spans=tuple((start, end) for start, end in row["spans"]),
        repaired=row["repaired"],
        resolver=row["resolver"],
        inflection=row["inflection"],
        role=Role(row["role"]),
        page=row["page"],
        place=row["place"],
        context=row["context"],
        repairs=tuple(row["repairs"]),
        confidence=Confidence[row["confidence"].upper()],
        reason=Reason(row["reason"]),
        alternatives=tuple(row["alternatives"]),
        fragment=row["fragment"],
        citation=row["citation"],
        remarks=tuple(map(Remark, row["spelling"])),
    )


def _url(row: Row, resolver: str) -> str:
    """Return the request URL of a mention."""
    return mention_url(row["repaired"], row["resolver"], row["link_resolver"], resolver)
