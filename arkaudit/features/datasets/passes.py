"""The two passes of a dataset over its parts.

The first pass reads the files of a part into documents, and collects their complete ARKs. The second pass decides
doubtful mentions by the evidence of all parts, and writes the rows of the tables. Each file gets its final name when it
is complete, so that a part under its final name is done. The name ends with a digest of the content.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from arkaudit.features.datasets.columns import DATASET_TABLES, DOCUMENTS, FINDINGS, MENTIONS, ParquetFile, schema_of
from arkaudit.features.datasets.evidence import DatasetEvidence, learn
from arkaudit.features.datasets.manifest import FINISHED_FILE, TableFile, is_sound
from arkaudit.features.datasets.parts import DIGEST_DIGITS, Part, digest_of
from arkaudit.features.datasets.storage import InputFile, Storage, is_object, object_copy
from arkaudit.output.exits import say
from crawler.model.resolving import citation_urls
from extractors import two_passes
from extractors.archives.members import INSIDE, ArchiveMember
from extractors.documents import Document, Origin, document_name, documents_in_file
from extractors.extraction import Extraction
from extractors.isolated import BATCH_DOCUMENTS, KILLED, part_weight
from extractors.mentions.mention import relative_resolvers
from extractors.mentions.rows import mention_row
from extractors.model.ark import shoulder_of
from extractors.model.budget import current
from extractors.model.documents import Finding
from extractors.processes.codec import from_json, to_json
from extractors.processes.worker import WorkerExecutor
from extractors.two_passes import DocumentSummary, decided_documents, document_of, parts_reader

#: The folder of the files of the first pass.
READ = "work/read"


def finished_files(storage: Storage, folder: str) -> dict[str, str]:
    """Return the names of the sound files in *folder* by the digest of what they are made from."""
    files = {}
    for file in storage.names(folder):
        name = f"{folder}/{file}"
        match = FINISHED_FILE.fullmatch(file)
        if match is None or match[3]:
            continue
        if is_sound(storage, name):
            files[match[1]] = name
        else:
            say(f"{name} is damaged; its part is made again")
    return files


def decided_source(read_file: str, evidence: str) -> str:
    """Return the first digest in the names of the files of a part that is decided on the *evidence* of this digest."""
    return digest_of(f"{read_file} {evidence}".encode())


def _publish(storage: Storage, scratch: Path, folder: str, source: str, end: str = "") -> str:
    """Move a complete file to its final name, and return this."""
    with scratch.open("rb") as file:
        content = hashlib.file_digest(file, "sha256").hexdigest()[:DIGEST_DIGITS]
    name = f"{folder}/{source}-{content}{end}.parquet"
    storage.put(scratch, name)
    return name


# -- the first pass


#: A document in each row: its plain data, its complete ARKs (in UTF-8), and its name if it is unreadable.
_READ_SCHEMA = pa.schema({"encoded": pa.binary(), "whole": pa.list_(pa.binary()), "unreadable": pa.string()})
#: The key of the part in the metadata of its file.
_PART = b"part"


def read_part(storage: Storage, part: Part, executor: WorkerExecutor, folder: str) -> str:
    """Read *part*, and return the name of its file; local paths are relative to *folder*.

    Raises OSError and `DatasetError` if the storage fails.
    """
    about_folders = (Document(name, (), (finding,), is_folder=True) for name, finding in part.folders)
    parts = chain(about_folders, (document for file in part.files for document in _parts_of(file, folder)))
    summaries = parts_reader(executor, summary_with_origin).results(parts, part_weight)
    return _write_summaries(storage, part, chain.from_iterable(summaries))


def give_up_part(storage: Storage, part: Part, reason: str) -> str:
    """Record the files of *part* as unreadable for a *reason*, and return the name of its file."""
    documents = (Document(_name_of(file), (), (Finding(KILLED, reason),)) for file in part.files)
    return _write_summaries(storage, part, (summary_with_origin(document, None) for document in documents))


def parts_read(storage: Storage) -> Iterator[tuple[str, Part]]:
    """Yield the names and the parts of the sound files of the first pass."""
    for name in finished_files(storage, READ).values():
        # Another version may have written other metadata.
        with storage.open(name) as file, suppress(ValueError):
            yield name, from_json(pq.read_schema(file).metadata[_PART], Part)


def evidence_in(storage: Storage, files: Iterable[str]) -> DatasetEvidence:
    """Return the evidence of all documents in the *files* of the first pass."""

    def rows_in(name: str) -> pa.Table:
        with storage.open(name) as file:
            return pq.ParquetFile(file).read(["whole", "unreadable"])

    return learn(map(rows_in, files))


def _name_of(file: InputFile) -> str:
    """Return the name of a file as a document."""
    return file.name if is_object(file.name) else document_name(Path(file.name))


def _parts_of(file: InputFile, folder: str) -> Iterator[two_passes.Part]:
    """Yield the documents in a file. Raises `DatasetError` if the storage fails, which is not damage to the file."""
    source = _name_of(file)
    if not is_object(source):
        yield from documents_in_file(Path(folder, file.name), source)
        return
    with ExitStack() as stack:
        try:
            copy = stack.enter_context(object_copy(source))
        except FileNotFoundError:
            yield Document(source, (), (Finding("unreadable", "the object no longer exists"),))
            return
        yield from documents_in_file(copy, source)


def summary_with_origin(part: two_passes.Part, extraction: Extraction | None) -> DocumentSummary:
    """Return the summary of the document that *part* is, or that *extraction* read from it, with its origin."""
    origin = Origin(part.name)
    if isinstance(part, ArchiveMember):
        page_resolvers: Iterable[str | None] = ()
        if extraction is not None and part.url is not None:
            page_resolvers = relative_resolvers(extraction.mentions, extraction.reading, part.url)
        resolvers = {index: resolver for index, resolver in enumerate(page_resolvers) if resolver is not None}
        digest = hashlib.sha256(part.data).hexdigest()
        origin = Origin(part.source, part.url, len(part.data), digest, resolvers)
    return DocumentSummary.of(replace(document_of(part, extraction), origin=origin))


def _write_summaries(storage: Storage, part: Part, summaries: Iterable[DocumentSummary]) -> str:
    is_killed = False
    with storage.scratch() as scratch:
        with ParquetFile(_READ_SCHEMA.with_metadata({_PART: to_json(part)}), scratch) as file:
            for summary in summaries:
                whole = sorted(str(ark).encode("utf-8", "surrogatepass") for ark in summary.whole)
                name = summary.name if summary.is_unreadable else None
                file.add([(summary.encoded, whole, name)], len(summary.encoded))
                is_killed |= any(finding.kind == KILLED for finding in summary.findings)
        # The next command reads a part again in which a document was killed.
        return _publish(storage, scratch, READ, part.digest, ".again" if is_killed else "")


# -- the second pass

Rows = dict[str, list[list[Any]]]
#: The columns of a mention after those of its document.
_CELLS = [column.name for column in MENTIONS.columns[3:]]


def decide_part(storage: Storage, source: str, read_file: str, learned: DatasetEvidence) -> list[TableFile]:
    """Decide the part in *read_file*, and return its file of each table, whose name begins with *source*.

    Raises OSError and `DatasetError` if the storage fails.
    """
    with ExitStack() as stack:
        scratches = {table.name: stack.enter_context(storage.scratch()) for table in DATASET_TABLES}
        with ExitStack() as writing:
            files = {
                table.name: writing.enter_context(ParquetFile(schema_of(table), scratches[table.name]))
                for table in DATASET_TABLES
            }
            read = pq.ParquetFile(writing.enter_context(storage.open(read_file)))
            batches = read.iter_batches(BATCH_DOCUMENTS, columns=["encoded"])
            encoded = chain.from_iterable(batch["encoded"].to_pylist() for batch in batches)
            archives: set[str] = set()
            for rows, _ in decided_documents(encoded, learned.evidence, rows_of, None):
                # Several rows about one archive become one document.
                if rows[DOCUMENTS.name] and not rows[DOCUMENTS.name][0][2]:
                    name = rows[DOCUMENTS.name][0][0]
                    rows[DOCUMENTS.name] = [] if name in archives else rows[DOCUMENTS.name]
                    archives.add(name)
                for table, table_rows in rows.items():
                    files[table].add(table_rows)
        return [table_file(storage, _publish(storage, scratch, table, source)) for table, scratch in scratches.items()]


def table_file(storage: Storage, name: str) -> TableFile:
    """Return a file of a table with its number of rows."""
    with storage.open(name) as file:
        return name, pq.read_metadata(file).num_rows


def rows_of(document: Document) -> Rows:
    """Return the rows of a decided document in each table."""
    origin = document.origin
    assert origin is not None
    # Empty for a whole file.
    record = document.name.removeprefix(origin.source).removeprefix(INSIDE)
    where = [document.name, origin.source, record]
    about = [
        origin.url,
        "unreadable" if document.is_unreadable else "read",
        document.media_type,
        document.title,
        origin.size,
        origin.sha256,
        len(document.mentions),
    ]
    is_document = not document.is_folder and (origin.size is not None or document.is_unreadable)
    mentions = []
    resolvers = [origin.link_resolvers.get(index) for index in range(len(document.mentions))]
    requested = list(citation_urls(document.mentions, resolvers, ""))
    for index, mention in enumerate(document.mentions):
        ark = mention.ark
        row = mention_row(document.name, mention) | {
            "ordinal": index + 1,
            "naan": ark.naan,
            "shoulder": shoulder_of(ark.name),
            "name": ark.name,
            "qualifier": ark.qualifier,
            "requested": requested[index],
            "decided": 2 if index in document.changed else 1,
        }
        mentions.append([*where, *(row[name] for name in _CELLS)])
    budget = current()  # of the suggestions
    findings = dict.fromkeys((*document.findings, *(budget.findings if budget else ())))
    return {
        DOCUMENTS.name: [[*where, *about]] if is_document else [],
        MENTIONS.name: mentions,
        FINDINGS.name: [[*where, finding.kind, finding.detail] for finding in findings],
    }
