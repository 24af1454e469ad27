"""Mentions of ARKs with their resolvers, mentions of bare NAANs, and citations."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

import regex

from extractors.mentions.resolvers import KNOWN_RESOLVERS, address_of
from extractors.model.ark import Ark, Remark
from extractors.model.budget import ReadingStage, has_time
from extractors.model.check_characters import CheckCharacter, suggestions
from extractors.model.documents import Block, Finding, Reading, Role
from extractors.model.urls import authority_of, is_web_url, join_url
from extractors.wraps.evidence import current_evidence
from extractors.wraps.reasons import Reason
from extractors.wraps.rules import Confidence

_NO_SUGGESTIONS = "suggestions were not computed for every ARK whose check character fails"


@dataclass(frozen=True, slots=True)
class Mention:
    """An ARK found in a document: the text as written, the repaired form, and the confidence in it."""

    ark: Ark
    as_written: str
    spans: tuple[tuple[int, int], ...]
    """Start and end in the reader's block, in code points; several pairs if the ARK continues after a gap."""
    repaired: str
    """The repaired ARK with its hyphens, label form and resolver as written; this form is requested."""
    resolver: str | None
    """The URL before the label, with its final slash; None for a compact ARK."""
    inflection: str
    """``?info``, ``??``, ``?`` or empty; not part of the ARK's identity."""
    role: Role
    page: int | None
    place: str
    context: str
    repairs: tuple[str, ...]
    confidence: Confidence
    reason: Reason
    """The reason of the least certain decision."""
    alternatives: tuple[str, ...]
    """The ARKs that other decisions would have given, in normal form but with hyphens."""
    fragment: str = ""
    """The text after ``#``; never requested, not part of the ARK's identity."""
    link: int | None = None
    """The number, in the document, of the link whose target or visible text has the mention; None without a link."""
    check: CheckCharacter = CheckCharacter.UNKNOWN
    """The result of the check character, if names of this kind have one; a failure means a typing error."""
    remarks: tuple[Remark, ...] = ()
    """Deviations of the spelling from the specifications."""
    line: int | None = None
    """The line of the file in which it begins, from 1; None if that is unknown, or the document is not text."""
    citation: int = 0
    """Mentions with the same number in a document are one citation: a link and its visible text."""

    @property
    def start(self) -> int:
        """The offset in the block at which it begins, in code points."""
        return self.spans[0][0]

    @property
    def end(self) -> int:
        """The offset in the block at which it ends, in code points."""
        return self.spans[-1][1]

    @property
    def suggestions(self) -> tuple[str, ...]:
        """Normal forms of likely corrections if the check character fails, the likeliest first; else empty.

        They are computed on each access, by the evidence of `use_evidence`; empty if the time budget is spent.
        """
        if self.check is not CheckCharacter.FAILS or not has_time(ReadingStage.SUGGESTING, _NO_SUGGESTIONS):
            return ()
        evidence = current_evidence()
        candidates = suggestions(
            self.ark, zones=evidence.zones, is_allowed=evidence.shapes.allows, occurs_elsewhere=evidence.has_whole_ark
        )
        return tuple(str(candidate.ark) for candidate in candidates)

    @property
    def is_complete(self) -> bool:
        """True if no decision about it was doubtful, so that its ARK is evidence for other mentions."""
        return self.reason is Reason.COMPLETE

    def shift(self, distance: int) -> Mention:
        """Return the mention with its spans moved by *distance* code points."""
        return replace(self, spans=tuple((start + distance, end + distance) for start, end in self.spans))

    def __repr__(self) -> str:
        """Return the ARK, its confidence and its repairs.

        >>> from extractors.find import find_arks
        >>> find_arks("see ark:/12148/btv1b8449691v")
        [<Mention ark:12148/btv1b8449691v, certain>]
        """
        repairs = f": {', '.join(self.repairs)}" if self.repairs else ""
        return f"<Mention {self.ark}, {self.confidence.token}{repairs}>"


@dataclass(frozen=True, slots=True)
class NamespaceMention:
    """A label and NAAN without a usable name: alone (``ark:/12148/``), or with an overlong or shortened name.

    It is recorded, but never requested.
    """

    as_written: str
    span: tuple[int, int]
    """Start and end in the reader's block, in code points."""
    context: str
    is_overlong: bool = False
    is_shortened: bool = False
    """True if dots replace the end of its name."""

    @property
    def start(self) -> int:
        """The offset in the block at which it begins, in code points."""
        return self.span[0]

    @property
    def end(self) -> int:
        """The offset in the block at which it ends, in code points."""
        return self.span[1]

    def shift(self, distance: int) -> NamespaceMention:
        """Return the mention with its span moved by *distance* code points."""
        return replace(self, span=(self.span[0] + distance, self.span[1] + distance))


# The targets of relative links.


def relative_resolvers(mentions: Iterable[Mention], reading: Reading, page_url: str) -> Iterator[str | None]:
    """Yield, for each of *mentions*, the URL of the resolver if it is in a relative link (``/ark:/12148/x``), else None.

    *reading* is the content of the page, *page_url* its present or former URL.
    """
    base = join_url(page_url, reading.base or "") or page_url
    link_targets: dict[int | None, list[str]] = defaultdict(list)
    for block in reading.blocks:
        if block.role is Role.LINK_TARGET:
            link_targets[block.link].append(block.text.strip())
    for mention in mentions:
        resolver = None
        if mention.role is Role.LINK_TARGET and mention.resolver is None:
            resolver = next(
                filter(None, (_resolver_in_target(mention, text) for text in link_targets[mention.link])), None
            )
        elif mention.role is Role.LINK_TARGET and mention.resolver is not None and mention.resolver.startswith("//"):
            resolver = mention.resolver
        yield None if resolver is None else web_url(base, resolver)


def _resolver_in_target(mention: Mention, target: str) -> str | None:
    """Return the text before the ARK of *mention* in a relative link *target*; None for another target."""
    resolver, separator, _ = target.partition(mention.as_written)
    return resolver if separator and resolver.endswith("/") and "?" not in resolver and ":" not in resolver else None


def resolver_addresses(mentions: Iterable[Mention]) -> frozenset[str]:
    """Return the addresses (`address_of`) and hosts of the resolvers in *mentions* that no line end breaks."""
    addresses = {
        address_of(mention.resolver)
        for mention in mentions
        if mention.resolver is not None
        and mention.resolver in mention.as_written
        and not mention.as_written.partition(mention.resolver)[2][:1].isspace()
    }
    return frozenset(addresses | {address.partition("/")[0] for address in addresses})


def web_url(base: str, reference: str) -> str | None:
    """Return the http or https URL that *reference* at the URL *base* leads to, without its fragment; None for others.

    >>> web_url("https://www.bnf.fr/a/", "../b#c"), web_url("https://www.bnf.fr/", "mailto:x")
    ('https://www.bnf.fr/b', None)
    """
    url = join_url(base, reference.strip()) or ""
    return url.partition("#")[0] if is_web_url(url) else None


# Citations, and findings about how a document cites (draft-kunze-ark-38, 2.2 and 5.4). A link and its visible text are
# one citation with two places. A finding reports different ARKs in both, a compact ARK without a link, and a link that
# browsers can't follow.

#: Roles of the target of a link, in contrast to its text.
LINK_TARGETS = (Role.LINK_TARGET, Role.LINK_ANNOTATION)
_NO_COLON_HINT = "/ark/"
_NO_COLON = regex.compile(
    r"(?P<resolver>https?://[^\s/<>\"']+/(?:[\w.~-]+/)*?)ark/(?P<naan>[0-9]{5})/(?P<name>[0-9A-Za-z][\w=~*+@$/-]*(?:\.\w+)*)"
)
#: A label and the beginning of a name, with a blank after each character, so that word boundaries are lost.
_LETTERSPACED_HINT = "k :"
_LETTERSPACED = regex.compile(r"(?<!\S)(?i:a\sr\sk)\s:(?:\s/)?(?:\s\w){5,16}\s/(?:\s\S){1,40}(?!\S)")
#: A link to ``ark:…`` without a host, which browsers can't follow.
_BARE_SCHEME = regex.compile(r"\s*ark:", regex.IGNORECASE)


def linked_arks(mentions: Iterable[Mention]) -> Mapping[int, Ark]:
    """Return the ARK in the target of each link, by the link's number; targets that needed a repair are left out."""
    return {
        mention.link: mention.ark
        for mention in mentions
        if mention.link is not None and mention.role in LINK_TARGETS and not mention.repairs
    }


def cut_annotations(mentions: Sequence[Mention]) -> list[Mention]:
    """Return the link annotations among *mentions* whose URL was cut at a line end within an ARK: they are no citations.

    A viewer that links lines separately cuts a URL at the end of its line. The text of the link, or a doubtful mention
    on the same page, has the whole ARK, perhaps as an alternative.
    """
    page_texts: dict[int | None, list[tuple[int | None, set[Ark]]]] = defaultdict(list)
    for mention in mentions:
        is_open = mention.alternatives or "line wrap" in mention.repairs
        if mention.role is Role.TEXT and mention.page is not None and is_open:
            page_texts[mention.page].append((mention.link, {mention.ark, *map(Ark.parse, mention.alternatives)}))
    return [
        annotation
        for annotation in mentions
        if annotation.role is Role.LINK_ANNOTATION
        for link, readings in page_texts[annotation.page]
        if annotation.ark in readings or (link == annotation.link is not None)
        if any(is_cut_from(annotation.ark, reading) for reading in readings)
    ]


def complete_mentions(mentions: Iterable[Mention], arks_by_link: Mapping[int, Ark]) -> Iterator[Mention]:
    """Yield *mentions*, those in truncated link texts with the ARK in the target of their link, from *arks_by_link*.

    A link text is truncated if its ARK is the ARK in the target cut off within a word (`is_cut_from`).
    """
    for mention in mentions:
        target = arks_by_link.get(mention.link) if mention.link is not None and mention.role is Role.TEXT else None
        if target is None or not (is_cut_from(mention.ark, target) or _may_be_clipped(mention, target)):
            yield mention
            continue
        yield replace(
            mention,
            ark=target,
            repaired=f"{mention.resolver or ''}{target}",
            repairs=(*mention.repairs, "cut off"),
            confidence=Confidence.LIKELY,
            reason=Reason.COMPLETED_BY_LINK,
            alternatives=(str(mention.ark), *mention.alternatives),
        )


def is_cut_from(ark: Ark, target: Ark) -> bool:
    """Return True if *ark* is *target* cut off within its name or a qualifier, not before a whole qualifier.

    >>> whole = Ark.parse("ark:12148/bpt6k107371t/f12.item")
    >>> [is_cut_from(Ark.parse(f"ark:12148/{name}"), whole) for name in ("bpt6k10", "bpt6k107371t", "bpt6k107371t/f1")]
    [True, False, True]
    """
    ark_form, target_form = str(ark), str(target)
    return target_form.startswith(ark_form) and target_form[len(ark_form) : len(ark_form) + 1] not in ("", "/", ".")


def _may_be_clipped(mention: Mention, target: Ark) -> bool:
    """Return True if *mention* is the beginning of *target* and may be cut off at the edge of its page."""
    is_beginning = mention.ark != target and str(target).startswith(str(mention.ark))
    return is_beginning and mention.page is not None and mention.resolver is not None


def citation_numbers(mentions: Iterable[Mention]) -> Iterator[int]:
    """Yield the citation numbers of *mentions*, from 1; the target and the text of a link to one ARK share a number."""
    numbers: dict[tuple[int, Ark], int] = {}
    next_numbers = count(1)
    for mention in mentions:
        if mention.link is None:
            yield next(next_numbers)
            continue
        link_and_ark = (mention.link, mention.ark)
        if link_and_ark not in numbers:
            numbers[link_and_ark] = next(next_numbers)
        yield numbers[link_and_ark]


def citation_findings(mentions: Sequence[Mention], blocks: Sequence[Block]) -> tuple[Finding, ...]:
    """Return findings about ARKs whose link leads to another ARK, whose link is dead, or that have no link.

    ARKs without a link are reported only if the document has links in its texts.
    """
    if not mentions:
        return ()
    texts: dict[int, list[Mention]] = defaultdict(list)
    targets: dict[int, list[Mention]] = defaultdict(list)
    for mention in mentions:
        if mention.link is not None:
            (targets if mention.role in LINK_TARGETS else texts)[mention.link].append(mention)
    findings = {
        Finding("link-mismatch", f"the text shows {text_mention.ark}, but its link leads to {targets[link][0].ark}")
        for link, link_texts in texts.items()
        for text_mention in link_texts
        if targets[link] and all(_name_different_things(text_mention.ark, target.ark) for target in targets[link])
    }
    link_targets = _targets_of_links(blocks)
    findings |= {
        Finding("dead-link", f"browsers can't follow {mention.repaired}")
        for mention in mentions
        if mention.role in LINK_TARGETS and mention.resolver is None and _BARE_SCHEME.match(mention.as_written)
        and _is_whole_target(mention, link_targets)
    }  # fmt: skip
    if any(block.anchors for block in blocks):
        findings |= {
            Finding("unlinked-ark", f"{mention.repaired} is not a link")
            for mention in mentions
            if mention.role is Role.TEXT and mention.link is None and mention.resolver is None
        }
    return tuple(sorted(findings))


def malformed_findings(reading: Reading, mentions: Iterable[Mention]) -> tuple[Finding, ...]:
    """Return findings about malformed ARKs, which were not read: without the colon of the label, or letterspaced.

    A missing colon is reported only in URLs at `KNOWN_RESOLVERS` and the resolvers in *mentions*. At other hosts,
    ``/ark/`` may be any folder.

    >>> malformed_findings(Reading("", (Block("see https://n2t.net/ark/12148/btv1b84."),)), ())[0].detail
    'https://n2t.net/ark/12148/btv1b84 has no colon after its label; did you mean https://n2t.net/ark:12148/btv1b84?'
    """
    letterspaced_texts = (block.text for block in reading.blocks if _LETTERSPACED_HINT in block.text)
    details = {
        f"{' '.join(letterspaced_ark[0].split())!r} is letterspaced, and was not read"
        for text in letterspaced_texts
        for letterspaced_ark in _LETTERSPACED.finditer(text)
    }
    texts = [text for text in (*(block.text for block in reading.blocks), *reading.links) if _NO_COLON_HINT in text]
    if not (texts or details):
        return ()
    hosts = KNOWN_RESOLVERS | resolver_addresses(mentions)
    details |= {
        f"{url[0]} has no colon after its label; did you mean {url['resolver']}ark:{url['naan']}/{url['name']}?"
        for text in texts
        for url in _NO_COLON.finditer(text)
        if authority_of(url["resolver"]).removeprefix("www.") in hosts
    }
    return tuple(Finding("malformed-ark", detail) for detail in sorted(details))


def _name_different_things(shown_ark: Ark, target_ark: Ark) -> bool:
    """Return True if the ARKs name different objects: neither is the other with a longer qualifier."""
    shorter, longer = sorted((str(shown_ark), str(target_ark)), key=len)
    return not (longer.startswith(shorter) and (len(shorter) == len(longer) or longer[len(shorter)] in "/."))


def _targets_of_links(blocks: Sequence[Block]) -> dict[int | None, list[str]]:
    """Return the sorted link targets in *blocks* by link number; None for targets without a number."""
    link_targets: dict[int | None, list[str]] = defaultdict(list)
    for block in blocks:
        if block.role in LINK_TARGETS:
            link_targets[block.link].append(block.text.strip())
    for targets in link_targets.values():
        targets.sort()
    return link_targets


def _is_whole_target(mention: Mention, link_targets: Mapping[int | None, Sequence[str]]) -> bool:
    """Return True if a target of its link begins with the written form of *mention*; *link_targets* are `_targets_of_links`."""
    targets = link_targets.get(mention.link, ())
    index = bisect_left(targets, mention.as_written)
    return index < len(targets) and targets[index].startswith(mention.as_written)
