"""Documents for `arkaudit extract`: files and standard input are read here, URLs by the documents spider."""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from collections.abc import Iterator
from typing import BinaryIO

from rich.console import Console
from scrapy import signals
from scrapy.crawler import Crawler

from arkaudit.audits import audit
from arkaudit.config import Config
from arkaudit.progress import ReadingProgress
from crawler.observations import DocumentRecord
from crawler.process import RunInterrupted
from crawler.seeds import Seeds
from crawler.storage.store import Store
from extractors.archives.members import ArchiveMember, Limits
from extractors.archives.walk import archive_kind
from extractors.documents import Document, LocalDocuments, decided_together, document_name
from extractors.isolated import document_worker, read_member

#: What is read of a document; an archive on standard input goes into a file first.
_INPUT_BYTES = Limits().member_bytes


def documents(seeds: Seeds, *, standard_input: bool, config: Config, console: Console) -> Iterator[Document]:
    """Return every document: standard input first, then files, then URLs; none before all of them have been read.

    What is doubtful in one is decided on what stands whole in any of them, so that their order changes nothing. An
    interrupt ends the reading: what was read until then is given, and then the interrupt.
    """

    def as_read() -> Iterator[Document]:
        with ReadingProgress(console) as progress:
            for document in _read(seeds, standard_input=standard_input, config=config, console=console):
                yield document
                progress.read(len(document.mentions))

    yield from decided_together(as_read(), ends_at=(KeyboardInterrupt, RunInterrupted))


def _read(seeds: Seeds, *, standard_input: bool, config: Config, console: Console) -> Iterator[Document]:
    with document_worker() as worker:
        for document in LocalDocuments(seeds.files, seekable_input() if standard_input else None):
            if isinstance(document, ArchiveMember):
                yield Document.of(document.name, read_member(worker, document))
            else:
                yield document
    for folder, finding in seeds.folder_findings.items():
        yield Document(document_name(folder), (), (finding,), is_folder=True)
    if seeds.urls:
        yield from _fetched(Seeds(seeds.urls, (), seeds.orders), config, console)


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


def _fetched(seeds: Seeds, config: Config, console: Console) -> Iterator[Document]:
    """The documents at the URLs themselves; no link is followed and nothing is kept."""
    records: list[DocumentRecord] = []

    def collect(crawler: Crawler) -> None:
        crawler.signals.connect(take, signal=signals.item_scraped, weak=False)

    def take(item: object) -> None:
        if isinstance(item, DocumentRecord):
            records.append(item)

    only_these = config.model_copy(update={"crawl": config.crawl.model_copy(update={"depth": 0})})
    with Store.open(None) as store:
        audit(
            only_these,
            store,
            command="extract",
            seeds=seeds,
            resolve=False,
            on_start=collect,
            console=console,
        )
    order = {url: number for number, url in enumerate(seeds.urls)}
    last = len(order)
    for record in sorted(records, key=lambda each: order.get(each.url, order.get(each.found_on or "", last))):
        unresolved = [cited.unresolved for cited in record.mentions if cited.unresolved is not None]
        yield Document(record.url, [cited.mention for cited in record.mentions], record.findings, unresolved)
