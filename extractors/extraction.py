"""Extract the mentions of ARKs and the findings from the bytes of one document."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from pkgutil import resolve_name

from extractors.archives.compression import CUT_OFF
from extractors.find import UnresolvedMention, decide_again, scan, unresolved_mentions
from extractors.mentions.fast_path import holds_no_label
from extractors.mentions.mention import (
    Mention,
    NamespaceMention,
    citation_findings,
    citation_numbers,
    complete_mentions,
    cut_annotations,
    linked_arks,
    malformed_findings,
    resolver_addresses,
)
from extractors.model.ark import Ark, Remark, remarks
from extractors.model.budget import ReadingStage, TimeBudget, current_budget, has_time, use_budget
from extractors.model.check_characters import NOTHING_DECLARED, CheckCharacter, Declared, Zones
from extractors.model.documents import Block, Finding, Reading, Role
from extractors.model.formats import (
    FORMATS,
    OLE,
    Format,
    binary_kind,
    document_beginning,
    format_of,
    format_of_text,
    package_format,
    plugin_format,
)
from extractors.readers.plain import read_plain
from extractors.wraps.evidence import Evidence
from extractors.wraps.reasons import Reason
from extractors.wraps.rules import Confidence

Found = Mention | NamespaceMention

_LAST_WORD = re.compile(r"[aA][rR][kK]\S*\s*\Z")
_FOLLOWING_CHARS = 80
#: Characters after which a name may continue beyond the end of a truncated text.
_OPEN_END = " \r\n\t./-:=,_~*+@$%!"
_COMPARED_CHARS = 8
#: Media types of texts, whose lines people can look up.
_IS_TEXT = re.compile(r"text/|application/(?:x-(?:bib)?tex|(?:\w+\+)?(?:xml|jsonl?))\Z")
_LINE_END = re.compile(rb"\r\n?|\n")
#: Mentions of a text that are not found again, before no more are looked for.
_MOST_MISSES = 100
_NOT_ALL_DECIDED = "not every doubtful ARK was decided by the evidence of other documents"
_CUT = frozenset({"archive-limit", "cut-off", "damaged"})


@dataclass(frozen=True, slots=True)
class Extraction:
    """The content of one document: its mentions in reading order, and its `Reading`."""

    reading: Reading
    mentions: tuple[Mention, ...]
    unresolved: tuple[UnresolvedMention, ...] = ()
    """Mentions that evidence from other documents may change."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings about the document."""
        return self.reading.findings


def whole_arks(mentions: Iterable[Mention]) -> frozenset[Ark]:
    """Return the ARKs of *mentions* in a document that needed no decision: evidence for other documents."""
    return frozenset(mention.ark for mention in mentions if mention.is_complete)


def extraction_of(
    data: bytes,
    *,
    media_type: str | None = None,
    name: str = "",
    charset: str | None = None,
    with_links: bool = True,
    declared: Declared = NOTHING_DECLARED,
) -> Extraction:
    """Return the extraction of a document of any format. Never raises: problems become findings.

    Without *with_links*, the links of a page may be missing (`read_document`). *declared* are the user's check
    characters.

    >>> [mention] = extraction_of(b"<p>See <a href='https://n2t.net/ark:12148/btv1b84'>it</a>.", name="a.html").mentions
    >>> str(mention.ark), mention.role.value, mention.place
    ('ark:12148/btv1b84', 'link-target', 'a/@href')
    """
    reading = read_document(data, media_type=media_type, name=name, charset=charset, with_links=with_links)
    budget = current_budget()
    blocks = _with_following(reading.blocks)
    if budget is None or not (budget.findings or budget.is_spent(ReadingStage.FINDING)):
        nothing = extraction_without_arks(reading)
        if nothing is not None:
            return nothing
    by_block, evidence = _scan_all(blocks, declared)
    namespaces = {
        _namespace_finding(namespace)
        for in_block in by_block
        for namespace in in_block
        if isinstance(namespace, NamespaceMention)
    }
    placed = [(index, mention) for index, in_block in enumerate(by_block) for mention in _mentions(in_block)]
    cut = cut_annotations([mention for _, mention in placed])
    placed = [(index, mention) for index, mention in placed if mention not in cut]
    mentions = _annotate_all([mention for _, mention in placed], evidence)
    if mentions and _IS_TEXT.match(reading.media_type):
        mentions = tuple(with_lines(mentions, data))
    limits = budget.findings if budget is not None else ()
    findings = (*reading.findings, *limits, *sorted(namespaces), *citation_findings(mentions, blocks))
    findings = (*findings, *malformed_findings(reading, mentions))
    if findings != reading.findings:
        reading = replace(reading, findings=findings)
    extraction = Extraction(reading, mentions, tuple(unresolved_mentions(blocks, placed)))
    return doubt_cut_mentions(extraction) if is_cut(findings) else extraction


def with_lines(mentions: Iterable[Mention], data: bytes) -> Iterator[Mention]:
    r"""Yield the *mentions* of a text with their lines in its bytes, as far as these hold them as they were read.

    >>> [first, second] = extraction_of(b"see ark:/12148/btv1b84\n\nor ark:/12148/btv1b85\n").mentions
    >>> first.line, second.line
    (1, 3)
    """
    # The mentions of each role follow each other in the text.
    ends: defaultdict[Role, int] = defaultdict(int)
    starts: list[int] = [0]
    misses = 0
    for mention in mentions:
        beginning = mention.as_written.split(maxsplit=1)[0].encode("utf-8", "replace")
        start = data.find(beginning, ends[mention.role]) if misses < _MOST_MISSES else -1
        if start < 0:
            misses += 1
            yield mention
            continue
        ends[mention.role] = start + len(beginning)
        if len(starts) == 1:
            starts += [match.end() for match in _LINE_END.finditer(data)]
        yield replace(mention, line=bisect_right(starts, start))


def _namespace_finding(namespace: NamespaceMention) -> Finding:
    if namespace.is_overlong:
        return Finding("malformed-ark", f"{namespace.as_written!r} is not an ARK: too long, or with many labels")
    if namespace.is_shortened:
        return Finding("malformed-ark", f"{namespace.as_written!r} is shortened by dots, and was not read")
    no_object = "names a NAAN or shoulder, not an object"
    return Finding("namespace-mention", f"{namespace.as_written!r} {no_object}: {namespace.context}")


def is_cut(findings: Iterable[Finding]) -> bool:
    """Return True if a document, or a part of it, is truncated."""
    return any(finding.kind in _CUT or finding.detail.endswith(CUT_OFF) for finding in findings)


def _with_following(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """Return *blocks*; a running text that may end inside an ARK gets the beginning of the next text as `following`."""
    following = ""
    backwards: list[Block] = []
    for block in reversed(blocks):
        if block.role is Role.TEXT and block.page is None:
            if following and not block.following and _LAST_WORD.search(block.text, max(0, len(block.text) - 300)):
                block = replace(block, following=following)
            following = block.text[:_FOLLOWING_CHARS]
        backwards.append(block)
    return tuple(reversed(backwards))


def doubt_cut_mentions(extraction: Extraction, data: bytes | None = None) -> Extraction:
    """Return *extraction* of a truncated document, with mentions at its end made ambiguous and kept out of evidence.

    Such a mention may be only the beginning of an ARK. Without *data*, the bytes that were read, every mention at the
    end of a text is treated so.

    >>> [mention] = doubt_cut_mentions(extraction_of(b"see ark:/12148/btv1b84"), b"see ark:/12148/btv1b84").mentions
    >>> mention.confidence.token, mention.reason
    ('ambiguous', <Reason.ENDS_AT_READ_LIMIT: 'ends-at-read-limit'>)
    """
    end = (data or b"")[-_FOLLOWING_CHARS:].replace(b"\0", b"").decode("utf-8", "ignore").rstrip(_OPEN_END)
    mentions = list(extraction.mentions)
    for index, mention in enumerate(mentions):
        is_last = mention.role is Role.TEXT if data is None else end.endswith(mention.as_written[-_COMPARED_CHARS:])
        if is_last and mention.context.rstrip(_OPEN_END).endswith(mention.as_written[-_COMPARED_CHARS:]):
            mentions[index] = replace(mention, confidence=Confidence.AMBIGUOUS, reason=Reason.ENDS_AT_READ_LIMIT)
    unresolved = (each for each in extraction.unresolved if mentions[each.index] is extraction.mentions[each.index])
    return replace(extraction, mentions=tuple(mentions), unresolved=tuple(unresolved))


def extraction_without_arks(reading: Reading) -> Extraction | None:
    """Return the extraction of a reading that certainly cites no ARK; None if it may cite one.

    >>> extraction_without_arks(Reading("text/plain", (Block("see the bark there"),))).mentions
    ()
    >>> extraction_without_arks(Reading("text/plain", (Block("see ark:/12148/btv1b84 there"),)))
    """
    if any(block.role is not Role.TEXT or not holds_no_label(block.text) for block in reading.blocks):
        return None
    findings = (*citation_findings((), reading.blocks), *malformed_findings(reading, ()))
    if findings:
        reading = replace(reading, findings=(*reading.findings, *findings))
    return Extraction(reading, ())


def extract_in_time(
    data: bytes,
    *,
    cpu_s: float,
    media_type: str | None = None,
    name: str = "",
    charset: str | None = None,
    with_links: bool = True,
    declared: Declared = NOTHING_DECLARED,
) -> Extraction:
    """Return the extraction within *cpu_s* seconds of CPU time; if they run out, a finding says how far it read.

    >>> extraction = extract_in_time(b"see ark:/12148/btv1b84 here", cpu_s=60)
    >>> [str(mention.ark) for mention in extraction.mentions], extraction.findings
    (['ark:12148/btv1b84'], ())
    """
    with use_budget(TimeBudget(cpu_s)):
        return extraction_of(
            data, media_type=media_type, name=name, charset=charset, with_links=with_links, declared=declared
        )


def with_evidence(
    mentions: Sequence[Mention], doubtful: Iterable[UnresolvedMention], evidence: Evidence
) -> tuple[Mention, ...]:
    """Return the *mentions* of a document, with the *doubtful* ones decided by the *evidence* of a whole audit.

    If the time budget runs out, the others stay as they are, and the budget notes it.
    """
    again = list(mentions)
    for index, mention in changed_mentions(((each, mentions[each.index]) for each in doubtful), evidence):
        again[index] = mention
    return _annotate_all(again, evidence)


def changed_mentions(
    doubtful: Iterable[tuple[UnresolvedMention, Mention]], evidence: Evidence
) -> Iterator[tuple[int, Mention]]:
    """Yield index and new reading of each *doubtful* mention that the *evidence* of all documents changes.

    This is the second pass over files, archives, datasets and crawls. It ends if the time budget runs out.
    """
    for unresolved, mention in doubtful:
        if not has_time(ReadingStage.FINDING, _NOT_ALL_DECIDED):
            return
        again = decide_again(unresolved, mention, evidence)
        if again is not mention:
            yield unresolved.index, replace(again, line=mention.line)


def _annotate_all(mentions: Sequence[Mention], evidence: Evidence) -> tuple[Mention, ...]:
    """Return *mentions* with check characters, remarks and citation numbers."""
    whole = list(complete_mentions(mentions, linked_arks(mentions)))
    return tuple(
        annotate(mention, evidence, citation=number)
        for mention, number in zip(whole, citation_numbers(whole), strict=True)
    )


def annotate(mention: Mention, evidence: Evidence, *, citation: int | None = None) -> Mention:
    """Return *mention* with its check and remarks."""
    check = evidence.zones.check(mention.ark)
    is_doubtful = check is CheckCharacter.FAILS and mention.confidence is Confidence.CERTAIN  # learned zone
    return replace(
        mention,
        confidence=Confidence.LIKELY if is_doubtful else mention.confidence,
        reason=Reason.CHECK_CHARACTER_FAILS if is_doubtful else mention.reason,
        check=check,
        remarks=remarks(mention.repaired, mention.ark, url_goes_on=Remark.URL_GOES_ON in mention.remarks),
        citation=mention.citation if citation is None else citation,
    )


def _scan_in_time(block: Block, evidence: Evidence, linked: Mapping[int, Ark]) -> tuple[list[Found], int]:
    """Return the mentions in a block, as far as time allows, and the number of characters searched."""
    budget = current_budget()
    scanned: list[Found] = []
    if budget is None:
        return list(scan(block, evidence, linked)), len(block.text)
    if budget.is_spent(ReadingStage.FINDING):
        return scanned, 0
    for mention in scan(block, evidence, linked):
        if budget.is_spent(ReadingStage.FINDING):
            return scanned, mention.end
        scanned.append(mention)
    return scanned, len(block.text)


def _scan_all(blocks: tuple[Block, ...], declared: Declared) -> tuple[list[list[Found]], Evidence]:
    """Return the mentions of each block, and the evidence that they and *declared* check characters give.

    Whole names are read first, because they are evidence: link targets and metadata, where no line breaks, then names
    in texts that touch no line end. A text is read again only if a mention in it needed a decision.
    """
    by_block: list[list[Found]] = [[] for _ in blocks]
    texts = [index for index, block in enumerate(blocks) if block.role is Role.TEXT]
    done = 0
    nothing_read = Evidence(zones=Zones(declared=declared))
    for index, block in enumerate(blocks):
        if block.role is not Role.TEXT:
            by_block[index], searched = _scan_in_time(block, nothing_read, {})
            done += searched
    linked = linked_arks(_mentions(chain.from_iterable(by_block)))
    found = _mentions(chain.from_iterable(by_block))
    in_targets = [mention for mention in found if mention.confidence is Confidence.CERTAIN]
    targets = frozenset(mention.ark for mention in in_targets if _has_text(mention))
    evidence = nothing_read
    if targets:
        evidence = Evidence.from_arks(targets, targets, resolver_addresses(in_targets), declared=declared)
    for index in texts:
        by_block[index], searched = _scan_in_time(blocks[index], evidence, linked)
        done += searched
    chars, budget = sum(len(block.text) for block in blocks), current_budget()
    if budget is not None and done < chars:
        budget.note(f"searched {done:,} of {chars:,} characters")
    if _all_whole(chain.from_iterable(by_block)):
        return by_block, evidence
    every = list(_mentions(chain.from_iterable(by_block)))
    cut = cut_annotations(every)
    targets = frozenset(mention.ark for mention in in_targets if mention not in cut and _has_text(mention))
    whole = targets | {
        mention.ark for mention in every if mention.is_complete and mention not in cut and _has_text(mention)
    }
    evidence = Evidence.from_arks(whole, targets, resolver_addresses(every), declared=declared)
    for index in texts:
        if not _all_whole(by_block[index]):
            again, _ = _scan_in_time(blocks[index], evidence, linked)
            if len(again) >= len(by_block[index]) or budget is None:  # fewer mean that time ran out
                by_block[index] = again
    return by_block, evidence


def _has_text(target: Mention) -> bool:
    """Return False for the annotation of a PDF without known text, which may stop at a line end."""
    return target.role is not Role.LINK_ANNOTATION or target.link is not None


def _all_whole(scanned: Iterable[Found]) -> bool:
    """Return True if no mention needed a decision."""
    return all(mention.is_complete for mention in _mentions(scanned))


def _mentions(scanned: Iterable[Found]) -> Iterator[Mention]:
    return (mention for mention in scanned if isinstance(mention, Mention))


# From the bytes of a document to its content, by the reader of its format.

#: A stream in the OLE file of an Office document with a password ([MS-OFFCRYPTO] 2.3.4).
_ENCRYPTED_OFFICE = "EncryptedPackage".encode("utf-16-le")


def read_document(
    data: bytes, *, media_type: str | None = None, name: str = "", charset: str | None = None, with_links: bool = True
) -> Reading:
    """Return the content of a document of any format. Raises only `MemoryError`.

    *media_type* and *charset* are as the sender declared, *name* is a file name or the path of a URL. Without
    *with_links*, the links of a page may be missing; a page without an ARK is then read several times faster.

    >>> read_document(b"<!DOCTYPE html><p>ark:/12148/btv1b8", media_type="text/plain").blocks[0].place
    'p'
    >>> read_document(bytes(1000)).findings
    (Finding(kind='unknown-format', detail='binary data'),)
    """
    if not data:
        return Reading(media_type or "", findings=(Finding("empty", "it has no bytes"),))
    try:
        known = plugin_format(media_type, name) or package_format(data)
        binary = binary_kind(*document_beginning(data, charset)) if known is None else None
        if binary is not None:
            seen_as, looks_like = binary
            if seen_as == OLE and _ENCRYPTED_OFFICE in data:
                return Reading(seen_as, findings=(Finding("encrypted", "an Office document that asks for a password"),))
            return Reading(seen_as, findings=(Finding("unknown-format", looks_like),))
        its_format = known or format_of(data, media_type=media_type, name=name, charset=charset)
        if its_format is Format.PLAIN:
            return read_plain(data, charset=charset)
        read = reader_of(its_format)
        if its_format is Format.HTML:
            return read(data, charset=charset, with_links=with_links)
        if its_format in (Format.MAIL, Format.PDF):
            return read(data, read_document)
        return read(data, charset=charset) if FORMATS[its_format].is_sent_as_plain else read(data)
    except MemoryError:  # about this process, not about the document
        raise
    except Exception as error:
        fault = Finding("unreadable", f"the reader failed: {type(error).__name__}")
        return Reading(media_type or "", findings=(fault,))


def read_short_text(
    data: bytes, *, media_type: str | None = None, name: str = "", charset: str | None = None
) -> Reading | None:
    """Return the reading of a short plain text, the same as that of `read_document`; None for any other document.

    >>> read_short_text(b"see there", name="a.txt").blocks[0].text
    'see there'
    >>> read_short_text(b"%PDF-1.7 see there", name="a.txt")
    """
    if not data or plugin_format(media_type, name) or package_format(data) is not None:
        return None
    head, start = document_beginning(data, charset)
    if binary_kind(head, start) is not None or format_of_text(head, start, media_type, name) is not Format.PLAIN:
        return None
    return read_plain(data, charset=charset)


@cache
def reader_of(document_format: str) -> Callable[..., Reading]:
    """Return the function that reads documents of a format.

    It is imported on first use: the libraries of all readers take .2 s, and most runs need few of them.
    """
    place = FORMATS[document_format].reader
    read: Callable[..., Reading] = resolve_name(f"extractors.readers{place}" if place.startswith(".") else place)
    return read
