"""Pure: the body of an answer becomes a title, readable text and, where it is one, a record."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass

from bs4 import BeautifulSoup, MarkupResemblesLocatorWarning, XMLParsedAsHTMLWarning
from rapidfuzz import fuzz

from crawler.erc import Record, parse_record
from extractors.formats import parse_content_type

#: Characters of readable text that are kept with an observation, as evidence and for comparing answers.
TEXT_LIMIT = 8_000
#: Bytes of markup that are parsed: a page made to be slow costs the square of its length.
MARKUP_LIMIT = 2**17
#: Two answers at least this alike (in percent) are the same page with another name in it,
SAME_PAGE = 95.0
#: unless they differ in more words than this: a long frame around a short record makes all of a site's pages alike.
FEW_WORDS = 3


#: Words of not-found pages: supporting evidence only, never proof.
NOT_FOUND = re.compile(
    r"not\s+found|no\s+longer\s+(?:available|exists?)|does\s+not\s+exist|doesn['’]t\s+exist"
    r"|\b(?:error|http|code)\s*:?\s*404\b|\A\W*404\b|\b404\s+error\b|introuvable|n['’]existe\s+pas|nicht\s+gefunden"
    r"|no\s+encontrad[ao]|non\s+trovat[ao]|niet\s+gevonden|n[aã]o\s+encontrad[ao]",
    re.IGNORECASE,
)

_ANY_ARK = re.compile(r"(?:https?://\S*?/)?ark:/?\S+", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]{2,}")
_TEXTUAL = re.compile(r"text/|.*(?:json|xml|yaml|rdf|turtle|n-triples|javascript)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Answer:
    """What can be read in a body."""

    media_type: str | None
    title: str | None = None
    text: str | None = None
    record: Record | None = None


def is_textual(media_type: str | None) -> bool:
    """Whether a body of this type may hold words; an undeclared one may.

    >>> is_textual("application/ld+json"), is_textual("image/jpeg"), is_textual(None)
    (True, False, True)
    """
    return media_type is None or bool(_TEXTUAL.match(media_type))


def read_answer(body: bytes, content_type: str | None) -> Answer:
    """Title, text and record of a body, as far as it is text. Never raises.

    >>> answer = read_answer(b"<title>Not found</title><p>Sorry", "text/html; charset=utf-8")
    >>> answer.title, answer.text
    ('Not found', 'Not found Sorry')
    """
    media_type, charset = parse_content_type(content_type) if content_type else (None, None)
    if not body or not is_textual(media_type):
        return Answer(media_type)
    if (media_type and "html" in media_type) or body.lstrip()[:1] == b"<":
        return _from_markup(body, media_type, charset)
    try:
        decoded = body.decode(charset or "utf-8", "replace")
    except LookupError:
        decoded = body.decode("utf-8", "replace")
    decoded = decoded.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}")
    return Answer(media_type, None, _folded(decoded), parse_record(media_type, decoded))


def _from_markup(body: bytes, media_type: str | None, charset: str | None) -> Answer:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", XMLParsedAsHTMLWarning)
        warnings.simplefilter("ignore", MarkupResemblesLocatorWarning)
        soup = BeautifulSoup(body[:MARKUP_LIMIT], "lxml", from_encoding=charset)
    for hidden in soup(["script", "style", "template", "noscript"]):
        hidden.decompose()
    title = soup.title.get_text(" ", strip=True) if soup.title else None
    return Answer(media_type, title, _folded(soup.get_text(" ")))


def _folded(text: str) -> str:
    return " ".join(text.split())[:TEXT_LIMIT]


def same_page(one: str | None, other: str | None, *names: str) -> bool:
    """Whether two texts say the same once ARKs and the given *names* are taken out of both.

    Numbers count little: clocks and counters differ each time. A text that was cut off says nothing of its rest.

    >>> same_page("Nothing at ark:/1/x5", "Nothing at ark:/1/zzz")
    True
    >>> same_page("Record of a map of Lyon, 1784", "Nothing here")
    False
    """
    first, second = (_without_names(text or "", names) for text in (one, other))
    if not first or not second:
        return first == second
    if min(len(one or ""), len(other or "")) >= TEXT_LIMIT:
        return False
    differing = set(_WORD.findall(first)) ^ set(_WORD.findall(second))
    return len(differing) <= FEW_WORDS and fuzz.ratio(first, second) >= SAME_PAGE


def _without_names(text: str, names: tuple[str, ...]) -> str:
    for name in names:
        text = text.replace(name, " ")
    return " ".join(_ANY_ARK.sub(" ", text).split())
