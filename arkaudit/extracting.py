"""Documents for `arkaudit extract`: files and standard input are read here, URLs by the documents spider."""

from __future__ import annotations

import io
import pickle
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from rich.console import Console
from scrapy import signals
from scrapy.crawler import Crawler

from arkaudit.audits import audit, document_worker
from arkaudit.config import Config
from arkaudit.progress import ReadingProgress
from arkaudit.seeds import Seeds
from crawler.document_reading import read_member
from crawler.observations import DocumentRecord
from crawler.process import RunInterrupted
from crawler.spiders.documents import document_name
from crawler.storage.store import Store
from extractors.archives.members import ArchiveMember, Limits
from extractors.archives.walk import archive_kind, members
from extractors.ark import Ark
from extractors.document_model import NOTHING_READ, Finding
from extractors.extraction import Extraction, with_evidence
from extractors.mentions.mention import STANDS_WHOLE, Mention
from extractors.mentions.unresolved import UnresolvedMention
from extractors.wraps.evidence import Evidence

#: The name of standard input as a document.
STANDARD_INPUT = "-"
_UNREADABLE = NOTHING_READ - {"empty"} | {"not-fetched"}
#: What is read of a document; an archive on standard input goes into a file first.
_INPUT_BYTES = Limits().member_bytes


@dataclass(frozen=True, slots=True)
class Document:
    """What one document gave; an archive as such has only findings."""

    name: str
    mentions: Sequence[Mention]
    findings: Sequence[Finding]
    doubts: Sequence[UnresolvedMention] = ()
    is_folder: bool = False
    """Whether it is no document, but a folder of which something is to be said."""

    @classmethod
    def of(cls, name: str, read: Extraction) -> Document:
        """The document that *read* was made of."""
        return cls(name, read.mentions, read.findings, read.doubts)

    @property
    def is_unreadable(self) -> bool:
        """Whether it gave nothing because it could not be had or read; one that is empty was read."""
        return not self.mentions and any(finding.kind in _UNREADABLE for finding in self.findings)

    def decided_on(self, evidence: Evidence) -> Document:
        """The document with what was doubtful in it decided in the light of all documents."""
        return replace(self, mentions=with_evidence(self.mentions, self.doubts, evidence), doubts=())


@dataclass(frozen=True, slots=True)
class LocalDocuments:
    """The documents in local files and archives, always in the same order; each iteration reads them anew.

    One document at a time is in memory. What can't be opened, and what is wrong with an archive as such, is a
    `Document` without mentions.
    """

    files: Sequence[Path]
    standard_input: BinaryIO | None = None
    """Seekable; it comes first."""

    def __iter__(self) -> Iterator[ArchiveMember | Document]:
        if self.standard_input is not None:
            yield from _documents(self.standard_input, STANDARD_INPUT, path="")
        for path in self.files:
            name = document_name(path)
            try:
                with path.open("rb") as stream:
                    yield from _documents(stream, name, path=path.name)
            except OSError as problem:
                yield Document(name, (), (Finding("unreadable", str(problem.strerror or problem)),))


def documents(seeds: Seeds, *, standard_input: bool, config: Config, console: Console) -> Iterator[Document]:
    """Every document: standard input first, then files, then URLs; none before all of them have been read.

    What is doubtful in one is decided on what stands whole in any of them, so that their order changes nothing. An
    interrupt ends the reading: what was read until then is given, and then the interrupt.
    """
    whole: set[Ark] = set()
    interrupt: BaseException | None = None
    with tempfile.TemporaryFile() as kept, ReadingProgress(console) as progress:
        try:
            for document in _read(seeds, standard_input=standard_input, config=config, console=console):
                whole.update(mention.ark for mention in document.mentions if mention.reason == STANDS_WHOLE)
                pickle.dump(document, kept)
                progress.read(len(document.mentions))
        except (KeyboardInterrupt, RunInterrupted) as stopped:
            interrupt = stopped
        evidence = Evidence.of(whole)
        kept.seek(0)
        for _ in range(progress.documents):
            document = pickle.load(kept)
            yield document.decided_on(evidence)
    if interrupt is not None:
        raise interrupt


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


def _documents(stream: BinaryIO, name: str, *, path: str) -> Iterator[ArchiveMember | Document]:
    stream.seek(0)
    for found in members(stream, name=name, path=path):
        yield found if isinstance(found, ArchiveMember) else Document(name, (), (found,))


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
        doubts = [cited.unresolved for cited in record.mentions if cited.unresolved is not None]
        yield Document(record.url, [cited.mention for cited in record.mentions], record.findings, doubts)
