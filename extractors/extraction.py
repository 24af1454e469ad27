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

AnyMention = Mention | NamespaceMention

_LAST_WORD = re.compile(r"[aA][rR][kK]\S*\s*\Z")
_FOLLOWING_CHARS = 80
#: Characters after which a name may continue beyond the end of a truncated text.
_OPEN_END_CHARS = " \r\n\t./-:=,_~*+@$%!"
_COMPARED_END_CHARS = 8
#: Media types of texts, whose lines people can look up.
_IS_TEXT = re.compile(r"text/|application/(?:x-(?:bib)?tex|(?:\w+\+)?(?:xml|jsonl?))\Z")
_LINE_END = re.compile(rb"\r\n?|\n")
#: Mentions of a text that are missing in its bytes, after which the search for lines ends.
_MOST_MISSES = 100
_NOT_ALL_DECIDED = "not every doubtful ARK was decided by the evidence of other documents"
_CUT_KINDS = frozenset({"archive-limit", "cut-off", "damaged"})


@dataclass(frozen=True, slots=True)
class Extraction:
    """The content of one document, and its mentions in reading order."""

    reading: Reading
    mentions: tuple[Mention, ...]
    unresolved: tuple[UnresolvedMention, ...] = ()
    """Mentions that evidence from other documents may change."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings about reading the document, and about how it cites ARKs."""
        return self.reading.findings


def whole_arks(mentions: Iterable[Mention]) -> frozenset[Ark]:
    """Return the ARKs of the mentions that needed no decision: evidence for other documents."""
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

    The parameters are those of `read_document`. *declared* are the user's check characters by NAAN.

    >>> [mention] = extraction_of(b"<p>See <a href='https://n2t.net/ark:12148/btv1b84'>it</a>.", name="a.html").mentions
    >>> str(mention.ark), mention.role.value, mention.place
    ('ark:12148/btv1b84', 'link-target', 'a/@href')
    """
    reading = read_document(data, media_type=media_type, name=name, charset=charset, with_links=with_links)
    budget = current_budget()
    blocks = _with_following(reading.blocks)
    if budget is None or not (budget.findings or budget.is_spent(ReadingStage.FINDING)):
        extraction = extraction_without_arks(reading)
        if extraction is not None:
            return extraction
    mentions_by_block, evidence = _scan_all(blocks, declared)
    namespaces = {
        _namespace_finding(namespace)
        for block_mentions in mentions_by_block
        for namespace in block_mentions
        if isinstance(namespace, NamespaceMention)
    }
    indexed_mentions = [
        (index, mention)
        for index, block_mentions in enumerate(mentions_by_block)
        for mention in _only_mentions(block_mentions)
    ]
    cut = cut_annotations([mention for _, mention in indexed_mentions])
    indexed_mentions = [(index, mention) for index, mention in indexed_mentions if mention not in cut]
    mentions = _annotate_all([mention for _, mention in indexed_mentions], evidence)
    if mentions and _IS_TEXT.match(reading.media_type):
        mentions = tuple(with_lines(mentions, data))
    budget_findings = budget.findings if budget is not None else ()
    findings = (*reading.findings, *budget_findings, *sorted(namespaces), *citation_findings(mentions, blocks))
    findings = (*findings, *malformed_findings(reading, mentions))
    if findings != reading.findings:
        reading = replace(reading, findings=findings)
    extraction = Extraction(reading, mentions, tuple(unresolved_mentions(blocks, indexed_mentions)))
    return doubt_cut_mentions(extraction) if is_cut(findings) else extraction


def with_lines(mentions: Iterable[Mention], data: bytes) -> Iterator[Mention]:
    r"""Yield the *mentions* of a text with their lines in its bytes *data*; without a line if they are not in *data*.

    >>> [first, second] = extraction_of(b"see ark:/12148/btv1b84\n\nor ark:/12148/btv1b85\n").mentions
    >>> first.line, second.line
    (1, 3)
    """
    # The mentions of each role follow each other in the text.
    role_ends: defaultdict[Role, int] = defaultdict(int)
    line_starts: list[int] = [0]
    miss_count = 0
    for mention in mentions:
        beginning = mention.as_written.split(maxsplit=1)[0].encode("utf-8", "replace")
        start = data.find(beginning, role_ends[mention.role]) if miss_count < _MOST_MISSES else -1
        if start < 0:
            miss_count += 1
            yield mention
            continue
        role_ends[mention.role] = start + len(beginning)
        if len(line_starts) == 1:
            line_starts += [line_end.end() for line_end in _LINE_END.finditer(data)]
        yield replace(mention, line=bisect_right(line_starts, start))


def _namespace_finding(namespace: NamespaceMention) -> Finding:
    if namespace.is_overlong:
        return Finding("malformed-ark", f"{namespace.as_written!r} is not an ARK: too long, or with many labels")
    if namespace.is_shortened:
        return Finding("malformed-ark", f"{namespace.as_written!r} is shortened by dots, and was not read")
    no_object = "names a NAAN or shoulder, not an object"
    return Finding("namespace-mention", f"{namespace.as_written!r} {no_object}: {namespace.context}")


def is_cut(findings: Iterable[Finding]) -> bool:
    """Return True if *findings* report that the document, or a part of it, is truncated."""
    return any(finding.kind in _CUT_KINDS or finding.detail.endswith(CUT_OFF) for finding in findings)


def _with_following(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """Return *blocks*; a running text that may end inside an ARK gets the beginning of the next text as `following`."""
    next_text = ""
    reversed_blocks: list[Block] = []
    for block in reversed(blocks):
        if block.role is Role.TEXT and block.page is None:
            if next_text and not block.following and _LAST_WORD.search(block.text, max(0, len(block.text) - 300)):
                block = replace(block, following=next_text)
            next_text = block.text[:_FOLLOWING_CHARS]
        reversed_blocks.append(block)
    return tuple(reversed(reversed_blocks))


def doubt_cut_mentions(extraction: Extraction, data: bytes | None = None) -> Extraction:
    """Return the *extraction* of a truncated document with mentions at its end made ambiguous, and no longer `unresolved`.

    Such a mention may be only the beginning of an ARK. *data* are the bytes that were read. If they are None, the
    mentions at the ends of all texts become ambiguous.

    >>> [mention] = doubt_cut_mentions(extraction_of(b"see ark:/12148/btv1b84"), b"see ark:/12148/btv1b84").mentions
    >>> mention.confidence.token, mention.reason
    ('ambiguous', <Reason.ENDS_AT_READ_LIMIT: 'ends-at-read-limit'>)
    """
    end = (data or b"")[-_FOLLOWING_CHARS:].replace(b"\0", b"").decode("utf-8", "ignore").rstrip(_OPEN_END_CHARS)
    mentions = list(extraction.mentions)
    for index, mention in enumerate(mentions):
        is_last = mention.role is Role.TEXT if data is None else end.endswith(mention.as_written[-_COMPARED_END_CHARS:])
        if is_last and mention.context.rstrip(_OPEN_END_CHARS).endswith(mention.as_written[-_COMPARED_END_CHARS:]):
            mentions[index] = replace(mention, confidence=Confidence.AMBIGUOUS, reason=Reason.ENDS_AT_READ_LIMIT)
    unresolved = (entry for entry in extraction.unresolved if mentions[entry.index] is extraction.mentions[entry.index])
    return replace(extraction, mentions=tuple(mentions), unresolved=tuple(unresolved))


def extraction_without_arks(reading: Reading) -> Extraction | None:
    """Return the extraction of *reading*, without mentions, if it certainly cites no ARK; None if it may cite one.

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
    """Return `extraction_of` within *cpu_s* seconds of CPU time; if they run out, a finding states how much was read.

    >>> extraction = extract_in_time(b"see ark:/12148/btv1b84 here", cpu_s=60)
    >>> [str(mention.ark) for mention in extraction.mentions], extraction.findings
    (['ark:12148/btv1b84'], ())
    """
    with use_budget(TimeBudget(cpu_s)):
        return extraction_of(
            data, media_type=media_type, name=name, charset=charset, with_links=with_links, declared=declared
        )


def with_evidence(
    mentions: Sequence[Mention], unresolved: Iterable[UnresolvedMention], evidence: Evidence
) -> tuple[Mention, ...]:
    """Return the *mentions* of a document, with the *unresolved* ones decided by the *evidence* of a whole audit.

    If the time budget runs out, the remaining mentions are unchanged, and the budget gets a finding.
    """
    decided_mentions = list(mentions)
    for index, mention in changed_mentions(((entry, mentions[entry.index]) for entry in unresolved), evidence):
        decided_mentions[index] = mention
    return _annotate_all(decided_mentions, evidence)


def changed_mentions(
    unresolved: Iterable[tuple[UnresolvedMention, Mention]], evidence: Evidence
) -> Iterator[tuple[int, Mention]]:
    """Yield index and new form of the *unresolved* mentions that the *evidence* of all documents changes.

    This is the second pass over files, archives, datasets and crawls. It ends if the time budget runs out.
    """
    for unresolved_mention, mention in unresolved:
        if not has_time(ReadingStage.FINDING, _NOT_ALL_DECIDED):
            return
        new_mention = decide_again(unresolved_mention, mention, evidence)
        if new_mention is not mention:
            yield unresolved_mention.index, replace(new_mention, line=mention.line)


def _annotate_all(mentions: Sequence[Mention], evidence: Evidence) -> tuple[Mention, ...]:
    """Return *mentions* with check characters, remarks and citation numbers."""
    completed_mentions = list(complete_mentions(mentions, linked_arks(mentions)))
    return tuple(
        annotate(mention, evidence, citation=number)
        for mention, number in zip(completed_mentions, citation_numbers(completed_mentions), strict=True)
    )


def annotate(mention: Mention, evidence: Evidence, *, citation: int | None = None) -> Mention:
    """Return *mention* with `check` and `remarks`, and the number *citation*, if given."""
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


def _scan_in_time(block: Block, evidence: Evidence, arks_by_link: Mapping[int, Ark]) -> tuple[list[AnyMention], int]:
    """Return the mentions in *block*, as far as time allows, and the number of characters searched."""
    budget = current_budget()
    mentions: list[AnyMention] = []
    if budget is None:
        return list(scan(block, evidence, arks_by_link)), len(block.text)
    if budget.is_spent(ReadingStage.FINDING):
        return mentions, 0
    for mention in scan(block, evidence, arks_by_link):
        if budget.is_spent(ReadingStage.FINDING):
            return mentions, mention.end
        mentions.append(mention)
    return mentions, len(block.text)


def _scan_all(blocks: tuple[Block, ...], declared: Declared) -> tuple[list[list[AnyMention]], Evidence]:
    """Return the mentions by block, and the evidence that they and *declared* check characters give.

    Whole names are read first, because they are evidence: link targets and metadata, where no line breaks, then names
    in texts that touch no line end. A text is read again only if a mention in it needed a decision.
    """
    mentions_by_block: list[list[AnyMention]] = [[] for _ in blocks]
    text_indexes = [index for index, block in enumerate(blocks) if block.role is Role.TEXT]
    searched_count = 0
    no_evidence = Evidence(zones=Zones(declared=declared))
    for index, block in enumerate(blocks):
        if block.role is not Role.TEXT:
            mentions_by_block[index], searched = _scan_in_time(block, no_evidence, {})
            searched_count += searched
    arks_by_link = linked_arks(_only_mentions(chain.from_iterable(mentions_by_block)))
    target_mentions = _only_mentions(chain.from_iterable(mentions_by_block))
    certain_targets = [mention for mention in target_mentions if mention.confidence is Confidence.CERTAIN]
    target_arks = frozenset(mention.ark for mention in certain_targets if _is_evidence(mention))
    evidence = no_evidence
    if target_arks:
        evidence = Evidence.from_arks(target_arks, target_arks, resolver_addresses(certain_targets), declared=declared)
    for index in text_indexes:
        mentions_by_block[index], searched = _scan_in_time(blocks[index], evidence, arks_by_link)
        searched_count += searched
    char_count, budget = sum(len(block.text) for block in blocks), current_budget()
    if budget is not None and searched_count < char_count:
        budget.note(f"searched {searched_count:,} of {char_count:,} characters")
    if _are_all_complete(chain.from_iterable(mentions_by_block)):
        return mentions_by_block, evidence
    all_mentions = list(_only_mentions(chain.from_iterable(mentions_by_block)))
    cut = cut_annotations(all_mentions)
    target_arks = frozenset(mention.ark for mention in certain_targets if mention not in cut and _is_evidence(mention))
    complete_arks = target_arks | {
        mention.ark for mention in all_mentions if mention.is_complete and mention not in cut and _is_evidence(mention)
    }
    evidence = Evidence.from_arks(complete_arks, target_arks, resolver_addresses(all_mentions), declared=declared)
    for index in text_indexes:
        if not _are_all_complete(mentions_by_block[index]):
            new_mentions, _ = _scan_in_time(blocks[index], evidence, arks_by_link)
            if len(new_mentions) >= len(mentions_by_block[index]) or budget is None:  # fewer mean that time ran out
                mentions_by_block[index] = new_mentions
    return mentions_by_block, evidence


def _is_evidence(mention: Mention) -> bool:
    """Return True if *mention* may show where an ARK ends.

    A link annotation of a PDF without visible text doesn't: its URL may be cut at a line end.
    """
    return mention.role is not Role.LINK_ANNOTATION or mention.link is not None


def _are_all_complete(mentions: Iterable[AnyMention]) -> bool:
    """Return True if no mention needed a decision."""
    return all(mention.is_complete for mention in _only_mentions(mentions))


def _only_mentions(mentions: Iterable[AnyMention]) -> Iterator[Mention]:
    return (mention for mention in mentions if isinstance(mention, Mention))


# From the bytes of a document to its content, by the reader of its format.

#: A stream in the OLE file of an Office document with a password ([MS-OFFCRYPTO] 2.3.4).
_ENCRYPTED_OFFICE = "EncryptedPackage".encode("utf-16-le")


def read_document(
    data: bytes, *, media_type: str | None = None, name: str = "", charset: str | None = None, with_links: bool = True
) -> Reading:
    """Return the content of a document of any format. Raises only `MemoryError`.

    *media_type* and *charset* are as the sender declared, *name* is a file name or the path of a URL. Without
    *with_links*, `Reading.links` of a page may be empty; a page without an ARK is then read several times faster.

    >>> read_document(b"<!DOCTYPE html><p>ark:/12148/btv1b8", media_type="text/plain").blocks[0].place
    'p'
    >>> read_document(bytes(1000)).findings
    (Finding(kind='unknown-format', detail='binary data'),)
    """
    if not data:
        return Reading(media_type or "", findings=(Finding("empty", "it has no bytes"),))
    try:
        format_name = plugin_format(media_type, name) or package_format(data)
        unsupported = binary_kind(*document_beginning(data, charset)) if format_name is None else None
        if unsupported is not None:
            binary_type, description = unsupported
            if binary_type == OLE and _ENCRYPTED_OFFICE in data:
                return Reading(
                    binary_type, findings=(Finding("encrypted", "an Office document that asks for a password"),)
                )
            return Reading(binary_type, findings=(Finding("unknown-format", description),))
        format_name = format_name or format_of(data, media_type=media_type, name=name, charset=charset)
        if format_name is Format.PLAIN:
            return read_plain(data, charset=charset)
        reader = reader_of(format_name)
        if format_name is Format.HTML:
            return reader(data, charset=charset, with_links=with_links)
        if format_name in (Format.MAIL, Format.PDF):
            return reader(data, read_document)
        return reader(data, charset=charset) if FORMATS[format_name].is_sent_as_plain else reader(data)
    except MemoryError:  # about this process, not about the document
        raise
    except Exception as error:
        finding = Finding("unreadable", f"the reader failed: {type(error).__name__}")
        return Reading(media_type or "", findings=(finding,))


def read_short_text(
    data: bytes, *, media_type: str | None = None, name: str = "", charset: str | None = None
) -> Reading | None:
    """Return `read_document` of a plain text; None for any other document.

    >>> read_short_text(b"see there", name="a.txt").blocks[0].text
    'see there'
    >>> read_short_text(b"%PDF-1.7 see there", name="a.txt")
    """
    if not data or plugin_format(media_type, name) or package_format(data) is not None:
        return None
    head, text = document_beginning(data, charset)
    if binary_kind(head, text) is not None or format_of_text(head, text, media_type, name) is not Format.PLAIN:
        return None
    return read_plain(data, charset=charset)


@cache
def reader_of(format_name: str) -> Callable[..., Reading]:
    """Return the function that reads documents of the format *format_name*.

    The function is imported on first use: importing all readers takes 0.2 s, and most runs need few of them.
    """
    path = FORMATS[format_name].reader
    reader: Callable[..., Reading] = resolve_name(f"extractors.readers{path}" if path.startswith(".") else path)
    return reader
