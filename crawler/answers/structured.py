"""Make records of answers in JSON, YAML, RDF and XML, about the object or its NAAN.

Only descriptive elements are read, under the names of Dublin Core, schema.org and the ERC. All work is bounded.
"""

from __future__ import annotations

import json
import logging
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from itertools import islice
from typing import TYPE_CHECKING, Any

import yaml
from lxml import etree

from crawler.answers.erc import QUESTIONS, Element, Record, Segment, Value
from crawler.answers.quirks import bare, quirks
from extractors.find import find_arks
from extractors.model.ark import Ark
from extractors.model.decoding import without_surrogates

if TYPE_CHECKING:
    import rdflib  # imported only to read RDF, because the import is slow


#: Maximum number of characters of YAML that are parsed: the parser is slow, and a description is short.
YAML_LIMIT = 2**16
#: Maximum number of descriptions in a list that are searched for the requested one.
_MOST_DESCRIPTIONS = 200
_SEGMENT = re.compile(r"erc(?:-[a-z]+)?", re.IGNORECASE)
_DOTTED = re.compile(r"(?P<segment>erc(?:-[a-z]+)?)[.](?P<label>[\w/]+)", re.IGNORECASE)
#: JSON as the argument of a function (JSONP), or after a guard against that. The pattern never backtracks over white
#: space, because a megabyte of it would take hours.
_JSONP = re.compile(
    r"\s*+(?:[)\]}',;\s]*+|(?:/\*\*/\s*+)?[\w.$]{1,80}+\s*+\()(?P<json>[{\[].*[}\]])\s*+\)?\s*+;?\s*+\Z", re.DOTALL
)
#: Shorter ASCII words are common keys: ``data``, ``was``.
_LABEL_CHARS = 5
_SEPARATORS = re.compile(r"[:./#]")
_MOST_KEYS = 500
_MOST_DEPTH = 4


@cache
def _structures() -> Mapping[str, Any]:
    return tomllib.loads(files("crawler.answers").joinpath("structures.toml").read_text("utf-8"))


def vocabulary(name: str) -> Any:
    """Return the list or table *name* of ``structures.toml``."""
    return _structures()[name]


@cache
def kernel_keys() -> Mapping[str, str]:
    """Return the question (``who``, …) by the descriptive key that answers it, in order of preference."""
    return {key: question for question, keys in vocabulary("kernel").items() for key in keys}


def from_json(text: str, ark: Ark | None = None) -> Record | None:
    """Return the record in a JSON text, including JSON-LD; of several the one about *ark*; or None.

    >>> from_json('{"title": "A map", "creator": "Rossi"}')
    {'json': {'title': 'A map', 'creator': 'Rossi'}}
    >>> from_json('{"error": "no such ARK"}')
    {'error': {'error': 'no such ARK'}}
    """
    call = _JSONP.match(text)
    try:
        return metadata_record_in(_member_about(json.loads(call["json"] if call else text), ark), "json")
    except (ValueError, RecursionError):
        return None


def _member_about(value: Any, ark: Ark | None) -> Any:
    """Return the member of *value*, a list of descriptions, that names *ark* as its subject, or else *value*."""
    if ark is None or not isinstance(value, list) or len(value) < 2:
        return value
    descriptions = (item for item in value[:_MOST_DESCRIPTIONS] if isinstance(item, Mapping))
    return next((item for item in descriptions if _is_about(item, ark)), value)


def _is_about(mapping: Mapping[str, Any], ark: Ark) -> bool:
    """Return True if a description names *ark* as its subject, also within an ERC."""
    parts = [mapping, *(part for part in mapping.values() if isinstance(part, Mapping))]
    values = [str(part[key]) for part in parts for key in part if plain_key(key) in vocabulary("naming")]
    return any(mention.ark == ark for value in values for mention in find_arks(value[:2_000]))


def from_yaml(text: str, ark: Ark | None = None) -> Record | None:
    """Return the record in a YAML text; of several the one about *ark*. Aliases are refused, and scalars are text.

    >>> from_yaml("erc:\\n  who: Rossi\\n  what: A map\\n  when: 1784\\n")
    {'erc': {'who': 'Rossi', 'what': 'A map', 'when': '1784'}}
    """
    if len(text) > YAML_LIMIT:
        return None
    try:
        documents = list(islice(yaml.load_all(text, Loader=_PlainLoader), _MOST_DESCRIPTIONS))
        value = documents[0] if len(documents) == 1 else documents
        return metadata_record_in(_member_about(value, ark), "yaml")
    except (yaml.YAMLError, ValueError, RecursionError, TypeError):
        return None


class _PlainLoader(yaml.BaseLoader):
    """A YAML loader that reads each scalar as a text, and raises `YAMLError` for an alias."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("an alias")
        return super().compose_node(parent, index)


def metadata_record_in(value: Any, kind: str) -> Record | None:
    """Return the metadata record in *value*, parsed from JSON, XML or YAML: values by label, by segment; or None.

    A plain description becomes the segment *kind*, such as ``json``. The segments of an ERC keep their names; a registry
    entry becomes ``registry``, an error message ``error``.
    """
    mapping = value if isinstance(value, Mapping) and _is_description(value) else _best_description(value)
    if mapping is None or (isinstance(value, Mapping) and _is_of_service(value)):
        return None
    segments = _segments(mapping)
    if segments:
        if "erc" not in segments:  # elements outside of the other stories describe the object
            other_elements = {key: mapping[key] for key in mapping if not _is_of_story(str(key))}
            segments |= {kind: _text_values(other_elements)} if len(kernel(_text_values(other_elements))) > 1 else {}
        return segments if any(any(story.values()) for story in segments.values()) else None
    if _is_registry_entry(mapping):
        return {"registry": _text_values(mapping)}
    if _is_error(mapping) or (isinstance(value, Mapping) and _is_error(value)):
        return {"error": _text_values(mapping)}
    keys = {plain_key(key) for key, inner in mapping.items() if inner}
    labelled_keys = [key for key in keys if _question_of(key) is not None]
    is_description = not keys.isdisjoint((*kernel_keys(), *vocabulary("other"))) or len(labelled_keys) > 1
    return {kind: _text_values(mapping)} if is_description else None


def kernel(values: Mapping[str, str]) -> dict[str, str]:
    """Map a record in any vocabulary to who, what, when and where: the values of the first of `kernel_keys` in it.

    >>> kernel({"@id": "ark:12148/x5", "schema:name": "A map", "publisher": "BnF", "author": "Rossi"})
    {'who': 'Rossi', 'what': 'A map', 'where': 'ark:12148/x5'}
    """
    values_by_plain_key: dict[str, str] = {}
    for key, value in values.items():
        values_by_plain_key.setdefault(plain_key(key).replace("_", ""), value)
    answers: dict[str, str] = {}
    for key, question in kernel_keys().items():
        if values_by_plain_key.get(key):
            answers.setdefault(question, values_by_plain_key[key])
    for key, value in values_by_plain_key.items():
        if value and (labelled_question := _question_of(key)):
            answers.setdefault(labelled_question, value)
    return {question: answers[question] for question in QUESTIONS if question in answers}


def _question_of(key: str) -> str | None:
    """Return the question for a plain key that is a label in another language, such as ``titulo``, or None."""
    return _question_by_label().get(bare(key)) if len(key) >= _LABEL_CHARS or not key.isascii() else None


@cache
def _question_by_label() -> Mapping[str, str]:
    return {bare(label): question for label, question in quirks().question_of_label.items() if question in QUESTIONS}


def plain_key(key: Any) -> str:
    """Return a key without its vocabulary, in lower case.

    >>> plain_key("http://purl.org/dc/terms/title"), plain_key("dc:creator")
    ('title', 'creator')
    """
    return _SEPARATORS.split(str(key).lower().rstrip(":./#"))[-1]


def _is_description(mapping: Mapping[str, Any]) -> bool:
    """Return True if the values of *mapping*, without nested mappings, describe an object or report an error."""
    is_record = _segments(mapping) or _is_registry_entry(mapping) or _is_error(mapping)
    answers = kernel(_text_values(mapping))
    is_enveloped = "who" not in answers and not set(vocabulary("enveloped")).isdisjoint(map(plain_key, mapping))
    return bool(is_record or (len(answers) > 1 and not is_enveloped)) and not is_of_site(mapping)


def _is_error(mapping: Mapping[str, Any]) -> bool:
    """Return True if a structure reports an error, whatever its HTTP status.

    >>> _is_error({"success": False}), _is_error({"success": "ark:/12148/x5", "errors": []}), _is_error({"code": 404})
    (True, False, True)
    >>> _is_error({"status": "404"}), _is_error({"code": "404"}), _is_error({"message": "No manifest for x5"})
    (True, False, True)
    """
    values = {plain_key(key): inner for key, inner in mapping.items()}
    status = values.get("status", values.get("code", values.get("statuscode")))
    written_status = values.get("status")
    is_written = isinstance(written_status, str) and re.fullmatch(r"[45]\d\d", written_status) is not None
    is_refused = any(values.get(key) is False for key in ("success", "ok", "found", "exists"))
    is_status = isinstance(status, int) and 400 <= status < 600
    is_failure = is_written or is_status or str(status).strip().lower() in vocabulary("failed")
    messages = set(vocabulary("messages"))
    is_message = bool(values.keys() & messages) and values.keys() <= {*messages, *vocabulary("beside_messages")}
    is_empty = any(values.get(key) == [] for key in vocabulary("found")) and any(
        values.get(key) == 0 for key in vocabulary("counts")
    )
    # The results of SPARQL.
    is_unbound = values.get("results") == {"bindings": []}
    has_only_gaps = _has_no_content(mapping) and re.search(r": (?:None|\[\])", str(mapping)) is not None
    is_error = bool(values.get("error") or values.get("errors"))
    return is_error or is_refused or is_failure or is_message or is_empty or is_unbound or has_only_gaps


def _has_no_content(value: Any, depth: int = 0) -> bool:
    """Return True if a structure has neither text nor a list with members, only its type, numbers, codes and gaps."""
    if isinstance(value, Mapping):
        values = (inner for key, inner in value.items() if plain_key(key) not in vocabulary("kinds"))
        return depth < _MOST_DEPTH and all(_has_no_content(inner, depth + 1) for inner in values)
    return len(value) <= 2 if isinstance(value, str) else not isinstance(value, list) or not value


def is_of_site(mapping: Mapping[str, Any]) -> bool:
    """Return True if a structure describes a site or its operator, and names no ARK."""
    types = mapping.get("@type", ())
    type_names = [types] if isinstance(types, str) else types
    type_keys = {plain_key(name) for name in type_names if isinstance(name, str)}
    return bool(type_keys) and type_keys <= set(vocabulary("sites")) and not names_ark(mapping)


def _is_of_service(mapping: Mapping[str, Any]) -> bool:
    """Return True if a structure describes a service or an app, or is only a list of addresses, and names no ARK.

    >>> _is_of_service({"name": "Harbour", "start_url": "/"}), _is_of_service({"name": "Harbour", "created": "1784"})
    (True, False)
    >>> _is_of_service({"titles": "https://a.example/titles/", "creators": "https://a.example/creators/"})
    True
    """
    keys = set(map(plain_key, mapping))
    are_addresses = len(mapping) > 1 and all(
        str(value).startswith(("http://", "https://")) for value in mapping.values()
    )
    is_health = str(mapping.get("status")).lower() in vocabulary("healthy")
    return (are_addresses or is_health or not keys.isdisjoint(vocabulary("service"))) and not names_ark(mapping)


def names_ark(mapping: Mapping[str, Any]) -> bool:
    """Return True if a structure names an ARK under a key for identifiers."""
    identifiers = {key: value for key, value in mapping.items() if plain_key(key) in vocabulary("naming_things")}
    return any("ark:" in value.lower() for value in _text_values(identifiers).values())


def _best_description(value: Any, depth: int = 0) -> Mapping[str, Any] | None:
    """Return the mapping at any level of *value* that answers most of who, what, when and where, or None.

    A list of several works, none of them with an ARK, describes none of them in particular.
    """
    if isinstance(value, list):
        items = value[:_MOST_KEYS] if depth < _MOST_DEPTH else ()
        parts = [part for item in items if (part := _best_description(item, depth + 1))]
        work_count = sum({"who", "what"} <= kernel(_text_values(part)).keys() for part in parts)
        if work_count > 1 and not any(map(names_ark, parts)):
            return None
        return max(
            parts,
            key=lambda part: (names_ark(part) and _description_weight(part) > 1, _description_weight(part)),
            default=None,
        )
    if not isinstance(value, Mapping):
        return None
    nested_values = [item for item in list(value.values())[:_MOST_KEYS] if isinstance(item, Mapping | list)]
    nested_description = _best_description(nested_values, depth + 1) if nested_values and depth < _MOST_DEPTH else None
    if is_of_site(value):
        return (
            nested_description
            if nested_description is not None and _description_weight(nested_description) > 1
            else None
        )
    if nested_description is None or _description_weight(nested_description) <= max(_description_weight(value), 1):
        return value
    return _merge(value, nested_description)


def _merge(outer: Mapping[Any, Any], inner: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return *inner*, a description, with the elements of *outer*, the mapping around it, that answer other questions."""
    answered_questions = kernel(_text_values(inner)).keys()
    outer_elements = _flat(outer)
    return {
        **{
            key: outer_elements[key]
            for key in outer_elements
            if kernel({str(key): "x"}).keys().isdisjoint(answered_questions)
        },
        **inner,
    }


def _flat(mapping: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return the items of *mapping* whose values are no mappings or lists."""
    return {key: item for key, item in mapping.items() if not isinstance(item, Mapping | list)}


def _description_weight(mapping: Mapping[str, Any]) -> int:
    answers = kernel(_text_values(mapping))
    return len(answers) + ("who" in answers) + 4 * len(_segments(mapping))


def _is_of_story(key: str) -> bool:
    return bool(_SEGMENT.fullmatch(key) or _DOTTED.fullmatch(key))


def _segments(mapping: Mapping[str, Any]) -> Record:
    """Return the stories of an ERC in a structure: nested under their labels, or flat with dotted keys, as from EZID."""
    stories: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for key, inner_value in mapping.items():
        name = str(key).lower()
        if _SEGMENT.fullmatch(name) and isinstance(inner_value, str) and name != "erc":
            stories[name].append(("what", encodable(inner_value)))
        elif _SEGMENT.fullmatch(name) and isinstance(inner_value, Mapping):
            stories[name] += _text_values(inner_value).items()
        elif (dotted := _DOTTED.fullmatch(name)) and inner_value is not None:
            stories[dotted["segment"]].append((dotted["label"], _readable_text(inner_value)))
    if "erc" in stories:
        other_elements = sorted(_text_values(_flat(mapping)).items())
        stories["erc"] += [(label, text) for label, text in other_elements if not _is_of_story(label)]
    return {
        kind: Segment(kind, tuple(Element(label, (Value(text),)) for label, text in story)).display()
        for kind, story in stories.items()
    }


def _is_registry_entry(mapping: Mapping[str, Any]) -> bool:
    """Return True if this is a resolver's entry for a NAAN or shoulder; a term's ``definition`` does not count."""
    definition = mapping.get("definition")
    definition_keys = definition.keys() if isinstance(definition, Mapping) else set()
    if definition_keys & {"uniq", "prefix", "scheme", "synonym_for"} or "na_policy" in mapping:
        return True
    return "target" in mapping and bool(mapping.keys() & {"uniq", "prefix", "scheme", "naan"})


def _text_values(mapping: Mapping[Any, Any]) -> dict[str, str]:
    """Return the values as text, with keys in lower case; characters that UTF-8 can't encode are replaced."""
    return {
        encodable(str(key).lower()): _readable_text(value)
        for key, value in islice(mapping.items(), _MOST_KEYS)
        if value is not None and key != "@context"
    }


def _readable_text(value: Any) -> str:
    """Return a value in readable form: the name of a structure, the members of a list, nothing for an empty structure."""
    if isinstance(value, list):
        member_names = [_name_in(item) for item in value]
        readable_name = None if None in member_names else " | ".join(map(str, member_names))
    elif isinstance(value, Mapping) and not any(value.values()):
        return ""
    else:
        readable_name = _name_in(value)
    text = json.dumps(value, ensure_ascii=False, default=str) if readable_name is None else readable_name
    return encodable(text)


def _name_in(value: Any, depth: int = 0) -> str | None:
    """Return a text itself, or the name in a structure, also in parts or nested.

    >>> _name_in({"person_or_org": {"family_name": "Rossi", "given_name": "Ada"}, "role": {"id": "author"}})
    'Rossi, Ada'
    """
    if isinstance(value, str):
        return value
    if not isinstance(value, Mapping):
        return None
    names = [value.get(key) for key in vocabulary("named")]
    whole_name = next((name for name in names if isinstance(name, str) and name), None)
    parts_by_key = {
        plain_key(key).replace("_", ""): part for key, part in value.items() if isinstance(part, str) and part
    }
    person = ", ".join(parts_by_key[key] for key in vocabulary("person") if key in parts_by_key)
    nested_names = (_name_in(part, depth + 1) for part in value.values() if isinstance(part, Mapping) and depth < 2)
    return whole_name or person or next(filter(None, nested_names), None)


def encodable(text: str) -> str:
    """Return *text* without characters that UTF-8 can't encode, as the store requires."""
    return text.encode("utf-8", "replace").decode("utf-8")


# -- a description in RDF, or in the XML of libraries and archives

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"

#: Maximum numbers of characters of RDF and of elements of XML that are read: a description is short.
RDF_LIMIT = 2**16
MOST_ELEMENTS = 5_000
VALUE_CHARS = 2_000
#: XML without a namespace is a description if it answers this number of questions.
ENOUGH_ANSWERS = 3

_DESCRIPTIVE = re.compile(
    r"http://purl\.org/dc/(?:elements/1\.1|terms)/|https?://schema\.org/|http://www\.w3\.org/2000/01/rdf-schema#"
    r"|http://www\.w3\.org/2004/02/skos/core#|http://xmlns\.com/foaf/0\.1/|http://www\.w3\.org/2002/07/owl#"
    r"|http://datacite\.org/schema/kernel-\d[\w.]*"
)
_TEI = "http://www.tei-c.org/ns/1.0"
#: The version in a library's namespace, which changes nothing: ``http://www.crossref.org/schema/4.3.4``.
_VERSION = re.compile(r"(?<=crossref\.org/schema)/[\d.]+\Z")
_MARC = "http://www.loc.gov/MARC21/slim"
# It warns about invalid URIs of others.
logging.getLogger("rdflib").setLevel(logging.CRITICAL)


def from_turtle(text: str) -> Record | None:
    """Return the record in Turtle or N-Triples, or None; of several subjects an ARK, or else that described best.

    >>> from_turtle('@prefix dc: <http://purl.org/dc/terms/> . <http://a.example/x> dc:title "A map" .')
    {'rdf': {'@id': 'http://a.example/x', 'title': 'A map'}}
    """
    return _from_rdf(text, "turtle")


def from_xml(markup: bytes, *, enough: int = ENOUGH_ANSWERS) -> Record | None:
    """Return the description in RDF/XML or in an XML vocabulary, or the error in it; None for other XML.

    XML without a namespace is a description if it answers *enough* of the four questions.

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
    etree.strip_elements(root, etree.Entity, with_tail=False)  # entities are never resolved
    name = _local_name(root)
    if root.tag == f"{{{RDF}}}RDF":
        record = _from_rdf(etree.tostring(root, encoding="unicode"), "xml")
        if record is not None:
            return record
    # An envelope of SOAP has the answer in its body.
    answer_elements = root.iterfind("*/*") if name == "envelope" else root
    if not {name, *map(_local_name, answer_elements)}.isdisjoint(vocabulary("errors")):
        return {"error": {"error": _text_of(root)}}
    if name in vocabulary("no_records"):
        return None
    record_by_vocabulary = _rdf_record(dict(_first_values(_named_values(root))))
    if record_by_vocabulary is not None:
        return record_by_vocabulary
    leaf_values = ((_local_name(element), _text_of(element)) for element in root.iter("*") if not len(element))
    kernel_values = {
        key: value for key, value in _first_values(leaf_values) if key in kernel_keys()
    }  # without a namespace
    return {"rdf": kernel_values} if len(kernel(kernel_values)) >= enough else None


# -- RDF


@contextmanager
def _literals_as_written() -> Iterator[None]:
    """Keep literals of RDF as text: converting ``1E1000000000`` to a number takes gigabytes.

    The option of rdflib against normalization would not help: it still converts them, and discards the result.
    """
    from rdflib import term

    conversions, term._toPythonMapping = term._toPythonMapping, {}
    try:
        yield
    finally:
        term._toPythonMapping = conversions


def _from_rdf(text: str, form: str) -> Record | None:
    import rdflib

    graph = rdflib.Graph()
    try:
        with _literals_as_written():
            graph.parse(data=text[:RDF_LIMIT], format=form, publicID="about:this")
    except Exception as problem:  # parsers of rdflib raise many types; triples before the error count
        logging.getLogger(__name__).debug("not all of the RDF was read: %r", problem)
    # The order of subjects in a graph is arbitrary. The choice between equal descriptions must not depend on it.
    descriptions = (_properties_of(graph, subject) for subject in set(graph.subjects()))
    object_descriptions = (mapping for mapping in descriptions if not is_of_site(mapping))
    best_description = max(
        object_descriptions,
        key=lambda mapping: (names_ark(mapping), len(kernel(mapping)), sorted(mapping.items())),
        default={},
    )
    return _rdf_record({key: value for key, value in best_description.items() if key != "@type"})


def _properties_of(graph: rdflib.Graph, subject: Any) -> dict[str, str]:
    """Return the first value of each descriptive property of a subject."""
    from rdflib import URIRef

    properties = {"@id": str(subject)} if isinstance(subject, URIRef) else {}
    for predicate, value in graph.predicate_objects(subject):
        if str(predicate) == f"{RDF}type":
            properties.setdefault("@type", str(value))
        elif _DESCRIPTIVE.match(str(predicate)):
            readable_value = encodable(_readable(graph, value))[:VALUE_CHARS]
            properties.setdefault(plain_key(predicate), readable_value)
    return properties


def _readable(graph: rdflib.Graph, value: Any) -> str:
    """Return a literal, or the name of a resource, or else its URI; empty for a blank node without a name."""
    from rdflib import BNode, Literal

    if isinstance(value, Literal):
        return str(value)
    names = {plain_key(predicate): str(name) for predicate, name in graph.predicate_objects(value)}
    identifier = "" if isinstance(value, BNode) else str(value)
    return next((names[name] for name in vocabulary("names") if name in names), identifier)


# -- XML


def _named_values(root: Any) -> Iterator[tuple[str, str]]:
    """Return the values under the names of well-known vocabularies, with their Dublin Core names."""
    for number, element in enumerate(root.iter("*")):
        if number > MOST_ELEMENTS or not isinstance(element.tag, str):
            continue
        about = element.get(f"{{{RDF}}}about")
        if about:
            yield "@id", about
        namespace, name = _name_parts(element)
        namespace = _VERSION.sub("", namespace)
        if _DESCRIPTIVE.match(namespace):
            yield name.lower(), _text_of(element) or element.get(f"{{{RDF}}}resource", "")
        elif namespace == _MARC and name == "subfield":
            field = f"{element.getparent().get('tag', '')}{element.get('code', '')}"
            yield vocabulary("marc").get(field, ""), _text_of(element).rstrip(" /:;,")
        elif namespace in vocabulary("libraries") and (
            namespace != _TEI or next(element.iterancestors(f"{{{_TEI}}}teiHeader"), None) is not None
        ):
            yield vocabulary("libraries")[namespace].get(name, ""), _text_of(element)


def _local_name(element: Any) -> str:
    return _name_parts(element)[1].lower() if isinstance(element.tag, str) else ""


def _name_parts(element: Any) -> tuple[str, str]:
    """Return the namespace and the name of an element, without an undeclared prefix."""
    namespace, brace, name = str(element.tag).rpartition("}")
    return namespace.removeprefix("{") if brace else "", name.rpartition(":")[2]


def _text_of(element: Any) -> str:
    return " ".join("".join(element.itertext()).split())[:VALUE_CHARS]


def _first_values(statements: Iterator[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Return the first non-empty value of each name, with the name."""
    visited_names: set[str] = set()
    for name, text in statements:
        if name and text and name not in visited_names and len(visited_names) < _MOST_KEYS:
            visited_names.add(name)
            yield name, encodable(text)


def _rdf_record(values: Mapping[str, str]) -> Record | None:
    """Return *values* as a record of RDF, or None if they have only identifiers of the subject."""
    is_description = bool(values.keys() & {*kernel_keys(), *vocabulary("other")} - {"@id", "url", "id", "identifier"})
    return {"rdf": dict(values)} if is_description else None
