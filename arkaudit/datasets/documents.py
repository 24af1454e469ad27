"""The documents of a dataset with what they cite, as a crawl of the same documents has them."""

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

from arkaudit.datasets.columns import DATASET_TABLES, schema_of
from arkaudit.datasets.plan import Manifest, damage_in, manifest_in
from arkaudit.datasets.storage import Storage, is_object, open_storage
from crawler.model.observations import CitedMention, DecidedOn, DocumentOutcome, DocumentRecord, now
from crawler.model.resolving import mention_url
from extractors.mentions.mention import Mention
from extractors.model.ark import Ark, Remark
from extractors.model.documents import Finding, Role
from extractors.model.errors import UserMistake
from extractors.wraps.rules import Confidence

#: A dataset of so many documents and mentions at most is taken whole.
WHOLE_ROWS = 1_000_000
#: Of a larger one so many documents are taken for each ARK as it is asked for, or as many as there are.
DOCUMENTS_AN_ARK = 3
_ROWS_AT_ONCE = 5_000
#: What says how an ARK is asked for. A dataset of an earlier version has no ``link_resolver``.
_TARGET = ("ark", "repaired", "resolver", "link_resolver")

Row = Mapping[str, Any]
Target = tuple[Ark, str]


@dataclass(slots=True)
class DatasetDocuments:
    """A finished dataset, of which a check takes the documents."""

    place: str
    """The folder or prefix as it was named."""
    storage: Storage
    manifest: Manifest
    whole_rows: int = WHOLE_ROWS
    notes: list[tuple[str, Finding]] = field(default_factory=list)
    """What is to be known besides, and by what: complete when all records were given."""

    @classmethod
    def at(cls, folder: str) -> DatasetDocuments:
        """Return the dataset at *folder*. Raises `UserMistake` where there is none that is finished."""
        storage = open_storage(folder)
        manifest = manifest_in(storage)
        for damage in () if is_object(folder) else damage_in(storage):
            raise UserMistake(f"{folder} can't be read: {damage}: the command that made the dataset makes it again")
        return cls(folder.rstrip("/") or folder, storage, manifest)

    @property
    def has_arks(self) -> bool:
        """True if anything in it cites an ARK."""
        return self.manifest.tables["mentions"].rows > 0

    @property
    def is_whole(self) -> bool:
        """True if all of its documents are taken."""
        tables = self.manifest.tables
        return tables["documents"].rows + tables["mentions"].rows <= self.whole_rows

    @property
    def digest(self) -> str:
        """Return what is another when the dataset is."""
        return f"sha256 {hashlib.sha256(self.manifest.to_bytes()).hexdigest()[:16]}"

    def targets(self, resolver: str) -> list[Target]:
        """Return each ARK with each URL that asks for it, once, sorted; *resolver* is asked about those without one."""
        targets: set[Target] = set()
        for name in self.manifest.tables["mentions"].files:
            with self._opened(name) as file, self._as_written(name):
                distinct = _distinct(file, [*_TARGET])
                targets.update((Ark.parse(row["ark"]), _url(row, resolver)) for row in distinct.to_pylist())
        return sorted(targets)

    def records(self, resolver: str) -> Iterator[DocumentRecord]:
        """Give the rows about the documents that are taken, in their order, with all that each of them cites.

        Raises `UserMistake` where a file of the dataset is missing or damaged.
        """
        self.notes = []
        taken = mentions = 0
        cited: Counter[tuple[str | None, ...]] = Counter()
        for part in self._parts():
            with ExitStack() as stack:
                files = {table: stack.enter_context(self._opened(name)) for table, name in part.items()}
                chosen = None if self.is_whole else _chosen(files.get("mentions"), cited)
                for record in self._records_of(files, chosen, resolver):
                    taken += 1
                    mentions += len(record.mentions)
                    yield record
        if not self.is_whole:
            self.notes.append((self.place, self._what_is_left_out(taken, mentions)))

    def _records_of(
        self, files: Mapping[str, pq.ParquetFile], chosen: frozenset[str] | None, resolver: str
    ) -> Iterator[DocumentRecord]:
        """The rows about the *chosen* documents of one part; mentions are in the order of the documents."""
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
                with self._as_written(f"what {name} cites"):
                    mentions = tuple(
                        CitedMention(_mention(row), _url(row, resolver), decided=DecidedOn(row["decided"]))
                        for row in rows
                    )
                name, rows = next(cited, ("", iter(())))
            with self._as_written(f"the row about {document['document']}"):
                record = _record(document, mentions, own_findings, at)
            yield record
        if name:
            raise UserMistake(f"{self.place} can't be read: it cites ARKs in {name}, which is none of its documents")
        self.notes += ((subject, finding) for subject, some in findings.items() for finding in some)

    def _what_is_left_out(self, taken: int, mentions: int) -> Finding:
        tables = self.manifest.tables
        return Finding(
            "documents-left-out",
            f"{taken:,} of {tables['documents'].rows:,} documents are here, with {mentions:,} of "
            f"{tables['mentions'].rows:,} mentions of ARKs: {DOCUMENTS_AN_ARK} that cite each ARK as it is asked for, "
            "or as many as there are; `arkaudit report --dataset` counts all",
        )

    def _parts(self) -> Iterator[dict[str, str]]:
        """The files of each part, by their tables."""
        parts: defaultdict[str, dict[str, str]] = defaultdict(dict)
        for table, files in self.manifest.tables.items():
            for name in files.files:
                parts[PurePosixPath(name).name.partition("-")[0]][table] = name
        yield from parts.values()

    @contextmanager
    def _opened(self, name: str) -> Iterator[pq.ParquetFile]:
        try:
            with self.storage.local(name) as path, pq.ParquetFile(path) as file:
                self._check_columns(name, file.schema_arrow)
                yield file
        except (OSError, pa.ArrowException) as problem:  # Arrow raises either for what is damaged
            why = "is missing" if isinstance(problem, FileNotFoundError) else str(problem).partition("\n")[0]
            raise UserMistake(f"{self.place} can't be read: {name}: {why}") from None

    def _check_columns(self, name: str, schema: pa.Schema) -> None:
        """Raise `UserMistake` where a file has not the columns of its table."""
        table = next(
            (candidate for candidate in DATASET_TABLES if candidate.name == PurePosixPath(name).parts[0]), None
        )
        for expected in schema_of(table) if table is not None else ():
            if expected.name not in schema.names or schema.field(expected.name).type != expected.type:
                raise UserMistake(
                    f"{self.place} can't be read: {name}: its column {expected.name} is not as it should be"
                )

    @contextmanager
    def _as_written(self, what: str) -> Iterator[None]:
        """Raise `UserMistake` where a value is none that arkaudit has written."""
        try:
            yield
        except (ValueError, LookupError, TypeError, AttributeError) as problem:
            raise UserMistake(f"{self.place} can't be read: {what}: {problem}") from None


def _chosen(file: pq.ParquetFile | None, cited: Counter[tuple[str | None, ...]]) -> frozenset[str]:
    """The documents of a part that are taken, so that each ARK has some; *cited* counts those, from part to part."""
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
    """The distinct rows of some columns, in order; a small file may hold very many equal ones."""
    batches = (pa.table(batch) for batch in file.iter_batches(_ROWS_AT_ONCE, columns=names))
    some = [batch.group_by(names, use_threads=False).aggregate([]) for batch in batches]
    if not some:
        return file.schema_arrow.empty_table().select(names)
    return pa.concat_tables(some).group_by(names, use_threads=False).aggregate([])


def _rows(file: pq.ParquetFile | None, chosen: frozenset[str] | None) -> Iterator[Row]:
    """The rows of a file about the *chosen* documents, or about all."""
    if file is None:
        return
    wanted = None if chosen is None else pa.array(sorted(chosen), pa.string())
    for batch in file.iter_batches(_ROWS_AT_ONCE):
        some = batch if wanted is None else batch.filter(pc.is_in(batch["document"], wanted))
        yield from some.to_pylist()


def _record(
    document: Row, mentions: tuple[CitedMention, ...], findings: tuple[Finding, ...], at: str
) -> DocumentRecord:
    """The row about a document; when it was read, a dataset doesn't know, so that it was when it was taken."""
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
        reason=row["reason"],
        alternatives=tuple(row["alternatives"]),
        fragment=row["fragment"],
        citation=row["citation"],
        remarks=tuple(map(Remark, row["spelling"])),
    )


def _url(row: Row, resolver: str) -> str:
    """The URL that asks for the object of a mention; a relative link is asked for where it leads."""
    return mention_url(row["repaired"], row["resolver"], row["link_resolver"], resolver)
