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
#: A text that reports an error in the form of ANVL: "error: no such ARK".
_ERROR = re.compile(r"\s*error\s*:\s*(?P<words>\S.{0,500})", re.IGNORECASE)
#: An ERC with line breaks for a browser.
_ERC_WITH_BREAKS = re.compile(r"\s*erc\s*:[^\n<]{0,500}<br\b", re.IGNORECASE)
#: An element with XML as its value, as in answers of EZID in another profile: "crossref: <?xml …", with escaped line
#: ends.
_WITH_XML = re.compile(r"^[a-z][\w.]{0,40}:\s*+<", re.IGNORECASE | re.MULTILINE)
_BREAK = re.compile(r"<br\s*/?>\s*", re.IGNORECASE)
#: The beginning of a record whose elements are indented below a label, as in YAML.
_NESTED = re.compile(
    r"^(?:erc(?:-\w++)?.*+\n|---[^\S\n]*+\n(?:[^\S\n]*+\n)*+)(?:\#.*+\n)*+[ \t]++[\w/-]++\s*+:", re.MULTILINE
)


def parse_record(media_type: str | None, text: str, ark: Ark | None = None) -> Record | None:
    """Return the record in *text*, the body of an answer of type *media_type*, or None.

    It maps segments, such as ``erc``, to values by label. Media type and first characters decide if the text is read as
    JSON, Turtle, XML, YAML or ANVL. Of several records, that about *ark* counts, or else the first. Never raises.

    >>> parse_record("text/plain", "erc:\\nwho: Austin, Larry\\nwhat: A Study\\nwhen: 1952\\nwhere: ark:67531/m1\\n")
    {'erc': {'who': 'Austin, Larry', 'what': 'A Study', 'when': '1952', 'where': 'ark:67531/m1'}}
    >>> parse_record("text/html", "<p>erc: no</p>") is None
    True
    """
    kind, first_character = (media_type or "").lower(), text.lstrip()[:1]
    looks_like_json = first_character in ("{", "[") and "yaml" not in kind and not re.match(r"\[[^\]]*\]\s*\w+:", text)
    if "json" in kind or "javascript" in kind or looks_like_json:
        return from_json(text, ark)
    if "turtle" in kind or "n-triples" in kind or _TURTLE.match(text):
        return from_turtle(text)
    if first_character == "<":
        return None if "html" in kind else from_xml(text.encode("utf-8", "replace"))
    structured_record = from_yaml(text, ark) if "yaml" in kind or _NESTED.search(text) else None
    return structured_record or _anvl_record(text, ark)


def _anvl_record(text: str, ark: Ark | None) -> Record | None:
    """Return the record in *text*, lines with labels, as values by label, by segment; or None.

    Of a set, it is the record about *ark*. An error has the segment ``error``, a registry entry ``registry``.
    """
    if error := _ERROR.match(text):
        return {"error": {"error": error["words"]}}
    if _WITH_XML.search(text) and (embedded_record := _record_in_element(text)):
        return embedded_record
    ercs = parse_ercs(_BREAK.sub("\n", text) if _ERC_WITH_BREAKS.match(text) else text)
    if not ercs:
        return None
    record = _record_of_set(ercs, ark).display()
    if "naa" in record and "erc" not in record:
        return {"registry": record["naa"]}
    return record


def _record_in_element(text: str) -> Record | None:
    """Return the description in the XML value of an ANVL element, with the ARK that other elements name; or None."""
    values = dict(elements(text))
    markup = next((value for value in values.values() if value.startswith("<")), "")
    xml = EZID_ESCAPE.sub(lambda match: unquote(match[0]), markup)
    record = from_xml(xml.encode("utf-8", "replace"), enough=2) or {}
    identifier = values.get("success", values.get("where", ""))
    return {kind: {**elements_of_kind, "identifier": identifier} for kind, elements_of_kind in record.items()} or None


def _record_of_set(ercs: Sequence[Erc], ark: Ark | None) -> Erc:
    """Return the first of *ercs* that names *ark*, or else its base, or else the first of all."""
    arks_by_index = {index: _subject_arks(erc) for index, erc in enumerate(ercs) if len(ercs) > 1}
    for wanted_ark in (ark, ark.base) if ark is not None else ():
        for index, named_arks in arks_by_index.items():
            if wanted_ark in named_arks:
                return ercs[index]
    return ercs[0]


def _subject_arks(erc: Erc) -> set[Ark]:
    """Return the ARKs in ``where`` and identifiers of a record's anchoring story."""
    values_by_label = erc.anchoring_story.display() if erc.anchoring_story is not None else {}
    return {
        mention.ark
        for label in ("where", "identifier", "id", "ark")
        for mention in find_arks(values_by_label.get(label, ""))
    }


#: Maximum number of bytes of an answer that are read; no description is longer.
MOST_BODY_BYTES = 2**19
#: Maximum number of bytes of a page that does nothing but refresh.
REDIRECT_BYTES = 2**13

_TEXTUAL = re.compile(r"text/|.*(?:json|xml|yaml|rdf|turtle|n-triples|javascript|octet-stream)", re.IGNORECASE)
#: Octets that do not occur in text, except in UTF-16 and UTF-32, which begin with a mark.
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1a\x7f]")
_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
_TAG = re.compile(
    rb"\s*(?:<!--.*?-->\s*)*<(?!(?:https?|urn|ark|info):)(?:!doctype|[a-z?!/])", re.IGNORECASE | re.DOTALL
)
_XML = re.compile(rb"\s*<\?xml|\s*<(?:rdf:RDF|oai_dc:dc|metadata|resource)\b")


@dataclass(frozen=True, slots=True)
class Answer:
    """The facts read from the body of one answer: title, text, record, and what else a page says about itself."""

    media_type: str | None
    title: str | None = None
    text: str | None = None
    """The beginning of its readable text, with folded white space; None if it is not text."""
    record: Record | None = None
    similarity: str | None = None
    """Hashes of the phrases of the whole text, to compare pages (`crawler.answers.likeness.sketch`); None without words."""
    facts: PageFacts = field(default_factory=PageFacts)
    references: tuple[str, ...] = ()
    """The addresses of links, media and players on a page, without the parts of the site."""
    fault: str | None = None
    """The reason why the body was not read, in words; then all other fields are empty."""


def is_textual(media_type: str | None) -> bool:
    """Return True if a body of this type may contain words, also if the type is missing or generic.

    >>> is_textual("application/ld+json"), is_textual("image/jpeg"), is_textual("application/octet-stream")
    (True, False, True)
    """
    return media_type is None or bool(_TEXTUAL.match(media_type))


def read_answer(body: bytes, content_type: str | None, ark: Ark | None = None) -> Answer:
    """Return the facts about a *body* of type *content_type*; only the type if the body is not text or empty. Never
    raises.

    Of several records the one about *ark* counts. At most `MOST_BODY_BYTES` are read.

    >>> answer = read_answer(b"<title>Not found</title><p>Sorry", "text/html; charset=utf-8")
    >>> answer.title, answer.text
    ('Not found', 'Not found Sorry')
    """
    media_type, charset = parse_content_type(content_type) if content_type else (None, None)
    body = body[:MOST_BODY_BYTES]
    if not body or not is_textual(media_type) or _is_binary(media_type, body):
        return Answer(media_type)
    lowercase_type, beginning = media_type or "", body[:4_096]
    is_html = "html" in lowercase_type and "xml" not in lowercase_type.replace("xhtml+xml", "")
    title: str | None = None
    references: tuple[str, ...] = ()
    if _TAG.match(beginning):
        from crawler.answers.answer_pages import MARKUP_LIMIT, read_page  # with beautifulsoup4, when it is needed

        is_xml = "xml" in lowercase_type or _XML.match(beginning)
        xml_record = from_xml(body) if is_xml and not is_html else None
        title, text, facts, record, references = read_page(body[:MARKUP_LIMIT], charset)
        record = xml_record or record
    else:
        decoded = _decode(body, charset)
        text = " ".join(decoded.split())
        arks = (str(mention.ark) for mention in find_arks(decoded[:TEXT_LIMIT]))
        record = parse_record("text/plain" if is_html else media_type, decoded, ark)
        facts = PageFacts(arks=tuple((name, "text") for name in dict.fromkeys(arks))[:MOST_ARKS])
    return Answer(media_type, title, text[:TEXT_LIMIT], record, sketch(text), facts, references)


def _is_binary(media_type: str | None, body: bytes) -> bool:
    """Return True if a body without a type, or of type octet-stream, has characters that no text has."""
    is_untyped = media_type is None or media_type.endswith("octet-stream")
    return is_untyped and not body.startswith(_WIDE_MARKS) and bool(_BINARY.search(body[:4_096]))


def _decode(body: bytes, charset: str | None) -> str:
    """Return the decoded text without its byte order mark. A byte order mark of UTF-16 overrules *charset*.

    Without *charset*, the encoding is UTF-8 if that is valid, or else Windows-1252 (WHATWG Encoding, 4.2).

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
ENOUGH_WORDS = 12


def are_incomparable(first_answer: Observation, second_answer: Observation) -> bool:
    """Return True if two answers, at least one of them cut off, are too short to decide if they are the same page.

    Answers of different types differ. Unread bodies, such as pictures, differ if their lengths do. The cut-off point
    depends on chance, so it must not turn one page into two.
    """
    if first_answer.body_complete and second_answer.body_complete:
        return False
    if first_answer.media_type and second_answer.media_type and first_answer.media_type != second_answer.media_type:
        return False
    if first_answer.text is None and second_answer.text is None and not is_textual(first_answer.media_type):
        return (
            not _have_different_lengths(first_answer, second_answer)
            and first_answer.body_bytes != second_answer.body_bytes
        )
    cut_answers = (answer for answer in (first_answer, second_answer) if not answer.body_complete)
    return any(len((answer.text or "").split()) < ENOUGH_WORDS for answer in cut_answers)


def _have_different_lengths(first_answer: Observation, second_answer: Observation) -> bool:
    """Return True if two unread bodies have different lengths."""
    declared_lengths = [
        answer.hops[-1].headers.get("Content-Length") for answer in (first_answer, second_answer) if answer.hops
    ]
    if len(declared_lengths) == 2 and None not in declared_lengths:
        return declared_lengths[0] != declared_lengths[1]
    return any(
        whole_answer.body_complete and (cut_answer.body_bytes or 0) > (whole_answer.body_bytes or 0)
        for cut_answer, whole_answer in ((first_answer, second_answer), (second_answer, first_answer))
    )
