"""Mentions: of ARKs, and of NAANs that are alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from urllib.parse import unquote, urljoin

import regex

from extractors.model.ark import Ark
from extractors.model.check_characters import CheckCharacter
from extractors.model.conformance import Remark
from extractors.model.documents import Reading, Role
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
    """Normal forms that the other decisions would have given."""
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
    """A NAAN alone (``ark:/12148/``): recorded, but no ARK, and never resolved."""

    as_written: str
    span: tuple[int, int]
    context: str

    @property
    def start(self) -> int:
        """Where it begins."""
        return self.span[0]

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
    rf"{_GAP.join('http')}(?:{_GAP}s)?(?:{_GAP}:{_GAP}/{_GAP}/|{_ESCAPED}3a{_ESCAPED}2f{_ESCAPED}2f)",
    regex.IGNORECASE,
)
_ENCODED_SCHEME = regex.compile(r"https?%", regex.IGNORECASE)
_EARLIER_LABEL = regex.compile(rf"(?r)(?<![\p{{L}}\p{{N}}])ark(?::|{_ESCAPED}3a)", regex.IGNORECASE)
_HOST_ONLY = regex.compile(
    r"(?<![\w@.:/-])(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}(?::\d+)?/(?:[\w.~-]+/)*\Z",
    regex.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class WrittenResolver:
    """The resolver before a label; none for a compact ARK."""

    url: str | None
    """With its final slash, whole again; a host without a scheme is as it was written."""
    start: int
    """Where the mention begins in the repaired text."""
    wrapped: bool = False
    """Whether a line wrap was taken out of it."""


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
    host = _HOST_ONLY.search(lines[-1])
    return (
        WrittenResolver(host[0], label_at - len(host[0]))
        if host
        else WrittenResolver(None, label_at)
    )


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
    joined = (
        joined[joined.rfind("__http") + 2 :] if "__http" in joined else joined
    )  # as URL Defense wraps one
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
    return WrittenResolver(url, label_at - len(written), WRAP in written)


# Where the relative link of a page leads.


def relative_resolver(mention: Mention, reading: Reading, page_url: str) -> str | None:
    """Return the resolver of an ARK in a relative link (``/ark:/12148/x``); none for ``ark:/…`` and for text.

    *reading* is that of the page, which is, or was, at *page_url* on the web.
    """
    if mention.role is not Role.LINK_TARGET or mention.resolver is not None:
        return None
    base = urljoin(page_url, reading.base or "")
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
