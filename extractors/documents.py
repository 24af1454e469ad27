"""The documents in files, folders, archives and bytes, each with its mentions and with what went wrong.

>>> from extractors import extract
>>> [letter] = extract(b"The scan (see ark:/12148/bpt6k10\\n7371t).", name="letter.txt")
>>> [str(ark) for ark in letter.arks], letter.findings
(['ark:12148/bpt6k107371t'], ())
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

from extractors.archives.members import ArchiveMember
from extractors.archives.walk import members
from extractors.extraction import Extraction, with_evidence
from extractors.find import UnresolvedMention
from extractors.mentions.mention import STANDS_WHOLE, Mention
from extractors.model.ark import Ark
from extractors.model.budget import DECIDING_CPU_S, TimeBudget, spending
from extractors.model.documents import NOTHING_READ, READ_IN_PART, Finding
from extractors.model.errors import SourceUnreadable
from extractors.wraps.evidence import Evidence
from extractors.wraps.rules import Confidence

# The files of a folder, and the names that they have as documents.


#: Hidden files of a folder that are named one by one.
_MOST_NAMES = 5
#: Folders of what programs install or make, which are no one's own documents.
_INSTALLED = frozenset({"__pycache__", "bower_components", "node_modules", "site-packages"})


def document_name(path: Path) -> str:
    """Return the name of a file as a document; what no text can hold is spelled out.

    >>> document_name(Path("caf\\udce9.txt"))
    'caf\\\\udce9.txt'
    """
    return str(path).encode("utf-8", "backslashreplace").decode("utf-8")


def files_in(folder: Path, hidden: list[str]) -> Iterator[Path]:
    """Return the files in *folder* and below it; a folder below that can't be read is given itself.

    Those whose names begin with a dot, and what is in such folders or in those of installed programs, are not among
    them, but go to *hidden*.

    Raises `SourceUnreadable` when *folder* itself can't be read.
    """
    unreadable: list[OSError] = []
    for parent, folders, names in os.walk(folder, onerror=unreadable.append):
        passed_over = {name for name in (*folders, *names) if name.startswith(".")}.union(
            _INSTALLED.intersection(folders)
        )
        hidden += [os.path.relpath(Path(parent, name), folder) for name in passed_over]
        folders[:] = [name for name in folders if name not in passed_over]
        yield from (path for name in names if name not in passed_over and _may_be_file(path := Path(parent, name)))
    for problem in unreadable:
        if Path(problem.filename) == folder:
            raise SourceUnreadable(f"{folder} can't be read: {problem.strerror}")
        yield Path(problem.filename)


def hidden_finding(names: Sequence[str]) -> Finding:
    """Return the finding about files and folders that were passed over.

    >>> hidden_finding([".git", ".a", ".b", ".c", ".d", ".e"]).detail
    'hidden or installed, and not read unless they are named: .a, .b, .c, .d, .e and 1 more'
    """
    first = sorted(names)[:_MOST_NAMES]
    more = f" and {len(names) - len(first)} more" if len(names) > len(first) else ""
    return Finding(
        "members-skipped", f"hidden or installed, and not read unless they are named: {', '.join(first)}{more}"
    )


def _may_be_file(path: Path) -> bool:
    """Return whether it is a file; where we may not know, the row about it will say."""
    try:
        return path.is_file()
    except PermissionError:
        return True


def unwritable(folder: Path) -> str | None:
    """Return why *folder* can neither be made nor written to; None if it can. Leaves nothing there.

    It is tried: a file system may say that one may write, and let no one, as /proc does.
    """
    there = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
    if not there.is_dir():
        return f"{there}: is not a folder"
    try:
        with TemporaryDirectory(prefix=".arkaudit-", dir=there):
            return None
    except OSError as problem:
        return f"{there}: the folder can't be written to: {problem.strerror}"


#: The name of standard input, and of bytes without a name, as a document.
STANDARD_INPUT = "-"
_UNREADABLE = NOTHING_READ - {"empty"} | {"not-fetched"}


@dataclass(frozen=True, slots=True)
class Document:
    """One document and what is cited in it; an archive or a folder as such has only findings."""

    name: str
    """Its path; a member of an archive is named ``theses.zip!/chapter-1.pdf``."""
    mentions: Sequence[Mention]
    """In reading order."""
    findings: Sequence[Finding]
    """Why it could not be read, how far it was read, and how it cites."""
    unresolved: Sequence[UnresolvedMention] = ()
    """Those of its mentions that other documents may decide otherwise."""
    media_type: str = ""
    title: str = ""
    is_folder: bool = False
    """True if it is no document, but a folder of which something is to be said."""

    @classmethod
    def of(cls, name: str, read: Extraction) -> Document:
        """Return the document that *read* was made of."""
        return cls(name, read.mentions, read.findings, read.unresolved, read.reading.media_type, read.reading.title)

    @property
    def arks(self) -> tuple[Ark, ...]:
        """The ARKs that it cites, each once, in reading order."""
        return tuple(dict.fromkeys(mention.ark for mention in self.mentions))

    @property
    def is_unreadable(self) -> bool:
        """True if nothing of it could be had or read; one that is empty was read."""
        return not self.mentions and any(finding.kind in _UNREADABLE for finding in self.findings)

    @property
    def is_read_in_part(self) -> bool:
        """True if some of it was read, and some could not be."""
        return not self.is_unreadable and any(finding.kind in READ_IN_PART for finding in self.findings)

    def decided_on(self, evidence: Evidence) -> Document:
        """Return the document with its unresolved mentions decided on the *evidence* of all documents.

        That takes a bounded CPU time (`extractors.model.budget`); a finding says what there was no time for.
        """
        if not self.mentions:
            return self
        budget = TimeBudget(DECIDING_CPU_S)
        with spending(budget):
            mentions = with_evidence(self.mentions, self.unresolved, evidence)
        findings = tuple(dict.fromkeys((*self.findings, *budget.findings)))
        return replace(self, mentions=mentions, unresolved=(), findings=findings)

    def __repr__(self) -> str:
        return f"<Document {self.name!r}: {len(self.mentions)} mentions, {len(self.findings)} findings>"


def whole_arks(document: Document) -> Iterator[Ark]:
    """Return the ARKs of *document* about which nothing had to be decided: evidence for those of other documents."""
    return (mention.ark for mention in document.mentions if mention.reason == STANDS_WHOLE)


def documents_in_file(path: Path, name: str | None = None) -> Iterator[ArchiveMember | Document]:
    """Return the documents in one local file, by its *name* as a document; one that can't be opened is a finding."""
    name = document_name(path) if name is None else name
    try:
        with path.open("rb") as stream:
            yield from documents_in(stream, name, path=path.name)
    except OSError as problem:
        yield Document(name, (), (Finding("unreadable", str(problem.strerror or problem)),))


def documents_in(stream: BinaryIO, name: str, *, path: str) -> Iterator[ArchiveMember | Document]:
    """Return the documents in a stream that can seek; the ending of *path* may show their format."""
    stream.seek(0)
    for member in members(stream, name=name, path=path):
        yield member if isinstance(member, ArchiveMember) else Document(name, (), (member,))


# Mentions as flat rows: what `arkaudit extract` prints, and a dataset holds.

#: The columns of a row, in their order.
MENTION_COLUMNS = (
    "document", "ark", "as_written", "repaired", "role", "page", "place", "spans", "context", "repairs",
    "resolver", "inflection", "fragment", "confidence", "reason", "alternatives", "check", "suggestions", "spelling",
    "citation",
)  # fmt: skip


#: Fields of a mention that are called otherwise.
_FIELDS = {"spelling": "remarks"}
#: Those of the columns that most people want.
MAIN_COLUMNS = ("document", "page", "ark", "repaired", "repairs", "confidence", "check")


def mention_row(document: str, mention: Mention) -> dict[str, Any]:
    """One mention, as `arkaudit extract` gives it."""
    values = {column: _plain(getattr(mention, _FIELDS.get(column, column))) for column in MENTION_COLUMNS[1:]}
    return {"document": document, **values}


def _plain(value: Any) -> Any:
    match value:
        case Ark():
            return str(value)
        case Confidence():
            return value.token
        case Enum():
            return value.value
        case tuple():
            return [_plain(part) for part in value]
    return value


def mention_rows(document: Document) -> list[dict[str, Any]]:
    """The mentions of a document, as `arkaudit extract` gives them."""
    return [mention_row(document.name, mention) for mention in document.mentions]
