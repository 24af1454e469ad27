"""Citations: which mentions are one, and remarks on how a document cites.

A link and its visible text are one citation with two places. Where they show different ARKs, where a compact ARK is no
link, or one that browsers can't follow, the document's author should know (draft-kunze-ark-38, 2.2 and 5.4).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count

import regex

from extractors.mentions.mention import Mention
from extractors.mentions.mention_reader import is_cut_from
from extractors.model.ark import Ark
from extractors.model.documents import Block, Finding, Reading, Role
from extractors.wraps.rules import Confidence

_TARGETS = (Role.LINK_TARGET, Role.LINK_ANNOTATION)
#: Hosts that resolve ARKs under ``/ark:``, of which no document need say anything.
_RESOLVERS = frozenset(
    """
    n2t.net arks.org ark.bnf.fr catalogue.bnf.fr data.bnf.fr gallica.bnf.fr archive.org digital.library.unt.edu
    texashistory.unt.edu familysearch.org collections.louvre.fr
    """.split()  # noqa: SIM905
)
_NO_COLON_HINT = "/ark/"
_NO_COLON = regex.compile(
    r"(?P<resolver>https?://[^\s/<>\"']+/(?:[\w.~-]+/)*?)ark/(?P<naan>[0-9]{5})/(?P<name>[0-9A-Za-z][\w=~*+@$/-]*(?:\.\w+)*)"
)
#: A link that only says ``ark:…``: no browser knows what to do with it.
_BARE_SCHEME = regex.compile(r"\s*ark:", regex.IGNORECASE)


def linked_arks(mentions: Iterable[Mention]) -> Mapping[int, Ark]:
    """The ARK in the target of each link, by the link's number."""
    return {
        mention.link: mention.ark
        for mention in mentions
        if mention.link is not None and mention.role in _TARGETS and not mention.repairs
    }


def completed(mentions: Iterable[Mention], linked: Mapping[int, Ark]) -> Iterator[Mention]:
    """*mentions*, those whose text was cut off made whole by their own link.

    A text that begins as its link's target does and then stops within a word shows the target.
    """
    for mention in mentions:
        target = (
            linked.get(mention.link)
            if mention.link is not None and mention.role is Role.TEXT
            else None
        )
        if target is None or not (
            is_cut_from(mention.ark, target) or _may_be_clipped(mention, target)
        ):
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
        Finding(
            "link-mismatch", f"the text says {shown.ark}, its link leads to {targets[link][0].ark}"
        )
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
    """Findings about URLs at a resolver that would be ARKs, but for the colon after the label.

    A resolver is known, or one that an ARK of the document names. Other sites have folders of that name.

    >>> malformed_findings(Reading("", (Block("see https://n2t.net/ark/12148/bpt6k107371t."),)), ())[0].detail
    'https://n2t.net/ark/12148/bpt6k107371t has no colon behind its label; https://n2t.net/ark:12148/bpt6k107371t?'
    """
    texts = [
        text
        for text in (*(block.text for block in reading.blocks), *reading.links)
        if _NO_COLON_HINT in text
    ]
    if not texts:
        return ()
    hosts = _RESOLVERS | {
        _host(mention.resolver) for mention in mentions if mention.resolver is not None
    }
    details = {
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
    return not (
        second.startswith(first) and (len(first) == len(second) or second[len(first)] in "/.")
    )


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
