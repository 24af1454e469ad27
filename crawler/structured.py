"""Pure: an answer in JSON, YAML, RDF/XML, Turtle or JSON-LD becomes a record: of the object, or of its NAAN.

Only what describes is looked for, under the names of Dublin Core, schema.org and the ERC; everything is bounded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import yaml
from lxml import etree

from crawler.erc import QUESTIONS, Element, Record, Segment
from crawler.erc_values import Value

#: Characters of YAML that are parsed: the parser is slow, and a description is short.
YAML_LIMIT = 2**16
#: Keys of which a description has some, in whatever vocabulary, and the question that each answers.
KERNEL: Mapping[str, str] = {
    "who": "who", "creator": "who", "author": "who", "contributor": "who", "publisher": "who", "maker": "who",
    "artist": "who", "what": "what", "title": "what", "name": "what", "label": "what", "preflabel": "what",
    "headline": "what", "when": "when", "date": "when", "datecreated": "when", "datepublished": "when",
    "issued": "when", "created": "when", "year": "when", "publicationyear": "when", "where": "where",
    "identifier": "where", "id": "where", "@id": "where", "ark": "where", "url": "where", "permalink": "where",
}  # fmt: skip
_OTHER_DESCRIPTIVE = frozenset({"description", "subject", "about", "definition", "comment"})
#: Keys under which a structured record may state a commitment.
COMMITMENT_KEYS = ("erc-support", "commitment", "persistence", "permanence", "policy", "support")

_SEGMENT = re.compile(r"erc(?:-[a-z]+)?", re.IGNORECASE)
_DOTTED = re.compile(r"(?P<segment>erc(?:-[a-z]+)?)[.](?P<label>[\w/]+)", re.IGNORECASE)
_SEPARATORS = re.compile(r"[:./#]")
_MOST_KEYS = 500
_MOST_DEPTH = 4


def from_json(text: str) -> Record | None:
    """The record that a JSON text holds, JSON-LD included; None where it holds none.

    >>> from_json('{"title": "A map", "creator": "Rossi"}')
    {'json': {'title': 'A map', 'creator': 'Rossi'}}
    >>> from_json('{"error": "no such ARK"}')
    {'error': {'error': 'no such ARK'}}
    """
    try:
        return record_of(json.loads(text), "json")
    except (ValueError, RecursionError):
        return None


def from_yaml(text: str) -> Record | None:
    """The record that a YAML text holds. Aliases are refused, and every scalar is text.

    >>> from_yaml("erc:\\n  who: Rossi\\n  what: A map\\n  when: 1784\\n")
    {'erc': {'who': 'Rossi', 'what': 'A map', 'when': '1784'}}
    """
    if len(text) > YAML_LIMIT:
        return None
    try:
        return record_of(yaml.load(text, Loader=_PlainLoader), "yaml")
    except (yaml.YAMLError, ValueError, RecursionError, TypeError):
        return None


class _PlainLoader(yaml.BaseLoader):
    """Knows no types and no aliases: whoever sends those sends no description."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("an alias")
        return super().compose_node(parent, index)


def record_of(value: Any, kind: str) -> Record | None:
    """The record in a parsed structure: segments of an ERC, a registry's definition, an error, or a description."""
    mapping = value if isinstance(value, Mapping) and not _is_wrapped(value) else _describing(value)
    if mapping is None:
        return None
    segments = _segments(mapping)
    if segments:
        return segments if any(map(_says_something, segments.values())) else None
    if _is_registry(mapping):
        return {"registry": _strings(mapping)}
    status = mapping.get("status", mapping.get("code"))
    keys = {plain_key(key) for key, inner in mapping.items() if inner}
    if keys & {"error", "errors"} or (isinstance(status, int) and status >= 400):
        return {"error": _strings(mapping)}
    return {kind: _strings(mapping)} if keys & (KERNEL.keys() | _OTHER_DESCRIPTIVE) else None


def kernel(told: Mapping[str, str]) -> dict[str, str]:
    """What a record in any vocabulary answers of the four questions; the first key in `KERNEL` that is there decides.

    >>> kernel({"@id": "ark:12148/x5", "schema:name": "A map", "publisher": "BnF", "author": "Rossi"})
    {'who': 'Rossi', 'what': 'A map', 'where': 'ark:12148/x5'}
    """
    plain: dict[str, str] = {}
    for key, value in told.items():
        plain.setdefault(plain_key(key), value)
    answers: dict[str, str] = {}
    for key, question in KERNEL.items():
        if plain.get(key):
            answers.setdefault(question, plain[key])
    return {question: answers[question] for question in QUESTIONS if question in answers}


def plain_key(key: Any) -> str:
    """A key without its vocabulary, in lower case.

    >>> plain_key("http://purl.org/dc/terms/title"), plain_key("dc:creator")
    ('title', 'creator')
    """
    return _SEPARATORS.split(str(key).lower().rstrip(":./#"))[-1]


def _is_wrapped(mapping: Mapping[str, Any]) -> bool:
    """Whether a mapping answers too little by itself: what it says may stand one level further in."""
    is_plain = _segments(mapping) or _is_registry(mapping) or {plain_key(key) for key in mapping} & {"error", "errors"}
    return not is_plain and len(kernel(_strings(mapping))) < 2


def _describing(value: Any, depth: int = 0) -> Mapping[str, Any] | None:
    """The mapping that describes most: of a graph or a list one member, of a mapping itself or what it holds."""
    if isinstance(value, list):
        found = [_describing(each, depth + 1) for each in value[:_MOST_KEYS]] if depth < _MOST_DEPTH else []
        return max((each for each in found if each), key=_telling, default=None)
    if not isinstance(value, Mapping):
        return None
    inner = [each for each in list(value.values())[:_MOST_KEYS] if isinstance(each, Mapping | list)]
    nested = _describing(inner, depth + 1) if inner and depth < _MOST_DEPTH else None
    if nested is None or _telling(nested) <= max(_telling(value), 1):
        return value
    return {**{key: each for key, each in value.items() if not isinstance(each, Mapping | list)}, **nested}


def _telling(mapping: Mapping[str, Any]) -> int:
    return len(kernel(_strings(mapping))) + 4 * len(_segments(mapping))


def _segments(mapping: Mapping[str, Any]) -> Record:
    """The stories of an ERC in a structure: nested under their labels, or flat with dotted keys, as EZID sends."""
    stories: dict[str, list[Element]] = {}
    for key, inner in mapping.items():
        name = str(key)
        if _SEGMENT.fullmatch(name) and isinstance(inner, Mapping):
            told = _strings(inner)
            stories.setdefault(name.lower(), []).extend(Element(label, (Value(told[label]),)) for label in told)
        elif (dotted := _DOTTED.fullmatch(name)) and inner is not None:
            label = dotted["label"].lower()
            stories.setdefault(dotted["segment"].lower(), []).append(Element(label, (Value(_text(inner)),)))
    if "erc" in stories:
        others = {key: inner for key, inner in mapping.items() if not isinstance(inner, Mapping | list)}
        known = {label for label in _strings(others) if not _DOTTED.fullmatch(label) and not _SEGMENT.fullmatch(label)}
        stories["erc"] += [Element(label, (Value(_strings(others)[label]),)) for label in sorted(known)]
    return {kind: Segment(kind, tuple(elements)).display() for kind, elements in stories.items()}


def _says_something(segment: Mapping[str, str]) -> bool:
    return any(segment.values())


def _is_registry(mapping: Mapping[str, Any]) -> bool:
    """Whether this is what a resolver's registry says of a NAAN or shoulder; a term's ``definition`` is none."""
    definition = mapping.get("definition")
    if isinstance(definition, Mapping) and definition.keys() & {"uniq", "prefix", "scheme", "synonym_for"}:
        return True
    return {"prefix", "target"} <= mapping.keys() or "na_policy" in mapping or {"naan", "target"} <= mapping.keys()


def _strings(mapping: Mapping[Any, Any]) -> dict[str, str]:
    """The values as text, keys in lower case; what no text can hold is replaced."""
    shown = [(str(key), value) for key, value in list(mapping.items())[:_MOST_KEYS]]
    return {_encodable(key.lower()): _text(value) for key, value in shown if value is not None and key != "@context"}


def _text(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return _encodable(" | ".join(value))
    if isinstance(value, Mapping):
        named = next((value[key] for key in ("@value", "name", "@id") if isinstance(value.get(key), str)), None)
        if named is not None:
            return _encodable(named)
    return _encodable(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


# -- RDF, light: descriptions in XML and Turtle, as far as they use well-known vocabularies

_DESCRIPTIVE_NAMESPACE = re.compile(
    r"http://purl\.org/dc/(?:elements/1\.1|terms)/|https?://schema\.org/|http://www\.w3\.org/2000/01/rdf-schema#"
    r"|http://www\.w3\.org/2004/02/skos/core#|http://xmlns\.com/foaf/0\.1/|http://www\.w3\.org/2002/07/owl#"
    r"|http://datacite\.org/schema/kernel-\d[\w.]*"
)
_RDF = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"
_TURTLE = re.compile(
    rf"""
    (?P<predicate> <(?:{_DESCRIPTIVE_NAMESPACE.pattern.replace("#", "[#]")}) [^<>\s]{{1,80}}>
        | [A-Za-z][\w-]{{0,20}} : [A-Za-z]\w{{0,40}} )
    \s+
    (?: "(?P<text> (?: [^"\\\n] | \\. ){{0,2000}} )" | <(?P<uri>[^<>\s]{{1,2000}})> )
    """,
    re.VERBOSE,
)
_TURTLE_SUBJECT = re.compile(r"^\s*<(?P<uri>[^<>\s]{1,2000})>\s+(?=[A-Za-z<])", re.MULTILINE)
_TURTLE_PREFIX = re.compile(r"@?prefix\s+(?P<name>[\w-]*)\s*:\s*<(?P<uri>[^<>\s]{1,200})>", re.IGNORECASE)


def from_xml(markup: bytes) -> Record | None:
    """The description in RDF/XML, DataCite or simple Dublin Core; None for other XML.

    >>> from_xml(b'<r xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>A map</dc:title></r>')
    {'rdf': {'title': 'A map'}}
    """
    parser = etree.XMLParser(resolve_entities=False, no_network=True, recover=True, huge_tree=False)
    try:
        root = etree.fromstring(markup, parser)
    except (etree.XMLSyntaxError, ValueError):
        return None
    return _description(_xml_statements(root)) if root is not None else None


def _xml_statements(root: Any) -> Iterator[tuple[str, str]]:
    for number, element in enumerate(root.iter()):
        if number > 5_000 or not isinstance(element.tag, str):
            continue
        about = element.get(f"{_RDF}about")
        if about:
            yield "@id", about
        namespace, _, name = element.tag.lstrip("{").partition("}")
        if _DESCRIPTIVE_NAMESPACE.match(namespace):
            text = " ".join("".join(element.itertext()).split()) or element.get(f"{_RDF}resource", "")
            if text:
                yield name.lower(), text[:2_000]


def from_turtle(text: str) -> Record | None:
    """The description in Turtle or N-Triples, as far as its statements are literals or URIs.

    >>> from_turtle('@prefix dc: <http://purl.org/dc/terms/> . <http://a.example/x> dc:title "A map" .')
    {'rdf': {'title': 'A map'}}
    """
    prefixes = {found["name"]: found["uri"] for found in _TURTLE_PREFIX.finditer(text)}
    subject = _TURTLE_SUBJECT.search(text)

    def statements() -> Iterator[tuple[str, str]]:
        if subject:
            yield "@id", subject["uri"]
        for found in _TURTLE.finditer(text):
            written = found["predicate"]
            prefix, _, local = written.partition(":")
            uri = written.strip("<>") if written.startswith("<") else prefixes.get(prefix, "") + local
            if _DESCRIPTIVE_NAMESPACE.match(uri):
                yield plain_key(uri), found["uri"] or re.sub(r"\\(.)", r"\1", found["text"] or "")

    return _description(statements())


def _description(statements: Iterable[tuple[str, str]]) -> Record | None:
    """The first statement of each kind; one of them must answer a question besides the subject's name."""
    told: dict[str, str] = {}
    for name, text in statements:
        if len(told) < _MOST_KEYS:
            told.setdefault(name, _encodable(text))
    return {"rdf": told} if told.keys() & (KERNEL.keys() | _OTHER_DESCRIPTIVE) - {"@id", "url", "id"} else None
