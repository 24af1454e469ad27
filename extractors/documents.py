"""The documents in files, folders, archives and bytes, each with its mentions and findings.

>>> from extractors import extract
>>> [letter] = extract(b"The scan (see ark:/12148/bpt6k10\\n7371t).", name="letter.txt")
>>> [str(ark) for ark in letter.arks], letter.findings
(['ark:12148/bpt6k107371t'], ())
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

from extractors.archives.members import ArchiveMember
from extractors.archives.walk import members
from extractors.extraction import Extraction, with_evidence
from extractors.find import UnresolvedMention
from extractors.mentions.mention import Mention
from extractors.mentions.rows import mention_row
from extractors.model.ark import Ark
from extractors.model.budget import DECIDING_CPU_S, TimeBudget, use_budget
from extractors.model.documents import NOTHING_READ, READ_IN_PART, Finding
from extractors.model.errors import SourceUnreadable
from extractors.model.files import is_file, is_folder, path_exists
from extractors.wraps.evidence import Evidence

# The files of a folder and their names as documents.


#: Hidden files that a finding names one by one.
_MOST_NAMES = 5
#: Folders of installed or generated files, which are not documents of the user.
_INSTALLED = frozenset({"__pycache__", "bower_components", "node_modules", "site-packages"})

#: Suffixes of pictures of web pages and of authors; a TIFF file is rather a scanned document.
_PICTURES = (".gif", ".ico", ".jpeg", ".jpg", ".png", ".webp")


def document_name(path: Path) -> str:
    """Return the name of a file as a document; bytes that are not valid text are escaped.

    >>> document_name(Path("caf\\udce9.txt"))
    'caf\\\\udce9.txt'
    """
    return str(path).encode("utf-8", "backslashreplace").decode("utf-8")


def files_in(folder: Path, hidden: list[str]) -> Iterator[Path]:
    """Yield the files in *folder* and below it; an unreadable subfolder is yielded itself.

    Hidden files, hidden folders, folders of installed programs and pictures are skipped; their names are added to
    *hidden*.

    Raises `SourceUnreadable` if *folder* itself can't be read.
    """
    unreadable: list[OSError] = []
    for parent, folders, names in os.walk(folder, onerror=unreadable.append):
        passed_over = {name for name in (*folders, *names) if name.startswith(".")}
        passed_over |= _INSTALLED.intersection(folders)
        passed_over |= {name for name in names if name.lower().endswith(_PICTURES)}
        hidden += [os.path.relpath(Path(parent, name), folder) for name in passed_over]
        folders[:] = [name for name in folders if name not in passed_over]
        yield from (path for name in names if name not in passed_over and _may_be_file(path := Path(parent, name)))
    for problem in unreadable:
        if Path(problem.filename) == folder:
            raise SourceUnreadable(f"{folder} can't be read: {problem.strerror}")
        yield Path(problem.filename)


def hidden_finding(names: Sequence[str]) -> Finding:
    """Return the finding about files and folders that were skipped.

    >>> hidden_finding([".git", ".a", ".b", ".c", ".d", ".e"]).detail
    'hidden, installed or pictures, and not read unless they are named: .a, .b, .c, .d, .e and 1 more'
    """
    first = sorted(names)[:_MOST_NAMES]
    more = f" and {len(names) - len(first)} more" if len(names) > len(first) else ""
    return Finding(
        "members-skipped",
        f"hidden, installed or pictures, and not read unless they are named: {', '.join(first)}{more}",
    )


def _may_be_file(path: Path) -> bool:
    """Return True if *path* is a file, or if permissions hide that; reading it then gives a finding."""
    try:
        return is_file(path)
    except PermissionError:
        return True


def unwritable_reason(folder: Path) -> str | None:
    """Return why *folder* can't be created or written to, or None if it can. Leaves no file behind.

    A temporary folder is created, because permissions alone can mislead, as in /proc.
    """
    there = next(parent for parent in (folder, *folder.absolute().parents) if path_exists(parent))
    if not is_folder(there):
        return f"{there}: is not a folder"
    try:
        with TemporaryDirectory(prefix=".arkaudit-", dir=there):
            return None
    except OSError as problem:
        return f"{there}: the folder can't be written to: {problem.strerror}"


#: The document name of standard input and of bytes without a name.
STANDARD_INPUT = "-"
_UNREADABLE = NOTHING_READ - {"empty"} | {"not-fetched"}


@dataclass(frozen=True, slots=True)
class Origin:
    """The source of a document in a dataset."""

    source: str
    """The archive or file."""
    url: str | None = None
    size: int | None = None
    """Size in bytes; None for a folder or an archive itself."""
    sha256: str | None = None
    link_resolvers: Mapping[int, str] = field(default_factory=dict)
    """Resolvers of relative links, by the index of the mention."""


@dataclass(frozen=True, slots=True)
class Document:
    """One document with its mentions; for a folder or an archive itself, only findings."""

    name: str
    """Its path; a member of an archive is named ``theses.zip!/chapter-1.pdf``."""
    mentions: Sequence[Mention]
    """In reading order."""
    findings: Sequence[Finding]
    """Problems with reading the document, and with how it cites ARKs."""
    unresolved: Sequence[UnresolvedMention] = ()
    """Mentions that evidence from other documents may change."""
    media_type: str = ""
    title: str = ""
    is_folder: bool = False
    """True for a folder, which has findings but is not a document."""
    changed: tuple[int, ...] = ()
    """Indexes of the mentions that the evidence of all documents changed."""
    origin: Origin | None = None

    @classmethod
    def from_extraction(cls, name: str, read: Extraction) -> Document:
        """Return the document for the extraction *read*."""
        return cls(name, read.mentions, read.findings, read.unresolved, read.reading.media_type, read.reading.title)

    @property
    def arks(self) -> tuple[Ark, ...]:
        """The distinct ARKs of the mentions, in reading order."""
        return tuple(dict.fromkeys(mention.ark for mention in self.mentions))

    @property
    def is_unreadable(self) -> bool:
        """True if it could not be fetched or read at all; an empty document counts as read."""
        return not self.mentions and any(finding.kind in _UNREADABLE for finding in self.findings)

    @property
    def is_read_in_part(self) -> bool:
        """True if only part of it could be read."""
        return not self.is_unreadable and any(finding.kind in READ_IN_PART for finding in self.findings)

    def decide(self, evidence: Evidence) -> Document:
        """Return the document with its unresolved mentions decided by the *evidence* of all documents.

        The CPU time is bounded (`extractors.model.budget`); a finding reports mentions left undecided.
        """
        if not self.mentions:
            return self
        budget = TimeBudget(DECIDING_CPU_S)
        with use_budget(budget):
            mentions = with_evidence(self.mentions, self.unresolved, evidence)
        findings = tuple(dict.fromkeys((*self.findings, *budget.findings)))
        changed = tuple(
            doubt.index
            for doubt in self.unresolved
            for before, after in [(self.mentions[doubt.index], mentions[doubt.index])]
            if (before.ark, before.reason) != (after.ark, after.reason)
        )
        return replace(self, mentions=mentions, unresolved=(), findings=findings, changed=changed)

    def __repr__(self) -> str:
        return f"<Document {self.name!r}: {len(self.mentions)} mentions, {len(self.findings)} findings>"


def documents_in_file(path: Path, name: str | None = None) -> Iterator[ArchiveMember | Document]:
    """Yield the documents in one local file, named by *name*; a file that can't be opened gives a finding."""
    name = document_name(path) if name is None else name
    try:
        with path.open("rb") as stream:
            yield from documents_in(stream, name, path=path.name)
    except OSError as problem:
        yield Document(name, (), (Finding("unreadable", str(problem.strerror or problem)),))


def documents_in(stream: BinaryIO, name: str, *, path: str) -> Iterator[ArchiveMember | Document]:
    """Yield the documents in a seekable stream; the suffix of *path* may show their format."""
    stream.seek(0)
    for member in members(stream, name=name, path=path):
        yield member if isinstance(member, ArchiveMember) else Document(name, (), (member,))


def mention_rows(document: Document) -> list[dict[str, Any]]:
    """Return the rows of a document's mentions in the output of `arkaudit extract`."""
    return [mention_row(document.name, mention) for mention in document.mentions]
