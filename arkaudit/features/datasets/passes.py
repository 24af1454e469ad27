"""The two passes of a dataset over its parts.

The first pass reads the files of a part into documents, and collects their complete ARKs. The second pass decides
doubtful mentions by the evidence of all parts, and writes the rows of the tables. Each file gets its final name when it
is complete, so that a part under its final name is done.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from arkaudit.features.datasets.cluster import document_process
from arkaudit.features.datasets.columns import (
    DATASET_TABLES,
    DOCUMENTS,
    FINDINGS,
    MENTIONS,
    ParquetFile,
    schema_of,
    sound_parquet,
)
from arkaudit.features.datasets.evidence import DatasetEvidence, learn
from arkaudit.features.datasets.parts import Part, digest_of
from arkaudit.features.datasets.storage import OWN_FILE, InputFile, Storage, is_object, object_copy
from crawler.model.resolving import citation_urls
from extractors import two_passes
from extractors.archives.members import INSIDE, ArchiveMember
from extractors.documents import Document, Origin, document_name, documents_in_file
from extractors.extraction import Extraction
from extractors.isolated import BATCH_DOCUMENTS, KILLED, part_weight
from extractors.mentions.mention import relative_resolvers
from extractors.mentions.rows import mention_row
from extractors.model.ark import shoulder_of
from extractors.model.budget import current_budget
from extractors.model.check_characters import NOTHING_DECLARED, Declared
from extractors.processes.codec import from_json, to_json
from extractors.two_passes import DocumentSummary, decided_documents, document_of, parts_reader

#: The folder of the files of the first pass.
READ = "work/read"
#: The file that names the parts in their order, a line each. It is written last.
PARTS = "parts.txt"


def table_file(table: str, part: str) -> str:
    """Return the name of the file with the rows of a *part* in a *table*; both are names."""
    return f"{table}/{part}.parquet"


# -- the first pass


#: A document in each row: its plain data, and its complete ARKs (in UTF-8). The metadata has the part.
_READ_SCHEMA = pa.schema({"encoded": pa.binary(), "whole": pa.list_(pa.binary())})


def read_part(storage: Storage, part: Part, folder: str, declared: Declared = NOTHING_DECLARED) -> str:
    """Read *part* into a file unless the file exists, and return its name; local paths are relative to *folder*.

    *declared* are the user's check characters by NAAN. Raises OSError if the storage fails.
    """
    file_name = f"{READ}/{part.digest}.parquet"
    if storage.is_file(file_name):
        return file_name
    members = (document for file in part.files for document in _parts_of(file, folder))
    is_killed = False
    with storage.scratch() as scratch:
        with ParquetFile(_READ_SCHEMA.with_metadata({b"part": to_json(part)}), scratch) as rows:
            for summary in chain.from_iterable(
                parts_reader(document_process(), summary_with_origin, declared).results(members, part_weight)
            ):
                complete_arks = sorted(str(ark).encode("utf-8", "surrogatepass") for ark in summary.whole_arks)
                rows.add([(summary.encoded, complete_arks)], len(summary.encoded))
                is_killed |= any(finding.kind == KILLED for finding in summary.findings)
        # The next command reads a part again in which a document was killed.
        final_name = file_name.replace(".", f"-{scratch.name}.") if is_killed else file_name
        storage.put(scratch, final_name)
    return final_name


def done_parts_in(storage: Storage) -> Iterator[tuple[str, Part]]:
    """Yield the names of files of the first pass in *storage*, and their parts, except files to read again."""
    for base_name in storage.names(READ):
        if OWN_FILE.fullmatch(base_name) and "-" not in base_name:
            name = f"{READ}/{base_name}"
            # Another version may have written other metadata.
            with storage.open(name) as parquet_file, suppress(ValueError):
                yield name, from_json(pq.read_schema(parquet_file).metadata[b"part"], Part)


def evidence_in(storage: Storage, files: Iterable[str], declared: Declared) -> DatasetEvidence:
    """Return the evidence of all documents in the *files* of the first pass, and of *declared* check characters."""

    def complete_arks_in(name: str) -> pa.ChunkedArray:
        with storage.open(name) as file:
            return sound_parquet(file).read(["whole"])["whole"]

    return learn(map(complete_arks_in, files), declared)


def _parts_of(file: InputFile, folder: str) -> Iterator[two_passes.Part]:
    """Yield the documents in a file, a path below *folder* or a URL. Raises OSError if the storage fails."""
    if not is_object(file.name):
        yield from documents_in_file(Path(folder, file.name), document_name(Path(file.name)))
        return
    with object_copy(file.name) as local_copy:
        yield from documents_in_file(local_copy, file.name)


def summary_with_origin(part: two_passes.Part, extraction: Extraction | None) -> DocumentSummary:
    """Return the summary of the document *part*, with its origin; *extraction* is the result of reading it, if any."""
    origin = Origin(part.name)
    if isinstance(part, ArchiveMember):
        page_resolvers: Iterable[str | None] = ()
        if extraction is not None and part.url is not None:
            page_resolvers = relative_resolvers(extraction.mentions, extraction.reading, part.url)
        resolvers = {index: resolver for index, resolver in enumerate(page_resolvers) if resolver is not None}
        digest = hashlib.sha256(part.data).hexdigest()
        origin = Origin(part.source, part.url, len(part.data), digest, resolvers)
    return DocumentSummary.of(replace(document_of(part, extraction), origin=origin))


# -- the second pass

Rows = dict[str, list[list[Any]]]
#: The columns of a mention after those of its document.
_CELLS = [column.name for column in MENTIONS.columns[3:]]


@dataclass(frozen=True, slots=True)
class DecidedPart:
    """A part whose rows are in the tables."""

    name: str
    """The name of its file in each table, without the suffix."""
    documents: int
    mentions: int
    unreadable: int
    """Number of unreadable documents."""


def decide_part(storage: Storage, read_file: str, evidence: DatasetEvidence) -> DecidedPart:
    """Decide the mentions in *read_file* by *evidence*, write the rows of the tables unless they exist, and count them.

    Raises OSError if the storage fails.
    """
    part_name = digest_of(f"{read_file} {evidence.digest}".encode())
    file_names = {table.name: table_file(table.name, part_name) for table in DATASET_TABLES}
    if not all(map(storage.is_file, file_names.values())):
        with ExitStack() as stack:
            files = {
                table.name: stack.enter_context(
                    _table_file_when_complete(storage, file_names[table.name], schema_of(table))
                )
                for table in DATASET_TABLES
            }
            read_parquet = sound_parquet(stack.enter_context(storage.open(read_file)))
            batches = read_parquet.iter_batches(BATCH_DOCUMENTS, columns=["encoded"])
            encoded_documents = chain.from_iterable(batch["encoded"].to_pylist() for batch in batches)
            document_names: set[str] = set()
            for rows, _ in decided_documents(encoded_documents, evidence.evidence, rows_of, None):
                # Several rows about one archive become one document.
                rows[DOCUMENTS.name] = [row for row in rows[DOCUMENTS.name] if row[0] not in document_names]
                document_names.update(row[0] for row in rows[DOCUMENTS.name])
                for table, table_rows in rows.items():
                    files[table].add(table_rows)
    with storage.open(file_names[DOCUMENTS.name]) as file:
        documents = pq.read_table(file, columns=["outcome", "mentions"])
    unreadable = pc.sum(pc.equal(documents["outcome"], "unreadable")).as_py() or 0
    return DecidedPart(part_name, documents.num_rows, pc.sum(documents["mentions"]).as_py() or 0, unreadable)


@contextmanager
def _table_file_when_complete(storage: Storage, name: str, schema: pa.Schema) -> Iterator[ParquetFile]:
    """Yield a file for rows, which is put into *storage* under *name* after the ``with`` block."""
    with storage.scratch() as scratch:
        with ParquetFile(schema, scratch) as file:
            yield file
        storage.put(scratch, name)


def rows_of(document: Document) -> Rows:
    """Return the rows of a decided document by the name of their table, with cells in the order of the columns."""
    origin = document.origin
    assert origin is not None
    # Empty for a whole file.
    member_name = document.name.removeprefix(origin.source).removeprefix(INSIDE)
    location_cells = [document.name, origin.source, member_name]
    document_cells = [
        origin.url,
        "unreadable" if document.is_unreadable else "read",
        document.media_type,
        document.title,
        origin.size,
        origin.sha256,
        len(document.mentions),
    ]
    is_document = origin.size is not None or document.is_unreadable
    mentions = []
    resolvers = [origin.link_resolvers.get(index) for index in range(len(document.mentions))]
    request_urls = list(citation_urls(document.mentions, resolvers, ""))
    for index, mention in enumerate(document.mentions):
        ark = mention.ark
        row = mention_row(document.name, mention) | {
            "ordinal": index + 1,
            "naan": ark.naan,
            "shoulder": shoulder_of(ark.name),
            "name": ark.name,
            "qualifier": ark.qualifier,
            "requested": request_urls[index],
            "decided": 2 if index in document.changed else 1,
        }
        mentions.append([*location_cells, *(row[name] for name in _CELLS)])
    budget = current_budget()  # of the suggestions
    findings = dict.fromkeys((*document.findings, *(budget.findings if budget else ())))
    return {
        DOCUMENTS.name: [[*location_cells, *document_cells]] if is_document else [],
        MENTIONS.name: mentions,
        FINDINGS.name: [[*location_cells, finding.kind, finding.detail] for finding in findings],
    }
