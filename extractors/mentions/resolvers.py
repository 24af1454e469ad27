"""Read the resolver of an ARK backward from its label (draft-kunze-ark-38, 2.1)."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from urllib.parse import unquote

import regex

from extractors.model.offset_map import ODD_BLANK, WRAP

#: Hosts that are known to resolve ARKs under ``/ark:``.
KNOWN_RESOLVERS = frozenset(
    """
    n2t.net arks.org ark.bnf.fr catalogue.bnf.fr data.bnf.fr gallica.bnf.fr archive.org digital.library.unt.edu
    texashistory.unt.edu familysearch.org collections.louvre.fr
    """.split()  # noqa: SIM905
)
#: The end of a resolver: its last slash, or the last letter of an escaped slash.
_ENDINGS = ("/", "f", "F")
_LOOK_BACK = 600
_MOST_LINES = 4
#: All characters of a URL up to the label, over line wraps.
_RUN = regex.compile(rf"(?r)(?:[^\s{ODD_BLANK}<>\"“”‘’'«»|\\^`{{}}]|(?<=\S)-?{WRAP})*\Z")
_GAP = rf"(?:-?{WRAP})?"
_ESCAPED = "%(?:25)*"
_SCHEME = regex.compile(
    rf"{_GAP.join('http')}(?:{_GAP}s)?(?:{_GAP}:{_GAP}/{_GAP}/|{_ESCAPED}3a{_ESCAPED}2f{_ESCAPED}2f)", regex.IGNORECASE
)
_ENCODED_SCHEME = regex.compile(r"https?%", regex.IGNORECASE)
_EARLIER_LABEL = regex.compile(rf"(?r)(?<![\p{{L}}\p{{N}}])ark(?::|{_ESCAPED}3a)", regex.IGNORECASE)
#: A host with a blank in it: ``https://gallica. bnf.fr/``, ``https://gal lica.bnf.fr/``, ``https://bnf.fr /``.
_SPACED_HOST = regex.compile(
    r"(?r)https?://(?:(?:[\w-]+\.)*(?:[\w-]*)[ ](?=[./-])|(?:[\w-]*|(?:[\w-]+\.)+)[ ])[\w.-]*(?::\d+)?/(?:[\w.~-]+/)*\Z",
    regex.IGNORECASE,
)
_SCHEME_AND_HOST = regex.compile(r"https?://(?:[\w-]+\.)+[a-z]{2,}[:/]", regex.IGNORECASE)
_HOST_ONLY = regex.compile(
    r"(?<![\w@.:/-])(?:(?://)?(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+(?:[a-z]{2,}|[0-9]{1,3}(?<=(?:[0-9]+\.){3}[0-9]+))"
    r"|//(?:[a-z0-9][a-z0-9.-]*|\[[0-9a-f:.]+\]))(?::\d+)?/(?:[\w.~-]+/)*\Z",
    regex.IGNORECASE,
)
_HOSTS_BEGINNING = regex.compile(r"(?r)(?<![\w@:/-])[a-z0-9][a-z0-9.-]*[.a-z0-9-]\Z", regex.IGNORECASE)
#: A scheme and labels that neither begin nor end with a hyphen.
_VALID = regex.compile(r"(?:https?://)?(?:[^/@]*@)?(?:\w(?:[\w-]*\w)?\.)*\w(?:[\w-]*\w)?(?::\d+)?/", regex.IGNORECASE)
_LABEL_BEFORE = regex.compile(r"(?r)[^/.:]*\Z")
_LABEL_AFTER = regex.compile(r"[^/.:]*")
#: A host without a typesetter's line end in it.
_WHOLE_HOST = regex.compile(rf"https?://(?:[\w-]+\.)+[a-z]{{2,}}(?=/|{WRAP}|\Z)", regex.IGNORECASE)


@dataclass(frozen=True, slots=True)
class WrittenResolver:
    """The resolver before a label, if there is one."""

    url: str | None
    """The repaired URL with its final slash; a host without a scheme stays as written; None for a compact ARK."""
    start: int
    """Where the mention begins in the repaired text."""
    repair: str = ""
    """The gap that was removed from it: a line wrap or a blank."""
    is_doubtful: bool = False
    """True if another host or path is possible because of a line end."""


def resolver_before(text: str, label_at: int, whole: Container[str] = frozenset()) -> WrittenResolver:
    """Return the resolver that ends before the label at *label_at* of a repaired *text*.

    A URL inside the query of another URL counts alone; a URL with an earlier label belongs to another ARK. *whole* are
    the addresses of resolvers that stand whole elsewhere.

    >>> resolver_before("see https://n2t.net/ark:/12148/x", 20).url
    'https://n2t.net/'
    >>> resolver_before("https://a.org/?id=uc2.ark:/13960/x", 22).url is None
    True
    >>> resolver_before("https://gal-\\nlica.bnf.fr/ark:/12148/x", 25).url
    'https://gallica.bnf.fr/'
    """
    if text[label_at - 1 : label_at] not in (*_ENDINGS, WRAP):
        return WrittenResolver(None, label_at)
    run = _RUN.search(text, _first_line(text, label_at), label_at)
    lines = run[0].split(WRAP) if run else [""]
    for first in range(len(lines) - 1, max(-1, len(lines) - _MOST_LINES), -1):
        written = _own_part(WRAP.join(lines[first:]))
        if written:
            return _resolver(written, label_at, whole)
    spaced = _SPACED_HOST.search(text, max(0, label_at - _LOOK_BACK), label_at)
    if spaced is not None and _SCHEME_AND_HOST.match(url := spaced[0].replace(" ", "")):
        return WrittenResolver(url, spaced.start(), "blank")
    return _host_before(lines, label_at, whole)


def address_of(resolver: str) -> str:
    """Return host and path of a resolver in lower case, without ``www.``.

    >>> address_of("https://www.bnf.fr/Q/"), address_of("//bnf.fr/"), address_of("bnf.fr/")
    ('bnf.fr/q/', 'bnf.fr/', 'bnf.fr/')
    """
    return (resolver.partition("//")[2] or resolver).lower().removeprefix("www.")


def _first_line(text: str, label_at: int) -> int:
    """Return the offset to start at, given the maximum length and number of lines of a resolver."""
    first = max(0, label_at - _LOOK_BACK)
    at = label_at
    for _ in range(_MOST_LINES):
        at = text.rfind(WRAP, first, at)
        if at < 0:
            return first
    return at + 1


def _open_bracket(written: str) -> int:
    """Return the offset after the last bracket of *written* that isn't closed in it; 0 if there is no such bracket.

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
    """Return the URL at the end of *joined*, from its scheme on; None if there is none or it holds another ARK."""
    joined = joined[joined.rfind("__http") + 2 :] if "__http" in joined else joined  # a URL in URL Defense
    earlier = _EARLIER_LABEL.search(joined)
    scheme = _SCHEME.search(joined, earlier.end() if earlier else 0)
    return joined[scheme.start() :] if scheme else None


def _resolver(written: str, label_at: int, whole: Container[str]) -> WrittenResolver:
    """Return the resolver in the URL *written*, which may be the value in the query of another URL."""
    nothing = WrittenResolver(None, label_at)
    written = written[_open_bracket(written) :]
    if not _SCHEME.match(written):
        return nothing
    _, question, query = written.partition("?")
    if question:
        written = regex.split("[=&?]", query)[-1]
        if not _SCHEME.match(written):
            return nothing
    urls = _readings(written)
    while _ENCODED_SCHEME.match(urls[0]):
        urls = [unquote(url) for url in urls]
    urls = [url for url in urls if url.endswith("/") and "#" not in url]
    if not urls:
        return nothing
    url, is_doubtful = _likeliest(urls, whole)
    before, wrap, last = written.rpartition(WRAP)
    if wrap and _WHOLE_HOST.match(before) and _HOST_ONLY.fullmatch(last):  # perhaps two URLs in two lines
        is_doubtful = not _stands_whole(url, whole, is_path_whole=before.count("/") == 2)
        if is_doubtful and _stands_whole(last, whole):
            return WrittenResolver(last, label_at - len(last), is_doubtful=True)
    if wrap and not last and not before.endswith("-"):  # perhaps a URL, and an ARK in the next line
        is_doubtful |= not _stands_whole(url, whole)
    return WrittenResolver(url, label_at - len(written), "line wrap" if WRAP in written else "", is_doubtful)


def _host_before(lines: Sequence[str], label_at: int, whole: Container[str]) -> WrittenResolver:
    """Return the host without a scheme at the end of *lines*, which may begin in the last line but one."""
    host = _HOST_ONLY.search(lines[-1])
    if host is None:
        return WrittenResolver(None, label_at)
    alone = WrittenResolver(host[0], label_at - len(host[0]))
    before = _HOSTS_BEGINNING.search(lines[-2]) if host.start() == 0 and len(lines) > 1 else None
    if before is None:
        return alone
    start = alone.start - len(before[0]) - len(WRAP)
    url, is_doubtful = _likeliest(_readings(before[0] + WRAP + host[0]), whole)
    if _stands_whole(url, whole):
        return WrittenResolver(url, start, "line wrap", is_doubtful)
    if before[0][-1] not in ".-" or _stands_whole(host[0], whole):
        return alone
    is_broken = before[0].endswith("-")
    return WrittenResolver(url, start, "line wrap", is_doubtful=True) if is_broken else replace(alone, is_doubtful=True)


def _readings(written: str) -> list[str]:
    """Return the possible URLs of *written*, with and without each hyphen at a line end, the likeliest first.

    Most hyphens are those of a typesetter, except in a label or folder with another hyphen.

    >>> _readings("https://gal-\\nlica.bnf.\\nfr/"), _readings("https://e-cor-\\npus.fr/")[0]
    (['https://gallica.bnf.fr/', 'https://gal-lica.bnf.fr/'], 'https://e-cor-pus.fr/')
    """
    first, *others = (part.replace(WRAP, "") for part in written.split("-" + WRAP))
    urls = [first]
    for part in others:
        around = _LABEL_BEFORE.search(urls[0])[0] + _LABEL_AFTER.match(part)[0]
        urls = [url + hyphen + part for url in urls for hyphen in (("-", "") if "-" in around else ("", "-"))]
    return urls


def _likeliest(urls: Sequence[str], whole: Container[str]) -> tuple[str, bool]:
    """Return the likeliest of *urls*, the readings of one resolver, and True if another one is possible."""
    valid = [url for url in urls if _VALID.match(url)] or urls
    if len(valid) == 1:
        return valid[0], False
    is_path_whole = len({address_of(url).partition("/")[2] for url in valid}) == 1
    known = [url for url in valid if _stands_whole(url, whole, is_path_whole=is_path_whole)]
    return (known or valid)[0], len(known) != 1


def _stands_whole(url: str, whole: Container[str], *, is_path_whole: bool = True) -> bool:
    """Return True if *url* stands whole elsewhere; if no line end is in its path, its host is enough."""
    address = address_of(url)
    host = address.partition("/")[0]
    return address in whole or (is_path_whole and (host in KNOWN_RESOLVERS or host in whole))
