"""Documents for `arkaudit extract`: files and standard input are read here; `fetching` has those at URLs."""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

from arkaudit.reading_progress import ReadingProgress
from crawler.seeds import Seeds
from extractors.archives.members import ArchiveMember, Limits
from extractors.archives.walk import archive_kind
from extractors.documents import Document, LocalDocuments, decided_together
from extractors.errors import RunInterrupted
from extractors.folders import document_name
from extractors.isolated import document_worker, read_member

if TYPE_CHECKING:
    from arkaudit.config import Config

#: What is read of a document; an archive on standard input goes into a file first.
_INPUT_BYTES = Limits().member_bytes


def documents(seeds: Seeds, *, standard_input: bool, config: Config | None = None) -> Iterator[Document]:
    """Return every document: standard input first, then files, then URLs; none before all of them have been read.

    What is doubtful in one is decided on what stands whole in any of them, so that their order changes nothing. An
    interrupt ends the reading: what was read until then is given, and then the interrupt. URLs need a *config*.
    """

    def as_read() -> Iterator[Document]:
        with ReadingProgress() as progress:
            for document in _read(seeds, standard_input=standard_input, config=config):
                yield document
                progress.read(len(document.mentions))

    yield from decided_together(as_read(), ends_at=(KeyboardInterrupt, RunInterrupted))


def _read(seeds: Seeds, *, standard_input: bool, config: Config | None) -> Iterator[Document]:
    with document_worker() as worker:
        for document in LocalDocuments(seeds.files, seekable_input() if standard_input else None):
            if isinstance(document, ArchiveMember):
                yield Document.of(document.name, read_member(worker, document))
            else:
                yield document
    for folder, finding in seeds.folder_findings.items():
        yield Document(document_name(folder), (), (finding,), is_folder=True)
    if seeds.urls:
        from arkaudit.fetching import fetched_documents

        assert config is not None
        yield from fetched_documents(Seeds(seeds.urls, (), seeds.orders), config)


def seekable_input() -> BinaryIO:
    """Standard input, to be read more than once: as much of a document as is read, or an archive in a file."""
    stream = sys.stdin.buffer
    start = stream.read(_INPUT_BYTES + 1)
    if len(start) <= _INPUT_BYTES or archive_kind(start) is None:
        return io.BytesIO(start)
    kept = tempfile.TemporaryFile()  # noqa: SIM115  gone with the process
    kept.write(start)
    shutil.copyfileobj(stream, kept)
    return kept
