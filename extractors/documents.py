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
_INSTALLED_FOLDERS = frozenset({"__pycache__", "bower_components", "node_modules", "site-packages"})

#: Suffixes of pictures of web pages and of authors; a TIFF file is rather a scanned document.
_PICTURE_SUFFIXES = (".gif", ".ico", ".jpeg", ".jpg", ".png", ".webp")


def document_name(path: Path) -> str:
    """Return *path* as the name of a document; bytes that are not UTF-8 are escaped.

    >>> document_name(Path("caf\\udce9.txt"))
    'caf\\\\udce9.txt'
    """
    return str(path).encode("utf-8", "backslashreplace").decode("utf-8")


def files_in(folder: Path, skipped_paths: list[str]) -> Iterator[Path]:
    """Yield the files in *folder* and below it, and the subfolders that can't be read.

    Hidden files and folders, folders of installed programs, and pictures are skipped; their paths, relative to
    *folder*, are added to *skipped_paths*.

    Raises `SourceUnreadable` if *folder* itself can't be read.
    """
    unreadable: list[OSError] = []
    for parent, folders, file_names in os.walk(folder, onerror=unreadable.append):
        skipped_names = {name for name in (*folders, *file_names) if name.startswith(".")}
        skipped_names |= _INSTALLED_FOLDERS.intersection(folders)
        skipped_names |= {name for name in file_names if name.lower().endswith(_PICTURE_SUFFIXES)}
        skipped_paths += [os.path.relpath(Path(parent, name), folder) for name in skipped_names]
        folders[:] = [name for name in folders if name not in skipped_names]
        yield from (
            path for name in file_names if name not in skipped_names and _may_be_file(path := Path(parent, name))
        )
    for problem in unreadable:
        if Path(problem.filename) == folder:
            raise SourceUnreadable(f"{folder} can't be read: {problem.strerror}")
        yield Path(problem.filename)


def hidden_finding(paths: Sequence[str]) -> Finding:
    """Return the finding that the files and folders *paths* were skipped.

    >>> hidden_finding([".git", ".a", ".b", ".c", ".d", ".e"]).detail
    'hidden, installed or pictures, and not read unless they are named: .a, .b, .c, .d, .e and 1 more'
    """
    shown_paths = sorted(paths)[:_MOST_NAMES]
    remark = f" and {len(paths) - len(shown_paths)} more" if len(paths) > len(shown_paths) else ""
    return Finding(
        "members-skipped",
        f"hidden, installed or pictures, and not read unless they are named: {', '.join(shown_paths)}{remark}",
    )


def _may_be_file(path: Path) -> bool:
    """Return True if *path* is a file, or may be one but permissions prevent the test; reading then gives a finding."""
    try:
        return is_file(path)
    except PermissionError:
        return True


def unwritable_reason(folder: Path) -> str | None:
    """Return a message why *folder* can't be created or written to; None if it can.

    A temporary folder is created, because permissions alone can mislead, as in /proc.
    """
    existing_parent = next(parent for parent in (folder, *folder.absolute().parents) if path_exists(parent))
    if not is_folder(existing_parent):
        return f"{existing_parent}: is not a folder"
    try:
        with TemporaryDirectory(prefix=".arkaudit-", dir=existing_parent):
            return None
    except OSError as problem:
        return f"{existing_parent}: the folder can't be written to: {problem.strerror}"


#: The document name of standard input and of bytes without a name.
STANDARD_INPUT = "-"
_UNREADABLE_KINDS = NOTHING_READ - {"empty"} | {"not-fetched"}


@dataclass(frozen=True, slots=True)
class Origin:
    """The source of a document in a dataset."""

    source: str
    """The name of the archive or file."""
    url: str | None = None
    """The URL of a member of a web archive."""
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
    def from_extraction(cls, name: str, extraction: Extraction) -> Document:
        """Return the document *name* with the content of *extraction*."""
        return cls(
            name,
            extraction.mentions,
            extraction.findings,
            extraction.unresolved,
            extraction.reading.media_type,
            extraction.reading.title,
        )

    @property
    def arks(self) -> tuple[Ark, ...]:
        """The distinct ARKs of the mentions, in reading order."""
        return tuple(dict.fromkeys(mention.ark for mention in self.mentions))

    @property
    def is_unreadable(self) -> bool:
        """True if it could not be fetched or read at all; an empty document counts as read."""
        return not self.mentions and any(finding.kind in _UNREADABLE_KINDS for finding in self.findings)

    @property
    def is_read_in_part(self) -> bool:
        """True if only part of it could be read."""
        return not self.is_unreadable and any(finding.kind in READ_IN_PART for finding in self.findings)

    def decide(self, evidence: Evidence) -> Document:
        """Return the document with its `unresolved` mentions decided by the *evidence* of all documents.

        The CPU time is bounded (`extractors.model.budget`); a finding reports mentions left undecided.
        """
        if not self.mentions:
            return self
        budget = TimeBudget(DECIDING_CPU_S)
        with use_budget(budget):
            mentions = with_evidence(self.mentions, self.unresolved, evidence)
        findings = tuple(dict.fromkeys((*self.findings, *budget.findings)))
        changed_indexes = tuple(
            unresolved_mention.index
            for unresolved_mention in self.unresolved
            for old_mention, new_mention in [
                (self.mentions[unresolved_mention.index], mentions[unresolved_mention.index])
            ]
            if (old_mention.ark, old_mention.reason) != (new_mention.ark, new_mention.reason)
        )
        return replace(self, mentions=mentions, unresolved=(), findings=findings, changed=changed_indexes)

    def __repr__(self) -> str:
        return f"<Document {self.name!r}: {len(self.mentions)} mentions, {len(self.findings)} findings>"


def documents_in_file(path: Path, name: str | None = None) -> Iterator[ArchiveMember | Document]:
    """Yield the documents in the file *path*, named by *name*; a file that can't be opened gives one with a finding."""
    name = document_name(path) if name is None else name
    try:
        with path.open("rb") as stream:
            yield from documents_in(stream, name, path=path.name)
    except OSError as problem:
        yield Document(name, (), (Finding("unreadable", str(problem.strerror or problem)),))


def documents_in(stream: BinaryIO, name: str, *, path: str) -> Iterator[ArchiveMember | Document]:
    """Yield the documents in a seekable *stream*, which is called *name*; the suffix of *path* may show the format."""
    stream.seek(0)
    for member in members(stream, name=name, path=path):
        yield member if isinstance(member, ArchiveMember) else Document(name, (), (member,))


def mention_rows(document: Document) -> list[dict[str, Any]]:
    """Return the rows of the mentions of *document* (`mention_row`), as `arkaudit extract` prints them."""
    return [mention_row(document.name, mention) for mention in document.mentions]
