"""From what was fetched or opened, a document or an archive of them, to the rows about it."""

from __future__ import annotations

import asyncio
import hashlib
import io
from collections import deque
from collections.abc import AsyncIterator, Collection, Coroutine, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, Generic, TypeVar
from urllib.parse import urlsplit

from crawler.model.observations import CitedMention, DocumentOutcome, DocumentRecord, Hop, now
from crawler.model.resolving import mention_url
from crawler.sources.source_reading import SourceWorker, read_source
from crawler.wire.failures import STOPPED, incomplete
from extractors.archives.members import ArchiveMember
from extractors.archives.walk import archive_kind, members
from extractors.extraction import Extraction
from extractors.isolated import (
    PARSING_BYTES,
    PARSING_CPU_S,
    PARSING_S,
    DocumentWorker,
    extraction_in_time,
    extraction_of_member,
    failed_extraction,
    may_stay_inline,
    read_member,
)
from extractors.mentions.resolver import relative_resolver
from extractors.model.documents import NOTHING_READ, Finding
from extractors.model.formats import Format, format_of, parse_content_type
from extractors.processes.worker import Worker, WorkerError
from extractors.processes.worker_executor import BatchReading, WorkerExecutor, part_weight

if TYPE_CHECKING:
    from scrapy.http import Response

#: Pages that are no larger are read at once, and nothing else is done meanwhile; the worst takes tenths of a second.
_AT_ONCE_BYTES = 2**14
_PIECE_BYTES = 2**20


@dataclass(frozen=True, slots=True)
class DocumentSource:
    """Something that was fetched or opened."""

    name: str
    stream: BinaryIO
    path: str
    """A name whose ending may say the format."""
    found_on: str | None = None
    hops: tuple[Hop, ...] = ()
    media_type: str | None = None
    charset: str | None = None
    flags: Collection[str] = ()
    """Those of the response that it came with, if any: whether and why only a part of it has arrived."""

    @classmethod
    def of(
        cls,
        response: Response,
        hops: tuple[Hop, ...],
        *,
        name: str | None = None,
        found_on: str | None = None,
    ) -> DocumentSource:
        """What *response* brought, after so many *hops*; its *name* is the URL, unless it has another."""
        content_type = (response.headers.get("Content-Type") or b"").decode("latin-1")
        media_type, charset = parse_content_type(content_type) if content_type else (None, None)
        return cls(
            name or response.url,
            io.BytesIO(response.body),
            urlsplit(response.url).path,
            found_on=found_on,
            hops=hops,
            media_type=media_type,
            charset=charset,
            flags=response.flags,
        )

    @property
    def page_url(self) -> str | None:
        """Return where on the web it was in the end; None for a file."""
        return self.hops[-1].url if self.hops else None


@dataclass(frozen=True, slots=True)
class Row:
    """The row about a document, and what it says; `extraction` is missing for an archive as such."""

    record: DocumentRecord
    extraction: Extraction | None
    is_member: bool = False
    """Whether it was in an archive: its links are of another time and place."""


class DocumentReader:
    """Makes rows of documents; each is read when its row is asked for, unless it was begun before.

    What is begun before is read in the processes of *ahead*, which are several; archives of local files in those of
    *executor*, batch by batch.
    """

    def __init__(
        self,
        worker: DocumentWorker,
        *,
        resolver: str,
        executor: WorkerExecutor | None = None,
        ahead: WorkerExecutor | None = None,
    ) -> None:
        self._worker = worker
        self._executor = executor
        self._ahead = ahead
        self._resolver = resolver

    @property
    def reads_ahead(self) -> bool:
        """True if documents may be begun before their turn."""
        return self._ahead is not None

    def begin(self, source: DocumentSource) -> BegunReading | None:
        """Begin to read what was fetched, though it is not its turn; None where that doesn't pay, or it is an archive.

        Smaller documents than those that are parsed in a process anyway take less time than it takes to send them, and
        their links back.
        """
        if self._ahead is None or not isinstance(source.stream, io.BytesIO):
            return None
        own = ArchiveMember(
            source.name, source.path, source.stream.getvalue(), source.media_type, source.charset
        )
        if archive_kind(own.data) is not None or may_stay_inline(own):
            return None
        return self._ahead.submit(read_fetched, own, page_url=source.page_url)

    async def rows(
        self, source: DocumentSource, begun: BegunReading | None = None
    ) -> AsyncIterator[Row]:
        """The row about a document; about an archive, one for each document in it and then its own.

        *begun* is what `begin` gave for *source*. Rows of local files have no extraction where an executor reads them.
        Raises what reading the source's stream raises.
        """
        at = source.hops[-1].at if source.hops else now()
        findings: list[Finding] = []
        has_documents = False
        walk = members(
            source.stream,
            name=source.name,
            path=source.path,
            media_type=source.media_type,
            charset=source.charset,
        )
        if begun is not None:
            parts = self._read_before(walk, begun)
        else:
            parts = self._read_ahead(source, walk) if self._executor else self._read(source, walk)
        async for part in parts:
            if isinstance(part, Finding):
                findings.append(part)
                continue
            is_own = part.name == source.name
            has_documents = True
            yield Row(self._record(source, at, part), part.extraction, is_member=not is_own)
            if is_own:
                return
        yield Row(
            await asyncio.to_thread(_archive_record, source, at, findings, has_documents), None
        )

    async def _read(
        self, source: DocumentSource, walk: Iterator[ArchiveMember | Finding]
    ) -> AsyncIterator[MemberReading | Finding]:
        """The documents of a source, one after the other, a small page at once."""
        is_quick = _is_quick(source)
        while (
            member := self._next_read(source, walk)
            if is_quick
            else await asyncio.to_thread(self._next_read, source, walk)
        ) is not None:
            yield member

    def _next_read(
        self, source: DocumentSource, walk: Iterator[ArchiveMember | Finding]
    ) -> MemberReading | Finding | None:
        """The next document with what it says, or the next finding; None at the end."""
        member = next(walk, None)
        if not isinstance(member, ArchiveMember):
            return member
        return MemberReading.of(
            member,
            read_member(self._worker, member),
            _page_url(member, source.name, source.page_url),
        )

    async def _read_before(
        self, walk: Iterator[ArchiveMember | Finding], begun: BegunReading
    ) -> AsyncIterator[MemberReading | Finding]:
        """The parts of what was begun before."""
        try:
            unread_members = await asyncio.wrap_future(begun)
        except WorkerError as failure:
            unread_members = [_unread(part, failure) for part in walk]
        for member in unread_members:
            yield member

    async def _read_ahead(
        self, source: DocumentSource, walk: Iterator[ArchiveMember | Finding]
    ) -> AsyncIterator[MemberReading | Finding]:
        """The same, in batches, several of which are read at a time in processes of their own."""
        assert self._executor is not None
        read = partial(read_members, own=source.name, page_url=source.page_url)
        reading = BatchReading(self._executor, read, _unread)
        results = reading.results(walk, part_weight)
        while (members_read := await asyncio.to_thread(next, results, None)) is not None:
            for member in members_read:
                yield member

    def _record(self, source: DocumentSource, at: str, member: MemberReading) -> DocumentRecord:
        """The row about a document; nothing was asked of the network for one that was in an archive."""
        extraction = member.extraction
        is_own = member.name == source.name
        not_whole = _not_whole(source, member.size) if is_own else ()
        findings = (
            *(
                finding
                for finding in extraction.findings
                if not not_whole or finding.kind != "empty"
            ),
            *not_whole,
        )
        return DocumentRecord(
            url=member.name,
            found_on=source.found_on if is_own else source.name,
            fetched_at=at,
            outcome=_outcome(
                findings, is_read=bool(extraction.mentions), is_answer=is_own and bool(source.hops)
            ),
            hops=source.hops if is_own else (),
            media_type=extraction.reading.media_type,
            title=extraction.reading.title,
            body_bytes=member.size,
            body_sha256=member.sha256,
            mentions=tuple(self._cited(member)),
            findings=findings,
        )

    def _cited(self, member: MemberReading) -> Iterator[CitedMention]:
        """The mentions of a document, each with the URL to ask and with what it may be decided again on."""
        unresolved = {
            unresolved_mention.index: unresolved_mention
            for unresolved_mention in member.extraction.unresolved
        }
        for index, (mention, own) in enumerate(
            zip(member.extraction.mentions, member.resolvers, strict=True)
        ):
            url = mention_url(mention.repaired, mention.resolver, own, self._resolver)
            yield CitedMention(mention, url, unresolved.get(index))


@dataclass(frozen=True, slots=True)
class MemberReading:
    """One document, and what was read in it."""

    name: str
    url: str | None
    """Where it was on the web, for one in a web archive."""
    size: int
    sha256: str
    extraction: Extraction
    resolvers: tuple[str | None, ...]
    """Of each mention: the resolver that its page is on, where a relative link means that."""

    @classmethod
    def of(
        cls, member: ArchiveMember, extraction: Extraction, page_url: str | None
    ) -> MemberReading:
        """Return the reading of *member*, which is, or was, at *page_url* on the web."""
        resolvers = (
            relative_resolver(mention, extraction.reading, page_url)
            if page_url is not None
            else None
            for mention in extraction.mentions
        )
        digest = hashlib.sha256(member.data).hexdigest()
        return cls(member.name, member.url, len(member.data), digest, extraction, tuple(resolvers))

    @property
    def without_text(self) -> MemberReading:
        """The same without the text of the document, which need not go from process to process."""
        reading = replace(self.extraction.reading, blocks=())
        return replace(self, extraction=replace(self.extraction, reading=reading))

    @property
    def without_links(self) -> MemberReading:
        """The same without text and links."""
        reading = replace(self.extraction.reading, blocks=(), links=())
        return replace(self, extraction=replace(self.extraction, reading=reading))


#: What reads a document that was fetched, and gives what `read_fetched` gives.
BegunReading = Future[list["MemberReading | Finding"]]


def read_members(
    parts: Sequence[ArchiveMember | Finding], *, own: str, page_url: str | None
) -> list[MemberReading | Finding]:
    """Return the reading of each member among *parts*; that named *own* is at *page_url*."""
    return [
        MemberReading.of(
            part, extraction_in_time(part), _page_url(part, own, page_url)
        ).without_links
        if isinstance(part, ArchiveMember)
        else part
        for part in parts
    ]


def read_fetched(own: ArchiveMember, *, page_url: str | None) -> list[MemberReading | Finding]:
    """Return the reading of a document that was fetched from *page_url*, and what else is found about it."""
    walk = members(
        io.BytesIO(own.data),
        name=own.name,
        path=own.path,
        media_type=own.media_type,
        charset=own.charset,
    )
    return [
        MemberReading.of(part, extraction_in_time(part), page_url).without_text
        if isinstance(part, ArchiveMember)
        else part
        for part in walk
    ]


def _unread(part: ArchiveMember | Finding, failure: WorkerError) -> MemberReading | Finding:
    """The reading of a document whose process ended."""
    if isinstance(part, Finding):
        return part
    return MemberReading.of(
        part, extraction_of_member(failed_extraction(failure, part.media_type), part), None
    )


def _page_url(member: ArchiveMember, own: str, page_url: str | None) -> str | None:
    return page_url if member.name == own else member.url


def _is_quick(source: DocumentSource) -> bool:
    """Return whether a source is a small page, which is read sooner than it is handed to a thread."""
    if not isinstance(source.stream, io.BytesIO):
        return False
    with source.stream.getbuffer() as data:
        if len(data) > _AT_ONCE_BYTES:
            return False
        page = bytes(data)
    name = source.path or source.name
    page_format = format_of(page, media_type=source.media_type, name=name, charset=source.charset)
    return page_format is Format.HTML and archive_kind(page) is None


def source_record(source: DocumentSource, *, is_faulty: bool) -> DocumentRecord:
    """The row about a document that only holds others, each with a row of its own: an answer of OAI-PMH."""
    data = source.stream.read()
    return DocumentRecord(
        url=source.name,
        found_on=source.found_on,
        fetched_at=source.hops[-1].at if source.hops else now(),
        outcome=DocumentOutcome.UNREADABLE if is_faulty else DocumentOutcome.READ,
        hops=source.hops,
        media_type=source.media_type,
        body_bytes=len(data),
        body_sha256=hashlib.sha256(data).hexdigest(),
        findings=_not_whole(source, len(data)),
    )


def _archive_record(
    source: DocumentSource, at: str, findings: Sequence[Finding], is_read: bool
) -> DocumentRecord:
    """The row about an archive as such; the documents in it have their own."""
    source.stream.seek(0)
    digest = hashlib.sha256()
    size = 0
    kind = None
    while piece := source.stream.read(_PIECE_BYTES):
        kind = kind or archive_kind(piece)
        digest.update(piece)
        size += len(piece)
    all_findings = (*findings, *_not_whole(source, size))
    return DocumentRecord(
        url=source.name,
        found_on=source.found_on,
        fetched_at=at,
        outcome=_outcome(all_findings, is_read=is_read, is_answer=bool(source.hops)),
        hops=source.hops,
        media_type=kind.value if kind else None,
        body_bytes=size,
        body_sha256=digest.hexdigest(),
        findings=all_findings,
    )


def _not_whole(source: DocumentSource, size: int) -> tuple[Finding, ...]:
    """Return why *size* bytes are not all of a document that was fetched."""
    if not size and STOPPED in source.flags:
        return (
            Finding("unknown-format", f"not fetched, for it is no document: {source.media_type}"),
        )
    return tuple(incomplete(source.flags, size))


def _outcome(findings: Sequence[Finding], *, is_read: bool, is_answer: bool) -> DocumentOutcome:
    """A file without a byte was read, as `arkaudit extract` has it; a host that answers with none has kept it back."""
    kinds = NOTHING_READ if is_answer else NOTHING_READ - {"empty"}
    nothing_read = not is_read and any(finding.kind in kinds for finding in findings)
    return DocumentOutcome.UNREADABLE if nothing_read else DocumentOutcome.READ


# The process in which sources are parsed that might crash or hang their parser, with the limits of documents.


def source_worker() -> SourceWorker:
    """Return the process that reads large sitemaps, feeds and harvests; it is started when there is one."""
    return Worker(read_source, timeout_s=PARSING_S, cpu_s=PARSING_CPU_S, memory_bytes=PARSING_BYTES)


# Several asynchronous iterators run at a time, whose items come out in the order in which the iterators were begun.

T = TypeVar("T")

#: Items that one iterator may have waiting while those before it are not at their end.
_MOST_WAITING = 256


class ReadAhead(Generic[T]):
    """Runs at most so many iterators at a time; items of others may be put between theirs.

    Each iterator runs in a task of its own from `begin` on, and `items` gives what they give. It ends, or raises what
    one of them has raised, after `end`.

    >>> async def numbers(first: int) -> AsyncIterator[int]:
    ...     for number in range(first, first + 2):
    ...         yield number
    >>> async def read() -> list[int]:
    ...     ahead = ReadAhead(2)
    ...     async def begin() -> None:
    ...         for first in (1, 10, 20):
    ...             await ahead.begin(numbers(first))
    ...         await ahead.end()
    ...     return [number async for number in ahead.items(begin())]
    >>> asyncio.run(read())
    [1, 2, 10, 11, 20, 21]
    """

    def __init__(self, most: int) -> None:
        self._slots = asyncio.Semaphore(most)
        self._out: asyncio.Queue[_Given[T] | _End] = asyncio.Queue(maxsize=1)
        self._last = asyncio.Event()
        self._last.set()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def is_reading(self) -> bool:
        """True if an iterator is not at its end, or no one has taken what came out last."""
        return not self._last.is_set() or not self._out.empty()

    async def begin(self, iterator: AsyncIterator[T]) -> None:
        """Run *iterator*, as soon as there is a slot for it."""
        await self._slots.acquire()
        before, self._last = self._last, asyncio.Event()
        task = asyncio.create_task(self._run(iterator, before, self._last))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def put(self, item: T) -> None:
        """Let *item* come out now, before what the iterators give next."""
        await self._out.put(_Given(item))

    async def end(self) -> None:
        """Wait until all iterators are at their ends; nothing is begun any more."""
        await self._last.wait()
        await self._out.put(_End(None))

    async def items(self, beginning: Coroutine[Any, Any, None]) -> AsyncIterator[T]:
        """Give all items; *beginning* begins the iterators, and calls `end`."""
        task = asyncio.create_task(self._begun(beginning))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            while isinstance(given := await self._out.get(), _Given):
                yield given.value
            if given.failure is not None:
                raise given.failure
        finally:
            self.close()

    def close(self) -> None:
        """End all iterators where they are: no one takes their items any more."""
        for task in self._tasks:
            task.cancel()

    async def _begun(self, beginning: Coroutine[Any, Any, None]) -> None:
        try:
            await beginning
        except Exception as failure:
            await self._out.put(_End(failure))

    async def _run(
        self, iterator: AsyncIterator[T], before: asyncio.Event, end: asyncio.Event
    ) -> None:
        waiting: deque[T] = deque()
        try:
            async for item in iterator:
                waiting.append(item)
                if len(waiting) >= _MOST_WAITING:
                    await before.wait()
                if before.is_set():
                    await self._put_all(waiting)
            await before.wait()
            await self._put_all(waiting)
        except Exception as failure:
            await before.wait()
            await self._put_all(waiting)
            await self._out.put(_End(failure))
        finally:
            self._slots.release()
            end.set()

    async def _put_all(self, waiting: deque[T]) -> None:
        while waiting:
            await self._out.put(_Given(waiting.popleft()))


@dataclass(frozen=True, slots=True)
class _Given(Generic[T]):
    value: T


@dataclass(frozen=True, slots=True)
class _End:
    failure: Exception | None
