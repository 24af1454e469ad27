"""Documents for `arkaudit extract`: files and standard input are read here; `fetching` has those at URLs."""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, BinaryIO, TypeVar

from arkaudit.reading_progress import ReadingProgress
from crawler.seeds import Seeds
from extractors.archives.members import ArchiveMember
from extractors.documents import Document, LocalDocuments
from extractors.folders import document_name
from extractors.shared_errors import RunInterrupted
from extractors.two_passes import Rendered, TwoPasses

if TYPE_CHECKING:
    from arkaudit.config import Config

R = TypeVar("R")

#: As much of standard input is kept in memory.
_INPUT_BYTES = 2**24


def documents(
    seeds: Seeds,
    render: Callable[[Document], R],
    *,
    standard_input: bool,
    jobs: int,
    config: Config | None = None,
) -> Iterator[Rendered[R]]:
    """Return every document: standard input first, then files, then URLs; none before all of them have been read.

    *render*, a function of a module, makes of each what is wanted of it, in one of so many processes (*jobs*). What is
    doubtful in one is decided on what stands whole in any of them, so that their order changes nothing. An interrupt
    ends the reading: what was read until then is given, and then the interrupt. URLs need a *config*.
    """
    with TwoPasses(render, jobs=jobs) as passes, ReadingProgress() as progress:
        parts = _parts(seeds, standard_input=standard_input, config=config)
        yield from passes.of(
            parts, ends_at=(KeyboardInterrupt, RunInterrupted), on_read=lambda read: progress.read(read.mentions)
        )


def _parts(seeds: Seeds, *, standard_input: bool, config: Config | None) -> Iterator[ArchiveMember | Document]:
    yield from LocalDocuments(seeds.files, seekable_input() if standard_input else None)
    for folder, finding in seeds.folder_findings.items():
        yield Document(document_name(folder), (), (finding,), is_folder=True)
    if seeds.urls:
        from arkaudit.fetching import fetched_documents

        assert config is not None
        yield from fetched_documents(Seeds(seeds.urls, (), seeds.orders), config)


def seekable_input() -> BinaryIO:
    """Standard input, to be read more than once; what is long goes into a file first."""
    stream = sys.stdin.buffer
    start = stream.read(_INPUT_BYTES)
    if len(start) < _INPUT_BYTES:
        return io.BytesIO(start)
    kept = tempfile.TemporaryFile()  # noqa: SIM115  gone with the process
    kept.write(start)
    shutil.copyfileobj(stream, kept)
    return kept
