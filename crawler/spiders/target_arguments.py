"""The ARKs that a user names, each in a line of its own, with the URL that asks for its object."""

from __future__ import annotations

import re
from collections.abc import Iterable

from crawler.model.resolving import request_url
from extractors.ark import Ark
from extractors.document_model import Block, Role
from extractors.find import scan
from extractors.mentions.mention import Mention, NamespaceMention
from extractors.wraps.evidence import Evidence

#: What stands between two ARKs of one line, and not between one and another that its query names.
_APART = re.compile(r"\s|^[\"')\]>]*[,;|]+[\"'(\[<]*$")
_BETWEEN = re.compile(r"\s+|,(?=ark:|https?:)", re.IGNORECASE)


def mention_in(text: str) -> Mention | str:
    """Return the ARK of a line of input, or why it holds none."""
    found = list(scan(Block(text.strip(), Role.LINK_TARGET), Evidence()))
    mention = next((each for each in found if isinstance(each, Mention)), None)
    if mention is not None:
        return mention
    if any(isinstance(each, NamespaceMention) for each in found):
        return "names a NAAN or shoulder, not an object"
    return "holds no ARK"


def parted(line: str) -> list[str]:
    """Return a line of input, or each of its ARKs where it holds several.

    An ARK that a URL names in its query is part of that.

    >>> parted("ark:/12148/bpt6k1; https://n2t.net/ark:/12x45/x5 (the second)")
    ['ark:/12148/bpt6k1', 'https://n2t.net/ark:/12x45/x5']
    >>> parted('"ark:/12148/bpt6k1","ark:/12148/bpt6k2"')
    ['ark:/12148/bpt6k1', 'ark:/12148/bpt6k2']
    >>> parted("https://n2t.net/ark:/12x45/x5?by=https://example.org/ark:/12x45/x6")
    ['https://n2t.net/ark:/12x45/x5?by=https://example.org/ark:/12x45/x6']
    """
    texts, end = [], None
    for each in scan(Block(line, Role.LINK_TARGET), Evidence()):
        if isinstance(each, Mention):
            if end is None or _APART.search(line[end : each.spans[0][0]]):
                texts.append(each.repaired)
            end = each.spans[-1][1]
    return texts if len(texts) > 1 else [line]


def words_of(text: str) -> list[str]:
    """Split ARKs and URLs that stand in one text, between blanks, or commas where the next begins.

    >>> words_of("ark:12148/btv1b8449691v,https://n2t.net/ark:/12x45/x5 ark:12x45/a,b")
    ['ark:12148/btv1b8449691v', 'https://n2t.net/ark:/12x45/x5', 'ark:12x45/a,b']
    """
    return [each for each in _BETWEEN.split(text) if each]


def targets_in(texts: Iterable[str], *, resolver: str) -> tuple[list[tuple[Ark, str]], list[str]]:
    """Return the ARKs in *texts*, each once with the URL that asks for it, and why the other texts hold none."""
    targets: dict[tuple[Ark, str], None] = {}
    faults: list[str] = []
    for text in texts:
        found = mention_in(text)
        if isinstance(found, Mention):
            targets[found.ark, request_url(found.repaired, found.resolver, resolver)] = None
        else:
            faults.append(f"{text!r} {found}")
    return list(targets), faults
