"""The two passes of a dataset over its parts.

The first pass reads the files of a part into documents, and collects their complete ARKs. The second pass decides
doubtful mentions by the evidence of all parts, and writes the rows of the tables. Each file gets its final name when it
is complete. The name contains a digest of its content, so that a file proves that a part is done.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from arkaudit.datasets.columns import DATASET_TABLES, DOCUMENTS, FINDINGS, MENTIONS, ParquetFile, schema_of
from arkaudit.datasets.evidence import DIGEST_DIGITS, read_evidence
from arkaudit.datasets.plan import Part, TableFile
from arkaudit.datasets.storage import InputFile, Storage, digest_of_file, is_object, open_object
from arkaudit.output.exits import say
from extractors import two_passes
from extractors.archives.members import INSIDE, ArchiveMember
from extractors.documents import Document, Origin, document_name, documents_in, documents_in_file
from extractors.extraction import Extraction
from extractors.isolated import BATCH_DOCUMENTS, KILLED, part_weight
from extractors.mentions.mention import relative_resolvers
from extractors.mentions.rows import mention_row
from extractors.model.ark import shoulder_of
from extractors.model.budget import current
from extractors.model.documents import Finding
from extractors.processes.worker import WorkerExecutor
from extractors.two_passes import DocumentSummary, decided_documents, document_of, parts_reader
from extractors.wraps.evidence import Evidence

#: The folders of the files of the first pass, and of the evidence.
READ = "work/read"
EVIDENCE = "work/evidence"
#: The name of a file of a part: its stem, and the beginning of the digest of its content.
PART_FILE = re.compile(rf"(p[0-9]{{6,}}(?:-[0-9a-f]{{{DIGEST_DIGITS}}})?)-([0-9a-f]{{{DIGEST_DIGITS}}})\.parquet")
#: The end of the name of a file that the next command makes again, because documents of it were killed.
_AGAIN = ".again"


def part_stem(key: str, read_file: str, evidence: str) -> str:
    """Return the stem of the files of a part that is decided on the *evidence* of this digest."""
    return f"{key}-{hashlib.sha256(f'{read_file} {evidence}'.encode()).hexdigest()[:DIGEST_DIGITS]}"


def finished_files(storage: Storage, folder: str) -> dict[str, TableFile]:
    """Return the files of parts in *folder* by stem, without damaged ones, and without those of two attempts."""
    files: defaultdict[str, list[TableFile | None]] = defaultdict(list)
    for name in storage.names(folder):
        if match := PART_FILE.fullmatch(name):
            file, stem, digest = f"{folder}/{name}", *match.groups()
            files[stem].append(None)
            with suppress(FileNotFoundError, pa.ArrowException), storage.local(file) as path:
                if (sha256 := digest_of_file(path)).startswith(digest):
                    files[stem][-1] = TableFile(file, pq.read_metadata(path).num_rows, sha256)
                else:
                    say(f"{file} is damaged; its part is made again")
    return {stem: sound for stem, [sound, *others] in files.items() if sound is not None and not others}


def _publish(storage: Storage, scratch: Path, folder: str, stem: str, end: str = "") -> TableFile:
    """Move a complete file to its final name."""
    sha256 = digest_of_file(scratch)
    file = TableFile(
        f"{folder}/{stem}-{sha256[:DIGEST_DIGITS]}{end}.parquet", pq.read_metadata(scratch).num_rows, sha256
    )
    storage.put(scratch, file.name)
    return file


# -- the first pass


#: A document in each row: its plain data, its complete ARKs and their bases (in UTF-8), and its name if it is unreadable.
_READ_SCHEMA = pa.schema(
    {"encoded": pa.binary(), "whole": pa.list_(pa.binary()), "bases": pa.list_(pa.binary()), "unreadable": pa.string()}
)


def read_part(storage: Storage, part: Part, executor: WorkerExecutor, folder: str) -> str:
    """Read *part*, and return the name of its file; local paths are relative to *folder*.

    Raises OSError and `DatasetError` if the storage fails.
    """
    about_folders = (Document(name, (), (finding,), is_folder=True) for name, finding in part.folders)
    parts = chain(about_folders, (found for file in part.files for found in _parts_of(file, folder)))
    summaries = parts_reader(executor, summary_with_origin).results(parts, part_weight)
    return _write_summaries(storage, part, chain.from_iterable(summaries))


def give_up_part(storage: Storage, part: Part, reason: str) -> str:
    """Record the files of *part* as unreadable for a *reason*, and return the name of its file."""
    documents = (Document(_name_of(file), (), (Finding(KILLED, reason),)) for file in part.files)
    return _write_summaries(storage, part, (summary_with_origin(document, None) for document in documents))


def _name_of(file: InputFile) -> str:
    """Return the name of a file as a document."""
    return file.name if is_object(file.name) else document_name(Path(file.name))


def _parts_of(file: InputFile, folder: str) -> Iterator[two_passes.Part]:
    """Yield the documents in a file. Raises `DatasetError` if the storage fails, which is not damage to the file."""
    source = _name_of(file)
    if not is_object(source):
        yield from documents_in_file(Path(folder, file.name), source)
        return
    try:
        with open_object(source) as stream:
            yield from documents_in(stream, source, path=source.rpartition("/")[2])
    except FileNotFoundError:
        yield Document(source, (), (Finding("unreadable", "the object no longer exists"),))


def summary_with_origin(part: two_passes.Part, extraction: Extraction | None) -> DocumentSummary:
    """Return the summary of the document that *part* is, or that *extraction* read from it, with its origin."""
    origin = Origin(part.name)
    if isinstance(part, ArchiveMember):
        found: Iterable[str | None] = ()
        if extraction is not None and part.url is not None:
            found = relative_resolvers(extraction.mentions, extraction.reading, part.url)
        resolvers = {index: resolver for index, resolver in enumerate(found) if resolver is not None}
        digest = hashlib.sha256(part.data).hexdigest()
        origin = Origin(part.source, part.url, len(part.data), digest, resolvers)
    return DocumentSummary.of(replace(document_of(part, extraction), origin=origin))


def _write_summaries(storage: Storage, part: Part, summaries: Iterable[DocumentSummary]) -> str:
    is_killed = False
    with storage.scratch() as scratch:
        with ParquetFile(_READ_SCHEMA, scratch) as file:
            for summary in summaries:
                whole, bases = _as_bytes(summary.whole), _as_bytes(ark.base for ark in summary.whole)
                name = summary.name if summary.is_unreadable else None
                file.add([(summary.encoded, whole, bases, name)], len(summary.encoded))
                is_killed |= any(finding.kind == KILLED for finding in summary.findings)
        return _publish(storage, scratch, READ, part.key, _AGAIN if is_killed else "").name


def _as_bytes(arks: Iterable[object]) -> list[bytes]:
    return sorted({str(ark).encode("utf-8", "surrogatepass") for ark in arks})


# -- the second pass

Rows = dict[str, list[list[Any]]]
#: The columns of a mention after those of its document.
_CELLS = [column.name for column in MENTIONS.columns[3:]]


def evidence_file(digest: str) -> str:
    """Return the name of the file with the evidence of *digest*."""
    return f"{EVIDENCE}/{digest}.arrow"


def evidence_in(storage: Storage, digest: str) -> Evidence:
    """Return the evidence of *digest* with memory-mapped names. Raises FileNotFoundError."""
    with storage.local(evidence_file(digest)) as path:
        return read_evidence(path)


def decide_part(
    storage: Storage, stem: str, read_file: str, evidence: Evidence, executor: WorkerExecutor | None
) -> list[TableFile]:
    """Decide the part in *read_file*, and return its file of each table, in order.

    The processes of *executor* share the evidence; without one, this process decides. Raises OSError if the storage
    fails.
    """
    with ExitStack() as stack:
        scratches = {table.name: stack.enter_context(storage.scratch()) for table in DATASET_TABLES}
        path = stack.enter_context(storage.local(read_file))
        with ExitStack() as writing:
            files = {
                table.name: writing.enter_context(ParquetFile(schema_of(table), scratches[table.name]))
                for table in DATASET_TABLES
            }
            batches = writing.enter_context(pq.ParquetFile(path)).iter_batches(BATCH_DOCUMENTS, columns=["encoded"])
            encoded = chain.from_iterable(batch["encoded"].to_pylist() for batch in batches)
            archives: set[str] = set()
            for rows, _ in decided_documents(encoded, evidence, rows_of, executor):
                # Several rows about one archive become one document.
                if rows[DOCUMENTS.name] and not rows[DOCUMENTS.name][0][2]:
                    name = rows[DOCUMENTS.name][0][0]
                    rows[DOCUMENTS.name] = [] if name in archives else rows[DOCUMENTS.name]
                    archives.add(name)
                for table, some in rows.items():
                    files[table].add(some)
        return [_publish(storage, scratch, table, stem) for table, scratch in scratches.items()]


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
    for index, mention in enumerate(document.mentions):
        ark = mention.ark
        row = mention_row(document.name, mention) | {
            "ordinal": index + 1,
            "naan": ark.naan,
            "shoulder": shoulder_of(ark.name),
            "name": ark.name,
            "qualifier": ark.qualifier,
            "link_resolver": origin.link_resolvers.get(index),
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
