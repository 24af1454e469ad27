"""Correct citations in files: propose, make each correction in memory, and read the result again before it counts."""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from arkaudit.output.progress import Progress
from extractors.archives.members import INSIDE, ArchiveMember
from extractors.corrections.proposals import Kind, Proposal, choose, corrected, propose
from extractors.corrections.sources import ByteEdit, NotEditable, Source, Unfixable
from extractors.corrections.verification import Expected, difference
from extractors.documents import Document, documents_in_file
from extractors.mentions.mention import Mention
from extractors.model.documents import Finding, Role
from extractors.two_passes import RenderedDocument, TwoPasses

if TYPE_CHECKING:
    from arkaudit.audits.checked_corrections import StoreChecks

#: Corrections of a file that are tried one by one if all together can't be verified.
_MOST_TRIALS = 200
#: The refusal of a correction that is not certain.
ONLY_LIKELY = "it is only likely; --likely makes it"


@dataclass(frozen=True, slots=True)
class Correction:
    """The corrections of one mention in a file."""

    index: int
    """Of the mention."""
    proposals: tuple[Proposal, ...]
    written: str
    correct: str
    place: str
    """Line, page, or part of the document."""
    edits: tuple[ByteEdit, ...] = ()
    refusal: str = ""
    """Why it was not made; empty if it was."""

    @property
    def ark(self) -> str:
        """The ARK after the correction."""
        return next((each.ark for each in self.proposals if each.ark), "")

    @property
    def is_likely(self) -> bool:
        """True if uncertainty is the only reason not to make the correction."""
        return self.refusal == ONLY_LIKELY

    @property
    def kinds(self) -> str:
        """The kinds of the proposals, separated by commas."""
        return ", ".join(proposal.kind for proposal in self.proposals)

    @property
    def because(self) -> str:
        """The reasons for the proposals in words, separated by semicolons."""
        return "; ".join(proposal.because for proposal in self.proposals)

    @property
    def copy(self) -> tuple[str, str] | None:
        """The URL and the date of the archived copy that the correction adds, or None."""
        return next((each.copy for each in self.proposals if each.copy), None)


@dataclass(slots=True)
class FixedFile:
    """A file with its corrections, verified in memory; nothing has been written."""

    path: Path
    sha256: str = ""
    """The digest of the file as it was read."""
    new_sha256: str = ""
    """The digest of the file after its corrections."""
    corrections: list[Correction] = field(default_factory=list)
    """Corrections that are made."""
    others: list[Correction] = field(default_factory=list)
    """Corrections that are not made, each with the reason."""
    problem: str = ""
    """Why the file can't be corrected at all; empty otherwise."""
    is_unread: bool = False
    is_package: bool = False
    _mentions: tuple[Mention, ...] = ()
    _candidates: list[Correction] = field(default_factory=list)
    """Corrections to verify; several with one index if its place is unclear."""

    def new_data(self, data: bytes, corrections: Iterable[Correction] | None = None) -> bytes:
        """Return *data*, the content of the file, after its *corrections*. Raises `Unfixable` if it has changed."""
        if hashlib.sha256(data).hexdigest() != self.sha256:
            raise Unfixable("it has changed since it was read; run arkaudit fix again")
        corrections = self.corrections if corrections is None else corrections
        return Source(data, self.path.name).apply(chain.from_iterable(one.edits for one in corrections))


@dataclass(frozen=True, slots=True)
class Selection:
    """The corrections to make."""

    kinds: Collection[Kind]
    with_likely: bool = False


def fixed_files(
    files: Iterable[Path], selection: Selection, *, jobs: int, checks: StoreChecks | None = None
) -> Iterator[FixedFile]:
    """Yield each file with corrections to make or to list, and each that can't be corrected.

    The files are read before the first is yielded, and again with their corrections.
    """
    with TwoPasses(_mentions_of, jobs=jobs) as passes, Progress() as progress:
        progress.stage("documents read")
        pending: list[FixedFile] = []
        rendered = passes.results(chain.from_iterable(map(documents_in_file, files)))
        for number, document in enumerate(rendered, start=1):
            progress.show(number, "")
            file = _file_of(document, selection, checks)
            if file is None:
                continue
            if file._candidates and not file.problem:
                pending.append(file)
            else:
                yield file
        progress.stage("corrections verified")
        together = [(file, file._candidates) for file in pending if not _is_unclear(file)]
        unclear = [file for file in pending if _is_unclear(file)]
        for (file, candidates), fault in _differences(passes, together):
            if fault is None:
                file.corrections = candidates
                yield file
            else:
                unclear.append(file)
        yield from _one_by_one(passes, unclear)


def _one_by_one(passes: TwoPasses[tuple[Mention, ...]], files: Sequence[FixedFile]) -> Iterator[FixedFile]:
    """Yield *files* with the corrections that can be verified each by itself and then together."""
    attempts = []
    for file in files:
        by_edits: dict[tuple[ByteEdit, ...], list[Correction]] = {}
        for candidate in file._candidates:
            by_edits.setdefault(candidate.edits, []).append(candidate)
        # Several mentions may share a place, such as the target of two links.
        groups = [[one] for one in file._candidates] + [group for group in by_edits.values() if len(group) > 1]
        attempts += [(file, group) for group in groups[:_MOST_TRIALS]]
    verified: dict[int, dict[int, Correction]] = {}
    faults: dict[tuple[int, int], str] = {}
    for (file, group), fault in _differences(passes, attempts):
        for one in group:
            if fault is None:
                verified.setdefault(id(file), {}).setdefault(one.index, one)
            else:
                faults[id(file), one.index] = fault
    attempts = [(file, [*verified.get(id(file), {}).values()]) for file in files]
    for (file, group), fault in _differences(passes, attempts):
        file.corrections = group if fault is None else []
        done = {one.index for one in file.corrections}
        refused = {one.index: one for one in file._candidates if one.index not in done}
        for index, one in refused.items():
            reason = faults.get((id(file), index)) or fault or "too many places to try"
            file.others.append(replace(one, edits=(), refusal=f"it can't be verified: {reason}"))
        yield file


def _differences(
    passes: TwoPasses[tuple[Mention, ...]], attempts: Sequence[tuple[FixedFile, list[Correction]]]
) -> Iterator[tuple[tuple[FixedFile, list[Correction]], str | None]]:
    """Yield each attempt, and how the corrected file, read again, differs from the expected one; None if it doesn't."""

    def members() -> Iterator[ArchiveMember | Document]:
        for file, corrections in attempts:
            name = str(file.path)
            try:
                data = file.new_data(file.path.read_bytes(), corrections)
                file.new_sha256 = hashlib.sha256(data).hexdigest()
                yield ArchiveMember(name, file.path.name, data, source=name)
            except (Unfixable, OSError) as problem:
                yield Document(name, (), (Finding("unreadable", str(problem)),))

    for attempt, document in zip(attempts, passes.results(members()), strict=True):
        file, corrections = attempt
        expected = {one.index: Expected(one.correct, one.ark) for one in corrections}
        if document.summary.is_unreadable:
            yield attempt, _reason(document.summary.findings)
        else:
            yield attempt, difference(file._mentions, document.value, expected)


def _mentions_of(document: Document) -> tuple[Mention, ...]:
    return tuple(document.mentions)


def _reason(findings: Sequence[Finding]) -> str:
    return findings[0].detail if findings else "it can't be read"


def _is_unclear(file: FixedFile) -> bool:
    """Return True if the place of any correction is unclear."""
    return len({one.index for one in file._candidates}) < len(file._candidates)


def _file_of(
    document: RenderedDocument[tuple[Mention, ...]], selection: Selection, checks: StoreChecks | None
) -> FixedFile | None:
    """Return the file of a document with the corrections to verify; None if there is nothing to correct or to list."""
    name, mentions = document.summary.name, document.value
    archive, _, member = name.partition(INSIDE)
    file = FixedFile(Path(archive), _mentions=mentions)
    if document.summary.is_unreadable and not document.summary.is_folder:
        file.problem, file.is_unread = _reason(document.summary.findings), True
        return file
    chosen: list[Correction] = []
    for index, mention in enumerate(mentions):
        own = propose(mention)
        proposals = [each for each in (checks.revise(mention, own) if checks else own) if each.kind in selection.kinds]
        refusals = {each: "" if each.is_certain or selection.with_likely else ONLY_LIKELY for each in proposals}
        made, conflicting = choose(each for each in proposals if not refusals[each])
        refusals |= dict.fromkeys(conflicting, "another correction of this place is more certain")
        if made:
            chosen.append(_correction(index, mention, made))
        file.others += [_correction(index, mention, [each], why) for each, why in refusals.items() if why]
    if not (chosen or file.others or (checks and mentions)):
        return None
    try:
        data = file.path.read_bytes()
        file.sha256 = hashlib.sha256(data).hexdigest()
        file.problem = checks.problem(file.path, file.sha256 if chosen else None, mentions) if checks else ""
        if member and chosen:
            raise NotEditable(f"it is inside an archive ({member})")
        if chosen and not file.problem:
            source = Source(data, file.path.name)
            file.is_package = source.is_package
            _place_corrections(file, source, data, chosen)
    except OSError as problem:
        file.problem = problem.strerror or str(problem)
    except NotEditable as problem:
        file.others += [replace(one, refusal=str(problem)) for one in chosen]
    except Unfixable as problem:
        file.problem = str(problem)
    return file if file._candidates or file.others or file.problem else None


def _place_corrections(file: FixedFile, source: Source, data: bytes, chosen: Sequence[Correction]) -> None:
    """Add the corrections with their places in *source*."""
    groups: dict[tuple[str, bool], list[int]] = {}
    for index, mention in enumerate(file._mentions):
        groups.setdefault((mention.as_written, mention.role is Role.TEXT), []).append(index)
    by_group: dict[tuple[str, bool], list[Correction]] = {}
    for one in chosen:
        by_group.setdefault((one.written, file._mentions[one.index].role is Role.TEXT), []).append(one)
    for group, corrections in by_group.items():
        places = source.places(group[0], is_text=group[1])
        of_mention = dict(zip(groups[group], places, strict=False)) if len(places) == len(groups[group]) else {}
        for one in corrections:
            refusal = "" if places else "its place in the source was not found"
            candidates = []
            for place in [of_mention[one.index]] if of_mention else places[:_MOST_TRIALS]:
                edits = [*place.byte_edits(chain.from_iterable(each.edits for each in one.proposals))]
                try:
                    additions = [*place.additions(one.copy, is_text=group[1])] if one.copy else []
                    if additions and not of_mention:
                        # Reading again would not show that it was added to another citation.
                        raise Unfixable("the same text is also at other places")
                    edits += additions
                except Unfixable as problem:
                    refusal = str(problem)
                if edits:
                    candidates.append(replace(one, edits=tuple(edits)))
            file._candidates += candidates
            if refusal and not candidates:
                file.others.append(replace(one, refusal=refusal))
    if not source.is_package:
        line_ends = [end.end() for end in re.finditer(b"\n", data)]
        file._candidates = [
            replace(one, place=f"line {bisect_right(line_ends, one.edits[0].start) + 1}") for one in file._candidates
        ]


def _correction(index: int, mention: Mention, proposals: Sequence[Proposal], refusal: str = "") -> Correction:
    correct = corrected(mention.as_written, chain.from_iterable(proposal.edits for proposal in proposals))
    place = f"p. {mention.page}" if mention.page is not None else mention.place
    return Correction(index, tuple(proposals), mention.as_written, correct, place, refusal=refusal)
