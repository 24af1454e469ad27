"""Pure: a description in RDF, or in the XML of libraries and archives, becomes a record.

Turtle, N-Triples and RDF/XML; Dublin Core, DataCite, MODS, MARC, EAD and the TEI header.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from lxml import etree

from crawler.answers.erc import Record
from crawler.answers.structured import KERNEL, OTHER_DESCRIPTIVE, encodable, is_sites, kernel, names_ark, plain_key
from extractors.readers.markup.surrogates import without_surrogates

if TYPE_CHECKING:
    import rdflib  # imported where there is RDF to read: that takes longer than most documents

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"

#: Characters of RDF that are parsed, and elements of XML that are looked at: a description is short.
RDF_LIMIT = 2**16
MOST_ELEMENTS = 5_000
#: Keys of one description.
MOST_KEYS = 500
VALUE_CHARS = 2_000
#: XML without any namespace is a description when it answers so many questions.
ENOUGH_ANSWERS = 3

_DESCRIPTIVE = re.compile(
    r"http://purl\.org/dc/(?:elements/1\.1|terms)/|https?://schema\.org/|http://www\.w3\.org/2000/01/rdf-schema#"
    r"|http://www\.w3\.org/2004/02/skos/core#|http://xmlns\.com/foaf/0\.1/|http://www\.w3\.org/2002/07/owl#"
    r"|http://datacite\.org/schema/kernel-\d[\w.]*"
)
_EAD = {"unittitle": "title", "unitdate": "date", "origination": "creator", "unitid": "identifier"}
#: What the elements of other vocabularies are called in Dublin Core.
_LIBRARIES: Mapping[str, Mapping[str, str]] = {
    "http://www.loc.gov/mods/v3": {
        "title": "title", "namePart": "creator", "dateIssued": "date", "dateCreated": "date", "copyrightDate": "date",
        "identifier": "identifier", "url": "url",
    },
    "http://www.tei-c.org/ns/1.0": {"title": "title", "author": "creator", "date": "date", "idno": "identifier"},
    "http://www.crossref.org/schema": {
        "title": "title", "surname": "creator", "organization": "creator", "year": "date",
    },
    "urn:isbn:1-931666-22-9": _EAD, "http://ead3.archivists.org/schema/": _EAD,
}  # fmt: skip
#: In the namespace of a library, the version that changes nothing: ``http://www.crossref.org/schema/4.3.4``.
_VERSION = re.compile(r"(?<=crossref\.org/schema)/[\d.]+\Z")
_MARC = "http://www.loc.gov/MARC21/slim"
_MARC_FIELDS = {
    "100a": "creator", "110a": "creator", "700a": "contributor", "245a": "title", "260c": "date", "264c": "date",
    "024a": "identifier", "856u": "url",
}  # fmt: skip
#: Documents that hold the descriptions of many things, or of none.
_NO_RECORDS = frozenset({"rss", "feed", "urlset", "sitemapindex", "html", "svg", "opml", "opensearchdescription"})
_ERRORS = frozenset({"error", "errors", "exception", "fault", "problem", "serviceexceptionreport"})
_NAMES = ("name", "label", "preflabel", "title", "value")

logging.getLogger("rdflib").setLevel(logging.CRITICAL)  # it complains of URIs that are not ours to mend


def from_turtle(text: str) -> Record | None:
    """The description in Turtle or N-Triples; of several the one of an ARK, or the one that tells most.

    >>> from_turtle('@prefix dc: <http://purl.org/dc/terms/> . <http://a.example/x> dc:title "A map" .')
    {'rdf': {'@id': 'http://a.example/x', 'title': 'A map'}}
    """
    return _from_rdf(text, "turtle")


def from_xml(markup: bytes, *, enough: int = ENOUGH_ANSWERS) -> Record | None:
    """The description in RDF/XML or in an XML vocabulary, or the error in it; None for other XML.

    XML without a namespace is a description when it answers *enough* of the four questions.

    >>> from_xml(b'<r xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>A map</dc:title></r>')
    {'rdf': {'title': 'A map'}}
    """
    parser = etree.XMLParser(resolve_entities=False, no_network=True, recover=True, huge_tree=False)
    try:
        root = etree.fromstring(without_surrogates(markup), parser)
    except (etree.XMLSyntaxError, ValueError):
        return None
    if root is None or not isinstance(root.tag, str):
        return None
    etree.strip_elements(root, etree.Entity, with_tail=False)  # they stand for nothing that we would look up
    name = _local(root)
    if root.tag == f"{{{RDF}}}RDF":
        found = _from_rdf(etree.tostring(root, encoding="unicode"), "xml")
        if found is not None:
            return found
    if name in _ERRORS or any(_local(child) in _ERRORS for child in root):
        return {"error": {"error": _text(root)}}
    return None if name in _NO_RECORDS else _described(dict(_first(_statements(root)))) or _unspoken(root, enough)


# -- RDF


def _from_rdf(text: str, form: str) -> Record | None:
    import rdflib

    graph = rdflib.Graph()
    try:
        graph.parse(data=text[:RDF_LIMIT], format=form, publicID="about:this")
    except Exception as problem:  # its parsers raise whatever they stumble over; what came before that counts
        logging.getLogger(__name__).debug("not all of the RDF was read: %r", problem)
    subjects = dict.fromkeys(subject for subject, _, _ in graph)
    descriptions = [mapping for subject in subjects if not is_sites(mapping := _properties_of(graph, subject))]
    best = max(descriptions, key=lambda mapping: (names_ark(mapping), len(kernel(mapping))), default={})
    return _described({key: value for key, value in best.items() if key != "@type"})


def _properties_of(graph: rdflib.Graph, subject: Any) -> dict[str, str]:
    from rdflib import URIRef

    properties = {"@id": str(subject)} if isinstance(subject, URIRef) else {}
    for predicate, value in graph.predicate_objects(subject):
        if str(predicate) == f"{RDF}type":
            properties.setdefault("@type", str(value))
        elif _DESCRIPTIVE.match(str(predicate)):
            properties.setdefault(plain_key(predicate), encodable(_shown(graph, value))[:VALUE_CHARS])
    return properties


def _shown(graph: rdflib.Graph, value: Any) -> str:
    """A value as people read it: of what has a name, the name."""
    from rdflib import BNode, Literal

    if isinstance(value, Literal):
        return str(value)
    names = {plain_key(predicate): str(name) for predicate, name in graph.predicate_objects(value)}
    return next((names[each] for each in _NAMES if each in names), "" if isinstance(value, BNode) else str(value))


# -- XML


def _statements(root: Any) -> Iterator[tuple[str, str]]:
    """Return the values under the names of well-known vocabularies, in the names of Dublin Core."""
    for number, element in enumerate(root.iter("*")):
        if number > MOST_ELEMENTS or not isinstance(element.tag, str):
            continue
        about = element.get(f"{{{RDF}}}about")
        if about:
            yield "@id", about
        namespace, name = _parts(element)
        namespace = _VERSION.sub("", namespace)
        if _DESCRIPTIVE.match(namespace):
            yield name.lower(), _text(element) or element.get(f"{{{RDF}}}resource", "")
        elif namespace == _MARC and name == "subfield":
            field = f"{element.getparent().get('tag', '')}{element.get('code', '')}"
            yield _MARC_FIELDS.get(field, ""), _text(element).rstrip(" /:;,")
        elif namespace in _LIBRARIES and (not namespace.startswith("http://www.tei") or _is_in_header(element)):
            yield _LIBRARIES[namespace].get(name, ""), _text(element)


def _unspoken(root: Any, enough: int) -> Record | None:
    """The description in XML that has no namespace, but elements with plain names."""
    values = dict(_first((_local(element), _text(element)) for element in root.iter("*") if not len(element)))
    plain = {key: value for key, value in values.items() if key in KERNEL}
    return {"rdf": plain} if len(kernel(plain)) >= enough else None


def _is_in_header(element: Any) -> bool:
    return any(_local(above) == "teiheader" for above in element.iterancestors())


def _local(element: Any) -> str:
    return _parts(element)[1].lower() if isinstance(element.tag, str) else ""


def _parts(element: Any) -> tuple[str, str]:
    """The namespace and the name of an element; a prefix that nobody declared is left out."""
    namespace, brace, name = str(element.tag).rpartition("}")
    return namespace.removeprefix("{") if brace else "", name.rpartition(":")[2]


def _text(element: Any) -> str:
    return " ".join("".join(element.itertext()).split())[:VALUE_CHARS]


def _first(statements: Iterator[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """The first statement of each kind that says something."""
    seen: set[str] = set()
    for name, text in statements:
        if name and text and name not in seen and len(seen) < MOST_KEYS:
            seen.add(name)
            yield name, encodable(text)


def _described(values: Mapping[str, str]) -> Record | None:
    """A record, when something in it answers a question besides what the subject is called."""
    is_one = bool(values.keys() & (KERNEL.keys() | OTHER_DESCRIPTIVE) - {"@id", "url", "id", "identifier"})
    return {"rdf": dict(values)} if is_one else None
