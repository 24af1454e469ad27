"""Read documents for `arkaudit extract`, count their citations, and report findings."""

from __future__ import annotations

import io
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from operator import itemgetter
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO, TypeVar

from arkaudit.output.exits import say
from arkaudit.output.hints import MOST_FAULTS, Fault
from arkaudit.output.progress import Progress
from crawler.model.observations import Problem
from crawler.model.outcomes import MISTYPED
from crawler.spiders.seeds import Seeds
from extractors.archives.members import ArchiveMember
from extractors.documents import STANDARD_INPUT, Document, document_name, documents_in, documents_in_file
from extractors.model.check_characters import CheckCharacter
from extractors.model.documents import ABOUT_CITATIONS, Finding
from extractors.model.errors import RunInterrupted
from extractors.two_passes import DocumentSummary, RenderedDocument, TwoPasses
from reports.languages import ENGLISH
from reports.languages.display import count_noun
from reports.store.known_problems import NOTHING_KNOWN, UNREADABLE, KnownProblems

if TYPE_CHECKING:
    from arkaudit.configuration.config import Config


R = TypeVar("R")

#: Number of suggestions that a message lists.
_MOST_SUGGESTIONS = 3
#: Bytes of standard input that are kept in memory; longer input goes into a file.
_INPUT_BYTES = 2**24


def documents(
    seeds: Seeds, render: Callable[[Document], R], *, standard_input: bool, jobs: int, config: Config | None = None
) -> Iterator[RenderedDocument[R]]:
    """Yield each document rendered: standard input, then files, then URLs, after all of them were read.

    *render* must be importable, because it runs in one of *jobs* processes. Complete ARKs of any document decide
    doubtful mentions in all, so the order has no effect. After an interrupt the documents read so far are given, then
    the interrupt is raised. URLs need a *config*.
    """
    documents = mentions = 0

    def count(read: DocumentSummary) -> None:
        nonlocal documents, mentions
        documents += 1
        mentions += read.mentions
        progress.show(documents, f", {count_noun(mentions, 'mention of an ARK', 'mentions of ARKs')}")

    declared = config.check_characters if config else {}
    with TwoPasses(render, jobs=jobs, declared=declared) as passes, Progress() as progress:
        progress.stage("documents read")
        parts = _parts(seeds, standard_input=standard_input, config=config)
        yield from passes.results(parts, ends_at=(KeyboardInterrupt, RunInterrupted), on_read=count)


def _parts(seeds: Seeds, *, standard_input: bool, config: Config | None) -> Iterator[ArchiveMember | Document]:
    if standard_input:
        yield from documents_in(seekable_input(), STANDARD_INPUT, path="")
    for path in seeds.files:
        yield from documents_in_file(path)
    for folder, finding in seeds.folder_findings.items():
        yield Document(document_name(folder), (), (finding,), is_folder=True)
    if seeds.urls:
        from arkaudit.audits.audit import fetched_documents

        assert config is not None
        yield from fetched_documents(Seeds(seeds.urls, (), seeds.named_kinds), config)


def seekable_input() -> BinaryIO:
    """Return standard input as a seekable stream, from memory or, if it is long, from a temporary file."""
    stream = sys.stdin.buffer
    start = stream.read(_INPUT_BYTES)
    if len(start) < _INPUT_BYTES:
        return io.BytesIO(start)
    kept = tempfile.TemporaryFile()  # noqa: SIM115
    kept.write(start)
    shutil.copyfileobj(stream, kept)
    return kept


# -- totals


@dataclass(frozen=True, slots=True, order=True)
class MistypedArk:
    """An ARK whose check character is wrong."""

    document: str
    page: int
    """0 for documents without pages."""
    line: int
    """0 for documents without lines."""
    as_written: str
    ark: str
    """In normal form."""
    suggestions: tuple[str, ...]
    """For the first mistyped ARKs of a document."""

    @property
    def words(self) -> str:
        """A message with the place and the suggested ARKs."""
        where = ENGLISH.place(self.document, self.page or None, self.line or None)
        first, rest = self.suggestions[:_MOST_SUGGESTIONS], len(self.suggestions) - _MOST_SUGGESTIONS
        more = f", or {rest} more" if rest > 0 else ""
        question = f"; did you mean {' or '.join(first)}{more}?" if first else ""
        return f"{where}: {self.as_written}: its check character is wrong{question}"


@dataclass(frozen=True, slots=True)
class CountedDocument:
    """A rendered document and the counts of its citations."""

    made: Any
    """The result of the function that rendered the document, as plain data."""
    citations: int
    repaired: int
    """Number of citations with repairs."""
    mistyped: tuple[MistypedArk, ...]

    @classmethod
    def from_document(cls, render: Callable[[Document], Any], document: Document) -> CountedDocument:
        """Render and count a document. It is a method of a module-level class, so that another process can run it."""
        mentions, name = document.mentions, document.name
        failing = {
            (mention.page or 0, mention.as_written): mention
            for mention in reversed(mentions)
            if mention.check is CheckCharacter.FAILS
        }
        mistyped = [
            MistypedArk(
                name,
                page,
                mention.line or 0,
                written,
                str(mention.ark),
                mention.suggestions if index < MOST_FAULTS else (),
            )
            for index, ((page, written), mention) in enumerate(sorted(failing.items(), key=itemgetter(0)))
        ]
        citations = {mention.citation for mention in mentions}
        repaired = {mention.citation for mention in mentions if mention.repairs}
        return cls(render(document), len(citations), len(repaired), tuple(mistyped))


@dataclass(slots=True)
class ExtractTotal:
    """Totals of all documents that were read; problems that *known_list* accepts on a *day* are counted apart."""

    known_list: KnownProblems = NOTHING_KNOWN
    day: date = date.min
    read: int = 0
    citations: int = 0
    repaired: int = 0
    in_part: int = 0
    """Documents that could not be read to their end."""
    empty: int = 0
    """Documents without a byte."""
    unread: list[str] = field(default_factory=list)
    mistyped: list[MistypedArk] = field(default_factory=list)
    """Mistyped citations that are no known problems."""
    accepted: int = 0
    """Number of known problems."""
    is_unread: bool = False
    """True if a document was not read as a whole, which is no known problem."""

    def add(self, document: DocumentSummary, counts: CountedDocument) -> None:
        """Count one document and its citations."""
        is_empty = False
        self.in_part += document.is_read_in_part
        if document.is_unreadable:
            self.unread.append(document.name)
        elif not document.is_folder:
            self.read += 1
            is_empty = any(finding.kind == "empty" for finding in document.findings)
            self.empty += is_empty
        is_whole = not (document.is_unreadable or document.is_read_in_part or is_empty)
        if not is_whole:
            is_known = self._is_known(Problem(UNREADABLE, documents=(document.name,)))
            self.accepted += is_known
            self.is_unread |= not is_known
        self.citations += counts.citations
        self.repaired += counts.repaired
        raised = [
            mistyped
            for mistyped in counts.mistyped
            if not self._is_known(Problem(MISTYPED, mistyped.ark, documents=(mistyped.document,)))
        ]
        self.accepted += len(counts.mistyped) - len(raised)
        self.mistyped += raised

    def _is_known(self, problem: Problem) -> bool:
        return bool(self.known_list) and self.known_list.accepts(problem, self.day)

    @property
    def tokens(self) -> list[str]:
        """The tokens for `--fail-on`."""
        return [MISTYPED] * bool(self.mistyped) + [UNREADABLE] * self.is_unread

    @property
    def faults(self) -> list[Fault]:
        """The first mistyped ARKs. Unreadable documents were reported while reading."""
        return [Fault(mistyped.words) for mistyped in self.mistyped[:MOST_FAULTS]]

    @property
    def words(self) -> str:
        """The totals in one line.

        >>> ExtractTotal(read=2, citations=5, repaired=1, in_part=1, unread=["a.pdf"]).words
        '2 documents read, 1 of them in part, 1 not readable; 5 citations, 1 repaired when read'
        """
        documents = f"{count_noun(self.read, 'document')} read"
        in_part = f", {self.in_part:,} of them in part" if self.in_part else ""
        empty = f", {self.empty:,} of them empty" if self.empty else ""
        not_readable = f", {len(self.unread):,} not readable" if self.unread else ""
        repaired = f", {self.repaired:,} repaired when read" if self.repaired else ""
        mistyped = f", {len(self.mistyped):,} mistyped" if self.mistyped else ""
        accepted = f"; {count_noun(self.accepted, 'known problem')}" if self.accepted else ""
        citations = count_noun(self.citations, "citation")
        return f"{documents}{in_part}{empty}{not_readable}; {citations}{repaired}{mistyped}{accepted}"


def report_findings(document: str, findings: Sequence[Finding], to: TextIO | None) -> None:
    """Write the *findings* about a document to *to* as JSON Lines; print those not about citations or links."""
    if not findings:
        return
    from crawler.sources.gate import ABOUT_LINKS

    for finding in findings:
        if to is not None:
            row = {"document": document, "kind": finding.kind, "detail": finding.detail}
            to.write(json.dumps(row, ensure_ascii=False) + "\n")
            to.flush()
        if finding.kind not in ABOUT_CITATIONS | ABOUT_LINKS:
            say(f"{document}: {finding.kind}: {finding.detail}")
