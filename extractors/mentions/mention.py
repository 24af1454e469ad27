"""Mentions: of ARKs, each with the resolver that it is written with, and of NAANs that are alone; citations of them."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from urllib.parse import unquote, urljoin

import regex

from extractors.model.ark import Ark, Remark
from extractors.model.check_characters import CheckCharacter
from extractors.model.documents import Block, Finding, Reading, Role
from extractors.model.offset_map import ODD_BLANK, WRAP
from extractors.wraps.rules import Confidence

#: The reason of a mention about which nothing had to be decided.
STANDS_WHOLE = "stands whole"


@dataclass(frozen=True, slots=True)
class Mention:
    """An ARK found in a document; what was written, what we made of it, and how sure we are are side by side."""

    ark: Ark
    as_written: str
    spans: tuple[tuple[int, int], ...]
    """Code points in the reader's block; several where the ARK goes on after a gap."""
    repaired: str
    """Whole again, hyphens, label form and resolver as found: this is what is sent."""
    resolver: str | None
    """The URL before the label, with its final slash; none for a compact ARK."""
    inflection: str
    """``?info``, ``??``, ``?`` or nothing; belongs to the mention, not to identity."""
    role: Role
    page: int | None
    place: str
    context: str
    repairs: tuple[str, ...]
    confidence: Confidence
    reason: str
    """The rule of the least sure decision."""
    alternatives: tuple[str, ...]
    """ARKs that the other decisions would have given, in normal form but for their hyphens."""
    fragment: str = ""
    """What was written after ``#``; never sent, no part of identity."""
    link: int | None = None
    """Which link of the document this is the target, or the visible text, of."""
    check: CheckCharacter = CheckCharacter.UNKNOWN
    """What its check character says, where names like this one have one: a failure means that it is mistyped."""
    suggestions: tuple[str, ...] = ()
    """Normal forms that may have been meant where the check character fails, the likeliest first."""
    remarks: tuple[Remark, ...] = ()
    """How its spelling departs from the specifications."""
    citation: int = 0
    """Mentions of one document with the same number are one citation: a link and its visible text."""

    @property
    def start(self) -> int:
        """Where it begins."""
        return self.spans[0][0]

    @property
    def end(self) -> int:
        """Where it ends."""
        return self.spans[-1][1]

    def moved(self, by: int) -> Mention:
        """Return the mention so many code points further on."""
        return replace(self, spans=tuple((start + by, end + by) for start, end in self.spans))

    def __repr__(self) -> str:
        """Return the ARK, how sure it is, and what was repaired.

        >>> from extractors.find import find_arks
        >>> find_arks("see ark:/12148/btv1b8449691v")
        [<Mention ark:12148/btv1b8449691v, certain>]
        """
        repaired = f": {', '.join(self.repairs)}" if self.repairs else ""
        return f"<Mention {self.ark}, {self.confidence.token}{repaired}>"


@dataclass(frozen=True, slots=True)
class NamespaceMention:
    """A NAAN alone (``ark:/12148/``), or with a name too long to be one: recorded, but no ARK, and never resolved."""

    as_written: str
    span: tuple[int, int]
    context: str
    is_overlong: bool = False

    @property
    def start(self) -> int:
        """Where it begins."""
        return self.span[0]

    @property
    def end(self) -> int:
        """Where it ends."""
        return self.span[1]

    def moved(self, by: int) -> NamespaceMention:
        """Return the mention so many code points further on."""
        return replace(self, span=(self.span[0] + by, self.span[1] + by))


# Backward from a label: the resolver that an ARK is written with (draft-kunze-ark-38, 2.1).

#: What a resolver ends with: its last slash, which may be an escape.
_ENDINGS = ("/", "f", "F")
_LOOK_BACK = 600
_MOST_LINES = 4
#: Everything that can be in a URL, over line wraps, up to the label.
_RUN = regex.compile(rf"(?r)(?:[^\s{ODD_BLANK}<>\"“”‘’'«»|\\^`{{}}]|(?<=\S)-?{WRAP})*\Z")
_GAP = rf"(?:-?{WRAP})?"
_ESCAPED = "%(?:25)*"
_SCHEME = regex.compile(
    rf"{_GAP.join('http')}(?:{_GAP}s)?(?:{_GAP}:{_GAP}/{_GAP}/|{_ESCAPED}3a{_ESCAPED}2f{_ESCAPED}2f)", regex.IGNORECASE
)
_ENCODED_SCHEME = regex.compile(r"https?%", regex.IGNORECASE)
_EARLIER_LABEL = regex.compile(rf"(?r)(?<![\p{{L}}\p{{N}}])ark(?::|{_ESCAPED}3a)", regex.IGNORECASE)
#: A host that a blank is in: ``https://gallica. bnf.fr/``, ``https://gal lica.bnf.fr/``, ``https://bnf.fr /``.
_SPACED_HOST = regex.compile(
    r"(?r)https?://(?:(?:[\w-]+\.)*(?:[\w-]*)[ ](?=[./-])|(?:[\w-]*|(?:[\w-]+\.)+)[ ])[\w.-]*(?::\d+)?/(?:[\w.~-]+/)*\Z",
    regex.IGNORECASE,
)
_SCHEME_AND_HOST = regex.compile(r"https?://(?:[\w-]+\.)+[a-z]{2,}[:/]", regex.IGNORECASE)
_HOST_ONLY = regex.compile(
    r"(?<![\w@.:/-])(?://)?(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}(?::\d+)?/(?:[\w.~-]+/)*\Z", regex.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class WrittenResolver:
    """The resolver before a label; none for a compact ARK."""

    url: str | None
    """With its final slash, whole again; a host without a scheme is as it was written."""
    start: int
    """Where the mention begins in the repaired text."""
    repair: str = ""
    """The gap that was taken out of it: a line wrap or a blank."""


def resolver_before(text: str, label_at: int) -> WrittenResolver:
    """The resolver that ends at the label at *label_at* of a repaired *text*.

    A URL in the value of another's query counts for itself; one that holds an earlier label is another ARK's.

    >>> resolver_before("see https://n2t.net/ark:/12148/x", 20).url
    'https://n2t.net/'
    >>> resolver_before("https://a.org/?id=uc2.ark:/13960/x", 22).url is None
    True
    """
    if text[label_at - 1 : label_at] not in (*_ENDINGS, WRAP):
        return WrittenResolver(None, label_at)
    run = _RUN.search(text, _first_line(text, label_at), label_at)
    lines = run[0].split(WRAP) if run else [""]
    for first in range(len(lines) - 1, max(-1, len(lines) - _MOST_LINES), -1):
        written = _own_part(WRAP.join(lines[first:]))
        if written:
            return _resolver(written, label_at)
    spaced = _SPACED_HOST.search(text, max(0, label_at - _LOOK_BACK), label_at)
    if spaced is not None and _SCHEME_AND_HOST.match(url := spaced[0].replace(" ", "")):
        return WrittenResolver(url, spaced.start(), "blank")
    host = _HOST_ONLY.search(lines[-1])
    return WrittenResolver(host[0], label_at - len(host[0])) if host else WrittenResolver(None, label_at)


def _first_line(text: str, label_at: int) -> int:
    """Return where to begin: no resolver goes over more lines, or is longer."""
    first = max(0, label_at - _LOOK_BACK)
    at = label_at
    for _ in range(_MOST_LINES):
        at = text.rfind(WRAP, first, at)
        if at < 0:
            return first
    return at + 1


def _open_bracket(written: str) -> int:
    """The offset after the last bracket of *written* that isn't closed in it; 0 if there is none.

    >>> _open_bracket("https://a.org](https://b.org/"), _open_bracket("https://[::1]/a(1)/")
    (15, 0)
    """
    depth = 0
    for offset in range(len(written) - 1, -1, -1):
        if written[offset] in ")]":
            depth += 1
        elif written[offset] in "([":
            if depth == 0:
                return offset + 1
            depth -= 1
    return 0


def _own_part(joined: str) -> str | None:
    """The URL in *joined* that leads up to its end, from its scheme on."""
    joined = joined[joined.rfind("__http") + 2 :] if "__http" in joined else joined  # as URL Defense wraps one
    earlier = _EARLIER_LABEL.search(joined)
    scheme = _SCHEME.search(joined, earlier.end() if earlier else 0)
    return joined[scheme.start() :] if scheme else None


def _resolver(written: str, label_at: int) -> WrittenResolver:
    written = written[_open_bracket(written) :]
    if not _SCHEME.match(written):
        return WrittenResolver(None, label_at)
    _, question, query = written.partition("?")
    if question:
        written = regex.split("[=&?]", query)[-1]
        if not _SCHEME.match(written):
            return WrittenResolver(None, label_at)
    url = written.replace("-" + WRAP, "-").replace(WRAP, "")
    while _ENCODED_SCHEME.match(url):
        url = unquote(url)
    if not url.endswith("/") or "#" in url:
        return WrittenResolver(None, label_at)
    return WrittenResolver(url, label_at - len(written), "line wrap" if WRAP in written else "")


# Where the relative link of a page leads.


def relative_resolver(mention: Mention, reading: Reading, page_url: str) -> str | None:
    """Return the resolver of an ARK in a relative link (``/ark:/12148/x``, ``//host/ark:/…``); None for any other.

    *reading* is that of the page, which is, or was, at *page_url* on the web.
    """
    if mention.role is not Role.LINK_TARGET:
        return None
    base = urljoin(page_url, reading.base or "")
    if mention.resolver is not None:
        return web_url(base, mention.resolver) if mention.resolver.startswith("//") else None
    for block in reading.blocks:
        before, written, _ = block.text.strip().partition(mention.as_written)
        is_relative = before.endswith("/") and "?" not in before and ":" not in before
        if block.role is Role.LINK_TARGET and written and is_relative:
            return web_url(base, before)
    return None


def web_url(base: str, link: str) -> str | None:
    """The http or https URL that *link* means, without its fragment; a broken one leads nowhere.

    >>> web_url("https://www.bnf.fr/a/", "../b#c"), web_url("https://www.bnf.fr/", "mailto:x")
    ('https://www.bnf.fr/b', None)
    """
    try:
        url = urljoin(base, link.strip())
    except ValueError:
        return None
    return url.partition("#")[0] if url.lower().startswith(("http://", "https://")) else None


# Citations: which mentions are one, and remarks on how a document cites. A link and its visible text are one citation with
# two places. Where they show different ARKs, where a compact ARK is no link, or one that browsers can't follow, the
# document's author should know (draft-kunze-ark-38, 2.2 and 5.4).

_TARGETS = (Role.LINK_TARGET, Role.LINK_ANNOTATION)
#: Hosts that resolve ARKs under ``/ark:``, of which no document need say anything.
_KNOWN_RESOLVERS = frozenset(
    """
    n2t.net arks.org ark.bnf.fr catalogue.bnf.fr data.bnf.fr gallica.bnf.fr archive.org digital.library.unt.edu
    texashistory.unt.edu familysearch.org collections.louvre.fr
    """.split()  # noqa: SIM905
)
_NO_COLON_HINT = "/ark/"
_NO_COLON = regex.compile(
    r"(?P<resolver>https?://[^\s/<>\"']+/(?:[\w.~-]+/)*?)ark/(?P<naan>[0-9]{5})/(?P<name>[0-9A-Za-z][\w=~*+@$/-]*(?:\.\w+)*)"
)
#: A label and the beginning of a name, with a blank after each character; words are not told apart from letters there.
_LETTERSPACED_HINT = "k :"
_LETTERSPACED = regex.compile(r"(?<!\S)(?i:a\sr\sk)\s:(?:\s/)?(?:\s\w){5,16}\s/(?:\s\S){1,40}(?!\S)")
#: A link that only says ``ark:…``: no browser knows what to do with it.
_BARE_SCHEME = regex.compile(r"\s*ark:", regex.IGNORECASE)


def linked_arks(mentions: Iterable[Mention]) -> Mapping[int, Ark]:
    """The ARK in the target of each link, by the link's number."""
    return {
        mention.link: mention.ark
        for mention in mentions
        if mention.link is not None and mention.role in _TARGETS and not mention.repairs
    }


def cut_links(mentions: Iterable[Mention], linked: Mapping[int, Ark]) -> dict[int, Mention]:
    """Return the texts that go on where the annotation of their own link ends, by the number of the link.

    A viewer that makes links of lines cuts a URL at the end of its line.
    """
    return {
        link: mention
        for mention in mentions
        if (link := mention.link) is not None and link in linked and mention.role is Role.TEXT
        and mention.page is not None and "line wrap" in mention.repairs and is_cut_from(linked[link], mention.ark)
    }  # fmt: skip


def completed(mentions: Sequence[Mention], linked: Mapping[int, Ark]) -> Iterator[Mention]:
    """Yield *mentions*, each that was cut off made whole: a text by its own link, an annotation by its own text.

    A text that begins as its link's target does and then stops within a word shows the target.
    """
    texts = cut_links(mentions, linked)
    for mention in mentions:
        text = texts.get(mention.link) if mention.role is Role.LINK_ANNOTATION and mention.link is not None else None
        if text is not None:
            yield replace(
                mention,
                ark=text.ark,
                repaired=text.repaired,
                repairs=(*mention.repairs, "cut off"),
                confidence=min(text.confidence, Confidence.LIKELY),
                reason="its own text goes on",
                alternatives=tuple(form for form in (str(mention.ark), *text.alternatives) if form != str(text.ark)),
            )
            continue
        target = linked.get(mention.link) if mention.link is not None and mention.role is Role.TEXT else None
        if target is None or not (is_cut_from(mention.ark, target) or _may_be_clipped(mention, target)):
            yield mention
            continue
        yield replace(
            mention,
            ark=target,
            repaired=f"{mention.resolver or ''}{target}",
            repairs=(*mention.repairs, "cut off"),
            confidence=Confidence.LIKELY,
            reason="its own link goes on",
            alternatives=(str(mention.ark), *mention.alternatives),
        )


def is_cut_from(ark: Ark, target: Ark) -> bool:
    """Return whether *ark* is *target* cut off within a word; one with fewer qualifiers represents itself.

    >>> whole = Ark.parse("ark:12148/bpt6k107371t/f12.item")
    >>> [is_cut_from(Ark.parse(f"ark:12148/{each}"), whole) for each in ("bpt6k10", "bpt6k107371t", "bpt6k107371t/f1")]
    [True, False, True]
    """
    form, whole = str(ark), str(target)
    return whole.startswith(form) and whole[len(form) : len(form) + 1] not in ("", "/", ".")


def _may_be_clipped(mention: Mention, target: Ark) -> bool:
    """Return whether the text of *mention* may run over the edge of its page, where it is lost."""
    is_beginning = mention.ark != target and str(target).startswith(str(mention.ark))
    return is_beginning and mention.page is not None and mention.resolver is not None


def citation_numbers(mentions: Iterable[Mention]) -> Iterator[int]:
    """The numbers of their citations, from 1: a link's target and text that show one ARK share it."""
    numbers: dict[tuple[int, Ark], int] = {}
    following = count(1)
    for mention in mentions:
        if mention.link is None:
            yield next(following)
            continue
        key = (mention.link, mention.ark)
        if key not in numbers:
            numbers[key] = next(following)
        yield numbers[key]


def citation_findings(mentions: Sequence[Mention], blocks: Sequence[Block]) -> tuple[Finding, ...]:
    """Return what a document's author should know about its links and texts; nothing where links have no text
    at all.
    """
    if not mentions:
        return ()
    texts: dict[int, list[Mention]] = defaultdict(list)
    targets: dict[int, list[Mention]] = defaultdict(list)
    for mention in mentions:
        if mention.link is not None:
            (targets if mention.role in _TARGETS else texts)[mention.link].append(mention)
    findings = {
        Finding("link-mismatch", f"the text says {shown.ark}, its link leads to {targets[link][0].ark}")
        for link, shown_here in texts.items()
        for shown in shown_here
        if targets[link] and all(_differ(shown.ark, target.ark) for target in targets[link])
    }
    leads = _targets_of_links(blocks)
    findings |= {
        Finding("dead-link", f"browsers can't follow {mention.repaired}")
        for mention in mentions
        if mention.role in _TARGETS and mention.resolver is None and _BARE_SCHEME.match(mention.as_written)
        and _is_whole_target(mention, leads)
    }  # fmt: skip
    if any(block.anchors for block in blocks):
        findings |= {
            Finding("unlinked-ark", f"{mention.repaired} is no link")
            for mention in mentions
            if mention.role is Role.TEXT and mention.link is None and mention.resolver is None
        }
    return tuple(sorted(findings))


def malformed_findings(reading: Reading, mentions: Iterable[Mention]) -> tuple[Finding, ...]:
    """Findings about what would be ARKs: URLs at a resolver without the colon after the label, letterspaced text.

    A resolver is known, or one that an ARK of the document names. Other sites have folders of that name.

    >>> malformed_findings(Reading("", (Block("see https://n2t.net/ark/12148/bpt6k107371t."),)), ())[0].detail
    'https://n2t.net/ark/12148/bpt6k107371t has no colon behind its label; https://n2t.net/ark:12148/bpt6k107371t?'
    """
    spaced = (block.text for block in reading.blocks if _LETTERSPACED_HINT in block.text)
    details = {
        f"{' '.join(name[0].split())!r} is letterspaced, and was not read"
        for text in spaced
        for name in _LETTERSPACED.finditer(text)
    }
    texts = [text for text in (*(block.text for block in reading.blocks), *reading.links) if _NO_COLON_HINT in text]
    if not (texts or details):
        return ()
    hosts = _KNOWN_RESOLVERS | {_host(mention.resolver) for mention in mentions if mention.resolver is not None}
    details |= {
        f"{url[0]} has no colon behind its label; {url['resolver']}ark:{url['naan']}/{url['name']}?"
        for text in texts
        for url in _NO_COLON.finditer(text)
        if _host(url["resolver"]) in hosts
    }
    return tuple(Finding("malformed-ark", detail) for detail in sorted(details))


def _host(url: str) -> str:
    """The host of a URL, without ``www.``."""
    return url.partition("://")[2].partition("/")[0].lower().removeprefix("www.")


def _differ(shown: Ark, target: Ark) -> bool:
    """Return whether they name different things: neither is the other with more of a qualifier after it."""
    first, second = sorted((str(shown), str(target)), key=len)
    return not (second.startswith(first) and (len(first) == len(second) or second[len(first)] in "/."))


def _targets_of_links(blocks: Sequence[Block]) -> dict[int | None, list[str]]:
    """The targets of each link, sorted; those of none (``None``) may be as many as the document has blocks."""
    leads: dict[int | None, list[str]] = defaultdict(list)
    for block in blocks:
        if block.role in _TARGETS:
            leads[block.link].append(block.text.strip())
    for targets in leads.values():
        targets.sort()
    return leads


def _is_whole_target(mention: Mention, leads: Mapping[int | None, Sequence[str]]) -> bool:
    """Return whether a target begins with what is written there, and not with something before it."""
    targets = leads.get(mention.link, ())
    at = bisect_left(targets, mention.as_written)
    return at < len(targets) and targets[at].startswith(mention.as_written)
