"""Read the resolver of an ARK backward from its label (draft-kunze-ark-38, 2.1)."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from urllib.parse import unquote

import regex

from extractors.model.offset_map import ODD_BLANK, WRAP

#: Hosts that resolve ARKs under ``/ark:``.
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
_URL_BEFORE_LABEL = regex.compile(rf"(?r)(?:[^\s{ODD_BLANK}<>\"“”‘’'«»|\\^`{{}}]|(?<=\S)-?{WRAP})*\Z")
_GAP = rf"(?:-?{WRAP})?"
_PERCENT = "%(?:25)*"
_SCHEME = regex.compile(
    rf"{_GAP.join('http')}(?:{_GAP}s)?(?:{_GAP}:{_GAP}/{_GAP}/|{_PERCENT}3a{_PERCENT}2f{_PERCENT}2f)", regex.IGNORECASE
)
_ENCODED_SCHEME = regex.compile(r"https?%", regex.IGNORECASE)
_EARLIER_LABEL = regex.compile(rf"(?r)(?<![\p{{L}}\p{{N}}])ark(?::|{_PERCENT}3a)", regex.IGNORECASE)
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
_VALID_RESOLVER = regex.compile(
    r"(?:https?://)?(?:[^/@]*@)?(?:\w(?:[\w-]*\w)?\.)*\w(?:[\w-]*\w)?(?::\d+)?/", regex.IGNORECASE
)
_LABEL_BEFORE = regex.compile(r"(?r)[^/.:]*\Z")
_LABEL_AFTER = regex.compile(r"[^/.:]*")
#: A host without a typesetter's line end in it.
_WHOLE_HOST = regex.compile(rf"https?://(?:[\w-]+\.)+[a-z]{{2,}}(?=/|{WRAP}|\Z)", regex.IGNORECASE)


@dataclass(frozen=True, slots=True)
class WrittenResolver:
    """The resolver before a label, with its offset."""

    url: str | None
    """The repaired URL with its final slash; a host without a scheme stays as written; None for a compact ARK."""
    start: int
    """The offset in the repaired text at which the mention begins: at the resolver, else at the label."""
    repair: str = ""
    """The gap that was removed from the resolver, ``line wrap`` or ``blank``; else empty."""
    is_doubtful: bool = False
    """True if another host or path is possible because of a line end."""


def resolver_before(text: str, label_start: int, whole_addresses: Container[str] = frozenset()) -> WrittenResolver:
    """Return the resolver that ends before the label at *label_start* of a repaired *text*.

    A URL inside the query of another URL counts alone; a URL with an earlier label belongs to another ARK.
    *whole_addresses* are `Evidence.resolver_addresses`.

    >>> resolver_before("see https://n2t.net/ark:/12148/x", 20).url
    'https://n2t.net/'
    >>> resolver_before("https://a.org/?id=uc2.ark:/13960/x", 22).url is None
    True
    >>> resolver_before("https://gal-\\nlica.bnf.fr/ark:/12148/x", 25).url
    'https://gallica.bnf.fr/'
    """
    if text[label_start - 1 : label_start] not in (*_ENDINGS, WRAP):
        return WrittenResolver(None, label_start)
    match = _URL_BEFORE_LABEL.search(text, _search_start(text, label_start), label_start)
    lines = match[0].split(WRAP) if match else [""]
    for first_line in range(len(lines) - 1, max(-1, len(lines) - _MOST_LINES), -1):
        url = _last_url(WRAP.join(lines[first_line:]))
        if url:
            return _resolver_in_url(url, label_start, whole_addresses)
    spaced_url = _SPACED_HOST.search(text, max(0, label_start - _LOOK_BACK), label_start)
    if spaced_url is not None and _SCHEME_AND_HOST.match(url := spaced_url[0].replace(" ", "")):
        return WrittenResolver(url, spaced_url.start(), "blank")
    return _host_before(lines, label_start, whole_addresses)


def address_of(resolver: str) -> str:
    """Return host and path of a resolver in lower case, without ``www.``.

    >>> address_of("https://www.bnf.fr/Q/"), address_of("//bnf.fr/"), address_of("bnf.fr/")
    ('bnf.fr/q/', 'bnf.fr/', 'bnf.fr/')
    """
    return (resolver.partition("//")[2] or resolver).lower().removeprefix("www.")


def _search_start(text: str, label_start: int) -> int:
    """Return the smallest offset at which a resolver before *label_start* may begin.

    A resolver has at most `_LOOK_BACK` characters and `_MOST_LINES` lines.
    """
    earliest = max(0, label_start - _LOOK_BACK)
    line_end = label_start
    for _ in range(_MOST_LINES):
        line_end = text.rfind(WRAP, earliest, line_end)
        if line_end < 0:
            return earliest
    return line_end + 1


def _end_of_open_bracket(url: str) -> int:
    """Return the offset after the last bracket of *url* that isn't closed in it; 0 if there is no such bracket.

    >>> _end_of_open_bracket("https://a.org](https://b.org/"), _end_of_open_bracket("https://[::1]/a(1)/")
    (15, 0)
    """
    depth = 0
    for offset in range(len(url) - 1, -1, -1):
        if url[offset] in ")]":
            depth += 1
        elif url[offset] in "([":
            if depth == 0:
                return offset + 1
            depth -= 1
    return 0


def _last_url(text: str) -> str | None:
    """Return *text* from the first URL scheme after its last label on; None without such a scheme."""
    text = text[text.rfind("__http") + 2 :] if "__http" in text else text  # a URL in URL Defense
    earlier_label = _EARLIER_LABEL.search(text)
    scheme = _SCHEME.search(text, earlier_label.end() if earlier_label else 0)
    return text[scheme.start() :] if scheme else None


def _resolver_in_url(written_url: str, label_start: int, whole_addresses: Container[str]) -> WrittenResolver:
    """Return the resolver in *written_url*, which ends at *label_start*; its `url` is None if there is none.

    If the URL has a query, only a URL in the last value of the query is the resolver.
    """
    no_resolver = WrittenResolver(None, label_start)
    written_url = written_url[_end_of_open_bracket(written_url) :]
    if not _SCHEME.match(written_url):
        return no_resolver
    _, question, query = written_url.partition("?")
    if question:
        written_url = regex.split("[=&?]", query)[-1]
        if not _SCHEME.match(written_url):
            return no_resolver
    urls = _possible_urls(written_url)
    while _ENCODED_SCHEME.match(urls[0]):
        urls = [unquote(url) for url in urls]
    urls = [url for url in urls if url.endswith("/") and "#" not in url]
    if not urls:
        return no_resolver
    url, is_doubtful = _likeliest_url(urls, whole_addresses)
    text_before, wrap, last_line = written_url.rpartition(WRAP)
    if wrap and _WHOLE_HOST.match(text_before) and _HOST_ONLY.fullmatch(last_line):  # perhaps two URLs in two lines
        is_doubtful = not _is_whole_elsewhere(url, whole_addresses, is_path_whole=text_before.count("/") == 2)
        if is_doubtful and _is_whole_elsewhere(last_line, whole_addresses):
            return WrittenResolver(last_line, label_start - len(last_line), is_doubtful=True)
    if wrap and not last_line and not text_before.endswith("-"):  # perhaps a URL, and an ARK in the next line
        is_doubtful |= not _is_whole_elsewhere(url, whole_addresses)
    return WrittenResolver(url, label_start - len(written_url), "line wrap" if WRAP in written_url else "", is_doubtful)


def _host_before(lines: Sequence[str], label_start: int, whole_addresses: Container[str]) -> WrittenResolver:
    """Return the host without a scheme at the end of *lines*, before *label_start*; it may begin in the line before."""
    host = _HOST_ONLY.search(lines[-1])
    if host is None:
        return WrittenResolver(None, label_start)
    own_resolver = WrittenResolver(host[0], label_start - len(host[0]))
    host_beginning = _HOSTS_BEGINNING.search(lines[-2]) if host.start() == 0 and len(lines) > 1 else None
    if host_beginning is None:
        return own_resolver
    start = own_resolver.start - len(host_beginning[0]) - len(WRAP)
    url, is_doubtful = _likeliest_url(_possible_urls(host_beginning[0] + WRAP + host[0]), whole_addresses)
    if _is_whole_elsewhere(url, whole_addresses):
        return WrittenResolver(url, start, "line wrap", is_doubtful)
    if host_beginning[0][-1] not in ".-" or _is_whole_elsewhere(host[0], whole_addresses):
        return own_resolver
    if host_beginning[0].endswith("-"):
        return WrittenResolver(url, start, "line wrap", is_doubtful=True)
    return replace(own_resolver, is_doubtful=True)


def _possible_urls(text: str) -> list[str]:
    """Return the possible URLs of *text*, with and without each hyphen at a line end, the likeliest first.

    Most hyphens are those of a typesetter, except in a label or folder with another hyphen.

    >>> _possible_urls("https://gal-\\nlica.bnf.\\nfr/"), _possible_urls("https://e-cor-\\npus.fr/")[0]
    (['https://gallica.bnf.fr/', 'https://gal-lica.bnf.fr/'], 'https://e-cor-pus.fr/')
    """
    first_part, *other_parts = (part.replace(WRAP, "") for part in text.split("-" + WRAP))
    urls = [first_part]
    for part in other_parts:
        label = _LABEL_BEFORE.search(urls[0])[0] + _LABEL_AFTER.match(part)[0]
        urls = [url + hyphen + part for url in urls for hyphen in (("-", "") if "-" in label else ("", "-"))]
    return urls


def _likeliest_url(urls: Sequence[str], whole_addresses: Container[str]) -> tuple[str, bool]:
    """Return the likeliest of *urls*, the possible URLs of one resolver, and True if another of them is possible."""
    valid_urls = [url for url in urls if _VALID_RESOLVER.match(url)] or urls
    if len(valid_urls) == 1:
        return valid_urls[0], False
    is_path_whole = len({address_of(url).partition("/")[2] for url in valid_urls}) == 1
    whole_urls = [url for url in valid_urls if _is_whole_elsewhere(url, whole_addresses, is_path_whole=is_path_whole)]
    return (whole_urls or valid_urls)[0], len(whole_urls) != 1


def _is_whole_elsewhere(url: str, whole_addresses: Container[str], *, is_path_whole: bool = True) -> bool:
    """Return True if host and path of *url* are in *whole_addresses*.

    If *is_path_whole*, no line end is in the path, and it is enough that the host is there or a known resolver.
    """
    address = address_of(url)
    host = address.partition("/")[0]
    return address in whole_addresses or (is_path_whole and (host in KNOWN_RESOLVERS or host in whole_addresses))
