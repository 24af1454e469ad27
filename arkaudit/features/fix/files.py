"""Find the corrections of files: each file is read once, as `arkaudit extract` reads it; nothing is written."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from arkaudit.features.fix.corrections import (
    ONLY_LISTED,
    WRITTEN,
    Correction,
    Kind,
    apply_edits,
    combine,
    spelling_correction,
)
from arkaudit.features.fix.left_out import LeftOut, form_of, seals_in
from arkaudit.features.fix.sources import Source, Unfixable, is_confirmed
from arkaudit.output.progress import Progress
from extractors.archives.members import ArchiveMember
from extractors.documents import Document, document_name, documents_in_file
from extractors.isolated import READING_CPU_S
from extractors.mentions.mention import Mention
from extractors.model.budget import OverBudget, cpu_limit
from extractors.model.formats import format_of
from extractors.two_passes import RenderedDocument, TwoPasses
from extractors.wraps.evidence import Evidence

if TYPE_CHECKING:
    from arkaudit.features.fix.checks import Checks


@dataclass(slots=True)
class FixedFile:
    """A file with its corrections."""

    path: Path
    old_bytes: bytes = b""
    """The bytes of the file as read."""
    source: Source | None = None
    """The characters of the file; None if no part of the file may be written."""
    corrections: list[Correction] = field(default_factory=list)
    """Corrections to write, in the order of their offsets."""
    unwritten_corrections: list[Correction] = field(default_factory=list)
    """Corrections that are not written, with the reason in `Correction.refusal`."""
    problem: str = ""
    """The reason why the file was not read, or can't be corrected; empty otherwise."""
    is_unread: bool = False

    @property
    def new_bytes(self) -> bytes:
        """The bytes of the file after its corrections."""
        assert self.source is not None
        edits = chain.from_iterable(correction.edits for correction in self.corrections)
        return self.source.bytes_of(apply_edits(self.source.text, edits))


def fixed_files(
    files: Sequence[Path], kinds: Collection[Kind], *, jobs: int, checks: Checks | None = None
) -> Iterator[FixedFile]:
    """Yield the files with corrections, written ones only of these *kinds*, and the files that can't be read.

    *jobs* is the number of processes that read documents.
    """
    _seals_in.cache_clear()
    owners: list[tuple[Path, bool]] = []
    """The file of each document, and True if the document is a member of this file, an archive."""

    def members() -> Iterator[ArchiveMember | Document]:
        for path in files:
            for member in documents_in_file(path):
                owners.append((path, member.name != document_name(path)))
                yield member

    with TwoPasses(_mentions_of, jobs=jobs) as passes, Progress() as progress:
        progress.stage("documents read")
        for index, result in enumerate(passes.results(members())):
            progress.show(index + 1, "")
            path, is_member = owners[index]
            file = FixedFile(path)
            _correct(file, result, kinds, checks, is_member=is_member)
            if file.corrections or file.unwritten_corrections or file.problem:
                yield file


def _mentions_of(document: Document) -> tuple[Mention, ...]:
    return tuple(document.mentions)


def _correct(
    file: FixedFile,
    result: RenderedDocument[tuple[Mention, ...]],
    kinds: Collection[Kind],
    checks: Checks | None,
    *,
    is_member: bool,
) -> None:
    """Add the corrections of a document to *file*; *is_member* if the document is a member of an archive."""
    if result.summary.is_unreadable and not result.summary.is_folder:
        file.problem, file.is_unread = result.summary.findings[0].detail, True
        return
    proposals = [proposal for mention in result.value for proposal in _proposals(mention, kinds, checks)]
    file.unwritten_corrections = [proposal for proposal in proposals if proposal.refusal]
    writable = [proposal for proposal in proposals if not proposal.refusal]
    if not writable:
        return
    try:
        if is_member:
            raise Unfixable("archives are only listed")
        with cpu_limit(READING_CPU_S):
            proposals_by_text = {(proposal.as_written, proposal.correct): proposal for proposal in writable}
            _locate(file, proposals_by_text.values(), Evidence.from_arks(mention.ark for mention in result.value))
    except OSError as problem:
        file.problem = problem.strerror or str(problem)
    except Unfixable as problem:
        file.unwritten_corrections += [replace(proposal, refusal=str(problem)) for proposal in writable]
    except OverBudget:
        file.problem = f"finding its places takes more than {READING_CPU_S:g} s of CPU time"


def _proposals(mention: Mention, kinds: Collection[Kind], checks: Checks | None) -> Iterator[Correction]:
    """Yield the correction of a mention by *kinds*, in one, and corrections that are not written, with the reason."""
    spelling_fix = spelling_correction(mention)
    correction_to_write = spelling_fix if spelling_fix and not spelling_fix.refusal and Kind.SPELLING in kinds else None
    if spelling_fix and spelling_fix.refusal and Kind.SPELLING in kinds:
        yield spelling_fix
    for checked_correction in checks.corrections_of(mention, correction_to_write) if checks else ():
        kind = checked_correction.kinds[0]
        if kind not in kinds:
            yield replace(checked_correction, refusal=f"--only {kind} writes it" if kind in WRITTEN else ONLY_LISTED)
        elif checked_correction.refusal:
            yield checked_correction
        else:
            correction_to_write = combine(correction_to_write, checked_correction)
    if correction_to_write:
        yield correction_to_write


def _locate(file: FixedFile, corrections: Iterable[Correction], evidence: Evidence) -> None:
    """Add *corrections* to *file* at all occurrences of their citations, with edits or with the reason of a refusal.

    Raises `Unfixable` for a binary file, and OSError.
    """
    file.old_bytes = file.path.read_bytes()
    left_out, refusal = None, ""
    try:
        form = form_of(file.path.name, format_of(file.old_bytes, name=file.path.name))
        _refuse_sealed(file.path)
        source = Source(file.old_bytes)
        left_out = LeftOut(source.text, form)
    except Unfixable as problem:
        # A text is listed with its lines.
        if b"\0" in file.old_bytes:
            raise
        source, refusal = Source(file.old_bytes), str(problem)
    file.source = source
    located_corrections = [
        pair for correction in corrections for pair in _at_occurrences(source, correction, left_out, evidence)
    ]
    line_number, counted_end, last_end = 1, 0, 0
    for start, correction in sorted(located_corrections, key=lambda pair: pair[0]):
        line_number += source.text.count("\n", counted_end, start)
        counted_end = start
        location = f"line {line_number}" if correction.edits else correction.location
        conflict = "another correction is at its place" if start < last_end else ""
        correction = replace(correction, location=location, refusal=refusal or correction.refusal or conflict)
        if correction.refusal:
            file.unwritten_corrections.append(correction)
        else:
            last_end = correction.edits[-1].end
            file.corrections.append(correction)


def _at_occurrences(
    source: Source, correction: Correction, left_out: LeftOut | None, evidence: Evidence
) -> Iterator[tuple[int, Correction]]:
    """Yield the offset of each occurrence of the citation, and the correction with its edits or its refusal.

    Without an occurrence, yields the offset 0 and a refusal.
    """
    occurrences = list(source.occurrences(correction.as_written))
    if not occurrences:
        yield 0, replace(correction, refusal="its place in the file was not found")
    for occurrence in occurrences:
        refusal = left_out.reason(occurrence) if left_out else ""
        if left_out and not refusal and not is_confirmed(occurrence, correction, evidence):
            refusal = "reading the file again would give another result"
        edits = tuple(occurrence.edits(correction.as_written, correction.correct))
        yield occurrence.start, replace(correction, edits=edits, refusal=refusal)


def _refuse_sealed(path: Path) -> None:
    """Raise `Unfixable` if another file holds a signature or a checksum of the file at *path*."""
    subjects: tuple[str | None, ...] = (path.name, None)
    for folder in path.absolute().parents:
        for seal in filter(None, map(_seals_in(folder).get, subjects)):
            raise Unfixable(f"{folder / seal} has its signature or checksum")
        subjects = (None,)


@cache
def _seals_in(folder: Path) -> Mapping[str | None, str]:
    try:
        with os.scandir(folder) as entries:
            return seals_in({entry.name for entry in entries if not entry.is_dir()})
    except OSError:
        return {}
