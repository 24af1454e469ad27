"""Read the body of an answer: its title, its readable text, facts about it and, if it is one, a record."""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote

from crawler.answers.erc import EZID_ESCAPE, Erc, Record, elements, parse_ercs
from crawler.answers.likeness import TEXT_LIMIT, sketch
from crawler.answers.structured import from_json, from_turtle, from_xml, from_yaml
from crawler.model.observations import MOST_ARKS, Observation, PageFacts
from extractors.find import find_arks
from extractors.model.ark import Ark
from extractors.model.decoding import text_codec
from extractors.model.formats import parse_content_type

# -- the record in a body, in any form, recognized by its media type and its content

#: Segments that contain a description in another form than an ERC.
STRUCTURED = ("json", "json-ld", "yaml", "rdf", "embedded")

_TURTLE = re.compile(r"\s*(?:#.*\n\s*)*(?:@?(?:prefix|base)\s|<(?:https?|urn|ark|info):[^<>\s]*>\s)", re.IGNORECASE)
_ERROR = re.compile(r"\s*error\s*:\s*(?P<words>\S.{0,500})", re.IGNORECASE)
#: An ERC with line breaks for a browser.
_BROKEN = re.compile(r"\s*erc\s*:[^\n<]{0,500}<br\b", re.IGNORECASE)
#: An element with XML as its value, as in answers of EZID in another profile: "crossref: <?xml …", with escaped line
#: ends.
_WITH_XML = re.compile(r"^[a-z][\w.]{0,40}:\s*+<", re.IGNORECASE | re.MULTILINE)
_BREAK = re.compile(r"<br\s*/?>\s*", re.IGNORECASE)
_NESTED = re.compile(
    r"^(?:erc(?:-\w++)?.*+\n|---[^\S\n]*+\n(?:[^\S\n]*+\n)*+)(?:\#.*+\n)*+[ \t]++[\w/-]++\s*+:", re.MULTILINE
)


def parse_record(media_type: str | None, text: str, ark: Ark | None = None) -> Record | None:
    """Return the record in a text, or None; of a set of ERCs the one about *ark*. Never raises.

    >>> parse_record("text/plain", "erc:\\nwho: Austin, Larry\\nwhat: A Study\\nwhen: 1952\\nwhere: ark:67531/m1\\n")
    {'erc': {'who': 'Austin, Larry', 'what': 'A Study', 'when': '1952', 'where': 'ark:67531/m1'}}
    >>> parse_record("text/html", "<p>erc: no</p>") is None
    True
    """
    kind, start = (media_type or "").lower(), text.lstrip()[:1]
    looks_like_json = start in ("{", "[") and "yaml" not in kind and not re.match(r"\[[^\]]*\]\s*\w+:", text)
    if "json" in kind or "javascript" in kind or looks_like_json:
        return from_json(text, ark)
    if "turtle" in kind or "n-triples" in kind or _TURTLE.match(text):
        return from_turtle(text)
    if start == "<":
        return None if "html" in kind else from_xml(text.encode("utf-8", "replace"))
    described = from_yaml(text, ark) if "yaml" in kind or _NESTED.search(text) else None
    return described or _anvl(text, ark)


def _anvl(text: str, ark: Ark | None) -> Record | None:
    if error := _ERROR.match(text):
        return {"error": {"error": error["words"]}}
    if _WITH_XML.search(text) and (described := _in_element(text)):
        return described
    ercs = parse_ercs(_BREAK.sub("\n", text) if _BROKEN.match(text) else text)
    if not ercs:
        return None
    record = _of_set(ercs, ark).display()
    if "naa" in record and "erc" not in record:
        return {"registry": record["naa"]}
    return record


def _in_element(text: str) -> Record | None:
    """Return the description in XML that is the value of an element, with the ARK that the other elements name."""
    values = dict(elements(text))
    written = next((value for value in values.values() if value.startswith("<")), "")
    xml = EZID_ESCAPE.sub(lambda match: unquote(match[0]), written)
    record = from_xml(xml.encode("utf-8", "replace"), enough=2) or {}
    identifier = values.get("success", values.get("where", ""))
    return {kind: {**described, "identifier": identifier} for kind, described in record.items()} or None


def _of_set(ercs: Sequence[Erc], ark: Ark | None) -> Erc:
    """Return the record of a set that names *ark*, or else the first one."""
    names = {number: _names_in(erc) for number, erc in enumerate(ercs) if len(ercs) > 1}
    for wanted in (ark, ark.base) if ark is not None else ():
        for number, named in names.items():
            if wanted in named:
                return ercs[number]
    return ercs[0]


def _names_in(erc: Erc) -> set[Ark]:
    """Return the ARKs by which a record identifies its subject."""
    elements = erc.anchoring_story.display() if erc.anchoring_story is not None else {}
    return {
        mention.ark for label in ("where", "identifier", "id", "ark") for mention in find_arks(elements.get(label, ""))
    }


#: Maximum number of bytes of an answer that are read; no description is longer.
MOST_READ = 2**19
#: Maximum number of bytes of a page that does nothing but refresh.
REDIRECT_BYTES = 2**13

_TEXTUAL = re.compile(r"text/|.*(?:json|xml|yaml|rdf|turtle|n-triples|javascript|octet-stream)", re.IGNORECASE)
#: Octets that do not occur in text, except in UTF-16 and UTF-32, which begin with a mark.
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1a\x7f]")
_WIDE = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
_TAG = re.compile(
    rb"\s*(?:<!--.*?-->\s*)*<(?!(?:https?|urn|ark|info):)(?:!doctype|[a-z?!/])", re.IGNORECASE | re.DOTALL
)
_XML = re.compile(rb"\s*<\?xml|\s*<(?:rdf:RDF|oai_dc:dc|metadata|resource)\b")


@dataclass(frozen=True, slots=True)
class Answer:
    """The facts read from a body."""

    media_type: str | None
    title: str | None = None
    text: str | None = None
    """The beginning of its readable text, with folded white space; None if it is not text."""
    record: Record | None = None
    similarity: str | None = None
    """The sketch of its whole text (`crawler.answers.likeness.sketch`)."""
    facts: PageFacts = field(default_factory=PageFacts)
    references: tuple[str, ...] = ()
    """The addresses of links, media and players in its own part."""
    fault: str | None = None
    """The reason why it was not read, in words; then nothing is known about it."""


def is_textual(media_type: str | None) -> bool:
    """Return True if a body of this type may contain words, also if the type is missing or generic.

    >>> is_textual("application/ld+json"), is_textual("image/jpeg"), is_textual("application/octet-stream")
    (True, False, True)
    """
    return media_type is None or bool(_TEXTUAL.match(media_type))


def read_answer(body: bytes, content_type: str | None, ark: Ark | None = None) -> Answer:
    """Return the facts about a body that is text; of several records the one about *ark*. Never raises.

    >>> answer = read_answer(b"<title>Not found</title><p>Sorry", "text/html; charset=utf-8")
    >>> answer.title, answer.text
    ('Not found', 'Not found Sorry')
    """
    media_type, charset = parse_content_type(content_type) if content_type else (None, None)
    body = body[:MOST_READ]
    if not body or not is_textual(media_type) or _is_binary(media_type, body):
        return Answer(media_type)
    kind, start = media_type or "", body[:4_096]
    is_html = "html" in kind and "xml" not in kind.replace("xhtml+xml", "")
    title: str | None = None
    references: tuple[str, ...] = ()
    if _TAG.match(start):
        from crawler.answers.answer_pages import MARKUP_LIMIT, read_page  # with beautifulsoup4, when it is needed

        is_xml = "xml" in kind or _XML.match(start)
        described = from_xml(body) if is_xml and not is_html else None
        title, text, facts, record, references = read_page(body[:MARKUP_LIMIT], charset)
        record = described or record
    else:
        decoded = _decode(body, charset)
        text = " ".join(decoded.split())
        arks = (str(mention.ark) for mention in find_arks(decoded[:TEXT_LIMIT]))
        record = parse_record("text/plain" if is_html else media_type, decoded, ark)
        facts = PageFacts(arks=tuple((name, "text") for name in dict.fromkeys(arks))[:MOST_ARKS])
    return Answer(media_type, title, text[:TEXT_LIMIT], record, sketch(text), facts, references)


def _is_binary(media_type: str | None, body: bytes) -> bool:
    """Return True if a body of an unknown type is not text."""
    is_untold = media_type is None or media_type.endswith("octet-stream")
    return is_untold and not body.startswith(_WIDE) and bool(_BINARY.search(body[:4_096]))


def _decode(body: bytes, charset: str | None) -> str:
    """Return the characters of a text. A byte order mark of UTF-16 decides.

    Without a charset and without valid UTF-8, the encoding is the default of browsers; so is ISO 8859-1 (WHATWG
    Encoding, 4.2).

    >>> _decode(b"\\xc9cole \\x96 1784", None), _decode(b"\\xc3\\x89cole", None)
    ('\N{LATIN CAPITAL LETTER E WITH ACUTE}cole \N{EN DASH} 1784', '\N{LATIN CAPITAL LETTER E WITH ACUTE}cole')
    """
    is_marked = body[:2] in (b"\xff\xfe", b"\xfe\xff")
    codec = "utf-16" if is_marked else text_codec(charset)
    decoded = body.decode(codec or ("utf-8" if _is_utf8(body) else "cp1252"), "replace")
    return decoded.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}")


def _is_utf8(body: bytes) -> bool:
    """Return True if *body* is UTF-8, even if its last character was cut off."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(body)
    except UnicodeDecodeError:
        return False
    return True


# -- comparison of two answers, at least one of them cut off

#: A page that was cut off before this number of words can't be compared.
FEW_CAME = 12


def are_incomparable(one: Observation, other: Observation) -> bool:
    """Return True if too little of two answers arrived to see that they differ.

    The cut-off point depends on chance, so it must not turn one page into two.
    """
    if one.body_complete and other.body_complete:
        return False
    if one.media_type and other.media_type and one.media_type != other.media_type:
        return False
    if one.text is None and other.text is None and not is_textual(one.media_type):
        return not _differ_in_length(one, other) and one.body_bytes != other.body_bytes
    cut = (answer for answer in (one, other) if not answer.body_complete)
    return any(len((answer.text or "").split()) < FEW_CAME for answer in cut)


def _differ_in_length(one: Observation, other: Observation) -> bool:
    """Return True if two unread bodies have different lengths."""
    declared = [answer.hops[-1].headers.get("Content-Length") for answer in (one, other) if answer.hops]
    if len(declared) == 2 and None not in declared:
        return declared[0] != declared[1]
    return any(
        whole.body_complete and (cut.body_bytes or 0) > (whole.body_bytes or 0)
        for cut, whole in ((one, other), (other, one))
    )
