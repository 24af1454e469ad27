"""Pure: the body of an answer becomes a title, readable text, facts about itself and, where it is one, a record."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, field

from crawler.answers.erc import Record
from crawler.answers.likeness import TEXT_LIMIT, sketch
from crawler.answers.records import parse_record
from crawler.answers.vocabularies import from_xml
from crawler.model.observations import MOST_ARKS, PageFacts
from extractors.ark import Ark
from extractors.find import find_arks
from extractors.formats import parse_content_type

#: Bytes of an answer beyond which nothing is read; nobody describes an object in more.
MOST_READ = 2**19

_TEXTUAL = re.compile(r"text/|.*(?:json|xml|yaml|rdf|turtle|n-triples|javascript|octet-stream)", re.IGNORECASE)
#: Octets that no text has, but for UTF-16 and UTF-32, which say what they are.
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1a\x7f]")
_WIDE = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
_TAG = re.compile(
    rb"\s*(?:<!--.*?-->\s*)*<(?!(?:https?|urn|ark|info):)(?:!doctype|[a-z?!/])", re.IGNORECASE | re.DOTALL
)
#: What browsers read as windows-1252, whatever it is called.
_WESTERN = frozenset({"iso8859-1", "ascii"})
_XML = re.compile(rb"\s*<\?xml|\s*<(?:rdf:RDF|oai_dc:dc|metadata|resource)\b")


@dataclass(frozen=True, slots=True)
class Answer:
    """The facts read in a body."""

    media_type: str | None
    title: str | None = None
    text: str | None = None
    """The beginning of its readable text, white space folded; None for what is no text."""
    record: Record | None = None
    similarity: str | None = None
    """The sketch of all of its text (`crawler.answers.likeness.sketch`)."""
    facts: PageFacts = field(default_factory=PageFacts)


def is_textual(media_type: str | None) -> bool:
    """Return whether a body of this type may hold words; one whose type is undeclared, or says nothing, may.

    >>> is_textual("application/ld+json"), is_textual("image/jpeg"), is_textual("application/octet-stream")
    (True, False, True)
    """
    return media_type is None or bool(_TEXTUAL.match(media_type))


def read_answer(body: bytes, content_type: str | None, ark: Ark | None = None) -> Answer:
    """All that is kept of a body, as far as it is text; of several records that of *ark*. Never raises.

    >>> answer = read_answer(b"<title>Not found</title><p>Sorry", "text/html; charset=utf-8")
    >>> answer.title, answer.text
    ('Not found', 'Not found Sorry')
    """
    media_type, charset = parse_content_type(content_type) if content_type else (None, None)
    body = body[:MOST_READ]
    if not body or not is_textual(media_type) or _is_binary(media_type, body):
        return Answer(media_type)
    is_html = "html" in (media_type or "") and "xml" not in (media_type or "").replace("xhtml+xml", "")
    if _TAG.match(body[:4_096]):
        described = (
            None
            if is_html
            else from_xml(body)
            if ("xml" in (media_type or "") or bool(_XML.match(body[:4_096])))
            else None
        )
        from crawler.answers.answer_pages import (
            read_page,  # beautifulsoup4 comes with it, and a crawl may have no answer to read
        )

        page = read_page(body, charset)
        text = page.text
        return Answer(media_type, page.title, text[:TEXT_LIMIT], described or page.record, sketch(text), page.facts)
    decoded = _decoded(body, charset)
    text = " ".join(decoded.split())
    named = dict.fromkeys((str(mention.ark), "text") for mention in find_arks(decoded[:TEXT_LIMIT]))
    record = parse_record("text/plain" if is_html else media_type, decoded, ark)
    facts = PageFacts(arks=tuple(named)[:MOST_ARKS])
    return Answer(media_type, None, text[:TEXT_LIMIT], record, sketch(text), facts)


def _is_binary(media_type: str | None, body: bytes) -> bool:
    """Return whether a body of which its type says nothing is no text."""
    is_untold = media_type is None or media_type.endswith("octet-stream")
    return is_untold and not body.startswith(_WIDE) and bool(_BINARY.search(body[:4_096]))


def _decoded(body: bytes, charset: str | None) -> str:
    """The characters of a text; one that says UTF-16 by its first octets is believed.

    One that names no charset and is no UTF-8 is in the encoding that browsers take then, and so is one that claims to
    be in ISO 8859-1 (WHATWG Encoding, 4.2).

    >>> _decoded(b"\\xc9cole \\x96 1784", None), _decoded(b"\\xc3\\x89cole", None)
    ('\N{LATIN CAPITAL LETTER E WITH ACUTE}cole \N{EN DASH} 1784', '\N{LATIN CAPITAL LETTER E WITH ACUTE}cole')
    """
    if body[:2] in (b"\xff\xfe", b"\xfe\xff"):
        charset = "utf-16"
    if not charset:
        charset = "utf-8" if _is_utf8(body) else "windows-1252"
    try:
        name = codecs.lookup(charset).name
        decoded = body.decode("windows-1252" if name in _WESTERN else name, "replace")
    except LookupError:
        decoded = body.decode("utf-8" if _is_utf8(body) else "windows-1252", "replace")
    return decoded.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}")


def _is_utf8(body: bytes) -> bool:
    """Return whether *body* is UTF-8, though its last character may be cut off."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(body)
    except UnicodeDecodeError:
        return False
    return True
