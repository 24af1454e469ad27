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
    """Yield the result of *render* for each document: of standard input, then of files, then of URLs.

    All documents are read first, because complete ARKs of any document decide doubtful mentions in all. *render* must
    be importable, because one of *jobs* processes calls it. After an interrupt the documents until then are yielded,
    then the interrupt is raised. URLs need a *config*.
    """
    document_count = mention_count = 0

    def count(summary: DocumentSummary) -> None:
        nonlocal document_count, mention_count
        document_count += 1
        mention_count += summary.mention_count
        progress.show(document_count, f", {count_noun(mention_count, 'mention of an ARK', 'mentions of ARKs')}")

    declared = config.check_characters if config else {}
    with TwoPasses(render, jobs=jobs, declared=declared) as passes, Progress() as progress:
        progress.stage("documents read")
        inputs = _inputs(seeds, standard_input=standard_input, config=config)
        yield from passes.results(inputs, stop_exceptions=(KeyboardInterrupt, RunInterrupted), on_read=count)


def _inputs(seeds: Seeds, *, standard_input: bool, config: Config | None) -> Iterator[ArchiveMember | Document]:
    """Yield the documents to read: from standard input, from files and folders, and from fetched URLs."""
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
    first_bytes = stream.read(_INPUT_BYTES)
    if len(first_bytes) < _INPUT_BYTES:
        return io.BytesIO(first_bytes)
    spooled_file = tempfile.TemporaryFile()  # noqa: SIM115
    spooled_file.write(first_bytes)
    shutil.copyfileobj(stream, spooled_file)
    return spooled_file


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
    """Similar ARKs with a correct check character; only for the first mistyped ARKs of a document."""

    @property
    def message(self) -> str:
        """A message with the place and the suggested ARKs."""
        location = ENGLISH.place(self.document, self.page or None, self.line or None)
        first_suggestions, more_count = self.suggestions[:_MOST_SUGGESTIONS], len(self.suggestions) - _MOST_SUGGESTIONS
        more_words = f", or {more_count} more" if more_count > 0 else ""
        question = f"; did you mean {' or '.join(first_suggestions)}{more_words}?" if first_suggestions else ""
        return f"{location}: {self.as_written}: its check character is wrong{question}"


@dataclass(frozen=True, slots=True)
class CountedDocument:
    """A rendered document and the counts of its citations."""

    rendered: Any
    """The result of the function that rendered the document, as plain data."""
    citation_count: int
    repaired_count: int
    """Number of citations with repairs."""
    mistyped_arks: tuple[MistypedArk, ...]

    @classmethod
    def from_document(cls, render: Callable[[Document], Any], document: Document) -> CountedDocument:
        """Return the result of *render* and the counts of a document; a method, so that another process can call it."""
        mentions, name = document.mentions, document.name
        mistyped_mentions = {
            (mention.page or 0, mention.as_written): mention
            for mention in reversed(mentions)
            if mention.check is CheckCharacter.FAILS
        }
        mistyped_arks = [
            MistypedArk(
                name,
                page,
                mention.line or 0,
                spelling,
                str(mention.ark),
                mention.suggestions if index < MOST_FAULTS else (),
            )
            for index, ((page, spelling), mention) in enumerate(sorted(mistyped_mentions.items(), key=itemgetter(0)))
        ]
        citations = {mention.citation for mention in mentions}
        repaired = {mention.citation for mention in mentions if mention.repairs}
        return cls(render(document), len(citations), len(repaired), tuple(mistyped_arks))


@dataclass(slots=True)
class ExtractTotal:
    """Totals of all documents; problems that *known_list* accepts on a *day* are counted apart."""

    known_list: KnownProblems = NOTHING_KNOWN
    day: date = date.min
    read_count: int = 0
    citation_count: int = 0
    repaired_count: int = 0
    partial_count: int = 0
    """Number of documents that could not be read to their end."""
    empty_count: int = 0
    """Number of documents without a byte."""
    unread_names: list[str] = field(default_factory=list)
    mistyped_arks: list[MistypedArk] = field(default_factory=list)
    """Mistyped ARKs that *known_list* does not accept."""
    known_count: int = 0
    """Number of problems that *known_list* accepts."""
    is_unread: bool = False
    """True if *known_list* does not accept that a document was not read as a whole."""

    def add(self, summary: DocumentSummary, counted_document: CountedDocument) -> None:
        """Count one document and its citations."""
        is_empty = False
        self.partial_count += summary.is_read_in_part
        if summary.is_unreadable:
            self.unread_names.append(summary.name)
        elif not summary.is_folder:
            self.read_count += 1
            is_empty = any(finding.kind == "empty" for finding in summary.findings)
            self.empty_count += is_empty
        is_whole = not (summary.is_unreadable or summary.is_read_in_part or is_empty)
        if not is_whole:
            is_known = self._is_known(Problem(UNREADABLE, documents=(summary.name,)))
            self.known_count += is_known
            self.is_unread |= not is_known
        self.citation_count += counted_document.citation_count
        self.repaired_count += counted_document.repaired_count
        new_mistyped = [
            mistyped_ark
            for mistyped_ark in counted_document.mistyped_arks
            if not self._is_known(Problem(MISTYPED, mistyped_ark.ark, documents=(mistyped_ark.document,)))
        ]
        self.known_count += len(counted_document.mistyped_arks) - len(new_mistyped)
        self.mistyped_arks += new_mistyped

    def _is_known(self, problem: Problem) -> bool:
        return bool(self.known_list) and self.known_list.accepts(problem, self.day)

    @property
    def tokens(self) -> list[str]:
        """The outcomes that `--fail-on` compares: ``mistyped`` and ``unreadable``."""
        return [MISTYPED] * bool(self.mistyped_arks) + [UNREADABLE] * self.is_unread

    @property
    def faults(self) -> list[Fault]:
        """The first mistyped ARKs. Unreadable documents were reported while reading."""
        return [Fault(mistyped_ark.message) for mistyped_ark in self.mistyped_arks[:MOST_FAULTS]]

    @property
    def message(self) -> str:
        """The totals in one line.

        >>> ExtractTotal(read_count=2, citation_count=5, repaired_count=1, partial_count=1, unread_names=["a.pdf"]).message
        '2 documents read, 1 of them in part, 1 not readable; 5 citations, 1 repaired when read'
        """
        read = f"{count_noun(self.read_count, 'document')} read"
        partial = f", {self.partial_count:,} of them in part" if self.partial_count else ""
        empty = f", {self.empty_count:,} of them empty" if self.empty_count else ""
        unread = f", {len(self.unread_names):,} not readable" if self.unread_names else ""
        repaired = f", {self.repaired_count:,} repaired when read" if self.repaired_count else ""
        mistyped = f", {len(self.mistyped_arks):,} mistyped" if self.mistyped_arks else ""
        known = f"; {count_noun(self.known_count, 'known problem')}" if self.known_count else ""
        citations = count_noun(self.citation_count, "citation")
        return f"{read}{partial}{empty}{unread}; {citations}{repaired}{mistyped}{known}"


def report_findings(document: str, findings: Sequence[Finding], findings_file: TextIO | None) -> None:
    """Write *findings* about a document to *findings_file*, if any, as JSON Lines.

    Findings that are not about citations or links are printed as messages, too.
    """
    if not findings:
        return
    from crawler.sources.gate import ABOUT_LINKS

    for finding in findings:
        if findings_file is not None:
            row = {"document": document, "kind": finding.kind, "detail": finding.detail}
            findings_file.write(json.dumps(row, ensure_ascii=False) + "\n")
            findings_file.flush()
        if finding.kind not in ABOUT_CITATIONS | ABOUT_LINKS:
            say(f"{document}: {finding.kind}: {finding.detail}")
